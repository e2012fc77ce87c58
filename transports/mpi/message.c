/* Messages, each an MPI_Isend from a buffer of this file into a receive that is posted. MPI may be
 * called by all threads at once; the locks are for what is here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/mpi/state.h"
#include "util/clock.h"
#include "util/count.h"

#define TAG           1
#define LEAVE_NS      UINT64_C(5000000000)
#define MEET_LOOKS_NS 100000

void mpi_message_failed(struct mpi_state *state, const char *what, const char *why)
{
    state->host->log(SY_LOG_ERROR, state->instance.name, "%s: MPI says: %s", what,
                     state->calls->text());
    state->host->lost(state->host->pe ? 0 : 1, EIO, why);
}

/* ---- sending ---- */

/* Whether a message has left. One that MPI could not send leaves a gap that nobody else notices. */
static bool message_has_left(struct mpi_state *state, mpi_request *request)
{
    int rc = state->calls->test(request, NULL, NULL);

    if (rc < 0)
        mpi_message_failed(state, "a message that leaves",
                           "MPI cannot send any more, to this PE or to another");
    return rc;
}

/* Takes back the places of messages that have left; under the lock. */
static int message_reap(struct mpi_state *state)
{
    struct mpi_sends *sends = &state->sends;
    unsigned left = 0, flights = atomic_load_explicit(&sends->flights, memory_order_relaxed);

    for (unsigned i = 0; i < flights; i++) {
        unsigned char place = sends->flying[i];
        if (message_has_left(state, &sends->request[place]))
            sends->free[sends->frees++] = place;
        else
            sends->flying[left++] = place;
    }
    atomic_store_explicit(&sends->flights, left, memory_order_relaxed);
    return (int)(flights - left);
}

/* Starts a send. A message that MPI has copied or delivered at once gives its place to the next. */
static int message_start(struct mpi_state *state, int to, const void *bytes, size_t length)
{
    struct mpi_sends *sends = &state->sends;
    unsigned char place = sends->free[sends->frees - 1];
    char *at = sends->memory + (size_t)place * MPI_MESSAGE;
    mpi_request *request = &sends->request[place];

    memcpy(at, bytes, length);
    int rc = state->calls->send(state->comm, at, length, to, TAG, request);
    if (rc)
        return rc;
    if (!message_has_left(state, request)) {
        unsigned flights = atomic_load_explicit(&sends->flights, memory_order_relaxed);
        sends->frees--;
        sends->flying[flights] = place;
        atomic_store_explicit(&sends->flights, flights + 1, memory_order_relaxed);
    }
    return 0;
}

int mpi_message_send(void *self, int pe, const void *bytes, size_t length)
{
    struct mpi_state *state = self;
    struct mpi_sends *sends = &state->sends;
    int rc = -EAGAIN;

    pthread_mutex_lock(&sends->lock);
    if (atomic_load(&state->over))
        rc = -ESHUTDOWN;
    else if (sends->frees || message_reap(state))
        rc = message_start(state, state->rank_of[pe], bytes, length);
    pthread_mutex_unlock(&sends->lock);
    if (!rc) {
        mpi_wakeup_sent(state, state->rank_of[pe]);
        sy_count_shared(&state->counters.sent, 1);
        sy_count_shared(&state->counters.sent_bytes, length);
    } else if (rc == -EAGAIN) {
        sy_count_shared(&state->counters.refused, 1);
    } else if (rc != -ESHUTDOWN) {
        state->host->log(SY_LOG_ERROR, state->instance.name, "a message to PE %d: MPI says: %s", pe,
                         state->calls->text());
    }
    return rc;
}

/* ---- receiving ---- */

static int message_post(struct mpi_state *state, unsigned place)
{
    struct mpi_receives *receives = &state->receives;

    return state->calls->receive(state->comm, receives->memory + (size_t)place * MPI_MESSAGE,
                                 MPI_MESSAGE, -1, TAG, &receives->request[place]);
}

/* Posts the last receive again that was taken. A thread that polls does so at its next look: what
 * has come is answered before. */
static int message_post_late(struct mpi_state *state)
{
    struct mpi_receives *receives = &state->receives;

    if (!receives->late || !receives->posted)
        return 0;
    receives->late = false;
    return message_post(state, (receives->head + MPI_RECEIVES - 1) % MPI_RECEIVES);
}

static void message_hand_up(struct mpi_state *state, int from, size_t length)
{
    struct mpi_receives *receives = &state->receives;

    sy_count_shared(&state->counters.received, 1);
    sy_count_shared(&state->counters.received_bytes, length);
    receives->heard[from] = true;
    mpi_wakeup_heard(state, from);
    if (!receives->closing && length)
        state->instance.received(state->instance.receiver, state->pe_of[from],
                                 receives->memory + (size_t)receives->head * MPI_MESSAGE, length);
}

/* Hands up messages that have come; under the lock. A thread that polls takes one, since the look
 * that finds no other would delay what it waits for, or owes, by system calls; it looks again at
 * once. Large data must not wait for messages that come without end. */
static int message_take(struct mpi_state *state, bool all)
{
    struct mpi_receives *receives = &state->receives;
    int taken = 0, from, rc = message_post_late(state);
    size_t length;

    while (!rc && receives->posted && taken < (all ? MPI_RECEIVES : 1) &&
           (rc = state->calls->test(&receives->request[receives->head], &from, &length)) > 0) {
        message_hand_up(state, from, length);
        receives->late = true;
        receives->head = (receives->head + 1) % MPI_RECEIVES;
        taken++;
        rc = all ? message_post_late(state) : 0;
    }
    if (rc < 0) {
        receives->posted = false;
        mpi_message_failed(state, "a message that comes",
                           "MPI cannot receive any more, from this PE or from another");
    }
    return taken;
}

/* Looks at messages or at large data. Each test of a request has MPI move everything, which costs
 * system calls, so the two take turns. */
static int message_look(struct mpi_state *state, bool all)
{
    bool larges = atomic_load_explicit(&state->large.count, memory_order_relaxed);

    sy_count_shared(&state->counters.looks, 1);
    state->large.turn = larges && !state->large.turn;
    if (state->large.turn)
        return mpi_large_progress(state);
    return atomic_load(&state->over) ? 0 : message_take(state, all);
}

int mpi_message_progress(void *self, unsigned flags)
{
    struct mpi_state *state = self;

    if (pthread_mutex_trylock(&state->receives.lock))
        return 0;
    int done = message_look(state, flags & SY_PROGRESS_EVENT);
    if (atomic_load_explicit(&state->sends.flights, memory_order_relaxed) &&
        !pthread_mutex_trylock(&state->sends.lock)) {
        if (!atomic_load(&state->over))
            done += message_reap(state);
        pthread_mutex_unlock(&state->sends.lock);
    }
    mpi_wakeup_looked(state, done > 0, flags & SY_PROGRESS_EVENT);
    pthread_mutex_unlock(&state->receives.lock);
    mpi_tick_looked(&state->tick, done > 0, flags & SY_PROGRESS_EVENT, mpi_large_moves(state));
    return done;
}

/* ---- life ---- */

int mpi_message_open(struct mpi_state *state, struct sy_error *err)
{
    struct mpi_sends *sends = &state->sends;
    struct mpi_receives *receives = &state->receives;

    sends->memory = malloc((size_t)MPI_SENDS * MPI_MESSAGE);
    receives->memory = malloc((size_t)MPI_RECEIVES * MPI_MESSAGE);
    receives->heard = calloc((size_t)state->ranks, sizeof *receives->heard);
    if (!sends->memory || !receives->memory || !receives->heard)
        return state->host->fail(err, ENOMEM, "no memory for messages");
    for (sends->frees = 0; sends->frees < MPI_SENDS; sends->frees++)
        sends->free[sends->frees] = (unsigned char)sends->frees;
    for (unsigned place = 0; place < MPI_RECEIVES; place++)
        if (message_post(state, place))
            return state->host->fail(err, EIO, "a receive: MPI says: %s", state->calls->text());
    receives->posted = true;
    return 0;
}

/* An empty message to all who have sent something to this PE: other PEs, and MPI for itself, which
 * takes distances of powers of two. See ends_deaf. */
static void message_answer(struct mpi_state *state, uint64_t end)
{
    int own = state->rank_of[state->host->pe], ranks = state->ranks;

    for (int step = 1; step < ranks; step *= 2) {
        state->receives.heard[(own + step) % ranks] = true;
        state->receives.heard[(own + ranks - step) % ranks] = true;
    }
    for (int rank = 0; rank < ranks; rank++)
        while (state->receives.heard[rank] &&
               mpi_message_send(state, state->pe_of[rank], "", 0) == -EAGAIN && sy_clock_ns() < end)
            mpi_message_progress(state, 0);
}

/* Until all PEs have come, the others may have requests for this one. Each comes when its own are
 * complete, so none waits for an answer when all are here. */
void mpi_message_meet(struct mpi_state *state)
{
    const struct sy_instance *above = &state->instance;
    mpi_request barrier;

    while (!above->settled(above->receiver))
        sy_clock_sleep(MEET_LOOKS_NS);
    if (state->calls->barrier(state->comm, &barrier))
        return;
    while (!state->calls->test(&barrier, NULL, NULL)) {
        above->settled(above->receiver);
        sy_clock_sleep(MEET_LOOKS_NS);
    }
}

void mpi_message_cancel(struct mpi_state *state)
{
    struct mpi_receives *receives = &state->receives;

    for (unsigned i = receives->late; i < MPI_RECEIVES && receives->posted; i++)
        state->calls->cancel(
            &receives->request[(receives->head + MPI_RECEIVES - 1 + i) % MPI_RECEIVES]);
    receives->posted = false;
}

/* Takes leave of the other PEs. Until all have come there may be messages for this PE, which must
 * not reach a later communicator: MPI may give it the same number. */
bool mpi_message_leave(struct mpi_state *state)
{
    uint64_t end = sy_clock_ns() + LEAVE_NS;
    mpi_request barrier;
    bool gone = false;

    state->receives.closing = true;
    if (state->self.ends_deaf)
        message_answer(state, end);
    while (atomic_load(&state->sends.flights) + atomic_load(&state->large.count) &&
           sy_clock_ns() < end)
        mpi_message_progress(state, 0);
    if (!state->calls->barrier(state->comm, &barrier))
        while (!(gone = state->calls->test(&barrier, NULL, NULL) > 0) && sy_clock_ns() < end)
            mpi_message_progress(state, 0);
    if (gone)
        mpi_message_cancel(state);
    state->receives.posted = false;
    return gone;
}

/* Frees buffers, but not those that MPI may still write or read. */
void mpi_message_free(struct mpi_state *state)
{
    free(state->sends.memory);
    free(state->receives.memory);
    free(state->receives.heard);
    free(state->large.request);
    free(state->large.ticket);
}

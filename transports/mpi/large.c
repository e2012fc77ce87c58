/* Large data beside the messages: each an MPI_Isend from where it lies and an MPI_Irecv to where it
 * goes, which find each other by a tag. MPI copies nothing then that it need not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/mpi/state.h"
#include "util/clock.h"
#include "util/count.h"

/* Far more than a piece takes; if it takes longer, the other side is busy with other things. */
#define MOVES_NS UINT64_C(2000000)

enum { FIRST_TAG = 2, TAGS = MPI_CALLS_TAGS / 2 }; /* there are far fewer of a pair at a time */

static int large_tag(uint64_t number)
{
    return FIRST_TAG + (int)(number % TAGS);
}

/* Makes room for one more request; under the lock. */
static bool large_reserve(struct mpi_large *large, unsigned count)
{
    unsigned room = large->room ? 2 * large->room : MPI_CALLS_SOME;

    if (count < large->room)
        return true;
    mpi_request *request = realloc(large->request, room * sizeof *request);
    if (request)
        large->request = request;
    void **ticket = realloc(large->ticket, room * sizeof *ticket);
    if (ticket)
        large->ticket = ticket;
    if (request && ticket)
        large->room = room;
    return request && ticket;
}

/* Begins a send from `from`; with from NULL, a receive into `to`. */
static int large_begin(struct mpi_state *state, int pe, uint64_t number, const void *from, void *to,
                       size_t length, void *ticket)
{
    struct mpi_large *large = &state->large;
    int rank = state->rank_of[pe], rc = -ENOMEM;

    pthread_mutex_lock(&large->lock);
    unsigned count = atomic_load_explicit(&large->count, memory_order_relaxed);
    if (atomic_load(&state->over))
        rc = -ESHUTDOWN;
    else if (large_reserve(large, count))
        rc = from ? state->calls->send(state->comm, from, length, rank, large_tag(number),
                                       &large->request[count])
                  : state->calls->receive(state->comm, to, length, rank, large_tag(number),
                                          &large->request[count]);
    if (!rc) {
        large->ticket[count] = ticket;
        atomic_store_explicit(&large->since, sy_clock_ns(), memory_order_relaxed);
        atomic_store_explicit(&large->count, count + 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&large->lock);
    if (!rc)
        sy_count_shared(&state->counters.larges, 1);
    else if (rc == -EIO)
        state->host->log(SY_LOG_ERROR, state->instance.name, "large data, PE %d: MPI says: %s", pe,
                         state->calls->text());
    return rc;
}

int mpi_large_send(void *self, int pe, uint64_t number, const void *bytes, size_t length,
                   void *ticket)
{
    return large_begin(self, pe, number, bytes, NULL, length, ticket);
}

int mpi_large_receive(void *self, int pe, uint64_t number, void *bytes, size_t length, void *ticket)
{
    return large_begin(self, pe, number, NULL, bytes, length, ticket);
}

/* Tells of the requests that are complete among `count` from `first` on: how many, or -errno. */
static int large_test(struct mpi_state *state, unsigned first, unsigned count)
{
    struct mpi_large *large = &state->large;
    int which[MPI_CALLS_SOME],
        done = state->calls->test_some(large->request + first, (int)count, which);

    for (int i = 0; i < done; i++) {
        void **ticket = &large->ticket[first + (unsigned)which[i]];
        state->instance.large_done(state->instance.receiver, *ticket);
        *ticket = NULL;
    }
    return done;
}

/* Tells of all requests that are complete, again while there are any: the end of one may let
 * another one go on. Under the lock. */
static int large_test_all(struct mpi_state *state)
{
    struct mpi_large *large = &state->large;
    unsigned count = atomic_load_explicit(&large->count, memory_order_relaxed), left = 0;
    int done = 0, rc = 0;

    for (unsigned i = 0; i < count && rc >= 0; i += MPI_CALLS_SOME) {
        rc = large_test(state, i, count - i < MPI_CALLS_SOME ? count - i : MPI_CALLS_SOME);
        done += rc;
    }
    for (unsigned i = 0; i < count; i++)
        if (large->ticket[i]) {
            large->request[left] = large->request[i];
            large->ticket[left++] = large->ticket[i];
        }
    atomic_store_explicit(&large->count, left, memory_order_relaxed);
    if (done)
        atomic_store_explicit(&large->since, sy_clock_ns(), memory_order_relaxed);
    return rc < 0 ? rc : done;
}

int mpi_large_progress(struct mpi_state *state)
{
    struct mpi_large *large = &state->large;
    int done = 0;

    if (pthread_mutex_trylock(&large->lock))
        return 0;
    if (!atomic_load(&state->over))
        done = large_test_all(state);
    pthread_mutex_unlock(&large->lock);
    if (done >= 0)
        return done;
    mpi_message_failed(state, "large data",
                       "MPI cannot move large data any more, of this PE or of another");
    return 0;
}

/* Who has the lock is in MPI, perhaps copying, and would lose the processor to one who looks. */
bool mpi_large_moves(struct mpi_state *state)
{
    struct mpi_large *large = &state->large;

    if (!atomic_load_explicit(&large->count, memory_order_relaxed) ||
        sy_clock_ns() - atomic_load_explicit(&large->since, memory_order_relaxed) >= MOVES_NS ||
        pthread_mutex_trylock(&large->lock))
        return false;
    pthread_mutex_unlock(&large->lock);
    return true;
}

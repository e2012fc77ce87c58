/* Polling and sleeping. Application threads that wait poll the completion queues themselves. The
 * core's progress thread, and application threads where processors are few, sleep on an epoll set
 * of two descriptors:
 *
 * - The main completion queue's, or the one for wake-ups (wakeup.c). It is watched ("armed") while
 *   no application thread polls, so that a PE that computes serves others at the cost of one
 *   wake-up.
 * - A timer. It runs while application threads poll, to notice when they have stopped, and for
 *   providers whose queue has no descriptor or that must be polled from time to time.
 *
 * So no two threads wake for the same message. An idle PE does not wake at all, or every few
 * milliseconds where nothing is sure to wake it. */
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "util/clock.h"

#define LONGEST_NS      4000000L
#define LONGEST_BEAT_NS 1000000L /* while application threads poll */
#define BATCH           16
#define LOOKS           50 /* idle polls before the processor is offered to others */

/* Idle polls before a thread sleeps that nothing wakes: native operations move on in polls that
 * find nothing. */
#define DEAF_LOOKS 4

/* A provider in software receives what another PE puts in polls that report nothing. These take
 * longer than one that finds nothing, which takes about a microsecond, and more the more
 * connections there are. One long poll may be a thread that had to wait for its processor; data
 * are taken to arrive where two come close together. After one the next is looked for. */
#define LONG_POLL_NS      UINT64_C(10000)
#define LONG_POLL_A_PE_NS UINT64_C(200)
#define LONG_POLLS_APART  UINT64_C(200000)
#define LOOKING_NS        UINT64_C(500000)

/* ---- completions ---- */

static bool progress_post(struct ofi_state *ofi, struct ofi_message *buffer)
{
    struct ofi_pool *pool = &ofi->receives;
    ssize_t rc = fi_recv(ofi->endpoint[0].ep, buffer->header, OFI_MESSAGE,
                         pool->mr ? fi_mr_desc(pool->mr) : NULL, FI_ADDR_UNSPEC,
                         &buffer->slot.context);

    if (!rc)
        return true;
    buffer->next = pool->free;
    pool->free = buffer;
    return false;
}

/* Posts free receive buffers; what fails is tried again at the next poll. */
static void progress_post_all(struct ofi_state *ofi)
{
    struct ofi_message *buffer;

    while ((buffer = sy_ofi_take(&ofi->receives)))
        if (!progress_post(ofi, buffer))
            return;
}

static void progress_complete(struct ofi_endpoint *endpoint, const struct fi_cq_msg_entry *entry)
{
    struct ofi_state *ofi = endpoint->ofi;
    struct ofi_slot *slot = entry->op_context;
    struct ofi_message *message = (struct ofi_message *)slot;

    if (!slot)
        return;
    switch (slot->kind) {
    case OFI_OPERATION:
        sy_ofi_operation_done(endpoint, (struct ofi_operation *)slot);
        break;
    case OFI_SENT:
        sy_ofi_give(message);
        break;
    case OFI_RECEIVED:
        sy_ofi_serve(ofi, message->header, entry->len);
        progress_post(ofi, message);
        break;
    }
}

/* An operation failed: the peer it was for is lost, unless it is a PE that need not be there any
 * more. The program learns that before the operation counts as complete: it must not go on with
 * data that have not come. */
static void progress_failed(struct ofi_endpoint *endpoint)
{
    struct ofi_state *ofi = endpoint->ofi;
    struct fi_cq_err_entry entry = {0};
    char text[160] = "";

    if (fi_cq_readerr(endpoint->cq, &entry, 0) <= 0)
        return;
    struct ofi_slot *slot = entry.op_context;
    const char *why = fi_cq_strerror(endpoint->cq, entry.prov_errno, entry.err_data, text,
                                     sizeof text);
    why = entry.err == FI_EIO && why && *why ? why : sy_ofi_library.strerror(entry.err);
    ofi->host->log(SY_LOG_DEBUG, ofi->name, "completion with error %d, %d: %s", entry.err,
                   entry.prov_errno, why);
    if (!slot)
        return;
    int pe = slot->kind == OFI_OPERATION ? ((struct ofi_operation *)slot)->pe
             : slot->kind == OFI_SENT && !((struct ofi_message *)slot)->pool->replies
                 ? ((struct ofi_message *)slot)->peer->pe
                 : -1;
    if (slot->kind == OFI_RECEIVED) {
        if (entry.err != FI_ECANCELED)
            progress_post(ofi, (struct ofi_message *)slot);
        return;
    }
    if (pe >= 0)
        sy_ofi_failed(&ofi->peer[pe], entry.err, why);
    const struct fi_cq_msg_entry over = {.op_context = slot};
    progress_complete(endpoint, &over);
}

/* Polls one endpoint, which the caller has locked. */
static int progress_poll_endpoint(struct ofi_endpoint *endpoint)
{
    struct fi_cq_msg_entry entry[BATCH];
    ssize_t count = fi_cq_read(endpoint->cq, entry, BATCH);

    for (ssize_t i = 0; i < count; i++)
        progress_complete(endpoint, &entry[i]);
    if (count == -FI_EAVAIL) {
        progress_failed(endpoint);
        return 1;
    }
    return count > 0 ? (int)count : 0;
}

/* Polls the main endpoint, then serves and sends what waited for it. */
int sy_ofi_poll(struct ofi_state *ofi)
{
    int done = progress_poll_endpoint(&ofi->endpoint[0]);

    if (ofi->waiting)
        sy_ofi_retry(ofi);
    if (ofi->deferred)
        sy_ofi_serve_deferred(ofi);
    if (ofi->receives.free)
        progress_post_all(ofi);
    if ((!done || ofi->awaited) && ofi->owed)
        sy_ofi_pay(ofi);
    ofi->looks++;
    if (ofi->expected && sy_ofi_reached(ofi->looks, ofi->wake_at))
        sy_ofi_wakeup_due(ofi);
    return done;
}

/* ---- sleeping ---- */

static bool progress_was_long(const struct ofi_state *ofi, uint64_t now)
{
    return now - atomic_load_explicit(&ofi->long_poll, memory_order_relaxed) < LONG_POLLS_APART;
}

/* Whether a poll that began then and reported nothing is the second long one. */
static bool progress_moved_since(struct ofi_state *ofi, uint64_t begun)
{
    uint64_t now = sy_clock_ns();

    if (now - begun < LONG_POLL_NS + LONG_POLL_A_PE_NS * (uint64_t)ofi->host->npes)
        return false;
    bool second = progress_was_long(ofi, begun);
    atomic_store_explicit(&ofi->long_poll, now, memory_order_relaxed);
    return second;
}

/* sy_ofi_poll. *moved: nothing was reported, but something has moved; not asked unless `timed`. */
static int progress_poll_timed(struct ofi_state *ofi, bool timed, bool *moved)
{
    uint64_t begun = timed ? sy_clock_ns() : 0;
    int done = sy_ofi_poll(ofi);

    *moved = timed && !done && progress_moved_since(ofi, begun);
    return done;
}

/* Whether something is under way whose end the descriptor may not tell. */
static bool progress_unfinished(struct ofi_state *ofi)
{
    if (ofi->waiting || ofi->owed || ofi->deferred || ofi->receives.free)
        return true;
    if (ofi->expected || (ofi->traits.wakeup && ofi->replies.taken))
        return true;
    if (!ofi->traits.ticks)
        return false;
    for (int pe = 0; pe < ofi->host->npes; pe++)
        if (ofi->peer[pe].sent != ofi->peer[pe].acked)
            return true;
    return false;
}

static long longer(long ns, long most)
{
    return ns * 2 < most ? ns * 2 : most;
}

/* Polls until nothing is left, and arms the descriptor; but others want the endpoint too, so polls
 * that take long are soon enough. *busy: whether there was something. Returns whether the
 * descriptor will tell when there is something again. */
static bool progress_look(struct ofi_state *ofi, bool *busy)
{
    struct fid *queue = &ofi->endpoint[0].cq->fid;
    int idle = 0, looks = ofi->cq_fd < 0 || ofi->traits.wakeup ? DEAF_LOOKS : 1;
    bool silent = ofi->traits.silent, moved;
    uint64_t begun = silent ? sy_clock_ns() : 0, now = begun;

    for (int rounds = 0; rounds < 64 && now - begun <= LOOKING_NS; rounds++) {
        bool done = progress_poll_timed(ofi, silent, &moved) || moved ||
                    (ofi->traits.wakeup && sy_ofi_wakeup_taken(ofi));
        now = silent ? sy_clock_ns() : 0;
        if (done) {
            *busy = true;
            continue;
        }
        if (++idle < looks || (silent && progress_was_long(ofi, now)))
            continue;
        if (ofi->cq_fd < 0)
            return false;
        if (ofi->traits.wakeup || !fi_trywait(ofi->fabric, &queue, 1)) {
            if (!ofi->armed)
                sy_ofi_watch_queue(ofi, true);
            return true;
        }
    }
    *busy = *busy || now - begun > LOOKING_NS;
    return false;
}

/* Whether a PE that takes wake-ups looks again without one: more may come soon, or the network may
 * let none through. */
static bool looks_again(struct ofi_state *ofi, bool busy)
{
    return ofi->traits.wakeup && (busy || ofi->tick_ns < LONGEST_NS || ofi->wakeup.from_far);
}

/* Lets a thread sleep when nothing is left: on the descriptor where it tells, else for a while that
 * grows as long as nothing comes. It grows too while this PE sends without waiting and the others
 * answer: else looks that take the answers would keep the sender from ever having to, and cost it a
 * third of its processor. late: those that owe an answer have had time for it. Returns as
 * arm() does. Main endpoint locked. */
static int progress_settle(struct ofi_state *ofi, bool late)
{
    bool asks = ofi->expected, busy = sy_ofi_poll(ofi) > 0;
    if (!ofi->traits.wakeup)
        sy_ofi_wakeup_taken(ofi); /* a question, or its answer: probe.c */
    bool moving = ofi->expected && sy_ofi_wakeup_inquire(ofi, late);
    bool told = progress_look(ofi, &busy);

    if (told && !progress_unfinished(ofi) && !looks_again(ofi, busy)) {
        sy_ofi_set_timer(ofi, 0);
        return busy;
    }
    ofi->unheard_ns = asks && busy ? longer(ofi->unheard_ns, LONGEST_BEAT_NS) : OFI_UNHEARD_NS;
    if (moving || (busy && ofi->unheard_ns < OFI_TICK_NS))
        ofi->tick_ns = OFI_TICK_NS;
    else
        ofi->tick_ns = busy ? ofi->unheard_ns : longer(ofi->tick_ns, LONGEST_NS);
    sy_ofi_set_timer(ofi, ofi->tick_ns);
    return busy ? 1 : -EAGAIN;
}

/* The application has polled since the last beat; the next one comes later. Threads that poll but
 * seldom do not send wake-ups soon, and those that only poll do not read theirs. */
static void progress_beat(struct ofi_state *ofi, unsigned polls)
{
    if (ofi->wakeup.fd >= 0 && !pthread_mutex_trylock(&ofi->endpoint[0].lock)) {
        sy_ofi_wakeup_inquire(ofi, false);
        sy_ofi_wakeup_taken(ofi);
        sy_ofi_unlock(&ofi->endpoint[0]);
    }
    ofi->polls_before = polls;
    long beat_ns = longer(atomic_load_explicit(&ofi->beat_ns, memory_order_relaxed),
                          LONGEST_BEAT_NS);
    atomic_store_explicit(&ofi->beat_ns, beat_ns, memory_order_relaxed);
    sy_clock_set_timer(ofi->timer, (uint64_t)beat_ns);
}

/* Progress for the core's progress thread, which was woken. */
int sy_ofi_event(struct ofi_state *ofi)
{
    uint64_t expirations;
    unsigned polls = atomic_load_explicit(&ofi->polls, memory_order_relaxed);
    bool armed = atomic_load_explicit(&ofi->armed, memory_order_relaxed);

    sy_ofi_probes_look(ofi);
    if (read(ofi->timer, &expirations, sizeof expirations) < 0)
        expirations = 0;
    if (!armed && polls != ofi->polls_before) {
        progress_beat(ofi, polls);
        return 1;
    }
    sy_ofi_lock(&ofi->endpoint[0]);
    progress_settle(ofi, expirations > 0);
    sy_ofi_unlock(&ofi->endpoint[0]);
    return 1;
}

/* The descriptor does not tell of other endpoints, which take no requests, nor of what a device
 * writes; where it is the one for wake-ups, nor of what comes before one. A timer or a wake-up soon
 * has the progress thread see all of these but what a device writes. When the core leaves the
 * transport to threads that poll there is nothing to do: they disarm. */
int sy_ofi_arm(void *self)
{
    struct ofi_state *ofi = self;
    bool seen = !ofi->traits.rma || ofi->traits.software;
    bool all = ofi->endpoints == 1 && !ofi->traits.wakeup && seen;

    if (ofi->traits.silent)
        atomic_store_explicit(&ofi->timed, true, memory_order_relaxed);
    sy_ofi_lock(&ofi->endpoint[0]);
    int done = progress_settle(ofi, false);
    sy_ofi_unlock(&ofi->endpoint[0]);
    if (done > 0 || (all && !done))
        return done;
    return seen ? -EINPROGRESS : -EAGAIN;
}

/* After polls that found nothing: whether the processor has been given to others. */
static bool progress_give_way(struct ofi_state *ofi)
{
    unsigned idle = atomic_fetch_add_explicit(&ofi->idle, 1, memory_order_relaxed) + 1;

    if (idle % LOOKS)
        return false;
    sched_yield();
    return true;
}

/* Polls for a thread of the program. disarm: that thread goes on polling and does not sleep, unless
 * it has waited for long and nothing has come. *moved: what has moved was not reported. */
static int progress_poll_all(struct ofi_state *ofi, bool disarm, bool *moved)
{
    int done = 0;

    atomic_fetch_add_explicit(&ofi->polls, 1, memory_order_relaxed);
    if (!pthread_mutex_trylock(&ofi->endpoint[0].lock)) {
        bool timed = atomic_load_explicit(&ofi->timed, memory_order_relaxed);
        done = progress_poll_timed(ofi, timed, moved);
        if (ofi->armed && disarm && (!timed || done || *moved)) {
            sy_ofi_watch_queue(ofi, false);
            atomic_store_explicit(&ofi->beat_ns, OFI_TICK_NS, memory_order_relaxed);
            sy_ofi_set_timer(ofi, ofi->tick_ns = OFI_TICK_NS);
        }
        if (timed && done)
            atomic_store_explicit(&ofi->timed, false, memory_order_relaxed);
        sy_ofi_unlock(&ofi->endpoint[0]);
    }
    for (unsigned i = 1; i < ofi->endpoints; i++) {
        struct ofi_endpoint *endpoint = &ofi->endpoint[i];
        if (!pthread_mutex_trylock(&endpoint->lock)) {
            done += endpoint->cq ? progress_poll_endpoint(endpoint) : 0;
            sy_ofi_unlock(endpoint);
        }
    }
    if (!done)
        return progress_give_way(ofi) ? -1 : 0;
    atomic_store_explicit(&ofi->idle, 0, memory_order_relaxed);
    return done;
}

int sy_ofi_progress(struct ofi_state *ofi)
{
    bool moved = false;
    int done = progress_poll_all(ofi, !ofi->host->crowded, &moved);

    return moved ? 1 : done;
}

/* One look in a wait inside a call. What is not there soon is the core's business too: stall
 * reports see it, other transports move, and the processor is given away. */
void sy_ofi_wait_step(struct ofi_state *ofi, struct ofi_wait *wait)
{
    bool moved;

    if (progress_poll_all(ofi, true, &moved) > 0)
        wait->idle = 0;
    else if (++wait->idle % LOOKS == 0)
        ofi->host->rest(&wait->since);
}

void sy_ofi_wait(struct ofi_state *ofi, _Atomic int *left)
{
    struct ofi_wait wait = {0};

    while (atomic_load_explicit(left, memory_order_acquire))
        sy_ofi_wait_step(ofi, &wait);
}

/* ---- the end ---- */

/* Whether all requests have been acknowledged, and those of others too, and all of it has left. */
static bool progress_drained(struct ofi_state *ofi)
{
    bool all = !ofi->waiting && !ofi->deferred;

    for (int pe = 0; pe < ofi->host->npes; pe++) {
        struct ofi_peer *peer = &ofi->peer[pe];
        sy_ofi_push(peer, true);
        if (peer->told != peer->applied)
            sy_ofi_owe(peer);
        /* An empty message is for this PE's own information. */
        all = all && peer->acked >= peer->content;
    }
    return all && !ofi->owed && !ofi->requests.taken && !ofi->replies.taken;
}

/* Drains before the endpoint is closed: others may wait for acknowledgements, and what this PE sent
 * last must have left. All PEs do this, so none waits for long. */
bool sy_ofi_drain(struct ofi_state *ofi, double seconds)
{
    uint64_t until = sy_clock_ns() + (uint64_t)(seconds * 1e9);
    bool done;

    sy_ofi_lock(&ofi->endpoint[0]);
    ofi->closing = true;
    while (!(done = progress_drained(ofi)) && sy_clock_ns() < until)
        if (!sy_ofi_poll(ofi))
            sched_yield();
    sy_ofi_unlock(&ofi->endpoint[0]);
    return done;
}

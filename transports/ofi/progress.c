/* Polling, and sleeping. Application threads that wait poll the completion queues themselves. Who
 * sleeps, be it the core's progress thread or one of those, does so on one descriptor, an epoll set
 * of two:
 *
 * - the main completion queue's, or the bell's (bell.c), watched ("armed") while no application
 * thread polls, or may sleep between its polls, so that a PE that computes serves others at the
 * cost of one wake-up;
 * - a timer, which runs while application threads do poll, to notice when they have stopped, and
 * for providers whose queue has no descriptor or that need to be looked at now and then.
 *
 * So the two do not wake for the same message, and an idle PE does not wake, or every few
 * milliseconds where nothing is sure to wake it. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "util/denied.h"

#define TICK_NS         250000L
#define UNHEARD_NS      50000L /* until the other side is rung, if this one does not wait */
#define LONGEST_NS      4000000L
#define LONGEST_BEAT_NS 1000000L /* while application threads poll */
#define BATCH           16
#define LOOKS           50    /* idle polls before the processor is offered to others */
#define LONG_IDLE       10000 /* the same before a wait inside a call is the core's business too */

/* Idle polls after which a PE seems to compute: more than a large transfer to one that polls has. A
 * multiple of LOOKS. */
#define LONG_WAIT 200

/* Idle polls before a thread sleeps that nothing wakes: native operations move on in polls that
 * find nothing. */
#define DEAF_LOOKS 4

/* ---- completions ---- */

static bool ofi_progress_post(struct ofi_message *buffer)
{
    struct ofi_pool *pool = &sy_ofi.receives;
    ssize_t rc = fi_recv(sy_ofi.lane[0].ep, buffer->header, OFI_MESSAGE,
                         pool->mr ? fi_mr_desc(pool->mr) : NULL, FI_ADDR_UNSPEC,
                         &buffer->slot.context);

    if (!rc)
        return true;
    buffer->next = pool->free;
    pool->free = buffer;
    return false;
}

/* Posts what is free; the rest is tried again at the next poll. */
static void ofi_progress_post_all(void)
{
    struct ofi_message *buffer;

    while ((buffer = sy_ofi_take(&sy_ofi.receives)))
        if (!ofi_progress_post(buffer))
            return;
}

static void ofi_progress_complete(struct ofi_lane *lane, const struct fi_cq_msg_entry *entry)
{
    struct ofi_slot *slot = entry->op_context;
    struct ofi_message *message = (struct ofi_message *)slot;

    if (!slot)
        return;
    switch (slot->kind) {
    case OFI_OPERATION:
        sy_ofi_operation_done(lane, (struct ofi_operation *)slot);
        break;
    case OFI_SENT:
        sy_ofi_give(message);
        break;
    case OFI_RECEIVED:
        sy_ofi_serve(message->header, entry->len);
        ofi_progress_post(message);
        break;
    }
}

/* An operation failed: the peer it was for is lost, unless it is a PE that need not be there any
 * more. */
static void ofi_progress_failed(struct ofi_lane *lane)
{
    struct fi_cq_err_entry entry = {0};
    char text[160] = "";

    if (fi_cq_readerr(lane->cq, &entry, 0) <= 0)
        return;
    struct ofi_slot *slot = entry.op_context;
    const char *why = fi_cq_strerror(lane->cq, entry.prov_errno, entry.err_data, text, sizeof text);
    why = entry.err == FI_EIO && why && *why ? why : sy_ofi_library.strerror(entry.err);
    sy_ofi.host->log(SY_LOG_DEBUG, "ofi", "completion with error %d, %d: %s", entry.err,
                     entry.prov_errno, why);
    if (!slot)
        return;
    int pe = slot->kind == OFI_OPERATION ? ((struct ofi_operation *)slot)->pe
             : slot->kind == OFI_SENT && !((struct ofi_message *)slot)->reply
                 ? ((struct ofi_message *)slot)->peer->pe
                 : -1;
    if (slot->kind == OFI_RECEIVED) {
        if (entry.err != FI_ECANCELED)
            ofi_progress_post((struct ofi_message *)slot);
        return;
    }
    const struct fi_cq_msg_entry over = {.op_context = slot};
    ofi_progress_complete(lane, &over);
    if (pe >= 0)
        sy_ofi_failed(&sy_ofi.peer[pe], entry.err, why);
}

/* Polls one lane, which the caller has locked. */
static int ofi_progress_poll_lane(struct ofi_lane *lane)
{
    struct fi_cq_msg_entry entry[BATCH];
    ssize_t count = fi_cq_read(lane->cq, entry, BATCH);

    for (ssize_t i = 0; i < count; i++)
        ofi_progress_complete(lane, &entry[i]);
    if (count == -FI_EAVAIL) {
        ofi_progress_failed(lane);
        return 1;
    }
    return count > 0 ? (int)count : 0;
}

/* The main lane, and what waits for it. */
int sy_ofi_poll(void)
{
    int done = ofi_progress_poll_lane(&sy_ofi.lane[0]);

    if (sy_ofi.waiting)
        sy_ofi_retry();
    if (sy_ofi.deferred)
        sy_ofi_serve_deferred();
    if (sy_ofi.receives.free)
        ofi_progress_post_all();
    if ((!done || sy_ofi.awaited) && sy_ofi.owed)
        sy_ofi_pay();
    sy_ofi.looks++;
    if (sy_ofi.expected && sy_ofi_reached(sy_ofi.looks, sy_ofi.ring_at))
        sy_ofi_ring_due();
    return done;
}

/* ---- sleeping ---- */

static void ofi_progress_start_timer(long ns)
{
    const struct itimerspec when = {.it_value.tv_nsec = ns};

    timerfd_settime(sy_ofi.timer, 0, &when, NULL);
}

/* The same with the main lane locked. */
static void ofi_progress_set_timer(long ns)
{
    sy_ofi.ticking = ns > 0;
    ofi_progress_start_timer(ns);
}

static void ofi_progress_watch_queue(bool on)
{
    struct epoll_event event = {.events = EPOLLIN};

    atomic_store_explicit(&sy_ofi.armed, on, memory_order_relaxed);
    epoll_ctl(sy_ofi.epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, sy_ofi.cq_fd, &event);
}

/* Something was issued that must be looked after although nothing wakes who sleeps. */
void sy_ofi_look_after(void)
{
    long soon = sy_ofi.rings ? UNHEARD_NS : TICK_NS;

    if (sy_ofi.armed && (!sy_ofi.ticking || sy_ofi.tick_ns > soon))
        ofi_progress_set_timer(sy_ofi.tick_ns = soon);
}

/* Something is under way that the descriptor may not tell the end of. */
static bool ofi_progress_unfinished(void)
{
    if (sy_ofi.waiting || sy_ofi.owed || sy_ofi.deferred || sy_ofi.receives.free)
        return true;
    if (sy_ofi.expected || (sy_ofi.traits.bell && sy_ofi.replies.taken))
        return true;
    if (!sy_ofi.traits.ticks)
        return false;
    for (int pe = 0; pe < sy_ofi.host->npes; pe++)
        if (sy_ofi.peer[pe].sent != sy_ofi.peer[pe].acked)
            return true;
    return false;
}

static long longer(long ns, long most)
{
    return ns * 2 < most ? ns * 2 : most;
}

/* Polls until nothing is left, and arms the descriptor. *busy: whether there was something. Returns
 * whether the descriptor will tell when there is something again. */
static bool ofi_progress_look(bool *busy)
{
    struct fid *queue = &sy_ofi.lane[0].cq->fid;
    int idle = 0, looks = sy_ofi.cq_fd < 0 || sy_ofi.traits.bell ? DEAF_LOOKS : 1;

    for (int rounds = 0; rounds < 64; rounds++) {
        if (sy_ofi_poll() || sy_ofi_bell_heard()) {
            *busy = true;
            continue;
        }
        if (++idle < looks)
            continue;
        if (sy_ofi.cq_fd < 0)
            return false;
        if (sy_ofi.traits.bell || !fi_trywait(sy_ofi.fabric, &queue, 1)) {
            if (!sy_ofi.armed)
                ofi_progress_watch_queue(true);
            return true;
        }
    }
    return false;
}

/* Whether a PE with a bell looks again before it is rung: the next request comes soon, or the rest
 * of a long one; or it may never be rung. */
static bool looks_again(bool busy)
{
    return sy_ofi.traits.bell && (busy || sy_ofi.tick_ns < LONGEST_NS || !sy_ofi_bell_works());
}

/* Lets a thread sleep when nothing is left: on the descriptor where it tells, else for a while that
 * grows as long as nothing comes. late: those that owe an answer have had time for it. Returns as
 * sleeping() does. Main lane locked. */
static int ofi_progress_settle(bool late)
{
    bool busy = sy_ofi_poll() > 0;
    bool moving = sy_ofi.expected && sy_ofi_inquire(late);
    bool told = ofi_progress_look(&busy);

    if (told && !ofi_progress_unfinished() && !looks_again(busy)) {
        ofi_progress_set_timer(0);
        return busy;
    }
    sy_ofi.tick_ns = busy || moving ? TICK_NS : longer(sy_ofi.tick_ns, LONGEST_NS);
    ofi_progress_set_timer(sy_ofi.tick_ns);
    return busy ? 1 : -EAGAIN;
}

/* The application has polled since the last beat; the next one comes later. Threads that poll but
 * seldom do not ring soon, and those that only poll do not read the bell. */
static void ofi_progress_beat(unsigned polls)
{
    if (sy_ofi.rings && !pthread_mutex_trylock(&sy_ofi.lane[0].lock)) {
        sy_ofi_inquire(false);
        sy_ofi_bell_heard();
        sy_ofi_unlock(&sy_ofi.lane[0]);
    }
    sy_ofi.polls_before = polls;
    ofi_progress_start_timer(sy_ofi.beat_ns = longer(sy_ofi.beat_ns, LONGEST_BEAT_NS));
}

/* The core's progress thread was woken. */
int sy_ofi_event(void)
{
    uint64_t expirations;
    unsigned polls = atomic_load_explicit(&sy_ofi.polls, memory_order_relaxed);
    bool armed = atomic_load_explicit(&sy_ofi.armed, memory_order_relaxed);

    sy_ofi_probes_look();
    if (read(sy_ofi.timer, &expirations, sizeof expirations) < 0)
        expirations = 0;
    if (!armed && polls != sy_ofi.polls_before) {
        ofi_progress_beat(polls);
        return 1;
    }
    sy_ofi_lock(&sy_ofi.lane[0]);
    ofi_progress_settle(expirations > 0);
    sy_ofi_unlock(&sy_ofi.lane[0]);
    return 1;
}

/* The descriptor tells neither of other lanes, nor of what a device writes, nor, where it is the
 * bell's, of what comes before a ring. When the core leaves the transport to threads that poll
 * there is nothing to do: they disarm. */
int sy_ofi_arm(void *self)
{
    bool all = sy_ofi.lanes == 1 && !sy_ofi.traits.bell &&
               (!sy_ofi.traits.rma || sy_ofi.traits.software);

    (void)self;
    sy_ofi_lock(&sy_ofi.lane[0]);
    int done = ofi_progress_settle(false);
    sy_ofi_unlock(&sy_ofi.lane[0]);
    return done || all ? done : -EAGAIN;
}

/* A PE that computes looks seldom if nothing wakes it, more often after a message has come; native
 * operations do not tell it that they have. Main lane locked. */
static void ofi_progress_nudge(void)
{
    const struct ofi_lane *lane = &sy_ofi.lane[0];

    for (int i = 0; i < OFI_OPERATIONS; i++) {
        const struct ofi_operation *op = &lane->operations[i];
        if (op->pe < 0)
            continue;
        struct ofi_peer *peer = &sy_ofi.peer[op->pe];
        if (peer->sent != peer->acked)
            continue;
        /* What follows a long write would not be noticed before it is over. */
        if (!sy_ofi_held_up(peer))
            sy_ofi_ask(peer, peer->sent + 1);
        else if (op->get)
            sy_ofi_knock(peer);
    }
}

/* After polls that found nothing: whether the processor has been given to others. */
static bool ofi_progress_give_way(void)
{
    unsigned idle = atomic_fetch_add_explicit(&sy_ofi.idle, 1, memory_order_relaxed) + 1;

    if (idle % LOOKS)
        return false;
    if (sy_ofi.traits.deaf && idle % LONG_WAIT == 0 &&
        !pthread_mutex_trylock(&sy_ofi.lane[0].lock)) {
        ofi_progress_nudge();
        sy_ofi_unlock(&sy_ofi.lane[0]);
    }
    sched_yield();
    return true;
}

/* An application thread polls. disarm: it goes on doing so without a sleep. */
static int ofi_progress_poll_all(bool disarm)
{
    int done = 0;

    atomic_fetch_add_explicit(&sy_ofi.polls, 1, memory_order_relaxed);
    if (!pthread_mutex_trylock(&sy_ofi.lane[0].lock)) {
        if (sy_ofi.armed && disarm) {
            ofi_progress_watch_queue(false);
            ofi_progress_set_timer(sy_ofi.tick_ns = sy_ofi.beat_ns = TICK_NS);
        }
        done = sy_ofi_poll();
        sy_ofi_unlock(&sy_ofi.lane[0]);
    }
    for (unsigned i = 1; i < sy_ofi.lanes; i++) {
        struct ofi_lane *lane = &sy_ofi.lane[i];
        if (!pthread_mutex_trylock(&lane->lock)) {
            done += lane->cq ? ofi_progress_poll_lane(lane) : 0;
            sy_ofi_unlock(lane);
        }
    }
    if (!done)
        return ofi_progress_give_way() ? -1 : 0;
    atomic_store_explicit(&sy_ofi.idle, 0, memory_order_relaxed);
    return done;
}

int sy_ofi_progress(void)
{
    return ofi_progress_poll_all(!sy_ofi.host->crowded);
}

/* One look in a wait inside a call. What lasts is the core's business too: stall reports see it,
 * other transports move, and the processor is given away. */
void sy_ofi_wait_step(struct ofi_wait *wait)
{
    if (ofi_progress_poll_all(true) > 0)
        wait->idle = 0;
    else if (++wait->idle % LONG_IDLE == 0)
        sy_ofi.host->rest(&wait->since);
}

void sy_ofi_wait(_Atomic int *left)
{
    struct ofi_wait wait = {0};

    while (atomic_load_explicit(left, memory_order_acquire))
        sy_ofi_wait_step(&wait);
}

int sy_ofi_wait_fd(void *self)
{
    (void)self;
    return sy_ofi.epoll;
}

/* ---- life ---- */

int sy_ofi_progress_open(struct sy_error *err)
{
    struct epoll_event event = {.events = EPOLLIN};

    sy_ofi.cq_fd = -1;
    sy_ofi.epoll = epoll_create1(EPOLL_CLOEXEC);
    sy_ofi.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (sy_ofi.epoll < 0 || sy_ofi.timer < 0 ||
        epoll_ctl(sy_ofi.epoll, EPOLL_CTL_ADD, sy_ofi.timer, &event))
        return sy_ofi.host->fail(err, errno, "a timer for the progress thread: %s%s",
                                 strerror(errno), sy_denied_hint(errno));
    if (sy_ofi.traits.bell)
        sy_ofi.cq_fd = sy_ofi_bell_fd();
    else if (sy_ofi.traits.deaf || fi_control(&sy_ofi.lane[0].cq->fid, FI_GETWAIT, &sy_ofi.cq_fd))
        sy_ofi.cq_fd = -1;
    sy_ofi.host->log(SY_LOG_DEBUG, "ofi", "progress: %s",
                     sy_ofi.cq_fd < 0     ? "by a timer"
                     : sy_ofi.traits.bell ? "woken by the bell"
                                          : "woken by the completion queue");
    ofi_progress_post_all();
    ofi_progress_set_timer(sy_ofi.tick_ns = sy_ofi.beat_ns = TICK_NS);
    return 0;
}

void sy_ofi_progress_close(void)
{
    if (sy_ofi.epoll >= 0)
        close(sy_ofi.epoll);
    if (sy_ofi.timer >= 0)
        close(sy_ofi.timer);
    sy_ofi.epoll = sy_ofi.timer = sy_ofi.cq_fd = -1;
}

/* Whether all requests have been acknowledged, and those of others too, and all of it has left. */
static bool ofi_progress_drained(void)
{
    bool all = !sy_ofi.waiting && !sy_ofi.deferred;

    for (int pe = 0; pe < sy_ofi.host->npes; pe++) {
        struct ofi_peer *peer = &sy_ofi.peer[pe];
        sy_ofi_push(peer, true);
        if (peer->told != peer->applied)
            sy_ofi_owe(peer);
        /* An empty message is for this PE's own information. */
        all = all && sy_ofi_reached(peer->acked, peer->content);
    }
    return all && !sy_ofi.owed && !sy_ofi.requests.taken && !sy_ofi.replies.taken;
}

uint64_t sy_ofi_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Before the endpoint goes: others may wait for acknowledgements, and what this PE sent last must
 * have left it. Everybody does this, so nobody waits for long. */
bool sy_ofi_drain(double seconds)
{
    uint64_t until = sy_ofi_now() + (uint64_t)(seconds * 1e9);
    bool done;

    sy_ofi_lock(&sy_ofi.lane[0]);
    sy_ofi.closing = true;
    while (!(done = ofi_progress_drained()) && sy_ofi_now() < until)
        if (!sy_ofi_poll())
            sched_yield();
    sy_ofi_unlock(&sy_ofi.lane[0]);
    return done;
}

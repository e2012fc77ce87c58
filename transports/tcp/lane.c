/* The life of lanes: made with the first operation, connected, broken and connected again, closed.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transports/tcp/tcp.h"

#define SECOND      UINT64_C(1000000000)
#define OTHERS_TURN SECOND /* for the side that connected last to do so again, at most */
#define FAREWELL    (2 * SECOND)
#define GONE        (SECOND / 20) /* a peer that cannot be reached for so long at the end has left */

static int state(const struct tcp_lane *lane)
{
    return atomic_load_explicit(&lane->state, memory_order_acquire);
}

static void set_state(struct tcp_lane *lane, int value)
{
    atomic_store_explicit(&lane->state, value, memory_order_release);
}

/* ---- making ---- */

int sy_tcp_lanes_open(struct tcp *tcp, struct sy_error *err)
{
    memset(&tcp->lanes, 0, sizeof tcp->lanes);
    pthread_mutex_init(&tcp->lanes.making, NULL);
    tcp->lanes.flush_bytes = sy_flush_limit(tcp->settings.buffer);
    tcp->lanes.limit = (unsigned)tcp->host->npes * (1 + (unsigned)tcp->settings.streams);
    tcp->lanes.lane = calloc(tcp->lanes.limit, sizeof(struct tcp_lane *));
    tcp->lanes.by_number = calloc(tcp->lanes.limit, sizeof *tcp->lanes.by_number);
    tcp->lanes.dirty = calloc(tcp->lanes.limit / 64 + 1, sizeof *tcp->lanes.dirty);
    if (!tcp->lanes.lane || !tcp->lanes.by_number || !tcp->lanes.dirty)
        return tcp->host->fail(err, ENOMEM, "no memory for a table of %u connections",
                               tcp->lanes.limit);
    sy_tcp_producer_open(tcp);
    return sy_tcp_idle_open(tcp, err);
}

static struct tcp_lane *lane_make(struct tcp *tcp, int pe, unsigned number)
{
    struct tcp_lane *lane = aligned_alloc(_Alignof(struct tcp_lane), sizeof *lane);
    unsigned slot = atomic_load_explicit(&tcp->lanes.count, memory_order_relaxed);

    if (!lane)
        return NULL;
    memset(lane, 0, sizeof *lane);
    lane->pe = pe;
    lane->number = number;
    lane->slot = slot;
    lane->tcp = tcp;
    lane->locked = tcp->lanes.locked;
    lane->flush_bytes = tcp->lanes.flush_bytes;
    lane->pending.room = tcp->settings.buffer;
    lane->watch.fd = lane->herald.fd = -1;
    lane->watch.owner = lane;
    lane->pending.table = sy_tcp_table_open(SY_PENDING_BYTES);
    if (!lane->pending.table || sy_tcp_log_open(&lane->log[TCP_REQUESTS], tcp->settings.buffer) ||
        sy_tcp_log_open(&lane->log[TCP_REPLIES], tcp->settings.buffer)) {
        sy_tcp_log_close(&lane->log[TCP_REQUESTS]);
        sy_tcp_table_close(lane->pending.table, SY_PENDING_BYTES);
        free(lane);
        return NULL;
    }
    tcp->lanes.lane[slot] = lane;
    atomic_store_explicit(&tcp->lanes.count, slot + 1, memory_order_release);
    return lane;
}

struct tcp_lane *sy_tcp_lane_find(struct tcp *tcp, int pe, unsigned number)
{
    if (pe < 0 || pe >= tcp->host->npes || pe == tcp->host->pe ||
        number > (unsigned)tcp->settings.streams)
        return NULL;
    _Atomic(struct tcp_lane *) *place =
        &tcp->lanes.by_number[number * (size_t)tcp->host->npes + (size_t)pe];
    struct tcp_lane *lane = atomic_load_explicit(place, memory_order_acquire);
    if (lane)
        return lane;
    pthread_mutex_lock(&tcp->lanes.making);
    lane = atomic_load_explicit(place, memory_order_relaxed);
    if (!lane && (lane = lane_make(tcp, pe, number)))
        atomic_store_explicit(place, lane, memory_order_release);
    pthread_mutex_unlock(&tcp->lanes.making);
    return lane;
}

/* Whoever made it wanted enters it, so that it is entered once. */
static void lane_enter_wanted(struct tcp_lane *lane)
{
    struct tcp_lane *first = atomic_load_explicit(&lane->tcp->lanes.wanted, memory_order_relaxed);

    do
        lane->next_wanted = first;
    while (!atomic_compare_exchange_weak_explicit(&lane->tcp->lanes.wanted, &first, lane,
                                                  memory_order_release, memory_order_relaxed));
}

struct tcp_lane *sy_tcp_lane_open(struct tcp *tcp, int pe, unsigned number)
{
    struct tcp_lane *lane = sy_tcp_lane_find(tcp, pe, number);
    int new = TCP_LANE_NEW;

    if (lane && atomic_compare_exchange_strong(&lane->state, &new, TCP_LANE_WANTED)) {
        lane_enter_wanted(lane);
        sy_tcp_watches_wake(&tcp->poll.set);
    }
    return lane;
}

/* ---- connecting ---- */

static void lane_connect(struct tcp_lane *lane)
{
    size_t size;
    const void *address = sy_tcp_address_of(lane->tcp, lane->pe, &size);

    lane->retry_at = 0;
    sy_tcp_connect_start(lane->tcp->net, lane, lane->pe, lane->number, address, size,
                         !lane->up_since);
}

/* The application wants these, in this order. One that the other side has connected meanwhile is up
 * already. */
static void lane_connect_wanted(struct tcp *tcp, uint64_t now)
{
    struct tcp_lane *lane = NULL, *next,
                    *last = atomic_exchange_explicit(&tcp->lanes.wanted, NULL,
                                                     memory_order_acquire);

    for (; last; last = next) {
        next = last->next_wanted;
        last->next_wanted = lane;
        lane = last;
    }
    for (; lane; lane = lane->next_wanted) {
        int wanted = TCP_LANE_WANTED;
        if (atomic_compare_exchange_strong(&lane->state, &wanted, TCP_LANE_DOWN)) {
            lane->down_since = now;
            lane->connector = true;
            sy_tcp_outage_start(lane, now);
            lane_connect(lane);
        }
    }
}

static void lane_on_socket(struct tcp_watch *watch, uint32_t events)
{
    struct tcp_lane *lane = watch->owner;

    if (events & EPOLLOUT) {
        sy_tcp_send_lock(lane);
        atomic_store_explicit(&lane->blocked, false, memory_order_relaxed);
        sy_tcp_send_watch(lane);
        sy_tcp_send_unlock(lane);
        sy_tcp_send(lane);
    }
    if (events & ~(uint32_t)EPOLLOUT)
        sy_tcp_poll_read(lane);
}

/* Ends the connection, not the lane: what has not been applied stays in the logs. */
static void lane_drop(struct tcp_lane *lane)
{
    sy_tcp_send_lock(lane);
    if (lane->watch.fd >= 0) {
        sy_tcp_watch_remove(&lane->watch);
        close(lane->watch.fd);
        lane->watch.fd = -1;
        sy_tcp_poll_forget(lane);
    }
    if (atomic_load_explicit(&lane->paused, memory_order_relaxed))
        atomic_fetch_sub_explicit(&lane->tcp->lanes.paused, 1, memory_order_relaxed);
    sy_tcp_receive_reset(lane);
    lane->out.left = 0;
    atomic_store_explicit(&lane->blocked, false, memory_order_relaxed);
    atomic_store_explicit(&lane->paused, false, memory_order_relaxed);
    sy_tcp_send_unlock(lane);
}

static struct tcp_positions lane_freeze(struct tcp_lane *lane, int fd)
{
    if (lane->watch.fd >= 0)
        sy_tcp_outage_break(lane);
    lane_drop(lane);
    if (!lane->down_since)
        lane->down_since = sy_tcp_now();
    set_state(lane, TCP_LANE_DOWN);
    return (struct tcp_positions){
        .requests = atomic_load_explicit(&lane->got[TCP_REQUESTS], memory_order_relaxed),
        .replies = atomic_load_explicit(&lane->got[TCP_REPLIES], memory_order_relaxed),
        .hears = lane->number ? 0 : sy_tcp_heralds_ear(lane->tcp, fd)};
}

void sy_tcp_lane_adopt(struct tcp_lane *lane, int fd, const struct tcp_positions *peer,
                       const unsigned char keys[32], bool connector)
{
    struct tcp *tcp = lane->tcp;

    lane_drop(lane);
    sy_tcp_herald_meet(lane, fd, peer->hears, keys, connector);
    sy_tcp_send_lock(lane);
    bool fits = sy_tcp_log_resume(&lane->log[TCP_REQUESTS], peer->requests) &&
                sy_tcp_log_resume(&lane->log[TCP_REPLIES], peer->replies);
    lane->watch.fd = fd;
    lane->watch.event = lane_on_socket;
    int rc = fits ? sy_tcp_watch_add(&tcp->poll.set, &lane->watch, EPOLLIN) : -EPROTO;
    if (rc) {
        lane->watch.fd = -1;
    } else {
        lane->connector = connector;
        lane->asked = 0;
        lane->greeted = false;
        atomic_store(&lane->handed[TCP_REQUESTS], peer->requests);
        atomic_store(&lane->handed[TCP_REPLIES], peer->replies);
        atomic_store_explicit(&lane->bye, tcp->lanes.farewell, memory_order_relaxed);
        if (sy_tcp_uses_node_lanes(tcp))
            atomic_store_explicit(&lane->ack_due, true, memory_order_relaxed);
        sy_tcp_outage_over(lane, fd);
        lane->down_since = lane->retry_at = 0;
        lane->up_since = sy_tcp_now();
        lane->why[0] = '\0';
        set_state(lane, TCP_LANE_UP);
    }
    sy_tcp_send_unlock(lane);
    if (rc) {
        close(fd);
        tcp->host->lost(
            lane->pe, -rc,
            fits ? TCP_UNWATCHED
                 : "its record of what has been sent does not fit this PE's; one of the two has "
                   "started anew, or two versions of the library meet");
        return;
    }
    sy_tcp_send(lane);
}

static void lane_unreachable(struct tcp_lane *lane, const char *why, unsigned seen)
{
    struct tcp *tcp = lane->tcp;
    uint64_t now = sy_tcp_now(), down = now - lane->down_since;

    snprintf(lane->why, sizeof lane->why, "%s", why);
    if (tcp->lanes.closing && now - tcp->lanes.closing > GONE && down > GONE) {
        set_state(lane, TCP_LANE_OVER);
        return;
    }
    sy_tcp_outage_failed(lane, seen, now);
    lane->retry_at = now + sy_tcp_outage_pause(lane, now);
    sy_tcp_watches_wake(&tcp->poll.set);
}

static bool lane_narrow(const struct tcp_lane *lane)
{
    return lane->outage.narrow;
}

int sy_tcp_lanes_listen(struct tcp *tcp, struct sy_error *err)
{
    const struct tcp_conn_user user = {.host = tcp->host,
                                       .settings = &tcp->settings,
                                       .set = &tcp->poll.set,
                                       .owner = tcp,
                                       .find = sy_tcp_lane_find,
                                       .freeze = lane_freeze,
                                       .adopt = sy_tcp_lane_adopt,
                                       .narrow = lane_narrow,
                                       .patience = sy_tcp_outage_patience,
                                       .unreachable = lane_unreachable};

    return sy_tcp_net_open(&user, &tcp->net, err);
}

/* It leaves this side the most of the time in which there must be another connection. */
static uint64_t lane_others_turn(struct tcp *tcp)
{
    double share = tcp->settings.reconnect_timeout / 8 * (double)SECOND;

    return share < (double)OTHERS_TURN ? (uint64_t)share : OTHERS_TURN;
}

void sy_tcp_lane_broken(struct tcp_lane *lane, const char *why)
{
    struct tcp *tcp = lane->tcp;
    bool over = lane->in.told_all;

    sy_tcp_outage_break(lane);
    lane_drop(lane);
    if (over) {
        set_state(lane, TCP_LANE_OVER);
        return;
    }
    snprintf(lane->why, sizeof lane->why, "%s", why);
    tcp->host->log(SY_LOG_DEBUG, "tcp", "the connection to PE %d on host %s is broken: %s",
                   lane->pe, tcp->host->place(lane->pe).host, why);
    lane->down_since = sy_tcp_now();
    /* The side that connected does so again at once; the other only where that does not happen. */
    lane->retry_at = lane->down_since +
                     (lane->connector || tcp->lanes.closing ? 0 : lane_others_turn(tcp));
    set_state(lane, TCP_LANE_DOWN);
    sy_tcp_watches_wake(&tcp->poll.set);
}

void sy_tcp_lane_breached(struct tcp_lane *lane, const char *why)
{
    char text[256];

    lane_drop(lane);
    set_state(lane, TCP_LANE_OVER);
    snprintf(text, sizeof text,
             "its connection carries what no PE of this library's version sends: %s", why);
    lane->tcp->host->lost(lane->pe, EPROTO, text);
}

/* A lane that is down: tries again, or gives the peer up. Returns nanoseconds until it wants to be
 * looked at again. */
static uint64_t lane_look_after(struct tcp_lane *lane, uint64_t now)
{
    uint64_t wait;

    if (state(lane) != TCP_LANE_DOWN)
        return UINT64_MAX;
    if (sy_tcp_outage_look(lane, now, &wait)) {
        set_state(lane, TCP_LANE_OVER);
        sy_tcp_connect_cancel(lane->tcp->net, lane, lane->pe, lane->number);
        sy_tcp_outage_lost(lane);
        return UINT64_MAX;
    }
    if (lane->retry_at && now >= lane->retry_at)
        lane_connect(lane);
    uint64_t retry = lane->retry_at - now;
    return lane->retry_at && retry < wait ? retry : wait;
}

uint64_t sy_tcp_lanes_timers(struct tcp *tcp, uint64_t now)
{
    unsigned count = atomic_load_explicit(&tcp->lanes.count, memory_order_acquire);
    uint64_t next = UINT64_MAX;

    lane_connect_wanted(tcp, now);
    for (unsigned i = 0; i < count; i++) {
        uint64_t wait = lane_look_after(tcp->lanes.lane[i], now);
        if (wait < next)
            next = wait;
    }
    return next;
}

bool sy_tcp_lane_pending(const struct tcp_lane *lane, struct sy_pending *pending)
{
    static const char *const words[] = {[TCP_LANE_WANTED] = "not connected yet",
                                        [TCP_LANE_DOWN] = "connecting",
                                        [TCP_LANE_UP] = "connected",
                                        [TCP_LANE_OVER] = "closed"};
    const struct tcp_log *log = &lane->log[TCP_REQUESTS];
    uint64_t sent = atomic_load_explicit(&lane->flush.sent_at, memory_order_relaxed);

    *pending = (struct sy_pending){.pe = lane->pe,
                                   .bytes = sy_tcp_log_tail(log) - sy_tcp_log_acked(log),
                                   .replies = sy_pending_count(&lane->pending),
                                   .seconds = sent ? (double)(sy_tcp_now() - sent) / (double)SECOND
                                                   : 0,
                                   .state = words[state(lane)]};
    return pending->bytes || pending->replies;
}

/* ---- closing ---- */

/* Whether all that this side said has been applied. */
static bool lane_settled(struct tcp_lane *lane)
{
    bool all = true;

    if (state(lane) == TCP_LANE_OVER || state(lane) == TCP_LANE_NEW)
        return true;
    for (int c = 0; c < 2; c++)
        all = all && sy_tcp_log_acked(&lane->log[c]) == sy_tcp_log_tail(&lane->log[c]);
    return all;
}

/* Waits until `done` holds for every lane, at most `limit` nanoseconds. */
static void lane_wait_for_all(struct tcp *tcp, bool (*done)(struct tcp_lane *lane), uint64_t limit)
{
    uint64_t begin = sy_tcp_now(), since = 0;

    for (;;) {
        unsigned count = atomic_load_explicit(&tcp->lanes.count, memory_order_acquire), waiting = 0;
        for (unsigned i = 0; i < count; i++)
            waiting += !done(tcp->lanes.lane[i]);
        if (!waiting || sy_tcp_now() - begin > limit)
            return;
        if (sy_tcp_poll(tcp) <= 0)
            tcp->host->rest(&since);
    }
}

/* A connection that is down is made once more: the other side may wait for a word that got lost. */
static bool left(struct tcp_lane *lane)
{
    return state(lane) == TCP_LANE_OVER || state(lane) == TCP_LANE_NEW || lane->in.told_all;
}

/* The last word of a lane: nothing is in flight in either direction once both sides have said it,
 * so that closing a socket cannot destroy what the other has yet to read. */
static void say_bye(struct tcp_lane *lane)
{
    atomic_store_explicit(&lane->bye, true, memory_order_relaxed);
    sy_tcp_send(lane);
}

static void lane_free(struct tcp_lane *lane)
{
    lane_drop(lane);
    free(lane->in.stash);
    if (lane->herald.fd >= 0)
        close(lane->herald.fd);
    sy_tcp_log_close(&lane->log[TCP_REQUESTS]);
    sy_tcp_log_close(&lane->log[TCP_REPLIES]);
    sy_tcp_table_close(lane->pending.table, SY_PENDING_BYTES);
    free(lane);
}

void sy_tcp_lanes_leave(struct tcp *tcp)
{
    uint64_t patience = (uint64_t)(tcp->settings.reconnect_timeout * (double)SECOND);

    tcp->lanes.closing = sy_tcp_now();
    lane_wait_for_all(tcp, sy_tcp_herald_settle, patience);
    unsigned count = atomic_load(&tcp->lanes.count);
    for (unsigned i = 0; i < count; i++) {
        sy_tcp_send_ask(tcp->lanes.lane[i],
                        sy_tcp_log_tail(&tcp->lanes.lane[i]->log[TCP_REQUESTS]));
        /* And the other side may wait to hear that its replies have come. */
        atomic_store_explicit(&tcp->lanes.lane[i]->ack_due, true, memory_order_relaxed);
        sy_tcp_send(tcp->lanes.lane[i]);
    }
    lane_wait_for_all(tcp, lane_settled, patience);
    tcp->lanes.farewell = true;
    for (unsigned i = 0; i < count; i++)
        say_bye(tcp->lanes.lane[i]);
    lane_wait_for_all(tcp, left, FAREWELL);
}

void sy_tcp_lanes_close(struct tcp *tcp)
{
    sy_tcp_idle_close(tcp);
    for (unsigned i = 0; i < atomic_load(&tcp->lanes.count); i++)
        lane_free(tcp->lanes.lane[i]);
    free(tcp->lanes.lane);
    free(tcp->lanes.by_number);
    free(tcp->lanes.dirty);
    memset(&tcp->lanes, 0, sizeof tcp->lanes);
}

/* The life of streams: made with the first operation, connected, broken and connected again,
 * closed.
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

static int stream_state(const struct tcp_stream *stream)
{
    return atomic_load_explicit(&stream->state, memory_order_acquire);
}

static void set_state(struct tcp_stream *stream, int value)
{
    atomic_store_explicit(&stream->state, value, memory_order_release);
}

/* ---- making ---- */

int sy_tcp_streams_open(struct tcp *tcp, struct sy_error *err)
{
    unsigned limit = (unsigned)tcp->host->npes * (1 + (unsigned)tcp->settings.streams);
    int rc = sy_engine_open(&tcp->engine, tcp->host, &sy_tcp_requests_ops, limit,
                            tcp->settings.buffer, (unsigned)tcp->settings.flush_delay, err);

    memset(&tcp->streams, 0, sizeof tcp->streams);
    pthread_mutex_init(&tcp->streams.making, NULL);
    tcp->streams.by_number = calloc(limit, sizeof *tcp->streams.by_number);
    if (!rc && !tcp->streams.by_number)
        rc = tcp->host->fail(err, ENOMEM, "no memory for a table of %u connections", limit);
    return rc ? rc : sy_tcp_idle_open(tcp, err);
}

static struct tcp_stream *stream_make(struct tcp *tcp, int pe, unsigned number)
{
    struct tcp_stream *stream = aligned_alloc(_Alignof(struct tcp_stream), sizeof *stream);

    if (!stream)
        return NULL;
    memset(stream, 0, sizeof *stream);
    stream->pe = pe;
    stream->number = number;
    stream->tcp = tcp;
    stream->requests.pending.room = tcp->settings.buffer;
    stream->watch.fd = stream->hint.fd = -1;
    stream->watch.owner = stream;
    stream->requests.pending.table = sy_tcp_table_open(SY_PENDING_BYTES);
    if (!stream->requests.pending.table ||
        sy_tcp_queue_open(&stream->queue[TCP_REQUESTS], &stream->requests.tx,
                          tcp->settings.buffer) ||
        sy_tcp_queue_open(&stream->queue[TCP_REPLIES], &stream->replies, tcp->settings.buffer)) {
        sy_tcp_queue_close(&stream->queue[TCP_REQUESTS]);
        sy_tcp_table_close(stream->requests.pending.table, SY_PENDING_BYTES);
        free(stream);
        return NULL;
    }
    sy_engine_add(&tcp->engine, &stream->requests, pe);
    return stream;
}

struct tcp_stream *sy_tcp_stream_find(struct tcp *tcp, int pe, unsigned number)
{
    if (pe < 0 || pe >= tcp->host->npes || pe == tcp->host->pe ||
        number > (unsigned)tcp->settings.streams)
        return NULL;
    _Atomic(struct tcp_stream *) *place =
        &tcp->streams.by_number[number * (size_t)tcp->host->npes + (size_t)pe];
    struct tcp_stream *stream = atomic_load_explicit(place, memory_order_acquire);
    if (stream)
        return stream;
    pthread_mutex_lock(&tcp->streams.making);
    stream = atomic_load_explicit(place, memory_order_relaxed);
    if (!stream && (stream = stream_make(tcp, pe, number)))
        atomic_store_explicit(place, stream, memory_order_release);
    pthread_mutex_unlock(&tcp->streams.making);
    return stream;
}

/* Whoever made it wanted enters it, so that it is entered once. */
static void stream_enter_wanted(struct tcp_stream *stream)
{
    struct tcp_stream *first = atomic_load_explicit(&stream->tcp->streams.wanted,
                                                    memory_order_relaxed);

    do
        stream->next_wanted = first;
    while (!atomic_compare_exchange_weak_explicit(&stream->tcp->streams.wanted, &first, stream,
                                                  memory_order_release, memory_order_relaxed));
}

struct tcp_stream *sy_tcp_stream_open(struct tcp *tcp, int pe, unsigned number)
{
    struct tcp_stream *stream = sy_tcp_stream_find(tcp, pe, number);
    int new = TCP_STREAM_NEW;

    if (stream && atomic_compare_exchange_strong(&stream->state, &new, TCP_STREAM_WANTED)) {
        stream_enter_wanted(stream);
        sy_tcp_watches_wake(&tcp->poll.set);
    }
    return stream;
}

/* ---- connecting ---- */

static void stream_connect(struct tcp_stream *stream)
{
    size_t size;
    const void *address = sy_tcp_address_of(stream->tcp, stream->pe, &size);

    stream->retry_at = 0;
    sy_tcp_connect_start(stream->tcp->net, stream, stream->pe, stream->number, address, size,
                         !stream->up_since);
}

/* The application wants these, in this order. One that the other side has connected meanwhile is up
 * already. */
static void stream_connect_wanted(struct tcp *tcp, uint64_t now)
{
    struct tcp_stream *stream = NULL, *next,
                      *last = atomic_exchange_explicit(&tcp->streams.wanted, NULL,
                                                       memory_order_acquire);

    for (; last; last = next) {
        next = last->next_wanted;
        last->next_wanted = stream;
        stream = last;
    }
    for (; stream; stream = stream->next_wanted) {
        int wanted = TCP_STREAM_WANTED;
        if (atomic_compare_exchange_strong(&stream->state, &wanted, TCP_STREAM_DOWN)) {
            stream->down_since = now;
            stream->connector = true;
            sy_tcp_outage_start(stream, now);
            stream_connect(stream);
        }
    }
}

static void stream_on_socket(struct tcp_watch *watch, uint32_t events)
{
    struct tcp_stream *stream = watch->owner;

    if (events & EPOLLOUT) {
        sy_tcp_send_lock(stream);
        atomic_store_explicit(&stream->requests.tx.blocked, false, memory_order_relaxed);
        sy_tcp_send_watch(stream);
        sy_tcp_send_unlock(stream);
        sy_tcp_send(stream);
    }
    if (events & ~(uint32_t)EPOLLOUT)
        sy_tcp_poll_read(stream);
}

/* Ends the connection, not the stream: what has not been applied stays in the send queues. */
static void stream_drop(struct tcp_stream *stream)
{
    sy_tcp_send_lock(stream);
    if (stream->watch.fd >= 0) {
        sy_tcp_watch_remove(&stream->watch);
        close(stream->watch.fd);
        stream->watch.fd = -1;
        sy_tcp_poll_forget(stream);
    }
    if (atomic_load_explicit(&stream->paused, memory_order_relaxed))
        atomic_fetch_sub_explicit(&stream->tcp->streams.paused, 1, memory_order_relaxed);
    sy_tcp_receive_reset(stream);
    stream->out.left = 0;
    atomic_store_explicit(&stream->requests.tx.blocked, false, memory_order_relaxed);
    atomic_store_explicit(&stream->paused, false, memory_order_relaxed);
    sy_tcp_send_unlock(stream);
}

static struct tcp_positions stream_freeze(struct tcp_stream *stream, int fd)
{
    if (stream->watch.fd >= 0)
        sy_tcp_outage_break(stream);
    stream_drop(stream);
    if (!stream->down_since)
        stream->down_since = sy_tcp_now();
    set_state(stream, TCP_STREAM_DOWN);
    return (struct tcp_positions){
        .requests = atomic_load_explicit(&stream->got[TCP_REQUESTS], memory_order_relaxed),
        .replies = atomic_load_explicit(&stream->got[TCP_REPLIES], memory_order_relaxed),
        .udp_port = stream->number ? 0 : sy_tcp_hints_ear(stream->tcp, fd)};
}

void sy_tcp_stream_adopt(struct tcp_stream *stream, int fd, const struct tcp_positions *peer,
                         const unsigned char keys[32], bool connector)
{
    struct tcp *tcp = stream->tcp;

    stream_drop(stream);
    sy_tcp_hint_meet(stream, fd, peer->udp_port, keys, connector);
    sy_tcp_send_lock(stream);
    bool fits = sy_tcp_queue_resume(&stream->queue[TCP_REQUESTS], peer->requests) &&
                sy_tcp_queue_resume(&stream->queue[TCP_REPLIES], peer->replies);
    stream->watch.fd = fd;
    stream->watch.event = stream_on_socket;
    int rc = fits ? sy_tcp_watch_add(&tcp->poll.set, &stream->watch, EPOLLIN) : -EPROTO;
    if (rc) {
        stream->watch.fd = -1;
    } else {
        stream->connector = connector;
        stream->asked = 0;
        stream->greeted = false;
        atomic_store(&stream->handed[TCP_REQUESTS], peer->requests);
        atomic_store(&stream->handed[TCP_REPLIES], peer->replies);
        atomic_store_explicit(&stream->bye, tcp->streams.farewell, memory_order_relaxed);
        if (sy_tcp_uses_node_endpoints(tcp))
            atomic_store_explicit(&stream->ack_due, true, memory_order_relaxed);
        sy_tcp_outage_over(stream, fd);
        stream->down_since = stream->retry_at = 0;
        stream->up_since = sy_tcp_now();
        stream->why[0] = '\0';
        set_state(stream, TCP_STREAM_UP);
    }
    sy_tcp_send_unlock(stream);
    if (rc) {
        close(fd);
        tcp->host->lost(
            stream->pe, -rc,
            fits ? TCP_UNWATCHED
                 : "its record of what has been sent does not fit this PE's; one of the two has "
                   "started anew, or two versions of the library meet");
        return;
    }
    sy_tcp_send(stream);
}

static void stream_unreachable(struct tcp_stream *stream, const char *why, unsigned seen)
{
    struct tcp *tcp = stream->tcp;
    uint64_t now = sy_tcp_now(), down = now - stream->down_since;

    snprintf(stream->why, sizeof stream->why, "%s", why);
    if (tcp->streams.closing && now - tcp->streams.closing > GONE && down > GONE) {
        set_state(stream, TCP_STREAM_OVER);
        return;
    }
    sy_tcp_outage_failed(stream, seen, now);
    stream->retry_at = now + sy_tcp_outage_pause(stream, now);
    sy_tcp_watches_wake(&tcp->poll.set);
}

static bool stream_narrow(const struct tcp_stream *stream)
{
    return stream->outage.narrow;
}

int sy_tcp_streams_listen(struct tcp *tcp, struct sy_error *err)
{
    const struct tcp_conn_user user = {.host = tcp->host,
                                       .word = tcp->word,
                                       .settings = &tcp->settings,
                                       .counters = &tcp->counters,
                                       .set = &tcp->poll.set,
                                       .owner = tcp,
                                       .find = sy_tcp_stream_find,
                                       .freeze = stream_freeze,
                                       .adopt = sy_tcp_stream_adopt,
                                       .narrow = stream_narrow,
                                       .patience = sy_tcp_outage_patience,
                                       .unreachable = stream_unreachable};

    return sy_tcp_net_open(&user, &tcp->net, err);
}

/* It leaves this side the most of the time in which there must be another connection. */
static uint64_t stream_others_turn(struct tcp *tcp)
{
    double share = tcp->settings.reconnect_timeout / 8 * (double)SECOND;

    return share < (double)OTHERS_TURN ? (uint64_t)share : OTHERS_TURN;
}

void sy_tcp_stream_broken(struct tcp_stream *stream, const char *why)
{
    struct tcp *tcp = stream->tcp;
    bool over = stream->in.told_all;

    sy_tcp_outage_break(stream);
    stream_drop(stream);
    if (over) {
        set_state(stream, TCP_STREAM_OVER);
        return;
    }
    sy_count(&tcp->counters.broken, 1);
    snprintf(stream->why, sizeof stream->why, "%s", why);
    tcp->host->log(SY_LOG_DEBUG, "tcp", "the connection to PE %d on host %s is broken: %s",
                   stream->pe, tcp->host->place(stream->pe).host, why);
    stream->down_since = sy_tcp_now();
    /* The side that connected does so again at once; the other only where that does not happen. */
    stream->retry_at = stream->down_since +
                       (stream->connector || tcp->streams.closing ? 0 : stream_others_turn(tcp));
    set_state(stream, TCP_STREAM_DOWN);
    sy_tcp_watches_wake(&tcp->poll.set);
}

void sy_tcp_stream_breached(struct tcp_stream *stream, const char *why)
{
    char text[256];

    stream_drop(stream);
    set_state(stream, TCP_STREAM_OVER);
    snprintf(text, sizeof text,
             "its connection carries what no PE of this library's version sends: %s", why);
    stream->tcp->host->lost(stream->pe, EPROTO, text);
}

/* A stream that is down: tries again, or gives the peer up. Returns nanoseconds until it wants to
 * be looked at again. */
static uint64_t stream_look_after(struct tcp_stream *stream, uint64_t now)
{
    uint64_t wait;

    if (stream_state(stream) != TCP_STREAM_DOWN)
        return UINT64_MAX;
    if (sy_tcp_outage_look(stream, now, &wait)) {
        set_state(stream, TCP_STREAM_OVER);
        sy_tcp_connect_cancel(stream->tcp->net, stream, stream->pe, stream->number);
        sy_tcp_outage_lost(stream);
        return UINT64_MAX;
    }
    if (stream->retry_at && now >= stream->retry_at)
        stream_connect(stream);
    uint64_t retry = stream->retry_at - now;
    return stream->retry_at && retry < wait ? retry : wait;
}

uint64_t sy_tcp_streams_timers(struct tcp *tcp, uint64_t now)
{
    unsigned count = sy_engine_peers(&tcp->engine);
    uint64_t next = UINT64_MAX;

    stream_connect_wanted(tcp, now);
    for (unsigned i = 0; i < count; i++) {
        uint64_t wait = stream_look_after(sy_tcp_stream_at(tcp, i), now);
        if (wait < next)
            next = wait;
    }
    return next;
}

bool sy_tcp_stream_pending(const struct tcp_stream *stream, struct sy_pending *pending)
{
    static const char *const words[] = {[TCP_STREAM_WANTED] = "not connected yet",
                                        [TCP_STREAM_DOWN] = "connecting",
                                        [TCP_STREAM_UP] = "connected",
                                        [TCP_STREAM_OVER] = "closed"};
    const struct tcp_queue *queue = &stream->queue[TCP_REQUESTS];
    uint64_t sent = atomic_load_explicit(&stream->requests.flush.sent_at, memory_order_relaxed);

    *pending = (struct sy_pending){.pe = stream->pe,
                                   .bytes = sy_tx_tail(queue->tx) - sy_tx_applied(queue->tx),
                                   .replies = sy_pending_count(&stream->requests.pending),
                                   .seconds = sent ? (double)(sy_tcp_now() - sent) / (double)SECOND
                                                   : 0,
                                   .state = words[stream_state(stream)]};
    return pending->bytes || pending->replies;
}

/* ---- closing ---- */

/* Whether all that this side said has been applied. */
static bool stream_settled(struct tcp_stream *stream)
{
    bool all = true;

    if (stream_state(stream) == TCP_STREAM_OVER || stream_state(stream) == TCP_STREAM_NEW)
        return true;
    for (int c = 0; c < 2; c++)
        all = all && sy_tx_applied(stream->queue[c].tx) == sy_tx_tail(stream->queue[c].tx);
    return all;
}

/* Waits until `done` holds for every stream, at most `limit` nanoseconds. */
static void stream_wait_for_all(struct tcp *tcp, bool (*done)(struct tcp_stream *stream),
                                uint64_t limit)
{
    uint64_t begin = sy_tcp_now(), since = 0;

    for (;;) {
        unsigned count = sy_engine_peers(&tcp->engine), waiting = 0;
        for (unsigned i = 0; i < count; i++)
            waiting += !done(sy_tcp_stream_at(tcp, i));
        if (!waiting || sy_tcp_now() - begin > limit)
            return;
        if (sy_tcp_poll(tcp) <= 0)
            tcp->host->rest(&since);
    }
}

/* A connection that is down is made once more: the other side may wait for a word that got lost. */
static bool stream_has_left(struct tcp_stream *stream)
{
    return stream_state(stream) == TCP_STREAM_OVER || stream_state(stream) == TCP_STREAM_NEW ||
           stream->in.told_all;
}

/* The last word of a stream: nothing is in flight in either direction once both sides have said it,
 * so that closing a socket cannot destroy what the other has yet to read. */
static void say_bye(struct tcp_stream *stream)
{
    atomic_store_explicit(&stream->bye, true, memory_order_relaxed);
    sy_tcp_send(stream);
}

static void stream_release(struct tcp_stream *stream)
{
    stream_drop(stream);
    free(stream->in.stash);
    if (stream->hint.fd >= 0)
        close(stream->hint.fd);
    sy_tcp_queue_close(&stream->queue[TCP_REQUESTS]);
    sy_tcp_queue_close(&stream->queue[TCP_REPLIES]);
    sy_tcp_table_close(stream->requests.pending.table, SY_PENDING_BYTES);
    free(stream);
}

void sy_tcp_streams_leave(struct tcp *tcp)
{
    uint64_t patience = (uint64_t)(tcp->settings.reconnect_timeout * (double)SECOND);

    tcp->streams.closing = sy_tcp_now();
    stream_wait_for_all(tcp, sy_tcp_hint_settle, patience);
    unsigned count = sy_engine_peers(&tcp->engine);
    for (unsigned i = 0; i < count; i++) {
        struct tcp_stream *stream = sy_tcp_stream_at(tcp, i);
        sy_tx_ask(&stream->requests.tx, sy_tx_tail(&stream->requests.tx));
        /* And the other side may wait to hear that its replies have come. */
        atomic_store_explicit(&stream->ack_due, true, memory_order_relaxed);
        sy_tcp_send(stream);
    }
    stream_wait_for_all(tcp, stream_settled, patience);
    tcp->streams.farewell = true;
    for (unsigned i = 0; i < count; i++)
        say_bye(sy_tcp_stream_at(tcp, i));
    stream_wait_for_all(tcp, stream_has_left, FAREWELL);
}

void sy_tcp_streams_close(struct tcp *tcp)
{
    sy_tcp_idle_close(tcp);
    for (unsigned i = 0; i < sy_engine_peers(&tcp->engine); i++)
        stream_release(sy_tcp_stream_at(tcp, i));
    free(tcp->streams.by_number);
    sy_engine_close(&tcp->engine);
    memset(&tcp->streams, 0, sizeof tcp->streams);
}

/* Streams are made with the first operation, connected, connected again where that has broken, and
 * closed at the end. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transports/tcp/tcp.h"
#include "util/file.h"
#include "util/net/way.h"

#define FAREWELL (2 * TCP_SECOND)
#define GONE     (TCP_SECOND / 20) /* a peer that cannot be reached for so long at the end has left */

/* ---- making ---- */

int sy_tcp_peers_open(struct tcp *tcp, struct sy_error *err)
{
    unsigned limit = (unsigned)tcp->host->npes * (1 + (unsigned)tcp->settings.streams);
    int rc = sy_engine_open(&tcp->engine, tcp->host, &sy_tcp_requests_ops, limit,
                            tcp->settings.buffer, (unsigned)tcp->settings.flush_delay, err);

    tcp->streams = (struct tcp_streams){.user = &sy_tcp_stream_events,
                                        .host = tcp->host,
                                        .set = &tcp->poll.set,
                                        .counters = &tcp->counters,
                                        .received = tcp->received,
                                        .first_frame = sy_tcp_uses_node_endpoints(tcp)};
    memset(&tcp->peers, 0, sizeof tcp->peers);
    pthread_mutex_init(&tcp->peers.making, NULL);
    tcp->idle.timer.fd = -1;
    tcp->peers.by_number = calloc(limit, sizeof *tcp->peers.by_number);
    if (!rc && !tcp->peers.by_number)
        rc = tcp->host->fail(err, ENOMEM, "no memory for a table of %u connections", limit);
    return rc ? rc : sy_tcp_idle_open(tcp, err);
}

static struct tcp_peer *peers_make(struct tcp *tcp, int pe, unsigned number)
{
    struct tcp_peer *peer = aligned_alloc(_Alignof(struct tcp_peer), sizeof *peer);

    if (!peer)
        return NULL;
    memset(peer, 0, sizeof *peer);
    peer->tcp = tcp;
    peer->hint.fd = -1;
    peer->requests.pending.room = tcp->settings.buffer;
    peer->requests.pending.table = sy_tcp_table_open(SY_PENDING_BYTES);
    if (!peer->requests.pending.table ||
        sy_tcp_stream_init(&peer->stream, &tcp->streams, pe, number, &peer->requests.tx,
                           &peer->replies, tcp->settings.buffer)) {
        sy_tcp_table_close(peer->requests.pending.table, SY_PENDING_BYTES);
        free(peer);
        return NULL;
    }
    sy_engine_add(&tcp->engine, &peer->requests, pe);
    return peer;
}

struct tcp_peer *sy_tcp_peer_find(struct tcp *tcp, int pe, unsigned number)
{
    if (pe < 0 || pe >= tcp->host->npes || pe == tcp->host->pe ||
        number > (unsigned)tcp->settings.streams)
        return NULL;
    _Atomic(struct tcp_peer *) *place =
        &tcp->peers.by_number[number * (size_t)tcp->host->npes + (size_t)pe];
    struct tcp_peer *peer = atomic_load_explicit(place, memory_order_acquire);
    if (peer)
        return peer;
    pthread_mutex_lock(&tcp->peers.making);
    peer = atomic_load_explicit(place, memory_order_relaxed);
    if (!peer && (peer = peers_make(tcp, pe, number)))
        atomic_store_explicit(place, peer, memory_order_release);
    pthread_mutex_unlock(&tcp->peers.making);
    if (!peer && !number) /* without a further stream it goes on */
        sy_engine_no_memory(&tcp->engine, pe);
    return peer;
}

/* Enters a stream in the list of wanted ones. Only the thread that has made it wanted does so, so
 * it is entered once. */
static void peers_enter_wanted(struct tcp_peer *peer)
{
    struct tcp_peer *first = atomic_load_explicit(&peer->tcp->peers.wanted, memory_order_relaxed);

    do
        peer->next_wanted = first;
    while (!atomic_compare_exchange_weak_explicit(&peer->tcp->peers.wanted, &first, peer,
                                                  memory_order_release, memory_order_relaxed));
}

struct tcp_peer *sy_tcp_peer_open(struct tcp *tcp, int pe, unsigned number)
{
    struct tcp_peer *peer = sy_tcp_peer_find(tcp, pe, number);

    if (peer && sy_tcp_stream_want(&peer->stream)) {
        peers_enter_wanted(peer);
        sy_tcp_watches_wake(&tcp->poll.set);
    }
    return peer;
}

/* ---- connecting ---- */

unsigned sy_tcp_peers_call(struct tcp *tcp)
{
    const int *begin = &tcp->map.node_begin[tcp->host->place(tcp->host->pe).node];
    unsigned streams = 0;
    bool direct = false; /* a neighbour's memory is not mapped, so nobody serves others */

    for (int i = begin[0]; i < begin[1]; i++)
        direct |= tcp->host->routes(tcp, tcp->map.node_pe[i]);
    for (int pe = 0; pe < tcp->host->npes; pe++) {
        if (!tcp->host->routes(tcp, pe))
            continue;
        bool shares = direct || sy_tcp_shares_stream(tcp, pe);
        streams += shares;
        if (sy_tcp_ways(tcp, tcp->host->pe, pe) == TCP_WAY_THERE &&
            (shares || !sy_regions_serves_node(&tcp->regions)))
            sy_tcp_peer_open(tcp, pe, 0);
    }
    return streams;
}

static void peers_connect(struct tcp_peer *peer)
{
    size_t size;
    const void *address = sy_tcp_address_of(peer->tcp, peer->stream.pe, &size);

    peer->retry_at = 0;
    sy_tcp_connect_start(peer->tcp->net, &peer->stream, peer->stream.pe, peer->stream.number,
                         address, size, !peer->up_since);
}

/* Begins to connect the wanted streams, in the order in which they were wanted. One that the other
 * side has connected meanwhile is up already. */
static void peers_connect_wanted(struct tcp *tcp, uint64_t now)
{
    struct tcp_peer *peer = NULL, *next,
                    *last = atomic_exchange_explicit(&tcp->peers.wanted, NULL,
                                                     memory_order_acquire);

    for (; last; last = next) {
        next = last->next_wanted;
        last->next_wanted = peer;
        peer = last;
    }
    for (; peer; peer = peer->next_wanted) {
        if (sy_tcp_stream_begin(&peer->stream)) {
            peer->down_since = now;
            sy_tcp_outage_start(peer, now);
            peers_connect(peer);
        }
    }
}

static void peers_unreachable(struct tcp_stream *stream, const char *why, unsigned seen)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);
    struct tcp *tcp = peer->tcp;
    uint64_t now = sy_tcp_now(), down = now - peer->down_since;

    snprintf(peer->why, sizeof peer->why, "%s", why);
    if (tcp->peers.closing && now - tcp->peers.closing > GONE && down > GONE) {
        sy_tcp_stream_end(&peer->stream);
        return;
    }
    sy_tcp_outage_failed(peer, seen, now);
    peer->retry_at = now + sy_tcp_outage_pause(peer, now);
    sy_tcp_watches_wake(&tcp->poll.set);
}

static bool peers_narrow(const struct tcp_stream *stream)
{
    return sy_tcp_peer_with(stream)->outage.narrow;
}

static struct tcp_stream *peers_find_stream(struct tcp *tcp, int pe, unsigned number)
{
    struct tcp_peer *peer = sy_tcp_peer_find(tcp, pe, number);

    return peer ? &peer->stream : NULL;
}

int sy_tcp_peers_listen(struct tcp *tcp, struct sy_error *err)
{
    const struct tcp_conn_user user = {.host = tcp->host,
                                       .settings = &tcp->settings,
                                       .counters = &tcp->counters,
                                       .word = tcp->word,
                                       .set = &tcp->poll.set,
                                       .owner = tcp,
                                       .find = peers_find_stream,
                                       .freeze = sy_tcp_stream_freeze,
                                       .adopt = sy_tcp_stream_adopt,
                                       .narrow = peers_narrow,
                                       .full = sy_tcp_outage_full,
                                       .unreachable = peers_unreachable};

    return sy_tcp_net_open(&user, &tcp->net, err);
}

/* Looks after a stream that is down: tries again, or gives the peer up. Returns nanoseconds until
 * the next look. */
static uint64_t peers_look_after(struct tcp_peer *peer, uint64_t now)
{
    uint64_t wait = UINT64_MAX;

    if (sy_tcp_stream_state(&peer->stream) != TCP_STREAM_DOWN)
        return UINT64_MAX;
    if (!sy_tcp_peer_is_spare(peer) && sy_tcp_outage_look(peer, now, &wait)) {
        sy_tcp_stream_end(&peer->stream);
        sy_tcp_connect_cancel(peer->tcp->net, &peer->stream, peer->stream.pe, peer->stream.number);
        if (!peer->outage.met && peer->outage.seen & SY_WAY_FILES)
            sy_tcp_outage_full(peer->tcp, peer->stream.pe);
        else
            sy_tcp_outage_lost(peer);
        return UINT64_MAX;
    }
    if (peer->retry_at && now >= peer->retry_at)
        peers_connect(peer);
    uint64_t retry = peer->retry_at - now;
    return peer->retry_at && retry < wait ? retry : wait;
}

uint64_t sy_tcp_peers_timers(struct tcp *tcp, uint64_t now)
{
    unsigned count = sy_engine_peers(&tcp->engine);
    uint64_t next = UINT64_MAX;

    peers_connect_wanted(tcp, now);
    for (unsigned i = 0; i < count; i++) {
        uint64_t wait = peers_look_after(sy_tcp_peer_at(tcp, i), now);
        if (wait < next)
            next = wait;
    }
    return next;
}

bool sy_tcp_peer_outstanding(const struct tcp_peer *peer, struct sy_outstanding *it)
{
    static const char *const words[] = {[TCP_STREAM_WANTED] = "not connected yet",
                                        [TCP_STREAM_DOWN] = "connecting",
                                        [TCP_STREAM_UP] = "connected",
                                        [TCP_STREAM_OVER] = "closed"};
    const struct tcp_queue *queue = &peer->stream.queue[TCP_REQUESTS];
    uint64_t sent = atomic_load_explicit(&peer->requests.flush.sent_at, memory_order_relaxed);

    *it = (struct sy_outstanding){
        .pe = peer->stream.pe,
        .bytes = sy_tx_tail(queue->tx) - sy_tx_applied(queue->tx),
        .replies = sy_pending_count(&peer->requests.pending),
        .seconds = sent ? (double)(sy_tcp_now() - sent) / (double)TCP_SECOND : 0,
        .state = words[sy_tcp_stream_state(&peer->stream)]};
    return it->bytes || it->replies;
}

/* ---- closing ---- */

/* Waits until `done` holds for every stream, at most `limit` nanoseconds. */
static void peers_wait_for_all(struct tcp *tcp, bool (*done)(struct tcp_peer *peer), uint64_t limit)
{
    uint64_t begin = sy_tcp_now(), since = 0;

    for (;;) {
        unsigned count = sy_engine_peers(&tcp->engine), waiting = 0;
        for (unsigned i = 0; i < count; i++)
            waiting += !done(sy_tcp_peer_at(tcp, i));
        if (!waiting || sy_tcp_now() - begin > limit)
            return;
        if (sy_tcp_poll(tcp) <= 0)
            tcp->host->rest(&since);
    }
}

static bool peers_settled(struct tcp_peer *peer)
{
    return sy_tcp_stream_settled(&peer->stream);
}

static bool peers_has_left(struct tcp_peer *peer)
{
    return sy_tcp_peer_is_spare(peer) || sy_tcp_stream_has_left(&peer->stream);
}

static void peers_release(struct tcp_peer *peer)
{
    sy_tcp_stream_close(&peer->stream);
    sy_file_close(&peer->hint.fd);
    sy_pending_drop(&peer->requests.pending);
    sy_tcp_table_close(peer->requests.pending.table, SY_PENDING_BYTES);
    sy_tcp_device_close(peer);
    free(peer);
}

void sy_tcp_peers_leave(struct tcp *tcp)
{
    uint64_t patience = (uint64_t)(tcp->settings.reconnect_timeout * (double)TCP_SECOND);

    tcp->peers.closing = sy_tcp_now();
    peers_wait_for_all(tcp, sy_tcp_hint_settle, patience);
    unsigned count = sy_engine_peers(&tcp->engine);
    for (unsigned i = 0; i < count; i++) {
        struct tcp_peer *peer = sy_tcp_peer_at(tcp, i);
        sy_tx_ask(&peer->requests.tx, sy_tx_tail(&peer->requests.tx));
        /* The other side may wait to hear that its replies have come. */
        sy_tcp_stream_tell(&peer->stream);
    }
    peers_wait_for_all(tcp, peers_settled, patience);
    tcp->streams.farewell = true;
    for (unsigned i = 0; i < sy_engine_peers(&tcp->engine); i++) /* some may be new */
        sy_tcp_stream_bye(&sy_tcp_peer_at(tcp, i)->stream);
    peers_wait_for_all(tcp, peers_has_left, FAREWELL);
}

void sy_tcp_peers_close(struct tcp *tcp)
{
    sy_tcp_idle_close(tcp);
    for (unsigned i = 0; i < sy_engine_peers(&tcp->engine); i++)
        peers_release(sy_tcp_peer_at(tcp, i));
    free(tcp->peers.by_number);
    sy_engine_close(&tcp->engine);
    memset(&tcp->peers, 0, sizeof tcp->peers);
}

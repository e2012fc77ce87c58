/* What the message engine is lent: the way to a PE, room in a stream's queue, sending and polling.
 * The engine has the data calls (engine/engine.h). */
#include "transports/tcp/peer/large.h"
#include "transports/tcp/tcp.h"

/* A put of up to so many bytes is copied into the ring. One whose signal leaves with it at once is
 * rather sent from where it is. */
#define COPIED        (32u << 10)
#define COPIED_SIGNAL (8u << 10)

/* The stream to a PE. If that ends at another process, its first frame says whether it can apply
 * requests for the PE. */
static struct sy_engine_peer *requests_route(struct sy_engine *engine, int pe, unsigned *target)
{
    struct tcp *tcp = sy_tcp_of(engine);
    int end = sy_tcp_endpoint(tcp, pe);
    struct tcp_peer *peer = sy_tcp_peer_open(tcp, end, 0);

    if (peer && end != pe) {
        if (!atomic_load_explicit(&peer->stream.heard, memory_order_acquire)) {
            atomic_store_explicit(&peer->expected, true, memory_order_relaxed);
            return NULL;
        }
        if (atomic_load_explicit(&peer->stream.serves_node, memory_order_relaxed))
            *target = (unsigned)tcp->host->place(pe).local;
        else
            peer = sy_tcp_peer_open(tcp, pe, 0);
    }
    return peer ? &peer->requests : NULL;
}

/* A full queue asks for word of what has been applied, which has to be sent. */
static bool requests_room(struct sy_engine_peer *requests, size_t bytes)
{
    struct tcp_queue *queue = &sy_tcp_peer_of(requests)->stream.queue[TCP_REQUESTS];

    if (sy_tcp_queue_room(queue, bytes))
        return true;
    if (queue->full)
        sy_engine_send_later(requests, false);
    return false;
}

static void requests_send(struct sy_engine_peer *requests)
{
    struct tcp_peer *peer = sy_tcp_peer_of(requests);

    sy_tcp_hint_sends(peer);
    sy_tcp_send(&peer->stream);
}

static long requests_poll(struct sy_engine *engine, struct sy_engine_peer *expected)
{
    return sy_tcp_poll_peer(sy_tcp_of(engine), expected ? sy_tcp_peer_of(expected) : NULL);
}

/* Takes the stream's socket out of the epoll set while a thread polls it, after a rest. Else the
 * reply would wake the progress thread too, often on the processor of the thread that polls. */
static bool requests_attend(struct sy_engine_peer *requests, int threads)
{
    struct tcp_peer *peer = sy_tcp_peer_of(requests);
    const struct sy_host *host = peer->tcp->host;

    if (threads > 0 && (!sy_tcp_poll_may_sleep(&peer->tcp->poll) || host->crowded ||
                        host->threads || !sy_flush_has_rested(&requests->flush, sy_tcp_now())))
        return false;
    return sy_tcp_send_attend(&peer->stream, threads);
}

const struct sy_engine_ops sy_tcp_requests_ops = {
    .route = requests_route,
    .room = requests_room,
    .send = requests_send,
    .poll = requests_poll,
    .longest_put = {COPIED_SIGNAL, COPIED},
    .longest_get = TCP_PART,
    .put_large = sy_tcp_put_large,
    .get_large = sy_tcp_get_large,
    .keep_large = sy_tcp_keep_large,
    .fence = sy_tcp_large_fence,
    .raise = sy_tcp_hint_raise,
    .attend = requests_attend,
};

/* Large transfers: payload that is sent from where it is and received where it goes, in records of
 * up to SY_RECORD_CHUNK. From SHMEM_TCP_STRIPE bytes on they are spread over several connections,
 * in turns of TCP_PART, because networks often limit what one connection may carry; shorter ones
 * too where that is found to pay (pace.h).
 *
 * Order. Chunks on further streams overtake records on stream 0 and the other way round. That is
 * made good at the target by AWAIT records. Each further stream is told, before a transfer's
 * chunks, to wait for what stream 0 held at that time. A fence tells stream 0 to wait for the
 * chunks on the others. An AWAIT names what was appended before it, so waiting cannot go in a
 * circle; and nobody here waits for an answer. */
#include <errno.h>

#include "engine/issue.h"
#include "transports/tcp/peer/large.h"
#include "transports/tcp/tcp.h"

#define KEPT (256u << 10) /* a blocking put returns when no more of it than this is unconfirmed */

#define WORDS 16 /* bytes of a record before its payload */

#define COPY_RATE 4 /* bytes per nanosecond, with the memory that the copy is in */

#define FRACTION 16  /* of SHMEM_TCP_STRIPE, from which transfers are spread where that pays */
#define MODEST   128 /* connections of a process beyond which more are not opened for that */
#define OPENING  (TCP_SECOND / 2) /* most that a first transfer waits for further streams */

/* The streams of one transfer, and how far it has got on each. */
struct spread {
    struct tcp_peer *peer[TCP_STREAMS_MAX];
    unsigned count;
    uint64_t tail[TCP_STREAMS_MAX];   /* of put */
    uint64_t wanted[TCP_STREAMS_MAX]; /* of get */
};

/* ---- how many connections ---- */

/* Transfers of fewer bytes always go over one connection. */
static size_t large_shortest(struct tcp *tcp)
{
    size_t bytes = tcp->settings.stripe / FRACTION;

    return bytes > 2 * TCP_PART ? bytes : 2 * TCP_PART;
}

/* Whether a transfer is spread whatever is measured. No network is between two PEs of a machine. */
static bool large_is_long(const struct tcp_peer *peer, size_t length)
{
    return length >= peer->tcp->settings.stripe &&
           !atomic_load_explicit(&peer->near, memory_order_relaxed);
}

/* Whether a transfer tells how fast it was: `bytes` of it, if they are enough. */
static bool is_measured(const struct tcp_peer *peer, size_t length, size_t bytes, unsigned flags)
{
    return peer && flags & SY_BLOCKING && !large_is_long(peer, length) &&
           bytes >= large_shortest(peer->tcp);
}

static bool large_is_spread(const struct tcp_peer *peer, size_t length, bool measured)
{
    struct tcp *tcp = peer->tcp;

    if (large_is_long(peer, length))
        return true;
    return length >= large_shortest(tcp) && sy_tcp_pace_spreads(&peer->pace, measured) &&
           (peer->stripe[0] || sy_engine_peers(&tcp->engine) < MODEST);
}

/* Notes the time of a measured transfer, which began at `begun`. */
static void large_note(struct tcp_peer *peer, const struct spread *spread, size_t bytes,
                       uint64_t begun)
{
    uint64_t took = sy_tcp_now() - begun;

    sy_producer_lock(&peer->requests.producer);
    sy_tcp_pace_note(&peer->pace, spread->peer[0] != peer, bytes, took);
    sy_producer_unlock(&peer->requests.producer);
}

/* Whether further streams are being connected for the first time. */
static bool large_is_opening(struct tcp_peer *peer)
{
    bool opening = false;

    sy_tcp_poll_lock(peer->tcp);
    for (unsigned i = 0; i < TCP_STREAMS_MAX; i++)
        opening |= peer->stripe[i] && sy_tcp_peer_is_spare(peer->stripe[i]) &&
                   !peer->stripe[i]->retry_at;
    sy_tcp_poll_unlock(peer->tcp);
    return opening;
}

/* Begins to connect the further streams. Most often that takes less time than a transfer saves. */
static void large_open_streams(struct tcp_peer *peer, unsigned streams)
{
    uint64_t begun = sy_tcp_now(), since = 0;

    for (unsigned i = 0; i < streams; i++)
        peer->stripe[i] = sy_tcp_peer_open(peer->tcp, peer->stream.pe, i + 1);
    while (large_is_opening(peer) && sy_tcp_now() - begun < OPENING)
        sy_engine_pass_time(&peer->requests, &since);
}

/* The further streams to the process of stream 0 that are connected. It is stream 0 itself where
 * the transfer is too small for them, or none of them is: the other side may not be reached from
 * here, or have no descriptors. */
static void large_choose_streams(struct tcp_peer *peer, size_t length, bool measured,
                                 struct spread *spread)
{
    unsigned streams = (unsigned)peer->tcp->settings.streams, count = 0;
    size_t chunks = (length + TCP_PART - 1) / TCP_PART;

    *spread = (struct spread){.peer = {peer}, .count = 1};
    if (!streams || !large_is_spread(peer, length, measured))
        return;
    if (!peer->stripe[streams - 1])
        large_open_streams(peer, streams);
    for (unsigned i = 0; i < streams && count < chunks; i++)
        if (peer->stripe[i] && sy_tcp_stream_state(&peer->stripe[i]->stream) == TCP_STREAM_UP)
            spread->peer[count++] = peer->stripe[i];
    if (!count)
        return;
    spread->count = count;
    sy_count_shared(&peer->tcp->counters.spread, 1);
}

/* How much of the `left` bytes goes into the next record. The last KEPT bytes of a blocking put are
 * a record of their own: so the rest can be confirmed while these are under way. */
static size_t large_part(const struct spread *spread, const struct tcp_peer *first, size_t left,
                         size_t last)
{
    size_t most = TCP_PART;

    if (spread->peer[0] == first && left > last)
        most = (left - last + TCP_PART - 1) / TCP_PART * TCP_PART;
    else if (spread->peer[0] == first)
        most = left;
    most = most < SY_RECORD_CHUNK ? most : SY_RECORD_CHUNK;
    return left < most ? left : most;
}

/* Waits for room for a record's words and for a segment after them. */
static char *large_wait_room(struct tcp_peer *peer)
{
    struct tcp_queue *queue = &peer->stream.queue[TCP_REQUESTS];
    uint64_t since = 0;
    char *room;

    while (!(room = sy_tcp_queue_reserve(queue, 16)) || !sy_tcp_queue_has_segment(queue)) {
        if (room && !queue->segment)
            sy_engine_no_memory(&peer->tcp->engine, peer->stream.pe);
        sy_engine_pass_time(&peer->requests, &since);
    }
    return room;
}

/* Has the other side apply nothing more of `stream` before stream `number` has got to a position.
 */
static void large_append_await(struct tcp_peer *peer, unsigned number, uint64_t position)
{
    uint64_t word[2] = {sy_record(SY_RECORD_AWAIT, 0, number, 0, 0), position};

    memcpy(large_wait_room(peer), word, sizeof word);
    sy_tx_commit(&peer->requests.tx, sizeof word);
}

/* A fence on stream 0: has what follows there wait for the large puts on further streams. */
static void large_fence(struct tcp_peer *peer)
{
    sy_producer_lock(&peer->requests.producer);
    if (!peer->unordered) {
        sy_producer_unlock(&peer->requests.producer);
        return;
    }
    sy_combine_close(&peer->requests);
    for (; peer->unordered; peer->unordered &= peer->unordered - 1) {
        unsigned i = (unsigned)__builtin_ctz(peer->unordered);
        large_append_await(peer, i + 1, sy_tx_tail(&peer->stripe[i]->requests.tx));
    }
    atomic_fetch_sub_explicit(&peer->tcp->peers.unordered, 1, memory_order_release);
    sy_producer_unlock(&peer->requests.producer);
    sy_engine_send_later(&peer->requests, false);
}

/* What this fence is to order has been put before, so its peer has been counted. If it is counted
 * no more, the fence of another thread has appended the AWAITs, as the producer. It may be at that
 * yet, but what this thread appends as the next producer comes after them. */
void sy_tcp_large_fence(struct sy_engine *engine)
{
    struct tcp *tcp = sy_tcp_of(engine);
    unsigned count = sy_engine_peers(engine);

    for (unsigned i = 0;
         i < count && atomic_load_explicit(&tcp->peers.unordered, memory_order_acquire); i++)
        if (!sy_tcp_peer_at(tcp, i)->stream.number)
            large_fence(sy_tcp_peer_at(tcp, i));
}

/* ---- put ---- */

/* Has the further streams wait for what stream 0 holds, before the first chunk on them. */
static void large_order_after(struct tcp_peer *first, const struct spread *spread)
{
    uint64_t tail = sy_tx_tail(&first->requests.tx);

    for (unsigned i = 0; i < spread->count && spread->peer[0] != first; i++) {
        if (spread->peer[i]->awaits == tail)
            continue;
        large_append_await(spread->peer[i], 0, tail);
        spread->peer[i]->awaits = tail;
    }
}

/* Notes that the next fence on stream 0 has to wait for the chunks of this put. */
static void large_order_before_fence(struct tcp_peer *first, const struct spread *spread)
{
    if (spread->peer[0] == first)
        return;
    if (!first->unordered)
        atomic_fetch_add_explicit(&first->tcp->peers.unordered, 1, memory_order_relaxed);
    for (unsigned i = 0; i < spread->count; i++)
        first->unordered |= 1u << (spread->peer[i]->stream.number - 1);
}

static bool is_handed(const struct tcp_peer *peer, uint64_t tail)
{
    return atomic_load_explicit(&peer->stream.handed[TCP_REQUESTS], memory_order_acquire) >= tail;
}

/* Copies what is unconfirmed of the caller's memory: 0; -EAGAIN: it is being sent once more, since
 * the connection has broken; or -ENOMEM. */
static int large_keep_source(struct tcp_peer *peer, const struct sy_transfer *t, uint64_t tail)
{
    sy_tcp_poll_lock(peer->tcp);
    sy_tcp_send_lock(&peer->stream);
    int rc = !is_handed(peer, tail)
                 ? -EAGAIN
                 : sy_tcp_queue_keep(&peer->stream.queue[TCP_REQUESTS], t->local, t->length);
    sy_tcp_send_unlock(&peer->stream);
    sy_tcp_poll_unlock(peer->tcp);
    return rc;
}

/* Whether a confirmation of the `left` bytes has been waited for, from *since on, for as long as
 * copying them takes: it is most often under way. */
static bool large_has_waited(uint64_t left, uint64_t *since)
{
    uint64_t now = sy_tcp_now();

    if (!*since)
        *since = now;
    return now - *since >= left / COPY_RATE;
}

/* The caller's memory is in use until the operation has been confirmed, because a broken connection
 * may need it again. So a blocking put waits until the kernel has all and little is unconfirmed,
 * and copies that little. */
static void large_release_source(struct tcp_peer *peer, const struct sy_transfer *t, uint64_t tail,
                                 size_t kept)
{
    struct tcp_queue *queue = &peer->stream.queue[TCP_REQUESTS];
    uint64_t since = 0, handed = 0, applied;

    sy_tx_ask(&peer->requests.tx, tail);
    while ((applied = sy_tx_applied(queue->tx)) < tail)
        if (!is_handed(peer, tail) || tail - applied > kept + WORDS ||
            !large_has_waited(tail - applied, &handed) || large_keep_source(peer, t, tail))
            sy_engine_pass_time(&peer->requests, &since);
        else
            return;
}

/* Nothing is asked: the copy is made while the data travel, and word that they have arrived would
 * be a message of its own. */
static void large_keep(struct tcp_peer *peer, const struct sy_transfer *t, uint64_t tail)
{
    uint64_t since = 0;

    while (sy_tx_applied(&peer->requests.tx) < tail &&
           (!is_handed(peer, tail) || large_keep_source(peer, t, tail))) {
        sy_tx_ask(&peer->requests.tx, tail); /* there may be no memory for a copy */
        sy_engine_pass_time(&peer->requests, &since);
    }
}

void sy_tcp_keep_large(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                       const struct sy_transfer *t)
{
    struct sy_engine_peer *requests = sy_engine_begin(engine, ctx, t->pe); /* known since the put */
    struct tcp_peer *first = sy_tcp_peer_of(requests), *peer[1 + TCP_STREAMS_MAX] = {first};
    uint64_t tail[1 + TCP_STREAMS_MAX];
    int count = 1;

    for (int i = 0; i < TCP_STREAMS_MAX; i++)
        if (first->stripe[i])
            peer[count++] = first->stripe[i];
    for (int i = 0; i < count; i++)
        tail[i] = sy_tx_tail(&peer[i]->requests.tx);
    sy_engine_end(requests);
    for (int i = 0; i < count; i++)
        large_keep(peer[i], t, tail[i]);
}

int sy_tcp_put_large(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                     const struct sy_transfer *t, unsigned flags)
{
    struct sy_engine_peer *requests = sy_engine_begin(engine, ctx, t->pe);
    struct tcp_peer *first = requests ? sy_tcp_peer_of(requests) : NULL;
    size_t awaited = t->length > KEPT ? t->length - KEPT : 0;
    size_t last = flags & SY_BLOCKING ? KEPT : 0;
    bool followed = flags & SY_ENGINE_FOLLOWED;
    bool gathers = !(flags & SY_BLOCKING) && !followed && t->length > KEPT; /* sent by who polls */
    bool measured = is_measured(first, t->length, awaited, flags);
    uint64_t begun = measured ? sy_tcp_now() : 0;
    struct spread spread;

    if (!first)
        return -EAGAIN;
    uint64_t place = sy_engine_place(engine, t->pe, t->window, t->offset);
    large_choose_streams(first, t->length, measured, &spread);
    sy_tcp_hint_flush(first, spread.peer[0] == first);
    large_order_after(first, &spread);
    large_order_before_fence(first, &spread);
    bool waits = gathers || (followed && spread.peer[0] == first);
    for (size_t done = 0, i = 0; done < t->length; i = (i + 1) % spread.count) {
        struct tcp_peer *peer = spread.peer[i];
        size_t part = large_part(&spread, first, t->length - done, last);
        sy_request_write_long(large_wait_room(peer), sy_record_behind(place, done),
                              SY_RECORD_PUT_LONG, part);
        spread.tail[i] = sy_tcp_queue_commit_segment(&peer->stream.queue[TCP_REQUESTS], 16,
                                                     (const char *)t->local + done, part, NULL);
        sy_engine_mark(ctx, &peer->requests, spread.tail[i]);
        if (flags & SY_BLOCKING && done + part == t->length) /* in the frame of the last record */
            sy_tx_ask(&peer->requests.tx, spread.tail[i]);
        if (!waits)
            sy_tcp_send(&peer->stream);
        done += part;
    }
    if (!(flags & SY_BLOCKING))
        atomic_store_explicit(&ctx->lends, true, memory_order_release);
    atomic_store_explicit(&ctx->dirty, true, memory_order_release);
    sy_engine_end(&first->requests);
    for (unsigned i = 0; i < spread.count && gathers; i++)
        sy_engine_send_later(&spread.peer[i]->requests, false);
    for (unsigned i = 0; i < spread.count && (flags & SY_BLOCKING); i++)
        if (spread.tail[i])
            large_release_source(spread.peer[i], t, spread.tail[i], KEPT / spread.count);
    if (measured)
        large_note(first, &spread, awaited, begun);
    return 0;
}

/* ---- get ---- */

/* Asks for one chunk; false: no room. */
static bool large_ask(struct sy_engine_ctx *ctx, struct tcp_peer *peer, const struct sy_transfer *t,
                      size_t done, size_t length, uint64_t *wanted)
{
    char *room = sy_tcp_queue_reserve(&peer->stream.queue[TCP_REQUESTS], 16);
    uint64_t number = room ? sy_pending_enter(&peer->requests.pending, (char *)t->local + done,
                                              length, SY_PENDING_PLAIN)
                           : 0;

    if (!number)
        return false;
    uint64_t place = sy_engine_place(&peer->tcp->engine, t->pe, t->window, t->offset + done);
    sy_request_write_long(room, place, SY_RECORD_GET_LONG, length);
    sy_engine_mark(ctx, &peer->requests, sy_tx_commit(&peer->requests.tx, 16));
    atomic_store_explicit(&sy_engine_mark_of(ctx, &peer->requests)->wanted, number,
                          memory_order_relaxed);
    *wanted = number;
    return true;
}

/* Of a get, the bytes that may be spread. From a device of a PE of this machine all comes on one
 * stream, as it is mapped there at once (device.c); a device has the same regions on all PEs. */
static size_t large_may_spread(const struct tcp_peer *first, const struct sy_transfer *t)
{
    bool device = atomic_load_explicit(&first->tcp->regions.device[t->window],
                                       memory_order_relaxed);

    return device && atomic_load_explicit(&first->near, memory_order_relaxed) ? 0 : t->length;
}

int sy_tcp_get_large(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                     const struct sy_transfer *t, unsigned flags)
{
    struct sy_engine_peer *requests = sy_engine_begin(engine, ctx, t->pe);
    struct tcp_peer *first = requests ? sy_tcp_peer_of(requests) : NULL;
    size_t length = first ? large_may_spread(first, t) : 0;
    bool measured = is_measured(first, length, length, flags);
    uint64_t begun = measured ? sy_tcp_now() : 0, since = 0;
    struct spread spread;

    if (!first)
        return -EAGAIN;
    large_choose_streams(first, length, measured, &spread);
    sy_tcp_hint_flush(first, spread.peer[0] == first);
    large_order_after(first, &spread);
    for (size_t done = 0, i = 0; done < t->length;) {
        size_t part = large_part(&spread, first, t->length - done, 0);
        if (large_ask(ctx, spread.peer[i], t, done, part, &spread.wanted[i])) {
            done += part;
            i = (i + 1) % spread.count;
        } else {
            sy_engine_pass_time(&spread.peer[i]->requests, &since);
        }
    }
    atomic_store_explicit(&ctx->dirty, true, memory_order_release);
    sy_engine_end(&first->requests);
    for (unsigned i = 0; i < spread.count; i++)
        sy_tcp_send(&spread.peer[i]->stream);
    for (unsigned i = 0; i < spread.count && (flags & SY_BLOCKING); i++)
        sy_engine_wait(&spread.peer[i]->requests, spread.wanted[i]);
    if (measured)
        large_note(first, &spread, t->length, begun);
    return 0;
}

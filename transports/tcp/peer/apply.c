/* Records that have come: requests are applied by the engine, replies go where they were asked for.
 * Every record comes from another process, so all that it says is checked. Under the poll lock. */
#include <errno.h>

#include "transports/tcp/tcp.h"

static const char crosses[] = "a record crosses the end of its frame";
const char sy_tcp_too_many[] = "it asks for more replies at a time than agreed";

/* ---- replies that this side gives ---- */

/* Gives a long reply: it is sent from the region itself, or from a copy in memory of its own. */
static const char *apply_long(struct tcp_peer *peer, const char *at, size_t have, size_t length)
{
    const struct sy_regions *regions = &peer->tcp->regions;
    struct tcp_queue *queue = &peer->stream.queue[TCP_REPLIES];
    uint64_t header = sy_record_word(at);
    const char *from = NULL, *why = NULL;
    char *copy = NULL;

    if (sy_record_op(header) == SY_RECORD_GET_LONG)
        from = sy_regions_find(regions, header, sy_record_offset(header), length);
    if (!from && sy_record_op(header) == SY_RECORD_GET_LONG &&
        (sy_tcp_device_send(peer, at, have, length) ||
         sy_tcp_device_read(peer, header, length, &why)))
        return NULL;
    if (!why && peer->readings)
        why = sy_tcp_device_reply(peer);
    if (!why && !sy_tcp_queue_has_segment(queue))
        why = queue->segment ? "it asks for more long replies at a time than agreed"
                             : sy_tcp_no_memory;
    if (!from && !why) {
        from = copy = sy_tcp_queue_copy(queue, sy_record_padded(length));
        why = copy ? sy_apply(regions, at, NULL, copy) : sy_tcp_no_memory;
    }
    if (why) {
        sy_tcp_queue_uncopy(queue, copy, sy_record_padded(length));
        return why;
    }
    sy_tcp_queue_commit_segment(queue, 0, from, length, copy);
    if (copy) /* it travels while the next one is copied */
        sy_tcp_send(&peer->stream);
    return NULL;
}

/* Applies a whole record that has no function of its own here; have: bytes from it on. The other
 * side asks for no more replies than fit, so having no room for one is a breach of the rules. */
static const char *apply_one(struct tcp_peer *peer, const char *at, size_t have)
{
    struct tcp_queue *queue = &peer->stream.queue[TCP_REPLIES];
    long length = sy_record_reply(at);

    if (length < 0)
        return sy_apply_outside;
    if (length > SY_RECORD_LONG)
        return apply_long(peer, at, have, (size_t)length);
    const char *why = length && peer->readings ? sy_tcp_device_reply(peer) : NULL;
    if (why)
        return why;
    size_t bytes = sy_record_padded((size_t)length);
    char *room = bytes ? sy_tcp_queue_reserve(queue, bytes) : NULL;
    if (SY_UNLIKELY(bytes && !room))
        return sy_tcp_too_many;
    why = sy_apply(&peer->tcp->regions, at, at + sy_record_head(sy_record_word(at)), room);
    if (bytes && !why)
        sy_tx_commit(queue->tx, bytes);
    return why;
}

/* ---- requests ---- */

/* Begins a put whose payload has come in part: stores what is there; the rest goes there as it is
 * received (sy_tcp_receive_place). */
static size_t apply_begin_payload(struct tcp_peer *peer, const char *from, size_t have,
                                  size_t frame_left, const char **why)
{
    uint64_t header = sy_record_word(from);
    size_t length = (size_t)sy_record_data(from), bytes = 16 + sy_record_padded(length);
    char *to = sy_regions_find(&peer->tcp->regions, header, sy_record_offset(header), length);

    peer->bounced = !to;
    if (!to)
        to = sy_tcp_device_place(peer, header, length);
    if (!to || bytes > frame_left) {
        *why = to ? crosses : sy_apply_outside;
        return 0;
    }
    size_t part = sy_tcp_receive_cut(to, have - 16, length);
    sy_apply_store(to, from + 16, part);
    sy_tcp_receive_place(&peer->stream, to, part, length, bytes);
    peer->payload_region = sy_record_region(header);
    return 16 + part;
}

static void apply_count(struct tcp_stream *stream, uint64_t bytes)
{
    _Atomic uint64_t *applied = &stream->applied[TCP_REQUESTS];

    atomic_store_explicit(applied, atomic_load_explicit(applied, memory_order_relaxed) + bytes,
                          memory_order_release); /* there is one writer, under the poll lock */
}

/* Whether the stream that this one awaits has been applied up to the position it awaits. */
static bool apply_is_there(const struct tcp_peer *peer)
{
    return atomic_load_explicit(&peer->holder->stream.applied[TCP_REQUESTS],
                                memory_order_acquire) >= peer->holds_until;
}

/* Takes an AWAIT; true: the stream must stop after this record. */
static bool apply_await(struct tcp_peer *peer, const char *from, const char **why)
{
    unsigned number = sy_record_target(sy_record_word(from));
    struct tcp_peer *other = sy_tcp_peer_find(peer->tcp, peer->stream.pe, number);

    if (!other || other == peer) {
        *why = "it names a stream that cannot be";
        return false;
    }
    peer->holder = other;
    peer->holds_until = sy_record_word(from + 8);
    peer->stream.in.held = !apply_is_there(peer);
    return peer->stream.in.held;
}

/* The AWAIT itself counts as applied when it is over. Where it ends a frame it was left out of what
 * that frame asked for, and nothing may come after it. */
bool sy_tcp_apply_resumes(struct tcp_stream *stream)
{
    if (!apply_is_there(sy_tcp_peer_with(stream)))
        return false;
    apply_count(stream, TCP_AWAIT_BYTES);
    atomic_store_explicit(&stream->ack_due, true, memory_order_release);
    return true;
}

static const char *apply_raise(struct tcp_peer *peer, uint64_t header, uint64_t value)
{
    int news = sy_apply_raise(&peer->tcp->regions, header, value);

    if (news < 0)
        return sy_apply_outside;
    sy_tcp_hint_note(peer, news, sy_record_op(header) == SY_RECORD_REPEAT);
    return NULL;
}

/* A frequent record whose reply is a word. Arguments and result as of apply_other. */
SY_INLINE bool apply_word(struct tcp_peer *peer, const char *at, const char **why)
{
    struct tcp_queue *queue = &peer->stream.queue[TCP_REPLIES];

    if (SY_UNLIKELY(peer->readings) && (*why = sy_tcp_device_reply(peer)))
        return false;
    char *room = sy_tcp_queue_reserve(queue, 8);
    if (SY_UNLIKELY(!room))
        *why = sy_tcp_too_many;
    else if (SY_UNLIKELY(!sy_apply_word(&peer->tcp->regions, at, room)))
        *why = sy_apply_outside;
    else
        sy_tx_commit(queue->tx, 8);
    return false;
}

/* Applies any record but the frequent ones. True: nothing after it may be applied now. */
static bool apply_other(struct tcp_peer *peer, const char *at, size_t have, const char **why)
{
    uint64_t header = sy_record_word(at);

    switch (sy_record_op(header)) {
    case SY_RECORD_AWAIT:
        return apply_await(peer, at, why);
    case SY_RECORD_RAISE:
    case SY_RECORD_REPEAT:
        *why = apply_raise(peer, header, sy_record_word(at + 8));
        return false;
    default:
        *why = apply_one(peer, at, have);
        return false;
    }
}

void sy_tcp_apply_placed(struct tcp_stream *stream, enum tcp_channel channel, uint64_t bytes)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);

    if (channel == TCP_REPLIES) {
        sy_pending_took(&peer->requests.pending, bytes, &stream->applied[TCP_REPLIES]);
        return;
    }
    if (peer->bounced && !sy_tcp_device_placed(peer))
        peer->tcp->host->lost(stream->pe, EPROTO, sy_apply_outside);
    apply_count(stream, bytes);
}

size_t sy_tcp_apply_requests(struct tcp_stream *stream, const char *from, size_t length,
                             const char **why)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);
    const struct sy_regions *regions = &peer->tcp->regions;
    size_t used = 0, done = 0; /* done: bytes of whole records */

    sy_regions_ensure(&peer->tcp->regions);
    while (length - used >= 8) {
        const char *at = from + used;
        uint64_t header = sy_record_word(at);
        size_t have = length - used;
        int frequent = have >= 16 ? sy_apply_frequent(regions, header, at + 8) : 0;
        if (SY_LIKELY(frequent > 0)) {
            used = done = used + 16;
            continue;
        }
        if (SY_UNLIKELY(frequent < 0)) {
            *why = sy_apply_outside;
            break;
        }
        size_t word = sy_apply_asks_word(header, have);
        size_t size = word ? word : sy_record_size(at, have, why);
        if (!size || size > have) {
            if (size > SY_RECORD_LONG + 16 && sy_record_op(header) == SY_RECORD_PUT_LONG)
                used += apply_begin_payload(peer, at, have, peer->stream.in.frame_left - used, why);
            break;
        }
        bool stop = word ? apply_word(peer, at, why) : apply_other(peer, at, have, why);
        if (SY_UNLIKELY(*why != NULL))
            break;
        used += size;
        if (stop)
            break;
        done = used;
    }
    if (SY_UNLIKELY(peer->device != NULL))
        sy_tcp_device_unmap(peer);
    if (done)
        apply_count(&peer->stream, done);
    return used;
}

/* ---- replies that this side asked for ---- */

/* A long reply has come in part: the rest goes to its place as it is received. The bytes used. */
static size_t apply_begin_reply(struct tcp_peer *peer, const struct sy_pending_reply *reply,
                                const char *at, size_t have, size_t left, const char **why)
{
    size_t bytes = sy_record_padded(reply->length);

    if (bytes > left) {
        *why = crosses;
        return 0;
    }
    have = have < reply->length ? have : reply->length;
    sy_copy_bytes(reply->dest, at, have);
    sy_tcp_receive_place(&peer->stream, reply->dest, have, reply->length, bytes);
    return have;
}

size_t sy_tcp_apply_replies(struct tcp_stream *stream, const char *from, size_t length,
                            const char **why)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);
    const struct sy_pending_reply *part;
    size_t used = sy_pending_take(&peer->requests.pending, from, length,
                                  &stream->applied[TCP_REPLIES], &part, why);

    if (SY_UNLIKELY(part))
        used += apply_begin_reply(peer, part, from + used, length - used,
                                  stream->in.frame_left - used, why);
    return used;
}

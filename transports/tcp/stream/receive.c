/* From a stream's socket to who applies what has come: frames, records that come in segments, large
 * payloads. All under the poll lock, so one buffer serves all streams; what a stream has not used
 * stays with the stream (in.stash). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "transports/tcp/stream/stream.h"

#define READ_BYTES   (64u << 10)
#define BEHIND_BYTES (4u << 10) /* read beside a large payload, or between two of them */
#define TURN_BYTES   (1u << 20) /* then others get their turn */
/* Payloads from so many bytes on are received in place. Shorter ones cost less to copy than two
 * system calls each; more so where PEs share processors, and several come at once. */
#define PLACED_BYTES(CROWDED) ((CROWDED) ? 64u << 10 : 33u << 10)

void sy_tcp_receive_reset(struct tcp_stream *stream)
{
    bool bye = stream->in.bye;

    free(stream->in.stash);
    stream->in = (struct tcp_in){.bye = bye};
}

/* The other side has applied a channel up to here. The thread that sends may not have booked the
 * frame as handed over yet, so what counts is what has been taken for sending. */
static bool receive_take_ack(struct tcp_stream *stream, enum tcp_channel channel, uint32_t low)
{
    struct tcp_queue *queue = &stream->queue[channel];
    uint64_t position = sy_tcp_queue_position(queue, low);

    return position <= atomic_load_explicit(&queue->tx->sent, memory_order_acquire) &&
           sy_tcp_queue_release(queue, position);
}

/* A frame's header: what the other side has applied, and what it wants to know. Returns the bytes
 * used: 0, more of it has to come. */
static size_t receive_begin_frame(struct tcp_stream *stream, const char *from, size_t length,
                                  const char **why)
{
    struct tcp_frame frame;

    if (length < sizeof frame)
        return 0;
    memcpy(&frame, from, sizeof frame);
    size_t size = sizeof frame + (frame.flags & TCP_FRAME_SHIFTED ? TCP_SHIFT : 0);
    if (length < size)
        return 0;
    if (frame.length > TCP_FRAME_MAX || frame.length % 8)
        *why = "a frame has an impossible length";
    else if (!receive_take_ack(stream, TCP_REQUESTS, frame.requests) ||
             !receive_take_ack(stream, TCP_REPLIES, frame.replies))
        *why = "it acknowledges what was never sent";
    if (*why)
        return 0;
    sy_count(&stream->all->counters->frames_received, 1);
    stream->in.frame_left = frame.length;
    stream->in.flags = frame.flags;
    if (frame.flags & TCP_FRAME_NODE)
        atomic_store_explicit(&stream->serves_node, true, memory_order_relaxed);
    atomic_store_explicit(&stream->heard, true, memory_order_release);
    return size;
}

static void receive_end_frame(struct tcp_stream *stream)
{
    if (stream->in.flags & TCP_FRAME_ACK)
        atomic_store_explicit(&stream->ack_due, true, memory_order_release);
    if (stream->in.flags & TCP_FRAME_BYE)
        stream->in.bye = true;
}

size_t sy_tcp_receive_cut(const char *to, size_t length, size_t left)
{
    size_t over = (uintptr_t)(to + length) % 8;

    if (length >= left)
        return left;
    return length > over ? length - over : 0;
}

void sy_tcp_receive_place(struct tcp_stream *stream, char *to, size_t part, size_t length,
                          size_t bytes)
{
    stream->in.payload = to + part;
    stream->in.payload_left = length - part;
    stream->in.payload_padding = sy_record_padded(length) - length;
    stream->in.payload_record = bytes;
    stream->in.in_place = length >= PLACED_BYTES(stream->all->host->crowded);
}

#define FOLLOWED (64 << 10) /* bytes at a time of what somebody else copies on as it comes */

/* How much of a large payload can be received in place now; *rest: a part of an element is all that
 * there is. */
static size_t receive_direct_bytes(const struct tcp_stream *stream, bool *rest)
{
    const struct tcp_in *in = &stream->in;
    int there;

    *rest = false;
    if (!in->in_place || in->stashed || ioctl(stream->watch.fd, FIONREAD, &there) || there < 0)
        return 0;
    size_t most = in->follow && there > FOLLOWED ? FOLLOWED : (size_t)there;
    size_t direct = sy_tcp_receive_cut(in->payload, most, in->payload_left);
    *rest = !direct && there && in->payload_left;
    return direct;
}

/* How much is received into the buffer, beside `direct` bytes in place. Nothing while such a
 * payload goes on: a part of an element would be left in the buffer, and all that follows would
 * have to be copied after it. If that has happened, as much as ends between two elements. */
static size_t receive_room(const struct tcp_in *in, size_t direct)
{
    if (direct)
        return direct < in->payload_left ? 0 : BEHIND_BYTES;
    if (in->in_place)
        return BEHIND_BYTES - (uintptr_t)(in->payload + in->stashed) % 8;
    return in->bulk_lately ? BEHIND_BYTES : READ_BYTES;
}

/* `length` bytes of a large payload have arrived. */
static void receive_take_payload(struct tcp_stream *stream, size_t length)
{
    struct tcp_in *in = &stream->in;

    in->payload += length;
    in->payload_left -= length;
    in->frame_left -= length;
    if (in->follow)
        stream->all->user->follow(stream);
}

/* The payload is complete but for its padding, which is in the buffer. */
static void receive_end_payload(struct tcp_stream *stream)
{
    struct tcp_in *in = &stream->in;
    bool reply = in->flags & TCP_FRAME_REPLIES;

    in->frame_left -= in->payload_padding;
    in->payload = NULL;
    in->payload_padding = 0;
    in->in_place = in->follow = false;
    stream->all->user->placed(stream, reply ? TCP_REPLIES : TCP_REQUESTS, in->payload_record);
}

/* Uses records and frame headers in [from, from + length): the number of bytes used. Bytes that are
 * left are the beginning of something, or held. */
static size_t receive_parse(struct tcp_stream *stream, const char *from, size_t length,
                            const char **why)
{
    struct tcp_in *in = &stream->in;
    size_t used = 0;

    while (!*why && !in->held) {
        size_t left = length - used;
        if (in->payload) {
            size_t part = sy_tcp_receive_cut(in->payload, left, in->payload_left);
            stream->all->user->store(in->payload, from + used, part);
            receive_take_payload(stream, part);
            used += part;
            if (in->payload_left || left - part < in->payload_padding)
                break;
            used += in->payload_padding;
            receive_end_payload(stream);
        } else if (!in->frame_left) {
            size_t took = receive_begin_frame(stream, from + used, left, why);
            used += took;
            if (!took)
                break;
        } else {
            size_t part = left < in->frame_left ? left : in->frame_left;
            bool reply = in->flags & TCP_FRAME_REPLIES;
            size_t took = stream->all->user->apply[reply ? TCP_REPLIES : TCP_REQUESTS](
                stream, from + used, part, why);
            used += took;
            in->frame_left -= took;
            if (took < part && part == in->frame_left + took && !in->held && !*why)
                *why = "a record crosses the end of its frame";
            if (!took || in->payload)
                break;
        }
        if (!in->frame_left && !in->payload)
            receive_end_frame(stream);
    }
    return used;
}

/* Keeps what was not used. */
static int receive_keep(struct tcp_stream *stream, const char *from, size_t length)
{
    struct tcp_in *in = &stream->in;
    char *before = in->stash;

    in->stash = NULL;
    in->stashed = 0;
    if (length) {
        in->stash = malloc(length);
        if (in->stash) {
            memcpy(in->stash, from, length);
            in->stashed = length;
        }
    }
    free(before);
    return length && !in->stash ? -ENOMEM : 0;
}

/* While something is held nothing is read; the socket must not keep the progress thread awake. */
static void receive_pause_reading(struct tcp_stream *stream, bool pause)
{
    sy_tcp_send_lock(stream);
    atomic_store_explicit(&stream->paused, pause, memory_order_relaxed);
    sy_tcp_send_watch(stream);
    sy_tcp_send_unlock(stream);
    atomic_fetch_add_explicit(&stream->all->paused, pause ? 1 : -1, memory_order_relaxed);
}

/* Parses what has come, keeps the rest, and sends what is due. */
static void receive_use(struct tcp_stream *stream, const char *from, size_t length)
{
    const char *why = NULL;
    size_t used = receive_parse(stream, from, length, &why);

    if (!why && receive_keep(stream, from + used, length - used))
        why = sy_tcp_no_memory;
    if (why) {
        sy_tcp_stream_breached(stream, why);
        return;
    }
    if (stream->in.held)
        receive_pause_reading(stream, true);
    if (sy_tcp_send_due(stream))
        sy_tcp_send(stream);
}

/* Applies what has been held, once that may be. True: reading may go on. */
static bool receive_resume(struct tcp_stream *stream)
{
    struct tcp_in *in = &stream->in;

    if (!in->held)
        return true;
    if (!stream->all->user->resumes(stream))
        return false;
    char *stash = in->stash;
    size_t length = in->stashed;
    in->held = false;
    in->stash = NULL;
    in->stashed = 0;
    receive_pause_reading(stream, false);
    receive_use(stream, stash ? stash : "", length); /* there may be nothing */
    free(stash);
    return !in->held;
}

/* Receives what there is: the first `direct` bytes at `payload`, up to `room` more at `to`. */
static ssize_t receive_take(int fd, char *payload, size_t direct, char *to, size_t room)
{
    if (!direct)
        return recv(fd, to, room, MSG_DONTWAIT);
    struct iovec part[2] = {{payload, direct}, {to, room}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
    return recvmsg(fd, &message, MSG_DONTWAIT);
}

size_t sy_tcp_receive(struct tcp_stream *stream)
{
    struct tcp_in *in = &stream->in;
    char *buffer = stream->all->received;
    size_t total = 0;

    while (stream->watch.fd >= 0 && total < TURN_BYTES && receive_resume(stream) &&
           stream->watch.fd >= 0) {
        bool rest;
        size_t head = in->stashed, direct = receive_direct_bytes(stream, &rest);
        size_t room = receive_room(in, direct);
        if (rest && total)
            break; /* more of it is on its way */
        memcpy(buffer, in->stash ? in->stash : buffer, head);
        ssize_t got = receive_take(stream->watch.fd, in->payload, direct, buffer + head, room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (got <= 0) {
            sy_tcp_stream_broken(stream,
                                 got ? strerror(errno) : "the other side closed the connection");
            break;
        }
        total += (size_t)got;
        sy_count(&stream->all->counters->receives, 1);
        size_t into = (size_t)got < direct ? (size_t)got : direct;
        if (direct) {
            sy_count(&stream->all->counters->bytes_in_place, into);
            receive_take_payload(stream, into);
        }
        receive_use(stream, buffer, head + (size_t)got - into);
        in->bulk = direct || in->in_place;
        in->bulk_lately = in->bulk || (in->bulk_lately && (size_t)got < room);
        if ((size_t)got < direct + room)
            break;
    }
    if (total)
        sy_count(&stream->all->counters->bytes_received, total);
    if (total || in->owes)
        stream->all->user->received(stream);
    return total;
}

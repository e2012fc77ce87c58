/* From a stream's send queues to its socket: frames. See stream.h for the locks. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "transports/tcp/stream/stream.h"
#include "util/copy.h"

#define FRAME_BYTES (256u << 10) /* a frame ends with the record that passes this */
#define SMALL_BYTES 512          /* sent as one buffer */
#define TELL_BYTES  (128u << 10) /* applied and not acknowledged: do so unasked */

static bool send_has(const struct tcp_queue *queue)
{
    return sy_tx_tail(queue->tx) > sy_tx_sent(queue->tx);
}

static uint64_t send_got(const struct tcp_stream *stream, enum tcp_channel channel)
{
    return atomic_load_explicit(&stream->applied[channel], memory_order_acquire);
}

/* Whether the other side must be asked: what it is to confirm has been sent. */
static bool send_must_ask(const struct tcp_stream *stream)
{
    uint64_t ask = atomic_load_explicit(&stream->queue[TCP_REQUESTS].tx->ask, memory_order_relaxed);

    return ask > stream->asked && sy_tx_sent(stream->queue[TCP_REQUESTS].tx) >= ask;
}

static bool send_must_tell(const struct tcp_stream *stream)
{
    return atomic_load_explicit(&stream->ack_due, memory_order_relaxed) ||
           send_got(stream, TCP_REQUESTS) + send_got(stream, TCP_REPLIES) -
                   atomic_load_explicit(&stream->acked, memory_order_relaxed) >=
               TELL_BYTES;
}

bool sy_tcp_send_due(const struct tcp_stream *stream)
{
    return send_must_tell(stream) || send_has(&stream->queue[TCP_REPLIES]) ||
           send_has(&stream->queue[TCP_REQUESTS]);
}

/* Whether TCP_SHIFT more bytes go ahead of a frame's payload. The kernel copies into pages of its
 * own, from the beginning of one where all before the frame has been taken. A destination less than
 * 64 bytes ahead in its page is slow where memcpy is, and on Zen 5: 4.5 GB/s instead of 7. */
static bool send_shifts(const struct tcp_out *out, int count)
{
    size_t ahead = sizeof out->frame;
    int large = 1;

    if (count > 1 && out->part[1].iov_len <= SY_RECORD_LONG)
        ahead += out->part[large++].iov_len;
    return large <= count && out->part[large].iov_len > SY_RECORD_LONG &&
           sy_copy_is_ahead(ahead - (uintptr_t)out->part[large].iov_base, TCP_SHIFT);
}

/* Makes the next frame: replies first, since somebody waits for them. False: nothing to send. */
static bool send_prepare(struct tcp_stream *stream)
{
    struct tcp_out *out = &stream->out;
    bool replies_first = send_has(&stream->queue[TCP_REPLIES]);
    enum tcp_channel channel = replies_first ? TCP_REPLIES : TCP_REQUESTS;
    struct tcp_queue *queue = &stream->queue[channel];
    bool bye = atomic_load_explicit(&stream->bye, memory_order_relaxed);
    unsigned flags = channel == TCP_REPLIES ? TCP_FRAME_REPLIES : 0;
    int count = 0;
    size_t length = 0;

    if (replies_first || send_has(queue))
        length = sy_tcp_queue_take(queue, out->part + 1, TCP_OUT_PARTS - 1, &count, FRAME_BYTES);
    else if (!send_must_ask(stream) && !send_must_tell(stream) && !bye)
        return false;
    if (send_must_ask(stream)) {
        flags |= TCP_FRAME_ACK;
        stream->asked = sy_tx_sent(stream->queue[TCP_REQUESTS].tx);
    }
    out->channel = channel;
    out->end = sy_tx_sent(queue->tx);
    if (bye && !send_has(&stream->queue[TCP_REPLIES]) && !send_has(&stream->queue[TCP_REQUESTS])) {
        flags |= TCP_FRAME_BYE;
        atomic_store_explicit(&stream->bye, false, memory_order_relaxed);
    }
    size_t head = sizeof out->frame;
    if (send_shifts(out, count)) {
        flags |= TCP_FRAME_SHIFTED;
        head += TCP_SHIFT;
    }
    if (!stream->first_sent)
        flags |= stream->all->user->first_flags(stream);
    stream->first_sent = true;
    /* Before `applied` is read, so that what falls due for more than this frame tells stays due. */
    atomic_exchange_explicit(&stream->ack_due, false, memory_order_acq_rel);
    uint64_t requests = send_got(stream, TCP_REQUESTS), replies = send_got(stream, TCP_REPLIES);
    atomic_store_explicit(&stream->acked, requests + replies, memory_order_relaxed);
    out->frame = (struct tcp_frame){.length = (uint32_t)length,
                                    .flags = flags,
                                    .requests = (uint32_t)requests,
                                    .replies = (uint32_t)replies};
    out->part[0] = (struct iovec){.iov_base = &out->frame, .iov_len = head};
    out->first = 0;
    out->count = count + 1;
    out->left = length + head;
    return true;
}

/* Drops the first `sent` bytes of the parts, which have more. */
static void send_cut(struct tcp_out *out, size_t sent)
{
    while (sent >= out->part[out->first].iov_len)
        sent -= out->part[out->first++].iov_len;
    struct iovec *part = &out->part[out->first];
    part->iov_base = (char *)part->iov_base + sent;
    part->iov_len -= sent;
}

/* Records that the kernel has taken `sent` more bytes of the frame. */
static void send_advance(struct tcp_stream *stream, size_t sent)
{
    struct tcp_out *out = &stream->out;

    out->left -= sent;
    if (out->left)
        send_cut(out, sent);
    uint64_t left = out->left < out->frame.length ? out->left : out->frame.length;
    atomic_store_explicit(&stream->handed[out->channel], out->end - left, memory_order_release);
}

void sy_tcp_send_watch(struct tcp_stream *stream)
{
    bool blocked = atomic_load_explicit(&stream->queue[TCP_REQUESTS].tx->blocked,
                                        memory_order_relaxed);
    bool unread = atomic_load_explicit(&stream->paused, memory_order_relaxed) || stream->attended;

    if (stream->watch.fd < 0)
        return;
    int rc = sy_tcp_watch_change(&stream->watch,
                                 (blocked ? EPOLLOUT : 0u) | (unread ? 0u : EPOLLIN));
    if (rc)
        stream->all->host->lost(stream->pe, -rc, TCP_UNWATCHED);
}

/* Copies to `to` and returns the end. A frame's head has 16 bytes, as most records have. */
static char *send_append(char *to, const void *from, size_t length)
{
    if (length != 16)
        return mempcpy(to, from, length);
    memcpy(to, from, 16);
    return to + 16;
}

/* A few bytes are put together first: one buffer costs the kernel less than a list of them. */
static ssize_t send_parts(int fd, const struct tcp_out *out)
{
    char small[SMALL_BYTES], *end = small;

    if (out->left > sizeof small) {
        struct msghdr message = {.msg_iov = (struct iovec *)out->part + out->first,
                                 .msg_iovlen = (size_t)(out->count - out->first)};
        for (int i = out->first; i < out->count; i++)
            SY_TELL_READ(out->part[i].iov_base, out->part[i].iov_len);
        return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    for (int i = out->first; i < out->count; i++)
        end = send_append(end, out->part[i].iov_base, out->part[i].iov_len);
    return send(fd, small, out->left, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_all(struct tcp_stream *stream)
{
    struct tcp_out *out = &stream->out;
    struct tcp_counters *counters = stream->all->counters;
    uint64_t frames = 0, calls = 0, bytes = 0;
    bool any = false;

    while (stream->watch.fd >= 0 && (out->left || (send_prepare(stream) && ++frames))) {
        any = true;
        ssize_t sent = send_parts(stream->watch.fd, out);
        if (sent >= 0) {
            calls++;
            bytes += (size_t)sent;
            send_advance(stream, (size_t)sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
            sy_count_shared(&counters->sends_blocked, 1);
            atomic_store_explicit(&stream->queue[TCP_REQUESTS].tx->blocked, true,
                                  memory_order_relaxed);
            sy_tcp_send_watch(stream);
            break;
        } else if (errno == EFAULT) {
            stream->all->host->lost(stream->pe, ESHUTDOWN,
                                    "memory to be sent, such as a put's source, cannot be read; it "
                                    "has to be there until shmem_quiet returns");
            break;
        } else if (errno != EINTR) {
            /* The next poll finds the socket closed and deals with it. */
            shutdown(stream->watch.fd, SHUT_RDWR);
            break;
        }
    }
    if (!any)
        return;
    sy_count_shared(&counters->frames_sent, frames);
    sy_count_shared(&counters->sends, calls);
    sy_count_shared(&counters->bytes_sent, bytes);
    stream->all->user->sent(stream);
}

static bool send_try_lock(struct tcp_stream *stream)
{
    return !atomic_load_explicit(&stream->send, memory_order_seq_cst) &&
           !atomic_exchange_explicit(&stream->send, true, memory_order_acquire);
}

void sy_tcp_send_lock(struct tcp_stream *stream)
{
    while (!send_try_lock(stream))
        sched_yield();
}

static void send_unlock(struct tcp_stream *stream)
{
    atomic_store_explicit(&stream->send, false, memory_order_seq_cst);
}

/* `again` is set by a thread that could not take the lock, before a second attempt; every holder
 * looks at it after letting go. One of the two therefore sends what was appended last. */
void sy_tcp_send(struct tcp_stream *stream)
{
    if (!send_try_lock(stream)) {
        atomic_store_explicit(&stream->again, true, memory_order_seq_cst);
        if (!send_try_lock(stream))
            return;
    }
    do {
        atomic_exchange_explicit(&stream->again, false, memory_order_seq_cst);
        if (!atomic_load_explicit(&stream->queue[TCP_REQUESTS].tx->blocked, memory_order_relaxed))
            send_all(stream);
        send_unlock(stream);
    } while (atomic_load_explicit(&stream->again, memory_order_seq_cst) && send_try_lock(stream));
}

void sy_tcp_send_unlock(struct tcp_stream *stream)
{
    send_unlock(stream);
    if (atomic_load_explicit(&stream->again, memory_order_seq_cst))
        sy_tcp_send(stream);
}

bool sy_tcp_send_attend(struct tcp_stream *stream, int threads)
{
    if (threads < 0)
        sy_tcp_send_lock(stream);
    else if (!send_try_lock(stream))
        return false;
    stream->attended += threads;
    sy_tcp_send_watch(stream);
    sy_tcp_send_unlock(stream);
    return true;
}

/* From a lane's logs to its socket: frames. See lane.h for the locks. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "transports/tcp/tcp.h"

#define FRAME_BYTES (256u << 10) /* a frame ends with the record that passes this */
#define SMALL_BYTES 512          /* sent as one buffer */
#define TELL_BYTES  (128u << 10) /* applied and not told: say so unasked */

static bool has(const struct tcp_log *log)
{
    return sy_tcp_log_tail(log) > sy_tcp_log_sent(log);
}

static uint64_t send_got(const struct tcp_lane *lane, enum tcp_channel channel)
{
    return atomic_load_explicit(&lane->got[channel], memory_order_acquire);
}

/* What the other side is to confirm has been sent, and it has not been asked yet. */
static bool send_must_ask(const struct tcp_lane *lane)
{
    uint64_t ask = atomic_load_explicit(&lane->ask, memory_order_relaxed);

    return ask > lane->asked && sy_tcp_log_sent(&lane->log[TCP_REQUESTS]) >= ask;
}

static bool send_must_tell(const struct tcp_lane *lane)
{
    return atomic_load_explicit(&lane->ack_due, memory_order_relaxed) ||
           send_got(lane, TCP_REQUESTS) + send_got(lane, TCP_REPLIES) -
                   atomic_load_explicit(&lane->told, memory_order_relaxed) >=
               TELL_BYTES;
}

bool sy_tcp_send_due(const struct tcp_lane *lane)
{
    return send_must_tell(lane) || has(&lane->log[TCP_REPLIES]) || has(&lane->log[TCP_REQUESTS]);
}

/* Makes the next frame: replies first, since somebody waits for them. False: nothing to say. */
static bool send_prepare(struct tcp_lane *lane)
{
    struct tcp_out *out = &lane->out;
    enum tcp_channel channel = has(&lane->log[TCP_REPLIES]) ? TCP_REPLIES : TCP_REQUESTS;
    struct tcp_log *log = &lane->log[channel];
    bool bye = atomic_load_explicit(&lane->bye, memory_order_relaxed);
    unsigned flags = channel == TCP_REPLIES ? TCP_FRAME_REPLIES : 0;
    int count = 0;
    size_t length = 0;

    if (has(log))
        length = sy_tcp_log_take(log, out->part + 1, TCP_OUT_PARTS - 1, &count, FRAME_BYTES);
    else if (!send_must_ask(lane) && !send_must_tell(lane) && !bye)
        return false;
    if (send_must_ask(lane)) {
        flags |= TCP_FRAME_ACK;
        lane->asked = sy_tcp_log_sent(&lane->log[TCP_REQUESTS]);
    }
    out->channel = channel;
    out->end = sy_tcp_log_sent(log);
    if (bye && !has(&lane->log[TCP_REPLIES]) && !has(&lane->log[TCP_REQUESTS])) {
        flags |= TCP_FRAME_BYE;
        atomic_store_explicit(&lane->bye, false, memory_order_relaxed);
    }
    if (!lane->greeted && sy_regions_serves_node(&lane->tcp->regions))
        flags |= TCP_FRAME_NODE;
    lane->greeted = true;
    /* Before `got` is read, so that what falls due for more than this frame tells stays due. */
    atomic_exchange_explicit(&lane->ack_due, false, memory_order_acq_rel);
    uint64_t requests = send_got(lane, TCP_REQUESTS), replies = send_got(lane, TCP_REPLIES);
    atomic_store_explicit(&lane->told, requests + replies, memory_order_relaxed);
    out->frame = (struct tcp_frame){.length = (uint32_t)length,
                                    .flags = flags,
                                    .requests = (uint32_t)requests,
                                    .replies = (uint32_t)replies};
    out->part[0] = (struct iovec){.iov_base = &out->frame, .iov_len = sizeof out->frame};
    out->first = 0;
    out->count = count + 1;
    out->left = length + sizeof out->frame;
    return true;
}

/* `sent` bytes of the frame have gone. */
static void send_advance(struct tcp_lane *lane, size_t sent)
{
    struct tcp_out *out = &lane->out;

    out->left -= sent;
    while (sent && sent >= out->part[out->first].iov_len)
        sent -= out->part[out->first++].iov_len;
    if (sent) {
        struct iovec *part = &out->part[out->first];
        part->iov_base = (char *)part->iov_base + sent;
        part->iov_len -= sent;
    }
    uint64_t left = out->left < out->frame.length ? out->left : out->frame.length;
    atomic_store_explicit(&lane->handed[out->channel], out->end - left, memory_order_release);
}

void sy_tcp_send_watch(struct tcp_lane *lane)
{
    bool blocked = atomic_load_explicit(&lane->blocked, memory_order_relaxed);
    bool unread = atomic_load_explicit(&lane->paused, memory_order_relaxed) || lane->attended;

    if (lane->watch.fd < 0)
        return;
    int rc = sy_tcp_watch_change(&lane->watch, (blocked ? EPOLLOUT : 0u) | (unread ? 0u : EPOLLIN));
    if (rc)
        lane->tcp->host->lost(lane->pe, -rc, TCP_UNWATCHED);
}

/* A few bytes are put together first: one buffer costs the kernel less than a list of them. */
static ssize_t send_parts(int fd, const struct tcp_out *out)
{
    struct msghdr message = {.msg_iov = (struct iovec *)out->part + out->first,
                             .msg_iovlen = (size_t)(out->count - out->first)};
    char small[SMALL_BYTES], *end = small;

    if (out->left > sizeof small)
        return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (int i = out->first; i < out->count; i++)
        end = mempcpy(end, out->part[i].iov_base, out->part[i].iov_len);
    return send(fd, small, out->left, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_all(struct tcp_lane *lane)
{
    struct tcp_out *out = &lane->out;
    bool any = false;

    while (lane->watch.fd >= 0 && (out->left || send_prepare(lane))) {
        any = true;
        ssize_t sent = send_parts(lane->watch.fd, out);
        if (sent >= 0) {
            send_advance(lane, (size_t)sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
            atomic_store_explicit(&lane->blocked, true, memory_order_relaxed);
            sy_tcp_send_watch(lane);
            break;
        } else if (errno != EINTR) {
            /* Whoever polls finds the socket closed, and deals with it. */
            shutdown(lane->watch.fd, SHUT_RDWR);
            break;
        }
    }
    if (!any)
        return;
    sy_flush_sent(&lane->flush, sy_tcp_now());
    sy_tcp_idle_moved(lane->tcp);
}

static bool send_try_lock(struct tcp_lane *lane)
{
    return !atomic_load_explicit(&lane->send, memory_order_seq_cst) &&
           !atomic_exchange_explicit(&lane->send, true, memory_order_acquire);
}

void sy_tcp_send_lock(struct tcp_lane *lane)
{
    while (!send_try_lock(lane))
        sched_yield();
}

static void unlock(struct tcp_lane *lane)
{
    atomic_store_explicit(&lane->send, false, memory_order_seq_cst);
}

/* `again` is set by whoever could not take the lock, before a second attempt; every holder looks at
 * it after letting go. One of the two therefore sends what was appended last. */
void sy_tcp_send(struct tcp_lane *lane)
{
    if (!send_try_lock(lane)) {
        atomic_store_explicit(&lane->again, true, memory_order_seq_cst);
        if (!send_try_lock(lane))
            return;
    }
    do {
        atomic_exchange_explicit(&lane->again, false, memory_order_seq_cst);
        if (!atomic_load_explicit(&lane->blocked, memory_order_relaxed))
            send_all(lane);
        unlock(lane);
    } while (atomic_load_explicit(&lane->again, memory_order_seq_cst) && send_try_lock(lane));
}

void sy_tcp_send_unlock(struct tcp_lane *lane)
{
    unlock(lane);
    if (atomic_load_explicit(&lane->again, memory_order_seq_cst))
        sy_tcp_send(lane);
}

bool sy_tcp_send_attend(struct tcp_lane *lane, int threads)
{
    if (threads < 0)
        sy_tcp_send_lock(lane);
    else if (!send_try_lock(lane))
        return false;
    lane->attended += threads;
    sy_tcp_send_watch(lane);
    sy_tcp_send_unlock(lane);
    return true;
}

void sy_tcp_send_ask(struct tcp_lane *lane, uint64_t position)
{
    uint64_t before = atomic_load_explicit(&lane->ask, memory_order_relaxed);

    while (before < position &&
           !atomic_compare_exchange_weak_explicit(&lane->ask, &before, position,
                                                  memory_order_relaxed, memory_order_relaxed))
        ;
}

/* Nanoseconds that requests may be gathered for. */
static uint64_t send_delay(const struct tcp_lane *lane)
{
    return (uint64_t)lane->tcp->settings.flush_delay * 1000;
}

/* The producer decides by `sent`, without a fence, whether what it appends is the first of a
 * gathering that has to be entered in `dirty`. A thread that sends in the producer's place may at
 * that moment miss the one's tail while the other misses its `sent`. So this thread looks once
 * more, some time later, when either has long become visible. */
static void send_gathered(struct tcp_lane *lane)
{
    bool stranger = !sy_tcp_lane_is_mine(lane);
    uint64_t before = sy_tcp_log_sent(&lane->log[TCP_REQUESTS]);

    sy_tcp_run_flush(lane);
    sy_tcp_send(lane);
    uint64_t sent = sy_tcp_log_sent(&lane->log[TCP_REQUESTS]) - before;
    if (!stranger || !sent)
        return;
    sy_flush_taken(&lane->flush, sent, send_delay(lane));
    sy_tcp_send_mark(lane, true);
}

void sy_tcp_send_mark(struct tcp_lane *lane, bool patient)
{
    struct tcp *tcp = lane->tcp;

    atomic_fetch_or_explicit(&tcp->lanes.dirty[lane->slot / 64], UINT64_C(1) << lane->slot % 64,
                             memory_order_release);
    tcp->host->soon(sy_flush_delay((unsigned)tcp->settings.flush_delay, patient));
}

void sy_tcp_send_dirty(struct tcp *tcp, bool due)
{
    unsigned count = atomic_load_explicit(&tcp->lanes.count, memory_order_acquire);

    for (unsigned word = 0; word * 64 < count; word++) {
        if (!atomic_load_explicit(&tcp->lanes.dirty[word], memory_order_seq_cst))
            continue;
        uint64_t bits = atomic_exchange_explicit(&tcp->lanes.dirty[word], 0, memory_order_acquire);
        for (; bits; bits &= bits - 1) {
            struct tcp_lane *lane = tcp->lanes.lane[word * 64 + (unsigned)__builtin_ctzll(bits)];
            if (due && !sy_flush_is_due(&lane->flush, sy_tcp_now(), send_delay(lane)))
                sy_tcp_send_mark(lane, false);
            else
                send_gathered(lane);
        }
    }
}

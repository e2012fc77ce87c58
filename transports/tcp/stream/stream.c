/* Connections of a stream come and go. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transports/tcp/stream/stream.h"

/* Bytes of the requests' ring at first: twice what is applied before it is acknowledged unasked. */
#define FIRST_RING ((size_t)256 << 10)

static void stream_set_state(struct tcp_stream *stream, int value)
{
    atomic_store_explicit(&stream->state, value, memory_order_release);
}

int sy_tcp_stream_init(struct tcp_stream *stream, struct tcp_streams *all, int pe, unsigned number,
                       struct sy_tx *requests, struct sy_tx *replies, size_t buffer)
{
    stream->all = all;
    stream->pe = pe;
    stream->number = number;
    stream->watch.fd = -1;
    stream->watch.owner = stream;
    int rc = sy_tcp_queue_open(&stream->queue[TCP_REQUESTS], requests, FIRST_RING, buffer);
    if (!rc && (rc = sy_tcp_queue_open(&stream->queue[TCP_REPLIES], replies, buffer, buffer)))
        sy_tcp_queue_close(&stream->queue[TCP_REQUESTS]);
    return rc;
}

bool sy_tcp_stream_want(struct tcp_stream *stream)
{
    int new = TCP_STREAM_NEW;

    return atomic_compare_exchange_strong(&stream->state, &new, TCP_STREAM_WANTED);
}

bool sy_tcp_stream_begin(struct tcp_stream *stream)
{
    int wanted = TCP_STREAM_WANTED;

    if (!atomic_compare_exchange_strong(&stream->state, &wanted, TCP_STREAM_DOWN))
        return false;
    stream->connector = true;
    return true;
}

void sy_tcp_stream_end(struct tcp_stream *stream)
{
    stream_set_state(stream, TCP_STREAM_OVER);
}

static void stream_on_socket(struct tcp_watch *watch, uint32_t events)
{
    struct tcp_stream *stream = watch->owner;

    if (events & EPOLLOUT) { /* unlocking and sending are fences before the tail is read */
        sy_tcp_send_lock(stream);
        atomic_store_explicit(&stream->queue[TCP_REQUESTS].tx->blocked, false,
                              memory_order_relaxed);
        sy_tcp_send_watch(stream);
        sy_tcp_send_unlock(stream);
        sy_tcp_send(stream);
    }
    if (events & ~(uint32_t)EPOLLOUT)
        stream->all->user->readable(stream);
}

/* Ends the connection, not the stream: what has not been applied stays in the send queues. */
static void stream_drop(struct tcp_stream *stream)
{
    sy_tcp_send_lock(stream);
    if (stream->watch.fd >= 0) {
        sy_tcp_watch_remove(&stream->watch);
        close(stream->watch.fd);
        stream->watch.fd = -1;
        stream->all->user->closed(stream);
    }
    if (atomic_load_explicit(&stream->paused, memory_order_relaxed))
        atomic_fetch_sub_explicit(&stream->all->paused, 1, memory_order_relaxed);
    sy_tcp_receive_reset(stream);
    stream->out.left = 0;
    atomic_store_explicit(&stream->queue[TCP_REQUESTS].tx->blocked, false, memory_order_relaxed);
    atomic_store_explicit(&stream->paused, false, memory_order_relaxed);
    sy_tcp_send_unlock(stream);
}

void sy_tcp_stream_close(struct tcp_stream *stream)
{
    stream_drop(stream);
    sy_tcp_queue_close(&stream->queue[TCP_REQUESTS]);
    sy_tcp_queue_close(&stream->queue[TCP_REPLIES]);
}

struct tcp_positions sy_tcp_stream_freeze(struct tcp_stream *stream, int fd)
{
    stream->all->user->down(stream, NULL);
    stream_drop(stream);
    stream_set_state(stream, TCP_STREAM_DOWN);
    return (struct tcp_positions){
        .requests = atomic_load_explicit(&stream->applied[TCP_REQUESTS], memory_order_relaxed),
        .replies = atomic_load_explicit(&stream->applied[TCP_REPLIES], memory_order_relaxed),
        .udp_port = stream->all->user->udp_port(stream, fd)};
}

/* Makes replies again that the last connection had and this one needs. */
static int stream_recall(struct tcp_stream *stream)
{
    struct tcp_queue *queue = &stream->queue[TCP_REPLIES];
    struct tcp_segment *segment;

    while ((segment = sy_tcp_queue_lacking(queue))) {
        segment->data = segment->copy = sy_tcp_queue_copy(queue, segment->length);
        if (!segment->copy)
            return -ENOMEM;
        if (!stream->all->user->again(stream, segment->source, segment->copy, segment->length))
            return -ENODEV;
        sy_count(&stream->all->counters->replies_recalled, 1);
    }
    return 0;
}

/* Goes on with the stream where the other side has got to. 0; -EPROTO: its position is impossible;
 * or -errno. Under both locks. */
static int stream_go_on(struct tcp_stream *stream, int fd, const struct tcp_positions *peer)
{
    if (!sy_tcp_queue_resume(&stream->queue[TCP_REQUESTS], peer->requests) ||
        !sy_tcp_queue_resume(&stream->queue[TCP_REPLIES], peer->replies))
        return -EPROTO;
    int rc = stream_recall(stream);
    if (rc)
        return rc;
    stream->watch.fd = fd;
    stream->watch.event = stream_on_socket;
    rc = sy_tcp_watch_add(stream->all->set, &stream->watch, EPOLLIN);
    if (rc)
        stream->watch.fd = -1;
    return rc;
}

void sy_tcp_stream_adopt(struct tcp_stream *stream, int fd, const struct tcp_positions *peer,
                         const unsigned char keys[32], bool connector)
{
    stream_drop(stream);
    sy_tcp_send_lock(stream);
    int rc = stream_go_on(stream, fd, peer);
    if (!rc) {
        stream->connector = connector;
        stream->asked = 0;
        stream->first_sent = false;
        atomic_store(&stream->handed[TCP_REQUESTS], peer->requests);
        atomic_store(&stream->handed[TCP_REPLIES], peer->replies);
        atomic_store_explicit(&stream->bye, stream->all->farewell, memory_order_relaxed);
        if (stream->all->first_frame)
            atomic_store_explicit(&stream->ack_due, true, memory_order_relaxed);
        stream->all->user->up(stream, peer, keys);
        stream_set_state(stream, TCP_STREAM_UP);
    }
    sy_tcp_send_unlock(stream);
    if (!rc) {
        sy_tcp_send(stream);
        return;
    }
    close(fd);
    stream->all->host->lost(
        stream->pe, -rc,
        rc == -ENOMEM   ? "there is no memory to go on with its connection"
        : rc == -ENODEV ? "the memory of a reply that it has not got is gone"
        : rc != -EPROTO ? TCP_UNWATCHED
                        : "its record of what has been sent does not fit this PE's; one of the two "
                          "has started anew, or two versions of the library meet");
}

void sy_tcp_stream_broken(struct tcp_stream *stream, const char *why)
{
    bool over = stream->in.bye;

    stream->all->user->down(stream, over ? NULL : why);
    stream_drop(stream);
    stream_set_state(stream, over ? TCP_STREAM_OVER : TCP_STREAM_DOWN);
}

const char sy_tcp_no_memory[] = "this PE has no memory for what it sends";

void sy_tcp_stream_breached(struct tcp_stream *stream, const char *why)
{
    bool memory = why == sy_tcp_no_memory;
    char text[256];

    stream_drop(stream);
    stream_set_state(stream, TCP_STREAM_OVER);
    snprintf(
        text, sizeof text, "%s%s",
        memory ? "" : "its connection carries what no PE of this library's version sends: ", why);
    stream->all->host->lost(stream->pe, memory ? ENOMEM : EPROTO, text);
}

void sy_tcp_stream_tell(struct tcp_stream *stream)
{
    atomic_store_explicit(&stream->ack_due, true, memory_order_release);
    sy_tcp_send(stream);
}

void sy_tcp_stream_bye(struct tcp_stream *stream)
{
    atomic_store_explicit(&stream->bye, true, memory_order_relaxed);
    sy_tcp_send(stream);
}

bool sy_tcp_stream_settled(const struct tcp_stream *stream)
{
    int state = sy_tcp_stream_state(stream);
    bool all = true;

    for (int c = 0; c < 2; c++)
        all = all && sy_tx_applied(stream->queue[c].tx) == sy_tx_tail(stream->queue[c].tx);
    return all || state == TCP_STREAM_OVER || state == TCP_STREAM_NEW;
}

/* A connection that is down is made once more: the other side may wait for a word that got lost. */
bool sy_tcp_stream_has_left(const struct tcp_stream *stream)
{
    int state = sy_tcp_stream_state(stream);

    return state == TCP_STREAM_OVER || state == TCP_STREAM_NEW || stream->in.bye;
}

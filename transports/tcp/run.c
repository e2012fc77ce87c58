/* Runs: element puts to consecutive places become one record, 8 bytes each on the wire instead
 * of 16.
 *
 * A run begins with an element that continues the one before it while something is gathered on the
 * stream anyway, so a run delays nothing that would have left at once. Its bytes are in the ring
 * behind the tail, and nobody sends them before they are committed: by the producer when it appends
 * something else or the run is full, or by the thread that flushes, which keeps the producer out
 * meanwhile (producer.c). */
#include "transports/tcp/issue.h"

static bool is_open(const struct tcp_stream *stream)
{
    return atomic_load_explicit(&stream->run, memory_order_acquire);
}

void sy_tcp_run_close(struct tcp_stream *stream)
{
    struct tcp_queue *queue = &stream->queue[TCP_REQUESTS];
    uint64_t word[2] = {stream->run_header, stream->run_bytes};

    if (!is_open(stream))
        return;
    char *room = sy_tcp_queue_at(queue, queue->ring_tail);
    memset(room + 16 + stream->run_bytes, 0,
           sy_record_padded(stream->run_bytes) - stream->run_bytes);
    memcpy(room, word, sizeof word);
    sy_tcp_queue_commit(queue, 16 + sy_record_padded(stream->run_bytes));
    atomic_store_explicit(&stream->run, false, memory_order_release);
}

void sy_tcp_run_flush(struct tcp_stream *stream)
{
    if (!is_open(stream))
        return;
    if (sy_tcp_stream_is_mine(stream)) {
        sy_tcp_issue_lock(stream);
        sy_tcp_run_close(stream);
        sy_tcp_issue_end(stream);
    } else if (sy_tcp_producer_stop(stream)) {
        sy_tcp_run_close(stream);
        sy_tcp_producer_go(stream);
    } else {
        sy_tcp_send_mark(stream, true);
    }
}

/* Whether a run may begin: something waits to be sent, and the longest run has room. */
static bool tcp_run_may_begin(struct tcp_stream *stream)
{
    struct tcp_queue *queue = &stream->queue[TCP_REQUESTS];

    return sy_tcp_queue_tail(queue) > sy_tcp_queue_sent(queue) &&
           sy_tcp_queue_reserve(queue, 16 + SY_RECORD_LONG);
}

bool sy_tcp_run_put(struct sy_transport_ctx *ctx, struct tcp_stream *stream, const void *from,
                    unsigned code)
{
    struct tcp_queue *queue = &stream->queue[TCP_REQUESTS];
    size_t size = (size_t)1 << code;

    bool begin = !is_open(stream);
    if (begin && !tcp_run_may_begin(stream))
        return false;
    if (begin) {
        stream->run_header = sy_record_as(stream->next, SY_RECORD_PUT_LONG, 0);
        stream->run_bytes = 0;
        atomic_store_explicit(&stream->producer, pthread_self(), memory_order_relaxed);
        atomic_store_explicit(&stream->run, true, memory_order_relaxed);
    }
    char *to = sy_tcp_queue_at(queue, queue->ring_tail) + 16 + stream->run_bytes;
    if (SY_LIKELY(size == 8)) /* one load and one store */
        memcpy(to, from, 8);
    else
        memcpy(to, from, size);
    stream->run_bytes += size;
    stream->next = sy_record_behind(stream->next, size);
    sy_tcp_issue_mark(ctx, stream,
                      sy_tcp_queue_tail(queue) + 16 + sy_record_padded(stream->run_bytes));
    if (!atomic_load_explicit(&ctx->dirty, memory_order_relaxed))
        atomic_store_explicit(&ctx->dirty, true, memory_order_release);
    if (stream->run_bytes == SY_RECORD_LONG)
        sy_tcp_run_close(stream);
    sy_tcp_issue_end(stream);
    if (begin)
        sy_tcp_send_mark(stream, true);
    else if (sy_tcp_queue_tail(queue) - sy_tcp_queue_sent(queue) >= stream->flush_bytes &&
             !atomic_load_explicit(&stream->blocked, memory_order_relaxed))
        sy_tcp_send(stream);
    return true;
}

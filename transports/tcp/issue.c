/* See issue.h: the paths that are taken once in a while. */
#include <pthread.h>
#include <stdlib.h>

#include "transports/tcp/issue.h"

struct tcp_mark *sy_tcp_issue_marks(struct tcp *tcp, struct sy_transport_ctx *ctx)
{
    struct tcp_mark *made = calloc(tcp->streams.limit, sizeof *made), *before = NULL;

    if (made && !atomic_compare_exchange_strong(&ctx->mark, &before, made)) {
        free(made);
        return before;
    }
    return made;
}

struct tcp_stream *sy_tcp_issue_route(struct tcp *tcp, int pe)
{
    struct tcp_route *route = &tcp->routes[pe];
    int end = sy_tcp_endpoint(tcp, pe);
    struct tcp_stream *stream = sy_tcp_stream_open(tcp, end, 0);

    if (!stream)
        return NULL;
    unsigned target = SY_RECORD_TARGET_SELF;
    if (end != pe) {
        /* The first frame tells whether that process can apply operations for its neighbours. */
        if (!atomic_load_explicit(&stream->heard, memory_order_acquire))
            return NULL;
        if (atomic_load_explicit(&stream->serves_node, memory_order_relaxed))
            target = (unsigned)tcp->host->place(pe).local;
        else
            stream = sy_tcp_stream_open(tcp, pe, 0);
    }
    if (!stream)
        return NULL;
    /* Other threads may be at it too, and find the same. */
    atomic_store_explicit(&route->target, target, memory_order_relaxed);
    atomic_store_explicit(&route->stream, stream, memory_order_release);
    return stream;
}

void sy_tcp_issue_first(struct sy_transport_ctx *ctx, struct tcp_stream *stream, uint64_t tail,
                        size_t bytes)
{
    enum sy_flush_when when = sy_flush_first(&stream->flush, sy_tcp_now(), tail - bytes, tail,
                                             ctx->batch);

    if (when == SY_FLUSH_ALONE_ACK)
        sy_tcp_send_ask(stream, tail);
    if (when == SY_FLUSH_ALONE_ACK || when == SY_FLUSH_ALONE) {
        sy_tcp_send(stream);
        return;
    }
    atomic_store_explicit(&stream->producer, pthread_self(), memory_order_relaxed);
    sy_tcp_send_mark(stream, when == SY_FLUSH_LATE);
}

/* After a rest the reply would wake the progress thread too, which the kernel often runs on the
 * processor of the thread that is polling for the reply. */
void sy_tcp_issue_ask(struct sy_transport_ctx *ctx, struct tcp_stream *stream, uint64_t tail,
                      size_t bytes, uint64_t wanted)
{
    bool attends = sy_tcp_poll_may_sleep(stream->tcp) && !stream->tcp->host->crowded &&
                   !stream->tcp->host->threads &&
                   sy_flush_has_rested(&stream->flush, sy_tcp_now()) &&
                   sy_tcp_send_attend(stream, 1);

    sy_tcp_issue_done(ctx, stream, tail, bytes, true);
    sy_tcp_issue_wait(stream, wanted);
    if (attends)
        sy_tcp_send_attend(stream, -1);
}

/* The first rest, which comes early, also tells the progress thread that this thread polls. */
void sy_tcp_issue_wait(struct tcp_stream *stream, uint64_t wanted)
{
    uint64_t since = 0;

    for (unsigned turn = 0; sy_pending_answered(&stream->pending) < wanted; turn++)
        if (sy_tcp_poll_stream(stream->tcp, stream) <= 0 && turn % 8 == 0)
            stream->tcp->host->rest(&since);
}

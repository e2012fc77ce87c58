/* Contexts, and what orders and completes their operations.
 *
 * A stream applies requests in the order in which they were appended, whatever context they came
 * from, so a fence has nothing to do. A quiet asks every stream that the context has used how far
 * it is, all at once, and is over when each has got to the context's mark: one round trip; none
 * where nothing is pending. */
#include <errno.h>
#include <stdlib.h>

#include "transports/tcp/calls.h"
#include "transports/tcp/issue.h"

int sy_tcp_ctx_open(void *self, long options, struct sy_transport_ctx **ctx, struct sy_error *err)
{
    struct tcp *tcp = self;
    (void)options;
    *ctx = calloc(1, sizeof **ctx);
    return *ctx ? 0 : tcp->host->fail(err, ENOMEM, "no memory for a context");
}

void sy_tcp_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
    (void)self;
    if (ctx)
        free(ctx->mark);
    free(ctx);
}

int sy_tcp_fence(void *self, struct sy_transport_ctx *ctx)
{
    struct tcp *tcp = self;
    (void)ctx; /* a stream does not know which context its records came from */
    if (!atomic_load_explicit(&tcp->streams.striped, memory_order_acquire))
        return 0;
    unsigned count = atomic_load_explicit(&tcp->streams.count, memory_order_acquire);
    for (unsigned i = 0; i < count; i++)
        if (!tcp->streams.stream[i]->number)
            sy_tcp_large_fence(tcp->streams.stream[i]);
    return 0;
}

/* Whether a mark has been reached; sends what is missing for it. */
static bool order_reached(struct tcp_stream *stream, const struct tcp_mark *mark)
{
    uint64_t position = atomic_load_explicit(&mark->position, memory_order_relaxed);
    uint64_t wanted = atomic_load_explicit(&mark->wanted, memory_order_relaxed);
    bool applied = sy_tcp_queue_acked(&stream->queue[TCP_REQUESTS]) >= position;
    bool answered = sy_pending_answered(&stream->pending) >= wanted;

    if (applied && answered)
        return true;
    /* Replies prove that the requests before them have been applied only where the last was one; so
     * the acknowledgement is asked for in any case. */
    sy_tcp_run_flush(stream);
    sy_tcp_send_ask(stream, position);
    if (!atomic_load_explicit(&stream->blocked, memory_order_relaxed))
        sy_tcp_send(stream);
    sy_flush_quiet(&stream->flush);
    return false;
}

int sy_tcp_quiet(void *self, struct sy_transport_ctx *ctx, int pe)
{
    struct tcp *tcp = self;
    struct tcp_mark *mark = atomic_load_explicit(&ctx->mark, memory_order_acquire);
    bool all = true;

    if (!mark || !atomic_load_explicit(&ctx->dirty, memory_order_acquire))
        return 0;
    /* Another thread's quiet must not find it clear before this one is over. */
    if (pe == SY_ALL_PES && !tcp->host->threads)
        atomic_store_explicit(&ctx->dirty, false, memory_order_seq_cst);
    unsigned count = atomic_load_explicit(&tcp->streams.count, memory_order_acquire);
    struct tcp_stream *only = pe == SY_ALL_PES ? NULL : atomic_load(&tcp->routes[pe].stream);
    if (pe != SY_ALL_PES && !only)
        return 0;
    for (unsigned i = 0; i < count; i++) {
        struct tcp_stream *stream = tcp->streams.stream[i];
        if (!only || stream->pe == only->pe)
            all = order_reached(stream, &mark[i]) && all;
    }
    if (!all && pe == SY_ALL_PES)
        atomic_store_explicit(&ctx->dirty, true, memory_order_relaxed);
    return all ? 0 : -EAGAIN;
}

void sy_tcp_session(void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations)
{
    (void)self;
    ctx->batch = batch && operations;
}

/* Appending requests to a stream and having them leave. For the files with the data calls.
 * engine/flush.h says when. */
#ifndef TCP_ISSUE_H
#define TCP_ISSUE_H

#include <sched.h>
#include <string.h>

#include "engine/rma.h"
#include "transports/tcp/tcp.h"

/* How far a context has got on a stream. */
struct tcp_mark {
    _Atomic uint64_t position; /* requests appended */
    _Atomic uint64_t wanted;   /* replies asked for */
};

/* A context: written by the threads that use it, a stream's mark under the stream's append lock. A
 * quiet reads the marks without it: what is to be complete happened before it, and operations of
 * other threads meanwhile are the next quiet's. */
struct sy_transport_ctx {
    _Atomic bool dirty;            /* some mark may not have been reached */
    bool batch;                    /* operations may be gathered for longer */
    struct tcp_mark *_Atomic mark; /* one for each possible stream; made with the first operation */
};

/* Finds the stream to PE pe; NULL: it is not known yet which, or no memory; try again after
 * progress.
 */
struct tcp_stream *sy_tcp_issue_route(struct tcp *tcp, int pe);

/* The context's marks, made now. NULL: no memory. */
struct tcp_mark *sy_tcp_issue_marks(struct tcp *tcp, struct sy_transport_ctx *ctx);

/* The first request has been gathered on a stream: sends it if the stream is idle, otherwise sees
 * to it that it leaves in time. */
void sy_tcp_issue_first(struct sy_transport_ctx *ctx, struct tcp_stream *stream, uint64_t tail,
                        size_t bytes);

/* Waits until the reply number `wanted` of a stream has arrived. */
void sy_tcp_issue_wait(struct tcp_stream *stream, uint64_t wanted);

/* Puts an element behind the one before it, into a run (run.c); false: there is none and none is
 * begun. `stream` is entered, and left where that has been done. */
bool sy_tcp_run_put(struct sy_transport_ctx *ctx, struct tcp_stream *stream, const void *from,
                    unsigned code);

/* Makes this thread the producer of the streams to a process; `stream` is stream 0. */
static inline void sy_tcp_issue_lock(struct tcp_stream *stream)
{
    if (SY_UNLIKELY(stream->locked)) {
        while (atomic_exchange_explicit(&stream->append, true, memory_order_acquire))
            sched_yield();
        return;
    }
    for (;;) {
        atomic_store_explicit(&stream->producing, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* producer.c makes it one for the processor */
        if (SY_LIKELY(!atomic_load_explicit(&stream->append, memory_order_acquire)))
            return;
        sy_tcp_producer_wait(stream);
    }
}

/* As begin, but a run stays open. */
static inline struct tcp_stream *sy_tcp_issue_enter(struct tcp *tcp, struct sy_transport_ctx *ctx,
                                                    int pe)
{
    struct tcp_stream *stream = atomic_load_explicit(&tcp->routes[pe].stream, memory_order_acquire);

    if (SY_UNLIKELY(!stream) && !(stream = sy_tcp_issue_route(tcp, pe)))
        return NULL;
    if (SY_UNLIKELY(!atomic_load_explicit(&ctx->mark, memory_order_acquire)) &&
        !sy_tcp_issue_marks(tcp, ctx))
        return NULL;
    sy_tcp_issue_lock(stream);
    return stream;
}

/* The stream to a PE, ready for appending, as are the further streams to the same process; NULL:
 * answer -EAGAIN. */
static inline struct tcp_stream *sy_tcp_issue_begin(struct tcp *tcp, struct sy_transport_ctx *ctx,
                                                    int pe)
{
    struct tcp_stream *stream = sy_tcp_issue_enter(tcp, ctx, pe);

    if (SY_LIKELY(stream) && SY_UNLIKELY(atomic_load_explicit(&stream->run, memory_order_acquire)))
        sy_tcp_run_close(stream);
    return stream;
}

/* Ends what begin began, with nothing more appended. */
static inline void sy_tcp_issue_end(struct tcp_stream *stream)
{
    if (SY_UNLIKELY(stream->locked)) {
        atomic_store_explicit(&stream->append, false, memory_order_release);
        atomic_thread_fence(
            memory_order_seq_cst); /* the sender sees the tail, or this thread its `sent` */
        return;
    }
    atomic_store_explicit(&stream->producing, false, memory_order_release);
}

/* The header of a record for PE pe. */
static inline uint64_t sy_tcp_issue_header(struct tcp *tcp, unsigned op, unsigned code, int pe,
                                           unsigned window, uint64_t offset)
{
    unsigned target = atomic_load_explicit(&tcp->routes[pe].target, memory_order_relaxed);

    return sy_record(op, code, target, window, offset);
}

/* Room in the ring for a record; NULL: none, and begin is undone. */
static inline char *sy_tcp_issue_room(struct tcp_stream *stream, size_t bytes)
{
    char *room = sy_tcp_queue_reserve(&stream->queue[TCP_REQUESTS], bytes);

    if (SY_UNLIKELY(!room))
        sy_tcp_issue_end(stream);
    return room;
}

static inline struct tcp_mark *sy_tcp_issue_mark_of(struct sy_transport_ctx *ctx,
                                                    const struct tcp_stream *stream)
{
    return atomic_load_explicit(&ctx->mark, memory_order_relaxed) + stream->slot;
}

/* Moves the context's mark on a stream on to the end of its last request. Between begin and end. */
static inline void sy_tcp_issue_mark(struct sy_transport_ctx *ctx, const struct tcp_stream *stream,
                                     uint64_t tail)
{
    atomic_store_explicit(&sy_tcp_issue_mark_of(ctx, stream)->position, tail, memory_order_relaxed);
}

/* Marks what the context has issued; ends the append; sends by the rules above. `bytes` were
 * appended up to `tail`; now: at once. */
static inline void sy_tcp_issue_done(struct sy_transport_ctx *ctx, struct tcp_stream *stream,
                                     uint64_t tail, size_t bytes, bool now)
{
    sy_tcp_issue_mark(ctx, stream, tail);
    if (!atomic_load_explicit(&ctx->dirty, memory_order_relaxed))
        atomic_store_explicit(&ctx->dirty, true, memory_order_release);
    sy_tcp_issue_end(stream);
    uint64_t waiting = tail - sy_tcp_queue_sent(&stream->queue[TCP_REQUESTS]);
    switch (sy_flush_appended(waiting, bytes, now, stream->flush_bytes)) {
    case SY_FLUSH_GATHER:
        break;
    case SY_FLUSH_FIRST:
        sy_tcp_issue_first(ctx, stream, tail, bytes);
        break;
    default:
        /* Somebody waits for what is to leave now, and an old `blocked` would strand it. */
        if (now || !atomic_load_explicit(&stream->blocked, memory_order_relaxed))
            sy_tcp_send(stream);
    }
}

/* The same for a request that is to be answered with reply number `wanted`, which this thread waits
 * for. */
void sy_tcp_issue_ask(struct sy_transport_ctx *ctx, struct tcp_stream *stream, uint64_t tail,
                      size_t bytes, uint64_t wanted);

/* Room for a request that has a reply, which goes to `dest` and will be number *wanted; NULL: none,
 * and begin is undone. */
static inline char *sy_tcp_issue_asking(struct sy_transport_ctx *ctx, struct tcp_stream *stream,
                                        size_t bytes, void *dest, size_t length, bool strided,
                                        uint64_t *wanted)
{
    char *room = sy_tcp_queue_reserve(&stream->queue[TCP_REQUESTS], bytes);

    *wanted = room ? sy_pending_enter(&stream->pending, dest, length, strided) : 0;
    if (SY_UNLIKELY(!*wanted)) {
        sy_tcp_issue_end(stream);
        return NULL;
    }
    atomic_store_explicit(&sy_tcp_issue_mark_of(ctx, stream)->wanted, *wanted,
                          memory_order_relaxed);
    return room;
}

#endif

/* Appending requests to a stream and sending them; flush.h says when they leave. For the engine's
 * calls, and for those of a transport that appends records of its own.
 *
 * A call is begin (this thread is the producer now), room, writing the record, commit. */
#ifndef SY_ENGINE_ISSUE_H
#define SY_ENGINE_ISSUE_H

#include <string.h>

#include "engine/engine.h"
#include "engine/request.h"

/* The slow paths of enter. */
struct sy_engine_peer *sy_engine_route(struct sy_engine *engine, int pe) SY_COLD;
struct sy_engine_mark *sy_engine_make_marks(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                                            int pe) SY_COLD;

/* The first request has been gathered on a stream: sends it if the stream is idle, otherwise makes
 * sure that it leaves in time. */
void sy_engine_first(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer, uint64_t tail,
                     size_t bytes);

/* Waits until the reply number `wanted` has come. */
void sy_engine_wait(struct sy_engine_peer *peer, uint64_t wanted);

/* Progress while this thread waits for room, or for what it has sent to be applied. */
void sy_engine_pass_time(struct sy_engine_peer *peer, uint64_t *since);

/* Joins an element to the record before it; false: it does not continue that. `peer` is entered,
 * and is left if the element has been joined. combine.c */
bool sy_combine_put(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer, const void *from,
                    unsigned code);

/* Commits the joined record. By the producer, or while the producer is kept out. */
void sy_combine_close(struct sy_engine_peer *peer);

/* Commits the joined record for a thread that is about to send, any thread. If the producer is at
 * work the record stays open, and a later send looks at it again. */
void sy_combine_flush(struct sy_engine_peer *peer);

static inline bool sy_combine_is_open(const struct sy_engine_peer *peer)
{
    return atomic_load_explicit(&peer->combine.open, memory_order_acquire);
}

/* As begin, but a record that is being joined stays open. */
SY_INLINE struct sy_engine_peer *sy_engine_enter(struct sy_engine *engine,
                                                 struct sy_engine_ctx *ctx, int pe)
{
    struct sy_engine_peer *peer = atomic_load_explicit(&engine->routes[pe].peer,
                                                       memory_order_acquire);

    if (SY_UNLIKELY(!peer) && !(peer = sy_engine_route(engine, pe)))
        return NULL;
    if (SY_UNLIKELY(!atomic_load_explicit(&ctx->mark, memory_order_acquire)) &&
        !sy_engine_make_marks(engine, ctx, pe))
        return NULL;
    sy_producer_lock(&peer->producer);
    return peer;
}

/* The stream to a PE, ready for appending; NULL: answer -EAGAIN. */
SY_INLINE struct sy_engine_peer *sy_engine_begin(struct sy_engine *engine,
                                                 struct sy_engine_ctx *ctx, int pe)
{
    struct sy_engine_peer *peer = sy_engine_enter(engine, ctx, pe);

    if (SY_LIKELY(peer) && SY_UNLIKELY(sy_combine_is_open(peer)))
        sy_combine_close(peer);
    return peer;
}

/* Ends what begin began, with nothing more appended. */
SY_INLINE void sy_engine_end(struct sy_engine_peer *peer)
{
    sy_producer_unlock(&peer->producer);
}

/* The header of a record for PE pe, whose stream is known, without an operation. */
SY_INLINE uint64_t sy_engine_place(const struct sy_engine *engine, int pe, unsigned window,
                                   uint64_t offset)
{
    unsigned target = atomic_load_explicit(&engine->routes[pe].target, memory_order_relaxed);

    return sy_record(0, 0, target, window, offset);
}

/* Room for a record; NULL: none, and begin is undone. */
SY_INLINE char *sy_engine_room(struct sy_engine_peer *peer, size_t bytes)
{
    if (SY_LIKELY(sy_tx_fits(&peer->tx, bytes)) || peer->engine->ops->room(peer, bytes))
        return peer->tx.at;
    sy_engine_end(peer);
    return NULL;
}

static inline struct sy_engine_mark *sy_engine_mark_of(struct sy_engine_ctx *ctx,
                                                       const struct sy_engine_peer *peer)
{
    return atomic_load_explicit(&ctx->mark, memory_order_relaxed) + peer->slot;
}

/* Moves the context's mark on a stream on to the end of its last request. Between begin and end. */
static inline void sy_engine_mark(struct sy_engine_ctx *ctx, const struct sy_engine_peer *peer,
                                  uint64_t tail)
{
    atomic_store_explicit(&sy_engine_mark_of(ctx, peer)->position, tail, memory_order_relaxed);
}

/* A mark has been moved. */
static inline void sy_engine_dirty(struct sy_engine_ctx *ctx)
{
    if (!atomic_load_explicit(&ctx->dirty, memory_order_relaxed))
        atomic_store_explicit(&ctx->dirty, true, memory_order_release);
}

/* Moves the context's mark, ends the append, and sends by the flush policy. `bytes` were appended
 * up to `tail`. now: send at once. */
SY_INLINE void sy_engine_done(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer, uint64_t tail,
                              size_t bytes, bool now)
{
    sy_engine_mark(ctx, peer, tail);
    sy_engine_dirty(ctx);
    sy_engine_end(peer);
    switch (sy_flush_appended(&peer->flush, tail - sy_tx_sent(&peer->tx), bytes, now)) {
    case SY_FLUSH_GATHER:
        break;
    case SY_FLUSH_FIRST:
        sy_engine_first(ctx, peer, tail, bytes);
        break;
    case SY_FLUSH_FULL:
        sy_flush_filled(&peer->flush);
        if (sy_tx_is_free(&peer->tx))
            peer->engine->ops->send(peer);
        break;
    default: /* a thread waits for this request: an outdated `blocked` must not hold it */
        peer->engine->ops->send(peer);
    }
}

/* Publishes a written record of `bytes` bytes, and ends the call. */
SY_INLINE void sy_engine_commit(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer,
                                size_t bytes, bool now)
{
    sy_engine_done(ctx, peer, sy_tx_commit(&peer->tx, bytes), bytes, now);
}

/* Publishes a request of `bytes` bytes and waits for its reply, number `wanted`. */
void sy_engine_commit_and_wait(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer, size_t bytes,
                               uint64_t wanted);

/* Room for a request that has a reply, which goes to `dest` and will be number *wanted; NULL: none,
 * and begin is undone. */
SY_INLINE char *sy_engine_asking_room(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer,
                                      size_t bytes, void *dest, size_t length,
                                      enum sy_pending_kind kind, uint64_t *wanted)
{
    char *room = sy_engine_room(peer, bytes);

    if (SY_UNLIKELY(!room))
        return NULL;
    *wanted = sy_pending_enter(&peer->pending, dest, length, kind);
    if (SY_UNLIKELY(!*wanted)) {
        sy_engine_end(peer);
        return NULL;
    }
    atomic_store_explicit(&sy_engine_mark_of(ctx, peer)->wanted, *wanted, memory_order_relaxed);
    return room;
}

#endif

/* Contexts, and what orders and completes their operations.
 *
 * A stream applies requests in the order in which they were appended, whatever context they came
 * from, so a fence has nothing to do for them. A quiet asks every stream that the context has used
 * how far it is, all at once, and is over when each has got to the context's mark: one round trip;
 * none where nothing is pending. */
#include <errno.h>
#include <stdlib.h>

#include "engine/issue.h"

int sy_engine_ctx_open(void *self, long options, struct sy_transport_ctx **ctx,
                       struct sy_error *err)
{
    struct sy_engine *engine = self;

    (void)options;
    *ctx = calloc(1, sizeof(struct sy_engine_ctx));
    return *ctx ? 0 : engine->host->fail(err, ENOMEM, "no memory for a context");
}

void sy_engine_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
    struct sy_engine_ctx *closed = (struct sy_engine_ctx *)ctx;

    (void)self;
    if (closed)
        free(closed->mark);
    free(closed);
}

int sy_engine_fence(void *self, struct sy_transport_ctx *ctx)
{
    struct sy_engine *engine = self;

    (void)ctx; /* a stream does not know which context its records came from */
    if (engine->ops->fence)
        engine->ops->fence(engine);
    return 0;
}

/* Whether a mark has been reached; sends what is missing for it. */
static bool order_reached(struct sy_engine_peer *peer, const struct sy_engine_mark *mark)
{
    uint64_t position = atomic_load_explicit(&mark->position, memory_order_relaxed);
    uint64_t wanted = atomic_load_explicit(&mark->wanted, memory_order_relaxed);

    if (sy_tx_applied(&peer->tx) >= position && sy_pending_answered(&peer->pending) >= wanted)
        return true;
    /* Replies prove that the requests before them have been applied only where the last was one; so
     * the acknowledgement is asked for in any case. */
    sy_combine_flush(peer);
    sy_tx_ask(&peer->tx, position);
    if (!atomic_load_explicit(&peer->tx.blocked, memory_order_relaxed))
        peer->engine->ops->send(peer);
    sy_flush_quiet(&peer->flush);
    return false;
}

int sy_engine_quiet(void *self, struct sy_transport_ctx *c, int pe)
{
    struct sy_engine *engine = self;
    struct sy_engine_ctx *ctx = (struct sy_engine_ctx *)c;
    struct sy_engine_mark *mark = atomic_load_explicit(&ctx->mark, memory_order_acquire);
    bool every = pe == SY_ALL_PES, all = true;

    if (!mark || !atomic_load_explicit(&ctx->dirty, memory_order_acquire))
        return 0;
    /* Another thread's quiet must not find it clear before this one is over. */
    if (every && !engine->host->threads)
        atomic_store_explicit(&ctx->dirty, false, memory_order_seq_cst);
    unsigned count = sy_engine_peers(engine);
    struct sy_engine_peer *only = every ? NULL : atomic_load(&engine->routes[pe].peer);
    if (!every && !only)
        return 0;
    for (unsigned i = 0; i < count; i++)
        if (every || engine->peer[i]->pe == only->pe)
            all = order_reached(engine->peer[i], &mark[i]) && all;
    if (!all && every)
        atomic_store_explicit(&ctx->dirty, true, memory_order_relaxed);
    return all ? 0 : -EAGAIN;
}

void sy_engine_session(void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations)
{
    (void)self;
    ((struct sy_engine_ctx *)ctx)->batch = batch && operations;
}

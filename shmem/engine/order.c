/* Contexts, and what orders and completes their operations.
 *
 * A stream applies requests in the order in which they were appended, whatever context they came
 * from, so a fence has nothing to do for them. A quiet asks every stream that the context has used
 * how far it is, all at once, and is over when each has got to the context's mark: one round trip;
 * none where nothing is pending. A ticket is a copy of the marks, so what is appended later does
 * not count. */
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

/* A position that a stream must reach. */
struct sy_engine_goal {
    struct sy_engine_peer *peer;
    uint64_t position, wanted;
};

static struct sy_engine_goal order_goal(struct sy_engine_peer *peer,
                                        const struct sy_engine_mark *mark)
{
    return (struct sy_engine_goal){peer,
                                   atomic_load_explicit(&mark->position, memory_order_relaxed),
                                   atomic_load_explicit(&mark->wanted, memory_order_relaxed)};
}

/* Whether a stream has reached a goal; if not, sends what is missing for it. */
static bool order_reached(const struct sy_engine_goal *goal)
{
    struct sy_engine_peer *peer = goal->peer;

    if (sy_tx_applied(&peer->tx) >= goal->position &&
        sy_pending_answered(&peer->pending) >= goal->wanted)
        return true;
    /* Replies prove that the requests before them have been applied only where the last was one; so
     * the acknowledgement is asked for in any case. */
    sy_combine_flush(peer);
    sy_tx_ask(&peer->tx, goal->position);
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
        if (every || engine->peer[i]->pe == only->pe) {
            struct sy_engine_goal goal = order_goal(engine->peer[i], &mark[i]);
            all = order_reached(&goal) && all;
        }
    if (!all && every)
        atomic_store_explicit(&ctx->dirty, true, memory_order_relaxed);
    return all ? 0 : -EAGAIN;
}

/* What is on the stream takes effect before what follows there, so only replies, and memory that is
 * still being sent from, are waited for. `lends` as `dirty` in a quiet. */
int sy_engine_flush_local(void *self, struct sy_transport_ctx *c, int pe)
{
    struct sy_engine *engine = self;
    struct sy_engine_ctx *ctx = (struct sy_engine_ctx *)c;
    const struct sy_engine_mark *mark = atomic_load_explicit(&ctx->mark, memory_order_acquire);
    bool lends = atomic_load_explicit(&ctx->lends, memory_order_acquire), all = true;
    unsigned count = mark ? sy_engine_peers(engine) : 0;

    sy_engine_fence(self, c);
    if (lends && !engine->host->threads)
        atomic_store_explicit(&ctx->lends, false, memory_order_seq_cst);
    for (unsigned i = 0; i < count; i++)
        if (engine->peer[i]->pe == pe) {
            struct sy_engine_goal goal = order_goal(engine->peer[i], &mark[i]);
            goal.position = lends ? goal.position : 0;
            all = order_reached(&goal) && all;
        }
    if (!all && lends)
        atomic_store_explicit(&ctx->lends, true, memory_order_relaxed);
    return all ? 0 : -EAGAIN;
}

/* ---- tickets: goals that are kept ---- */

struct sy_transport_ticket {
    unsigned count; /* of those that had not been reached when it was last asked */
    struct sy_engine_goal goal[];
};

/* Drops the goals that have been reached. */
static bool order_ticket_reached(struct sy_transport_ticket *ticket)
{
    unsigned left = 0;

    for (unsigned i = 0; i < ticket->count; i++)
        if (!order_reached(&ticket->goal[i]))
            ticket->goal[left++] = ticket->goal[i];
    ticket->count = left;
    return !left;
}

int sy_engine_ticket(void *self, struct sy_transport_ctx *c, int pe,
                     struct sy_transport_ticket **ticket)
{
    struct sy_engine *engine = self;
    struct sy_engine_ctx *ctx = (struct sy_engine_ctx *)c;
    const struct sy_engine_mark *mark = atomic_load_explicit(&ctx->mark, memory_order_acquire);
    const struct sy_engine_peer *only = NULL;

    *ticket = NULL;
    if (!mark || (pe != SY_ALL_PES && !(only = atomic_load(&engine->routes[pe].peer))))
        return 0;
    unsigned count = sy_engine_peers(engine);
    struct sy_transport_ticket *made = malloc(sizeof *made + count * sizeof made->goal[0]);
    if (!made)
        return -ENOMEM;
    made->count = 0;
    for (unsigned i = 0; i < count; i++)
        if (!only || engine->peer[i]->pe == only->pe)
            made->goal[made->count++] = order_goal(engine->peer[i], &mark[i]);
    if (order_ticket_reached(made))
        free(made);
    else
        *ticket = made;
    return 0;
}

int sy_engine_reached(void *self, struct sy_transport_ticket *ticket)
{
    (void)self;
    if (!order_ticket_reached(ticket))
        return -EAGAIN;
    free(ticket);
    return 0;
}

void sy_engine_session(void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations)
{
    (void)self;
    ((struct sy_engine_ctx *)ctx)->batch = batch && operations;
}

/* See engine.h and issue.h: opening, and the paths that are taken once in a while. */
#include <errno.h>
#include <stdlib.h>

#include "engine/issue.h"
#include "util/clock.h"

int sy_engine_open(struct sy_engine *engine, const struct sy_host *host,
                   const struct sy_engine_ops *ops, unsigned limit, size_t buffer,
                   unsigned flush_delay, struct sy_error *err)
{
    *engine = (struct sy_engine){.host = host,
                                 .ops = ops,
                                 .routes = calloc((size_t)host->npes, sizeof *engine->routes),
                                 .peer = calloc(limit, sizeof *engine->peer),
                                 .limit = limit,
                                 .flush_delay = flush_delay,
                                 .flush_bytes = sy_flush_limit(buffer),
                                 .locked = sy_producer_takes_locks(host->threads),
                                 .gathered = calloc(limit / 64 + 1, sizeof *engine->gathered)};
    if (!engine->routes || !engine->peer || !engine->gathered)
        return host->fail(err, ENOMEM, "no memory for a table of %u streams", limit);
    return 0;
}

void sy_engine_close(struct sy_engine *engine)
{
    free(engine->routes);
    free(engine->peer);
    free(engine->gathered);
    *engine = (struct sy_engine){0};
}

void sy_engine_add(struct sy_engine *engine, struct sy_engine_peer *peer, int pe)
{
    unsigned slot = atomic_load_explicit(&engine->peers, memory_order_relaxed);

    peer->engine = engine;
    peer->pe = pe;
    peer->slot = slot;
    sy_flush_start(&peer->flush, engine->flush_bytes);
    engine->peer[slot] = peer;
    atomic_store(&engine->peers, slot + 1);
    peer->producer.locked = atomic_load(&engine->locked);
}

/* A peer that another thread adds meanwhile is either seen here or sees the flag. Nobody appends to
 * it before it has been added. */
void sy_engine_threads(void *self)
{
    struct sy_engine *engine = self;

    atomic_store(&engine->locked, true);
    unsigned count = atomic_load(&engine->peers);
    for (unsigned i = 0; i < count; i++)
        engine->peer[i]->producer.locked = true;
}

/* Several threads may do this at once; all find the same. */
struct sy_engine_peer *sy_engine_route(struct sy_engine *engine, int pe)
{
    unsigned target = SY_RECORD_TARGET_SELF;
    struct sy_engine_peer *peer = engine->ops->route(engine, pe, &target);

    if (!peer)
        return NULL;
    atomic_store_explicit(&engine->routes[pe].target, target, memory_order_relaxed);
    atomic_store_explicit(&engine->routes[pe].peer, peer, memory_order_release);
    return peer;
}

void sy_engine_no_memory(const struct sy_engine *engine, int pe)
{
    engine->host->lost(pe, ENOMEM, "this PE has no memory for requests to it");
}

struct sy_engine_mark *sy_engine_make_marks(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                                            int pe)
{
    struct sy_engine_mark *made = calloc(engine->limit, sizeof *made), *before = NULL;

    if (!made)
        sy_engine_no_memory(engine, pe);
    else if (!atomic_compare_exchange_strong(&ctx->mark, &before, made)) {
        free(made);
        return before;
    }
    return made;
}

/* ---- when requests leave ---- */

/* Nanoseconds that requests may be gathered for. */
static uint64_t engine_delay(const struct sy_engine *engine)
{
    return (uint64_t)engine->flush_delay * 1000;
}

void sy_engine_first(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer, uint64_t tail,
                     size_t bytes)
{
    enum sy_flush_when when = sy_flush_first(&peer->flush, &ctx->row, sy_clock_ns(), tail - bytes,
                                             tail, ctx->batch);

    if (when == SY_FLUSH_ALONE_ACK)
        sy_tx_ask(&peer->tx, tail);
    if (when == SY_FLUSH_ALONE_ACK || when == SY_FLUSH_ALONE) {
        peer->engine->ops->send(peer);
        sy_flush_left(&peer->flush, &ctx->row);
        return;
    }
    sy_producer_gathers(&peer->producer);
    sy_engine_send_later(peer, when == SY_FLUSH_LATE);
}

void sy_engine_send_later(struct sy_engine_peer *peer, bool patient)
{
    struct sy_engine *engine = peer->engine;

    atomic_fetch_or_explicit(&engine->gathered[peer->slot / 64], UINT64_C(1) << peer->slot % 64,
                             memory_order_release);
    engine->host->soon(sy_flush_delay(engine->flush_delay, patient));
}

/* The producer decides by `sent`, without a fence, whether what it appends is the first of a
 * gathering that has to be entered in `gathered`. A thread that sends in the producer's place may
 * at that moment miss the one's tail while the other misses its `sent`. So this thread looks once
 * more, some time later, when either has long become visible. */
static void engine_send_one(struct sy_engine_peer *peer)
{
    bool stranger = !sy_producer_is_me(&peer->producer);
    uint64_t before = sy_tx_sent(&peer->tx);

    sy_combine_flush(peer);
    peer->engine->ops->send(peer);
    uint64_t sent = sy_tx_sent(&peer->tx) - before;
    if (!stranger || !sent)
        return;
    sy_flush_taken(&peer->flush, sent, engine_delay(peer->engine), peer->engine->host->crowded);
    sy_engine_send_later(peer, true);
}

void sy_engine_send_word(struct sy_engine *engine, unsigned word, bool due)
{
    uint64_t bits = atomic_exchange_explicit(&engine->gathered[word], 0, memory_order_acquire);

    for (; bits; bits &= bits - 1) {
        struct sy_engine_peer *peer = engine->peer[word * 64 + (unsigned)__builtin_ctzll(bits)];
        if (due && !sy_flush_is_due(&peer->flush, sy_clock_ns(), engine_delay(engine)))
            sy_engine_send_later(peer, false);
        else
            engine_send_one(peer);
    }
}

/* ---- waiting ---- */

void sy_engine_commit_and_wait(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer, size_t bytes,
                               uint64_t wanted)
{
    const struct sy_engine_ops *ops = peer->engine->ops;
    uint64_t tail = sy_tx_commit(&peer->tx, bytes);
    bool attends = ops->attend && ops->attend(peer, 1);

    sy_engine_done(ctx, peer, tail, bytes, true);
    sy_engine_wait(peer, wanted);
    if (attends)
        ops->attend(peer, -1);
}

/* The first rest, which comes early, also tells the progress thread that this thread polls. */
void sy_engine_wait(struct sy_engine_peer *peer, uint64_t wanted)
{
    struct sy_engine *engine = peer->engine;
    uint64_t since = 0;

    for (unsigned turn = 0; sy_pending_answered(&peer->pending) < wanted; turn++)
        if (engine->ops->poll(engine, peer) <= 0 && turn % 8 == 0)
            engine->host->rest(&since);
}

void sy_engine_pass_time(struct sy_engine_peer *peer, uint64_t *since)
{
    struct sy_engine *engine = peer->engine;

    if (!atomic_load_explicit(&peer->tx.blocked, memory_order_relaxed))
        engine->ops->send(peer);
    if (engine->ops->poll(engine, peer) <= 0)
        engine->host->rest(since);
}

/* The data calls: put, get, atomic operations, put with signal. Each appends records to the stream
 * that reaches the target and answers -EAGAIN, with nothing done, where there is no room. */
#include <errno.h>

#include "engine/issue.h"
#include "engine/parts.h"

/* ---- put ---- */

/* The most frequent call has a function of its own for each size, with everything in it. */
SY_INLINE int calls_put_element(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                                const struct sy_transfer *t, unsigned code)
{
    struct sy_engine_peer *peer = sy_engine_enter(engine, ctx, t->pe);
    char *room;

    if (SY_UNLIKELY(!peer))
        return -EAGAIN;
    uint64_t header = sy_request_at(sy_engine_place(engine, t->pe, t->window, t->offset),
                                    SY_RECORD_PUT, code);
    if (header == peer->combine.next && sy_combine_put(ctx, peer, t->local, code))
        return 0;
    if (SY_UNLIKELY(sy_combine_is_open(peer)))
        sy_combine_close(peer);
    if (SY_UNLIKELY(!(room = sy_engine_room(peer, 16))))
        return -EAGAIN;
    sy_request_write_element(room, header, t->local, code);
    peer->combine.next = sy_record_behind(header, UINT64_C(1) << code);
    sy_engine_commit(ctx, peer, 16, false);
    return 0;
}

static int calls_put_copied(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                            const struct sy_transfer *t)
{
    struct sy_engine_peer *peer = sy_engine_begin(engine, ctx, t->pe);
    size_t bytes = sy_request_put_size(t->length);
    char *room;

    if (SY_UNLIKELY(!peer) || SY_UNLIKELY(!(room = sy_engine_room(peer, bytes))))
        return -EAGAIN;
    sy_request_write_put(room, sy_engine_place(engine, t->pe, t->window, t->offset), t->local,
                         t->length);
    sy_engine_commit(ctx, peer, bytes, false);
    return 0;
}

static bool calls_is_long(const struct sy_engine *engine, size_t length, unsigned flags)
{
    return length > engine->ops->longest_put[flags & SY_BLOCKING || !(flags & SY_ENGINE_FOLLOWED)];
}

int sy_engine_put(void *self, struct sy_transport_ctx *c, const struct sy_transfer *t,
                  unsigned flags)
{
    struct sy_engine *engine = self;
    struct sy_engine_ctx *ctx = (struct sy_engine_ctx *)c;

    if (SY_LIKELY(t->length == 8))
        return calls_put_element(engine, ctx, t, 3);
    if (t->length == 4)
        return calls_put_element(engine, ctx, t, 2);
    if (!calls_is_long(engine, t->length, flags)) {
        int rc = t->length ? calls_put_copied(engine, ctx, t) : 0;
        /* Where there is no room for more copies, a longer non-blocking one need not wait. */
        if (rc != -EAGAIN || flags & SY_BLOCKING || t->length <= engine->ops->longest_put[0])
            return rc;
    }
    return engine->ops->put_large ? engine->ops->put_large(engine, ctx, t, flags)
                                  : sy_parts_put(engine, ctx, t);
}

/* ---- get ---- */

int sy_engine_get(void *self, struct sy_transport_ctx *c, const struct sy_transfer *t,
                  unsigned flags)
{
    struct sy_engine *engine = self;
    struct sy_engine_ctx *ctx = (struct sy_engine_ctx *)c;

    if (t->length > engine->ops->longest_get)
        return engine->ops->get_large ? engine->ops->get_large(engine, ctx, t, flags)
                                      : sy_parts_get(engine, ctx, t, flags);
    if (!t->length)
        return 0;
    struct sy_engine_peer *peer = sy_engine_begin(engine, ctx, t->pe);
    size_t bytes = sy_request_get_size(t->length);
    uint64_t wanted;
    char *room;

    if (SY_UNLIKELY(!peer) ||
        SY_UNLIKELY(!(room = sy_engine_asking_room(ctx, peer, bytes, t->local, t->length,
                                                   SY_PENDING_PLAIN, &wanted))))
        return -EAGAIN;
    sy_request_write_get(room, sy_engine_place(engine, t->pe, t->window, t->offset), t->length);
    if (flags & SY_BLOCKING)
        sy_engine_commit_and_wait(ctx, peer, bytes, wanted);
    else
        sy_engine_commit(ctx, peer, bytes, false);
    return 0;
}

/* ---- atomic operations ---- */

SY_INLINE int calls_issue_amo(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                              const struct sy_amo *a, unsigned flags, bool fetch, size_t bytes)
{
    struct sy_engine_peer *peer = sy_engine_begin(engine, ctx, a->pe);
    uint64_t wanted = 0;

    if (SY_UNLIKELY(!peer))
        return -EAGAIN;
    char *room = fetch ? sy_engine_asking_room(ctx, peer, bytes, a->result, a->width,
                                               SY_PENDING_PLAIN, &wanted)
                       : sy_engine_room(peer, bytes);
    if (SY_UNLIKELY(!room))
        return -EAGAIN;
    sy_request_write_amo(room, sy_engine_place(engine, a->pe, a->window, a->offset), a, fetch);
    if (fetch && (flags & SY_BLOCKING))
        sy_engine_commit_and_wait(ctx, peer, bytes, wanted);
    else
        sy_engine_commit(ctx, peer, bytes, flags & SY_PROMPT);
    return 0;
}

/* The most frequent operations, without a result and a second operand, have code of their own. */
int sy_engine_amo(void *self, struct sy_transport_ctx *c, const struct sy_amo *a, unsigned flags)
{
    struct sy_engine *engine = self;
    struct sy_engine_ctx *ctx = (struct sy_engine_ctx *)c;

    if (SY_LIKELY(!a->result && a->op != SY_AMO_CSWAP))
        return calls_issue_amo(engine, ctx, a, flags, false, 16);
    return calls_issue_amo(engine, ctx, a, flags, a->result, sy_request_amo_size(a));
}

int sy_engine_raise(void *self, struct sy_transport_ctx *c, int pe, unsigned window,
                    uint64_t offset, uint64_t value)
{
    struct sy_engine *engine = self;
    struct sy_engine_ctx *ctx = (struct sy_engine_ctx *)c;
    struct sy_engine_peer *peer = sy_engine_begin(engine, ctx, pe);
    uint64_t word[2] = {0, value};
    char *room;

    if (!peer || !(room = sy_engine_room(peer, sizeof word)))
        return -EAGAIN;
    word[0] = sy_request_at(sy_engine_place(engine, pe, window, offset), SY_RECORD_RAISE, 3);
    if (engine->ops->raise && engine->ops->raise(peer, word[0], value)) {
        sy_engine_end(peer);
        return 0;
    }
    memcpy(room, word, sizeof word);
    sy_engine_commit(ctx, peer, sizeof word, true);
    return 0;
}

/* Both records go to one stream, which keeps their order; where the payload is short they are
 * published, and leave, as one. */
static int calls_put_signal_copied(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                                   const struct sy_transfer *t, const struct sy_amo *signal,
                                   bool prompt)
{
    struct sy_engine_peer *peer = sy_engine_begin(engine, ctx, t->pe);
    size_t first = sy_request_put_size(t->length), bytes = first + sy_request_amo_size(signal);
    char *room;

    if (!peer || !(room = sy_engine_room(peer, bytes)))
        return -EAGAIN;
    sy_request_write_put(room, sy_engine_place(engine, t->pe, t->window, t->offset), t->local,
                         t->length);
    sy_request_write_amo(room + first,
                         sy_engine_place(engine, signal->pe, signal->window, signal->offset),
                         signal, false);
    sy_engine_commit(ctx, peer, bytes, prompt);
    return 0;
}

/* Bytes of a long payload that leaves at once; its signal leaves with it. Of a blocking one
 * fewer, where the transport keeps them (SY_KEEPS), if nobody waits for it: then it is one of a row
 * most often, and the next would wait for the copy. */
#define TOGETHER (256u << 10)

int sy_engine_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                         const struct sy_amo *signal, unsigned flags)
{
    struct sy_engine *engine = self;
    unsigned prompt = flags & SY_PROMPT;
    bool keeps = flags & SY_BLOCKING && t->length <= (prompt ? SY_KEPT_PROMPT : SY_KEPT_BYTES) &&
                 engine->ops->keep_large;
    uint64_t since = 0;

    if (t->length && !calls_is_long(engine, t->length, flags | SY_ENGINE_FOLLOWED))
        return calls_put_signal_copied(engine, (struct sy_engine_ctx *)ctx, t, signal, prompt);
    if (keeps)
        flags &= ~SY_BLOCKING;
    if (t->length && t->length <= TOGETHER && !(flags & SY_BLOCKING))
        prompt = SY_PROMPT;
    int rc = sy_engine_put(self, ctx, t, prompt ? flags | SY_ENGINE_FOLLOWED : flags);
    if (rc)
        return rc;
    sy_engine_fence(self, ctx);
    while ((rc = sy_engine_amo(self, ctx, signal, prompt)) == -EAGAIN)
        if (engine->ops->poll(engine, NULL) <= 0)
            engine->host->rest(&since);
    if (keeps && t->length)
        engine->ops->keep_large(engine, (struct sy_engine_ctx *)ctx, t);
    return rc;
}

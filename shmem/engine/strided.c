/* Strided transfers: blocks travel packed, as few records as possible. */
#include <errno.h>
#include <stdlib.h>

#include "engine/issue.h"
#include "engine/parts.h"

static uint64_t strided_place(const struct sy_parts *parts, size_t done)
{
    const struct sy_strided *s = parts->transfer;

    return sy_engine_place(parts->engine, s->first.pe, s->first.window,
                           s->first.offset + (uint64_t)((ptrdiff_t)done * s->remote_stride));
}

static char *strided_local(const struct sy_strided *s, size_t done)
{
    return (char *)s->first.local + (ptrdiff_t)done * s->local_stride;
}

static bool strided_issue_put(const struct sy_parts *parts, size_t done, size_t blocks,
                              uint64_t *wanted)
{
    const struct sy_strided *s = parts->transfer;
    struct sy_engine_peer *peer = sy_engine_begin(parts->engine, parts->ctx, parts->pe);
    size_t bytes = 24 + sy_record_padded(blocks * s->block);
    char *room;

    (void)wanted;
    if (!peer || !(room = sy_engine_room(peer, bytes)))
        return false;
    sy_request_write_blocks(room, strided_place(parts, done), s, strided_local(s, done), blocks);
    sy_engine_commit(parts->ctx, peer, bytes, false);
    return true;
}

static bool strided_issue_get(const struct sy_parts *parts, size_t done, size_t count,
                              uint64_t *wanted)
{
    const struct sy_strided *s = parts->transfer;
    struct sy_pending_blocks *blocks = malloc(sizeof *blocks);
    struct sy_engine_peer *peer = blocks ? sy_engine_begin(parts->engine, parts->ctx, parts->pe)
                                         : NULL;
    uint64_t number;

    if (!blocks)
        sy_engine_no_memory(parts->engine, parts->pe);
    char *room = peer ? sy_engine_asking_room(parts->ctx, peer, 24, blocks, count * s->block,
                                              SY_PENDING_STRIDED, &number)
                      : NULL;

    if (!room) {
        free(blocks);
        return false;
    }
    *blocks = (struct sy_pending_blocks){.dest = strided_local(s, done),
                                         .block = s->block,
                                         .blocks = count,
                                         .stride = s->local_stride};
    sy_request_write_strided(room, strided_place(parts, done), SY_RECORD_GET_STRIDED, s, count);
    sy_engine_commit(parts->ctx, peer, 24, false);
    *wanted = number;
    return true;
}

/* The source of a put is copied in any case. */
static int strided_issue(struct sy_engine *engine, struct sy_transport_ctx *ctx,
                         const struct sy_strided *s, bool put, bool wait)
{
    const struct sy_parts parts = {.engine = engine,
                                   .ctx = (struct sy_engine_ctx *)ctx,
                                   .pe = s->first.pe,
                                   .length = s->blocks,
                                   .most = SY_RECORD_PACKED / s->block,
                                   .transfer = s,
                                   .issue = put ? strided_issue_put : strided_issue_get};

    return parts.most ? sy_parts_issue(&parts, wait) : -EOPNOTSUPP;
}

int sy_engine_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                          unsigned flags)
{
    (void)flags;
    return strided_issue(self, ctx, s, true, false);
}

int sy_engine_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                          unsigned flags)
{
    return strided_issue(self, ctx, s, false, flags & SY_BLOCKING);
}

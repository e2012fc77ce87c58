/* Strided transfers: blocks travel packed, as few records as possible. */
#include <errno.h>
#include <stdlib.h>

#include "transports/tcp/calls.h"
#include "transports/tcp/issue.h"

/* Some blocks of a transfer. */
struct part {
    uint64_t offset; /* of the first block, at the target */
    char *local;
    size_t blocks, bytes;
};

static struct part strided_part_from(const struct sy_strided *s, size_t done)
{
    size_t most = SY_RECORD_PACKED / s->block, left = s->blocks - done;
    struct part part = {.offset = s->first.offset + (uint64_t)((ptrdiff_t)done * s->remote_stride),
                        .local = (char *)s->first.local + (ptrdiff_t)done * s->local_stride,
                        .blocks = left < most ? left : most};

    part.bytes = part.blocks * s->block;
    return part;
}

static uint64_t strided_place(struct tcp *tcp, const struct sy_strided *s, const struct part *part)
{
    return sy_tcp_issue_header(tcp, 0, 0, s->first.pe, s->first.window, part->offset);
}

static bool strided_put_part(struct tcp *tcp, struct sy_transport_ctx *ctx,
                             const struct sy_strided *s, const struct part *part)
{
    struct tcp_stream *stream = sy_tcp_issue_begin(tcp, ctx, s->first.pe);
    size_t bytes = 24 + sy_record_padded(part->bytes);
    char *room;

    if (!stream || !(room = sy_tcp_issue_room(stream, bytes)))
        return false;
    sy_rma_write_blocks(room, strided_place(tcp, s, part), s, part->local, part->blocks);
    sy_tcp_issue_done(ctx, stream, sy_tcp_queue_commit(&stream->queue[TCP_REQUESTS], bytes), bytes,
                      false);
    return true;
}

/* *wanted: the number of the reply. */
static bool strided_get_part(struct tcp *tcp, struct sy_transport_ctx *ctx,
                             const struct sy_strided *s, const struct part *part, uint64_t *wanted)
{
    struct sy_pending_blocks *blocks = malloc(sizeof *blocks);
    struct tcp_stream *stream = blocks ? sy_tcp_issue_begin(tcp, ctx, s->first.pe) : NULL;
    uint64_t number;
    char *room = stream ? sy_tcp_issue_asking(ctx, stream, 24, blocks, part->bytes, true, &number)
                        : NULL;

    if (!room) {
        free(blocks);
        return false;
    }
    *blocks = (struct sy_pending_blocks){
        .dest = part->local, .block = s->block, .blocks = part->blocks, .stride = s->local_stride};
    *wanted = number;
    sy_rma_write_strided(room, strided_place(tcp, s, part), SY_RECORD_GET_STRIDED, s, part->blocks);
    sy_tcp_issue_done(ctx, stream, sy_tcp_queue_commit(&stream->queue[TCP_REQUESTS], 24), 24,
                      false);
    return true;
}

/* A put, or with `wanted` a get, whose last reply has that number. After something has been started
 * there is no way back, so this waits. */
static int strided_transfer(struct tcp *tcp, struct sy_transport_ctx *ctx,
                            const struct sy_strided *s, uint64_t *wanted)
{
    uint64_t since = 0;

    if (s->block > SY_RECORD_PACKED)
        return -EOPNOTSUPP;
    for (size_t done = 0; done < s->blocks;) {
        struct part part = strided_part_from(s, done);
        if (wanted ? strided_get_part(tcp, ctx, s, &part, wanted)
                   : strided_put_part(tcp, ctx, s, &part)) {
            done += part.blocks;
            continue;
        }
        if (!done)
            return -EAGAIN;
        struct tcp_stream *stream = atomic_load(&tcp->routes[s->first.pe].stream);
        sy_tcp_send(stream);
        if (sy_tcp_poll_stream(tcp, stream) <= 0)
            tcp->host->rest(&since);
    }
    return 0;
}

int sy_tcp_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                       unsigned flags)
{
    (void)flags; /* the source is copied in any case */
    return strided_transfer(self, ctx, s, NULL);
}

int sy_tcp_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                       unsigned flags)
{
    struct tcp *tcp = self;
    uint64_t last = 0;
    int rc = strided_transfer(tcp, ctx, s, &last);

    if (!rc && last && (flags & SY_BLOCKING)) {
        struct tcp_stream *stream = atomic_load(&tcp->routes[s->first.pe].stream);
        sy_tcp_send(stream);
        sy_tcp_issue_wait(stream, last);
    }
    return rc;
}

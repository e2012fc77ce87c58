/* The data calls: put, get, atomic operations. Each appends records to the stream that reaches the
 * target and answers -EAGAIN, with nothing done, where there is no room. */
#include <errno.h>

#include "transports/tcp/calls.h"
#include "transports/tcp/issue.h"

#define COPIED     (32u << 10) /* a blocking put of up to so many bytes is copied into the ring */
#define COPIED_NBI (8u << 10)  /* the same, non-blocking: longer ones stay where they are */

/* ---- put ---- */

/* The most frequent call has a function of its own for each size, with everything in it. */
SY_INLINE int calls_put_element(struct tcp *tcp, struct sy_transport_ctx *ctx,
                                const struct sy_transfer *t, unsigned code)
{
    struct tcp_stream *stream = sy_tcp_issue_enter(tcp, ctx, t->pe);
    char *room;

    if (SY_UNLIKELY(!stream))
        return -EAGAIN;
    uint64_t header = sy_tcp_issue_header(tcp, SY_RECORD_PUT, code, t->pe, t->window, t->offset);
    if (header == stream->next && sy_tcp_run_put(ctx, stream, t->local, code))
        return 0;
    if (SY_UNLIKELY(atomic_load_explicit(&stream->run, memory_order_acquire)))
        sy_tcp_run_close(stream);
    if (SY_UNLIKELY(!(room = sy_tcp_issue_room(stream, 16))))
        return -EAGAIN;
    sy_rma_write_element(room, header, t->local, code);
    stream->next = sy_record_behind(header, UINT64_C(1) << code);
    sy_tcp_issue_done(ctx, stream, sy_tcp_queue_commit(&stream->queue[TCP_REQUESTS], 16), 16,
                      false);
    return 0;
}

static uint64_t calls_place(struct tcp *tcp, const struct sy_transfer *t)
{
    return sy_tcp_issue_header(tcp, 0, 0, t->pe, t->window, t->offset);
}

static int calls_put_copied(struct tcp *tcp, struct sy_transport_ctx *ctx,
                            const struct sy_transfer *t)
{
    struct tcp_stream *stream = sy_tcp_issue_begin(tcp, ctx, t->pe);
    size_t bytes = sy_rma_put_size(t->length);
    char *room;

    if (SY_UNLIKELY(!stream) || SY_UNLIKELY(!(room = sy_tcp_issue_room(stream, bytes))))
        return -EAGAIN;
    sy_rma_write_put(room, calls_place(tcp, t), t->local, t->length);
    sy_tcp_issue_done(ctx, stream, sy_tcp_queue_commit(&stream->queue[TCP_REQUESTS], bytes), bytes,
                      false);
    return 0;
}

int sy_tcp_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags)
{
    struct tcp *tcp = self;
    if (SY_LIKELY(t->length == 8))
        return calls_put_element(tcp, ctx, t, 3);
    if (t->length == 4)
        return calls_put_element(tcp, ctx, t, 2);
    if (t->length > (flags & SY_BLOCKING ? COPIED : COPIED_NBI))
        return sy_tcp_put_large(tcp, ctx, t, flags);
    return t->length ? calls_put_copied(tcp, ctx, t) : 0;
}

/* ---- get ---- */

int sy_tcp_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags)
{
    struct tcp *tcp = self;
    if (t->length > SY_RECORD_CHUNK)
        return sy_tcp_get_large(tcp, ctx, t, flags);
    if (!t->length)
        return 0;
    struct tcp_stream *stream = sy_tcp_issue_begin(tcp, ctx, t->pe);
    size_t bytes = sy_rma_get_size(t->length);
    uint64_t wanted;
    char *room;

    if (SY_UNLIKELY(!stream) ||
        SY_UNLIKELY(
            !(room = sy_tcp_issue_asking(ctx, stream, bytes, t->local, t->length, false, &wanted))))
        return -EAGAIN;
    sy_rma_write_get(room, calls_place(tcp, t), t->length);
    uint64_t tail = sy_tcp_queue_commit(&stream->queue[TCP_REQUESTS], bytes);
    if (flags & SY_BLOCKING)
        sy_tcp_issue_ask(ctx, stream, tail, bytes, wanted);
    else
        sy_tcp_issue_done(ctx, stream, tail, bytes, false);
    return 0;
}

/* ---- atomic operations ---- */

static uint64_t calls_amo_place(struct tcp *tcp, const struct sy_amo *a)
{
    return sy_tcp_issue_header(tcp, 0, 0, a->pe, a->window, a->offset);
}

SY_INLINE int calls_issue_amo(struct tcp *tcp, struct sy_transport_ctx *ctx, const struct sy_amo *a,
                              unsigned flags, bool fetch, size_t bytes)
{
    struct tcp_stream *stream = sy_tcp_issue_begin(tcp, ctx, a->pe);
    uint64_t wanted = 0;

    if (SY_UNLIKELY(!stream))
        return -EAGAIN;
    char *room = fetch
                     ? sy_tcp_issue_asking(ctx, stream, bytes, a->result, a->width, false, &wanted)
                     : sy_tcp_issue_room(stream, bytes);
    if (SY_UNLIKELY(!room))
        return -EAGAIN;
    sy_rma_write_amo(room, calls_amo_place(tcp, a), a, fetch);
    uint64_t tail = sy_tcp_queue_commit(&stream->queue[TCP_REQUESTS], bytes);
    if (fetch && (flags & SY_BLOCKING))
        sy_tcp_issue_ask(ctx, stream, tail, bytes, wanted);
    else
        sy_tcp_issue_done(ctx, stream, tail, bytes, flags & SY_PROMPT);
    return 0;
}

/* The most frequent ones, without a result and a second operand, have code of their own. */
int sy_tcp_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags)
{
    struct tcp *tcp = self;
    if (SY_LIKELY(!a->result && a->op != SY_AMO_CSWAP))
        return calls_issue_amo(tcp, ctx, a, flags, false, 16);
    return calls_issue_amo(tcp, ctx, a, flags, a->result, sy_rma_amo_size(a));
}

int sy_tcp_raise(void *self, struct sy_transport_ctx *ctx, int pe, unsigned window, uint64_t offset,
                 uint64_t value)
{
    struct tcp *tcp = self;
    struct tcp_stream *stream = sy_tcp_issue_begin(tcp, ctx, pe);
    char *room;

    if (!stream)
        return -EAGAIN;
    uint64_t word[2] = {sy_tcp_issue_header(tcp, SY_RECORD_RAISE, 3, pe, window, offset), value};
    if (sy_tcp_hint_says(stream, word[0], value)) {
        sy_tcp_issue_end(stream);
        return 0;
    }
    if (!(room = sy_tcp_issue_room(stream, sizeof word)))
        return -EAGAIN;
    memcpy(room, word, sizeof word);
    sy_tcp_hint_joins(stream, sizeof word);
    uint64_t tail = sy_tcp_queue_commit(&stream->queue[TCP_REQUESTS], sizeof word);
    sy_tcp_issue_done(ctx, stream, tail, sizeof word, true);
    return 0;
}

/* Both records go to one stream, which keeps their order; where the payload is short they are
 * published, and leave, as one. */
int sy_tcp_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags)
{
    struct tcp *tcp = self;
    uint64_t since = 0;
    int rc;

    if (t->length && t->length <= (flags & SY_BLOCKING ? COPIED : COPIED_NBI)) {
        struct tcp_stream *stream = sy_tcp_issue_begin(tcp, ctx, t->pe);
        size_t first = sy_rma_put_size(t->length), bytes = first + sy_rma_amo_size(signal);
        char *room;
        if (!stream || !(room = sy_tcp_issue_room(stream, bytes)))
            return -EAGAIN;
        sy_rma_write_put(room, calls_place(tcp, t), t->local, t->length);
        sy_rma_write_amo(room + first, calls_amo_place(tcp, signal), signal, false);
        sy_tcp_issue_done(ctx, stream, sy_tcp_queue_commit(&stream->queue[TCP_REQUESTS], bytes),
                          bytes, false);
        return 0;
    }
    rc = sy_tcp_put(self, ctx, t, flags);
    if (!rc)
        rc = sy_tcp_fence(self, ctx);
    if (rc)
        return rc;
    while ((rc = sy_tcp_amo(self, ctx, signal, flags & SY_PROMPT)) == -EAGAIN)
        if (sy_tcp_poll(tcp) <= 0)
            tcp->host->rest(&since);
    return rc;
}

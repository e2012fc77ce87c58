/* The data calls: put, get, atomic operations. Each appends records to the lane that reaches the
 * target and answers -EAGAIN, with nothing done, where there is no room. */
#include <errno.h>

#include "transports/tcp/calls.h"
#include "transports/tcp/issue.h"

#define COPIED     (32u << 10) /* a blocking put of up to so many bytes is copied into the ring */
#define COPIED_NBI (8u << 10)  /* the same, non-blocking: longer ones stay where they are */

static size_t calls_padded(size_t length)
{
    return (length + 7) & ~(size_t)7;
}

/* ---- put ---- */

static bool is_element(size_t length)
{
    return length == 8 || length == 4 || length == 2 || length == 1;
}

/* The record of a put whose payload goes into the ring: one element, or any length. */
static size_t copied_size(size_t length)
{
    return is_element(length) ? 16 : 16 + calls_padded(length);
}

SY_INLINE void calls_write_element(char *room, uint64_t header, const void *from, unsigned code)
{
    uint64_t word[2] = {header, 0};

    memcpy(&word[1], from, (size_t)1 << code);
    memcpy(room, word, sizeof word);
}

static uint64_t element_header(struct tcp *tcp, const struct sy_transfer *t, unsigned code)
{
    return sy_tcp_issue_header(tcp, TCP_OP_PUT, code, t->pe, t->window, t->offset);
}

static void calls_write_copied(struct tcp *tcp, char *room, const struct sy_transfer *t)
{
    if (is_element(t->length)) {
        unsigned code = (unsigned)__builtin_ctzl(t->length);
        calls_write_element(room, element_header(tcp, t, code), t->local, code);
        return;
    }
    size_t bytes = copied_size(t->length);
    memset(room + bytes - 8, 0, 8);
    sy_tcp_issue_long(tcp, room, TCP_OP_PUT_LONG, t, 0, t->length);
    memcpy(room + 16, t->local, t->length);
}

/* The most frequent call has a function of its own for each size, with everything in it. */
SY_INLINE int calls_put_element(struct tcp *tcp, struct sy_transport_ctx *ctx,
                                const struct sy_transfer *t, unsigned code)
{
    struct tcp_lane *lane = sy_tcp_issue_enter(tcp, ctx, t->pe);
    char *room;

    if (SY_UNLIKELY(!lane))
        return -EAGAIN;
    uint64_t header = element_header(tcp, t, code);
    if (header == lane->next && sy_tcp_run_put(ctx, lane, t->local, code))
        return 0;
    if (SY_UNLIKELY(atomic_load_explicit(&lane->run, memory_order_acquire)))
        sy_tcp_run_close(lane);
    if (SY_UNLIKELY(!(room = sy_tcp_issue_room(lane, 16))))
        return -EAGAIN;
    calls_write_element(room, header, t->local, code);
    lane->next = header + sy_tcp_header(0, 0, 0, 0, UINT64_C(1) << code);
    sy_tcp_issue_done(ctx, lane, sy_tcp_log_commit(&lane->log[TCP_REQUESTS], 16), 16, false);
    return 0;
}

static int calls_put_copied(struct tcp *tcp, struct sy_transport_ctx *ctx,
                            const struct sy_transfer *t)
{
    struct tcp_lane *lane = sy_tcp_issue_begin(tcp, ctx, t->pe);
    size_t bytes = copied_size(t->length);
    char *room;

    if (SY_UNLIKELY(!lane) || SY_UNLIKELY(!(room = sy_tcp_issue_room(lane, bytes))))
        return -EAGAIN;
    calls_write_copied(tcp, room, t);
    sy_tcp_issue_done(ctx, lane, sy_tcp_log_commit(&lane->log[TCP_REQUESTS], bytes), bytes, false);
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
    if (t->length > TCP_CHUNK)
        return sy_tcp_get_large(tcp, ctx, t, flags);
    if (!t->length)
        return 0;
    struct tcp_lane *lane = sy_tcp_issue_begin(tcp, ctx, t->pe);
    bool element = is_element(t->length);
    unsigned code = element ? (unsigned)__builtin_ctzl(t->length) : 0;
    size_t bytes = element ? 8 : 16;
    uint64_t wanted;
    char *room;

    if (SY_UNLIKELY(!lane) || SY_UNLIKELY(!(room = sy_tcp_issue_room(lane, bytes))))
        return -EAGAIN;
    wanted = sy_tcp_issue_want(ctx, lane, t->local, t->length, TCP_WANT_BYTES);
    if (SY_UNLIKELY(!wanted)) {
        sy_tcp_issue_end(lane);
        return -EAGAIN;
    }
    uint64_t word[2] = {sy_tcp_issue_header(tcp, element ? TCP_OP_GET : TCP_OP_GET_LONG, code,
                                            t->pe, t->window, t->offset),
                        t->length};
    memcpy(room, word, bytes);
    uint64_t tail = sy_tcp_log_commit(&lane->log[TCP_REQUESTS], bytes);
    if (flags & SY_BLOCKING)
        sy_tcp_issue_ask(ctx, lane, tail, bytes, wanted);
    else
        sy_tcp_issue_done(ctx, lane, tail, bytes, false);
    return 0;
}

/* ---- atomic operations ---- */

static size_t amo_size(const struct sy_amo *a)
{
    return a->op == SY_AMO_CSWAP ? 24 : 16;
}

SY_INLINE void calls_write_amo(struct tcp *tcp, char *room, const struct sy_amo *a, bool fetch)
{
    unsigned op = (fetch ? TCP_OP_AMO_FETCH : TCP_OP_AMO) + (unsigned)a->op;
    uint64_t word[3] = {
        sy_tcp_issue_header(tcp, op, a->width == 4 ? 2 : 3, a->pe, a->window, a->offset),
        a->operand, a->compare};

    memcpy(room, word, 16);
    if (a->op == SY_AMO_CSWAP)
        memcpy(room + 16, &word[2], 8);
}

SY_INLINE int calls_issue_amo(struct tcp *tcp, struct sy_transport_ctx *ctx, const struct sy_amo *a,
                              unsigned flags, bool fetch, size_t bytes)
{
    struct tcp_lane *lane = sy_tcp_issue_begin(tcp, ctx, a->pe);
    uint64_t wanted = 0;
    char *room;

    if (SY_UNLIKELY(!lane) || SY_UNLIKELY(!(room = sy_tcp_issue_room(lane, bytes))))
        return -EAGAIN;
    if (fetch && !(wanted = sy_tcp_issue_want(ctx, lane, a->result, a->width, TCP_WANT_BYTES))) {
        sy_tcp_issue_end(lane);
        return -EAGAIN;
    }
    calls_write_amo(tcp, room, a, fetch);
    uint64_t tail = sy_tcp_log_commit(&lane->log[TCP_REQUESTS], bytes);
    if (fetch && (flags & SY_BLOCKING))
        sy_tcp_issue_ask(ctx, lane, tail, bytes, wanted);
    else
        sy_tcp_issue_done(ctx, lane, tail, bytes, flags & SY_PROMPT);
    return 0;
}

/* The most frequent ones, without a result and a second operand, have code of their own. */
int sy_tcp_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags)
{
    struct tcp *tcp = self;
    if (SY_LIKELY(!a->result && a->op != SY_AMO_CSWAP))
        return calls_issue_amo(tcp, ctx, a, flags, false, 16);
    return calls_issue_amo(tcp, ctx, a, flags, a->result, amo_size(a));
}

int sy_tcp_raise(void *self, struct sy_transport_ctx *ctx, int pe, unsigned window, uint64_t offset,
                 uint64_t value)
{
    struct tcp *tcp = self;
    struct tcp_lane *lane = sy_tcp_issue_begin(tcp, ctx, pe);
    char *room;

    if (!lane)
        return -EAGAIN;
    uint64_t word[2] = {sy_tcp_issue_header(tcp, TCP_OP_RAISE, 3, pe, window, offset), value};
    if (sy_tcp_herald_says(lane, word[0], value)) {
        sy_tcp_issue_end(lane);
        return 0;
    }
    if (!(room = sy_tcp_issue_room(lane, sizeof word)))
        return -EAGAIN;
    memcpy(room, word, sizeof word);
    sy_tcp_herald_joins(lane, sizeof word);
    uint64_t tail = sy_tcp_log_commit(&lane->log[TCP_REQUESTS], sizeof word);
    sy_tcp_issue_done(ctx, lane, tail, sizeof word, true);
    return 0;
}

/* Both records go to one lane, which keeps their order; where the payload is short they are
 * published, and leave, as one. */
int sy_tcp_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags)
{
    struct tcp *tcp = self;
    uint64_t since = 0;
    int rc;

    if (t->length && t->length <= (flags & SY_BLOCKING ? COPIED : COPIED_NBI)) {
        struct tcp_lane *lane = sy_tcp_issue_begin(tcp, ctx, t->pe);
        size_t first = copied_size(t->length), bytes = first + amo_size(signal);
        char *room;
        if (!lane || !(room = sy_tcp_issue_room(lane, bytes)))
            return -EAGAIN;
        calls_write_copied(tcp, room, t);
        calls_write_amo(tcp, room + first, signal, false);
        sy_tcp_issue_done(ctx, lane, sy_tcp_log_commit(&lane->log[TCP_REQUESTS], bytes), bytes,
                          false);
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

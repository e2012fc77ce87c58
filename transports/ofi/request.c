/* Transfers and atomic operations as records of messages, which the target's CPU applies. Where the
 * provider does the same with its own CPU threads, small puts come this way too: many share a
 * message, and each element is stored whole. */
#include <errno.h>
#include <string.h>

#include "transports/ofi/ofi.h"
#include "util/bits.h"

/* Data that fit into one message beside header, record and the part of a strided transfer. */
#define DATA_MAX                                                                                   \
    (OFI_MESSAGE - sizeof(struct ofi_header) - sizeof(struct ofi_record) -                         \
     sizeof(struct ofi_blocks_part))

static inline size_t request_padded(size_t bytes)
{
    return sy_round_up(bytes, 8);
}

/* ---- waiting for replies ---- */

static struct ofi_fetch *request_take_fetch(struct sy_transport_ctx *ctx, int pe, void *result,
                                            size_t length, _Atomic int *left)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_fetch *fetch = ofi->fetch_free;

    if (!fetch)
        return NULL;
    ofi->fetch_free = fetch->next;
    *fetch = (struct ofi_fetch){.pe = pe,
                                .result = result,
                                .length = length,
                                .ctx = left ? NULL : ctx,
                                .left = left,
                                .busy = true};
    if (left)
        atomic_fetch_add_explicit(left, 1, memory_order_relaxed);
    else
        ctx->fetches++;
    return fetch;
}

static void request_untake_fetch(struct ofi_state *ofi, struct ofi_fetch *fetch)
{
    if (fetch->left)
        atomic_fetch_sub_explicit(fetch->left, 1, memory_order_relaxed);
    else
        fetch->ctx->fetches--;
    fetch->busy = false;
    fetch->next = ofi->fetch_free;
    ofi->fetch_free = fetch;
}

static uint64_t number_of(struct ofi_state *ofi, const struct ofi_fetch *fetch)
{
    return (uint64_t)(fetch - ofi->fetch);
}

/* ---- before the first record ---- */

/* As sy_ofi_room, for a request whose reply has `answer` bytes: a message has one reply, which must
 * hold the answers to all that is in it. */
static int request_answered_room(struct ofi_peer *peer, size_t bytes, size_t answer, void **at)
{
    int rc = sy_ofi_room(peer, bytes, at);

    if (!rc && peer->open->answer + answer > OFI_MESSAGE - sizeof(struct ofi_header)) {
        sy_ofi_push(peer, false);
        rc = sy_ofi_room(peer, bytes, at);
    }
    return rc;
}

/* A request that request_answered_room has made room for has been written. answer: 0 where none is
 * wanted.
 */
static void request_appended(struct ofi_peer *peer, struct sy_transport_ctx *ctx, size_t bytes,
                             size_t answer)
{
    peer->open->answer += (uint32_t)answer;
    sy_ofi_appended(peer, ctx, bytes, answer ? OFI_WANTS_REPLY : 0);
}

static size_t answer_of(size_t length)
{
    return sizeof(struct ofi_record) + request_padded(length);
}

/* Writes issued before a fence must have arrived before a message does: at once where the provider
 * keeps that order, else the message waits. */
static int request_behind_writes(struct sy_transport_ctx *ctx)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_endpoint *endpoint = ctx->endpoint;
    bool is_main = endpoint == &ofi->endpoint[0];

    if (!ctx->wait_issued || (ofi->traits.saw && is_main))
        return 0;
    if (!is_main)
        sy_ofi_lock(endpoint);
    unsigned issued = ctx->issued;
    if (!issued)
        ctx->wait_issued = false;
    if (!is_main)
        sy_ofi_unlock(endpoint);
    return issued ? -EAGAIN : 0;
}

/* Repeats a call until it does not answer -EAGAIN; for what follows after something was started. */
#define INSIST(rc, call)                                                                           \
    do {                                                                                           \
        struct ofi_wait wait_ = {0};                                                               \
        while (((rc) = (call)) == -EAGAIN)                                                         \
            sy_ofi_wait_step(ctx->ofi, &wait_);                                                    \
    } while (0)

static bool request_is_native(struct ofi_state *ofi, const struct sy_transfer *t)
{
    return ofi->traits.rma && ofi->peer[t->pe].native >> t->window & 1;
}

/* Nothing was started: the transfer should be native. */
enum { ALONE = 1 };

/* ---- put ---- */

static int request_append_put(struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                              size_t done, size_t length, unsigned flags)
{
    struct ofi_peer *peer = &ctx->ofi->peer[t->pe];
    struct ofi_record *record;
    size_t bytes = sizeof *record + request_padded(length);
    void *at;
    int rc = sy_ofi_room(peer, bytes, &at);

    if (rc)
        return rc;
    record = at;
    *record = (struct ofi_record){.kind = OFI_PUT,
                                  .window = (uint16_t)t->window,
                                  .length = (uint32_t)length,
                                  .offset = t->offset + done};
    memcpy(record + 1, (const char *)t->local + done, length);
    sy_ofi_appended(peer, ctx, bytes, flags);
    return 0;
}

static int request_locked_put(struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                              size_t done, size_t length)
{
    struct ofi_state *ofi = ctx->ofi;
    unsigned flags = 0;

    sy_ofi_lock(&ofi->endpoint[0]);
    bool alone = !done && request_is_native(ofi, t) &&
                 sy_ofi_lone_put(ctx, &ofi->peer[t->pe], &flags);
    int rc = alone ? ALONE : request_behind_writes(ctx);
    if (!rc)
        rc = request_append_put(ctx, t, done, length, flags);
    if (!rc && done + length == t->length)
        sy_ofi_put_noted(ctx);
    sy_ofi_unlock(&ofi->endpoint[0]);
    return rc;
}

/* The part of `left` bytes at `offset` for one message. A part ends at a multiple of 8 in the
 * target, so that no aligned element is divided. */
static size_t request_part_of(uint64_t offset, size_t left)
{
    size_t most = DATA_MAX - 8 - (size_t)(offset % 8);

    return left < most ? left : most - most % 8 + (size_t)(8 - offset % 8) % 8;
}

static int request_put_message(struct sy_transport_ctx *ctx, const struct sy_transfer *t)
{
    size_t done = request_part_of(t->offset, t->length);
    int rc = request_locked_put(ctx, t, 0, done);

    while (!rc && done < t->length) {
        size_t part = request_part_of(t->offset + done, t->length - done);
        INSIST(rc, request_locked_put(ctx, t, done, part));
        done += part;
    }
    return rc;
}

int sy_ofi_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags)
{
    struct ofi_state *ofi = self;
    int rc = t->length > ofi->traits.small && request_is_native(ofi, t)
                 ? ALONE
                 : request_put_message(ctx, t);

    return rc == ALONE ? sy_ofi_put_native(ctx, t, flags) : rc;
}

/* ---- get ---- */

static int request_append_get(struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                              size_t done, size_t length, _Atomic int *left)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_peer *peer = &ofi->peer[t->pe];
    struct ofi_record *record;
    size_t bytes = sizeof *record + sizeof(uint64_t), answer = answer_of(length);
    void *at;
    struct ofi_fetch *fetch;
    int rc = request_answered_room(peer, bytes, answer, &at);

    if (rc)
        return rc;
    fetch = request_take_fetch(ctx, t->pe, (char *)t->local + done, length, left);
    if (!fetch)
        return -EAGAIN;
    record = at;
    *record = (struct ofi_record){.kind = OFI_GET,
                                  .window = (uint16_t)t->window,
                                  .length = (uint32_t)length,
                                  .offset = t->offset + done};
    uint64_t number = number_of(ofi, fetch);
    memcpy(record + 1, &number, sizeof number);
    request_appended(peer, ctx, bytes, answer);
    if (left)
        sy_ofi_push(peer, false);
    return 0;
}

static int request_locked_get(struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                              size_t done, size_t length, _Atomic int *left)
{
    struct ofi_state *ofi = ctx->ofi;

    sy_ofi_lock(&ofi->endpoint[0]);
    int rc = left && !done && request_is_native(ofi, t) && sy_ofi_lone_get(ctx, &ofi->peer[t->pe])
                 ? ALONE
                 : 0;
    if (!rc)
        rc = request_append_get(ctx, t, done, length, left);
    sy_ofi_unlock(&ofi->endpoint[0]);
    return rc;
}

static int request_get_message(struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                               unsigned flags)
{
    _Atomic int left = 0, *wait = flags & SY_BLOCKING ? &left : NULL;
    size_t done = request_part_of(t->offset, t->length);
    int rc = request_locked_get(ctx, t, 0, done, wait);

    while (!rc && done < t->length) {
        size_t part = request_part_of(t->offset + done, t->length - done);
        INSIST(rc, request_locked_get(ctx, t, done, part, wait));
        done += part;
    }
    sy_ofi_wait(ctx->ofi, &left);
    return rc;
}

/* A get sees what the same context has put before, as far as that went in messages: one that
 * travels in a message follows them, a native one waits for them. */
int sy_ofi_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags)
{
    struct ofi_state *ofi = self;
    int rc = t->length > ofi->traits.small && request_is_native(ofi, t)
                 ? ALONE
                 : request_get_message(ctx, t, flags);

    return rc == ALONE ? sy_ofi_get_native(ctx, t, flags) : rc;
}

/* ---- strided ---- */

/* Blocks that fit into one message, 0 if not even one. */
static size_t request_blocks_of(const struct sy_strided *t, size_t done)
{
    size_t fit = (DATA_MAX - 8) / t->block, left = t->blocks - done;

    return fit < left ? fit : left;
}

/* Appends the blocks from `done` on; those of a put with their data. */
static int request_append_blocks(struct sy_transport_ctx *ctx, const struct sy_strided *t,
                                 size_t done, size_t blocks, struct ofi_fetch *fetch)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_peer *peer = &ofi->peer[t->first.pe];
    size_t length = blocks * t->block;
    size_t bytes = sizeof(struct ofi_record) + sizeof(struct ofi_blocks_part) +
                   (fetch ? 0 : request_padded(length));
    size_t answer = fetch ? answer_of(length) : 0;
    void *at;
    int rc = request_answered_room(peer, bytes, answer, &at);

    if (rc)
        return rc;
    struct ofi_record *record = at;
    struct ofi_blocks_part *part = (struct ofi_blocks_part *)(record + 1);
    *record = (struct ofi_record){.kind = fetch ? OFI_GET_BLOCKS : OFI_PUT_BLOCKS,
                                  .window = (uint16_t)t->first.window,
                                  .length = (uint32_t)length,
                                  .offset = t->first.offset +
                                            (uint64_t)(t->remote_stride * (ptrdiff_t)done)};
    *part = (struct ofi_blocks_part){.stride = t->remote_stride,
                                     .block = (uint32_t)t->block,
                                     .number = fetch ? (uint32_t)number_of(ofi, fetch) : 0};
    if (!fetch) {
        const char *from = (const char *)t->first.local + t->local_stride * (ptrdiff_t)done;
        char *to = (char *)(part + 1);
        for (size_t i = 0; i < blocks; i++, to += t->block, from += t->local_stride)
            memcpy(to, from, t->block);
    }
    request_appended(peer, ctx, bytes, answer);
    if (fetch)
        sy_ofi_push(peer, false);
    return 0;
}

static int request_locked_blocks(struct sy_transport_ctx *ctx, const struct sy_strided *t,
                                 size_t done, size_t blocks, _Atomic int *left)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_fetch *fetch = NULL;

    sy_ofi_lock(&ofi->endpoint[0]);
    int rc = request_behind_writes(ctx);
    if (!rc && left) {
        char *to = (char *)t->first.local + t->local_stride * (ptrdiff_t)done;
        fetch = request_take_fetch(ctx, t->first.pe, to, blocks * t->block, left);
        if (!fetch) {
            rc = -EAGAIN;
        } else {
            fetch->block = t->block;
            fetch->stride = t->local_stride;
        }
    }
    if (!rc)
        rc = request_append_blocks(ctx, t, done, blocks, fetch);
    if (rc && fetch)
        request_untake_fetch(ofi, fetch);
    sy_ofi_unlock(&ofi->endpoint[0]);
    return rc;
}

static int request_strided(struct sy_transport_ctx *ctx, const struct sy_strided *t,
                           _Atomic int *left)
{
    struct ofi_wait wait = {0};
    size_t done = 0;
    int rc = 0;

    /* Blocks of which few fit into a message gain nothing by being packed. */
    if (t->block > DATA_MAX / 8)
        return -EOPNOTSUPP;
    while (!rc && done < t->blocks) {
        size_t blocks = request_blocks_of(t, done);
        while ((rc = request_locked_blocks(ctx, t, done, blocks, left)) == -EAGAIN && done)
            sy_ofi_wait_step(ctx->ofi, &wait);
        done += blocks;
    }
    return rc;
}

int sy_ofi_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags)
{
    (void)self;
    (void)flags; /* the source has been packed on return */
    return request_strided(ctx, t, NULL);
}

int sy_ofi_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags)
{
    struct ofi_state *ofi = self;
    _Atomic int left = 0;
    int rc = request_strided(ctx, t, &left);

    (void)flags;
    sy_ofi_wait(ofi, &left);
    return rc;
}

/* ---- atomic operations ---- */

static size_t amo_bytes(const struct sy_amo *a)
{
    return sizeof(struct ofi_record) + sy_ofi_amo_part(a->op, a->result);
}

static void request_write_amo(struct ofi_state *ofi, void *at, const struct sy_amo *a,
                              const struct ofi_fetch *fetch)
{
    struct ofi_record *record = at;

    *record = (struct ofi_record){.kind = fetch ? OFI_FETCH : OFI_AMO,
                                  .op = (uint8_t)a->op,
                                  .window = (uint16_t)a->window,
                                  .length = a->width,
                                  .offset = a->offset};
    const struct ofi_amo_part part = {a->operand, a->compare, fetch ? number_of(ofi, fetch) : 0};
    memcpy(record + 1, &part, sy_ofi_amo_part(a->op, fetch));
}

static int request_append_amo(struct sy_transport_ctx *ctx, const struct sy_amo *a,
                              _Atomic int *left)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_peer *peer = &ofi->peer[a->pe];
    size_t bytes = amo_bytes(a), answer = a->result ? answer_of(a->width) : 0;
    struct ofi_fetch *fetch = NULL;
    void *at;
    int rc = request_answered_room(peer, bytes, answer, &at);

    if (rc)
        return rc;
    if (a->result && !(fetch = request_take_fetch(ctx, a->pe, a->result, a->width, left)))
        return -EAGAIN;
    request_write_amo(ofi, at, a, fetch);
    request_appended(peer, ctx, bytes, answer);
    if (left)
        sy_ofi_push(peer, false);
    return 0;
}

int sy_ofi_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags)
{
    struct ofi_state *ofi = self;
    _Atomic int left = 0;
    bool wait = a->result && flags & SY_BLOCKING;

    sy_ofi_lock(&ofi->endpoint[0]);
    int rc = request_behind_writes(ctx);
    if (!rc)
        rc = request_append_amo(ctx, a, wait ? &left : NULL);
    sy_ofi_unlock(&ofi->endpoint[0]);
    if (wait)
        sy_ofi_wait(ofi, &left);
    return rc;
}

/* ---- put with signal ---- */

/* Data and signal in one message, applied in that order. */
static int request_both(struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                        const struct sy_amo *signal)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_peer *peer = &ofi->peer[t->pe];
    size_t data = sizeof(struct ofi_record) + request_padded(t->length);
    void *at;
    int rc = sy_ofi_room(peer, data + amo_bytes(signal), &at);

    if (rc)
        return rc;
    struct ofi_record *record = at;
    *record = (struct ofi_record){.kind = OFI_PUT,
                                  .window = (uint16_t)t->window,
                                  .length = (uint32_t)t->length,
                                  .offset = t->offset};
    memcpy(record + 1, t->local, t->length);
    request_write_amo(ofi, (char *)at + data, signal, NULL);
    sy_ofi_appended(peer, ctx, data + amo_bytes(signal), 0);
    return 0;
}

int sy_ofi_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags)
{
    struct ofi_state *ofi = self;
    int rc;

    if (t->length <= DATA_MAX / 2 && t->length <= ofi->traits.small) {
        sy_ofi_lock(&ofi->endpoint[0]);
        rc = request_behind_writes(ctx);
        if (!rc)
            rc = request_both(ctx, t, signal);
        sy_ofi_unlock(&ofi->endpoint[0]);
        return rc;
    }
    rc = sy_ofi_put(self, ctx, t, flags);
    if (rc)
        return rc;
    /* The signal goes behind the data; from another endpoint, or where the provider keeps no such
     * order, it waits for them. */
    sy_ofi_fence(self, ctx);
    INSIST(rc, sy_ofi_amo(self, ctx, signal, flags));
    return rc;
}

/* Put and get by the provider's remote memory access.
 *
 * A put is complete when it is visible at the target. The provider's completion may mean less, so
 * there are two ways to know. With traits.flushed, a message follows the writes; the provider keeps
 * them in order, so its acknowledgement covers them. Otherwise each write asks for
 * FI_DELIVERY_COMPLETE. So do contexts with endpoints of their own, because nothing orders two
 * endpoints, and a put that is expected to be the only one before a quiet, because the provider
 * answers sooner than the target's library. */
#include <errno.h>
#include <string.h>

#include "transports/ofi/ofi.h"

static inline bool flushed(const struct sy_transport_ctx *ctx)
{
    return ctx->ofi->traits.flushed && sy_ofi_shares(ctx);
}

/* ---- operations ---- */

static struct ofi_operation *rma_take(struct ofi_endpoint *endpoint, struct sy_transport_ctx *ctx,
                                      int pe, bool get, _Atomic int *left)
{
    struct ofi_operation *op = endpoint->free;

    if (!op)
        return NULL;
    endpoint->free = op->next;
    op->slot.kind = OFI_OPERATION;
    op->ctx = ctx;
    op->left = left;
    op->pe = pe;
    op->mr = NULL;
    op->get = get;
    op->delivering = 0;
    return op;
}

static void rma_give(struct ofi_endpoint *endpoint, struct ofi_operation *op)
{
    if (op->mr)
        fi_close(&op->mr->fid);
    op->pe = -1;
    op->next = endpoint->free;
    endpoint->free = op;
}

static void end_transfer(struct ofi_peer *peer)
{
    atomic_fetch_sub_explicit(&peer->transfers, 1, memory_order_relaxed);
}

/* The blocked caller may return as soon as its count is 0. */
void sy_ofi_operation_done(struct ofi_endpoint *endpoint, struct ofi_operation *op)
{
    struct ofi_state *ofi = endpoint->ofi;
    _Atomic int *left = op->left;

    op->ctx->issued--;
    end_transfer(&ofi->peer[op->pe]);
    if (op->delivering)
        ofi->peer[op->pe].delivering -= op->delivering;
    rma_give(endpoint, op);
    if (left)
        atomic_fetch_sub_explicit(left, 1, memory_order_release);
}

/* The provider's handle of the caller's buffer, where it wants one: of the window that it lies in,
 * or of a registration that lives as long as the operation. */
static int rma_describe(struct ofi_state *ofi, struct ofi_operation *op, const void *local,
                        size_t length, void **descriptor)
{
    int rc, tries = OFI_OPERATIONS; /* where keys are short one of an old operation may come up */

    *descriptor = NULL;
    if (!ofi->traits.local_mr || (*descriptor = sy_ofi_descriptor(ofi, local, length)))
        return 0;
    do {
        rc = fi_mr_reg(ofi->fid_domain, local, length, FI_READ | FI_WRITE, 0, sy_ofi_local_key(ofi),
                       0, &op->mr, NULL);
    } while (rc == -FI_ENOKEY && --tries);
    if (rc)
        return rc;
    *descriptor = fi_mr_desc(op->mr);
    return 0;
}

/* ---- one transfer of at most max_write bytes ---- */

/* flags: FI_READ or FI_WRITE, and FI_DELIVERY_COMPLETE. Without `op` it is a write that the
 * provider copies and whose end it does not report. */
static ssize_t rma_issue(struct sy_transport_ctx *ctx, const struct sy_transfer *t, size_t done,
                         size_t length, uint64_t flags, struct ofi_operation *op)
{
    struct ofi_state *ofi = ctx->ofi;
    const struct ofi_peer *peer = &ofi->peer[t->pe];
    const struct iovec iov = {.iov_base = (char *)t->local + done, .iov_len = length};
    const struct ofi_remote *region = &ofi->region[t->window].remote[t->pe];
    const struct fi_rma_iov remote = {
        .addr = region->base + t->offset + done, .len = length, .key = region->key};
    void *descriptor;

    if (!op)
        return fi_inject_write(ctx->endpoint->ep, iov.iov_base, length, peer->address, remote.addr,
                               remote.key);
    ssize_t rc = rma_describe(ofi, op, iov.iov_base, length, &descriptor);
    struct fi_msg_rma message = {.msg_iov = &iov,
                                 .desc = &descriptor,
                                 .iov_count = 1,
                                 .addr = peer->address,
                                 .rma_iov = &remote,
                                 .rma_iov_count = 1,
                                 .context = &op->slot.context};

    if (rc)
        return rc;
    if (flags & FI_READ)
        return fi_readmsg(ctx->endpoint->ep, &message, FI_COMPLETION);
    if (length <= ofi->traits.inject)
        flags |= FI_INJECT;
    return fi_writemsg(ctx->endpoint->ep, &message, flags | FI_COMPLETION);
}

/* -EAGAIN while a read from pe must not begin yet because of messages to it. Main endpoint locked.
 */
static int rma_behind_messages(struct sy_transport_ctx *ctx, int pe)
{
    return ctx->listed[pe] ? sy_ofi_ask(&ctx->ofi->peer[pe], ctx->last[pe]) : 0;
}

/* -EAGAIN while a write to pe must not begin yet because of a fence. Main endpoint locked, and the
 * context's. */
static int rma_behind_fence(struct sy_transport_ctx *ctx, int pe)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_peer *peer = &ofi->peer[pe];

    /* The target applies messages when it looks at them; a write would overtake one. */
    if (ctx->listed[pe] && peer->acked < ctx->fenced[pe])
        return sy_ofi_ask(peer, ctx->fenced[pe]);
    if (!ctx->wait_issued || ofi->traits.waw)
        return 0;
    if (ctx->issued)
        return -EAGAIN;
    ctx->wait_issued = false;
    return 0;
}

/* Whether the provider reports that a write has arrived, so that no message need follow it. */
static bool rma_delivered(const struct sy_transport_ctx *ctx)
{
    return !flushed(ctx) || (ctx->ofi->traits.delivery && !ctx->puts && ctx->one_by_one);
}

/* Little is under way to the PE, so what is sent now travels in one piece and arrives soon. */
static bool idle(const struct ofi_peer *peer)
{
    return peer->proving + peer->unproved + peer->delivering < OFI_LITTLE && !peer->open &&
           !peer->head;
}

/* Whether a write needs no record here: the provider copies it and does not report its end. */
static bool rma_is_injected(const struct ofi_peer *peer, size_t length)
{
    struct ofi_state *ofi = peer->ofi;

    return length <= ofi->traits.inject && ofi->traits.waw && idle(peer);
}

/* A write has been issued whose arrival the provider does not report. */
static void rma_unproved(struct sy_transport_ctx *ctx, struct ofi_peer *peer, size_t length)
{
    peer->unproved += length + sizeof(struct ofi_header); /* the provider's has about as much */
    peer->trailing = true;
    sy_ofi_mark(ctx, peer->pe, peer->sent + 1);
    if (peer->unproved >= OFI_LITTLE / 2 && length < OFI_LITTLE && peer->ofi->traits.lone)
        sy_ofi_prove(peer);
}

/* Whether a transfer may begin now. 0: the context's endpoint is locked and the transfer counted;
 * -EAGAIN: nothing is locked. The first transfer waits until the PE has acknowledged a message: a
 * transfer carries the key of memory, and a stranger may have told the provider that it is that PE.
 */
static int rma_admit(struct sy_transport_ctx *ctx, int pe, bool get)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_endpoint *main_endpoint = &ofi->endpoint[0];
    struct ofi_peer *peer = &ofi->peer[pe];
    int rc = -EAGAIN;

    sy_ofi_lock(main_endpoint);
    if (!peer->proved)
        sy_ofi_ask(peer, 1);
    else
        rc = get ? rma_behind_messages(ctx, pe) : rma_behind_fence(ctx, pe);
    if (!rc) /* before the unlock: the peer always counts as one that owes something */
        atomic_fetch_add_explicit(&peer->transfers, 1, memory_order_relaxed);
    sy_ofi_expect(peer);
    if (rc || !sy_ofi_shares(ctx))
        sy_ofi_unlock(main_endpoint);
    if (!rc && !sy_ofi_shares(ctx))
        sy_ofi_lock(ctx->endpoint);
    return rc;
}

/* The provider has taken a transfer; without `op` it does not report its end. Endpoint locked. */
static void rma_taken(struct sy_transport_ctx *ctx, struct ofi_peer *peer, struct ofi_operation *op,
                      size_t length, uint64_t flags)
{
    if (!op) {
        end_transfer(peer);
    } else {
        ctx->issued++;
        if (op->left)
            atomic_fetch_add_explicit(op->left, 1, memory_order_relaxed);
        if (sy_ofi_shares(ctx) && flags & FI_DELIVERY_COMPLETE)
            peer->delivering += op->delivering = length;
    }
    if (sy_ofi_shares(ctx))
        sy_ofi_be_patient(peer);
    if (flags == FI_WRITE)
        rma_unproved(ctx, peer, length);
}

static int rma_start(struct sy_transport_ctx *ctx, const struct sy_transfer *t, size_t done,
                     size_t length, bool get, _Atomic int *left)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_endpoint *endpoint = ctx->endpoint;
    struct ofi_peer *peer = &ofi->peer[t->pe];
    struct ofi_operation *op = NULL;
    ssize_t rc = rma_admit(ctx, t->pe, get);

    if (rc)
        return (int)rc;
    uint64_t flags = get                  ? FI_READ
                     : rma_delivered(ctx) ? FI_WRITE | FI_DELIVERY_COMPLETE
                                          : FI_WRITE;
    bool without = flags == FI_WRITE && rma_is_injected(peer, length);
    if (!without)
        op = rma_take(endpoint, ctx, t->pe, get, left);
    rc = -EAGAIN;
    if (op || without) {
        rc = rma_issue(ctx, t, done, length, flags, op);
        sy_ofi_note_taken(&peer->transfer_taken, rc == -FI_EAGAIN);
    }
    if (!rc) {
        rma_taken(ctx, peer, op, length, flags);
        sy_count_shared(get ? &ofi->counters.native_gets : &ofi->counters.native_puts, 1);
        sy_count_shared(get ? &ofi->counters.native_get_bytes : &ofi->counters.native_put_bytes,
                        length);
        if (!get && done + length == t->length)
            sy_ofi_put_noted(ctx);
    } else {
        sy_count_shared(&ofi->counters.native_refused, rc == -FI_EAGAIN);
        end_transfer(peer);
        if (op)
            rma_give(endpoint, op);
    }
    sy_ofi_unlock(endpoint);
    if (rc && rc != -FI_EAGAIN)
        ofi->host->log(SY_LOG_ERROR, ofi->name, "%s of %zu bytes with PE %d: %s",
                       get ? "get" : "put", length, t->pe, sy_ofi_library.strerror((int)-rc));
    return rc == -FI_EAGAIN ? -EAGAIN : rc ? -EIO : 0;
}

/* A blocking put has waited for its own end. For sy_ofi_lone_put that is no wait of the program:
 * a row of such puts gathers. */
static void rma_put_waited(struct sy_transport_ctx *ctx)
{
    sy_ofi_lock(ctx->endpoint);
    ctx->polls = atomic_load_explicit(&ctx->ofi->polls, memory_order_relaxed);
    sy_ofi_unlock(ctx->endpoint);
}

int sy_ofi_native(struct sy_transport_ctx *ctx, const struct sy_transfer *t, bool get,
                  unsigned flags)
{
    struct ofi_state *ofi = ctx->ofi;
    _Atomic int left = 0;
    struct ofi_wait waits = {0};
    size_t most = ofi->traits.max_write & ~(size_t)63, done = 0;
    bool waited = false;
    int rc = 0;

    while (!rc && done < t->length) {
        size_t length = t->length - done < most ? t->length - done : most;
        bool wait = flags & SY_BLOCKING && (get || length > ofi->traits.inject);
        while ((rc = rma_start(ctx, t, done, length, get, wait ? &left : NULL)) == -EAGAIN && done)
            sy_ofi_wait_step(ofi, &waits);
        done += length;
        waited = waited || wait;
    }
    sy_ofi_wait(ofi, &left);
    if (waited && !get && sy_ofi_shares(ctx))
        rma_put_waited(ctx);
    return rc;
}

/* ---- small transfers that have a PE for themselves ---- */

/* Whether a small put should be native. Puts in a row gather in messages; a put that is the only
 * one before a quiet, or that follows another one after a wait, has nothing to gather with. A
 * native put does not overtake a message, fence or not: programs rely on puts to one place staying
 * in order. If a message is in its way, *flags has the target acknowledge at once, so that the next
 * put can be native; but not twice in a row. */
bool sy_ofi_lone_put(struct sy_transport_ctx *ctx, const struct ofi_peer *peer, unsigned *flags)
{
    struct ofi_state *ofi = peer->ofi;
    unsigned polls = atomic_load_explicit(&ofi->polls, memory_order_relaxed);

    if (!ofi->traits.lone || !peer->proved || !sy_ofi_shares(ctx) || !idle(peer) ||
        !(ctx->puts ? ctx->polls != polls : ctx->one_by_one))
        return false;
    bool free = peer->acked >= peer->content;
    *flags = free || ctx->behind ? 0 : OFI_AWAITED;
    ctx->behind = !free;
    return free;
}

bool sy_ofi_lone_get(const struct sy_transport_ctx *ctx, const struct ofi_peer *peer)
{
    return peer->ofi->traits.lone && peer->proved && sy_ofi_shares(ctx) && idle(peer) &&
           (!ctx->listed[peer->pe] || peer->acked >= ctx->last[peer->pe]);
}

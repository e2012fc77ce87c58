/* Fence, quiet and tickets. What a context has issued is under way in two ways: in messages, which
 * the target acknowledges by their numbers, and in native transfers, whose ends the provider tells.
 */
#include <errno.h>
#include <stdlib.h>

#include "transports/ofi/ofi.h"

/* The last message to the context's dirty PE, or the one that is to follow its last write. */
static uint64_t order_last_before_fence(const struct sy_transport_ctx *ctx, int pe)
{
    struct ofi_state *ofi = ctx->ofi;
    const struct ofi_peer *peer = &ofi->peer[pe];
    uint64_t last = ctx->last[pe];

    /* Writes keep their order among themselves and need no message for that. */
    return ofi->traits.waw && !peer->open && last == peer->sent + 1 ? peer->sent : last;
}

/* Notes what a fence orders; operations that come later look whether they would overtake it. */
int sy_ofi_fence(void *self, struct sy_transport_ctx *ctx)
{
    struct ofi_state *ofi = self;

    sy_ofi_lock(&ofi->endpoint[0]);
    for (int i = 0; i < ctx->dirties; i++)
        ctx->fenced[ctx->dirty[i]] = order_last_before_fence(ctx, ctx->dirty[i]);
    sy_ofi_lock_own(ctx);
    ctx->wait_issued = ctx->issued > 0;
    sy_ofi_unlock_own(ctx);
    sy_ofi_unlock(&ofi->endpoint[0]);
    return 0;
}

/* Requests to the context's PEs, or to one of them; a PE that has acknowledged one has answered it.
 * Main endpoint locked. */
static int order_quiet_messages(struct sy_transport_ctx *ctx, int pe)
{
    int kept = 0, rc = 0;

    for (int i = 0; i < ctx->dirties; i++) {
        int dirty = ctx->dirty[i];
        if (pe != SY_ALL_PES && pe != dirty) {
            ctx->dirty[kept++] = dirty;
        } else if (sy_ofi_ask(&ctx->ofi->peer[dirty], ctx->last[dirty])) {
            rc = -EAGAIN;
            ctx->dirty[kept++] = dirty;
        } else {
            ctx->listed[dirty] = false;
        }
    }
    ctx->dirties = kept;
    return rc;
}

int sy_ofi_quiet(void *self, struct sy_transport_ctx *ctx, int pe)
{
    struct ofi_state *ofi = self;

    sy_ofi_lock(&ofi->endpoint[0]);
    int rc = order_quiet_messages(ctx, pe);
    sy_ofi_lock_own(ctx);
    if (ctx->issued)
        rc = -EAGAIN;
    else
        ctx->wait_issued = false;
    if (ctx->puts) {
        ctx->one_by_one = ctx->puts == 1;
        ctx->puts = 0;
    }
    sy_ofi_unlock_own(ctx);
    sy_ofi_unlock(&ofi->endpoint[0]);
    return rc;
}

/* ---- tickets ---- */

/* Native transfers of a context are counted and not told apart: a ticket that covers some is
 * reached when the context has none. */
struct sy_transport_ticket {
    struct sy_transport_ctx *ctx;
    bool native;
    int count;
    struct {
        int pe;
        uint64_t last; /* message, as the context's */
    } goal[];
};

/* Drops what has been reached. */
static bool order_goals_reached(struct sy_transport_ticket *ticket)
{
    struct sy_transport_ctx *ctx = ticket->ctx;
    struct ofi_state *ofi = ctx->ofi;
    int left = 0;

    sy_ofi_lock(&ofi->endpoint[0]);
    for (int i = 0; i < ticket->count; i++)
        if (sy_ofi_ask(&ofi->peer[ticket->goal[i].pe], ticket->goal[i].last))
            ticket->goal[left++] = ticket->goal[i];
    ticket->count = left;
    sy_ofi_lock_own(ctx);
    ticket->native = ticket->native && ctx->issued;
    sy_ofi_unlock_own(ctx);
    sy_ofi_unlock(&ofi->endpoint[0]);
    return !left && !ticket->native;
}

int sy_ofi_ticket(void *self, struct sy_transport_ctx *ctx, int pe,
                  struct sy_transport_ticket **ticket)
{
    struct ofi_state *ofi = self;
    size_t most = (size_t)ofi->host->npes;
    struct sy_transport_ticket *made = malloc(sizeof *made + most * sizeof made->goal[0]);

    *ticket = NULL;
    if (!made)
        return -ENOMEM;
    *made = (struct sy_transport_ticket){.ctx = ctx, .native = true};
    sy_ofi_lock(&ofi->endpoint[0]);
    for (int i = 0; i < ctx->dirties; i++) {
        int dirty = ctx->dirty[i];
        if (pe != SY_ALL_PES && pe != dirty)
            continue;
        made->goal[made->count].pe = dirty;
        made->goal[made->count++].last = ctx->last[dirty];
    }
    sy_ofi_unlock(&ofi->endpoint[0]);
    if (order_goals_reached(made))
        free(made);
    else
        *ticket = made;
    return 0;
}

int sy_ofi_reached_ticket(void *self, struct sy_transport_ticket *ticket)
{
    (void)self;
    if (!order_goals_reached(ticket))
        return -EAGAIN;
    free(ticket);
    return 0;
}

/* The calls that move, order and complete data, and contexts.
 *
 * request.c   put, get, atomics and strided transfers: native, or records of messages
 * rma.c       put and get by the provider's own remote memory access
 * order.c     fence, quiet and tickets, over both */
#ifndef SY_TRANSPORTS_OFI_CALLS_H
#define SY_TRANSPORTS_OFI_CALLS_H

#include "transports/ofi/message/message.h"

/* An ordering and completion domain. */
struct sy_transport_ctx {
    /* constant */
    struct ofi_state *ofi;
    struct ofi_endpoint *endpoint;

    /* lock of `endpoint` */
    unsigned issued;  /* native transfers under way */
    bool wait_issued; /* a fence wants them to end before the next operation */

    /* main endpoint's lock; the first three by PE */
    uint64_t *last;   /* the last message that carries something of this context */
    bool *listed;     /* that message may be unacknowledged, and the PE is in `dirty` */
    uint64_t *fenced; /* `last` at the last fence, or what was acknowledged when it was listed */
    int *dirty;       /* the PEs that are listed */
    int dirties;      /* how many */

    /* the same lock; from these rma.c decides whether small puts are native */
    unsigned puts;   /* since the last quiet */
    unsigned polls;  /* ofi->polls at the last put */
    bool one_by_one; /* the last quiet was for a single put */
    bool behind;     /* the last put that could have been native found a message before it */
};

/* request.c: members of the table, and what ends the replies that are awaited of a peer. */
void sy_ofi_answers_close(struct ofi_peer *peer);
int sy_ofi_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);
int sy_ofi_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);
int sy_ofi_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags);
int sy_ofi_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags);
int sy_ofi_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags);
int sy_ofi_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags);

/* rma.c. A native transfer of any length: 0, -EAGAIN with nothing started, or -errno. */
int sy_ofi_native(struct sy_transport_ctx *ctx, const struct sy_transfer *t, bool get,
                  unsigned flags);

/* The provider has completed a transfer. The endpoint is locked. */
void sy_ofi_operation_done(struct ofi_endpoint *endpoint, struct ofi_operation *op);

/* Whether a small transfer should be native, since it has the PE for itself. Main endpoint locked.
 * *flags: those for the message, if it should not. */
bool sy_ofi_lone_put(struct sy_transport_ctx *ctx, const struct ofi_peer *peer, unsigned *flags);
bool sy_ofi_lone_get(const struct sy_transport_ctx *ctx, const struct ofi_peer *peer);

/* order.c: members of the table */
int sy_ofi_fence(void *self, struct sy_transport_ctx *ctx);
int sy_ofi_quiet(void *self, struct sy_transport_ctx *ctx, int pe);
int sy_ofi_ticket(void *self, struct sy_transport_ctx *ctx, int pe,
                  struct sy_transport_ticket **ticket);
int sy_ofi_reached_ticket(void *self, struct sy_transport_ticket *ticket);

#endif

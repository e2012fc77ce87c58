/* Operations on memory that is not mapped here: given to the transport of the route to their PE,
 * and repeated for as long as the transport answers that it has no room. Windows and offsets have
 * been checked. A failure ends the job, with `what`, the routine's name, in the message. */
#ifndef SY_CORE_ISSUE_H
#define SY_CORE_ISSUE_H

#include <shmem.h>
#include <stdbool.h>
#include <switchyard/transport.h>

#include "core/ctx.h"
#include "core/route/route.h"
#include "util/bits.h"

/* The transport's domain for a context. */
static inline struct sy_transport_ctx *sy_issue_domain(const struct sy_route_transport *route,
                                                       shmem_ctx_t ctx)
{
    return SY_LIKELY(ctx == SHMEM_CTX_DEFAULT) ? route->ctx
                                               : ctx->domain[route - sy_routes.transport];
}

/* Continues after a first answer that was not 0. */
void sy_issue_put_again(int answer, const char *what, shmem_ctx_t ctx, const struct sy_transfer *t,
                        unsigned flags);
void sy_issue_get_again(int answer, const char *what, shmem_ctx_t ctx, const struct sy_transfer *t,
                        unsigned flags);
void sy_issue_amo_again(int answer, const char *what, shmem_ctx_t ctx, const struct sy_amo *amo,
                        unsigned flags);

/* Ends the job where this is a child process that the program has forked. what: its routine. */
void sy_issue_refuse_child(const char *what);

/* route: to the operation's PE. */
SY_INLINE void sy_issue_put_by(const struct sy_route_transport *route, const char *what,
                               shmem_ctx_t ctx, const struct sy_transfer *t, unsigned flags)
{
    SY_OPAQUE(route);
    int answer = route->table->put(route->self, sy_issue_domain(route, ctx), t, flags);

    if (SY_UNLIKELY(answer != 0))
        sy_issue_put_again(answer, what, ctx, t, flags);
}

SY_INLINE void sy_issue_get_by(const struct sy_route_transport *route, const char *what,
                               shmem_ctx_t ctx, const struct sy_transfer *t, unsigned flags)
{
    SY_OPAQUE(route);
    int answer = route->table->get(route->self, sy_issue_domain(route, ctx), t, flags);

    if (SY_UNLIKELY(answer != 0))
        sy_issue_get_again(answer, what, ctx, t, flags);
}

SY_INLINE void sy_issue_amo_by(const struct sy_route_transport *route, const char *what,
                               shmem_ctx_t ctx, const struct sy_amo *amo, unsigned flags)
{
    SY_OPAQUE(route);
    int answer = route->table->amo(route->self, sy_issue_domain(route, ctx), amo, flags);

    if (SY_UNLIKELY(answer != 0))
        sy_issue_amo_again(answer, what, ctx, amo, flags);
}

static inline void sy_issue_put(const char *what, shmem_ctx_t ctx, const struct sy_transfer *t,
                                unsigned flags)
{
    sy_issue_put_by(sy_route_to(t->pe), what, ctx, t, flags);
}

static inline void sy_issue_get(const char *what, shmem_ctx_t ctx, const struct sy_transfer *t,
                                unsigned flags)
{
    sy_issue_get_by(sy_route_to(t->pe), what, ctx, t, flags);
}

static inline void sy_issue_amo(const char *what, shmem_ctx_t ctx, const struct sy_amo *amo,
                                unsigned flags)
{
    sy_issue_amo_by(sy_route_to(amo->pe), what, ctx, amo, flags);
}

/* In as few messages as it takes. False where the transport lacks the call. */
bool sy_issue_strided(const char *what, shmem_ctx_t ctx, const struct sy_strided *t, unsigned flags,
                      bool put);

/* A put, then an atomic operation on the same PE that is seen only after it: in one call where the
 * transport has one for this. */
void sy_issue_put_signal(const char *what, shmem_ctx_t ctx, const struct sy_transfer *t,
                         const struct sy_amo *signal, unsigned flags);

/* Raises a word that only grows to at least `value`, in no order with other operations. False where
 * the transport lacks the call. */
bool sy_issue_raise(const char *what, shmem_ctx_t ctx, int pe, unsigned window, uint64_t offset,
                    uint64_t value);

/* Ordering and completion on all transports that carry data; pe: as for sy_quiet. */
void sy_fence_transports(shmem_ctx_t ctx);
void sy_quiet_transports(shmem_ctx_t ctx, int pe);

/* In place of a quiet on the default context, before two PEs synchronise that are all of the job:
 * the flag of each then comes behind what it has put. */
void sy_flush_pair(int pe);

/* Whether what the context has under way is complete; does not wait, and moves nothing. One that
 * nobody issues on meanwhile needs no ticket. */
bool sy_quiet_reached(shmem_ctx_t ctx);

#endif

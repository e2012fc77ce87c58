/* Communication contexts (9.5): each has a team, and a domain of ordering and completion in each
 * transport. */
#ifndef SY_CORE_CTX_H
#define SY_CORE_CTX_H

#include <shmem.h>
#include <sys/queue.h>

#include "core/fatal.h"
#include "core/route/route.h"
#include "core/team.h"
#include "core/memory/windows.h"
#include "util/bits.h"

struct sy_ctx {
    struct sy_members members; /* the team's, copied: PE numbers are translated on the fast path */
    struct sy_team *team;
    struct {
        bool open;
        long options;     /* SHMEM_CTX_SESSION_ bits */
        size_t total_ops; /* expected operations; SIZE_MAX: not known */
    } session;
    LIST_ENTRY(sy_ctx) link; /* in the list of all */
    struct sy_transport_ctx *domain[SY_TRANSPORTS_MAX];
};

/* Stands for SHMEM_CTX_DEFAULT where a structure is needed. */
extern struct sy_ctx sy_ctx_default SY_HIDDEN;

/* The library's own messages to control windows: apart from the program's operations, so that
 * shmem_quiet on the default context does not wait for them. PEs are numbered as in the job. */
extern struct sy_ctx sy_ctx_control SY_HIDDEN;

static inline struct sy_ctx *sy_ctx_of(shmem_ctx_t handle)
{
    return handle == SHMEM_CTX_DEFAULT ? &sy_ctx_default : handle;
}

/* As sy_ctx_pe, by a search for the context; one that is none, or has no PE `pe`, ends the job. */
int sy_ctx_pe_checked(shmem_ctx_t ctx, int pe) __attribute__((cold));

/* Whether the handle is not SHMEM_CTX_INVALID; one that is no context ends the job. */
bool sy_ctx_given_checked(shmem_ctx_t ctx) __attribute__((cold));

static inline bool sy_ctx_given(shmem_ctx_t ctx)
{
    return ctx == SHMEM_CTX_DEFAULT ||
           SY_LIKELY((uintptr_t)ctx > sy_hot.not_ctx && ctx->members.size) ||
           sy_ctx_given_checked(ctx);
}

/* The number in the job of PE `pe` of a context's team. */
static inline int sy_ctx_pe(shmem_ctx_t ctx, int pe)
{
    if (SY_LIKELY(ctx == SHMEM_CTX_DEFAULT))
        return pe;
    if (SY_UNLIKELY((uintptr_t)ctx <= sy_hot.not_ctx ||
                    (unsigned)pe >= (unsigned)ctx->members.size))
        return sy_ctx_pe_checked(ctx, pe);
    return sy_members_pe(&ctx->members, pe);
}

/* Makes a context on a team: 0, or -errno with no context. Not collective; any thread. */
int sy_ctx_create(struct sy_team *team, long options, struct sy_ctx **ctx);

/* Completes what is under way on the context, then ends it. A routine that is given it after that
 * ends the job in words, until RETIRED (ctx.c) later ones have ended. */
void sy_ctx_destroy(struct sy_ctx *ctx);

/* Ends all contexts of a team, or with NULL all of the PE. */
void sy_ctx_destroy_all(const struct sy_team *team);

/* Opens sy_ctx_control where the transports permit it; elsewhere it is the default context. */
void sy_ctx_control_open(void);
void sy_ctx_control_close(void);

/* Tells the transports what the context's session is. */
void sy_ctx_session_tell(struct sy_ctx *ctx);

#endif

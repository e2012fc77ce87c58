#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/callsite.h"
#include "core/ctx.h"
#include "core/rma.h"
#include "core/start/world.h"
#include "util/log.h"

struct sy_ctx sy_ctx_default = {.team = &sy_team_world};
struct sy_ctx sy_ctx_control = {.team = &sy_team_world};

/* All contexts but the default one. Any thread may make and end contexts. */
static struct {
    pthread_mutex_t lock;
    LIST_HEAD(, sy_ctx) list;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Those that have ended last keep their memory for a while. They have no members, so a routine that
 * is given one takes the path on which it is searched for. Under the same lock. */
enum { RETIRED = 256 };
static struct sy_ctx *retired[RETIRED];
static unsigned retirements;

static const char *ctx_caller(void)
{
    return sy_callsite_routine("a routine on a context");
}

/* Ends the job where the handle is neither SHMEM_CTX_INVALID nor a context. */
static void ctx_check(shmem_ctx_t ctx)
{
    const struct sy_ctx *known;

    if (!sy_world.depth)
        sy_world_missing(ctx_caller());
    if (ctx == SHMEM_CTX_INVALID || ctx == &sy_ctx_control)
        return;
    pthread_mutex_lock(&all.lock);
    LIST_FOREACH (known, &all.list, link)
        if (known == ctx)
            break;
    pthread_mutex_unlock(&all.lock);
    if (!known)
        sy_fatal(
            "%s was given the context %p, which does not exist: it was never created, or has been "
            "destroyed, by itself or with its team",
            ctx_caller(), (void *)ctx);
}

bool sy_ctx_given_checked(shmem_ctx_t ctx)
{
    ctx_check(ctx);
    return ctx != SHMEM_CTX_INVALID;
}

int sy_ctx_pe_checked(shmem_ctx_t ctx, int pe)
{
    ctx_check(ctx);
    if (ctx == SHMEM_CTX_INVALID)
        sy_fatal("%s was given SHMEM_CTX_INVALID", ctx_caller());
    if ((unsigned)pe >= (unsigned)ctx->members.size)
        sy_fatal("%s was given PE %d on a context whose team has PEs 0 to %d", ctx_caller(), pe,
                 ctx->members.size - 1);
    return sy_members_pe(&ctx->members, pe);
}

static void ctx_close_domains(struct sy_ctx *ctx, unsigned count)
{
    while (count--)
        sy_routes.transport[count].table->ctx_close(sy_routes.transport[count].self,
                                                    ctx->domain[count]);
}

int sy_ctx_create(struct sy_team *team, long options, struct sy_ctx **out)
{
    struct sy_ctx *ctx = calloc(1, sizeof *ctx);
    struct sy_error why = {""};

    if (!ctx)
        return -ENOMEM;
    ctx->members = team->members;
    ctx->team = team;
    for (unsigned i = 0; i < sy_routes.count; i++) {
        int rc = sy_routes.transport[i].table->ctx_open(sy_routes.transport[i].self, options,
                                                        &ctx->domain[i], &why);
        if (rc) {
            sy_log(SY_LOG_INFO, "routes", "no context: transport %s: %s",
                   sy_routes.transport[i].plugin.name, why.text);
            ctx_close_domains(ctx, i);
            free(ctx);
            return rc;
        }
    }
    pthread_mutex_lock(&all.lock);
    LIST_INSERT_HEAD(&all.list, ctx, link);
    pthread_mutex_unlock(&all.lock);
    *out = ctx;
    return 0;
}

void sy_ctx_destroy(struct sy_ctx *ctx)
{
    sy_quiet(ctx, SY_ALL_PES);
    ctx_close_domains(ctx, sy_routes.count);
    pthread_mutex_lock(&all.lock);
    LIST_REMOVE(ctx, link);
    ctx->members.size = 0;
    struct sy_ctx **place = &retired[retirements++ % RETIRED], *oldest = *place;
    *place = ctx;
    pthread_mutex_unlock(&all.lock);
    free(oldest);
}

void sy_ctx_control_open(void)
{
    sy_ctx_control.members = sy_team_world.members;
    sy_ctx_default.session.open = false;
    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *route = &sy_routes.transport[i];
        if (route->table->ctx_open(route->self, 0, &sy_ctx_control.domain[i], NULL))
            sy_ctx_control.domain[i] = route->ctx;
    }
}

void sy_ctx_control_close(void)
{
    for (unsigned i = 0; i < sy_routes.count; i++)
        if (sy_ctx_control.domain[i] != sy_routes.transport[i].ctx)
            sy_routes.transport[i].table->ctx_close(sy_routes.transport[i].self,
                                                    sy_ctx_control.domain[i]);
}

/* Team destruction and finalisation come from one thread, when no other uses the team's contexts;
 * those of other teams may come and go, so the list is searched again after each. */
static struct sy_ctx *ctx_find_on(const struct sy_team *team)
{
    pthread_mutex_lock(&all.lock);
    struct sy_ctx *ctx = LIST_FIRST(&all.list);
    while (ctx && team && ctx->team != team)
        ctx = LIST_NEXT(ctx, link);
    pthread_mutex_unlock(&all.lock);
    return ctx;
}

void sy_ctx_destroy_all(const struct sy_team *team)
{
    struct sy_ctx *ctx;

    while ((ctx = ctx_find_on(team)))
        sy_ctx_destroy(ctx);
}

void sy_ctx_session_tell(struct sy_ctx *ctx)
{
    bool batch = ctx->session.open && (ctx->session.options & SHMEM_CTX_SESSION_BATCH);
    size_t operations = ctx->session.open ? ctx->session.total_ops : 0;
    shmem_ctx_t handle = ctx == &sy_ctx_default ? SHMEM_CTX_DEFAULT : ctx;

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *route = &sy_routes.transport[i];
        route->table->session(route->self, sy_issue_domain(route, handle), batch, operations);
    }
}

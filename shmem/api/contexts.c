/* Communication contexts (9.5) and sessions on them (9.9). */
#include <stdint.h>

#include "api/alias.h"
#include "core/ctx.h"
#include "core/start/world.h"

static int create(struct sy_team *team, long options, shmem_ctx_t *ctx)
{
    *ctx = SHMEM_CTX_INVALID;
    return team ? sy_ctx_create(team, options, ctx) : -1;
}

int pshmem_ctx_create(long options, shmem_ctx_t *ctx)
{
    sy_world_need("shmem_ctx_create");
    return create(&sy_team_world, options, ctx);
}
SY_ALIAS(shmem_ctx_create);

int pshmem_team_create_ctx(shmem_team_t team, long options, shmem_ctx_t *ctx)
{
    return create(sy_team_need(team, "shmem_team_create_ctx"), options, ctx);
}
SY_ALIAS(shmem_team_create_ctx);

void pshmem_ctx_destroy(shmem_ctx_t ctx)
{
    sy_world_need("shmem_ctx_destroy");
    if (ctx == SHMEM_CTX_DEFAULT)
        sy_fatal("shmem_ctx_destroy was given SHMEM_CTX_DEFAULT, which cannot be destroyed");
    if (sy_ctx_given_checked(ctx))
        sy_ctx_destroy(ctx);
}
SY_ALIAS(shmem_ctx_destroy);

int pshmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t *team)
{
    sy_world_need("shmem_ctx_get_team");
    *team = SHMEM_TEAM_INVALID;
    if (!sy_ctx_given(ctx))
        return -1;
    *team = sy_team_handle(sy_ctx_of(ctx)->team);
    return 0;
}
SY_ALIAS(shmem_ctx_get_team);

void pshmem_ctx_session_start(shmem_ctx_t handle, long options,
                              const shmem_ctx_session_config_t *config, long config_mask)
{
    sy_world_need("shmem_ctx_session_start");
    if (!sy_ctx_given(handle))
        return;
    struct sy_ctx *ctx = sy_ctx_of(handle);
    if (!ctx->session.open) {
        ctx->session.options = 0;
        ctx->session.total_ops = SIZE_MAX;
    }
    ctx->session.open = true;
    ctx->session.options |= options;
    if (config && config_mask & SHMEM_CTX_SESSION_TOTAL_OPS)
        ctx->session.total_ops = config->total_ops;
    sy_ctx_session_tell(ctx);
}
SY_ALIAS(shmem_ctx_session_start);

void pshmem_ctx_session_stop(shmem_ctx_t handle)
{
    sy_world_need("shmem_ctx_session_stop");
    if (!sy_ctx_given(handle) || !sy_ctx_of(handle)->session.open)
        return;
    sy_ctx_of(handle)->session.open = false;
    sy_ctx_session_tell(sy_ctx_of(handle));
}
SY_ALIAS(shmem_ctx_session_stop);

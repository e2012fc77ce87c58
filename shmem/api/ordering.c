/* Memory ordering (9.12). */
#include "api/alias.h"
#include "core/rma.h"

static void ordering_pe_quiet(shmem_ctx_t ctx, const int *target_pes, size_t npes)
{
    if (!sy_ctx_given(ctx))
        return;
    for (size_t i = 0; i < npes; i++) {
        int pe = sy_ctx_pe(ctx, target_pes[i]);
        sy_rma_check_pe("shmem_pe_quiet", pe);
        sy_quiet(ctx, pe);
    }
}

void pshmem_fence(void)
{
    sy_fence(SHMEM_CTX_DEFAULT);
}
SY_ALIAS(shmem_fence);

void pshmem_ctx_fence(shmem_ctx_t ctx)
{
    if (sy_ctx_given(ctx))
        sy_fence(ctx);
}
SY_ALIAS(shmem_ctx_fence);

void pshmem_quiet(void)
{
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
}
SY_ALIAS(shmem_quiet);

void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
    if (sy_ctx_given(ctx))
        sy_quiet(ctx, SY_ALL_PES);
}
SY_ALIAS(shmem_ctx_quiet);

SY_DEFINE_CTX(void, pe_quiet, (const int *target_pes, size_t npes),
              ordering_pe_quiet(ctx, target_pes, npes);)

/* ---- removed with 1.4 ---- */

#define DEFINE_NOTHING(NAME, PARAMETERS, ...) SY_DEFINE(void, shmem_##NAME, PARAMETERS, __VA_ARGS__)

DEFINE_NOTHING(clear_cache_inv, (void), )
DEFINE_NOTHING(set_cache_inv, (void), )
DEFINE_NOTHING(clear_cache_line_inv, (void *dest), (void)dest;)
DEFINE_NOTHING(set_cache_line_inv, (void *dest), (void)dest;)
DEFINE_NOTHING(udcflush, (void), )
DEFINE_NOTHING(udcflush_line, (void *dest), (void)dest;)

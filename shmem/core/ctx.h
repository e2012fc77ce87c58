/* Communication contexts. There is one: SHMEM_CTX_DEFAULT, over all PEs. */
#ifndef SY_CORE_CTX_H
#define SY_CORE_CTX_H

#include <shmem.h>

#include "core/fatal.h"
#include "util/bits.h"

/* The number in the job of PE `pe` of a context's team. */
static inline int sy_ctx_pe(shmem_ctx_t ctx, int pe)
{
    if (SY_UNLIKELY(ctx != SHMEM_CTX_DEFAULT))
        sy_fatal("a communication routine was given an invalid context");
    return pe;
}

#endif

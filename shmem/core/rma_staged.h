/* Transfers for which this PE has memory of a device, on the local side or, where the PE is itself,
 * on the other: through memory of the host, in pieces. The slow paths of rma.c, amo.c and signal.c
 * ask these first; false: there is no such memory in it, and nothing has been done. */
#ifndef SY_CORE_RMA_STAGED_H
#define SY_CORE_RMA_STAGED_H

#include "core/memory/staged.h"
#include "core/rma.h"

/* Complete at the source on return, a get complete. */
bool sy_rma_staged_put(const char *what, shmem_ctx_t ctx, const struct sy_target *target,
                       const void *source, size_t length, int pe);
bool sy_rma_staged_get(const char *what, shmem_ctx_t ctx, void *dest,
                       const struct sy_target *target, size_t length, int pe);

/* Whether a put of `length` bytes is for sy_rma_staged_put. */
bool sy_rma_staged(const struct sy_target *target, const void *local, size_t length, int pe);

/* Strided ones with another PE's memory that is not mapped. False: the blocks are moved one by one. */
bool sy_rma_staged_put_strided(const char *what, shmem_ctx_t ctx, const struct sy_strided *s);
bool sy_rma_staged_get_strided(const char *what, shmem_ctx_t ctx, const struct sy_strided *s);

/* An atomic operation whose result goes to memory of the host: ends the job where the space has
 * none. False: the transport carries it. */
bool sy_rma_staged_amo(const char *what, const struct sy_amo *amo);

#endif

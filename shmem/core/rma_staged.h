/* Transfers for which this PE has memory of a device, on the local side or, where the PE is itself,
 * on the other: through memory of the host, in pieces. The slow paths of rma.c, amo.c and signal.c
 * ask these first; false: there is no such memory in it, and nothing has been done. */
#ifndef SY_CORE_RMA_STAGED_H
#define SY_CORE_RMA_STAGED_H

#include "core/memory/staged.h"
#include "core/rma.h"

/* A put, or a get, between `local` here and the target. Complete at the source on return, a get
 * complete. */
bool sy_rma_staged_transfer(const char *what, shmem_ctx_t ctx, const struct sy_target *target,
                            void *local, size_t length, int pe, bool put);

/* Whether a put of `length` bytes is for sy_rma_staged_transfer. */
bool sy_rma_staged(const struct sy_target *target, const void *local, size_t length, int pe);

/* A strided put or get with another PE's memory that is not mapped. False: the blocks are moved one
 * by one. */
bool sy_rma_staged_strided(const char *what, shmem_ctx_t ctx, const struct sy_strided *s, bool put);

/* An atomic operation whose result goes to memory of the host: ends the job where the space has
 * none. False: the transport carries it. */
bool sy_rma_staged_amo(const char *what, const struct sy_amo *amo);

#endif

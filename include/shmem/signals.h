/* Signalling operations (9.8).
 *
 * A signal is a symmetric uint64_t, changed atomically with respect to other signal operations of
 * the same kind, shmem_signal_fetch and all of point-to-point synchronisation. sig_op is
 * SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD. PE numbers, addresses and counts are those of put (9.6). A
 * PE, an address or a sig_op that does not exist is an error of the program (Annex C), which ends
 * the job with a message. */
#ifndef SY_API
#include "../shmem.h"
#else

/* clang-format off */

/* put_signal (9.8.3): put, and then the change of sig_addr on PE pe by signal. A PE that sees the
 * signal finds the data, but not necessarily what other calls have sent. On return source may be
 * used again. With no elements the signal alone is sent.
 *
 * put_signal_nbi (9.8.4): starts the same. source must stay as it is until a quiet has returned. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_API_CTX(void, TYPENAME##_put_signal, TYPE *dest, const TYPE *source, size_t nelems, \
               uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    SY_API_CTX(void, TYPENAME##_put_signal_nbi, TYPE *dest, const TYPE *source, size_t nelems, \
               uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
SY_RMA_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(SIZE, BYTES) \
    SY_API_CTX(void, put##SIZE##_signal, void *dest, const void *source, size_t nelems, \
               uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    SY_API_CTX(void, put##SIZE##_signal_nbi, void *dest, const void *source, size_t nelems, \
               uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
SY_SIZES_AND_MEM(SY_DECLARE)
#undef SY_DECLARE

/* clang-format on */

/* Adds to the signal on PE pe (9.8.5), or writes it (9.8.7), without data. In C11 the names without
 * ctx_ also take a context as their first argument. */
void SY_API(shmem_signal_add)(uint64_t *sig_addr, uint64_t signal, int pe);
void SY_API(shmem_ctx_signal_add)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);
void SY_API(shmem_signal_set)(uint64_t *sig_addr, uint64_t signal, int pe);
void SY_API(shmem_ctx_signal_set)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);

/* The value of this PE's signal (9.8.6). */
uint64_t SY_API(shmem_signal_fetch)(const uint64_t *sig_addr);

#endif

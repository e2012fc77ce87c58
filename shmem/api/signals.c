/* Signalling operations (9.8): thunks over core/signal.h and core/amo.h, expanded over the type
 * tables. */
#include "api/alias.h"
#include "api/lists.h"
#include "core/signal.h"
#include "core/wait/wait.h"

/* clang-format off */

/* put_signal, blocking and nonblocking, of elements of one type or size. No get has a signal. */
#define DEFINE_FORM(NAME, TYPE, BYTES, FLAGS) \
    SY_DEFINE_CTX(void, NAME, (TYPE *dest, const TYPE *source, size_t nelems, uint64_t *sig_addr, \
                               uint64_t signal, int sig_op, int pe), \
                  sy_put_signal(ctx, dest, source, sy_bytes(nelems, BYTES), sig_addr, signal, sig_op, pe, FLAGS);)
#define DEFINE_CONTIGUOUS(PUT, GET, TYPE, BYTES) \
    DEFINE_FORM(PUT##_signal, TYPE, BYTES, SY_BLOCKING) \
    DEFINE_FORM(PUT##_signal_nbi, TYPE, BYTES, 0)
SY_CONTIGUOUS

SY_DEFINE_CTX(void, signal_add, (uint64_t *sig_addr, uint64_t signal, int pe),
              sy_amo_update(ctx, SY_AMO_ADD, sig_addr, sizeof *sig_addr, signal, pe);)
SY_DEFINE_CTX(void, signal_set, (uint64_t *sig_addr, uint64_t signal, int pe),
              sy_amo_update(ctx, SY_AMO_SET, sig_addr, sizeof *sig_addr, signal, pe);)

/* clang-format on */

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
    sy_wait_looked(true);
    return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}
SY_ALIAS(shmem_signal_fetch);

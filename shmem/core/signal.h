/* put with signal (9.8.3, 9.8.4): data, and a change of the target's signal word that is seen only
 * after the data. Setting and adding without data are atomic operations (amo.h).
 *
 * Where data and signal are both mapped here it is a copy and one atomic instruction; where
 * both go through a transport, one call of it; everything else, and every error, takes the slow
 * path. */
#ifndef SY_CORE_SIGNAL_H
#define SY_CORE_SIGNAL_H

#include "core/amo.h"
#include "core/rma.h"

/* The arguments of put with signal: `length` bytes from source here to dest on PE pe, then the
 * change of sig_addr there by `signal` and sig_op, a SHMEM_SIGNAL_ constant. */
struct sy_signal_put {
    void *dest;
    const void *source;
    size_t length;
    uint64_t *sig_addr;
    uint64_t signal;
    int sig_op;
};

/* Where neither data nor signal are mapped, and after a full search and all checks. pe is the
 * number in the job. flags: SY_BLOCKING or 0. */
void sy_put_signal_far(shmem_ctx_t ctx, const struct sy_signal_put *put, int pe, unsigned flags);
void sy_put_signal_slow(shmem_ctx_t ctx, const struct sy_signal_put *put, int pe, unsigned flags);

/* The store of the signal must not pass those of the data. The atomic operation has release order,
 * which on x86 is no instruction: the processor keeps stores in order, but for non-temporal ones,
 * which memcpy uses for large blocks. This relies on memcpy to end those with sfence, as the GNU C
 * library's does. */
SY_INLINE void sy_put_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t length,
                             uint64_t *sig_addr, uint64_t signal, int sig_op, int pe,
                             unsigned flags)
{
    pe = sy_ctx_pe(ctx, pe);
    bool elsewhere = false, leaves = sy_hot_leaves(pe);
    void *there = SY_UNLIKELY(leaves) ? NULL : sy_rma_place(dest, length, pe, &elsewhere);
    uint64_t *word = SY_UNLIKELY(leaves) ? NULL : sy_window_place(sig_addr, pe, &elsewhere);
    bool known = sig_op == SHMEM_SIGNAL_SET || sig_op == SHMEM_SIGNAL_ADD;
    if (SY_LIKELY(there && word && known)) {
        sy_copy(there, source, length);
        if (sig_op == SHMEM_SIGNAL_SET)
            sy_amo_here64(SY_AMO_SET, word, signal, 0);
        else
            sy_amo_here64(SY_AMO_ADD, word, signal, 0);
    } else {
        const struct sy_signal_put put = {dest, source, length, sig_addr, signal, sig_op};
        (there || word ? sy_put_signal_slow : sy_put_signal_far)(ctx, &put, pe, flags);
    }
}

#endif

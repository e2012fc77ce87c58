/* put with signal where data or signal are not mapped here, and its errors: see signal.h. */
#include "core/signal.h"

#include "core/callsite.h"
#include "core/rma_staged.h"

static const char what[] = "put_signal";

static enum sy_amo_op signal_operation(int sig_op, int pe)
{
    if (sig_op == SHMEM_SIGNAL_SET)
        return SY_AMO_SET;
    if (sig_op == SHMEM_SIGNAL_ADD)
        return SY_AMO_ADD;
    sy_fatal("%s with PE %d: %d is not one of the signal operators SHMEM_SIGNAL_SET and "
             "SHMEM_SIGNAL_ADD",
             sy_callsite_routine(what), pe, sig_op);
}

static struct sy_target signal_target(const struct sy_signal_put *put, int pe)
{
    if ((uintptr_t)put->sig_addr % sizeof *put->sig_addr)
        sy_fatal("%s with PE %d: sig_addr %p is not aligned to the 8 bytes of a signal",
                 sy_callsite_routine(what), pe, (void *)put->sig_addr);
    return sy_rma_target(what, put->sig_addr, sizeof *put->sig_addr, pe);
}

/* Sends data and signal, where both go through the route's transport. */
SY_INLINE void signal_send_both(shmem_ctx_t ctx, const struct sy_signal_put *put, enum sy_amo_op op,
                                const struct sy_target *data, const struct sy_target *signal,
                                int pe, unsigned flags)
{
    const struct sy_transfer t = sy_rma_transfer(data, put->source, put->length, pe);
    const struct sy_amo word = {.pe = pe,
                                .window = signal->window,
                                .offset = signal->offset,
                                .op = op,
                                .width = sizeof put->signal,
                                .operand = put->signal};

    sy_issue_put_signal(what, ctx, &t, &word, flags);
}

/* Neither the processor nor a fence orders stores to mapped memory against a transport's
 * operations, so this function does: data that travel must have arrived before the signal is
 * stored, and data that were stored must be visible to the PE that applies a signal that travels.
 */
SY_COLD void sy_put_signal_slow(shmem_ctx_t ctx, const struct sy_signal_put *put, int pe,
                                unsigned flags)
{
    sy_rma_check_pe(what, pe);
    enum sy_amo_op op = signal_operation(put->sig_op, pe);
    struct sy_target signal = signal_target(put, pe);

    if (put->length) {
        struct sy_target data = sy_rma_target(what, put->dest, put->length, pe);
        bool applied = !sy_staged_is(signal.window) || sy_staged_has_amo(signal.window);
        if (!data.here && !signal.here && applied &&
            !sy_rma_staged(&data, put->source, put->length, pe)) {
            signal_send_both(ctx, put, op, &data, &signal, pe, flags);
            return;
        }
        sy_put_slow(ctx, put->dest, put->source, put->length, pe, flags);
        if (!data.here)
            sy_quiet(ctx, pe);
        else if (!signal.here)
            atomic_thread_fence(memory_order_seq_cst);
    }
    sy_amo_slow(ctx, op, put->sig_addr, sizeof put->signal, put->signal, 0, NULL, false, pe);
}

/* Where sy_rma_route finds neither, both are checked and explained by the slow path. */
void sy_put_signal_far(shmem_ctx_t ctx, const struct sy_signal_put *put, int pe, unsigned flags)
{
    struct sy_target data, word;
    bool known = put->sig_op == SHMEM_SIGNAL_SET || put->sig_op == SHMEM_SIGNAL_ADD;
    bool aligned = (uintptr_t)put->sig_addr % sizeof put->signal == 0;

    if (SY_UNLIKELY(
            !known || !aligned ||
            !sy_rma_route(put->dest, put->length, pe, &data.window, &data.offset) ||
            !sy_rma_route(put->sig_addr, sizeof put->signal, pe, &word.window, &word.offset)))
        sy_put_signal_slow(ctx, put, pe, flags);
    else
        signal_send_both(ctx, put, put->sig_op == SHMEM_SIGNAL_SET ? SY_AMO_SET : SY_AMO_ADD, &data,
                         &word, pe, flags);
}

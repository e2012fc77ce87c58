/* Atomic operations on memory that is not mapped here, and on wrong addresses: see amo.h. */
#include "core/amo.h"
#include "core/callsite.h"
#include "core/rma_staged.h"

static const char what[] = "atomic operation";

/* Called by transports for other PEs. */
SY_ORDERED_ELSEWHERE void sy_amo_apply(enum sy_amo_op op, void *address, size_t width,
                                       uint64_t operand, uint64_t compare, uint64_t *result)
{
    SY_TELL_RELEASE(address);
    uint64_t old = sy_amo_here(op, address, width, operand, compare);
    if (result)
        *result = old;
}

/* The address of a word in a mapped memory space, which the inline path has not looked for. NULL:
 * it is elsewhere, or an error to be explained. */
SY_INLINE void *core_amo_reach_space(const void *address, unsigned width, int pe)
{
    return SY_UNLIKELY(((uintptr_t)address & (width - 1)) != 0)
               ? NULL
               : sy_rma_reach_space(address, width, pe);
}

/* Inlined, so that constant arguments leave out the code that they make needless. */
SY_INLINE void core_amo_far(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                            uint64_t operand, uint64_t compare, void *result, bool blocking, int pe)
{
    struct sy_amo amo;
    const struct sy_route_transport *route = sy_rma_route(address, width, pe, &amo.window,
                                                          &amo.offset);

    if (SY_UNLIKELY(!route || ((uintptr_t)address & (width - 1)) != 0)) {
        void *at = result && !blocking ? core_amo_reach_space(address, width, pe) : NULL;
        if (at)
            sy_amo_unbits(result, width, sy_amo_here(op, at, width, operand, compare));
        else
            sy_amo_slow(ctx, op, address, width, operand, compare, result, blocking, pe);
        return;
    }
    amo.pe = pe;
    amo.op = op;
    amo.width = width;
    amo.operand = operand;
    amo.compare = compare;
    amo.result = result;
    sy_issue_amo_by(route, what, ctx, &amo, blocking ? SY_BLOCKING : 0);
}

void sy_amo_far(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width, uint64_t operand,
                uint64_t compare, void *result, bool blocking, int pe)
{
    core_amo_far(ctx, op, address, width, operand, compare, result, blocking, pe);
}

void sy_amo_update_far(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                       uint64_t operand, int pe)
{
    core_amo_far(ctx, op, address, width, operand, 0, NULL, false, pe);
}

void sy_amo_update_elsewhere(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                             uint64_t operand, int pe)
{
    void *at = core_amo_reach_space(address, width, pe);

    if (SY_LIKELY(at != NULL))
        sy_amo_here(op, at, width, operand, 0);
    else
        sy_amo_update_far(ctx, op, address, width, operand, pe);
}

uint64_t sy_amo_fetch_elsewhere(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                                uint64_t operand, uint64_t compare, int pe)
{
    void *at = core_amo_reach_space(address, width, pe);
    uint64_t old = 0;

    if (SY_LIKELY(at != NULL)) {
        sy_wait_looked(op == SY_AMO_FETCH && at == address);
        return sy_amo_here(op, at, width, operand, compare);
    }
    sy_amo_far(ctx, op, address, width, operand, compare, &old, true, pe);
    return sy_amo_bits(&old, width);
}

void sy_amo_slow(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                 uint64_t operand, uint64_t compare, void *result, bool blocking, int pe)
{
    struct sy_target target = sy_rma_target(what, address, width, pe);
    unsigned window;
    uint64_t offset, old = 0;

    if (result && sy_staged_has(result, &window, &offset)) {
        sy_amo_slow(ctx, op, address, width, operand, compare, &old, true, pe);
        sy_staged_copy(window, true, offset, &old, width);
        return;
    }
    if (op != SY_AMO_FETCH)
        sy_rma_check_writable(what, &target, address, pe);
    if ((uintptr_t)address % width)
        sy_fatal("%s with PE %d: address %p is not aligned to its %u bytes",
                 sy_callsite_routine(what), pe, address, width);
    struct sy_amo amo = {.pe = pe,
                         .window = target.window,
                         .offset = target.offset,
                         .op = op,
                         .width = width,
                         .operand = operand,
                         .compare = compare,
                         .result = result};
    if (sy_rma_staged_amo(what, &amo))
        return;
    if (target.here) {
        sy_wait_looked(op == SY_AMO_FETCH && target.here == address);
        old = sy_amo_here(op, target.here, width, operand, compare);
        if (result)
            sy_amo_unbits(result, width, old);
        return;
    }
    sy_issue_amo(what, ctx, &amo, blocking ? SY_BLOCKING : 0);
}

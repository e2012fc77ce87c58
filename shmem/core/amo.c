/* The paths of amo.h that are not one instruction. */
#include "core/amo.h"
#include "core/rma.h"

/* Called by transports for other PEs. */
SY_ORDERED_ELSEWHERE void sy_amo_apply(enum sy_amo_op op, void *address, size_t width,
                                       uint64_t operand, uint64_t compare, uint64_t *result)
{
    uint64_t old = sy_amo_here(op, address, width, operand, compare);
    if (result)
        *result = old;
}

SY_COLD void sy_amo_slow(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                         uint64_t operand, uint64_t compare, void *result, bool blocking, int pe)
{
    struct sy_target target = sy_rma_target("atomic operation", address, width, pe);

    if ((uintptr_t)address % width)
        sy_fatal("atomic operation with PE %d: address %p is not aligned to its %u bytes", pe,
                 address, width);
    if (target.here) {
        uint64_t old = sy_amo_here(op, target.here, width, operand, compare);
        if (result)
            sy_amo_unbits(result, width, old);
        return;
    }
    struct sy_route_transport *route = sy_route_to(pe);
    struct sy_amo amo = {.pe = pe,
                         .window = target.window,
                         .offset = target.offset,
                         .op = op,
                         .width = width,
                         .operand = operand,
                         .compare = compare,
                         .result = result};
    unsigned flags = blocking ? SY_BLOCKING : 0;
    while (sy_rma_again(route->table->amo(sy_rma_domain(route, ctx), &amo, flags),
                        "atomic operation", pe))
        ;
}

/* Transfers that are not a plain copy, and the checks of addresses: see rma.h. */
#include <stdio.h>
#include <string.h>

#include "core/callsite.h"
#include "core/start/config.h"
#include "core/memory/heap.h"
#include "core/rma.h"
#include "core/rma_staged.h"
#include "core/start/world.h"

/* ---- errors ---- */

void sy_rma_check_pe(const char *what, int pe)
{
    if (SY_UNLIKELY(!sy_world.depth))
        sy_world_missing(what);
    if (SY_UNLIKELY((unsigned)pe >= (unsigned)sy_world.npes))
        sy_fatal("%s: there is no PE %d; this job has PEs 0 to %d", sy_callsite_routine(what), pe,
                 sy_world.npes - 1);
}

static SY_COLD void core_rma_bad_address(const char *what, const void *address, int pe)
{
    const struct sy_region *heap = &sy_windows.entry[SY_WINDOW_HEAP].own;
    unsigned window;
    uint64_t offset;
    int where = sy_windows_mapped(address, &window, &offset);

    if (where >= 0)
        sy_fatal("%s with PE %d: address %p is not symmetric: PE %d's memory is there in this "
                 "process, as shmem_ptr tells. The symmetric address of what is there is %p",
                 sy_callsite_routine(what), pe, address, where,
                 (void *)((char *)sy_windows.entry[window].own.base + offset));
    sy_fatal(
        "%s with PE %d: address %p is not symmetric: it is neither in the symmetric heap (%p, "
        "%zu bytes) or a memory space nor a global or static variable of the executable. Local "
        "variables, malloc memory and variables of shared libraries are not",
        sy_callsite_routine(what), pe, address, (void *)heap->base, heap->length);
}

static SY_COLD void core_rma_bad_extent(const char *what, const void *address, size_t length,
                                        int pe, unsigned window, uint64_t offset)
{
    sy_fatal("%s with PE %d: %zu bytes at %p reach %zu bytes past the end of the %s",
             sy_callsite_routine(what), pe, length, address,
             (size_t)(length - (sy_windows.entry[window].own.length - offset)),
             sy_windows.entry[window].heap ? sy_windows.entry[window].heap->name
                                           : "executable's data");
}

static SY_COLD void core_rma_no_counterpart(const char *what, const struct sy_window_entry *entry,
                                            const void *address, int pe)
{
    if (entry->heap)
        sy_fatal("%s with PE %d: %p is in the %s, but PE %d on host %s is not in the space's team",
                 sy_callsite_routine(what), pe, address, entry->heap->name, pe,
                 sy_world_place(pe).host);
    sy_fatal("%s with PE %d: %p is a global or static variable, but PE %d on host %s runs another "
             "executable, so the variable has no counterpart there; use the symmetric heap",
             sy_callsite_routine(what), pe, address, pe, sy_world_place(pe).host);
}

void sy_rma_check_writable(const char *what, const struct sy_target *target, const void *address,
                           int pe)
{
    if (sy_windows_constant(target->window))
        sy_fatal("%s with PE %d: %p is a constant of the executable; only reading is possible",
                 sy_callsite_routine(what), pe, address);
}

/* SHMEM_CHECK: all PEs have the same blocks, so this PE's records hold for those of PE pe too; -1:
 * the local side of a transfer. */
static void core_rma_check_block(const char *what, struct sy_heap *heap, const void *address,
                                 size_t length, int pe)
{
    char whose[32] = ", on this PE's side";
    const void *begin;
    size_t size, within = sy_heap_within(heap, address, length, &begin, &size);

    if (within == length)
        return;
    if (pe >= 0)
        snprintf(whose, sizeof whose, " with PE %d", pe);
    if (!begin)
        sy_fatal("%s%s: address %p is in the %s, but in no block of it: what was there has been "
                 "freed, or was never allocated",
                 sy_callsite_routine(what), whose, address, heap->name);
    sy_fatal("%s%s: %zu bytes at %p reach %zu bytes past the end of a block of %zu bytes at %p of "
             "the %s",
             sy_callsite_routine(what), whose, length, address, length - within, size, begin,
             heap->name);
}

/* The local side of a transfer need not be in a heap. */
static void core_rma_check_local(const char *what, const void *local, size_t length)
{
    unsigned window;
    uint64_t offset;

    if (!sy_config.check || sy_windows_find(local, &window, &offset))
        return;
    struct sy_heap *heap = sy_windows.entry[window].heap;
    if (heap)
        core_rma_check_block(what, heap, local, length, -1);
}

struct sy_target sy_rma_target(const char *what, const void *address, size_t length, int pe)
{
    struct sy_target target;

    sy_rma_check_pe(what, pe);
    if (sy_windows_find(address, &target.window, &target.offset))
        core_rma_bad_address(what, address, pe);
    const struct sy_window_entry *entry = &sy_windows.entry[target.window];
    if (length > entry->own.length - target.offset)
        core_rma_bad_extent(what, address, length, pe, target.window, target.offset);
    if (sy_config.check && entry->heap)
        core_rma_check_block(what, entry->heap, address, length, pe);
    if (!sy_windows_usable(target.window, pe))
        core_rma_no_counterpart(what, entry, address, pe);
    if (target.window >= SY_WINDOWS_START)
        sy_windows_hot_space(target.window);
    char *base = sy_windows_peer(target.window, pe);
    target.here = base ? base + target.offset : NULL;
    return target;
}

/* SHMEM_CHECK: source and destination overlap on this PE, so the result would be undefined. */
static void core_rma_check_overlap(const char *what, const char *here, const void *local,
                                   size_t length)
{
    const char *other = local;

    if (sy_config.check && here && here < other + length && other < here + length)
        sy_fatal("%s: %zu bytes at %p and at %p overlap on PE %d itself", sy_callsite_routine(what),
                 length, (const void *)here, local, sy_world.pe);
}

/* For the slow path, which is marked as cold: in such a function gcc copies by an instruction that
 * is slow for much data, and all data come this way while there is memory of a device. */
static __attribute__((noinline)) void core_rma_copy(void *to, const void *from, size_t length)
{
    sy_copy(to, from, length);
}

static __attribute__((cold)) void core_rma_slow(shmem_ctx_t ctx, void *remote, void *local,
                                                size_t length, int pe, unsigned flags, bool put)
{
    const char *what = put ? "put" : "get";

    if (!length)
        return;
    struct sy_target target = sy_rma_target(what, remote, length, pe);
    if (put)
        sy_rma_check_writable(what, &target, remote, pe);
    core_rma_check_local(what, local, length);
    core_rma_check_overlap(what, target.here, local, length);
    if (sy_rma_staged_transfer(what, ctx, &target, local, length, pe, put))
        return;
    const struct sy_transfer t = sy_rma_transfer(&target, local, length, pe);
    if (!target.here) {
        (put ? sy_issue_put : sy_issue_get)(what, ctx, &t, flags);
    } else if (put) {
        core_rma_copy(target.here, local, length);
    } else {
        core_rma_copy(local, target.here, length);
        sy_get_over(target.here == remote);
    }
}

void sy_put_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                 unsigned flags)
{
    core_rma_slow(ctx, dest, (void *)source, length, pe, flags, true);
}

SY_INLINE void core_rma_far(shmem_ctx_t ctx, void *remote, void *local, size_t length, int pe,
                            unsigned flags, bool put)
{
    struct sy_transfer t;
    const struct sy_route_transport *route = sy_rma_route(remote, length, pe, &t.window, &t.offset);

    if (SY_UNLIKELY(!route)) {
        core_rma_slow(ctx, remote, local, length, pe, flags, put);
        return;
    }
    t.pe = pe;
    t.local = local;
    t.length = length;
    if (put)
        sy_issue_put_by(route, "put", ctx, &t, flags);
    else
        sy_issue_get_by(route, "get", ctx, &t, flags);
}

void sy_put_far(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                unsigned flags)
{
    core_rma_far(ctx, dest, (void *)source, length, pe, flags, true);
}

void sy_p_far32(shmem_ctx_t ctx, void *dest, uint32_t value, int pe)
{
    core_rma_far(ctx, dest, &value, sizeof value, pe, SY_BLOCKING, true);
}

void sy_p_far64(shmem_ctx_t ctx, void *dest, uint64_t value, int pe)
{
    core_rma_far(ctx, dest, &value, sizeof value, pe, SY_BLOCKING, true);
}

void sy_put_elsewhere(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                      unsigned flags)
{
    void *there = sy_rma_reach_space(dest, length, pe);

    if (SY_LIKELY(there != NULL))
        sy_copy(there, source, length);
    else
        sy_put_far(ctx, dest, source, length, pe, flags);
}

void sy_get_far(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                unsigned flags)
{
    core_rma_far(ctx, (void *)source, dest, length, pe, flags, false);
}

void sy_get_elsewhere(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                      unsigned flags)
{
    const void *there = sy_rma_reach_space(source, length, pe);

    if (SY_UNLIKELY(!there)) {
        sy_get_far(ctx, dest, source, length, pe, flags);
        return;
    }
    sy_copy(dest, there, length);
    sy_get_over(there == source);
}

/* ---- strided ---- */

#define STRIDE_ELEMENTS(TYPE)                                                                      \
    for (; blocks; blocks--, to += to_stride, from += from_stride)                                 \
    memcpy(to, from, sizeof(TYPE))

/* Moves blocks between two mapped places; each element whole. */
static void core_rma_stride(char *to, const char *from, ptrdiff_t to_stride, ptrdiff_t from_stride,
                            size_t block, size_t blocks)
{
    switch (block) {
    case 1:
        STRIDE_ELEMENTS(uint8_t);
        break;
    case 2:
        STRIDE_ELEMENTS(uint16_t);
        break;
    case 4:
        STRIDE_ELEMENTS(uint32_t);
        break;
    case 8:
        STRIDE_ELEMENTS(uint64_t);
        break;
    default:
        for (; blocks; blocks--, to += to_stride, from += from_stride)
            sy_copy_bytes(to, from, block);
    }
}

static void core_rma_check_stride(const char *what, ptrdiff_t stride, size_t blocks, int pe)
{
    ptrdiff_t reach;

    if (__builtin_mul_overflow(stride, blocks, &reach))
        sy_fatal("%s with PE %d: a stride of %td bytes times %zu blocks is too long",
                 sy_callsite_routine(what), pe, stride, blocks);
}

/* The remote side of a strided transfer: the first block's target, after checking that the last
 * block is in the same window too; those between are then as well. */
static struct sy_target core_rma_strided_target(const char *what, const void *remote,
                                                ptrdiff_t remote_stride, size_t block,
                                                size_t blocks, int pe)
{
    struct sy_target first = sy_rma_target(what, remote, block, pe);
    ptrdiff_t reach = remote_stride * (ptrdiff_t)(blocks - 1);
    uint64_t last_offset = first.offset + (uint64_t)reach; /* huge before the window */
    if (SY_LIKELY(!sy_config.check &&
                  last_offset <= sy_windows.entry[first.window].own.length - block))
        return first;
    struct sy_target last = sy_rma_target(what, (const char *)remote + reach, block, pe);
    if (last.window != first.window)
        core_rma_bad_address(what, (const char *)remote + reach, pe);
    return first;
}

static void core_rma_strided(shmem_ctx_t ctx, char *remote, char *local, ptrdiff_t remote_stride,
                             ptrdiff_t local_stride, size_t block, size_t blocks, int pe,
                             unsigned flags, bool put)
{
    const char *what = put ? "iput" : "iget";

    if (!block || !blocks)
        return;
    pe = sy_ctx_pe(ctx, pe);
    core_rma_check_stride(what, remote_stride, blocks, pe);
    core_rma_check_stride(what, local_stride, blocks, pe);
    struct sy_target target = core_rma_strided_target(what, remote, remote_stride, block, blocks,
                                                      pe);
    if (put)
        sy_rma_check_writable(what, &target, remote, pe);
    bool staged = sy_rma_staged(&target, local, 0, pe), far = !target.here && pe != sy_world.pe;
    if (target.here && !staged && put) {
        core_rma_stride(target.here, local, remote_stride, local_stride, block, blocks);
        return;
    }
    if (target.here && !staged) {
        core_rma_stride(local, target.here, local_stride, remote_stride, block, blocks);
        sy_get_over(target.here == remote);
        return;
    }
    const struct sy_strided t = {.first = sy_rma_transfer(&target, local, 0, pe),
                                 .block = block,
                                 .blocks = blocks,
                                 .remote_stride = remote_stride,
                                 .local_stride = local_stride};
    if (staged ? far && sy_rma_staged_strided(what, ctx, &t, put)
               : sy_issue_strided(what, ctx, &t, flags, put))
        return;
    for (; blocks; blocks--, remote += remote_stride, local += local_stride)
        core_rma_slow(ctx, remote, local, block, pe, flags, put);
}

void sy_put_strided(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dest_stride,
                    ptrdiff_t source_stride, size_t block, size_t blocks, int pe, unsigned flags)
{
    core_rma_strided(ctx, dest, (char *)source, dest_stride, source_stride, block, blocks, pe,
                     flags, true);
}

void sy_get_strided(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dest_stride,
                    ptrdiff_t source_stride, size_t block, size_t blocks, int pe, unsigned flags)
{
    core_rma_strided(ctx, (char *)source, dest, source_stride, dest_stride, block, blocks, pe,
                     flags, false);
}

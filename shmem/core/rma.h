/* Moving bytes between this PE and another, for all of chapter 9.6, and memory ordering (9.12).
 *
 * Where the other PE's memory is mapped it is a load, a store or a memcpy here; otherwise one
 * indirect call of the route's transport. Elements of 1, 2, 4 and 8 bytes are moved whole. All
 * functions check the PE and the address and end the job with an explanation where they are wrong.
 */
#ifndef SY_CORE_RMA_H
#define SY_CORE_RMA_H

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <switchyard/transport.h>

#include "core/issue.h"
#include "core/ctx.h"
#include "core/wait/wait.h"
#include "core/memory/windows.h"
#include "util/copy.h"

/* A resolved address on another PE. */
struct sy_target {
    unsigned window;
    uint64_t offset;
    char *here; /* its address in this process, or NULL */
};

/* Resolves `length` bytes at the user's `address` on PE pe, or ends the job; the message names the
 * operation `what`. Maps a space there that has not been used yet, and makes it the one that is
 * looked at first. */
struct sy_target sy_rma_target(const char *what, const void *address, size_t length, int pe);

/* Ends the job, naming `what`, where what has been resolved is a constant of the executable. */
void sy_rma_check_writable(const char *what, const struct sy_target *target, const void *address,
                           int pe) __attribute__((cold));

/* The description, for a transport, of a transfer between `local` here and a target on PE pe. */
static inline struct sy_transfer sy_rma_transfer(const struct sy_target *target, const void *local,
                                                 size_t length, int pe)
{
    return (struct sy_transfer){.pe = pe,
                                .window = target->window,
                                .offset = target->offset,
                                .local = (void *)local,
                                .length = length};
}

/* Ends the job, naming `what`, where the library is not started or there is no PE pe. */
void sy_rma_check_pe(const char *what, int pe);

/* Called where sy_rma_reach finds nothing: the common reason, that the PE's memory is not mapped,
 * takes few instructions, because many small transfers come this way. */
void sy_put_far(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                unsigned flags);
void sy_get_far(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                unsigned flags);

/* sy_put_far for one element by value, blocking. */
void sy_p_far32(shmem_ctx_t ctx, void *dest, uint32_t value, int pe);
void sy_p_far64(shmem_ctx_t ctx, void *dest, uint64_t value, int pe);

/* Called where sy_rma_reach has set *elsewhere: the address is neither in the heap nor in the data
 * window, perhaps in a mapped memory space. */
void sy_put_elsewhere(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                      unsigned flags);
void sy_get_elsewhere(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                      unsigned flags);

/* Transfers after a full search for both addresses, with all checks. */
void sy_put_slow(shmem_ctx_t ctx, void *dest, const void *source, size_t length, int pe,
                 unsigned flags) __attribute__((cold));

SY_INLINE void sy_copy(void *to, const void *from, size_t length)
{
    /* With a constant length memcpy is one load and one store. */
    if (length == 8)
        memcpy(to, from, 8);
    else if (length == 4)
        memcpy(to, from, 4);
    else if (length == 2)
        memcpy(to, from, 2);
    else if (length == 1)
        memcpy(to, from, 1);
    else
        sy_copy_bytes(to, from, length);
}

/* As sy_window_place, for `length` bytes that must all lie in the window. */
SY_INLINE void *sy_rma_place(const void *address, size_t length, int pe, bool *elsewhere)
{
    size_t offset = (uintptr_t)address - sy_hot.heap.base, room = sy_hot.heap.length;
    char *base = NULL;
    if (SY_LIKELY(offset < room)) {
        base = sy_hot.heap.peer[(unsigned)pe];
    } else {
        offset = (uintptr_t)address - sy_hot.data.base;
        room = sy_hot.data.length;
        if (SY_LIKELY(offset < room))
            base = sy_hot.data.peer[(unsigned)pe];
        else
            *elsewhere = true;
    }
    return SY_LIKELY(base && length <= room - offset) ? base + offset : NULL;
}

/* The same for any number of a PE. */
SY_INLINE void *sy_rma_reach(const void *address, size_t length, int pe, bool *elsewhere)
{
    return SY_UNLIKELY(sy_hot_leaves(pe)) ? NULL : sy_rma_place(address, length, pe, elsewhere);
}

/* sy_rma_reach for a memory space. It is not part of the inline path, where looking for spaces
 * would cost everybody a register or two. */
SY_INLINE void *sy_rma_reach_space(const void *address, size_t length, int pe)
{
    size_t offset, room;
    const struct sy_hot_space *space = sy_hot_space_of(address, &offset, &room);

    if (SY_UNLIKELY(!space || sy_hot_leaves(pe)))
        return NULL;
    char *base = space->peer[(unsigned)pe];
    return SY_LIKELY(base && length <= room - offset) ? base + offset : NULL;
}

/* For memory that is not mapped: the route to PE pe, with the window and offset of `length` bytes
 * at `address`, where the functions above have found nothing, so that heap and data that fit are
 * not mapped. NULL where only the slow path can tell. */
SY_INLINE const struct sy_route_transport *sy_rma_route(const void *address, size_t length, int pe,
                                                        unsigned *window, uint64_t *offset)
{
    if (SY_UNLIKELY(sy_hot_leaves(pe)))
        return NULL;
    uintptr_t at = (uintptr_t)address - sy_hot.heap.base;
    if (SY_LIKELY(at < sy_hot.heap.length)) {
        if (SY_UNLIKELY(length - 1 >= sy_hot.heap.length - at))
            return NULL;
        *window = SY_WINDOW_HEAP;
    } else if ((at = (uintptr_t)address - sy_hot.data.base) < sy_hot.data.length) {
        if (length - 1 >= sy_hot.data.length - at || sy_routes.other[(unsigned)pe])
            return NULL;
        *window = SY_WINDOW_DATA;
    } else {
        size_t room;
        const struct sy_hot_space *space = sy_hot_space_of(address, &at, &room);
        if (!space || length - 1 >= room - at || space->peer[(unsigned)pe] ||
            space->absent[(unsigned)pe])
            return NULL;
        *window = space->window;
    }
    *offset = at;
    const struct sy_route_transport *route = &sy_routes.transport[sy_routes.of[(unsigned)pe]];
    return route;
}

/* put: count elements of size bytes from source here to dest on PE pe. flags: SY_BLOCKING or 0.
 * That they are more bytes than there can be is seen where they are not mapped, or SHMEM_CHECK is
 * set: the path before that has no instruction for it. */
SY_INLINE void sy_put(shmem_ctx_t ctx, void *dest, const void *source, size_t count, size_t size,
                      int pe, unsigned flags)
{
    pe = sy_ctx_pe(ctx, pe);
    bool elsewhere = false;
    void *there = sy_rma_reach(dest, count * size, pe, &elsewhere);
    if (SY_LIKELY(there != NULL))
        sy_copy(there, source, count * size);
    else if (elsewhere)
        sy_put_elsewhere(ctx, dest, source, sy_bytes(count, size), pe, flags);
    else
        sy_put_far(ctx, dest, source, sy_bytes(count, size), pe, flags);
}

/* The end of a get that has read mapped memory; own: this PE's. What follows it must not be done
 * before those loads; on x86 no processor does that, and the fence is no instruction. */
SY_INLINE void sy_get_over(bool own)
{
    atomic_thread_fence(memory_order_acquire);
    sy_wait_looked(own);
}

/* get: count elements of size bytes from source on PE pe to dest here, as sy_put. */
SY_INLINE void sy_get(shmem_ctx_t ctx, void *dest, const void *source, size_t count, size_t size,
                      int pe, unsigned flags)
{
    pe = sy_ctx_pe(ctx, pe);
    bool elsewhere = false;
    void *there = sy_rma_reach(source, count * size, pe, &elsewhere);
    if (SY_UNLIKELY(!there)) {
        (elsewhere ? sy_get_elsewhere : sy_get_far)(ctx, dest, source, sy_bytes(count, size), pe,
                                                    flags);
        return;
    }
    sy_copy(dest, there, count * size);
    sy_get_over(there == source);
}

/* Strided transfers; strides and block length in bytes. */
void sy_put_strided(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dest_stride,
                    ptrdiff_t source_stride, size_t block, size_t blocks, int pe, unsigned flags);
void sy_get_strided(shmem_ctx_t ctx, void *dest, const void *source, ptrdiff_t dest_stride,
                    ptrdiff_t source_stride, size_t block, size_t blocks, int pe, unsigned flags);

/* Ordering. The processor orders stores to mapped memory; the fence keeps the compiler from undoing
 * that (and serves processors that need an instruction for it). quiet is also a full fence: a PE
 * that has completed a put must not read another's variable as it was before. */
static inline void sy_fence(shmem_ctx_t ctx)
{
    atomic_thread_fence(memory_order_acq_rel);
    if (SY_UNLIKELY(sy_hot_carries()))
        sy_fence_transports(ctx);
}

/* pe: a PE, or SY_ALL_PES. */
static inline void sy_quiet(shmem_ctx_t ctx, int pe)
{
    if (SY_UNLIKELY(sy_hot_carries()))
        sy_quiet_transports(ctx, pe);
    atomic_thread_fence(memory_order_seq_cst);
}

#endif

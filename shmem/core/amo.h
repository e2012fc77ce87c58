/* Atomic memory operations (9.7). There is one atomicity domain: this CPU's atomic instructions,
 * used by this PE on its own and its node's memory, and by transports at the target (sy_amo_apply).
 */
#ifndef SY_CORE_AMO_H
#define SY_CORE_AMO_H

#include <stdbool.h>
#include <string.h>
#include <switchyard/host.h>

#include "core/ctx.h"
#include "core/wait/wait.h"
#include "core/memory/windows.h"

/* Applies an operation to a word of this process. With constant `op` it becomes one instruction. A
 * value that is returned and not used costs nothing. */
#define SY_DEFINE_AMO_HERE(BITS)                                                                   \
    SY_INLINE uint64_t sy_amo_here##BITS(enum sy_amo_op op, uint##BITS##_t *at,                    \
                                         uint##BITS##_t operand, uint##BITS##_t compare)           \
    {                                                                                              \
        switch (op) {                                                                              \
        case SY_AMO_FETCH:                                                                         \
            return __atomic_load_n(at, __ATOMIC_ACQUIRE);                                          \
        case SY_AMO_SET:                                                                           \
            __atomic_store_n(at, operand, __ATOMIC_RELEASE);                                       \
            return 0;                                                                              \
        case SY_AMO_SWAP:                                                                          \
            return __atomic_exchange_n(at, operand, __ATOMIC_ACQ_REL);                             \
        case SY_AMO_CSWAP:                                                                         \
            __atomic_compare_exchange_n(at, &compare, operand, false, __ATOMIC_ACQ_REL,            \
                                        __ATOMIC_ACQUIRE);                                         \
            return compare;                                                                        \
        case SY_AMO_ADD:                                                                           \
            return __atomic_fetch_add(at, operand, __ATOMIC_ACQ_REL);                              \
        case SY_AMO_AND:                                                                           \
            return __atomic_fetch_and(at, operand, __ATOMIC_ACQ_REL);                              \
        case SY_AMO_OR:                                                                            \
            return __atomic_fetch_or(at, operand, __ATOMIC_ACQ_REL);                               \
        case SY_AMO_XOR:                                                                           \
            return __atomic_fetch_xor(at, operand, __ATOMIC_ACQ_REL);                              \
        }                                                                                          \
        __builtin_unreachable();                                                                   \
    }
SY_DEFINE_AMO_HERE(32)
SY_DEFINE_AMO_HERE(64)
#undef SY_DEFINE_AMO_HERE

SY_INLINE uint64_t sy_amo_here(enum sy_amo_op op, void *at, size_t width, uint64_t operand,
                               uint64_t compare)
{
    return width == 4 ? sy_amo_here32(op, at, (uint32_t)operand, (uint32_t)compare)
                      : sy_amo_here64(op, at, operand, compare);
}

/* sy_amo_here as a function, for plugins (struct sy_host). */
void sy_amo_apply(enum sy_amo_op op, void *address, size_t width, uint64_t operand,
                  uint64_t compare, uint64_t *result);

/* Called where sy_window_reach finds nothing, as sy_put_far. result: `width` bytes, or NULL; with
 * blocking they are there on return, otherwise on quiet. */
void sy_amo_far(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width, uint64_t operand,
                uint64_t compare, void *result, bool blocking, int pe);

/* sy_amo_far for operations without a result and without a second operand. */
void sy_amo_update_far(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                       uint64_t operand, int pe);

/* Called as sy_put_elsewhere: the address is perhaps in a mapped memory space. The second one
 * returns the old value, zero-extended. */
void sy_amo_update_elsewhere(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                             uint64_t operand, int pe);
uint64_t sy_amo_fetch_elsewhere(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                                uint64_t operand, uint64_t compare, int pe);

/* An atomic operation after a full search for the address, with all checks. */
void sy_amo_slow(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                 uint64_t operand, uint64_t compare, void *result, bool blocking, int pe)
    __attribute__((cold));

/* An operation that does not fetch. */
SY_INLINE void sy_amo_update(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                             uint64_t operand, int pe)
{
    pe = sy_ctx_pe(ctx, pe);
    bool elsewhere = false;
    void *at = sy_window_reach_or(address, pe, &elsewhere);
    if (SY_LIKELY(at != NULL))
        sy_amo_here(op, at, width, operand, 0);
    else if (elsewhere)
        sy_amo_update_elsewhere(ctx, op, address, width, operand, pe);
    else
        sy_amo_update_far(ctx, op, address, width, operand, pe);
}

/* An operation that returns the old value, zero-extended. */
SY_INLINE uint64_t sy_amo_fetch(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                                uint64_t operand, uint64_t compare, int pe)
{
    pe = sy_ctx_pe(ctx, pe);
    bool elsewhere = false;
    void *at = sy_window_reach_or(address, pe, &elsewhere);
    if (SY_LIKELY(at != NULL)) {
        sy_wait_looked(op == SY_AMO_FETCH && at == address);
        return sy_amo_here(op, at, width, operand, compare);
    }
    if (elsewhere)
        return sy_amo_fetch_elsewhere(ctx, op, address, width, operand, compare, pe);
    if (width == 4) {
        uint32_t old;
        sy_amo_far(ctx, op, address, width, operand, compare, &old, true, pe);
        return old;
    }
    uint64_t old;
    sy_amo_far(ctx, op, address, width, operand, compare, &old, true, pe);
    return old;
}

/* Values of any 4- or 8-byte type as bits and back. */
static inline uint64_t sy_amo_bits(const void *value, size_t width)
{
    uint32_t half;
    uint64_t whole;

    if (width == 4) {
        memcpy(&half, value, sizeof half);
        return half;
    }
    memcpy(&whole, value, sizeof whole);
    return whole;
}

static inline void sy_amo_unbits(void *value, size_t width, uint64_t bits)
{
    uint32_t half = (uint32_t)bits;

    if (width == 4)
        memcpy(value, &half, sizeof half);
    else
        memcpy(value, &bits, sizeof bits);
}

/* A nonblocking operation: *result gets the old value, `width` bytes, no later than on quiet. */
SY_INLINE void sy_amo_start(shmem_ctx_t ctx, enum sy_amo_op op, void *address, unsigned width,
                            uint64_t operand, uint64_t compare, void *result, int pe)
{
    pe = sy_ctx_pe(ctx, pe);
    void *at = sy_window_reach(address, pe);
    if (SY_UNLIKELY(!at)) {
        sy_amo_far(ctx, op, address, width, operand, compare, result, false, pe);
        return;
    }
    sy_amo_unbits(result, width, sy_amo_here(op, at, width, operand, compare));
    sy_wait_looked(op == SY_AMO_FETCH && at == address);
}

#endif

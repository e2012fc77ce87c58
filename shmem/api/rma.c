/* Remote memory access (9.6): thunks over core/rma.h, expanded over the type tables. */
#include "api/alias.h"
#include "api/lists.h"
#include "core/rma.h"

/* clang-format off */

/* put and get, blocking and nonblocking, of elements of one type or size. */
#define CONTIGUOUS(TYPE) (TYPE *dest, const TYPE *source, size_t nelems, int pe)
#define DEFINE_CONTIGUOUS(PUT, GET, TYPE, BYTES) \
    SY_DEFINE_CTX(void, PUT, CONTIGUOUS(TYPE), \
                  sy_put(ctx, dest, source, nelems, BYTES, pe, SY_BLOCKING);) \
    SY_DEFINE_CTX(void, PUT##_nbi, CONTIGUOUS(TYPE), \
                  sy_put(ctx, dest, source, nelems, BYTES, pe, 0);) \
    SY_DEFINE_CTX(void, GET, CONTIGUOUS(TYPE), \
                  sy_get(ctx, dest, source, nelems, BYTES, pe, SY_BLOCKING);) \
    SY_DEFINE_CTX(void, GET##_nbi, CONTIGUOUS(TYPE), \
                  sy_get(ctx, dest, source, nelems, BYTES, pe, 0);)
SY_CONTIGUOUS

/* p and g: one element by one store or load. p_far and sy_p_far take the same arguments in the same
 * order, so that the call of them costs the path before it no register. */
#define SMALLER(A, B) ((A) < (B) ? (A) : (B))
#define DEFINE_ELEMENT(NAME, TYPE) \
    static __attribute__((noinline)) void p_far_##NAME(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { \
        TYPE *there = sy_rma_reach_space(dest, sizeof value, pe); \
        if (SY_LIKELY(there != NULL)) { \
            *(volatile TYPE *)there = value; \
        } else { \
            TYPE copy = value; \
            sy_put_far(ctx, dest, &copy, sizeof copy, pe, SY_BLOCKING); \
        } \
    } \
    static inline void p_##NAME(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { \
        pe = sy_ctx_pe(ctx, pe); \
        bool elsewhere = false; \
        TYPE *there = sy_window_reach_or(dest, pe, &elsewhere); \
        if (SY_LIKELY(there != NULL)) { \
            *(volatile TYPE *)there = value; \
        } else if (sizeof value == 8 && !elsewhere) { \
            uint64_t bits; \
            memcpy(&bits, &value, SMALLER(sizeof value, 8)); \
            sy_p_far64(ctx, dest, bits, pe); \
        } else if (sizeof value == 4 && !elsewhere) { \
            uint32_t bits; \
            memcpy(&bits, &value, SMALLER(sizeof value, 4)); \
            sy_p_far32(ctx, dest, bits, pe); \
        } else { \
            p_far_##NAME(ctx, dest, value, pe); \
        } \
    } \
    static inline TYPE g_##NAME(shmem_ctx_t ctx, const TYPE *source, int pe) \
    { \
        pe = sy_ctx_pe(ctx, pe); \
        bool elsewhere = false; \
        const TYPE *there = sy_window_reach_or(source, pe, &elsewhere); \
        if (SY_LIKELY(there != NULL)) { \
            sy_wait_looked(there == source); \
            TYPE value = *(const volatile TYPE *)there; \
            atomic_thread_fence(memory_order_acquire); /* as sy_get_over */ \
            return value; \
        } \
        TYPE copy; \
        (elsewhere ? sy_get_elsewhere : sy_get_far)(ctx, &copy, source, sizeof copy, pe, SY_BLOCKING); \
        return copy; \
    } \
    SY_DEFINE_CTX(void, NAME##_p, (TYPE *dest, TYPE value, int pe), p_##NAME(ctx, dest, value, pe);) \
    SY_DEFINE_CTX(TYPE, NAME##_g, (const TYPE *source, int pe), return g_##NAME(ctx, source, pe);)
SY_RMA_TYPES(DEFINE_ELEMENT)
#undef DEFINE_ELEMENT
#undef SMALLER

/* Strided: single elements, and blocks of elements. Strides are in elements. */
#define IPUT sy_put_strided
#define IGET sy_get_strided
#define DEFINE_STRIDED(DIRECTION, SINGLE, BLOCKS, TYPE, BYTES) \
    SY_DEFINE_CTX(void, SINGLE, (TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, \
                                 size_t nelems, int pe), \
                  DIRECTION(ctx, dest, source, sy_stride(dst, BYTES), sy_stride(sst, BYTES), BYTES, nelems, pe, \
                            SY_BLOCKING);) \
    SY_DEFINE_CTX(void, BLOCKS, (TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, \
                                 size_t bsize, size_t nblocks, int pe), \
                  DIRECTION(ctx, dest, source, sy_stride(dst, BYTES), sy_stride(sst, BYTES), sy_bytes(bsize, BYTES), \
                            nblocks, pe, SY_BLOCKING);)
SY_STRIDED

/* clang-format on */

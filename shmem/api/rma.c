/* Remote memory access (9.6): thunks over core/rma.h, expanded over the type tables. */
#include "api/alias.h"
#include "core/rma.h"

/* clang-format off */

/* put and get, blocking and nonblocking, of elements of one type or size. PART: the part of the name that says which; TYPE: what the pointers point to; BYTES: an element's size. */
#define DEFINE_CONTIGUOUS(PUT, GET, TYPE, BYTES) \
    void p##shmem_##PUT(TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { sy_put(SHMEM_CTX_DEFAULT, dest, source, nelems * BYTES, pe, SY_BLOCKING); } \
    SY_ALIAS(shmem_##PUT); \
    void p##shmem_ctx_##PUT(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { sy_put(ctx, dest, source, nelems * BYTES, pe, SY_BLOCKING); } \
    SY_ALIAS(shmem_ctx_##PUT); \
    void p##shmem_##PUT##_nbi(TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { sy_put(SHMEM_CTX_DEFAULT, dest, source, nelems * BYTES, pe, 0); } \
    SY_ALIAS(shmem_##PUT##_nbi); \
    void p##shmem_ctx_##PUT##_nbi(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, \
                                  int pe) \
    { sy_put(ctx, dest, source, nelems * BYTES, pe, 0); } \
    SY_ALIAS(shmem_ctx_##PUT##_nbi); \
    void p##shmem_##GET(TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { sy_get(SHMEM_CTX_DEFAULT, dest, source, nelems * BYTES, pe, SY_BLOCKING); } \
    SY_ALIAS(shmem_##GET); \
    void p##shmem_ctx_##GET(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { sy_get(ctx, dest, source, nelems * BYTES, pe, SY_BLOCKING); } \
    SY_ALIAS(shmem_ctx_##GET); \
    void p##shmem_##GET##_nbi(TYPE *dest, const TYPE *source, size_t nelems, int pe) \
    { sy_get(SHMEM_CTX_DEFAULT, dest, source, nelems * BYTES, pe, 0); } \
    SY_ALIAS(shmem_##GET##_nbi); \
    void p##shmem_ctx_##GET##_nbi(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, size_t nelems, \
                                  int pe) \
    { sy_get(ctx, dest, source, nelems * BYTES, pe, 0); } \
    SY_ALIAS(shmem_ctx_##GET##_nbi);

#define DEFINE_TYPED(NAME, TYPE) DEFINE_CONTIGUOUS(NAME##_put, NAME##_get, TYPE, sizeof(TYPE))
SY_RMA_TYPES(DEFINE_TYPED)
#undef DEFINE_TYPED

#define DEFINE_SIZED(SIZE, BYTES) DEFINE_CONTIGUOUS(put##SIZE, get##SIZE, void, BYTES)
SY_SIZES_AND_MEM(DEFINE_SIZED)
#undef DEFINE_SIZED

/* p and g: one element by one store or load. */
#define DEFINE_ELEMENT(NAME, TYPE) \
    static inline void p_##NAME(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { \
        pe = sy_ctx_pe(ctx, pe); \
        TYPE *there = sy_window_reach(dest, pe); \
        if (SY_LIKELY(there != NULL)) { \
            *(volatile TYPE *)there = value; \
        } else { \
            TYPE copy = value; \
            sy_put_far(ctx, dest, &copy, sizeof copy, pe, SY_BLOCKING); \
        } \
    } \
    static inline TYPE g_##NAME(shmem_ctx_t ctx, const TYPE *source, int pe) \
    { \
        pe = sy_ctx_pe(ctx, pe); \
        const TYPE *there = sy_window_reach(source, pe); \
        if (SY_LIKELY(there != NULL)) { \
            sy_wait_looked(there == source); \
            return *(const volatile TYPE *)there; \
        } \
        TYPE copy; \
        sy_get_far(ctx, &copy, source, sizeof copy, pe, SY_BLOCKING); \
        return copy; \
    } \
    void p##shmem_##NAME##_p(TYPE *dest, TYPE value, int pe) \
    { p_##NAME(SHMEM_CTX_DEFAULT, dest, value, pe); } \
    SY_ALIAS(shmem_##NAME##_p); \
    void p##shmem_ctx_##NAME##_p(shmem_ctx_t ctx, TYPE *dest, TYPE value, int pe) \
    { p_##NAME(ctx, dest, value, pe); } \
    SY_ALIAS(shmem_ctx_##NAME##_p); \
    TYPE p##shmem_##NAME##_g(const TYPE *source, int pe) \
    { return g_##NAME(SHMEM_CTX_DEFAULT, source, pe); } \
    SY_ALIAS(shmem_##NAME##_g); \
    TYPE p##shmem_ctx_##NAME##_g(shmem_ctx_t ctx, const TYPE *source, int pe) \
    { return g_##NAME(ctx, source, pe); } \
    SY_ALIAS(shmem_ctx_##NAME##_g);
SY_RMA_TYPES(DEFINE_ELEMENT)
#undef DEFINE_ELEMENT

/* Strided: single elements, and blocks of elements. Strides are in elements. */
#define DEFINE_STRIDED(DIRECTION, SINGLE, BLOCKS, TYPE, BYTES) \
    void p##shmem_##SINGLE(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, \
                           size_t nelems, int pe) \
    { DIRECTION(SHMEM_CTX_DEFAULT, dest, source, dst * BYTES, sst * BYTES, BYTES, nelems, pe); } \
    SY_ALIAS(shmem_##SINGLE); \
    void p##shmem_ctx_##SINGLE(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                               ptrdiff_t sst, size_t nelems, int pe) \
    { DIRECTION(ctx, dest, source, dst * BYTES, sst * BYTES, BYTES, nelems, pe); } \
    SY_ALIAS(shmem_ctx_##SINGLE); \
    void p##shmem_##BLOCKS(TYPE *dest, const TYPE *source, ptrdiff_t dst, ptrdiff_t sst, \
                           size_t bsize, size_t nblocks, int pe) \
    { DIRECTION(SHMEM_CTX_DEFAULT, dest, source, dst * BYTES, sst * BYTES, bsize * BYTES, nblocks, \
                pe); } \
    SY_ALIAS(shmem_##BLOCKS); \
    void p##shmem_ctx_##BLOCKS(shmem_ctx_t ctx, TYPE *dest, const TYPE *source, ptrdiff_t dst, \
                               ptrdiff_t sst, size_t bsize, size_t nblocks, int pe) \
    { DIRECTION(ctx, dest, source, dst * BYTES, sst * BYTES, bsize * BYTES, nblocks, pe); } \
    SY_ALIAS(shmem_ctx_##BLOCKS);

#define SIZE_OF(TYPE) ((ptrdiff_t)sizeof(TYPE))
#define DEFINE_TYPED(NAME, TYPE) \
    DEFINE_STRIDED(sy_put_strided, NAME##_iput, NAME##_ibput, TYPE, SIZE_OF(TYPE)) \
    DEFINE_STRIDED(sy_get_strided, NAME##_iget, NAME##_ibget, TYPE, SIZE_OF(TYPE))
SY_RMA_TYPES(DEFINE_TYPED)
#undef DEFINE_TYPED

#define DEFINE_SIZED(SIZE, BYTES) \
    DEFINE_STRIDED(sy_put_strided, iput##SIZE, ibput##SIZE, void, BYTES) \
    DEFINE_STRIDED(sy_get_strided, iget##SIZE, ibget##SIZE, void, BYTES)
SY_SIZES(DEFINE_SIZED)
#undef DEFINE_SIZED

/* clang-format on */

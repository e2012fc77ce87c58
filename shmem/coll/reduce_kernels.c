/* See reduce_kernels.h.
 *
 * Compilers at their usual level of optimisation use vector instructions only for loops whose count
 * they know and whose arrays they need not compare first. So the loop is over blocks of a fixed
 * number of elements, and it is said that these do not depend on each other: dest is another array,
 * or the very elements that are read. */
#include "coll/reduce_kernels.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* some types have no vector instructions */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define BLOCK_BYTES 256

/* clang-format off */

#define KERNEL(NAME, TYPE, EXPRESSION) \
    void NAME(void *dest, const void *left, const void *right, size_t count) \
    { \
        enum { BLOCK = BLOCK_BYTES / sizeof(TYPE) }; \
        TYPE *d = dest; \
        const TYPE *l = left, *r = right; \
        for (; count >= BLOCK; count -= BLOCK, d += BLOCK, l += BLOCK, r += BLOCK) { \
            INDEPENDENT \
            for (size_t i = 0; i < BLOCK; i++) { \
                TYPE a = l[i], b = r[i]; \
                d[i] = (TYPE)(EXPRESSION); \
            } \
        } \
        for (size_t i = 0; i < count; i++) { \
            TYPE a = l[i], b = r[i]; \
            d[i] = (TYPE)(EXPRESSION); \
        } \
    }

#define BITWISE(NAME, TYPE) \
    KERNEL(sy_and_##NAME, TYPE, a & b) \
    KERNEL(sy_or_##NAME, TYPE, a | b) \
    KERNEL(sy_xor_##NAME, TYPE, a ^ b)
SY_UNSIGNED_KERNELS(BITWISE)
#undef BITWISE

#define COMPARE(NAME, TYPE) \
    KERNEL(sy_max_##NAME, TYPE, a < b ? b : a) \
    KERNEL(sy_min_##NAME, TYPE, b < a ? b : a)
SY_UNSIGNED_KERNELS(COMPARE)
SY_SIGNED_KERNELS(COMPARE)
SY_FLOAT_KERNELS(COMPARE)
#undef COMPARE

/* The factor 1u keeps small types from being multiplied as int, which must not overflow. */
#define UNSIGNED(NAME, TYPE) \
    KERNEL(sy_sum_##NAME, TYPE, a + b) \
    KERNEL(sy_prod_##NAME, TYPE, 1u * a * b)
SY_UNSIGNED_KERNELS(UNSIGNED)
#undef UNSIGNED

#define FLOATING(NAME, TYPE) \
    KERNEL(sy_sum_##NAME, TYPE, a + b) \
    KERNEL(sy_prod_##NAME, TYPE, a * b)
SY_FLOAT_KERNELS(FLOATING)
SY_COMPLEX_KERNELS(FLOATING)
#undef FLOATING

/* clang-format on */

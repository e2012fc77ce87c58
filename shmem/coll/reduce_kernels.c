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
#define UNROLLED    INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#define UNROLLED    INDEPENDENT _Pragma("GCC unroll 4")
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
#undef COMPARE

/* max and min of floating-point numbers are IEEE 754's maximumNumber and minimumNumber, which C's
 * fmax and fmin are apart from the zeros: a NaN loses against any number, and -0 is less than 0. So
 * they commute and associate, bit for bit, and the result does not depend on who combines what
 * first.
 *
 * Comparing both ways round gives the same number twice, unless it is one of two zeros or of a
 * number and a NaN: then each way gives the operand it has first. So a block in which both ways
 * give the same bits everywhere, as nearly every one does, has its result. It is kept aside until
 * that is known, since dest may be an operand. In the cache this takes about a fifth more time
 * than the bare comparison; deciding for each element takes two thirds more, or as much again.
 *
 * In the other blocks zeros are combined by their bits, as then is a NaN with a NaN: or gives one
 * again. Nothing branches, so that gcc and clang make vectors of these very forms. */
#define BITS_OF_FLOAT(TYPE, NAME, UNSIGNED) \
    union bits_##NAME { \
        UNSIGNED bits; \
        TYPE value; \
    }; \
    static inline TYPE max_of_##NAME(TYPE a, TYPE b) \
    { \
        TYPE first = a < b ? b : a, second = b < a ? a : b; \
        union bits_##NAME x = {.value = a != a ? second : first}; \
        union bits_##NAME y = {.value = b != b ? first : second}; \
        union bits_##NAME either = {.bits = x.bits | y.bits}, both = {.bits = x.bits & y.bits}; \
        return x.value != x.value ? either.value : both.value; \
    } \
    static inline TYPE min_of_##NAME(TYPE a, TYPE b) \
    { \
        TYPE first = b < a ? b : a, second = a < b ? a : b; \
        union bits_##NAME x = {.value = a != a ? second : first}; \
        union bits_##NAME y = {.value = b != b ? first : second}; \
        x.bits |= y.bits; \
        return x.value; \
    }
BITS_OF_FLOAT(float, float, uint32_t)
BITS_OF_FLOAT(double, double, uint64_t)
#undef BITS_OF_FLOAT

/* A long double has no integer of its width, and no vectors. */
static inline long double reduce_kernels_max_of_longdouble(long double a, long double b)
{
    if (a != a)
        return b != b ? __builtin_nanl("") : b;
    return a < b || (a == b && __builtin_signbit(a)) ? b : a;
}

static inline long double reduce_kernels_min_of_longdouble(long double a, long double b)
{
    if (a != a)
        return b != b ? __builtin_nanl("") : b;
    return b < a || (a == b && __builtin_signbit(b)) ? b : a;
}

#define EXACT(NAME, TYPE) \
    static sy_kernel exact_max_##NAME, exact_min_##NAME; \
    KERNEL(exact_max_##NAME, TYPE, max_of_##NAME(a, b)) \
    KERNEL(exact_min_##NAME, TYPE, min_of_##NAME(a, b))
EXACT(float, float)
EXACT(double, double)
#undef EXACT

#define BY_BLOCKS(NAME, OF, TYPE, UNSIGNED, ONE_WAY, OTHER_WAY) \
    void sy_##NAME(void *dest, const void *left, const void *right, size_t count) \
    { \
        enum { BLOCK = BLOCK_BYTES / sizeof(TYPE) }; \
        TYPE *d = dest, result[BLOCK]; \
        const TYPE *l = left, *r = right; \
        for (; count >= BLOCK; count -= BLOCK, d += BLOCK, l += BLOCK, r += BLOCK) { \
            UNSIGNED differ = 0; \
            UNROLLED \
            for (size_t i = 0; i < BLOCK; i++) { \
                TYPE a = l[i], b = r[i]; \
                union bits_##OF x = {.value = ONE_WAY}, y = {.value = OTHER_WAY}; \
                result[i] = x.value; \
                differ |= x.bits ^ y.bits; \
            } \
            if (differ) { \
                exact_##NAME(d, l, r, BLOCK); \
                continue; \
            } \
            UNROLLED \
            for (size_t i = 0; i < BLOCK; i++) \
                d[i] = result[i]; \
        } \
        exact_##NAME(d, l, r, count); \
    }
#define COMPARE(NAME, TYPE, UNSIGNED) \
    BY_BLOCKS(max_##NAME, NAME, TYPE, UNSIGNED, a < b ? b : a, b < a ? a : b) \
    BY_BLOCKS(min_##NAME, NAME, TYPE, UNSIGNED, b < a ? b : a, a < b ? a : b)
COMPARE(float, float, uint32_t)
COMPARE(double, double, uint64_t)
#undef COMPARE
KERNEL(sy_max_longdouble, long double, reduce_kernels_max_of_longdouble(a, b))
KERNEL(sy_min_longdouble, long double, reduce_kernels_min_of_longdouble(a, b))

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

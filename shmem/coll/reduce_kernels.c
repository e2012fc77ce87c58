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
#undef COMPARE

/* Of floating-point numbers, max and min are those of IEEE 754's maximumNumber and
 * minimumNumber, which C's fmax and fmin are apart from the zeros: a NaN loses against any number,
 * and -0 is less than 0. So they commute and associate, bit for bit, and the result does not depend
 * on who combines what first.
 *
 * Comparing both ways round gives the same number twice, unless it is one of two zeros or of a
 * number and a NaN: then each way gives the operand it has first. Zeros are combined by their bits,
 * as then is a NaN with a NaN (max gives the NaN of all ones, min the bits of both). Nothing
 * branches; gcc and clang make vectors of these very forms, which in the cache take twice the time
 * of the bare comparison. */
#define BITS_OF_FLOAT(TYPE, NAME, UNSIGNED) \
    union bits_##NAME { \
        UNSIGNED bits; \
        TYPE value; \
    }; \
    static inline TYPE max_of_##NAME(TYPE a, TYPE b) \
    { \
        const union bits_##NAME ones = {.bits = ~(UNSIGNED)0}; \
        union bits_##NAME x = {.value = a < b ? b : a}, y = {.value = b < a ? a : b}; \
        union bits_##NAME no_a = {.value = a != a ? ones.value : 0}; \
        union bits_##NAME no_b = {.value = b != b ? ones.value : 0}; \
        x.bits = (x.bits | no_a.bits) & (y.bits | no_b.bits); \
        return x.value; \
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
static inline long double max_of_longdouble(long double a, long double b)
{
    if (a != a)
        return b != b ? __builtin_nanl("") : b;
    return a < b || (a == b && __builtin_signbit(a)) ? b : a;
}

static inline long double min_of_longdouble(long double a, long double b)
{
    if (a != a)
        return b != b ? __builtin_nanl("") : b;
    return b < a || (a == b && __builtin_signbit(b)) ? b : a;
}

#define COMPARE(NAME, TYPE) \
    KERNEL(sy_max_##NAME, TYPE, max_of_##NAME(a, b)) \
    KERNEL(sy_min_##NAME, TYPE, min_of_##NAME(a, b))
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

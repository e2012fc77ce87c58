/* Element-wise operations on arrays: the only part of the collectives that knows types. There is a
 * kernel for each operation and representation; SY_KERNEL finds that of a C type. */
#ifndef SY_COLL_REDUCE_KERNELS_H
#define SY_COLL_REDUCE_KERNELS_H

#include <shmem/types.h>
#include <stddef.h>
#include <stdint.h>

/* dest[i] = left[i] op right[i]; dest may be left or right, and otherwise overlaps neither. */
typedef void sy_kernel(void *dest, const void *left, const void *right, size_t count);

/* clang-format off */

/* Representations: X(NAME, TYPE). Integers of one width share the kernels of the unsigned type but for
 * comparisons; arithmetic wraps around. */
#define SY_UNSIGNED_KERNELS(X) \
    X(uint8, uint8_t) \
    X(uint16, uint16_t) \
    X(uint32, uint32_t) \
    X(uint64, uint64_t)

#define SY_SIGNED_KERNELS(X) \
    X(int8, int8_t) \
    X(int16, int16_t) \
    X(int32, int32_t) \
    X(int64, int64_t)

#define SY_FLOAT_KERNELS(X) \
    X(float, float) \
    X(double, double) \
    X(longdouble, long double)

#define SY_COMPLEX_KERNELS(X) \
    X(complexf, sy_complexf) \
    X(complexd, sy_complexd)

/* clang-format on */

#define DECLARE_BITWISE(NAME, TYPE)    sy_kernel sy_and_##NAME, sy_or_##NAME, sy_xor_##NAME;
#define DECLARE_COMPARE(NAME, TYPE)    sy_kernel sy_max_##NAME, sy_min_##NAME;
#define DECLARE_ARITHMETIC(NAME, TYPE) sy_kernel sy_sum_##NAME, sy_prod_##NAME;
SY_UNSIGNED_KERNELS(DECLARE_BITWISE)
SY_UNSIGNED_KERNELS(DECLARE_COMPARE)
SY_SIGNED_KERNELS(DECLARE_COMPARE)
SY_FLOAT_KERNELS(DECLARE_COMPARE)
SY_UNSIGNED_KERNELS(DECLARE_ARITHMETIC)
SY_FLOAT_KERNELS(DECLARE_ARITHMETIC)
SY_COMPLEX_KERNELS(DECLARE_ARITHMETIC)
#undef DECLARE_BITWISE
#undef DECLARE_COMPARE
#undef DECLARE_ARITHMETIC

#define SY_KERNEL_OF_WIDTH(OP, SIGN, TYPE)                                                         \
    (sizeof(TYPE) == 1   ? sy_##OP##_##SIGN##8                                                     \
     : sizeof(TYPE) == 2 ? sy_##OP##_##SIGN##16                                                    \
     : sizeof(TYPE) == 4 ? sy_##OP##_##SIGN##32                                                    \
                         : sy_##OP##_##SIGN##64)

/* and, or, xor of an integer type. */
#define SY_BITWISE_KERNEL(OP, TYPE) SY_KERNEL_OF_WIDTH(OP, uint, TYPE)

/* max, min of an integer or floating type. */
#define SY_COMPARE_KERNEL(OP, TYPE)                                                                \
    _Generic((TYPE)0, float                                                                        \
             : sy_##OP##_float, double                                                             \
             : sy_##OP##_double, long double                                                       \
             : sy_##OP##_longdouble, default                                                       \
             : (TYPE)-1 < (TYPE)1 ? SY_KERNEL_OF_WIDTH(OP, int, TYPE)                              \
                                  : SY_KERNEL_OF_WIDTH(OP, uint, TYPE))

/* sum, prod of any type. */
#define SY_ARITHMETIC_KERNEL(OP, TYPE)                                                             \
    _Generic((TYPE)0, float                                                                        \
             : sy_##OP##_float, double                                                             \
             : sy_##OP##_double, long double                                                       \
             : sy_##OP##_longdouble, sy_complexf                                                   \
             : sy_##OP##_complexf, sy_complexd                                                     \
             : sy_##OP##_complexd, default                                                         \
             : SY_KERNEL_OF_WIDTH(OP, uint, TYPE))

#endif

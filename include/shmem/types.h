/* The tables from which every typed routine is made: its prototype, its definition, its place in
 * the C11 selection, and its test. A list calls X(NAME, TYPE) for each type, where NAME is the part
 * of the routine's name and TYPE the C type. X must join NAME with ## itself and not hand it on: a
 * program may have a macro called uchar or uint.
 *
 * Each list has two parts. The DISTINCT types differ from each other whatever the data model of the
 * machine is, as a C11 selection needs; the ALIAS types are other names for some of them. */
#ifndef SY_SHMEM_TYPES_H
#define SY_SHMEM_TYPES_H

#include <stddef.h>
#include <stdint.h>

/* The complex types, by their keyword, so that a program needs no complex.h. C++ has the keyword as
 * an extension. A compiler may leave them out of C; the routines for them are then missing. */
#if defined __GNUC__ || (!defined __cplusplus && !defined __STDC_NO_COMPLEX__)
#ifdef __GNUC__
__extension__ typedef double _Complex sy_complexd;
__extension__ typedef float _Complex sy_complexf;
#else
typedef double _Complex sy_complexd;
typedef float _Complex sy_complexf;
#endif
#define SY_HAVE_COMPLEX 1
#else
#define SY_HAVE_COMPLEX 0
#endif

/* clang-format off */

/* Standard RMA types (Table 5): put, get, p, g, and their strided and nonblocking forms. */
#define SY_RMA_TYPES(X) \
    SY_RMA_DISTINCT_TYPES(X) \
    SY_RMA_ALIAS_TYPES(X)

#define SY_RMA_DISTINCT_TYPES(X) \
    X(float, float) \
    X(double, double) \
    X(longdouble, long double) \
    X(char, char) \
    X(schar, signed char) \
    X(short, short) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(uchar, unsigned char) \
    X(ushort, unsigned short) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long)

#define SY_RMA_ALIAS_TYPES(X) \
    X(int8, int8_t) \
    X(int16, int16_t) \
    X(int32, int32_t) \
    X(int64, int64_t) \
    X(uint8, uint8_t) \
    X(uint16, uint16_t) \
    X(uint32, uint32_t) \
    X(uint64, uint64_t) \
    X(size, size_t) \
    X(ptrdiff, ptrdiff_t)

/* Standard AMO types (Table 6): compare-and-swap, increment and add; point-to-point
 * synchronisation. */
#define SY_STANDARD_AMO_TYPES(X) \
    SY_STANDARD_AMO_DISTINCT_TYPES(X) \
    SY_STANDARD_AMO_ALIAS_TYPES(X)

#define SY_STANDARD_AMO_DISTINCT_TYPES(X) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long)

#define SY_STANDARD_AMO_ALIAS_TYPES(X) \
    X(int32, int32_t) \
    X(int64, int64_t) \
    X(uint32, uint32_t) \
    X(uint64, uint64_t) \
    X(size, size_t) \
    X(ptrdiff, ptrdiff_t)

/* Extended AMO types (Table 7): fetch, set and swap. */
#define SY_EXTENDED_AMO_TYPES(X) \
    SY_FLOAT_AMO_TYPES(X) \
    SY_STANDARD_AMO_TYPES(X)

#define SY_EXTENDED_AMO_DISTINCT_TYPES(X) \
    SY_FLOAT_AMO_TYPES(X) \
    SY_STANDARD_AMO_DISTINCT_TYPES(X)

#define SY_FLOAT_AMO_TYPES(X) \
    X(float, float) \
    X(double, double)

/* Bitwise AMO types (Table 8): and, or, xor. The signed types come with their exact widths only, so
 * that int and one of long and long long have a selection. */
#define SY_BITWISE_AMO_TYPES(X) \
    SY_BITWISE_AMO_DISTINCT_TYPES(X) \
    SY_BITWISE_AMO_ALIAS_TYPES(X)

#define SY_BITWISE_AMO_DISTINCT_TYPES(X) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) \
    X(int32, int32_t) \
    X(int64, int64_t)

#define SY_BITWISE_AMO_ALIAS_TYPES(X) \
    X(uint32, uint32_t) \
    X(uint64, uint64_t)

/* Types of the AMO names that version 1.4 deprecated: cswap, finc, inc, fadd, add; and fetch, set,
 * swap. */
#define SY_DEPRECATED_AMO_TYPES(X) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long)

#define SY_DEPRECATED_EXTENDED_AMO_TYPES(X) \
    SY_FLOAT_AMO_TYPES(X) \
    SY_DEPRECATED_AMO_TYPES(X)

/* Types of wait_until and test on one variable: the standard AMO types, and two that are
 * deprecated. */
#define SY_WAIT_TYPES(X) \
    SY_STANDARD_AMO_TYPES(X) \
    SY_DEPRECATED_WAIT_TYPES(X)

#define SY_WAIT_DISTINCT_TYPES(X) \
    SY_STANDARD_AMO_DISTINCT_TYPES(X) \
    SY_DEPRECATED_WAIT_TYPES(X)

#define SY_DEPRECATED_WAIT_TYPES(X) \
    X(short, short) \
    X(ushort, unsigned short)

/* Types of the deprecated shmem_TYPENAME_wait, which has no comparison operator. */
#define SY_DEPRECATED_WAIT_CHANGE_TYPES(X) \
    X(short, short) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long)

/* Team reductions (Table 10): the types of AND, OR, XOR; of MAX, MIN; of SUM, PROD and the scans.
 * The signed types of the first come with their exact widths only. */
#define SY_BITWISE_REDUCE_TYPES(X) \
    SY_BITWISE_REDUCE_DISTINCT_TYPES(X) \
    SY_BITWISE_REDUCE_ALIAS_TYPES(X)

#define SY_BITWISE_REDUCE_DISTINCT_TYPES(X) \
    X(uchar, unsigned char) \
    X(ushort, unsigned short) \
    X(uint, unsigned int) \
    X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) \
    X(int8, int8_t) \
    X(int16, int16_t) \
    X(int32, int32_t) \
    X(int64, int64_t)

#define SY_BITWISE_REDUCE_ALIAS_TYPES(X) \
    X(uint8, uint8_t) \
    X(uint16, uint16_t) \
    X(uint32, uint32_t) \
    X(uint64, uint64_t) \
    X(size, size_t)

#define SY_COMPARE_REDUCE_TYPES(X) SY_RMA_TYPES(X)
#define SY_COMPARE_REDUCE_DISTINCT_TYPES(X) SY_RMA_DISTINCT_TYPES(X)

#define SY_ARITHMETIC_REDUCE_TYPES(X) \
    SY_RMA_TYPES(X) \
    SY_COMPLEX_TYPES(X)

#define SY_ARITHMETIC_REDUCE_DISTINCT_TYPES(X) \
    SY_RMA_DISTINCT_TYPES(X) \
    SY_COMPLEX_TYPES(X)

#if SY_HAVE_COMPLEX
#define SY_COMPLEX_TYPES(X) \
    X(complexd, sy_complexd) \
    X(complexf, sy_complexf)
#else
#define SY_COMPLEX_TYPES(X)
#endif

/* Reductions of active sets (Table 11), deprecated: the types of AND, OR, XOR; of MAX, MIN; of SUM,
 * PROD. */
#define SY_BITWISE_TO_ALL_TYPES(X) \
    X(short, short) \
    X(int, int) \
    X(long, long) \
    X(longlong, long long)

#define SY_COMPARE_TO_ALL_TYPES(X) \
    SY_BITWISE_TO_ALL_TYPES(X) \
    X(float, float) \
    X(double, double) \
    X(longdouble, long double)

#define SY_ARITHMETIC_TO_ALL_TYPES(X) \
    SY_COMPARE_TO_ALL_TYPES(X) \
    SY_COMPLEX_TYPES(X)

/* Elements of the collective routines of active sets that have no type: X(SIZE, BYTES). */
#define SY_ACTIVE_SET_SIZES(X) \
    X(32, 4) \
    X(64, 8)

/* Elements without a type: X(SIZE, BYTES), where SIZE is the part of the name, in bits. */
#define SY_SIZES(X) \
    X(8, 1) \
    X(16, 2) \
    X(32, 4) \
    X(64, 8) \
    X(128, 16)

/* SY_SIZES, and the routines that count bytes. */
#define SY_SIZES_AND_MEM(X) \
    SY_SIZES(X) \
    X(mem, 1)

/* clang-format on */

#endif

/* Values of every type that has a reduction, and a serial model of the operations on them. The
 * values are such that every result is exact: whole numbers that wrap around, with the extremes
 * of the type among them, and floating-point numbers of few bits. */
#ifndef VALUES_H
#define VALUES_H

#include <stdint.h>
#include <string.h>
#include "check.h"

enum operation { AND, OR, XOR, MAX, MIN, SUM, PROD, INSCAN, EXSCAN };

struct type {
    const char *name;
    size_t size;  /* bytes of an element */
    size_t value; /* bytes of it that carry the value: fewer for long double */
    int rounds;   /* its sums and products can be inexact */
    void (*fill)(void *array, size_t count, enum operation op, uint64_t seed);
    void (*fill_rough)(void *array, size_t count, uint64_t seed); /* inexact; NULL for integers */
    void (*combine)(void *into, const void *from, size_t count, enum operation op);
};

/* Numbers without a pattern, the same on every PE for the same arguments. */
static uint64_t noise(uint64_t seed, size_t i)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + i * 0xd1342543de82ef95u + 0x632be59bd9b4e019u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* clang-format off */

#define VALUE_INTEGERS(X) \
    X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long) \
    X(longlong, long long) X(uchar, unsigned char) X(ushort, unsigned short) \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) \
    X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) \
    X(size, size_t) X(ptrdiff, ptrdiff_t)
#define VALUE_FLOATS(X) X(float, float) X(double, double) X(longdouble, long double)
#define VALUE_COMPLEX(X) X(complexd, double _Complex) X(complexf, float _Complex)

/* Arithmetic is done on the unsigned type of the widest integers, so that it wraps around. */
#define INTEGER_FUNCTIONS(TYPENAME, TYPE) \
    static void TYPENAME##_fill(void *array, size_t count, enum operation op, uint64_t seed) \
    { \
        const uint64_t top = (uint64_t)1 << (8 * sizeof(TYPE) - 1); \
        const uint64_t extremes[] = {top, top - 1, 0, UINT64_MAX}; \
        TYPE *values = array; \
        for (size_t i = 0; i < count; i++) { \
            uint64_t x = noise(seed, i); \
            if (i % 5 == 1) \
                x = extremes[x % 4]; \
            values[i] = (TYPE)(op == PROD ? x | 1 : x); \
        } \
    } \
    static void TYPENAME##_combine(void *into, const void *from, size_t count, \
                                   enum operation op) \
    { \
        TYPE *a = into; \
        const TYPE *b = from; \
        for (size_t i = 0; i < count; i++) { \
            switch (op) { \
            case AND: a[i] = (TYPE)(a[i] & b[i]); break; \
            case OR: a[i] = (TYPE)(a[i] | b[i]); break; \
            case XOR: a[i] = (TYPE)(a[i] ^ b[i]); break; \
            case MAX: a[i] = a[i] < b[i] ? b[i] : a[i]; break; \
            case MIN: a[i] = b[i] < a[i] ? b[i] : a[i]; break; \
            case PROD: a[i] = (TYPE)((uint64_t)a[i] * (uint64_t)b[i]); break; \
            default: a[i] = (TYPE)((uint64_t)a[i] + (uint64_t)b[i]); break; \
            } \
        } \
    } \
    static const struct type TYPENAME##_type = { \
        .name = #TYPENAME, .size = sizeof(TYPE), .value = sizeof(TYPE), \
        .fill = TYPENAME##_fill, .combine = TYPENAME##_combine};
VALUE_INTEGERS(INTEGER_FUNCTIONS)

/* Products are of powers of two of either sign, sums of small whole numbers. */
#define FLOAT_FUNCTIONS(TYPENAME, TYPE) \
    static void TYPENAME##_fill(void *array, size_t count, enum operation op, uint64_t seed) \
    { \
        static const TYPE powers[] = {1, 2, -1, (TYPE)0.5, -2, (TYPE)-0.5, 4, (TYPE)0.25}; \
        TYPE *values = array; \
        for (size_t i = 0; i < count; i++) { \
            uint64_t x = noise(seed, i); \
            values[i] = op == PROD ? powers[x % 8] : (TYPE)((int)(x % 2001) - 1000) / 4; \
        } \
    } \
    static void TYPENAME##_fill_rough(void *array, size_t count, uint64_t seed) \
    { \
        TYPE *values = array; \
        for (size_t i = 0; i < count; i++) \
            values[i] = (TYPE)1 / (TYPE)(1 + noise(seed, i) % 1000); \
    } \
    static void TYPENAME##_combine(void *into, const void *from, size_t count, \
                                   enum operation op) \
    { \
        TYPE *a = into; \
        const TYPE *b = from; \
        for (size_t i = 0; i < count; i++) { \
            switch (op) { \
            case MAX: a[i] = a[i] < b[i] ? b[i] : a[i]; break; \
            case MIN: a[i] = b[i] < a[i] ? b[i] : a[i]; break; \
            case PROD: a[i] *= b[i]; break; \
            default: a[i] += b[i]; break; \
            } \
        } \
    } \
    static const struct type TYPENAME##_type = { \
        .name = #TYPENAME, .size = sizeof(TYPE), .value = VALUE_BYTES(TYPE), .rounds = 1, \
        .fill = TYPENAME##_fill, .fill_rough = TYPENAME##_fill_rough, \
        .combine = TYPENAME##_combine};
VALUE_FLOATS(FLOAT_FUNCTIONS)

/* Products are of 1 + 2i times a unit, so that no part ever becomes 0, whose sign could depend on
 * the order. A complex number has the layout of two real ones. */
#define COMPLEX_FUNCTIONS(TYPENAME, TYPE, REAL) \
    static void TYPENAME##_fill(void *array, size_t count, enum operation op, uint64_t seed) \
    { \
        static const REAL factors[4][2] = {{1, 2}, {-1, -2}, {-2, 1}, {2, -1}}; \
        REAL *values = array; \
        for (size_t i = 0; i < count; i++) { \
            uint64_t x = noise(seed, i); \
            values[2 * i] = op == PROD ? factors[x % 4][0] : (REAL)(x % 100); \
            values[2 * i + 1] = op == PROD ? factors[x % 4][1] : (REAL)(x % 77); \
        } \
    } \
    static void TYPENAME##_fill_rough(void *array, size_t count, uint64_t seed) \
    { \
        REAL *values = array; \
        for (size_t i = 0; i < 2 * count; i++) \
            values[i] = (REAL)1 / (REAL)(1 + noise(seed, i) % 1000); \
    } \
    static void TYPENAME##_combine(void *into, const void *from, size_t count, \
                                   enum operation op) \
    { \
        TYPE *a = into; \
        const TYPE *b = from; \
        for (size_t i = 0; i < count; i++) \
            a[i] = op == PROD ? a[i] * b[i] : a[i] + b[i]; \
    } \
    static const struct type TYPENAME##_type = { \
        .name = #TYPENAME, .size = sizeof(TYPE), .value = sizeof(TYPE), .rounds = 1, \
        .fill = TYPENAME##_fill, .fill_rough = TYPENAME##_fill_rough, \
        .combine = TYPENAME##_combine};
COMPLEX_FUNCTIONS(complexd, double _Complex, double)
COMPLEX_FUNCTIONS(complexf, float _Complex, float)

/* clang-format on */

/* Whether two arrays hold the same values, bit by bit. */
static int same_values(const struct type *type, const void *a, const void *b, size_t count)
{
    return check_same(a, b, count, type->size, type->value);
}

#endif

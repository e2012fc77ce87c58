/* Atomic memory operations (9.7).
 *
 * Each acts on one symmetric object dest (source where it is only read) of PE pe, at once with
 * respect to every other atomic operation of the same type on it. Arithmetic wraps around. The
 * forms without a context use SHMEM_CTX_DEFAULT. A routine that returns a value is complete on
 * return; one that returns none is completed by a quiet or barrier, and ordered by a fence. A PE or
 * an address that does not exist is an error of the program (Annex C), which ends the job with a
 * message. */
#ifndef SY_API
#include "../shmem.h"
#else

/* clang-format off */

/* The nonblocking forms, _nbi (9.7.2): the value before, or the value read, is in *fetch when a
 * quiet has returned; fetch may be any memory of this PE.
 *
 * Extended AMO types. fetch (9.7.1.1): the value of source. set (9.7.1.2): writes value. swap
 * (9.7.1.4): writes value and returns the value before. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_API_CTX(TYPE, TYPENAME##_atomic_fetch, const TYPE *source, int pe) \
    SY_API_CTX(void, TYPENAME##_atomic_set, TYPE *dest, TYPE value, int pe) \
    SY_API_CTX(TYPE, TYPENAME##_atomic_swap, TYPE *dest, TYPE value, int pe) \
    SY_API_CTX(void, TYPENAME##_atomic_fetch_nbi, TYPE *fetch, const TYPE *source, int pe) \
    SY_API_CTX(void, TYPENAME##_atomic_swap_nbi, TYPE *fetch, TYPE *dest, TYPE value, int pe)
SY_EXTENDED_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Standard AMO types. compare_swap (9.7.1.3): writes value if dest equals cond; returns the value
 * before in either case. fetch_inc (9.7.1.5), inc (9.7.1.6): adds 1. fetch_add (9.7.1.7), add
 * (9.7.1.8): adds value. The routines with fetch return the value before. */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_API_CTX(TYPE, TYPENAME##_atomic_compare_swap, TYPE *dest, TYPE cond, TYPE value, int pe) \
    SY_API_CTX(TYPE, TYPENAME##_atomic_fetch_inc, TYPE *dest, int pe) \
    SY_API_CTX(void, TYPENAME##_atomic_inc, TYPE *dest, int pe) \
    SY_API_CTX(TYPE, TYPENAME##_atomic_fetch_add, TYPE *dest, TYPE value, int pe) \
    SY_API_CTX(void, TYPENAME##_atomic_add, TYPE *dest, TYPE value, int pe) \
    SY_API_CTX(void, TYPENAME##_atomic_compare_swap_nbi, TYPE *fetch, TYPE *dest, TYPE cond, \
               TYPE value, int pe) \
    SY_API_CTX(void, TYPENAME##_atomic_fetch_inc_nbi, TYPE *fetch, TYPE *dest, int pe) \
    SY_API_CTX(void, TYPENAME##_atomic_fetch_add_nbi, TYPE *fetch, TYPE *dest, TYPE value, \
               int pe)
SY_STANDARD_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Bitwise AMO types. fetch_and, and (9.7.1.9, 10), fetch_or, or (9.7.1.11, 12), fetch_xor, xor
 * (9.7.1.13, 14): combines dest with value. The routines with fetch return the value before. */
#define SY_BITWISE(FETCH, UPDATE, TYPE) \
    SY_API_CTX(TYPE, FETCH, TYPE *dest, TYPE value, int pe) \
    SY_API_CTX(void, UPDATE, TYPE *dest, TYPE value, int pe) \
    SY_API_CTX(void, FETCH##_nbi, TYPE *fetch, TYPE *dest, TYPE value, int pe)
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_BITWISE(TYPENAME##_atomic_fetch_and, TYPENAME##_atomic_and, TYPE) \
    SY_BITWISE(TYPENAME##_atomic_fetch_or, TYPENAME##_atomic_or, TYPE) \
    SY_BITWISE(TYPENAME##_atomic_fetch_xor, TYPENAME##_atomic_xor, TYPE)
SY_BITWISE_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE
#undef SY_BITWISE

/* Names deprecated since 1.4; each is the routine that has atomic_ in its name, on the same
 * objects. */
#define SY_DECLARE(TYPENAME, TYPE) \
    TYPE SY_API(shmem_##TYPENAME##_fetch)(const TYPE *source, int pe); \
    void SY_API(shmem_##TYPENAME##_set)(TYPE *dest, TYPE value, int pe); \
    TYPE SY_API(shmem_##TYPENAME##_swap)(TYPE *dest, TYPE value, int pe);
SY_DEPRECATED_EXTENDED_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* For long; in C11 also a choice by type. A function up to 1.2, kept for programs in C99. */
long SY_API(shmem_swap)(long *dest, long value, int pe);

#define SY_DECLARE(TYPENAME, TYPE) \
    TYPE SY_API(shmem_##TYPENAME##_cswap)(TYPE *dest, TYPE cond, TYPE value, int pe); \
    TYPE SY_API(shmem_##TYPENAME##_finc)(TYPE *dest, int pe); \
    void SY_API(shmem_##TYPENAME##_inc)(TYPE *dest, int pe); \
    TYPE SY_API(shmem_##TYPENAME##_fadd)(TYPE *dest, TYPE value, int pe); \
    void SY_API(shmem_##TYPENAME##_add)(TYPE *dest, TYPE value, int pe);
SY_DEPRECATED_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* clang-format on */

#endif

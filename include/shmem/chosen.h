/* The typed routines as the type-generic names call them: each is declared once more, under a name
 * of the implementation for the same symbol, with pointers that may be to volatile objects. A
 * program may well declare a variable volatile that other PEs change. C11.
 *
 * The assembler's name of a function is given by __asm__, which compilers for ELF platforms
 * understand. */
#include "../shmem.h" /* includes this file, so the guard comes after it */

#ifndef SY_SHMEM_CHOSEN_H
#define SY_SHMEM_CHOSEN_H

#if !defined __cplusplus && defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* clang-format off */

/* One routine; one that also has a form with a context; a collective one that takes a team, dest,
 * source and a count; an atomic change by a value, in its three forms. */
#define SY_CHOSEN(RESULT, NAME, ...) \
    RESULT SY_DIRECT sy_##NAME(__VA_ARGS__) __asm__("shmem_" #NAME);
#define SY_CHOSEN_CTX(RESULT, NAME, ...) \
    SY_CHOSEN(RESULT, NAME, __VA_ARGS__) \
    SY_CHOSEN(RESULT, ctx_##NAME, shmem_ctx_t, __VA_ARGS__)
#define SY_CHOSEN_COLLECTIVE(NAME, TYPE) SY_CHOSEN(int, NAME, shmem_team_t, SY_MOVED(TYPE), size_t)
#define SY_CHOSEN_CHANGE(FETCH, UPDATE, TYPE) \
    SY_CHOSEN_CTX(TYPE, FETCH, volatile TYPE *, TYPE, int) \
    SY_CHOSEN_CTX(void, UPDATE, volatile TYPE *, TYPE, int) \
    SY_CHOSEN_CTX(void, FETCH##_nbi, volatile TYPE *, volatile TYPE *, TYPE, int)

/* What routines have in common: dest and source; a set of variables, and one with indices. */
#define SY_MOVED(TYPE) volatile TYPE *, const volatile TYPE *
#define SY_SET(TYPE)   volatile TYPE *, size_t, const int *, int
#define SY_SOME(TYPE)  volatile TYPE *, size_t, size_t *, const int *, int

/* Remote memory access (9.6), signals (9.8.3, 4), collective routines without arithmetic (9.10). */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN_CTX(void, TYPENAME##_put, SY_MOVED(TYPE), size_t, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_p, volatile TYPE *, TYPE, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_iput, SY_MOVED(TYPE), ptrdiff_t, ptrdiff_t, size_t, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_ibput, SY_MOVED(TYPE), ptrdiff_t, ptrdiff_t, size_t, size_t, \
                  int) \
    SY_CHOSEN_CTX(void, TYPENAME##_get, SY_MOVED(TYPE), size_t, int) \
    SY_CHOSEN_CTX(TYPE, TYPENAME##_g, const volatile TYPE *, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_iget, SY_MOVED(TYPE), ptrdiff_t, ptrdiff_t, size_t, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_ibget, SY_MOVED(TYPE), ptrdiff_t, ptrdiff_t, size_t, size_t, \
                  int) \
    SY_CHOSEN_CTX(void, TYPENAME##_put_nbi, SY_MOVED(TYPE), size_t, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_get_nbi, SY_MOVED(TYPE), size_t, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_put_signal, SY_MOVED(TYPE), size_t, volatile uint64_t *, \
                  uint64_t, int, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_put_signal_nbi, SY_MOVED(TYPE), size_t, volatile uint64_t *, \
                  uint64_t, int, int) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_alltoall, TYPE) \
    SY_CHOSEN(int, TYPENAME##_alltoalls, shmem_team_t, SY_MOVED(TYPE), ptrdiff_t, ptrdiff_t, \
              size_t) \
    SY_CHOSEN(int, TYPENAME##_broadcast, shmem_team_t, SY_MOVED(TYPE), size_t, int) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_collect, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_fcollect, TYPE)
SY_RMA_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Reductions and scans (9.10.9, 9.10.10). */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_and_reduce, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_or_reduce, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_xor_reduce, TYPE)
SY_BITWISE_REDUCE_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_max_reduce, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_min_reduce, TYPE)
SY_COMPARE_REDUCE_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_sum_reduce, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_prod_reduce, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_sum_inscan, TYPE) \
    SY_CHOSEN_COLLECTIVE(TYPENAME##_sum_exscan, TYPE)
SY_ARITHMETIC_REDUCE_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Atomic memory operations (9.7). */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN_CTX(TYPE, TYPENAME##_atomic_fetch, const volatile TYPE *, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_atomic_set, volatile TYPE *, TYPE, int) \
    SY_CHOSEN_CTX(TYPE, TYPENAME##_atomic_swap, volatile TYPE *, TYPE, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_atomic_fetch_nbi, volatile TYPE *, const volatile TYPE *, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_atomic_swap_nbi, volatile TYPE *, volatile TYPE *, TYPE, int)
SY_EXTENDED_AMO_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN_CTX(TYPE, TYPENAME##_atomic_compare_swap, volatile TYPE *, TYPE, TYPE, int) \
    SY_CHOSEN_CTX(TYPE, TYPENAME##_atomic_fetch_inc, volatile TYPE *, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_atomic_inc, volatile TYPE *, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_atomic_compare_swap_nbi, volatile TYPE *, volatile TYPE *, \
                  TYPE, TYPE, int) \
    SY_CHOSEN_CTX(void, TYPENAME##_atomic_fetch_inc_nbi, volatile TYPE *, volatile TYPE *, int) \
    SY_CHOSEN_CHANGE(TYPENAME##_atomic_fetch_add, TYPENAME##_atomic_add, TYPE)
SY_STANDARD_AMO_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN_CHANGE(TYPENAME##_atomic_fetch_and, TYPENAME##_atomic_and, TYPE) \
    SY_CHOSEN_CHANGE(TYPENAME##_atomic_fetch_or, TYPENAME##_atomic_or, TYPE) \
    SY_CHOSEN_CHANGE(TYPENAME##_atomic_fetch_xor, TYPENAME##_atomic_xor, TYPE)
SY_BITWISE_AMO_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN(TYPE, TYPENAME##_fetch, const volatile TYPE *, int) \
    SY_CHOSEN(void, TYPENAME##_set, volatile TYPE *, TYPE, int) \
    SY_CHOSEN(TYPE, TYPENAME##_swap, volatile TYPE *, TYPE, int)
SY_DEPRECATED_EXTENDED_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN(TYPE, TYPENAME##_cswap, volatile TYPE *, TYPE, TYPE, int) \
    SY_CHOSEN(TYPE, TYPENAME##_finc, volatile TYPE *, int) \
    SY_CHOSEN(void, TYPENAME##_inc, volatile TYPE *, int) \
    SY_CHOSEN(TYPE, TYPENAME##_fadd, volatile TYPE *, TYPE, int) \
    SY_CHOSEN(void, TYPENAME##_add, volatile TYPE *, TYPE, int)
SY_DEPRECATED_AMO_TYPES(SY_DECLARE)
#undef SY_DECLARE

/* Point-to-point synchronisation (9.11). */
#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN(void, TYPENAME##_wait_until, volatile TYPE *, int, TYPE) \
    SY_CHOSEN(int, TYPENAME##_test, volatile TYPE *, int, TYPE)
SY_WAIT_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

#define SY_DECLARE(TYPENAME, TYPE) \
    SY_CHOSEN(void, TYPENAME##_wait_until_all, SY_SET(TYPE), TYPE) \
    SY_CHOSEN(size_t, TYPENAME##_wait_until_any, SY_SET(TYPE), TYPE) \
    SY_CHOSEN(size_t, TYPENAME##_wait_until_some, SY_SOME(TYPE), TYPE) \
    SY_CHOSEN(int, TYPENAME##_test_all, SY_SET(TYPE), TYPE) \
    SY_CHOSEN(size_t, TYPENAME##_test_any, SY_SET(TYPE), TYPE) \
    SY_CHOSEN(size_t, TYPENAME##_test_some, SY_SOME(TYPE), TYPE) \
    SY_CHOSEN(void, TYPENAME##_wait_until_all_vector, SY_SET(TYPE), const volatile TYPE *) \
    SY_CHOSEN(size_t, TYPENAME##_wait_until_any_vector, SY_SET(TYPE), const volatile TYPE *) \
    SY_CHOSEN(size_t, TYPENAME##_wait_until_some_vector, SY_SOME(TYPE), const volatile TYPE *) \
    SY_CHOSEN(int, TYPENAME##_test_all_vector, SY_SET(TYPE), const volatile TYPE *) \
    SY_CHOSEN(size_t, TYPENAME##_test_any_vector, SY_SET(TYPE), const volatile TYPE *) \
    SY_CHOSEN(size_t, TYPENAME##_test_some_vector, SY_SOME(TYPE), const volatile TYPE *)
SY_STANDARD_AMO_DISTINCT_TYPES(SY_DECLARE)
#undef SY_DECLARE

#undef SY_CHOSEN
#undef SY_CHOSEN_CTX
#undef SY_CHOSEN_COLLECTIVE
#undef SY_CHOSEN_CHANGE
#undef SY_MOVED
#undef SY_SET
#undef SY_SOME

/* clang-format on */

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif

#endif

/* The type-generic routines of C11: macros that choose a typed routine by the type of an argument,
 * under the name that it has in chosen.h. Not for C++ nor for older C.
 *
 * The choice is made by the pointer alone, so that values are converted as in any call. A routine
 * that takes a context does so as its first argument or not at all; both kinds of call are one
 * macro. An unsupported type is an error in which the compiler names it. Every case of a choice is
 * a macro of its own, because the part of a name that stands for a type or an operation must be
 * joined with ## before a program's macro of that name (p, add, uchar) can get hold of it. A choice
 * is made of the lists of types.h, and so cannot be used in what is expanded from the same list. */
#ifndef SY_SHMEM_GENERICS_H
#define SY_SHMEM_GENERICS_H

#include <stdint.h>

#include "types.h"
#include "constants.h"

#if !defined __cplusplus && defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L

#include "chosen.h"
#include "short_sets.h"

#define SY_FIRST(A, ...)     (A)
#define SY_SECOND(A, B, ...) (B)

/* Cases of a choice: pointers to what is written, and to what is only read. */
#define SY_TO(TYPE, ROUTINE)   , TYPE * : ROUTINE, volatile TYPE * : ROUTINE
#define SY_FROM(TYPE, ROUTINE) SY_TO(TYPE, ROUTINE) SY_TO(const TYPE, ROUTINE)

/* clang-format off */

/* Calls the case of SY_CASE_<ROUTINE>, for the types of the list SY_<TYPES>_TYPES, that the type of
 * the first argument chooses. */
#define SY_GENERIC(TYPES, ROUTINE, ...) \
    _Generic(SY_FIRST(__VA_ARGS__, 0) SY_##TYPES##_TYPES(SY_CASE_##ROUTINE))(__VA_ARGS__)

/* SY_GENERIC with an optional context, for SY_<TYPES>_DISTINCT_TYPES: if the first argument is one,
 * the second chooses a case of SY_CTX_CASE_<ROUTINE>. A compiler checks the choice that is not
 * taken as well, so that gets an int32_t *, which every list has. */
#define SY_GENERIC_CTX(TYPES, ROUTINE, ...) \
    SY_GENERIC_CHOICE(SY_SECOND(__VA_ARGS__, 0, 0), SY_##TYPES##_DISTINCT_TYPES, \
                      SY_CASE_##ROUTINE, SY_CTX_CASE_##ROUTINE, __VA_ARGS__)

#define SY_GENERIC_CHOICE(SECOND, LIST, CASE, CTX_CASE, ...) \
    _Generic(SY_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: _Generic( \
            _Generic(SY_FIRST(__VA_ARGS__, 0), \
                shmem_ctx_t: SECOND, \
                default: (int32_t *)0) LIST(CTX_CASE)), \
        default: _Generic( \
            _Generic(SY_FIRST(__VA_ARGS__, 0), \
                shmem_ctx_t: (int32_t *)0, \
                default: SY_FIRST(__VA_ARGS__, 0)) LIST(CASE)))(__VA_ARGS__)

/* Generic forms of put: the source is any memory of the PE, so it may be written as an array
 * literal, (long[]){1, 2, 3}, which the preprocessor takes for several arguments. Without a context
 * the source is the second, and the beginning of a literal is no expression: so as many
 * arguments are joined as there are more than ARITY, those of the form without a context, if the
 * second begins with a parenthesis. Then it may also be the dest of the form with a context, whose
 * type the joining keeps, since it adds zeros. Nothing of this is evaluated. A literal may have 33
 * elements; put another parenthesis around a longer one. */
#define SY_GENERIC_PUT(ARITY, TYPES, ROUTINE, ...) \
    SY_GENERIC_PUT_OF(SY_SURPLUS_##ARITY(__VA_ARGS__), SY_##TYPES##_DISTINCT_TYPES, \
                      SY_CASE_##ROUTINE, SY_CTX_CASE_##ROUTINE, __VA_ARGS__)
#define SY_GENERIC_PUT_OF(SURPLUS, LIST, CASE, CTX_CASE, ...) \
    SY_GENERIC_CHOICE(SY_JOINED(SURPLUS, __VA_ARGS__, 0), LIST, CASE, CTX_CASE, __VA_ARGS__)

#define SY_JOINED(SURPLUS, A, ...) SY_JOINED_IF(SY_BEGINS(__VA_ARGS__, 0), SURPLUS, __VA_ARGS__)
#define SY_JOINED_IF(BEGINS, SURPLUS, ...)   SY_JOINED_THEN(BEGINS, SURPLUS, __VA_ARGS__)
#define SY_JOINED_THEN(BEGINS, SURPLUS, ...) SY_JOINED_##BEGINS(SURPLUS, __VA_ARGS__)
#define SY_JOINED_0(SURPLUS, ...)            SY_FIRST(__VA_ARGS__, 0)
#define SY_JOINED_1(SURPLUS, ...)            (SY_JOIN_##SURPLUS(__VA_ARGS__, 0))

/* 1 if the first argument begins with a parenthesis, else 0. */
#define SY_BEGINS(A, ...)         SY_PICK(SY_IN_PARENTHESES A, 0, 0)
#define SY_IN_PARENTHESES(...)    0, 1,
#define SY_PICK(...)              SY_PICK_SECOND(__VA_ARGS__)
#define SY_PICK_SECOND(A, B, ...) B

/* How many arguments there are more than 4, 6 or 7. */
#define SY_AT_41( \
    A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17, A18, A19, A20, \
    A21, A22, A23, A24, A25, A26, A27, A28, A29, A30, A31, A32, A33, A34, A35, A36, A37, A38, \
    A39, A40, N, ...) N
#define SY_SURPLUS_4(...) \
    SY_AT_41(__VA_ARGS__, MANY, MANY, MANY, MANY, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, \
    21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0)
#define SY_SURPLUS_6(...) \
    SY_AT_41(__VA_ARGS__, MANY, MANY, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, \
    18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0)
#define SY_SURPLUS_7(...) \
    SY_AT_41(__VA_ARGS__, MANY, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, \
    17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0)

#define SY_PLUS + 0 * (int)sizeof +(uintptr_t)
#define SY_JOIN_0(A, ...) A
#define SY_JOIN_1(A, ...) A SY_PLUS SY_JOIN_0(__VA_ARGS__)
#define SY_JOIN_2(A, ...) A SY_PLUS SY_JOIN_1(__VA_ARGS__)
#define SY_JOIN_3(A, ...) A SY_PLUS SY_JOIN_2(__VA_ARGS__)
#define SY_JOIN_4(A, ...) A SY_PLUS SY_JOIN_3(__VA_ARGS__)
#define SY_JOIN_5(A, ...) A SY_PLUS SY_JOIN_4(__VA_ARGS__)
#define SY_JOIN_6(A, ...) A SY_PLUS SY_JOIN_5(__VA_ARGS__)
#define SY_JOIN_7(A, ...) A SY_PLUS SY_JOIN_6(__VA_ARGS__)
#define SY_JOIN_8(A, ...) A SY_PLUS SY_JOIN_7(__VA_ARGS__)
#define SY_JOIN_9(A, ...) A SY_PLUS SY_JOIN_8(__VA_ARGS__)
#define SY_JOIN_10(A, ...) A SY_PLUS SY_JOIN_9(__VA_ARGS__)
#define SY_JOIN_11(A, ...) A SY_PLUS SY_JOIN_10(__VA_ARGS__)
#define SY_JOIN_12(A, ...) A SY_PLUS SY_JOIN_11(__VA_ARGS__)
#define SY_JOIN_13(A, ...) A SY_PLUS SY_JOIN_12(__VA_ARGS__)
#define SY_JOIN_14(A, ...) A SY_PLUS SY_JOIN_13(__VA_ARGS__)
#define SY_JOIN_15(A, ...) A SY_PLUS SY_JOIN_14(__VA_ARGS__)
#define SY_JOIN_16(A, ...) A SY_PLUS SY_JOIN_15(__VA_ARGS__)
#define SY_JOIN_17(A, ...) A SY_PLUS SY_JOIN_16(__VA_ARGS__)
#define SY_JOIN_18(A, ...) A SY_PLUS SY_JOIN_17(__VA_ARGS__)
#define SY_JOIN_19(A, ...) A SY_PLUS SY_JOIN_18(__VA_ARGS__)
#define SY_JOIN_20(A, ...) A SY_PLUS SY_JOIN_19(__VA_ARGS__)
#define SY_JOIN_21(A, ...) A SY_PLUS SY_JOIN_20(__VA_ARGS__)
#define SY_JOIN_22(A, ...) A SY_PLUS SY_JOIN_21(__VA_ARGS__)
#define SY_JOIN_23(A, ...) A SY_PLUS SY_JOIN_22(__VA_ARGS__)
#define SY_JOIN_24(A, ...) A SY_PLUS SY_JOIN_23(__VA_ARGS__)
#define SY_JOIN_25(A, ...) A SY_PLUS SY_JOIN_24(__VA_ARGS__)
#define SY_JOIN_26(A, ...) A SY_PLUS SY_JOIN_25(__VA_ARGS__)
#define SY_JOIN_27(A, ...) A SY_PLUS SY_JOIN_26(__VA_ARGS__)
#define SY_JOIN_28(A, ...) A SY_PLUS SY_JOIN_27(__VA_ARGS__)
#define SY_JOIN_29(A, ...) A SY_PLUS SY_JOIN_28(__VA_ARGS__)
#define SY_JOIN_30(A, ...) A SY_PLUS SY_JOIN_29(__VA_ARGS__)
#define SY_JOIN_31(A, ...) A SY_PLUS SY_JOIN_30(__VA_ARGS__)
#define SY_JOIN_32(A, ...) A SY_PLUS SY_JOIN_31(__VA_ARGS__)

/* Generic forms of a collective routine: the first argument is a team, the second chooses. */
#define SY_GENERIC_TEAM(TYPES, ROUTINE, ...) \
    _Generic(SY_SECOND(__VA_ARGS__, 0, 0) \
                 SY_##TYPES##_DISTINCT_TYPES(SY_CASE_##ROUTINE))(__VA_ARGS__)

/* Remote memory access (9.6). */
#define SY_CASE_PUT(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_put)
#define SY_CTX_CASE_PUT(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_put)
#define SY_CASE_P(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_p)
#define SY_CTX_CASE_P(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_p)
#define SY_CASE_IPUT(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_iput)
#define SY_CTX_CASE_IPUT(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_iput)
#define SY_CASE_IBPUT(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_ibput)
#define SY_CTX_CASE_IBPUT(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_ibput)
#define SY_CASE_GET(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_get)
#define SY_CTX_CASE_GET(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_get)
#define SY_CASE_G(NAME, TYPE) SY_FROM(TYPE, sy_##NAME##_g)
#define SY_CTX_CASE_G(NAME, TYPE) SY_FROM(TYPE, sy_ctx_##NAME##_g)
#define SY_CASE_IGET(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_iget)
#define SY_CTX_CASE_IGET(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_iget)
#define SY_CASE_IBGET(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_ibget)
#define SY_CTX_CASE_IBGET(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_ibget)
#define SY_CASE_PUT_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_put_nbi)
#define SY_CTX_CASE_PUT_NBI(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_put_nbi)
#define SY_CASE_GET_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_get_nbi)
#define SY_CTX_CASE_GET_NBI(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_get_nbi)

#define shmem_put(...) SY_GENERIC_PUT(4, RMA, PUT, __VA_ARGS__)
#define shmem_p(...) SY_GENERIC_CTX(RMA, P, __VA_ARGS__)
#define shmem_iput(...) SY_GENERIC_PUT(6, RMA, IPUT, __VA_ARGS__)
#define shmem_ibput(...) SY_GENERIC_PUT(7, RMA, IBPUT, __VA_ARGS__)
#define shmem_get(...) SY_GENERIC_CTX(RMA, GET, __VA_ARGS__)
#define shmem_g(...) SY_GENERIC_CTX(RMA, G, __VA_ARGS__)
#define shmem_iget(...) SY_GENERIC_CTX(RMA, IGET, __VA_ARGS__)
#define shmem_ibget(...) SY_GENERIC_CTX(RMA, IBGET, __VA_ARGS__)
#define shmem_put_nbi(...) SY_GENERIC_PUT(4, RMA, PUT_NBI, __VA_ARGS__)
#define shmem_get_nbi(...) SY_GENERIC_CTX(RMA, GET_NBI, __VA_ARGS__)

/* Atomic memory operations (9.7). */
#define SY_CASE_ATOMIC_FETCH(NAME, TYPE) SY_FROM(TYPE, sy_##NAME##_atomic_fetch)
#define SY_CTX_CASE_ATOMIC_FETCH(NAME, TYPE) SY_FROM(TYPE, sy_ctx_##NAME##_atomic_fetch)
#define SY_CASE_ATOMIC_SET(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_set)
#define SY_CTX_CASE_ATOMIC_SET(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_set)
#define SY_CASE_ATOMIC_SWAP(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_swap)
#define SY_CTX_CASE_ATOMIC_SWAP(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_swap)
#define SY_CASE_ATOMIC_COMPARE_SWAP(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_compare_swap)
#define SY_CTX_CASE_ATOMIC_COMPARE_SWAP(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_compare_swap)
#define SY_CASE_ATOMIC_FETCH_INC(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_inc)
#define SY_CTX_CASE_ATOMIC_FETCH_INC(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_inc)
#define SY_CASE_ATOMIC_INC(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_inc)
#define SY_CTX_CASE_ATOMIC_INC(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_inc)
#define SY_CASE_ATOMIC_FETCH_ADD(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_add)
#define SY_CTX_CASE_ATOMIC_FETCH_ADD(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_add)
#define SY_CASE_ATOMIC_ADD(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_add)
#define SY_CTX_CASE_ATOMIC_ADD(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_add)
#define SY_CASE_ATOMIC_FETCH_AND(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_and)
#define SY_CTX_CASE_ATOMIC_FETCH_AND(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_and)
#define SY_CASE_ATOMIC_AND(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_and)
#define SY_CTX_CASE_ATOMIC_AND(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_and)
#define SY_CASE_ATOMIC_FETCH_OR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_or)
#define SY_CTX_CASE_ATOMIC_FETCH_OR(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_or)
#define SY_CASE_ATOMIC_OR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_or)
#define SY_CTX_CASE_ATOMIC_OR(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_or)
#define SY_CASE_ATOMIC_FETCH_XOR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_xor)
#define SY_CTX_CASE_ATOMIC_FETCH_XOR(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_xor)
#define SY_CASE_ATOMIC_XOR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_xor)
#define SY_CTX_CASE_ATOMIC_XOR(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_xor)
#define SY_CASE_ATOMIC_FETCH_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_nbi)
#define SY_CTX_CASE_ATOMIC_FETCH_NBI(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_nbi)
#define SY_CASE_ATOMIC_SWAP_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_swap_nbi)
#define SY_CTX_CASE_ATOMIC_SWAP_NBI(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_swap_nbi)
#define SY_CASE_ATOMIC_COMPARE_SWAP_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_compare_swap_nbi)
#define SY_CTX_CASE_ATOMIC_COMPARE_SWAP_NBI(NAME, TYPE) \
    SY_TO(TYPE, sy_ctx_##NAME##_atomic_compare_swap_nbi)
#define SY_CASE_ATOMIC_FETCH_INC_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_inc_nbi)
#define SY_CTX_CASE_ATOMIC_FETCH_INC_NBI(NAME, TYPE) \
    SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_inc_nbi)
#define SY_CASE_ATOMIC_FETCH_ADD_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_add_nbi)
#define SY_CTX_CASE_ATOMIC_FETCH_ADD_NBI(NAME, TYPE) \
    SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_add_nbi)
#define SY_CASE_ATOMIC_FETCH_AND_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_and_nbi)
#define SY_CTX_CASE_ATOMIC_FETCH_AND_NBI(NAME, TYPE) \
    SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_and_nbi)
#define SY_CASE_ATOMIC_FETCH_OR_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_or_nbi)
#define SY_CTX_CASE_ATOMIC_FETCH_OR_NBI(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_or_nbi)
#define SY_CASE_ATOMIC_FETCH_XOR_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_atomic_fetch_xor_nbi)
#define SY_CTX_CASE_ATOMIC_FETCH_XOR_NBI(NAME, TYPE) \
    SY_TO(TYPE, sy_ctx_##NAME##_atomic_fetch_xor_nbi)

#define shmem_atomic_fetch(...) SY_GENERIC_CTX(EXTENDED_AMO, ATOMIC_FETCH, __VA_ARGS__)
#define shmem_atomic_set(...) SY_GENERIC_CTX(EXTENDED_AMO, ATOMIC_SET, __VA_ARGS__)
#define shmem_atomic_swap(...) SY_GENERIC_CTX(EXTENDED_AMO, ATOMIC_SWAP, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) \
    SY_GENERIC_CTX(STANDARD_AMO, ATOMIC_COMPARE_SWAP, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) SY_GENERIC_CTX(STANDARD_AMO, ATOMIC_FETCH_INC, __VA_ARGS__)
#define shmem_atomic_inc(...) SY_GENERIC_CTX(STANDARD_AMO, ATOMIC_INC, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) SY_GENERIC_CTX(STANDARD_AMO, ATOMIC_FETCH_ADD, __VA_ARGS__)
#define shmem_atomic_add(...) SY_GENERIC_CTX(STANDARD_AMO, ATOMIC_ADD, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_FETCH_AND, __VA_ARGS__)
#define shmem_atomic_and(...) SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_AND, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_FETCH_OR, __VA_ARGS__)
#define shmem_atomic_or(...) SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_OR, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_FETCH_XOR, __VA_ARGS__)
#define shmem_atomic_xor(...) SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_XOR, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) SY_GENERIC_CTX(EXTENDED_AMO, ATOMIC_FETCH_NBI, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) SY_GENERIC_CTX(EXTENDED_AMO, ATOMIC_SWAP_NBI, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) \
    SY_GENERIC_CTX(STANDARD_AMO, ATOMIC_COMPARE_SWAP_NBI, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) \
    SY_GENERIC_CTX(STANDARD_AMO, ATOMIC_FETCH_INC_NBI, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) \
    SY_GENERIC_CTX(STANDARD_AMO, ATOMIC_FETCH_ADD_NBI, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) \
    SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_FETCH_AND_NBI, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_FETCH_OR_NBI, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) \
    SY_GENERIC_CTX(BITWISE_AMO, ATOMIC_FETCH_XOR_NBI, __VA_ARGS__)

/* The names of atomic operations that 1.4 deprecated (9.7.1); they take no context. */
#define SY_CASE_FETCH(NAME, TYPE) SY_FROM(TYPE, sy_##NAME##_fetch)
#define SY_CASE_SET(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_set)
#define SY_CASE_SWAP(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_swap)
#define SY_CASE_CSWAP(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_cswap)
#define SY_CASE_FINC(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_finc)
#define SY_CASE_INC(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_inc)
#define SY_CASE_FADD(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_fadd)
#define SY_CASE_ADD(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_add)

#define shmem_fetch(...) SY_GENERIC(DEPRECATED_EXTENDED_AMO, FETCH, __VA_ARGS__)
#define shmem_set(...) SY_GENERIC(DEPRECATED_EXTENDED_AMO, SET, __VA_ARGS__)
#define shmem_swap(...) SY_GENERIC(DEPRECATED_EXTENDED_AMO, SWAP, __VA_ARGS__)
#define shmem_cswap(...) SY_GENERIC(DEPRECATED_AMO, CSWAP, __VA_ARGS__)
#define shmem_finc(...) SY_GENERIC(DEPRECATED_AMO, FINC, __VA_ARGS__)
#define shmem_inc(...) SY_GENERIC(DEPRECATED_AMO, INC, __VA_ARGS__)
#define shmem_fadd(...) SY_GENERIC(DEPRECATED_AMO, FADD, __VA_ARGS__)
#define shmem_add(...) SY_GENERIC(DEPRECATED_AMO, ADD, __VA_ARGS__)

/* Signalling operations (9.8). shmem_signal_add and shmem_signal_set are functions, too, and mean
 * those where the first argument is no context. */
#define SY_CASE_PUT_SIGNAL(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_put_signal)
#define SY_CTX_CASE_PUT_SIGNAL(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_put_signal)
#define SY_CASE_PUT_SIGNAL_NBI(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_put_signal_nbi)
#define SY_CTX_CASE_PUT_SIGNAL_NBI(NAME, TYPE) SY_TO(TYPE, sy_ctx_##NAME##_put_signal_nbi)

#define shmem_put_signal(...) SY_GENERIC_PUT(7, RMA, PUT_SIGNAL, __VA_ARGS__)
#define shmem_put_signal_nbi(...) SY_GENERIC_PUT(7, RMA, PUT_SIGNAL_NBI, __VA_ARGS__)

#define shmem_signal_add(...) \
    _Generic(SY_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: shmem_ctx_signal_add, \
        default: shmem_signal_add)(__VA_ARGS__)

#define shmem_signal_set(...) \
    _Generic(SY_FIRST(__VA_ARGS__, 0), \
        shmem_ctx_t: shmem_ctx_signal_set, \
        default: shmem_signal_set)(__VA_ARGS__)

/* Collective routines (9.10). shmem_sync is also the function for active sets, and means that where
 * the first argument is no team. */
#define shmem_sync(...) \
    _Generic(SY_FIRST(__VA_ARGS__, 0), \
        shmem_team_t: shmem_team_sync, \
        default: shmem_sync)(__VA_ARGS__)

#define SY_CASE_ALLTOALL(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_alltoall)
#define SY_CASE_ALLTOALLS(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_alltoalls)
#define SY_CASE_BROADCAST(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_broadcast)
#define SY_CASE_COLLECT(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_collect)
#define SY_CASE_FCOLLECT(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_fcollect)
#define SY_CASE_AND_REDUCE(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_and_reduce)
#define SY_CASE_OR_REDUCE(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_or_reduce)
#define SY_CASE_XOR_REDUCE(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_xor_reduce)
#define SY_CASE_MAX_REDUCE(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_max_reduce)
#define SY_CASE_MIN_REDUCE(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_min_reduce)
#define SY_CASE_SUM_REDUCE(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_sum_reduce)
#define SY_CASE_PROD_REDUCE(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_prod_reduce)
#define SY_CASE_SUM_INSCAN(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_sum_inscan)
#define SY_CASE_SUM_EXSCAN(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_sum_exscan)

#define shmem_alltoall(...) SY_GENERIC_TEAM(RMA, ALLTOALL, __VA_ARGS__)
#define shmem_alltoalls(...) SY_GENERIC_TEAM(RMA, ALLTOALLS, __VA_ARGS__)
#define shmem_broadcast(...) SY_GENERIC_TEAM(RMA, BROADCAST, __VA_ARGS__)
#define shmem_collect(...) SY_GENERIC_TEAM(RMA, COLLECT, __VA_ARGS__)
#define shmem_fcollect(...) SY_GENERIC_TEAM(RMA, FCOLLECT, __VA_ARGS__)
#define shmem_and_reduce(...) SY_GENERIC_TEAM(BITWISE_REDUCE, AND_REDUCE, __VA_ARGS__)
#define shmem_or_reduce(...) SY_GENERIC_TEAM(BITWISE_REDUCE, OR_REDUCE, __VA_ARGS__)
#define shmem_xor_reduce(...) SY_GENERIC_TEAM(BITWISE_REDUCE, XOR_REDUCE, __VA_ARGS__)
#define shmem_max_reduce(...) SY_GENERIC_TEAM(COMPARE_REDUCE, MAX_REDUCE, __VA_ARGS__)
#define shmem_min_reduce(...) SY_GENERIC_TEAM(COMPARE_REDUCE, MIN_REDUCE, __VA_ARGS__)
#define shmem_sum_reduce(...) SY_GENERIC_TEAM(ARITHMETIC_REDUCE, SUM_REDUCE, __VA_ARGS__)
#define shmem_prod_reduce(...) SY_GENERIC_TEAM(ARITHMETIC_REDUCE, PROD_REDUCE, __VA_ARGS__)
#define shmem_sum_inscan(...) SY_GENERIC_TEAM(ARITHMETIC_REDUCE, SUM_INSCAN, __VA_ARGS__)
#define shmem_sum_exscan(...) SY_GENERIC_TEAM(ARITHMETIC_REDUCE, SUM_EXSCAN, __VA_ARGS__)

/* Point-to-point synchronisation (9.11). shmem_wait_until is also a function, for long; without
 * parentheses after it the name means that. */
#define SY_CASE_WAIT_UNTIL(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_wait_until)
#define SY_CASE_TEST(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_test)

#define shmem_wait_until(...) SY_GENERIC(WAIT_DISTINCT, WAIT_UNTIL, __VA_ARGS__)
#define shmem_test(...) SY_GENERIC(WAIT_DISTINCT, TEST, __VA_ARGS__)

/* Sets: besides the standard types, an extension for short and unsigned short (short_sets.h). */
#define SY_GENERIC_SETS(ROUTINE, ...) \
    _Generic(SY_FIRST(__VA_ARGS__, 0) SY_STANDARD_AMO_DISTINCT_TYPES(SY_CASE_##ROUTINE) \
                 SY_DEPRECATED_WAIT_TYPES(SY_CASE_##ROUTINE))(__VA_ARGS__)

#define SY_CASE_WAIT_UNTIL_ALL(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_wait_until_all)
#define SY_CASE_WAIT_UNTIL_ANY(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_wait_until_any)
#define SY_CASE_WAIT_UNTIL_SOME(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_wait_until_some)
#define SY_CASE_WAIT_UNTIL_ALL_VECTOR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_wait_until_all_vector)
#define SY_CASE_WAIT_UNTIL_ANY_VECTOR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_wait_until_any_vector)
#define SY_CASE_WAIT_UNTIL_SOME_VECTOR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_wait_until_some_vector)
#define SY_CASE_TEST_ALL(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_test_all)
#define SY_CASE_TEST_ANY(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_test_any)
#define SY_CASE_TEST_SOME(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_test_some)
#define SY_CASE_TEST_ALL_VECTOR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_test_all_vector)
#define SY_CASE_TEST_ANY_VECTOR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_test_any_vector)
#define SY_CASE_TEST_SOME_VECTOR(NAME, TYPE) SY_TO(TYPE, sy_##NAME##_test_some_vector)

#define shmem_wait_until_all(...) SY_GENERIC_SETS(WAIT_UNTIL_ALL, __VA_ARGS__)
#define shmem_wait_until_any(...) SY_GENERIC_SETS(WAIT_UNTIL_ANY, __VA_ARGS__)
#define shmem_wait_until_some(...) SY_GENERIC_SETS(WAIT_UNTIL_SOME, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) \
    SY_GENERIC(STANDARD_AMO_DISTINCT, WAIT_UNTIL_ALL_VECTOR, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) \
    SY_GENERIC(STANDARD_AMO_DISTINCT, WAIT_UNTIL_ANY_VECTOR, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) \
    SY_GENERIC(STANDARD_AMO_DISTINCT, WAIT_UNTIL_SOME_VECTOR, __VA_ARGS__)
#define shmem_test_all(...) SY_GENERIC_SETS(TEST_ALL, __VA_ARGS__)
#define shmem_test_any(...) SY_GENERIC_SETS(TEST_ANY, __VA_ARGS__)
#define shmem_test_some(...) SY_GENERIC_SETS(TEST_SOME, __VA_ARGS__)
#define shmem_test_all_vector(...) SY_GENERIC(STANDARD_AMO_DISTINCT, TEST_ALL_VECTOR, __VA_ARGS__)
#define shmem_test_any_vector(...) SY_GENERIC(STANDARD_AMO_DISTINCT, TEST_ANY_VECTOR, __VA_ARGS__)
#define shmem_test_some_vector(...) SY_GENERIC(STANDARD_AMO_DISTINCT, TEST_SOME_VECTOR, __VA_ARGS__)

/* clang-format on */

#endif

#endif

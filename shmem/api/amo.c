/* Atomic memory operations (9.7): thunks over core/amo.h, expanded over the type tables. Operands
 * travel as bits, so that one core serves all types of a width. */
#include "api/alias.h"
#include "core/amo.h"

/* clang-format off */

#define BITS(TYPE, value) sy_amo_bits(&(TYPE){value}, sizeof(TYPE))

/* Routines that return the old value, with and without a context. PARAMETERS is what follows the
 * context, in parentheses; OPERAND and COMPARE are expressions over it. */
#define UNWRAP(...) __VA_ARGS__
#define DEFINE_FETCH(NAME, OP, TYPE, PARAMETERS, OBJECT, OPERAND, COMPARE) \
    TYPE p##shmem_ctx_##NAME(shmem_ctx_t ctx, UNWRAP PARAMETERS) \
    { \
        TYPE old; \
        sy_amo_unbits(&old, sizeof old, \
                      sy_amo_fetch(ctx, OP, (void *)OBJECT, sizeof old, BITS(TYPE, OPERAND), \
                                   BITS(TYPE, COMPARE), pe)); \
        return old; \
    } \
    SY_ALIAS(shmem_ctx_##NAME); \
    DEFINE_FETCH_DEFAULT(shmem_##NAME, OP, TYPE, PARAMETERS, OBJECT, OPERAND, COMPARE)

/* The form on the default context alone; the deprecated names have no other. */
#define DEFINE_FETCH_DEFAULT(NAME, OP, TYPE, PARAMETERS, OBJECT, OPERAND, COMPARE) \
    TYPE p##NAME PARAMETERS \
    { \
        TYPE old; \
        sy_amo_unbits(&old, sizeof old, \
                      sy_amo_fetch(SHMEM_CTX_DEFAULT, OP, (void *)OBJECT, sizeof old, \
                                   BITS(TYPE, OPERAND), BITS(TYPE, COMPARE), pe)); \
        return old; \
    } \
    SY_ALIAS(NAME);

/* Routines that return nothing. */
#define DEFINE_UPDATE(NAME, OP, TYPE, PARAMETERS, OPERAND) \
    void p##shmem_ctx_##NAME(shmem_ctx_t ctx, UNWRAP PARAMETERS) \
    { sy_amo_update(ctx, OP, dest, sizeof(TYPE), BITS(TYPE, OPERAND), pe); } \
    SY_ALIAS(shmem_ctx_##NAME); \
    DEFINE_UPDATE_DEFAULT(shmem_##NAME, OP, TYPE, PARAMETERS, OPERAND)

#define DEFINE_UPDATE_DEFAULT(NAME, OP, TYPE, PARAMETERS, OPERAND) \
    void p##NAME PARAMETERS \
    { sy_amo_update(SHMEM_CTX_DEFAULT, OP, dest, sizeof(TYPE), BITS(TYPE, OPERAND), pe); } \
    SY_ALIAS(NAME);

/* Nonblocking routines that write the old value to *fetch. */
#define DEFINE_NBI(NAME, OP, TYPE, PARAMETERS, OBJECT, OPERAND, COMPARE) \
    void p##shmem_ctx_##NAME(shmem_ctx_t ctx, UNWRAP PARAMETERS) \
    { \
        sy_amo_start(ctx, OP, (void *)OBJECT, sizeof(TYPE), BITS(TYPE, OPERAND), \
                     BITS(TYPE, COMPARE), fetch, pe); \
    } \
    SY_ALIAS(shmem_ctx_##NAME); \
    void p##shmem_##NAME PARAMETERS \
    { \
        sy_amo_start(SHMEM_CTX_DEFAULT, OP, (void *)OBJECT, sizeof(TYPE), BITS(TYPE, OPERAND), \
                     BITS(TYPE, COMPARE), fetch, pe); \
    } \
    SY_ALIAS(shmem_##NAME);

#define DEFINE_EXTENDED(NAME, TYPE) \
    DEFINE_FETCH(NAME##_atomic_fetch, SY_AMO_FETCH, TYPE, (const TYPE *source, int pe), source, 0, 0) \
    DEFINE_UPDATE(NAME##_atomic_set, SY_AMO_SET, TYPE, (TYPE *dest, TYPE value, int pe), value) \
    DEFINE_FETCH(NAME##_atomic_swap, SY_AMO_SWAP, TYPE, (TYPE *dest, TYPE value, int pe), dest, value, 0) \
    DEFINE_NBI(NAME##_atomic_fetch_nbi, SY_AMO_FETCH, TYPE, \
               (TYPE *fetch, const TYPE *source, int pe), source, 0, 0) \
    DEFINE_NBI(NAME##_atomic_swap_nbi, SY_AMO_SWAP, TYPE, \
               (TYPE *fetch, TYPE *dest, TYPE value, int pe), dest, value, 0)
SY_EXTENDED_AMO_TYPES(DEFINE_EXTENDED)
#undef DEFINE_EXTENDED

#define DEFINE_STANDARD(NAME, TYPE) \
    DEFINE_FETCH(NAME##_atomic_compare_swap, SY_AMO_CSWAP, TYPE, \
                 (TYPE *dest, TYPE cond, TYPE value, int pe), dest, value, cond) \
    DEFINE_FETCH(NAME##_atomic_fetch_inc, SY_AMO_ADD, TYPE, (TYPE *dest, int pe), dest, 1, 0) \
    DEFINE_UPDATE(NAME##_atomic_inc, SY_AMO_ADD, TYPE, (TYPE *dest, int pe), 1) \
    DEFINE_FETCH(NAME##_atomic_fetch_add, SY_AMO_ADD, TYPE, (TYPE *dest, TYPE value, int pe), dest, \
                 value, 0) \
    DEFINE_UPDATE(NAME##_atomic_add, SY_AMO_ADD, TYPE, (TYPE *dest, TYPE value, int pe), value) \
    DEFINE_NBI(NAME##_atomic_compare_swap_nbi, SY_AMO_CSWAP, TYPE, \
               (TYPE *fetch, TYPE *dest, TYPE cond, TYPE value, int pe), dest, value, cond) \
    DEFINE_NBI(NAME##_atomic_fetch_inc_nbi, SY_AMO_ADD, TYPE, (TYPE *fetch, TYPE *dest, int pe), \
               dest, 1, 0) \
    DEFINE_NBI(NAME##_atomic_fetch_add_nbi, SY_AMO_ADD, TYPE, \
               (TYPE *fetch, TYPE *dest, TYPE value, int pe), dest, value, 0)
SY_STANDARD_AMO_TYPES(DEFINE_STANDARD)
#undef DEFINE_STANDARD

#define DEFINE_BITWISE_OP(NAME, TYPE, WORD, OP) \
    DEFINE_FETCH(NAME##_atomic_fetch_##WORD, OP, TYPE, (TYPE *dest, TYPE value, int pe), dest, value, \
                 0) \
    DEFINE_UPDATE(NAME##_atomic_##WORD, OP, TYPE, (TYPE *dest, TYPE value, int pe), value) \
    DEFINE_NBI(NAME##_atomic_fetch_##WORD##_nbi, OP, TYPE, \
               (TYPE *fetch, TYPE *dest, TYPE value, int pe), dest, value, 0)
#define DEFINE_BITWISE(NAME, TYPE) \
    DEFINE_BITWISE_OP(NAME, TYPE, and, SY_AMO_AND) \
    DEFINE_BITWISE_OP(NAME, TYPE, or, SY_AMO_OR) \
    DEFINE_BITWISE_OP(NAME, TYPE, xor, SY_AMO_XOR)
SY_BITWISE_AMO_TYPES(DEFINE_BITWISE)
#undef DEFINE_BITWISE

/* ---- names deprecated since 1.4 ---- */

#define DEFINE_OLD_EXTENDED(NAME, TYPE) \
    DEFINE_FETCH_DEFAULT(shmem_##NAME##_fetch, SY_AMO_FETCH, TYPE, (const TYPE *source, int pe), \
                         source, 0, 0) \
    DEFINE_UPDATE_DEFAULT(shmem_##NAME##_set, SY_AMO_SET, TYPE, (TYPE *dest, TYPE value, int pe), \
                          value) \
    DEFINE_FETCH_DEFAULT(shmem_##NAME##_swap, SY_AMO_SWAP, TYPE, (TYPE *dest, TYPE value, int pe), \
                         dest, value, 0)
SY_DEPRECATED_EXTENDED_AMO_TYPES(DEFINE_OLD_EXTENDED)
#undef DEFINE_OLD_EXTENDED

#define DEFINE_OLD_STANDARD(NAME, TYPE) \
    DEFINE_FETCH_DEFAULT(shmem_##NAME##_cswap, SY_AMO_CSWAP, TYPE, \
                         (TYPE *dest, TYPE cond, TYPE value, int pe), dest, value, cond) \
    DEFINE_FETCH_DEFAULT(shmem_##NAME##_finc, SY_AMO_ADD, TYPE, (TYPE *dest, int pe), dest, 1, 0) \
    DEFINE_UPDATE_DEFAULT(shmem_##NAME##_inc, SY_AMO_ADD, TYPE, (TYPE *dest, int pe), 1) \
    DEFINE_FETCH_DEFAULT(shmem_##NAME##_fadd, SY_AMO_ADD, TYPE, (TYPE *dest, TYPE value, int pe), \
                         dest, value, 0) \
    DEFINE_UPDATE_DEFAULT(shmem_##NAME##_add, SY_AMO_ADD, TYPE, (TYPE *dest, TYPE value, int pe), \
                          value)
SY_DEPRECATED_AMO_TYPES(DEFINE_OLD_STANDARD)
#undef DEFINE_OLD_STANDARD

/* clang-format on */

/* Atomic memory operations (9.7): thunks over core/amo.h, expanded over the type tables. Operands
 * travel as bits, so that one core serves all types of a width. */
#include "api/alias.h"
#include "api/lists.h"
#include "core/amo.h"

/* clang-format off */

/* The bodies: of routines that return the old value, that return nothing, and that write the old
 * value to *fetch later. OPERAND and COMPARE are expressions over the parameters. */
#define FETCH(OP, TYPE, OBJECT, OPERAND, COMPARE) \
    TYPE old; \
    sy_amo_unbits(&old, sizeof old, \
                  sy_amo_fetch(ctx, OP, (void *)OBJECT, sizeof old, SY_BITS(TYPE, OPERAND), \
                               SY_BITS(TYPE, COMPARE), pe)); \
    return old;
#define UPDATE(OP, TYPE, OPERAND) \
    sy_amo_update(ctx, OP, dest, sizeof(TYPE), SY_BITS(TYPE, OPERAND), pe);
#define START(OP, TYPE, OBJECT, OPERAND, COMPARE) \
    sy_amo_start(ctx, OP, (void *)OBJECT, sizeof(TYPE), SY_BITS(TYPE, OPERAND), SY_BITS(TYPE, COMPARE), \
                 fetch, pe);

/* The routines with and without a context. PARAMETERS is what follows the context. */
#define DEFINE_FETCH(NAME, OP, TYPE, PARAMETERS, OBJECT, OPERAND, COMPARE) \
    SY_DEFINE_CTX(TYPE, NAME, PARAMETERS, FETCH(OP, TYPE, OBJECT, OPERAND, COMPARE))
#define DEFINE_UPDATE(NAME, OP, TYPE, PARAMETERS, OPERAND) \
    SY_DEFINE_CTX(void, NAME, PARAMETERS, UPDATE(OP, TYPE, OPERAND))
#define DEFINE_NBI(NAME, OP, TYPE, PARAMETERS, OBJECT, OPERAND, COMPARE) \
    SY_DEFINE_CTX(void, NAME, PARAMETERS, START(OP, TYPE, OBJECT, OPERAND, COMPARE))

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

#define DEFINE_BITWISE_AMO(NAME, TYPE, WORD, OP) \
    DEFINE_FETCH(NAME##_atomic_fetch_##WORD, OP, TYPE, (TYPE *dest, TYPE value, int pe), dest, value, \
                 0) \
    DEFINE_UPDATE(NAME##_atomic_##WORD, OP, TYPE, (TYPE *dest, TYPE value, int pe), value) \
    DEFINE_NBI(NAME##_atomic_fetch_##WORD##_nbi, OP, TYPE, \
               (TYPE *fetch, TYPE *dest, TYPE value, int pe), dest, value, 0)
SY_BITWISE_AMOS

/* ---- names deprecated since 1.4, which have no form with a context ---- */

#define DEFINE_OLD(RESULT, NAME, PARAMETERS, BODY) \
    SY_DEFINE(RESULT, shmem_##NAME, PARAMETERS, const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT; BODY)

#define DEFINE_OLD_EXTENDED(NAME, TYPE) \
    DEFINE_OLD(TYPE, NAME##_fetch, (const TYPE *source, int pe), \
               FETCH(SY_AMO_FETCH, TYPE, source, 0, 0)) \
    DEFINE_OLD(void, NAME##_set, (TYPE *dest, TYPE value, int pe), UPDATE(SY_AMO_SET, TYPE, value)) \
    DEFINE_OLD(TYPE, NAME##_swap, (TYPE *dest, TYPE value, int pe), \
               FETCH(SY_AMO_SWAP, TYPE, dest, value, 0))
SY_DEPRECATED_EXTENDED_AMO_TYPES(DEFINE_OLD_EXTENDED)
#undef DEFINE_OLD_EXTENDED

DEFINE_OLD(long, swap, (long *dest, long value, int pe), FETCH(SY_AMO_SWAP, long, dest, value, 0))

#define DEFINE_OLD_STANDARD(NAME, TYPE) \
    DEFINE_OLD(TYPE, NAME##_cswap, (TYPE *dest, TYPE cond, TYPE value, int pe), \
               FETCH(SY_AMO_CSWAP, TYPE, dest, value, cond)) \
    DEFINE_OLD(TYPE, NAME##_finc, (TYPE *dest, int pe), FETCH(SY_AMO_ADD, TYPE, dest, 1, 0)) \
    DEFINE_OLD(void, NAME##_inc, (TYPE *dest, int pe), UPDATE(SY_AMO_ADD, TYPE, 1)) \
    DEFINE_OLD(TYPE, NAME##_fadd, (TYPE *dest, TYPE value, int pe), \
               FETCH(SY_AMO_ADD, TYPE, dest, value, 0)) \
    DEFINE_OLD(void, NAME##_add, (TYPE *dest, TYPE value, int pe), UPDATE(SY_AMO_ADD, TYPE, value))
SY_DEPRECATED_AMO_TYPES(DEFINE_OLD_STANDARD)
#undef DEFINE_OLD_STANDARD

/* clang-format on */

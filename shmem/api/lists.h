/* Lists of routines that both the blocking interface and streams have. Whoever expands a list has
 * defined the macro that the list names, which defines one routine or a few. */
#ifndef SY_API_LISTS_H
#define SY_API_LISTS_H

/* clang-format off */

/* ---- puts and gets: DEFINE_CONTIGUOUS(PUT, GET, TYPE, BYTES); BYTES: an element's size ---- */

#define CONTIGUOUS_TYPED(NAME, TYPE) DEFINE_CONTIGUOUS(NAME##_put, NAME##_get, TYPE, sizeof(TYPE))
#define CONTIGUOUS_SIZED(SIZE, BYTES) DEFINE_CONTIGUOUS(put##SIZE, get##SIZE, void, BYTES)
#define SY_CONTIGUOUS SY_RMA_TYPES(CONTIGUOUS_TYPED) SY_SIZES_AND_MEM(CONTIGUOUS_SIZED)

/* DEFINE_STRIDED(WHAT, SINGLE, BLOCKS, TYPE, BYTES): the routines for single elements and for blocks
 * of elements. WHAT: IPUT or IGET. */
#define STRIDED_TYPED(NAME, TYPE) \
    DEFINE_STRIDED(IPUT, NAME##_iput, NAME##_ibput, TYPE, sizeof(TYPE)) \
    DEFINE_STRIDED(IGET, NAME##_iget, NAME##_ibget, TYPE, sizeof(TYPE))
#define STRIDED_SIZED(SIZE, BYTES) \
    DEFINE_STRIDED(IPUT, iput##SIZE, ibput##SIZE, void, BYTES) \
    DEFINE_STRIDED(IGET, iget##SIZE, ibget##SIZE, void, BYTES)
#define SY_STRIDED SY_RMA_TYPES(STRIDED_TYPED) SY_SIZES(STRIDED_SIZED)

/* ---- atomic operations ---- */

#define SY_BITS(TYPE, value) sy_amo_bits(&(TYPE){value}, sizeof(TYPE))

/* DEFINE_BITWISE_AMO(NAME, TYPE, WORD, OP) */
#define BITWISE_AMO(NAME, TYPE) \
    DEFINE_BITWISE_AMO(NAME, TYPE, and, SY_AMO_AND) \
    DEFINE_BITWISE_AMO(NAME, TYPE, or, SY_AMO_OR) \
    DEFINE_BITWISE_AMO(NAME, TYPE, xor, SY_AMO_XOR)
#define SY_BITWISE_AMOS SY_BITWISE_AMO_TYPES(BITWISE_AMO)

/* ---- collective routines on teams ---- */

#define SY_TEAM_ARRAYS(TYPE) shmem_team_t team, TYPE *dest, const TYPE *source

/* DEFINE_DATA(ALLTOALL, ALLTOALLS, BROADCAST, COLLECT, FCOLLECT, TYPE, BYTES) */
#define DATA_TYPED(NAME, TYPE) \
    DEFINE_DATA(NAME##_alltoall, NAME##_alltoalls, NAME##_broadcast, NAME##_collect, NAME##_fcollect, \
                TYPE, sizeof(TYPE))
#define SY_TEAM_DATA \
    SY_RMA_TYPES(DATA_TYPED) \
    DEFINE_DATA(alltoallmem, alltoallsmem, broadcastmem, collectmem, fcollectmem, void, 1)

/* The operations of a kind: DEFINE(NAME, TYPE, KERNEL). END: the end of their names, `_reduce` or
 * `_to_all`. */
#define SY_BITWISE_OPS(DEFINE, NAME, TYPE, END) \
    DEFINE(NAME##_and##END, TYPE, SY_BITWISE_KERNEL(and, TYPE)) \
    DEFINE(NAME##_or##END, TYPE, SY_BITWISE_KERNEL(or, TYPE)) \
    DEFINE(NAME##_xor##END, TYPE, SY_BITWISE_KERNEL(xor, TYPE))
#define SY_COMPARE_OPS(DEFINE, NAME, TYPE, END) \
    DEFINE(NAME##_max##END, TYPE, SY_COMPARE_KERNEL(max, TYPE)) \
    DEFINE(NAME##_min##END, TYPE, SY_COMPARE_KERNEL(min, TYPE))
#define SY_ARITHMETIC_OPS(DEFINE, NAME, TYPE, END) \
    DEFINE(NAME##_sum##END, TYPE, SY_ARITHMETIC_KERNEL(sum, TYPE)) \
    DEFINE(NAME##_prod##END, TYPE, SY_ARITHMETIC_KERNEL(prod, TYPE))

/* DEFINE_REDUCE(NAME, TYPE, KERNEL) and DEFINE_SCAN(NAME, TYPE, INCLUSIVE) */
#define BITWISE_REDUCE(NAME, TYPE) SY_BITWISE_OPS(DEFINE_REDUCE, NAME, TYPE, _reduce)
#define COMPARE_REDUCE(NAME, TYPE) SY_COMPARE_OPS(DEFINE_REDUCE, NAME, TYPE, _reduce)
#define ARITHMETIC_REDUCE(NAME, TYPE) \
    SY_ARITHMETIC_OPS(DEFINE_REDUCE, NAME, TYPE, _reduce) \
    DEFINE_SCAN(NAME##_sum_inscan, TYPE, true) \
    DEFINE_SCAN(NAME##_sum_exscan, TYPE, false)
#define SY_TEAM_REDUCTIONS \
    SY_BITWISE_REDUCE_TYPES(BITWISE_REDUCE) \
    SY_COMPARE_REDUCE_TYPES(COMPARE_REDUCE) \
    SY_ARITHMETIC_REDUCE_TYPES(ARITHMETIC_REDUCE)

/* clang-format on */

#endif

/* Collective routines on streams: thunks over stream/ops.h, expanded over the type tables. */
#include "api/streams.h"

/* clang-format off */

#define TOGETHER(TEAM, WHAT, ...) \
    return sy_stream_together(stream, SY_ROUTINE, TEAM, \
                              (struct sy_stream_data){SY_STREAM_##WHAT, __VA_ARGS__});

SY_DEFINE(int, shmemx_barrier_all_on_stream, (shmemx_stream_t stream),
          TOGETHER(SHMEM_TEAM_WORLD, SYNC, .count = 0))
SY_DEFINE(int, shmemx_sync_all_on_stream, (shmemx_stream_t stream),
          TOGETHER(SHMEM_TEAM_WORLD, SYNC, .count = 0))
SY_DEFINE_ON_STREAM(int, barrier, (shmem_team_t team), TOGETHER(team, SYNC, .count = 0))
SY_DEFINE_ON_STREAM(int, team_sync, (shmem_team_t team), TOGETHER(team, SYNC, .count = 0))

/* ---- data ---- */

#define DEFINE(WHAT, NAME, TYPE, BYTES) \
    SY_DEFINE_ON_STREAM(int, NAME, (ARRAYS(TYPE), size_t nelems), \
                        TOGETHER(team, WHAT, ARGUMENTS(nelems, BYTES)))
#define ARRAYS(TYPE) shmem_team_t team, TYPE *dest, const TYPE *source
#define ARGUMENTS(COUNT, BYTES) .dest = dest, .source = source, .count = COUNT, .size = BYTES

#define DEFINE_DATA(A, S, B, C, F, TYPE, BYTES) \
    DEFINE(ALLTOALL, A, TYPE, BYTES) \
    SY_DEFINE_ON_STREAM(int, S, (ARRAYS(TYPE), ptrdiff_t dst, ptrdiff_t sst, size_t nelems), \
                        TOGETHER(team, ALLTOALLS, ARGUMENTS(nelems, BYTES), .dst = dst, .sst = sst)) \
    SY_DEFINE_ON_STREAM(int, B, (ARRAYS(TYPE), size_t nelems, int PE_root), \
                        TOGETHER(team, BROADCAST, ARGUMENTS(nelems, BYTES), .root = PE_root)) \
    DEFINE(COLLECT, C, TYPE, BYTES) \
    DEFINE(FCOLLECT, F, TYPE, BYTES)

#define DEFINE_TYPED(NAME, TYPE) \
    DEFINE_DATA(NAME##_alltoall, NAME##_alltoalls, NAME##_broadcast, NAME##_collect, NAME##_fcollect, \
                TYPE, sizeof(TYPE))
SY_RMA_TYPES(DEFINE_TYPED)
#undef DEFINE_TYPED

DEFINE_DATA(alltoallmem, alltoallsmem, broadcastmem, collectmem, fcollectmem, void, 1)

/* ---- reductions and scans ---- */

#define DEFINE_REDUCE(NAME, TYPE, KERNEL) \
    SY_DEFINE_ON_STREAM(int, NAME, (ARRAYS(TYPE), size_t nreduce), \
                        TOGETHER(team, REDUCE, ARGUMENTS(nreduce, sizeof(TYPE)), .kernel = KERNEL))
#define DEFINE_SCAN(NAME, TYPE, INCLUSIVE) \
    SY_DEFINE_ON_STREAM(int, NAME, (ARRAYS(TYPE), size_t nelems), \
                        TOGETHER(team, SCAN, ARGUMENTS(nelems, sizeof(TYPE)), \
                                 .kernel = SY_ARITHMETIC_KERNEL(sum, TYPE), .inclusive = INCLUSIVE))

#define DEFINE_BITWISE(NAME, TYPE) \
    DEFINE_REDUCE(NAME##_and_reduce, TYPE, SY_BITWISE_KERNEL(and, TYPE)) \
    DEFINE_REDUCE(NAME##_or_reduce, TYPE, SY_BITWISE_KERNEL(or, TYPE)) \
    DEFINE_REDUCE(NAME##_xor_reduce, TYPE, SY_BITWISE_KERNEL(xor, TYPE))
SY_BITWISE_REDUCE_TYPES(DEFINE_BITWISE)
#undef DEFINE_BITWISE

#define DEFINE_COMPARE(NAME, TYPE) \
    DEFINE_REDUCE(NAME##_max_reduce, TYPE, SY_COMPARE_KERNEL(max, TYPE)) \
    DEFINE_REDUCE(NAME##_min_reduce, TYPE, SY_COMPARE_KERNEL(min, TYPE))
SY_COMPARE_REDUCE_TYPES(DEFINE_COMPARE)
#undef DEFINE_COMPARE

#define DEFINE_ARITHMETIC(NAME, TYPE) \
    DEFINE_REDUCE(NAME##_sum_reduce, TYPE, SY_ARITHMETIC_KERNEL(sum, TYPE)) \
    DEFINE_REDUCE(NAME##_prod_reduce, TYPE, SY_ARITHMETIC_KERNEL(prod, TYPE)) \
    DEFINE_SCAN(NAME##_sum_inscan, TYPE, true) \
    DEFINE_SCAN(NAME##_sum_exscan, TYPE, false)
SY_ARITHMETIC_REDUCE_TYPES(DEFINE_ARITHMETIC)
#undef DEFINE_ARITHMETIC

/* clang-format on */

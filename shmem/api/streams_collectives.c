/* Collective routines on streams: thunks over stream/ops.h, expanded over the type tables. */
#include "api/lists.h"
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
    SY_DEFINE_ON_STREAM(int, NAME, (SY_TEAM_ARRAYS(TYPE), size_t nelems), \
                        TOGETHER(team, WHAT, ARGUMENTS(nelems, BYTES)))
#define ARGUMENTS(COUNT, BYTES) .dest = dest, .source = source, .count = COUNT, .size = BYTES

#define DEFINE_DATA(A, S, B, C, F, TYPE, BYTES) \
    DEFINE(ALLTOALL, A, TYPE, BYTES) \
    SY_DEFINE_ON_STREAM(int, S, (SY_TEAM_ARRAYS(TYPE), ptrdiff_t dst, ptrdiff_t sst, size_t nelems), \
                        TOGETHER(team, ALLTOALLS, ARGUMENTS(nelems, BYTES), .dst = dst, .sst = sst)) \
    SY_DEFINE_ON_STREAM(int, B, (SY_TEAM_ARRAYS(TYPE), size_t nelems, int PE_root), \
                        TOGETHER(team, BROADCAST, ARGUMENTS(nelems, BYTES), .root = PE_root)) \
    DEFINE(COLLECT, C, TYPE, BYTES) \
    DEFINE(FCOLLECT, F, TYPE, BYTES)
SY_TEAM_DATA

/* ---- reductions and scans ---- */

#define DEFINE_REDUCE(NAME, TYPE, KERNEL) \
    SY_DEFINE_ON_STREAM(int, NAME, (SY_TEAM_ARRAYS(TYPE), size_t nreduce), \
                        TOGETHER(team, REDUCE, ARGUMENTS(nreduce, sizeof(TYPE)), .kernel = KERNEL))
#define DEFINE_SCAN(NAME, TYPE, INCLUSIVE) \
    SY_DEFINE_ON_STREAM(int, NAME, (SY_TEAM_ARRAYS(TYPE), size_t nelems), \
                        TOGETHER(team, SCAN, ARGUMENTS(nelems, sizeof(TYPE)), \
                                 .kernel = SY_ARITHMETIC_KERNEL(sum, TYPE), .inclusive = INCLUSIVE))
SY_TEAM_REDUCTIONS

/* clang-format on */

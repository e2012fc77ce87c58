/* Collective routines (9.10): thunks over coll/, expanded over the type tables. Data travel as
 * bytes; a reduction's thunk chooses the kernel for its type. */
#include <stdio.h>

#include "api/alias.h"
#include "api/lists.h"
#include "coll/alltoall.h"
#include "coll/broadcast.h"
#include "coll/check.h"
#include "coll/collect.h"
#include "coll/reduce.h"
#include "coll/scan.h"
#include "coll/sync.h"
#include "core/start/world.h"

/* ---- groups ---- */

/* Finds the group of a team. False for SHMEM_TEAM_INVALID, which every routine answers with a
 * failure. */
static inline bool collectives_group_of(shmem_team_t team, const char *routine,
                                        struct sy_group *group)
{
    struct sy_team *of = sy_team_need(team, routine);
    if (SY_UNLIKELY(!of))
        return false;
    *group = sy_group_of_team(of);
    return true;
}

#define FAILED (-1)

/* Runs CALL, which uses `group`, on a team, and returns from the routine. */
#define ON_TEAM(ROUTINE, CALL)                                                                     \
    struct sy_group group;                                                                         \
    if (!collectives_group_of(team, ROUTINE, &group))                                              \
        return FAILED;                                                                             \
    CALL;                                                                                          \
    return 0

/* Runs CALL on the active set of the routine's arguments. */
#define ON_SET(ROUTINE, CALL)                                                                      \
    sy_world_need(ROUTINE);                                                                        \
    struct sy_group group = sy_group_of_set(ROUTINE, PE_start, logPE_stride, PE_size, pSync);      \
    CALL

/* ---- barriers ---- */

static void check_sync(const struct sy_group *group, bool barrier)
{
    SY_COLL_CHECK(group, .routine = SY_COLL_SYNC, .root = barrier);
}

static void collectives_world_check_sync(bool barrier)
{
    if (SY_UNLIKELY(sy_config.check)) {
        struct sy_group world = sy_group_of_team(&sy_team_world);
        check_sync(&world, barrier);
    }
}

void pshmem_barrier_all(void)
{
    sy_world_need("shmem_barrier_all");
    if (SY_UNLIKELY(sy_config.barriers_flush)) {
        fflush(stdout);
        fflush(stderr);
    }
    collectives_world_check_sync(true);
    sy_barrier_world();
}
SY_ALIAS(shmem_barrier_all);

void pshmem_sync_all(void)
{
    sy_world_need("shmem_sync_all");
    collectives_world_check_sync(false);
    sy_sync_world();
}
SY_ALIAS(shmem_sync_all);

int pshmem_team_sync(shmem_team_t team)
{
    ON_TEAM("shmem_team_sync", (check_sync(&group, false), sy_group_sync(&group)));
}
SY_ALIAS(shmem_team_sync);

void pshmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    ON_SET("shmem_barrier", check_sync(&group, true));
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    sy_group_sync(&group);
}
SY_ALIAS(shmem_barrier);

void pshmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
    ON_SET("shmem_sync", (check_sync(&group, false), sy_group_sync(&group)));
}
SY_ALIAS(shmem_sync);

/* clang-format off */

/* ---- data, on teams ---- */

static int alltoall(shmem_team_t team, void *dest, const void *source, size_t length)
{
    ON_TEAM("shmem_alltoall", sy_alltoall(&group, dest, source, length));
}

static int collectives_alltoalls(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                     size_t nelems, size_t size)
{
    ON_TEAM("shmem_alltoalls",
            sy_alltoalls(&group, dest, source, sy_stride(dst, size), sy_stride(sst, size), size, nelems));
}

static int broadcast(shmem_team_t team, void *dest, const void *source, size_t length, int root)
{
    ON_TEAM("shmem_broadcast", sy_broadcast(&group, dest, source, length, root));
}

static int collectives_collect(shmem_team_t team, void *dest, const void *source, size_t length)
{
    ON_TEAM("shmem_collect", sy_collect(&group, dest, source, length));
}

static int fcollect(shmem_team_t team, void *dest, const void *source, size_t length)
{
    ON_TEAM("shmem_fcollect", sy_fcollect(&group, dest, source, length));
}

#define DEFINE_DATA(ALLTOALL, ALLTOALLS, BROADCAST, COLLECT, FCOLLECT, TYPE, BYTES) \
    SY_DEFINE(int, shmem_##ALLTOALL, (SY_TEAM_ARRAYS(TYPE), size_t nelems), \
              return alltoall(team, dest, source, sy_bytes(nelems, BYTES));) \
    SY_DEFINE(int, shmem_##ALLTOALLS, (SY_TEAM_ARRAYS(TYPE), ptrdiff_t dst, ptrdiff_t sst, size_t nelems), \
              return collectives_alltoalls(team, dest, source, dst, sst, nelems, BYTES);) \
    SY_DEFINE(int, shmem_##BROADCAST, (SY_TEAM_ARRAYS(TYPE), size_t nelems, int PE_root), \
              return broadcast(team, dest, source, sy_bytes(nelems, BYTES), PE_root);) \
    SY_DEFINE(int, shmem_##COLLECT, (SY_TEAM_ARRAYS(TYPE), size_t nelems), \
              return collectives_collect(team, dest, source, sy_bytes(nelems, BYTES));) \
    SY_DEFINE(int, shmem_##FCOLLECT, (SY_TEAM_ARRAYS(TYPE), size_t nelems), \
              return fcollect(team, dest, source, sy_bytes(nelems, BYTES));)
SY_TEAM_DATA

/* ---- reductions and scans, on teams ---- */

static int reduce(shmem_team_t team, struct sy_operation op, void *dest, const void *source, size_t count)
{
    ON_TEAM("a reduction", sy_reduce(&group, op, dest, source, count));
}

static int scan(shmem_team_t team, struct sy_operation op, void *dest, const void *source, size_t count,
                bool inclusive)
{
    ON_TEAM("a scan", sy_scan(&group, op, dest, source, count, inclusive));
}

#define OPERATION(KERNEL, TYPE) (struct sy_operation){KERNEL, sizeof(TYPE)}

#define DEFINE_REDUCE(ROUTINE, TYPE, KERNEL) \
    SY_DEFINE(int, shmem_##ROUTINE, (SY_TEAM_ARRAYS(TYPE), size_t nreduce), \
              return reduce(team, OPERATION(KERNEL, TYPE), dest, source, nreduce);)
#define DEFINE_SCAN(ROUTINE, TYPE, INCLUSIVE) \
    SY_DEFINE(int, shmem_##ROUTINE, (SY_TEAM_ARRAYS(TYPE), size_t nelems), \
              return scan(team, OPERATION(SY_ARITHMETIC_KERNEL(sum, TYPE), TYPE), dest, source, \
                          nelems, INCLUSIVE);)
SY_TEAM_REDUCTIONS

/* ---- on active sets, deprecated ---- */

#define ACTIVE_SET int PE_start, int logPE_stride, int PE_size

#define DEFINE_SIZED(SIZE, BYTES) \
    SY_DEFINE(void, shmem_alltoall##SIZE, \
              (void *dest, const void *source, size_t nelems, ACTIVE_SET, long *pSync), \
              ON_SET("shmem_alltoall" #SIZE, sy_alltoall(&group, dest, source, sy_bytes(nelems, BYTES)));) \
    SY_DEFINE(void, shmem_alltoalls##SIZE, \
              (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, ACTIVE_SET, \
               long *pSync), \
              ON_SET("shmem_alltoalls" #SIZE, \
                     sy_alltoalls(&group, dest, source, sy_stride(dst, BYTES), sy_stride(sst, BYTES), BYTES, nelems));) \
    SY_DEFINE(void, shmem_broadcast##SIZE, \
              (void *dest, const void *source, size_t nelems, int PE_root, ACTIVE_SET, long *pSync), \
              ON_SET("shmem_broadcast" #SIZE, \
                     sy_broadcast(&group, dest, source, sy_bytes(nelems, BYTES), PE_root));) \
    SY_DEFINE(void, shmem_collect##SIZE, \
              (void *dest, const void *source, size_t nelems, ACTIVE_SET, long *pSync), \
              ON_SET("shmem_collect" #SIZE, sy_collect(&group, dest, source, sy_bytes(nelems, BYTES)));) \
    SY_DEFINE(void, shmem_fcollect##SIZE, \
              (void *dest, const void *source, size_t nelems, ACTIVE_SET, long *pSync), \
              ON_SET("shmem_fcollect" #SIZE, sy_fcollect(&group, dest, source, sy_bytes(nelems, BYTES)));)
SY_ACTIVE_SET_SIZES(DEFINE_SIZED)
#undef DEFINE_SIZED

/* The deprecated routines' pWrk is not used: reductions here need no memory of the program. */
#define DEFINE_TO_ALL(ROUTINE, TYPE, KERNEL) \
    SY_DEFINE(void, shmem_##ROUTINE, \
              (TYPE *dest, const TYPE *source, int nreduce, ACTIVE_SET, TYPE *pWrk, long *pSync), \
              (void)pWrk; \
              ON_SET("shmem_" #ROUTINE, sy_reduce(&group, OPERATION(KERNEL, TYPE), dest, source, \
                                                  nreduce > 0 ? (size_t)nreduce : 0));)

#define BITWISE_TO_ALL(NAME, TYPE) SY_BITWISE_OPS(DEFINE_TO_ALL, NAME, TYPE, _to_all)
#define COMPARE_TO_ALL(NAME, TYPE) SY_COMPARE_OPS(DEFINE_TO_ALL, NAME, TYPE, _to_all)
#define ARITHMETIC_TO_ALL(NAME, TYPE) SY_ARITHMETIC_OPS(DEFINE_TO_ALL, NAME, TYPE, _to_all)
SY_BITWISE_TO_ALL_TYPES(BITWISE_TO_ALL)
SY_COMPARE_TO_ALL_TYPES(COMPARE_TO_ALL)
SY_ARITHMETIC_TO_ALL_TYPES(ARITHMETIC_TO_ALL)

/* clang-format on */

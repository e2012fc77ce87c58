/* Rows of all PEs: by teams where the library has them (OpenSHMEM 1.5), else by active sets. Blocks
 * that are no whole number of 8 bytes are rounded up. */
#include "bench/curves/curves.h"

#include <shmem.h>
#include <stdlib.h>

#if SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION >= 105
#define BY_TEAM 1
#else
#define BY_TEAM 0
enum { SYNCS = 2 };
static long *sync_words[SYNCS]; /* taken in turns */
static double *work;
#endif

static size_t coll_words(size_t size)
{
    return (size + 7) / 8;
}

#if BY_TEAM
bool curve_coll_open(size_t most)
{
    return most > 0;
}
#else
/* Room for each routine's pSync and for the pWrk of reductions. */
bool curve_coll_open(size_t most)
{
    const int words = SHMEM_COLLECT_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE +
                      SHMEM_REDUCE_SYNC_SIZE;

    for (int k = 0; k < SYNCS; k++) {
        sync_words[k] = shmem_malloc((size_t)words * sizeof(long));
        for (int i = 0; sync_words[k] && i < words; i++)
            sync_words[k][i] = SHMEM_SYNC_VALUE;
    }
    work = shmem_malloc((coll_words(most) / 2 + 1 + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof *work);
    return sync_words[0] && sync_words[1] && work;
}
#endif

double curve_broadcast(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    for (long i = 0; i < n; i++)
#if BY_TEAM
        shmem_broadcastmem(SHMEM_TEAM_WORLD, curves->to, curves->from, size, 0);
#else
        shmem_broadcast64(curves->to, curves->from, coll_words(size), 0, 0, 0, curves->npes,
                          sync_words[i & 1]);
#endif
    return curve_now() - begin;
}

double curve_reduce(const struct curves *curves, size_t size, long n)
{
    double *to = (double *)(void *)curves->to, *from = (double *)(void *)curves->from;
    double begin = curve_now();

    for (long i = 0; i < n; i++)
#if BY_TEAM
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, to, from, coll_words(size));
#else
        shmem_double_sum_to_all(to, from, (int)coll_words(size), 0, 0, curves->npes, work,
                                sync_words[i & 1]);
#endif
    return curve_now() - begin;
}

double curve_collect(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    for (long i = 0; i < n; i++)
#if BY_TEAM
        shmem_collectmem(SHMEM_TEAM_WORLD, curves->to, curves->from, size);
#else
        shmem_collect64(curves->to, curves->from, coll_words(size), 0, 0, curves->npes,
                        sync_words[i & 1]);
#endif
    return curve_now() - begin;
}

double curve_fcollect(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    for (long i = 0; i < n; i++)
#if BY_TEAM
        shmem_fcollectmem(SHMEM_TEAM_WORLD, curves->to, curves->from, size);
#else
        shmem_fcollect64(curves->to, curves->from, coll_words(size), 0, 0, curves->npes,
                         sync_words[i & 1]);
#endif
    return curve_now() - begin;
}

double curve_alltoall(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    for (long i = 0; i < n; i++)
#if BY_TEAM
        shmem_alltoallmem(SHMEM_TEAM_WORLD, curves->to, curves->from, size);
#else
        shmem_alltoall64(curves->to, curves->from, coll_words(size), 0, 0, curves->npes,
                         sync_words[i & 1]);
#endif
    return curve_now() - begin;
}

double curve_alltoalls(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    for (long i = 0; i < n; i++)
#if BY_TEAM
        shmem_double_alltoalls(SHMEM_TEAM_WORLD, (double *)(void *)curves->to,
                               (double *)(void *)curves->from, 1, 2, coll_words(size));
#else
        shmem_alltoalls64(curves->to, curves->from, 1, 2, coll_words(size), 0, 0, curves->npes,
                          sync_words[i & 1]);
#endif
    return curve_now() - begin;
}

#if SHMEM_MAJOR_VERSION * 100 + SHMEM_MINOR_VERSION >= 106
double curve_inscan(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    for (long i = 0; i < n; i++)
        shmem_double_sum_inscan(SHMEM_TEAM_WORLD, (double *)(void *)curves->to,
                                (double *)(void *)curves->from, coll_words(size));
    return curve_now() - begin;
}

double curve_exscan(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    for (long i = 0; i < n; i++)
        shmem_double_sum_exscan(SHMEM_TEAM_WORLD, (double *)(void *)curves->to,
                                (double *)(void *)curves->from, coll_words(size));
    return curve_now() - begin;
}
#endif

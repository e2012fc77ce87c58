/* Rows: collectives over all PEs, one after the other, from one half of the block to the other. */
#include "bench/rows.h"

#include <shmem.h>

static void *result(struct bench *bench)
{
    return bench->shared->block;
}

static const void *input(struct bench *bench)
{
    return bench->shared->block + BENCH_HALF;
}

static double sum(struct bench *bench, long n, size_t count)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, result(bench), input(bench), count);
    return bench_now() - begin;
}

double coll_sum_one(struct bench *bench, long n)
{
    return sum(bench, n, 1);
}

double coll_sum_many(struct bench *bench, long n)
{
    return sum(bench, n, BENCH_MIDDLE / sizeof(double));
}

double coll_broadcast(struct bench *bench, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_broadcastmem(SHMEM_TEAM_WORLD, result(bench), input(bench), BENCH_MIDDLE, 0);
    return bench_now() - begin;
}

double coll_fcollect(struct bench *bench, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_long_fcollect(SHMEM_TEAM_WORLD, result(bench), input(bench), 1);
    return bench_now() - begin;
}

const char *coll_needs_room(const struct bench *bench)
{
    return bench->npes > BENCH_HALF / BENCH_SMALL ? "needs 512 PEs or fewer" : NULL;
}

double coll_alltoall(struct bench *bench, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_alltoallmem(SHMEM_TEAM_WORLD, result(bench), input(bench), BENCH_SMALL);
    return bench_now() - begin;
}

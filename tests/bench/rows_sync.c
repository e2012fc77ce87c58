/* Rows: what PEs wait for together. */
#include "bench/rows.h"

#include <shmem.h>

double sync_ping_pong(struct bench *bench, long n)
{
    long *ping = &bench->shared->ping;
    int peer = 1 - bench->me;
    double begin = bench_now();

    for (long i = 0; i < n; i++) {
        long trip = ++bench->pings;

        if (bench->me == 0)
            shmem_long_p(ping, trip, peer);
        shmem_long_wait_until(ping, SHMEM_CMP_EQ, trip);
        if (bench->me != 0)
            shmem_long_p(ping, trip, peer);
    }
    return bench_now() - begin;
}

double sync_barrier_all(struct bench *bench, long n)
{
    double begin = bench_now();

    (void)bench;
    for (long i = 0; i < n; i++)
        shmem_barrier_all();
    return bench_now() - begin;
}

double sync_sync_all(struct bench *bench, long n)
{
    double begin = bench_now();

    (void)bench;
    for (long i = 0; i < n; i++)
        shmem_sync_all();
    return bench_now() - begin;
}

/* Rows: waits and barriers. */
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

double sync_put_signal(struct bench *bench, long n)
{
    struct bench_shared *shared = bench->shared;
    int peer = 1 - bench->me;
    double begin = bench_now();

    for (long i = 0; i < n; i++) {
        uint64_t trip = (uint64_t)++bench->pings;

        if (bench->me == 0)
            shmem_long_put_signal(&shared->word, &i, 1, &shared->signal, trip, SHMEM_SIGNAL_SET,
                                  peer);
        shmem_signal_wait_until(&shared->signal, SHMEM_CMP_EQ, trip);
        if (bench->me != 0)
            shmem_long_put_signal(&shared->word, &i, 1, &shared->signal, trip, SHMEM_SIGNAL_SET,
                                  peer);
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

double sync_team_sync(struct bench *bench, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_team_sync(bench->team);
    return bench_now() - begin;
}

double sync_lock(struct bench *bench, long n)
{
    long *lock = &bench->shared->lock;
    double begin = bench_now();

    for (long i = 0; i < n; i++) {
        shmem_set_lock(lock);
        shmem_clear_lock(lock);
    }
    return bench_now() - begin;
}

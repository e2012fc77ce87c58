/* Rows: operations between PE 0 and a PE whose memory is not mapped, as far as they differ from
 * those of the other files. */
#include "bench/rows.h"

#include <shmem.h>

#include "bench/raw_tcp.h"
#include "bench/stats.h"

enum { BATCH = 64 };

double far_put8_nbi(struct bench *bench, long n)
{
    static long value;
    long *words = bench->shared->words;
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_long_put_nbi(&words[i % BENCH_WORDS], &value, 1, 1);
    shmem_quiet();
    return bench_now() - begin;
}

double far_atomic_add(struct bench *bench, long n)
{
    long *words = bench->shared->words;
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_long_atomic_add(&words[i % BENCH_WORDS], i, 1);
    shmem_quiet();
    return bench_now() - begin;
}

double far_get8_nbi(struct bench *bench, long n)
{
    static long values[BATCH];
    const long *words = bench->shared->words;
    double begin = bench_now();

    for (long i = 0; i < n; i += BATCH) {
        for (long j = i; j < i + BATCH && j < n; j++)
            shmem_long_get_nbi(&values[j % BATCH], &words[j % BENCH_WORDS], 1, 1);
        shmem_quiet();
    }
    return bench_now() - begin;
}

const char *far_needs_table(const struct bench *bench)
{
    const char *why = raw_needs_far_peer(bench);

    return why || bench->table ? why : "needs 64 MiB in the symmetric heap";
}

/* Every PE updates the other PEs' tables, one after another in a circle. The time is that of two
 * PEs' updates, whatever the number of PEs, because the rate counts all of them. */
double far_random_add(struct bench *bench, long n)
{
    uint64_t dice = 88172645463325252u + (uint64_t)bench->me;
    double begin = bench_now();
    int to = bench->me;

    for (long i = 0; i < n; i++) {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        to = to + 1 < bench->npes ? to + 1 : 0;
        if (to == bench->me)
            to = to + 1 < bench->npes ? to + 1 : 0;
        shmem_uint64_atomic_add(&bench->table[dice % BENCH_TABLE], 1, to);
    }
    shmem_barrier_all();
    return (bench_now() - begin) * 2 / bench->npes;
}

double far_get_block(struct bench *bench, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_getmem(bench->source, bench->shared->block, BENCH_BLOCK, 1);
    return bench_now() - begin;
}

double far_put_fence_p(struct bench *bench, long n)
{
    struct bench_shared *shared = bench->shared;
    int peer = 1 - bench->me;
    double begin = bench_now();

    for (long i = 0; i < n; i++) {
        long trip = ++bench->pings;

        if (bench->me != 0)
            shmem_long_wait_until(&shared->ping, SHMEM_CMP_EQ, trip);
        shmem_long_put(&shared->word, &i, 1, peer);
        shmem_fence();
        shmem_long_p(&shared->ping, trip, peer);
        if (bench->me == 0)
            shmem_long_wait_until(&shared->ping, SHMEM_CMP_EQ, trip);
    }
    return bench_now() - begin;
}

/* ---- a PE that computes ---- */

static double get_once(void *argument)
{
    const struct bench *bench = argument;
    double begin = bench_now();
    long value;

    shmem_long_get(&value, &bench->shared->word, 1, 1);
    return bench_now() - begin;
}

/* PE 1 makes no call until it sees PE 0's word. */
static double get_from_busy(struct bench *bench, long n, double share)
{
    volatile long *ping = &bench->shared->ping;
    long trip = ++bench->pings;
    double taken = 0.0;

    if (bench->me == 0) {
        taken = (double)n * stats_sample(get_once, bench, share);
        shmem_long_p(&bench->shared->ping, trip, 1);
        shmem_quiet();
    } else {
        while (*ping != trip)
            ;
    }
    return taken;
}

double far_busy_median(struct bench *bench, long n)
{
    return get_from_busy(bench, n, 0.5);
}

double far_busy_p95(struct bench *bench, long n)
{
    return get_from_busy(bench, n, 0.95);
}

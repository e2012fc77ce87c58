/* Rows: puts and gets from PE 0 to PE 1. */
#include "bench/rows.h"

#include <shmem.h>

static long static_word;

static double put8(long *word, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++) {
        shmem_long_put(word, &i, 1, 1);
        shmem_quiet();
    }
    return bench_now() - begin;
}

double rma_put8(struct bench *bench, long n)
{
    return put8(&bench->shared->word, n);
}

double rma_put8_static(struct bench *bench, long n)
{
    (void)bench;
    return put8(&static_word, n);
}

static double get8(const long *word, long n)
{
    double begin = bench_now();
    long value;

    for (long i = 0; i < n; i++)
        shmem_long_get(&value, word, 1, 1);
    return bench_now() - begin;
}

double rma_get8(struct bench *bench, long n)
{
    return get8(&bench->shared->word, n);
}

double rma_get8_static(struct bench *bench, long n)
{
    (void)bench;
    return get8(&static_word, n);
}

double rma_p_rate(struct bench *bench, long n)
{
    long *words = bench->shared->words;
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_long_p(&words[i % BENCH_WORDS], i, 1);
    shmem_quiet();
    return bench_now() - begin;
}

double rma_put_block(struct bench *bench, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_putmem(bench->shared->block, bench->source, BENCH_BLOCK, 1);
    shmem_quiet();
    return bench_now() - begin;
}

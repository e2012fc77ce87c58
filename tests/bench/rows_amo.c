/* Rows: atomic operations by PE 0 on PE 1, which nobody else touches. */
#include "bench/rows.h"

#include <shmem.h>

static long static_word;

static double fetch_add(long *word, long n)
{
    double begin = bench_now();

    for (long i = 0; i < n; i++)
        shmem_long_atomic_fetch_add(word, 1, 1);
    return bench_now() - begin;
}

double amo_fetch_add(struct bench *bench, long n)
{
    return fetch_add(&bench->shared->word, n);
}

double amo_fetch_add_static(struct bench *bench, long n)
{
    (void)bench;
    return fetch_add(&static_word, n);
}

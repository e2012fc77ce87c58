/* Rows: the cost of starting. */
#include "bench/rows.h"

#include <shmem.h>

/* The first shmem_init of this run, on the PE where it took longest. */
double setup_init(struct bench *bench, long n)
{
    double longest = 0.0;

    (void)n;
    for (int pe = 0; pe < bench->npes; pe++) {
        double seconds = shmem_double_g(&bench->shared->init_seconds, pe);

        longest = seconds > longest ? seconds : longest;
    }
    return longest;
}

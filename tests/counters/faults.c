/* Counts the pages that the first reduction of a few bytes maps into each PE of a node. Prints the
 * maximum and the mean over all PEs, and fails where the mean is above the limit: it must not grow
 * with the number of PEs. Then memory that a program allocates and frees again and again: it keeps
 * its pages. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/conformance/check.h"

static long one[2], sum[2], mean, most;

static long faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void iterate(int times)
{
    enum { BLOCKS = 3, BYTES = 256 << 10 };
    char *volatile block[BLOCKS];

    while (times--) {
        for (int i = 0; i < BLOCKS; i++) {
            block[i] = malloc(BYTES);
            memset(block[i], times, BYTES);
        }
        for (int i = 0; i < BLOCKS; i++)
            free(block[i]);
    }
}

int main(int argc, char **argv)
{
    long allowed = argc > 1 ? atol(argv[1]) : 24;

    shmem_init();
    one[0] = one[1] = 1;
    shmem_barrier_all();
    long before = faults();
    CHECK(!shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, one, 2));
    long mine = faults() - before;
    CHECK(sum[0] == shmem_n_pes() && sum[1] == shmem_n_pes());
    one[0] = mine;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &mean, one, 1);
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, &most, one, 1);
    mean /= shmem_n_pes();
    if (shmem_my_pe() == 0) {
        printf("faults of the first reduction on %d PEs: %ld at most, %ld in the mean\n",
               shmem_n_pes(), most, mean);
        CHECK(mean <= allowed);
    }
    iterate(1);
    before = faults();
    iterate(20);
    mine = faults() - before;
    CHECK(mine < 200);
    int status = check_end("faults");
    shmem_finalize();
    return status;
}

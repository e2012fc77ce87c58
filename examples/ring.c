/* A token goes round the ring of PEs. Each PE adds its number to it and passes it on: the value
 * first, then, ordered behind it by a fence, the flag that the next PE waits for.
 *
 *     oshcc ring.c -o ring && oshrun -n 4 ./ring --rounds 1000 */
#include <getopt.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long token; /* written by the PE before me */
static long round_here;
static long verdict;

static double seconds(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pass_on(long value, long round, int next)
{
    shmem_long_p(&token, value, next);
    shmem_fence();
    shmem_long_p(&round_here, round, next);
}

/* The number of rounds, or 0 if the command line is wrong. */
static long read_options(int argc, char **argv)
{
    static const struct option options[] = {
        {"rounds", required_argument, NULL, 'r'}, {"help", no_argument, NULL, 'h'}, {0}};
    long rounds = 1000;
    char *end;
    int option;

    while ((option = getopt_long(argc, argv, "r:h", options, NULL)) != -1) {
        if (option != 'r')
            return 0;
        rounds = strtol(optarg, &end, 10);
        if (*end || rounds < 1)
            return 0;
    }
    return optind == argc ? rounds : 0;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes;
    opterr = me == 0;
    long rounds = read_options(argc, argv);
    if (!rounds) {
        if (me == 0)
            fprintf(stderr, "usage: %s [--rounds N]   (N is 1 or more; 1000)\n", argv[0]);
        shmem_finalize();
        return 2;
    }

    shmem_barrier_all(); /* all are ready */
    double begin = seconds();
    shmem_barrier_all(); /* no PE begins before the clock of PE 0 */
    for (long round = 1; round <= rounds; round++) {
        if (me == 0)
            pass_on(token, round, next);
        shmem_long_wait_until(&round_here, SHMEM_CMP_EQ, round);
        if (me != 0)
            pass_on(token + me, round, next);
    }

    if (me == 0) {
        double hop = (seconds() - begin) / (double)rounds / npes;
        long expected = rounds * npes * (npes - 1) / 2;
        verdict = token == expected;
        printf("ring: %s: token %ld, expected %ld, after %ld rounds over %d PEs, %.2f us a hop\n",
               verdict ? "OK" : "FAILED", token, expected, rounds, npes, hop * 1e6);
    }
    shmem_barrier_all();
    verdict = shmem_long_g(&verdict, 0);
    shmem_finalize();
    return verdict ? 0 : 1;
}

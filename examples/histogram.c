/* A histogram that goes on where it was. The counts are in a memory space of files, which outlive
 * the job: after every round all PEs keep what they have. Whatever ends the job, kill -9 too, the
 * same command goes on from what was kept last.
 *
 *     oshcc histogram.c -O2 -o histogram
 *     oshrun -n 2 ./histogram         kill -9 one of its processes, and say the same again
 */
#define _POSIX_C_SOURCE 200809L /* getpid */
#include <getopt.h>
#include <inttypes.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BINS = 32, BAR = 60 };

/* What is kept of each PE. Bin b of the histogram is bins[b] of PE b % npes. */
struct kept {
    uint64_t samples, done; /* of this PE: all, and those that are counted */
    uint64_t bins[BINS];
};

struct options {
    long samples, rounds;
    bool anew;
};

static int me, npes;

/* The bin of sample i of this PE: the sum of four random numbers, which makes a bell. */
static int bin_of(uint64_t i)
{
    uint64_t x = (i * (uint64_t)npes + (uint64_t)me + 1) * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    x = (x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48);
    return (int)(x * BINS >> 18);
}

/* Makes the space, with what is kept in it: zeros, where nothing is. NULL: the log says why. */
static struct kept *open_space(const struct options *options, shmemx_space_t *space)
{
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_FILE,
                                          .size = 2 * sizeof(struct kept),
                                          .flags = options->anew ? 0 : SHMEMX_SPACE_FLAG_RESTART,
                                          .name = "histogram"};
    shmem_team_t team;

    if (shmemx_space_create(&config, space, &team))
        return NULL;
    return shmemx_space_malloc(*space, sizeof(struct kept));
}

/* Counts the samples that are left, round by round. False if a round cannot be kept. */
static bool count(struct kept *kept, shmemx_space_t space, uint64_t round)
{
    uint64_t generation, end;

    while (kept->done < kept->samples) {
        end = kept->done + round < kept->samples ? kept->done + round : kept->samples;
        for (uint64_t i = kept->done; i < end; i++) {
            int bin = bin_of(i);
            shmem_uint64_atomic_inc(&kept->bins[bin], bin % npes);
        }
        kept->done = end;
        shmem_barrier_all(); /* all increments are where they belong */
        if (shmemx_space_sync(space, &generation))
            return false;
        if (me == 0) {
            printf("generation %" PRIu64 ": %" PRIu64 " of %" PRIu64 " samples of each PE\n",
                   generation, end, kept->samples);
            fflush(stdout);
        }
    }
    return true;
}

/* Collects the histogram on every PE, and compares it with what all PEs count now, without the
 * space. */
static bool check(const struct kept *kept, uint64_t bins[BINS])
{
    static uint64_t mine[BINS], again[BINS];
    bool same = true;

    for (uint64_t i = 0; i < kept->samples; i++)
        mine[bin_of(i)]++;
    shmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, again, mine, BINS);
    for (int bin = 0; bin < BINS; bin++) {
        bins[bin] = shmem_uint64_g(&kept->bins[bin], bin % npes);
        same = same && bins[bin] == again[bin];
    }
    return same;
}

static void print_bars(const uint64_t bins[BINS])
{
    uint64_t most = 1;

    for (int bin = 0; bin < BINS; bin++)
        most = bins[bin] > most ? bins[bin] : most;
    for (int bin = 0; bin < BINS; bin++) {
        printf("%10" PRIu64 " ", bins[bin]);
        for (uint64_t k = 0; k < bins[bin] * BAR / most; k++)
            putchar('#');
        putchar('\n');
    }
}

static bool read_options(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"samples", 1, NULL, 's'}, {"rounds", 1, NULL, 'r'}, {"anew", 0, NULL, 'a'}, {0}};
    int option;

    *options = (struct options){.samples = 20000000, .rounds = 40};
    while ((option = getopt_long(argc, argv, "s:r:a", names, NULL)) != -1) {
        if (option == 's')
            options->samples = strtol(optarg, NULL, 10);
        else if (option == 'r')
            options->rounds = strtol(optarg, NULL, 10);
        else if (option == 'a')
            options->anew = true;
        else
            return false;
    }
    return optind == argc && options->samples > 0 && options->rounds > 0;
}

static bool run(const struct options *options)
{
    uint64_t generation = 0, bins[BINS], samples = (uint64_t)options->samples;
    shmemx_space_t space;
    struct kept *kept = open_space(options, &space);
    bool same;

    if (!kept)
        return false;
    shmemx_space_generation(space, &generation);
    if (options->anew || generation == 0) {
        *kept = (struct kept){.samples = samples};
        shmem_barrier_all(); /* no PE counts before all have their zeros */
    } else if (kept->samples != samples) {
        fprintf(stderr, "histogram: what is kept is of --samples %" PRIu64 "; --anew forgets it\n",
                kept->samples);
        return false;
    }
    if (me == 0) {
        printf("histogram: begins at sample %" PRIu64 " of generation %" PRIu64
               "; PE 0 is process %ld\n",
               kept->done, options->anew ? 0 : generation, (long)getpid());
        fflush(stdout);
    }
    if (!count(kept, space, samples / (uint64_t)options->rounds + 1))
        return false;
    same = check(kept, bins);
    if (me == 0) {
        print_bars(bins);
        printf("histogram: %s: %" PRIu64 " samples of %d PEs, %s\n", same ? "OK" : "FAILED",
               samples * (uint64_t)npes, npes, same ? "as counted again" : "not as counted again");
    }
    return same;
}

int main(int argc, char **argv)
{
    struct options options;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    opterr = me == 0;
    if (!read_options(argc, argv, &options)) {
        if (me == 0)
            fprintf(stderr,
                    "usage: %s [--samples N] [--rounds N] [--anew]\n"
                    "  each PE counts N samples (20000000), and all keep the counts N times (40);\n"
                    "  --anew forgets what is kept in the files histogram.* of this directory\n",
                    argv[0]);
        shmem_finalize();
        return 2;
    }
    if (!run(&options))
        shmem_global_exit(1);
    shmem_finalize();
    return 0;
}

/* Random access: every PE updates random words of a table that is spread over all PEs. Two PEs may
 * hit the same word at once, so that only atomic operations lose no update.
 *
 * The check: with xor, the same updates once more have to restore the table; with add, the sum over
 * the table has to be the sum of what was added.
 *
 *     oshcc random_access.c -o random_access && oshrun -n 4 ./random_access --add */
#include <getopt.h>
#include <inttypes.h>
#include <shmem.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    long words;   /* of the table on each PE, a power of two */
    long updates; /* by each PE */
    bool add;
};

/* On PE 0 the sums over all PEs. */
static uint64_t added, found;
static long wrong;

static double seconds(void)
{
    struct timespec now;

    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The next number of a sequence that each PE starts elsewhere (xorshift). */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static bool read_options(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {{"log-words", required_argument, NULL, 'l'},
                                          {"updates", required_argument, NULL, 'u'},
                                          {"add", no_argument, NULL, 'a'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    long log_words = 18;
    int option;
    char none[] = "", *end = none;

    *options = (struct options){.updates = 500000};
    while ((option = getopt_long(argc, argv, "l:u:ah", names, NULL)) != -1) {
        long *number = option == 'l' ? &log_words : option == 'u' ? &options->updates : NULL;

        options->add |= option == 'a';
        if (number)
            *number = strtol(optarg, &end, 10);
        if (option != 'a' &&
            (!number || *end || *number < 1 || *number > (option == 'l' ? 40 : 1L << 40)))
            return false;
    }
    options->words = 1L << log_words;
    return optind == argc;
}

/* Each random number gives the PE, the word and the operand. Returns the sum of the operands. */
static uint64_t update(uint64_t *table, const struct options *options, int me, int npes)
{
    uint64_t state = 0x9e3779b97f4a7c15u * (uint64_t)(me + 1), sum = 0;

    for (long i = 0; i < options->updates; i++) {
        uint64_t value = next_random(&state);
        uint64_t *word = &table[value & (uint64_t)(options->words - 1)];
        int pe = (int)((value >> 40) % (uint64_t)npes);

        if (options->add)
            shmem_uint64_atomic_add(word, value, pe);
        else
            shmem_uint64_atomic_xor(word, value, pe);
        sum += value;
    }
    shmem_barrier_all(); /* completes the updates, of this PE and of all others */
    return sum;
}

/* Whether the table is right, the same answer on every PE. */
static bool check(uint64_t *table, const struct options *options, int me, int npes, uint64_t sum)
{
    uint64_t first = (uint64_t)me * (uint64_t)options->words, in_table = 0;
    long mismatches = 0;

    if (options->add) {
        for (long i = 0; i < options->words; i++)
            in_table += table[i] - (first + (uint64_t)i);
        shmem_uint64_atomic_add(&added, sum, 0);
        shmem_uint64_atomic_add(&found, in_table, 0);
    } else {
        update(table, options, me, npes);
        for (long i = 0; i < options->words; i++)
            mismatches += table[i] != first + (uint64_t)i;
        shmem_long_atomic_add(&wrong, mismatches, 0);
    }
    shmem_barrier_all();
    return shmem_long_g(&wrong, 0) == 0 && shmem_uint64_g(&added, 0) == shmem_uint64_g(&found, 0);
}

int main(int argc, char **argv)
{
    struct options options;

    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    opterr = me == 0;
    if (!read_options(argc, argv, &options)) {
        if (me == 0)
            fprintf(stderr,
                    "usage: %s [--log-words K] [--updates N] [--add]\n"
                    "  a table of 2^K words on each PE (18), N updates by each PE (500000),\n"
                    "  with atomic xor, or with atomic add\n",
                    argv[0]);
        shmem_finalize();
        return 2;
    }

    uint64_t *table = shmem_malloc((size_t)options.words * sizeof(*table));
    if (!table) {
        if (me == 0)
            fprintf(stderr,
                    "random_access: no room for %ld MiB on each PE; set SHMEM_SYMMETRIC_SIZE\n",
                    (options.words * 8 + (1 << 20) - 1) >> 20);
        shmem_finalize();
        return 1;
    }
    for (long i = 0; i < options.words; i++)
        table[i] = (uint64_t)me * (uint64_t)options.words + (uint64_t)i;

    shmem_barrier_all(); /* all are ready */
    double begin = seconds();
    shmem_barrier_all(); /* no PE begins before the clock of PE 0 */
    uint64_t sum = update(table, &options, me, npes);
    double time = seconds() - begin;
    bool right = check(table, &options, me, npes, sum);
    if (me == 0)
        printf("random_access: %s: %ld updates (%s), %.1f million a second; %s\n",
               right ? "OK" : "FAILED", options.updates * npes, options.add ? "add" : "xor",
               (double)options.updates * npes / time * 1e-6,
               right ? "none was lost" : "the table is not what it has to be");
    shmem_free(table);
    shmem_finalize();
    return right ? 0 : 1;
}

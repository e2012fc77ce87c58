/* oshbench: what the library costs beside what the machine can do. Each row has a figure, measured
 * through the interface of the specification, and a raw limit, measured by the same processes in
 * turns with it through plain loads, stores and atomics. */
#ifndef SY_BENCH_H
#define SY_BENCH_H

#include <shmem.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/curves/curves.h"

enum {
    BENCH_LINE = 64,
    BENCH_WORDS = 1024,    /* of the array that rates of single words run over */
    BENCH_BLOCK = 1 << 20, /* bytes of the large transfers */
    BENCH_HALF = BENCH_BLOCK / 2,
    BENCH_MIDDLE = 256 << 10, /* bytes of the larger collectives; half a block or less */
    BENCH_SMALL = 1 << 10,    /* bytes from each PE to each other one */
    BENCH_TABLE = 8 << 20,    /* words of the table for updates at random places */
    BENCH_SAMPLES = 60,       /* of times whose distribution is of interest */
    BENCH_MOST_TRIALS = 1001,
};

#define BENCH_ALIGNED _Alignas(BENCH_LINE)

/* One symmetric object with all that the rows touch; each part that is waited for has its own line.
 */
struct bench_shared {
    BENCH_ALIGNED long command; /* from PE 0: what to run next; 0 = nothing yet */
    BENCH_ALIGNED long done;    /* on PE 0: commands that other PEs have finished */
    BENCH_ALIGNED long ping;
    BENCH_ALIGNED uint64_t signal;
    BENCH_ALIGNED long lock;
    BENCH_ALIGNED long word;
    BENCH_ALIGNED atomic_long raw_ping;
    BENCH_ALIGNED atomic_long raw_word;
    BENCH_ALIGNED atomic_long raw_count; /* on PE 0: of the raw barrier */
    BENCH_ALIGNED atomic_long raw_generation;
    BENCH_ALIGNED double init_seconds; /* of this PE's first shmem_init */
    BENCH_ALIGNED long words[BENCH_WORDS];
    BENCH_ALIGNED char
        block[BENCH_BLOCK]; /* collectives: the result, and from BENCH_HALF their input */
};

struct bench {
    int me, npes, cpus;
    struct bench_shared *shared;
    struct bench_shared *peer;  /* PE 1's for PE 0 and the other way round, if it can be mapped */
    struct bench_shared *first; /* PE 0's, if it can be mapped */
    bool one_node;              /* on PE 0: all PEs can be mapped */
    bool apart;                 /* PE 0 and PE 1 cannot map each other */
    int link;                   /* the raw TCP connection between PE 0 and PE 1, or -1 */
    uint64_t *table;            /* symmetric, BENCH_TABLE words; where apart, or NULL */
    shmem_team_t team;          /* of all PEs, but not the world's */
    char *source;               /* private memory, BENCH_BLOCK bytes */
    long pings, raw_pings;      /* round trips so far */
    long raw_rounds;            /* raw barriers so far */
    long commands;              /* on PE 0: given to other PEs so far */

    /* options */
    const char *rows; /* names, with commas between; NULL = all */
    double seconds;   /* for each row */
    int trials;
    bool json, list, help, version;
    const char *picture;                        /* a file for the figures by size, or NULL */
    struct curves by_size;                      /* sizes 0: rows without sizes */
    struct curve_peer peer_of[1 + CURVE_PEERS]; /* from 1 on: libraries to print beside */
    int peers;
};

/* Which PEs run a row; the other PEs wait in a barrier. */
enum bench_who { BENCH_ONE, BENCH_PAIR, BENCH_ALL };

/* How seconds become the figure that is shown. Of rates, more is better. */
enum bench_unit { BENCH_NS, BENCH_MS, BENCH_MOPS, BENCH_GBPS };

/* The target for this number of PEs (0: any), as a figure in the row's unit or as the ratio of
 * figure and raw limit. */
struct bench_target {
    int pes;
    double figure, ratio;
};

/* Runs the operation n times and returns the seconds that this took. All PEs of the row call it. */
typedef double bench_run(struct bench *bench, long n);

struct bench_row {
    const char *name, *what, *raw_what;
    enum bench_who who;
    enum bench_unit unit;
    double per_run;          /* operations, or bytes for GB/s, in one of the n */
    bench_run *figure, *raw; /* the raw limit of BENCH_ALL is for the PEs of one node, but of rows
                                that are `far` */
    bool far;   /* PE 0 and PE 1 do not map each other, the raw limit is a TCP connection's */
    bool alone; /* the figure is PE 0's doing; PE 1 waits in the library and takes part in the raw
                   limit */
    /* Why the row cannot run here, or NULL; decided by PE 0. */
    const char *(*refusal)(const struct bench *bench);
    bool once; /* the figure exists once in a run: no calibration, no repetition */
    struct bench_target targets[3];
};

struct bench_result {
    const struct bench_row *row;
    const char *refusal; /* then there is nothing else */
    int trials;
    double figure, least, most;        /* median and range over the trials */
    double raw;                        /* median; negative if there is none */
    double ratio;                      /* median over the trials of figure by raw limit */
    const struct bench_target *target; /* NULL: none for this number of PEs */
    bool met;
};

/* rows.c */
extern const struct bench_row bench_rows[];
extern const int bench_row_count;

/* Measures one row. Collective; the result is PE 0's. */
struct bench_result bench_measure(struct bench *bench, const struct bench_row *row);

/* True if more is better. */
bool bench_unit_is_rate(enum bench_unit unit);
const char *bench_unit_name(enum bench_unit unit);

double bench_now(void);

/* Output (output.c). The table is printed row by row, JSON at the end. */
struct bench_output;
struct bench_output *bench_output_begin(const struct bench *bench);
void bench_output_row(struct bench_output *output, const struct bench_result *result);
bool bench_output_end(struct bench_output *output);
void bench_output_list(void);

#endif

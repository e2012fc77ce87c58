/* Measures a row at a size: PE 0 tells all others how often to run, and the slowest PE counts. */
#include "bench/curves/curves.h"

#include <shmem.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_TRIALS = 1001 };

double curve_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool measure_wants_blocks(const struct curves *curves)
{
    for (int i = 0; i < curve_row_count; i++)
        if (curve_rows[i].of_all && curve_listed(curves->rows, curve_rows[i].name))
            return true;
    return false;
}

/* Two areas for the largest size; or for one block of it from each PE, if a row wants that and the
 * heap has room. These come last, as they may take all that is left. */
static bool measure_allocate(struct curves *curves)
{
    size_t most = curves->size[curves->sizes - 1];

    most = most < 4096 ? 4096 : (most + 7) / 8 * 8;
    if (!curve_coll_open(most))
        return false;
    curves->room = measure_wants_blocks(curves) ? most * (size_t)curves->npes : most;
    curves->to = shmem_malloc(2 * curves->room);
    if (!curves->to) {
        curves->room = most;
        curves->to = shmem_malloc(2 * most);
    }
    return curves->to;
}

bool curve_open(struct curves *curves)
{
    curves->order = shmem_malloc(sizeof *curves->order);
    curves->times = shmem_malloc((size_t)curves->npes * sizeof *curves->times);
    if (!curves->order || !curves->times || !measure_allocate(curves)) {
        if (curves->me == 0)
            fprintf(stderr, "oshbench: there is no room for the sizes in the symmetric heap; set "
                            "SHMEM_SYMMETRIC_SIZE, or "
                            "give smaller --sizes\n");
        return false;
    }
    curves->from = curves->to + curves->room;
    memset(curves->to, 1, 2 * curves->room);
    shmem_barrier_all();
    return true;
}

static double measure_take(const struct curves *curves, const struct curve *curve, size_t x, long n)
{
    shmem_barrier_all();
    shmem_double_p(&curves->times[curves->me], curve->run(curves, x, n), 0);
    shmem_barrier_all();
    return curves->times[0];
}

/* PE 0: lets all PEs run n times; n = 0: ends the point. *wall: seconds that this took. */
static double measure_command(const struct curves *curves, const struct curve *curve, size_t x,
                              long n, double *wall)
{
    double begin, slowest;

    for (int pe = 0; pe < curves->npes; pe++)
        shmem_long_p(curves->order, n, pe);
    shmem_barrier_all();
    if (!n) {
        shmem_barrier_all(); /* all have seen it before there is another order */
        return 0.0;
    }
    begin = curve_now();
    slowest = measure_take(curves, curve, x, n);
    *wall = curve_now() - begin;
    for (int pe = 1; pe < curves->npes; pe++)
        slowest = curves->times[pe] > slowest ? curves->times[pe] : slowest;
    return slowest;
}

/* The other PEs. */
static void measure_follow(const struct curves *curves, const struct curve *curve, size_t x)
{
    long n;

    while (shmem_barrier_all(), (n = *curves->order) != 0)
        measure_take(curves, curve, x, n);
    shmem_barrier_all();
}

static double measure_in_unit(const struct curves *curves, const struct curve *curve, size_t x,
                              double taken, long n)
{
    double flows = curve->flows == CURVE_BOTH    ? 2
                   : curve->flows == CURVE_PAIRS ? curves->npes / 2
                                                 : 1;

    switch (curve->unit) {
    case CURVE_US:
        return taken / (double)n * 1e6;
    case CURVE_MBPS:
        return (double)n * (double)x * (double)curve_window(x) * flows / taken * 1e-6;
    case CURVE_MOPS:
        return (double)n * (double)x / taken * 1e-6;
    case CURVE_PERCENT:
        return taken / (double)n * 100.0;
    }
    return 0.0;
}

static int measure_ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

/* The median, after a run that finds out how often fits the time. */
static double measure_point(const struct curves *curves, const struct curve *curve, size_t x)
{
    static double figure[MOST_TRIALS];
    double seconds = curves->seconds / curves->trials, wall = 0.0;
    long n = 1;

    if (curves->me) {
        measure_follow(curves, curve, x);
        return 0.0;
    }
    while (measure_command(curves, curve, x, n, &wall), wall < seconds / 4 && n < 1L << 40)
        n *= 4;
    n = (long)((double)n * seconds / wall);
    n = n > 0 ? n : 1;
    for (int i = 0; i < curves->trials; i++)
        figure[i] = measure_in_unit(curves, curve, x, measure_command(curves, curve, x, n, &wall),
                                    n);
    measure_command(curves, curve, x, 0, &wall);
    qsort(figure, (size_t)curves->trials, sizeof *figure, measure_ascending);
    return figure[curves->trials / 2];
}

static void measure_add(const struct curves *curves, const struct curve *curve,
                        struct curve_line *line, size_t x)
{
    double figure = measure_point(curves, curve, x);

    line->x[line->points] = (double)x;
    line->figure[line->points++] = figure;
}

void curve_measure(const struct curves *curves, const struct curve *curve, struct curve_line *line)
{
    size_t blocks = curve->of_all ? (size_t)(curve->of_all * curves->npes) : 1,
           pairs = (size_t)curves->npes / 2;

    memset(line, 0, sizeof *line);
    line->curve = curve;
    for (size_t x = 1; curve->by_pairs && x <= pairs;
         x = x < pairs && 2 * x > pairs ? pairs : 2 * x)
        measure_add(curves, curve, line, x);
    for (int i = 0; i < curves->sizes && !curve->by_pairs; i++)
        if ((curves->size[i] + 7) / 8 * 8 * blocks <= curves->room)
            measure_add(curves, curve, line, curves->size[i]);
}

struct curve_line *curve_run(struct curves *curves, const char *library,
                             const struct curve_peer *peers, int count)
{
    struct curve_line *lines = calloc((size_t)curve_row_count, sizeof *lines);

    if (!lines || !curve_open(curves))
        return NULL;
    if (curves->me == 0)
        curve_print_begin(curves, library);
    for (int i = 0; i < curve_row_count; i++) {
        if (!curve_listed(curves->rows, curve_rows[i].name))
            continue;
        curve_measure(curves, &curve_rows[i], &lines[i]);
        if (curves->me == 0)
            curve_print_line(curves, &lines[i], peers, count);
    }
    if (curves->me == 0)
        curve_print_end(curves);
    return curves->me == 0 && (fflush(stdout) || ferror(stdout)) ? NULL : lines;
}

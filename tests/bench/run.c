/* Measures a row: PE 0 tells the other PEs of the row what to run and how often. This file knows
 * nothing of what the rows do. */
#include "bench/bench.h"

#include <shmem.h>
#include <time.h>

#include "bench/stats.h"

enum command { FIGURE = 1, RAW, STOP };

double bench_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The PEs that run a row are the first ones. */
static int members(const struct bench *bench, const struct bench_row *row)
{
    int most = row->who == BENCH_ONE ? 1 : row->who == BENCH_PAIR ? 2 : bench->npes;

    return most < bench->npes ? most : bench->npes;
}

/* PE 0: lets all PEs of the row run n times. Returns the seconds that PE 0 took. */
static double command(struct bench *bench, const struct bench_row *row, enum command what, long n)
{
    int count = members(bench, row);
    double seconds = 0.0;

    for (int pe = 1; pe < count; pe++)
        shmem_long_p(&bench->shared->command, n * 4 + what, pe);
    if (what != STOP)
        seconds = (what == FIGURE ? row->figure : row->raw)(bench, n);
    bench->commands += count - 1;
    shmem_long_wait_until(&bench->shared->done, SHMEM_CMP_GE, bench->commands);
    return seconds;
}

/* The other PEs of the row. */
static void follow(struct bench *bench, const struct bench_row *row)
{
    long order, what;

    do {
        shmem_long_wait_until(&bench->shared->command, SHMEM_CMP_NE, 0);
        order = bench->shared->command;
        what = order % 4;
        bench->shared->command = 0;
        if (what == RAW || (what == FIGURE && !row->alone))
            (what == FIGURE ? row->figure : row->raw)(bench, order / 4);
        shmem_quiet();
        shmem_long_atomic_inc(&bench->shared->done, 0);
    } while (what != STOP);
}

/* How often to run so that it takes about `seconds`. */
static long calibrate(struct bench *bench, const struct bench_row *row, enum command what,
                      double seconds)
{
    double taken;
    long n = 1;

    while ((taken = command(bench, row, what, n)) < seconds / 8 && n < 1L << 40)
        n *= 4;
    n = (long)((double)n * seconds / taken);
    return n > 0 ? n : 1;
}

bool bench_unit_is_rate(enum bench_unit unit)
{
    return unit == BENCH_MOPS || unit == BENCH_GBPS;
}

const char *bench_unit_name(enum bench_unit unit)
{
    static const char *const names[] = {
        [BENCH_NS] = "ns", [BENCH_MS] = "ms", [BENCH_MOPS] = "M/s", [BENCH_GBPS] = "GB/s"};

    return names[unit];
}

static double in_unit(const struct bench_row *row, double seconds, long n)
{
    double operations = (double)n * (row->per_run > 0.0 ? row->per_run : 1.0);

    switch (row->unit) {
    case BENCH_NS:
        return seconds / operations * 1e9;
    case BENCH_MS:
        return seconds / operations * 1e3;
    case BENCH_MOPS:
        return operations / seconds * 1e-6;
    case BENCH_GBPS:
        return operations / seconds * 1e-9;
    }
    return 0.0;
}

/* Figure and raw limit in alternation, so that both see the machine in the same state. */
static void run_trials(struct bench *bench, struct bench_result *result, bool has_raw)
{
    static double figures[BENCH_MOST_TRIALS], raws[BENCH_MOST_TRIALS], ratios[BENCH_MOST_TRIALS];
    const struct bench_row *row = result->row;
    double seconds = bench->seconds / bench->trials / 2;
    long n = row->once ? 1 : calibrate(bench, row, FIGURE, seconds);
    long raw_n = !has_raw || row->once ? 1 : calibrate(bench, row, RAW, seconds);

    for (int i = 0; i < bench->trials; i++) {
        figures[i] = in_unit(row, command(bench, row, FIGURE, n), n);
        raws[i] = has_raw ? in_unit(row, command(bench, row, RAW, raw_n), raw_n) : 1.0;
        ratios[i] = figures[i] / raws[i];
    }
    stats_sort(figures, bench->trials);
    stats_sort(raws, bench->trials);
    stats_sort(ratios, bench->trials);
    result->trials = row->once ? 1 : bench->trials;
    result->figure = stats_median(figures, bench->trials);
    result->least = figures[0];
    result->most = figures[bench->trials - 1];
    result->raw = has_raw ? stats_median(raws, bench->trials) : -1.0;
    result->ratio = has_raw ? stats_median(ratios, bench->trials) : -1.0;
}

static const struct bench_target *find_target(const struct bench_row *row, int npes)
{
    for (int i = 0; i < 3; i++) {
        const struct bench_target *target = &row->targets[i];

        if ((target->figure > 0.0 || target->ratio > 0.0) && (!target->pes || target->pes == npes))
            return target;
    }
    return NULL;
}

static bool target_is_met(const struct bench_result *result)
{
    const struct bench_target *target = result->target;
    double reached = target->ratio > 0.0 ? result->ratio : result->figure;
    double wanted = target->ratio > 0.0 ? target->ratio : target->figure;

    return bench_unit_is_rate(result->row->unit) ? reached >= wanted : reached <= wanted;
}

struct bench_result bench_measure(struct bench *bench, const struct bench_row *row)
{
    struct bench_result result = {.row = row};
    bool has_raw = row->raw &&
                   (row->far ? bench->link >= 0 : row->who != BENCH_ALL || bench->one_node);

    if (bench->me == 0) {
        result.refusal = row->refusal ? row->refusal(bench) : NULL;
        if (!result.refusal) {
            run_trials(bench, &result, has_raw);
            result.target = find_target(row, bench->npes);
            result.met = result.target && target_is_met(&result);
        }
        command(bench, row, STOP, 0);
    } else if (bench->me < members(bench, row)) {
        follow(bench, row);
    }
    shmem_barrier_all();
    return result;
}

/* Statistics over the trials of a row. */
#include "bench/stats.h"

#include <stdlib.h>
#include <time.h>

#include "bench/bench.h"

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

void stats_sort(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), ascending);
}

double stats_median(const double *sorted, int count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

double stats_sample(double (*once)(void *argument), void *argument, double share)
{
    const struct timespec pause = {.tv_nsec = 300000};
    double times[BENCH_SAMPLES];

    for (int i = 0; i < BENCH_SAMPLES; i++) {
        nanosleep(&pause, NULL);
        times[i] = once(argument);
    }
    stats_sort(times, BENCH_SAMPLES);
    return times[(int)(share * (BENCH_SAMPLES - 1))];
}

/* Statistics over the trials of a row. */
#ifndef SY_BENCH_STATS_H
#define SY_BENCH_STATS_H

/* Sorts the values, of which there is at least one. */
void stats_sort(double *values, int count);

/* Of sorted values. */
double stats_median(const double *sorted, int count);

/* Takes BENCH_SAMPLES times, with pauses between them, and returns the quantile `share` (0.5: the
 * median). */
double stats_sample(double (*once)(void *argument), void *argument, double share);

#endif

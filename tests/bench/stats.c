/* Statistics over the trials of a row. */
#include "bench/stats.h"

#include <stdlib.h>

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

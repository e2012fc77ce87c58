/* Rows between PE 0 and PE 1, and between PEs of the first half and PEs of the second. */
#include "bench/curves/curves.h"

#include <shmem.h>

double curve_put(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    if (curves->me != 0)
        return 0.0;
    for (long i = 0; i < n; i++) {
        shmem_putmem(curves->to, curves->from, size, 1);
        shmem_quiet();
    }
    return curve_now() - begin;
}

double curve_get(const struct curves *curves, size_t size, long n)
{
    double begin = curve_now();

    if (curves->me != 0)
        return 0.0;
    for (long i = 0; i < n; i++)
        shmem_getmem(curves->from, curves->to, size, 1);
    return curve_now() - begin;
}

long curve_window(size_t size)
{
    const size_t most = 16 << 20;

    return size <= most / 64 ? 64 : size < most / 2 ? (long)(most / size) : 2;
}

static double point_put_window(const struct curves *curves, size_t size, long n, int pe)
{
    long window = curve_window(size);
    double begin = curve_now();

    for (long i = 0; i < n; i++) {
        for (long k = 0; k < window; k++)
            shmem_putmem_nbi(curves->to, curves->from, size, pe);
        shmem_quiet();
    }
    return curve_now() - begin;
}

double curve_put_stream(const struct curves *curves, size_t size, long n)
{
    return curves->me == 0 ? point_put_window(curves, size, n, 1) : 0.0;
}

double curve_get_stream(const struct curves *curves, size_t size, long n)
{
    long window = curve_window(size);
    double begin = curve_now();

    if (curves->me != 0)
        return 0.0;
    for (long i = 0; i < n; i++) {
        for (long k = 0; k < window; k++)
            shmem_getmem_nbi(curves->from, curves->to, size, 1);
        shmem_quiet();
    }
    return curve_now() - begin;
}

double curve_put_both(const struct curves *curves, size_t size, long n)
{
    return curves->me < 2 ? point_put_window(curves, size, n, 1 - curves->me) : 0.0;
}

double curve_put_pairs(const struct curves *curves, size_t size, long n)
{
    int half = curves->npes / 2;

    return curves->me < half ? point_put_window(curves, size, n, curves->me + half) : 0.0;
}

double curve_put_rate(const struct curves *curves, size_t pairs, long n)
{
    int there = curves->me + curves->npes / 2;
    double begin = curve_now();

    if ((size_t)curves->me >= pairs)
        return 0.0;
    for (long i = 0; i < n; i++)
        shmem_putmem_nbi(curves->to + (i & 255) * 8, curves->from, 8, there);
    shmem_quiet();
    return curve_now() - begin;
}

double curve_add_rate(const struct curves *curves, size_t pairs, long n)
{
    int there = curves->me + curves->npes / 2;
    double begin = curve_now();

    if ((size_t)curves->me >= pairs)
        return 0.0;
    for (long i = 0; i < n; i++)
        shmem_long_atomic_add((long *)(void *)(curves->to + (i & 255) * 8), 1, there);
    shmem_quiet();
    return curve_now() - begin;
}

/* Computes without a call of the library. */
static void point_compute(double seconds)
{
    double until = curve_now() + seconds;

    while (curve_now() < until)
        ;
}

static void point_begin(const struct curves *curves, size_t size, bool get)
{
    if (get)
        shmem_getmem_nbi(curves->from, curves->to, size, 1);
    else
        shmem_putmem_nbi(curves->to, curves->from, size, 1);
}

/* Each time: a transfer that is waited for at once, then one with as long of computing between. */
static double point_overlap(const struct curves *curves, size_t size, long n, bool get)
{
    double hidden = 0.0;

    if (curves->me != 0)
        return 0.0;
    for (long i = 0; i < n; i++) {
        double begin = curve_now(), alone, both;

        point_begin(curves, size, get);
        shmem_quiet();
        alone = curve_now() - begin;
        begin = curve_now();
        point_begin(curves, size, get);
        point_compute(alone);
        shmem_quiet();
        both = curve_now() - begin;
        hidden += both < 2 * alone ? (2 * alone - both) / alone : 0.0;
    }
    return hidden;
}

double curve_put_overlap(const struct curves *curves, size_t size, long n)
{
    return point_overlap(curves, size, n, false);
}

double curve_get_overlap(const struct curves *curves, size_t size, long n)
{
    return point_overlap(curves, size, n, true);
}

/* Max and min of floating-point numbers with NaNs and zeros of both signs (9.10.9): they give what
 * C's fmax and fmin give, with -0 less than 0, and do not depend on the order of combination. So
 * the result is known beforehand, for every size, team, algorithm and topology. */
#include <math.h>
#include <stdlib.h>
#include "check.h"

enum { LARGE = 20000, SHORT = 4000, ROUNDS = 2 };

static const size_t counts[] = {1, 3, 200, 1500, SHORT, LARGE};
enum { COUNTS = sizeof counts / sizeof *counts };

static long psync[2][SHMEM_REDUCE_SYNC_SIZE];

/* Numbers without a pattern, the same on every PE for the same arguments. */
static uint64_t noise(uint64_t seed, size_t i)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + i * 0xd1342543de82ef95u + 0x632be59bd9b4e019u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 31);
}

/* What a PE has in element i. In some elements every PE has a NaN, in most about half of the PEs
 * do. With every third seed this holds for one element of 200 only, and the others hold ordinary
 * numbers that differ, as usual data do. */
static double contribution(unsigned seed, int pe, size_t i)
{
    static const double numbers[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, 0.0, -0.0};
    uint64_t dice = noise(seed * 1000u + (unsigned)pe, i);

    if (seed % 3 == 0 && noise(seed, i) % 200)
        return (double)(dice >> 40) - 8388608.5;
    if (i % 11 == 3 || dice % 2)
        return dice & 4 ? NAN : -NAN;
    if (i % 3 == 0)
        return dice & 4 ? 0.0 : -0.0;
    return numbers[(dice >> 8) % 8];
}

/* The rule, one member after another in any order. */
static double expected(unsigned seed, size_t i, int start, int stride, int size, int max)
{
    double best = NAN;

    for (int k = 0; k < size; k++) {
        double x = contribution(seed, start + k * stride, i);
        if (isnan(x))
            continue;
        if (isnan(best) || (max ? x > best : x < best) ||
            (x == best && (max ? signbit(best) : signbit(x))))
            best = x;
    }
    return best;
}

static int same_number(long double is, double should)
{
    return isnan(should) ? isnan(is) : is == should && (signbit(is) != 0) == (signbit(should) != 0);
}

/* clang-format off */

#define FLOATS(X) X(float, float) X(double, double) X(longdouble, long double)

#define DEFINE(TYPENAME, TYPE) \
    static TYPE *TYPENAME##_source, *TYPENAME##_dest, *TYPENAME##_work; \
    static void TYPENAME##_allocate(void) \
    { \
        TYPENAME##_source = shmem_malloc(LARGE * sizeof(TYPE)); \
        TYPENAME##_dest = shmem_malloc(LARGE * sizeof(TYPE)); \
        TYPENAME##_work = shmem_malloc((LARGE + SHMEM_REDUCE_MIN_WRKDATA_SIZE) * sizeof(TYPE)); \
    } \
    static void TYPENAME##_free(void) \
    { \
        shmem_free(TYPENAME##_work); \
        shmem_free(TYPENAME##_dest); \
        shmem_free(TYPENAME##_source); \
    } \
    static void TYPENAME##_fill(unsigned seed, size_t count) \
    { \
        for (size_t i = 0; i < count; i++) \
            TYPENAME##_source[i] = (TYPE)contribution(seed, shmem_my_pe(), i); \
    } \
    static void TYPENAME##_check(const TYPE *dest, unsigned seed, size_t count, int start, \
                                 int stride, int size, int max) \
    { \
        long wrong = 0; \
        for (size_t i = 0; i < count; i++) \
            wrong += !same_number(dest[i], expected(seed, i, start, stride, size, max)); \
        CHECK(wrong == 0); \
    } \
    /* On a team of the PEs start, start + stride, ...; in place every other time. */ \
    static void TYPENAME##_team(shmem_team_t team, unsigned seed, size_t count, int start, \
                                int stride, int size) \
    { \
        TYPE *dest = seed % 2 ? TYPENAME##_dest : TYPENAME##_source; \
        for (int max = 0; max < 2; max++) { \
            TYPENAME##_fill(seed, count); \
            if (max) \
                shmem_##TYPENAME##_max_reduce(team, dest, TYPENAME##_source, count); \
            else \
                shmem_##TYPENAME##_min_reduce(team, dest, TYPENAME##_source, count); \
            TYPENAME##_check(dest, seed, count, start, stride, size, max); \
        } \
    } \
    static void TYPENAME##_active_set(unsigned seed, int count) \
    { \
        int n = shmem_n_pes(); \
        TYPENAME##_fill(seed, (size_t)count); \
        shmem_sync_all(); \
        shmem_##TYPENAME##_max_to_all(TYPENAME##_dest, TYPENAME##_source, count, 0, 0, n, \
                                      TYPENAME##_work, psync[0]); \
        TYPENAME##_check(TYPENAME##_dest, seed, (size_t)count, 0, 1, n, 1); \
        shmem_sync_all(); \
        if (shmem_my_pe() % 2 == 0) { \
            shmem_##TYPENAME##_min_to_all(TYPENAME##_dest, TYPENAME##_source, count, 0, 1, \
                                          (n + 1) / 2, TYPENAME##_work, psync[1]); \
            TYPENAME##_check(TYPENAME##_dest, seed, (size_t)count, 0, 2, (n + 1) / 2, 0); \
        } \
        shmem_sync_all(); \
    }
FLOATS(DEFINE)

/* clang-format on */

int main(void)
{
    shmem_team_t reversed;
    unsigned seed = 1;

    shmem_init();
    int n = shmem_n_pes();
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        psync[0][i] = psync[1][i] = SHMEM_SYNC_VALUE;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reversed);
#define RUN(TYPENAME, TYPE)                                                                        \
    TYPENAME##_allocate();                                                                         \
    for (int round = 0; round < ROUNDS; round++)                                                   \
        for (int c = 0; c < COUNTS; c++) {                                                         \
            TYPENAME##_team(SHMEM_TEAM_WORLD, ++seed, counts[c], 0, 1, n);                         \
            TYPENAME##_team(reversed, ++seed, counts[c], n - 1, -1, n);                            \
            if (counts[c] <= SHORT)                                                                \
                TYPENAME##_active_set(++seed, (int)counts[c]);                                     \
        }                                                                                          \
    TYPENAME##_free();
    FLOATS(RUN)
#undef RUN
    int status = check_end("extremes");
    shmem_finalize();
    return status;
}

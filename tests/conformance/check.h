/* What every conformance program shares: CHECK, which counts and reports, and check_end, which adds
 * the counts of all PEs and gives the exit status. Works in C and C++; knows nothing of the library
 * but its public headers. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <shmem.h>

enum { CHECK_REPORTS = 10 }; /* failures that one PE writes out; the rest is only counted */

static long check_count, check_failed;

/* Where the failing case came from: the row of a table that is being run, as printed with a
 * failure. */
static const char *check_case = "";

static void check_fail(const char *file, int line, const char *text)
{
    if (check_failed++ < CHECK_REPORTS) {
        fprintf(stderr, "PE %d: %s:%d: %s is false%s%s\n", shmem_my_pe(), file, line, text,
                *check_case ? ", for " : "", check_case);
        fflush(stderr);
    }
}

#define CHECK(CONDITION)                                                                           \
    do {                                                                                           \
        check_count++;                                                                             \
        if (!(CONDITION))                                                                          \
            check_fail(__FILE__, __LINE__, #CONDITION);                                            \
    } while (0)

/* Collective. PE 0 prints one line with the sums; returns main's exit status: 0 only if no PE
 * failed. */
static int check_end(const char *program)
{
    static long count, failed;
    long all;

    shmem_long_atomic_add(&count, check_count, 0);
    shmem_long_atomic_add(&failed, check_failed, 0);
    shmem_barrier_all();
    all = shmem_long_atomic_fetch(&failed, 0);
    if (shmem_my_pe() == 0) {
        printf("%s: %ld checks on %d PEs, %ld failed\n", program, count, shmem_n_pes(), all);
        fflush(stdout);
    }
    shmem_barrier_all();
    return all != 0 || check_failed != 0;
}

#endif

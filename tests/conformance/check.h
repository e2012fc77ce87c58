/* What every conformance program shares: CHECK, which counts and reports, and check_end, which adds
 * up the counts of all PEs and gives the exit status. Works in C and C++; uses only the library's
 * public headers. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <string.h>
#include <shmem.h>

enum { CHECK_REPORTS = 10 }; /* failures that one PE writes out; the rest is only counted */

static long check_count, check_failed;

/* The row of the table that is being run, printed with a failure. */
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

/* The bytes of a type that carry the value. The x87 format fills 10 bytes of its 12 or 16; the rest
 * is unspecified after a move by value. */
#if defined __x86_64__ || defined __i386__
#define VALUE_BYTES(TYPE) _Generic((TYPE)0, long double : 10, default : sizeof(TYPE))
#else
#define VALUE_BYTES(TYPE) sizeof(TYPE)
#endif

/* Whether count elements of size bytes are the same in the first `value` bytes of each. */
static inline int check_same(const void *a, const void *b, size_t count, size_t size, size_t value)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;

    if (value == size)
        return memcmp(x, y, count * size) == 0;
    for (size_t i = 0; i < count; i++)
        if (memcmp(x + i * size, y + i * size, value) != 0)
            return 0;
    return 1;
}

/* Collective. PE 0 prints one line with the sums; returns main's exit status: 0 only if the PEs have
 * made checks and none failed. */
static int check_end(const char *program)
{
    static long count, failed;
    long all, made;

    shmem_long_atomic_add(&count, check_count, 0);
    shmem_long_atomic_add(&failed, check_failed, 0);
    shmem_barrier_all();
    all = shmem_long_atomic_fetch(&failed, 0);
    made = shmem_long_atomic_fetch(&count, 0);
    if (shmem_my_pe() == 0) {
        printf("%s: %ld checks on %d PEs, %ld failed\n", program, made, shmem_n_pes(), all);
        fflush(stdout);
    }
    shmem_barrier_all();
    return made == 0 || all != 0 || check_failed != 0;
}

#endif

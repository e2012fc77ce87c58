/* A directory for each test of a Check suite: made before the test, which runs in it, and removed
 * after it. */
#ifndef SY_TESTS_SCRATCH_H
#define SY_TESTS_SCRATCH_H

#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "suite.h"

static char scratch_path[] = "/tmp/sy-unit.XXXXXX";

static inline void scratch_open(void)
{
    ck_assert_ptr_nonnull(mkdtemp(scratch_path));
    ck_assert_int_eq(chdir(scratch_path), 0);
}

static inline int scratch_remove(const char *path, const struct stat *info, int kind,
                                 struct FTW *at)
{
    (void)info, (void)kind, (void)at;
    return remove(path);
}

static inline void scratch_close(void)
{
    ck_assert_int_eq(chdir("/"), 0);
    ck_assert_int_eq(nftw(scratch_path, scratch_remove, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void scratch_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

#endif

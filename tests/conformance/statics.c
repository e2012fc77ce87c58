/* Global and static variables are symmetric (3): in .data, in .bss, inside functions, large and
 * sparse. They are put to, got from, updated by atomics and waited on. Built in several ways by
 * statics.test. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

long in_data[4] = {11, 22, 33, 44};
/* Half a megabyte with initial values, of which no page is resident yet. */
#define EIGHT(X) X, X, X, X, X, X, X, X
long initialised[] = {EIGHT(EIGHT(EIGHT(EIGHT(EIGHT(77L)))))};
long initialised_too[] = {EIGHT(EIGHT(EIGHT(EIGHT(EIGHT(78L)))))};
static long in_bss[1 << 20];
static struct {
    char head;
    double values[3];
    uint64_t signal;
} record;
static const char *const table[] = {"relocated", "constants"};
extern char **environ;

static long *in_function(void)
{
    static long hidden = 5;
    return &hidden;
}

/* Constants are symmetric objects too, for all that reads them. */
static const long constants[4] = {101, 202, 303, 404};
static const int one = 1;
static void check_constants(int to)
{
    static long got[4], all[4 * 64];
    static int sum;
    int me = shmem_my_pe(), npes = shmem_n_pes();

    CHECK(shmem_addr_accessible(constants, to) == 1);
    CHECK(shmem_addr_accessible(table, to) == 1);
    CHECK(shmem_ptr(constants, me) == (void *)constants);
    CHECK(shmem_long_g(&constants[2], to) == 303);
    CHECK(shmem_long_atomic_fetch(&constants[3], to) == 404);
    shmem_long_get(got, constants, 4, to);
    CHECK(!memcmp(got, constants, sizeof got));
    shmem_long_iget(got, constants + 1, 2, 2, 2, to);
    CHECK(got[0] == 202 && got[2] == 404);
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &sum, &one, 1);
    CHECK(sum == npes);
    shmem_long_broadcast(SHMEM_TEAM_WORLD, got, constants, 4, npes - 1);
    CHECK(!memcmp(got, constants, sizeof got));
    if (npes <= 64)
        shmem_long_fcollect(SHMEM_TEAM_WORLD, all, constants, 4);
    for (int i = 0; i < npes && npes <= 64; i++)
        CHECK(!memcmp(all + 4 * i, constants, sizeof got));
}

static void check_values_from_before_main(void)
{
    CHECK(in_data[0] == 11 && in_data[3] == 44);
    CHECK(*in_function() == 5);
    for (size_t i = 0; i < sizeof initialised / sizeof initialised[0]; i++)
        CHECK(initialised[i] == 77 && initialised_too[i] == 78);
    CHECK(in_bss[77777] == 0);
    CHECK(!strcmp(table[1], "constants"));
    CHECK(getenv("PATH") != NULL);
    setenv("CHECK_STATICS", "1", 1);
    CHECK(getenv("CHECK_STATICS") != NULL);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), to = (me + 1) % npes,
        from = (me + npes - 1) % npes;
    char local;

    check_values_from_before_main();
    check_constants(to);
    shmem_barrier_all();
    shmem_long_p(&in_data[1], 100 + me, to);
    shmem_long_p(&in_bss[1 << 19], 200 + me, to);
    shmem_long_p(in_function(), 300 + me, to);
    shmem_double_put(record.values, (double[]){me, me + 1, me + 2}, 3, to);
    for (int pe = 0; pe < npes; pe++)
        shmem_long_atomic_add(&in_data[2], 1, pe);
    shmem_fence();
    shmem_uint64_atomic_set(&record.signal, 7, to);
    shmem_uint64_wait_until(&record.signal, SHMEM_CMP_EQ, 7);
    CHECK(record.values[2] == from + 2);
    CHECK(in_data[1] == 100 + from);
    CHECK(in_bss[1 << 19] == 200 + from);
    CHECK(*in_function() == 300 + from);
    shmem_barrier_all();
    CHECK(in_data[2] == 33 + npes);
    CHECK(shmem_long_g(&in_data[1], to) == 100 + me);
    CHECK(shmem_double_g(&record.values[1], to) == me + 1);
    CHECK(shmem_addr_accessible(&in_bss[5], to) == 1);
    CHECK(shmem_addr_accessible(&local, to) == 0);
    CHECK(shmem_addr_accessible(NULL, to) == 0);
    CHECK(shmem_ptr(&in_data[0], me) == &in_data[0]);
    long *theirs = shmem_ptr(&in_data[0], to);
    if (theirs)
        CHECK(theirs[1] == 100 + me);
    const char *need = getenv("CHECK_STATICS_MAPPED");
    if (need && *need == '1')
        CHECK(theirs != NULL);
    shmem_barrier_all();
    int status = check_end("statics");
    shmem_finalize();
    CHECK(in_data[1] == 100 + from);
    return status || check_failed;
}

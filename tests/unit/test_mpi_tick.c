/* How often the mpi transport looks at MPI while a program computes (transports/mpi/tick.c): often
 * while messages come, and after a silence late by a small part of it only, and never seldom once
 * one has come. The timer's descriptor is a real one. */
#include <check.h>
#include <sys/timerfd.h>

#include "suite.h"
#include "transports/mpi/state.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

enum { POLL = 150 };

static struct mpi_tick begin(int load)
{
    const struct sy_host host = {.load = load};
    struct mpi_tick tick = {.fd = -1};

    ck_assert_int_eq(mpi_tick_open(&tick, &host, POLL), 0);
    mpi_tick_arm(&tick);
    return tick;
}

static uint64_t interval(const struct mpi_tick *tick)
{
    return atomic_load(&tick->interval);
}

/* The timer expires again and again and nothing has come since `now` ago: how many times until
 * `silence` ago. */
static int be_silent(struct mpi_tick *tick, uint64_t now, uint64_t silence)
{
    uint64_t most = tick->longest;
    int looks = 0;

    while (now < silence) {
        now += interval(tick);
        mpi_tick_looked(tick, false, true, false);
        looks++;
        if (now / 32 > most)
            most = now / 32;
        ck_assert_uint_le(interval(tick), most + most / 16);
    }
    return looks;
}

/* A second of silence takes some hundred looks, where one each 150 us were 6667; but the first
 * milliseconds take as many as they would. */
START_TEST(test_silence)
{
    struct mpi_tick tick = begin(1);

    ck_assert_int_ge(be_silent(&tick, 0, 4 * MS), 26);
    ck_assert_int_le(be_silent(&tick, 4 * MS, S), 400);
    ck_assert_uint_eq(interval(&tick), 4 * MS);
    ck_assert_int_le(be_silent(&tick, S, 2 * S), 251);
    mpi_tick_close(&tick);
}
END_TEST

/* The end of a silence is one for the progress thread, and for a thread of the program that polls:
 * nobody waits for the end of an interval that has begun in the silence. */
START_TEST(test_end)
{
    const bool woken = _i;
    struct mpi_tick tick = begin(1);
    struct itimerspec left;

    be_silent(&tick, 0, S);
    mpi_tick_looked(&tick, true, woken, false);
    ck_assert_uint_le(interval(&tick), 20 * US);
    ck_assert_int_eq(timerfd_gettime(tick.fd, &left), 0);
    ck_assert(left.it_value.tv_sec == 0 && (uint64_t)left.it_value.tv_nsec <= 20 * US);
    ck_assert_int_ge(be_silent(&tick, 0, 4 * MS), 26);
    mpi_tick_close(&tick);
}
END_TEST

/* What comes while nobody is to be woken ends it as well. */
START_TEST(test_disarmed)
{
    struct mpi_tick tick = begin(1);

    be_silent(&tick, 0, S);
    mpi_tick_disarm(&tick);
    mpi_tick_looked(&tick, true, false, false);
    mpi_tick_arm(&tick);
    ck_assert_uint_le(interval(&tick), 20 * US);
    mpi_tick_close(&tick);
}
END_TEST

/* Where MPI answers requests for a window by itself, each look may be one that another PE waits
 * for. */
START_TEST(test_window)
{
    struct mpi_tick tick = begin(1);

    mpi_tick_never_silent(&tick);
    ck_assert_int_ge(be_silent(&tick, 0, S), 6666);
    mpi_tick_close(&tick);
}
END_TEST

/* PEs that outnumber processors look as often all together. */
START_TEST(test_crowded)
{
    struct mpi_tick tick = begin(4);

    be_silent(&tick, 0, 4 * S);
    ck_assert_uint_eq(interval(&tick), 16 * MS);
    mpi_tick_close(&tick);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mpi_tick");
    TCase *tcase = tcase_create("mpi_tick");

    tcase_add_test(tcase, test_silence);
    tcase_add_loop_test(tcase, test_end, 0, 2);
    tcase_add_test(tcase, test_disarmed);
    tcase_add_test(tcase, test_window);
    tcase_add_test(tcase, test_crowded);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}

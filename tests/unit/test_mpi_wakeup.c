/* How a PE that looks at MPI seldom is woken (transports/mpi/wakeup.c): two states of this process,
 * with real sockets and timers and without an MPI. */
#include <check.h>
#include <poll.h>

#include "suite.h"
#include "transports/mpi/state.h"

enum { RANKS = 2, POLL = 150, LOOKS = 200 };

static struct mpi_state state[RANKS];

static void begin(void)
{
    static const struct sy_host host = {.load = 1};

    for (int i = 0; i < RANKS; i++) {
        state[i] = (struct mpi_state){.host = &host, .ranks = RANKS};
        ck_assert_int_eq(mpi_tick_open(&state[i].tick, &host, POLL), 0);
        mpi_wakeup_open(&state[i]);
        ck_assert_uint_ne(state[i].wakeup.own.name.length, 0);
    }
}

static void end(void)
{
    for (int i = 0; i < RANKS; i++) {
        mpi_wakeup_close(&state[i]);
        mpi_tick_close(&state[i].tick);
    }
}

static void meet(void)
{
    const struct mpi_socket of[RANKS] = {state[0].wakeup.own, state[1].wakeup.own};

    for (int i = 0; i < RANKS; i++)
        mpi_wakeup_meet(&state[i], of);
}

/* A look, in vain unless `moved`, as message.c has it. */
static void look(struct mpi_state *s, bool moved, bool event)
{
    mpi_wakeup_looked(s, moved, event);
    mpi_tick_looked(&s->tick, moved, event, false);
}

/* Looks in vain until MPI is looked at seldom. */
static void be_silent(struct mpi_state *s)
{
    mpi_tick_arm(&s->tick);
    for (int i = 0; i < 1000 && !mpi_tick_is_slow(&s->tick); i++)
        look(s, false, true);
    ck_assert(mpi_tick_is_slow(&s->tick));
}

static bool has_wakeup(struct mpi_state *s)
{
    struct pollfd fd = {.fd = s->wakeup.fd, .events = POLLIN};

    return poll(&fd, 1, 0) > 0;
}

static uint64_t sent(void)
{
    return atomic_load(&state[0].counters.wakeups_sent);
}

/* A PE that has heard nothing for long wakes the other at once; that one looks often again. */
START_TEST(test_silent)
{
    meet();
    be_silent(&state[0]);
    be_silent(&state[1]);
    mpi_wakeup_sent(&state[0], 1);
    ck_assert_uint_eq(sent(), 1);
    struct pollfd fd = {.fd = mpi_wakeup_wait_fd(&state[1]), .events = POLLIN};
    ck_assert_int_eq(poll(&fd, 1, 10000), 1);
    look(&state[1], false, true);
    ck_assert(!has_wakeup(&state[1]));
    ck_assert_uint_eq(atomic_load(&state[1].counters.wakeups_heard), 1);
    ck_assert(!mpi_tick_is_slow(&state[1].tick));
    mpi_wakeup_sent(&state[0], 1); /* more of the same */
    ck_assert_uint_eq(sent(), 1);
}
END_TEST

/* One that waits, with or without polling, wakes the other once, unless that answers before. */
START_TEST(test_waits)
{
    const bool event = _i;

    meet();
    mpi_wakeup_sent(&state[0], 1);
    look(&state[0], true, false);
    look(&state[0], false, false);
    ck_assert_uint_eq(sent(), 0);
    for (int i = 0; i < LOOKS; i++)
        look(&state[0], false, event);
    ck_assert_uint_eq(sent(), 1);
    ck_assert(has_wakeup(&state[1]));
    mpi_wakeup_sent(&state[0], 1);
    mpi_wakeup_heard(&state[0], 1);
    for (int i = 0; i < LOOKS; i++)
        look(&state[0], false, event);
    ck_assert_uint_eq(sent(), 1);
}
END_TEST

/* A thread that sleeps polls too, and would not sleep again with the wake-up unread. */
START_TEST(test_sleeper)
{
    meet();
    be_silent(&state[0]);
    be_silent(&state[1]);
    mpi_wakeup_sent(&state[0], 1);
    for (int i = 0; i < LOOKS && has_wakeup(&state[1]); i++)
        look(&state[1], false, false);
    ck_assert(!has_wakeup(&state[1]));
    ck_assert(!mpi_tick_is_slow(&state[1].tick));
}
END_TEST

/* A PE that another one cannot wake looks at MPI as often as ever. */
START_TEST(test_far)
{
    if (_i)
        state[1].wakeup.own.network ^= 8;
    else
        state[1].wakeup.own.name.length = 0;
    meet();
    mpi_tick_arm(&state[0].tick);
    for (int i = 0; i < 1000; i++)
        look(&state[0], false, true);
    ck_assert(!mpi_tick_is_slow(&state[0].tick));
    mpi_wakeup_sent(&state[0], 1);
    mpi_wakeup_heard(&state[0], 1);
    ck_assert_uint_eq(sent(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mpi_wakeup");
    TCase *tcase = tcase_create("mpi_wakeup");

    tcase_add_checked_fixture(tcase, begin, end);
    tcase_add_test(tcase, test_silent);
    tcase_add_loop_test(tcase, test_waits, 0, 2);
    tcase_add_test(tcase, test_sleeper);
    tcase_add_loop_test(tcase, test_far, 0, 2);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}

/* How a PE that looks at MPI seldom is woken (transports/mpi/wakeup.c, datagram.c): two states of
 * this process, with real sockets and timers and without an MPI. */
#include <check.h>
#include <poll.h>
#include <time.h>

#include "suite.h"
#include "transports/mpi/state.h"

enum { RANKS = 2, POLL = 150, LOOKS = 200 };

static struct mpi_state state[RANKS];

static void begin(void)
{
    static const struct mpi_settings settings = {.interfaces = "lo"};
    static const unsigned char key[32] = "known to the PEs of the job only";
    static const struct sy_host host[RANKS] = {{.pe = 0, .load = 1, .job_key = key},
                                               {.pe = 1, .load = 1, .job_key = key}};
    static int pe_of[RANKS] = {0, 1};

    for (int i = 0; i < RANKS; i++) {
        state[i] = (struct mpi_state){
            .host = &host[i], .settings = &settings, .ranks = RANKS, .pe_of = pe_of};
        ck_assert_int_eq(mpi_tick_open(&state[i].tick, &host[i], POLL), 0);
        ck_assert_int_eq(mpi_wakeup_open(&state[i], NULL), 0);
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
    state[1].wakeup.own.port = 0;
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

/* ---- across a network ---- */

static void be_far(void)
{
    state[1].wakeup.own.network ^= 8;
    ck_assert_uint_ne(state[1].wakeup.own.port, 0);
    meet();
}

/* Some ages in which nothing is heard. */
static void be_unheard(struct mpi_state *s)
{
    const struct timespec age = {.tv_nsec = 3000000};

    for (int i = 0; i < 3; i++) {
        nanosleep(&age, NULL);
        look(s, false, true);
    }
}

static bool is_woken(struct mpi_state *s)
{
    struct pollfd fd = {.fd = mpi_wakeup_wait_fd(s), .events = POLLIN};

    return poll(&fd, 1, 0) > 0;
}

static uint64_t heard(void)
{
    return atomic_load(&state[1].counters.wakeups_heard);
}

/* A PE that has not been heard for long is woken when something is sent to it, not each time. */
START_TEST(test_across)
{
    be_far();
    mpi_wakeup_sent(&state[0], 1);
    ck_assert_uint_eq(sent(), 0);
    be_unheard(&state[0]);
    mpi_wakeup_sent(&state[0], 1);
    mpi_wakeup_sent(&state[0], 1);
    ck_assert_uint_eq(sent(), 1);
    ck_assert(is_woken(&state[1]));
    mpi_tick_arm(&state[1].tick);
    look(&state[1], false, true);
    ck_assert_uint_eq(heard(), 1);
    ck_assert(!mpi_tick_is_long(&state[1].tick));
    be_unheard(&state[0]);
    mpi_wakeup_heard(&state[0], 1);
    mpi_wakeup_sent(&state[0], 1);
    ck_assert_uint_eq(sent(), 1);
}
END_TEST

/* What does not carry the job's word wakes nobody. */
START_TEST(test_stranger)
{
    const unsigned char bytes[64] = {0};
    struct sockaddr_storage to;
    socklen_t length;

    be_far();
    length = sy_ip_socket(&state[1].wakeup.own.ip, state[1].wakeup.own.port, 0, &to);
    for (size_t i = 0; i <= sizeof bytes; i++)
        ck_assert_int_eq(sendto(state[0].wakeup.far, bytes, i, 0, (struct sockaddr *)&to, length),
                         (ssize_t)i);
    ck_assert(!is_woken(&state[1]));
    state[0].wakeup.of[0] = state[0].wakeup.of[1]; /* the word of another PE */
    ck_assert(mpi_datagram_send(&state[0], 0));
    ck_assert(!is_woken(&state[1]));
    ck_assert(mpi_datagram_send(&state[0], 1));
    ck_assert(is_woken(&state[1]));
}
END_TEST

/* Any number of wake-ups, of a network's or this host's, is one until looks are seldom again. */
START_TEST(test_many)
{
    uint64_t looks = 0;

    be_far();
    mpi_tick_arm(&state[1].tick);
    for (int i = 0; i < 64; i++)
        mpi_datagram_send(&state[0], 1);
    look(&state[1], false, true);
    ck_assert_uint_eq(heard(), 1);
    mpi_tick_disarm(&state[1].tick);
    ck_assert(!is_woken(&state[1]));
    mpi_tick_arm(&state[1].tick);
    for (; state[1].wakeup.muted; looks++)
        look(&state[1], false, true);
    ck_assert_uint_ge(looks, 5);
    ck_assert_uint_eq(heard(), 1);
}
END_TEST

/* Without a PE that is elsewhere no port is open. */
START_TEST(test_near)
{
    meet();
    ck_assert_int_lt(state[0].wakeup.far, 0);
    ck_assert_int_lt(state[1].wakeup.far, 0);
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
    tcase_add_test(tcase, test_across);
    tcase_add_test(tcase, test_stranger);
    tcase_add_test(tcase, test_many);
    tcase_add_test(tcase, test_near);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}

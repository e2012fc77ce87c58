/* When a side may take the other for lost (launcher/silence.c), with a clock of the test's own. */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "bootstrap/launcher/silence.h"
#include "util/clock.h"
#include "suite.h"

enum { LIMIT = 8 }; /* seconds: a beat is one */

static struct sy_silence silence;
static double clock_now, delay;
static bool ready;

static void begin(void)
{
    clock_now = 1000;
    delay = 5;
    ready = false;
    sy_silence_begin(&silence, LIMIT, clock_now);
}

/* A check after so many seconds. */
static double look(double seconds, bool heard)
{
    clock_now += seconds;
    return sy_silence_look(&silence, clock_now, heard,
                           heard ? (struct sy_carriers){0} : (struct sy_carriers){delay, ready});
}

/* Checks until the other side is lost; returns how many it takes. */
static int looks_until_lost(double seconds, double delayed)
{
    for (int i = 1; i <= 1000; i++) {
        delay += delayed;
        if (look(seconds, false) >= LIMIT)
            return i;
    }
    return -1;
}

START_TEST(silence_is_counted)
{
    begin();
    look(1, true);
    ck_assert_double_eq(look(1, false), 0);
    ck_assert_double_eq(look(1, false), 1);
    ck_assert_double_eq(look(0.5, false), 1.5);
    begin();
    ck_assert_int_eq(looks_until_lost(1, 0), LIMIT + 1);
}
END_TEST

START_TEST(a_word_begins_it_anew)
{
    begin();
    for (int i = 0; i < 100; i++) {
        ck_assert_double_lt(look(1, i % 8 == 7), LIMIT);
        ck_assert_double_lt(silence.counted, LIMIT);
    }
    ck_assert_double_gt(look(1, false) + look(1, false), 0);
    ck_assert_double_eq(look(1, true), 0);
}
END_TEST

/* SIGSTOP for an hour, a suspended machine: one late check, which counts nothing. */
START_TEST(own_stop_is_no_silence)
{
    begin();
    look(1, false);
    look(1, false);
    ck_assert_double_eq(look(3600, false), 1);
    /* What has arrived meanwhile is read before the next check. */
    ck_assert_double_eq(look(1, true), 0);
    begin();
    for (int i = 0; i < 100; i++)
        ck_assert_double_lt(look(3600, false), LIMIT);
}
END_TEST

/* Checks that are late by a beat say nothing about the other side; those late by half a beat count
 * half. */
START_TEST(own_lateness_is_no_silence)
{
    begin();
    ck_assert_int_eq(looks_until_lost(2, 0), -1);
    begin();
    ck_assert_int_eq(looks_until_lost(1.5, 0), 2 * LIMIT + 1);
    begin();
    ck_assert_int_eq(looks_until_lost(1.25, 0), 12); /* 3/4 of a beat each, after the first */
}
END_TEST

/* The same for the processes that carry the conversation. */
START_TEST(carriers_lateness_is_no_silence)
{
    begin();
    ck_assert_int_eq(looks_until_lost(1, 1), -1);
    begin();
    ck_assert_int_eq(looks_until_lost(1, 0.5), 2 * LIMIT + 1);
    /* Waits of theirs from before do not count. */
    begin();
    delay = 100;
    ck_assert_int_eq(looks_until_lost(1, 0), LIMIT + 1);
    /* Nor does it count that a carrier has ended, and its time with it. */
    begin();
    look(1, false);
    delay = 0;
    ck_assert_double_eq(look(1, false), 1);
}
END_TEST

/* A carrier that waits for a processor at a check: its wait is known only once it has one. */
START_TEST(ready_carrier_is_no_silence)
{
    begin();
    ready = true;
    ck_assert_int_eq(looks_until_lost(1, 0), -1);
    ready = false;
    delay += 3;
    ck_assert_double_eq(look(1, false), 0);
    ck_assert_int_eq(looks_until_lost(1, 0), LIMIT);
}
END_TEST

START_TEST(never_too_late)
{
    /* A few late checks among many do not disable it. */
    begin();
    for (int i = 1; i <= 100; i++) {
        if (look(i % 5 ? 1 : 1.9, false) >= LIMIT) {
            ck_assert_int_le(i, 12);
            return;
        }
    }
    ck_abort_msg("a lost host is never noticed");
}
END_TEST

START_TEST(the_kernel_is_asked)
{
    struct sy_carriers own = sy_silence_carriers(getpid(), true);

    ck_assert(own.ready);
    ck_assert_double_ge(own.delay, 0);
    ck_assert(!sy_silence_carriers(0, true).ready);
    ck_assert(!sy_silence_carriers(-1, true).ready);
    ck_assert_double_le(sy_clock(), sy_clock());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("silence");
    TCase *all = tcase_create("all");

    tcase_add_test(all, silence_is_counted);
    tcase_add_test(all, a_word_begins_it_anew);
    tcase_add_test(all, own_stop_is_no_silence);
    tcase_add_test(all, own_lateness_is_no_silence);
    tcase_add_test(all, carriers_lateness_is_no_silence);
    tcase_add_test(all, ready_carrier_is_no_silence);
    tcase_add_test(all, never_too_late);
    tcase_add_test(all, the_kernel_is_asked);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}

/* When a thread that waits sleeps where it would yield (core/wait/displaced.c): a thread that does nothing but wait,
 * with yields of a few microseconds, or as long as others compute. */
#include <check.h>

#include "core/wait/displaced.h"
#include "suite.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

enum { YIELD = 5000 }; /* of PEs that wait too */

struct thread {
    struct sy_displaced displaced;
    uint64_t now, slept, yielded; /* yielded: in long yields */
    bool fed;                     /* something has arrived after each yield */
};

/* Waits for so long, in yields of `length`, or sleeps of 50 us. */
static void wait_for(struct thread *t, uint64_t duration, uint64_t length)
{
    uint64_t end = t->now + duration;

    while (t->now < end) {
        uint64_t began = t->now;
        if (began < t->displaced.until) {
            t->now += 50 * US;
            t->slept += 50 * US;
            continue;
        }
        t->now += length;
        t->yielded += length < SY_DISPLACED_NS ? 0 : length;
        sy_displaced_yielded(&t->displaced, began, t->now);
        sy_displaced_judge(&t->displaced, t->fed);
    }
}

static struct thread begin(void)
{
    return (struct thread){.now = 1000 * S};
}

/* Where two long yields are far apart, there is no reason to sleep. */
START_TEST(test_seldom)
{
    struct thread t = begin();

    for (int i = 0; i < 100; i++) {
        wait_for(&t, 1, 3 * MS);
        wait_for(&t, 30 * MS, YIELD);
    }
    ck_assert_uint_eq(t.slept, 0);
}
END_TEST

/* Among PEs that only exchange messages one yield of thousands is long, now and then several within
 * few milliseconds. Beside a process that computes most are, with a few short ones between. */
START_TEST(test_among)
{
    struct thread t = begin();

    for (int i = 0; i < 100; i++) {
        wait_for(&t, 1, 3 * MS / 2);
        wait_for(&t, 100 * YIELD, YIELD);
    }
    ck_assert_uint_eq(t.slept, 0);
    for (int i = 0; i < 100; i++) {
        wait_for(&t, 1, 3 * MS / 2);
        wait_for(&t, 7 * YIELD, YIELD);
    }
    ck_assert_uint_gt(t.slept, 0);
}
END_TEST

/* PEs that send for milliseconds each, one after the other: each yield is long, and brings something.
 * As soon as they bring nothing, others compute. */
START_TEST(test_senders)
{
    struct thread t = begin();

    t.fed = true;
    wait_for(&t, 10 * S, 4 * MS);
    ck_assert_uint_eq(t.slept, 0);
    t.fed = false;
    wait_for(&t, S, 4 * MS);
    ck_assert_uint_gt(t.slept, S / 2);
}
END_TEST

/* Two when a job starts, or behind bursts of its PEs, are soon forgotten. */
START_TEST(test_forgotten)
{
    static const uint64_t lengths[] = {1 * MS, 4 * MS, 30 * MS, 60 * S};
    const uint64_t length = lengths[_i];
    struct thread t = begin();

    wait_for(&t, length + 1, length);
    ck_assert_uint_gt(t.displaced.until, t.now);
    wait_for(&t, 10 * S, YIELD);
    ck_assert_uint_gt(t.slept, 7 * (length < 50 * MS ? length : 50 * MS));
    ck_assert_uint_le(t.slept, 9 * (length < 50 * MS ? length : 50 * MS));
}
END_TEST

/* Beside a process that computes the thread sleeps nearly all the time, and is back when that ends. */
START_TEST(test_beside)
{
    static const uint64_t lengths[] = {1 * MS, 4 * MS, 30 * MS};
    const uint64_t length = lengths[_i];
    struct thread t = begin();

    wait_for(&t, 20 * length, length);
    ck_assert_uint_le(t.yielded, 3 * length);
    wait_for(&t, 100 * S, length);
    ck_assert_uint_le(t.yielded, 2 * S);
    t.slept = 0;
    wait_for(&t, 10 * S, YIELD);
    ck_assert_uint_le(t.slept, 65 * length);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("displaced");
    TCase *tcase = tcase_create("displaced");

    tcase_add_test(tcase, test_seldom);
    tcase_add_test(tcase, test_among);
    tcase_add_test(tcase, test_senders);
    tcase_add_loop_test(tcase, test_forgotten, 0, 4);
    tcase_add_loop_test(tcase, test_beside, 0, 3);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}

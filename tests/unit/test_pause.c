/* Sleeps between looks at memory that changes without a wake-up (core/wait/pause.c): how late a look is, and what part
 * of a processor the looks take, by clocks of the test's own. */
#include <check.h>
#include <time.h>

#include "core/wait/pause.h"
#include "suite.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* Time, and this thread's processor time. */
static uint64_t now, used;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    uint64_t ns = clock == CLOCK_THREAD_CPUTIME_ID ? used : now;

    *t = (struct timespec){(time_t)(ns / S), (long)(ns % S)};
    return 0;
}

static void set_up(void)
{
    now = 1000 * S;
    used = S;
}

/* A sleep of this length, which costs so much, and of which the kernel makes a longer one. */
static void one_sleep(struct sy_pause *pause, uint64_t length, uint64_t cost)
{
    sy_pause_begin(pause);
    now += length + 60000;
    used += cost;
    sy_pause_end(pause);
}

/* What a sleep costs, with the looks before it, is found within some sleeps. */
START_TEST(test_cost)
{
    static const uint64_t costs[] = {1000, 5000, 20000, 40000};
    const uint64_t cost = costs[_i];
    struct sy_pause pause = SY_PAUSE_START;

    for (int i = 0; i < 30; i++)
        one_sleep(&pause, sy_pause_length(&pause), cost);
    ck_assert_uint_ge(sy_pause_length(&pause), 50000);
    ck_assert_uint_ge(sy_pause_length(&pause), cost * 23);
    ck_assert_uint_le(sy_pause_length(&pause), cost * 25 + 50000);
}
END_TEST

/* What a thread has done since its last sleep counts where that was just now only. */
START_TEST(test_follows)
{
    struct sy_pause near = SY_PAUSE_START, far;

    one_sleep(&near, MS, 10000);
    far = near;
    used += 200000;
    uint64_t then = now;
    now = then + MS / 4;
    one_sleep(&near, MS, 10000);
    ck_assert_uint_gt(near.cost, 50000);
    now = then + MS;
    one_sleep(&far, MS, 10000);
    ck_assert_uint_lt(far.cost, 11000);
}
END_TEST

/* A thread that looks ever more rarely. */
struct rare {
    struct sy_pause pause;
    uint64_t since, cost;
    bool crowded;
};

/* Goes on with the wait until it is this old; returns the longest sleep meanwhile. */
static uint64_t rare_until(struct rare *rare, uint64_t age)
{
    uint64_t longest = 0;

    while (now - rare->since < age) {
        uint64_t length = sy_pause_rare(&rare->pause, now - rare->since, rare->crowded);
        longest = length > longest ? length : longest;
        one_sleep(&rare->pause, length, rare->cost);
    }
    return longest;
}

static double rare_part(struct rare *rare, uint64_t from, uint64_t to, uint64_t *longest)
{
    rare_until(rare, from);
    uint64_t then = now, had = used;
    *longest = rare_until(rare, to);
    return (double)(used - had) / (double)(now - then);
}

START_TEST(test_rare)
{
    static const uint64_t costs[] = {2000, 10000, 40000};
    struct rare rare = {SY_PAUSE_START, now, costs[_i], false};
    uint64_t share = 25 * rare.cost > 50000 ? 25 * rare.cost : 50000, longest;

    ck_assert(rare_part(&rare, 75000, 2 * MS, &longest) < 0.5);
    ck_assert_uint_le(longest, 2 * MS / 16);
    ck_assert(rare_part(&rare, 5 * MS, 100 * MS, &longest) < 0.05);
    ck_assert_uint_le(longest, share > MS / 2 ? share : MS / 2);
    ck_assert(rare_part(&rare, 3 * S, 10 * S, &longest) < 0.01);
    ck_assert_uint_le(longest, 10 * S / 256 + share);
}
END_TEST

/* Where PEs outnumber processors the cost says little, and sleeps are a millisecond soon. */
START_TEST(test_rare_crowded)
{
    struct rare rare = {SY_PAUSE_START, now, 10000, true};
    uint64_t longest;

    ck_assert(rare_part(&rare, 20 * MS, 100 * MS, &longest) < 0.011);
    ck_assert_uint_le(longest, 3 * MS / 2);
    ck_assert(rare_part(&rare, 3 * S, 10 * S, &longest) < 0.001);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pause");
    TCase *tcase = tcase_create("pause");

    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_loop_test(tcase, test_cost, 0, 4);
    tcase_add_test(tcase, test_follows);
    tcase_add_loop_test(tcase, test_rare, 0, 3);
    tcase_add_test(tcase, test_rare_crowded);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}

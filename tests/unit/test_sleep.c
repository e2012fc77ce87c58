/* Sleep of a waiting thread (core/wait/sleep.c): what ends it, and that no wake-up is missed. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "core/wait/progress.h"
#include "core/route/route.h"
#include "core/wait/sleep.h"
#include "core/wait/wait.h"
#include "suite.h"

#define ROUNDS  5000
#define FOREVER UINT64_C(60000000000) /* far longer than a ring takes */

struct sy_routes sy_routes;

static int attending; /* threads that have taken over from the progress thread */
static int awake;     /* times that nobody slept any more */
static int pipe_end[2];

void sy_progress_take_over(void)
{
    attending++;
}

void sy_progress_hand_back(void)
{
    attending--;
}

void sy_progress_awake(void)
{
    awake += !sy_sleep_anybody();
}

static const uint32_t *roused; /* the word of which somebody was woken last */

void sy_wait_wake(const uint32_t *word)
{
    roused = word;
}

/* One transport, whose descriptor is a pipe. */
static void set_up(void)
{
    struct sy_error err;

    ck_assert_int_eq(pipe2(pipe_end, O_NONBLOCK), 0);
    sy_routes.count = 2;
    sy_routes.transport[0].wait_fd = -1;
    sy_routes.transport[1].wait_fd = pipe_end[0];
    ck_assert_int_eq(sy_sleep_open(&err), 0);
}

static void tear_down(void)
{
    ck_assert_int_eq(attending, 0);
    sy_sleep_close();
    close(pipe_end[0]);
    close(pipe_end[1]);
}

START_TEST(test_nothing)
{
    int before = awake;

    ck_assert(!sy_sleep_until_arrival(sy_sleep_count(), 1000000));
    ck_assert_int_eq(awake, before + 1);
}
END_TEST

START_TEST(test_arrival)
{
    ck_assert_int_eq(write(pipe_end[1], "x", 1), 1);
    ck_assert(sy_sleep_until_arrival(sy_sleep_count(), FOREVER));
}
END_TEST

/* Data moved after the count was read and before the sleep: noticed, and not taken for new data
 * again. */
START_TEST(test_moved_before)
{
    uint32_t count = sy_sleep_count();

    sy_sleep_moved();
    ck_assert(sy_sleep_until_arrival(count, FOREVER));
    ck_assert(!sy_sleep_until_arrival(sy_sleep_count(), 1000000));
}
END_TEST

/* A thread that sleeps on a word is woken once what it waits for is there. */
START_TEST(test_word)
{
    uint32_t word = 1;

    atomic_store(&sy_sleep.bits, 6);
    atomic_store(&sy_sleep.word, &word);
    sy_sleep_moved();
    ck_assert_ptr_null(roused);
    word = 5;
    sy_sleep_moved();
    ck_assert_ptr_eq(roused, &word);
    atomic_store(&sy_sleep.word, NULL);
    roused = NULL;
    sy_sleep_moved();
    ck_assert_ptr_null(roused);
}
END_TEST

/* At the end of a job the number of transports decreases. */
START_TEST(test_closed)
{
    ck_assert_int_eq(write(pipe_end[1], "x", 1), 1);
    sy_routes.count = 1;
    ck_assert(!sy_sleep_until_arrival(sy_sleep_count(), 1000000));
    sy_sleep_close();
    ck_assert(!sy_sleep_until_arrival(sy_sleep_count(), 1000000));
}
END_TEST

/* The progress thread's part: it receives data before the other thread is up, applies them, and
 * notifies it. */
static _Atomic int asked, applied;

static void *serve(void *unused)
{
    char byte;

    for (int round = 1; round <= ROUNDS; round++) {
        while (atomic_load(&asked) < round)
            sched_yield();
        if (round % 3 == 0)
            while (!sy_sleep_anybody())
                sched_yield();
        if (round % 2 && write(pipe_end[1], "x", 1) == 1 && read(pipe_end[0], &byte, 1) != 1)
            return NULL;
        atomic_store(&applied, round);
        sy_sleep_moved();
    }
    return unused;
}

START_TEST(test_rings)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, serve, NULL), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        atomic_store(&asked, round);
        for (;;) {
            uint32_t count = sy_sleep_count();
            if (atomic_load(&applied) == round)
                break;
            ck_assert_msg(sy_sleep_until_arrival(count, FOREVER), "the ring of round %d is lost",
                          round);
        }
    }
    pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sleep");
    TCase *cases = tcase_create("sleep");

    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, test_nothing);
    tcase_add_test(cases, test_arrival);
    tcase_add_test(cases, test_moved_before);
    tcase_add_test(cases, test_word);
    tcase_add_test(cases, test_closed);
    tcase_add_test(cases, test_rings);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}

/* When transfers are spread over several connections (transports/tcp/peer/pace.c), for networks where
 * the rates of one connection and of several are given. */
#include <check.h>

#include "suite.h"
#include "transports/tcp/peer/pace.h"

#define BYTES 1000000

/* Makes `count` measured transfers at so many bytes per nanosecond; returns how many were spread.
 */
static int transfer(struct tcp_pace *pace, int count, double one, double many)
{
    int spread = 0;

    for (int i = 0; i < count; i++) {
        bool spreads = sy_tcp_pace_spreads(pace, true);
        sy_tcp_pace_note(pace, spreads, BYTES, (uint64_t)(BYTES / (spreads ? many : one)));
        spread += spreads;
    }
    return spread;
}

/* One connection suffices: no other is ever made. */
START_TEST(test_fast)
{
    struct tcp_pace pace = {0};

    ck_assert_int_eq(transfer(&pace, 10000, 3, 5), 0);
    ck_assert(!sy_tcp_pace_spreads(&pace, false));
}
END_TEST

/* A single connection is limited: found out after a few transfers, and seldom tried again. */
START_TEST(test_limited)
{
    struct tcp_pace pace = {0};

    transfer(&pace, 10, 0.6, 2.4);
    int spread = transfer(&pace, 640, 0.6, 2.4);
    ck_assert_int_ge(spread, 640 - 11);
    ck_assert_int_lt(spread, 640);
    ck_assert(sy_tcp_pace_spreads(&pace, false));
}
END_TEST

/* The link, or the peer, is slow: more connections are tried less and less often. */
START_TEST(test_slow_anyway)
{
    struct tcp_pace pace = {0};
    int before = transfer(&pace, 1000, 0.6, 0.65), after = transfer(&pace, 10000, 0.6, 0.65);

    ck_assert_int_gt(before, 0);
    ck_assert_int_le(before, 20);
    ck_assert_int_le(after, 20);
    ck_assert_int_lt(after, 10 * before);
    ck_assert(!sy_tcp_pace_spreads(&pace, false));
}
END_TEST

/* A few slow transfers among fast ones say nothing. */
START_TEST(test_outliers)
{
    struct tcp_pace pace = {0};

    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(transfer(&pace, 1, i % 3 ? 0.1 : 3, 5), 0);
}
END_TEST

/* A limit that is gone: one connection again, after a probe at the latest. */
START_TEST(test_recovers)
{
    struct tcp_pace pace = {0};

    transfer(&pace, 200, 0.6, 2.4);
    transfer(&pace, 70, 5, 4);
    ck_assert_int_eq(transfer(&pace, 1000, 5, 4), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp pace");
    TCase *all = tcase_create("all");

    tcase_add_test(all, test_fast);
    tcase_add_test(all, test_limited);
    tcase_add_test(all, test_slow_anyway);
    tcase_add_test(all, test_outliers);
    tcase_add_test(all, test_recovers);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}

/* When an outage makes a peer lost, with a clock of the test's own. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <switchyard/bootstrap.h>

#include "transports/tcp/tcp.h"
#include "suite.h"

#define SECOND UINT64_C(1000000000)
#define LIMIT  30 /* seconds */

static uint64_t now;
static char said[1000];
static int lines;
static struct tcp_peer *peer;

static void log_line(enum sy_log_level level, const char *category, const char *fmt, ...)
{
    va_list args;

    (void)level, (void)category;
    va_start(args, fmt);
    vsnprintf(said, sizeof said, fmt, args);
    va_end(args);
    lines++;
}

static struct sy_place place(int pe)
{
    return (struct sy_place){.node = pe, .host = "h"};
}

static struct sy_host host = {.size = sizeof host, .log = log_line, .place = place, .npes = 2};
static struct tcp tcp = {.host = &host, .settings.reconnect_timeout = LIMIT};

uint64_t sy_tcp_now(void)
{
    return now;
}

bool sy_tcp_attempt_ungreeted(struct tcp_net *net, int pe, unsigned number)
{
    (void)net, (void)pe, (void)number;
    return false;
}

/* A peer that was up and has broken, with a reply awaited. */
static void begin(void)
{
    static _Atomic(struct tcp_peer *) by_number[2];
    static struct sy_engine_peer *peers[1];

    now = 1000 * SECOND;
    lines = 0;
    free(peer);
    peer = aligned_alloc(_Alignof(struct tcp_peer), sizeof *peer);
    ck_assert_ptr_nonnull(peer);
    memset(peer, 0, sizeof *peer);
    peer->tcp = &tcp;
    peer->stream.pe = 1;
    peer->stream.watch.fd = -1;
    atomic_store(&peer->requests.pending.asked, 1);
    peer->stream.queue[TCP_REQUESTS].tx = &peer->requests.tx;
    peer->stream.queue[TCP_REPLIES].tx = &peer->replies;
    tcp.engine = (struct sy_engine){.peer = peers};
    peers[0] = &peer->requests;
    tcp.peers = (struct tcp_peer_table){.by_number = by_number};
    atomic_store(&by_number[1], peer);
    atomic_store(&tcp.engine.peers, 1);
    sy_tcp_outage_start(peer, now);
    sy_tcp_outage_over(peer, -1);
    sy_tcp_outage_break(peer);
}

/* A check after so many seconds: whether the peer is given up. */
static bool look(double seconds)
{
    uint64_t wait;

    now += (uint64_t)(seconds * (double)SECOND);
    return sy_tcp_outage_look(peer, now, &wait);
}

/* Checks, each after so many seconds, until the peer is given up: how many, at most 1000. */
static int looks_until_lost(double seconds)
{
    int count = 1;

    while (count < 1000 && !look(seconds))
        count++;
    return count;
}

START_TEST(lost_after_the_limit)
{
    begin();
    ck_assert_int_eq(looks_until_lost(0.5), 2 * LIMIT + 1);
    begin();
    ck_assert_int_eq(looks_until_lost(0.125), 8 * LIMIT + 1);
}
END_TEST

/* Stopped for an hour, twice: what was counted before goes on. */
START_TEST(time_in_which_it_was_stopped_does_not_count)
{
    begin();
    for (int i = 0; i < 20; i++)
        ck_assert(!look(0.5));
    ck_assert(!look(3600));
    ck_assert(!look(3600));
    ck_assert_int_eq(looks_until_lost(0.5), 2 * (LIMIT - 10) + 1 - 2);
}
END_TEST

START_TEST(nothing_is_said_of_such_time)
{
    begin();
    ck_assert(!look(0.5));
    ck_assert(!look(25));
    ck_assert(!look(0.5));
    ck_assert_int_eq(lines, 0);
    while (!lines && now < 2000 * SECOND)
        ck_assert(!look(0.5));
    ck_assert_ptr_nonnull(strstr(said, "PE 1 on host h has not answered for 10 s"));
}
END_TEST

/* Each check is late: it takes as many as if none was. */
START_TEST(without_a_processor)
{
    begin();
    ck_assert(!look(0));
    ck_assert_int_eq(looks_until_lost(10), 2 * LIMIT + 1);
}
END_TEST

/* The first check after a break cannot be late, because none precedes it. */
START_TEST(a_new_outage_begins_anew)
{
    begin();
    ck_assert(!look(0.5));
    sy_tcp_outage_over(peer, -1);
    now += 500 * SECOND;
    sy_tcp_outage_break(peer);
    ck_assert_int_eq(looks_until_lost(0.5), 2 * LIMIT + 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp outage");
    TCase *cases = tcase_create("outage");

    tcase_add_test(cases, lost_after_the_limit);
    tcase_add_test(cases, time_in_which_it_was_stopped_does_not_count);
    tcase_add_test(cases, nothing_is_said_of_such_time);
    tcase_add_test(cases, without_a_processor);
    tcase_add_test(cases, a_new_outage_begins_anew);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}

/* When an outage makes a peer lost, with a clock of the test's own. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <switchyard/bootstrap.h>

#include "transports/tcp/tcp.h"
#include "util/net/way.h"
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

bool sy_tcp_attempt_is_silent(struct tcp_net *net, int pe, unsigned number)
{
    (void)net, (void)pe, (void)number;
    return false;
}

static bool neighbours;

unsigned sy_tcp_ways(struct tcp *unused, int one, int other)
{
    (void)unused, (void)one, (void)other;
    return neighbours ? TCP_WAY_NEAR : 0;
}

static struct sy_engine_peer *peers[2];

/* A peer that was up and has broken, with a reply awaited. */
static void begin(void)
{
    static _Atomic(struct tcp_peer *) by_number[2];

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

/* An attempt has ended without an answer, as where a cable is pulled or a queue is full, or has
 * been refused. */
static int looks_until_lost_after(const char *ip, unsigned seen)
{
    ck_assert_int_eq(sy_ip_parse(ip, &peer->outage.ip), 0);
    sy_tcp_outage_failed(peer, seen, now);
    return looks_until_lost(0.5);
}

START_TEST(this_machine_is_there)
{
    begin();
    atomic_store(&peer->near, true);
    ck_assert_int_eq(looks_until_lost_after("127.0.0.1", SY_WAY_SILENT), 1000);
    begin();
    atomic_store(&peer->near, true);
    ck_assert_int_eq(looks_until_lost_after("127.0.0.1", SY_WAY_SILENT | SY_WAY_REFUSED),
                     2 * LIMIT + 1);
    begin();
    ck_assert_int_eq(looks_until_lost_after("192.0.2.1", SY_WAY_SILENT), 2 * LIMIT + 1);
}
END_TEST

/* An address that this machine has lost is silent for another reason. */
START_TEST(this_machine_had_the_address)
{
    begin();
    atomic_store(&peer->near, true);
    ck_assert_int_eq(looks_until_lost_after("192.0.2.1", SY_WAY_SILENT), 2 * LIMIT + 1);
}
END_TEST

/* Another PE is connected at an address: whether the peer is lost within the limit. A descriptor
 * that is no connection has been heard of just now. */
static bool is_lost_beside(const char *ip, bool same_machine, unsigned seen)
{
    static struct tcp_peer other;

    begin();
    neighbours = same_machine;
    other.stream.watch.fd = 0;
    other.tcp = &tcp;
    ck_assert_int_eq(sy_ip_parse(ip, &other.outage.ip), 0);
    peers[1] = &other.requests;
    atomic_store(&tcp.engine.peers, 2);
    return looks_until_lost_after("192.0.2.1", seen) == 2 * LIMIT + 1;
}

START_TEST(the_machine_answers_for_another_peer)
{
    ck_assert(!is_lost_beside("192.0.2.1", true, SY_WAY_SILENT));
    ck_assert(is_lost_beside("192.0.2.1", true, SY_WAY_REFUSED));
    ck_assert(is_lost_beside("192.0.2.1", true, SY_WAY_NONE));
    ck_assert(is_lost_beside("192.0.2.2", true, SY_WAY_SILENT));
    ck_assert(is_lost_beside("192.0.2.1", false, SY_WAY_SILENT));
}
END_TEST

/* A first contact with a PE of another version has no hope; a PE that was met cannot be of one. */
START_TEST(another_version)
{
    begin();
    ck_assert_int_eq(looks_until_lost_after("192.0.2.1", TCP_SEEN_VERSION), 2 * LIMIT + 1);
    begin();
    peer->outage.met = false;
    ck_assert_int_eq(looks_until_lost_after("192.0.2.1", TCP_SEEN_VERSION), 1);
}
END_TEST

/* So has one that this machine forbids at all addresses; but the peer may connect meanwhile. */
START_TEST(a_first_contact_is_forbidden)
{
    begin();
    ck_assert_int_eq(looks_until_lost_after("192.0.2.1", SY_WAY_DENIED), 2 * LIMIT + 1);
    begin();
    peer->outage.met = false;
    ck_assert_int_eq(looks_until_lost_after("192.0.2.1", SY_WAY_DENIED | SY_WAY_SILENT),
                     2 * LIMIT + 1);
    begin();
    peer->outage.met = false;
    ck_assert_int_eq(looks_until_lost_after("192.0.2.1", SY_WAY_DENIED), 3);
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
    tcase_add_test(cases, this_machine_is_there);
    tcase_add_test(cases, this_machine_had_the_address);
    tcase_add_test(cases, the_machine_answers_for_another_peer);
    tcase_add_test(cases, another_version);
    tcase_add_test(cases, a_first_contact_is_forbidden);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}

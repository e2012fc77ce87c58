/* Connections of the TCP transport between processes, over loopback: who connects to whom and when,
 * what strangers do at the port, addresses that are dead. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "suite.h"
#include "tcp_pes.h"

#define ROUNDS 200

/* ---- PEs among themselves ---- */

static void one_connects(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 3);

    stream->mine = (struct tcp_positions){100 + (uint64_t)pe, UINT64_MAX - (uint64_t)pe,
                                          7000 + (uint32_t)pe};
    meet();
    if (pe == 1)
        start(stream);
    exchange(stream, 7);
    require(stream->adopted == 1 && stream->connector == (pe == 1));
    require(stream->theirs.requests == 101 - (uint64_t)pe);
    require(stream->theirs.replies == UINT64_MAX - 1 + (uint64_t)pe);
    require(stream->theirs.udp_port == 7001 - (uint32_t)pe);
    memcpy(shared->keys[pe], stream->keys, sizeof stream->keys);
    meet();
    require(!memcmp(shared->keys[0], shared->keys[1], sizeof stream->keys));
    /* PE 1 loses its end; PE 0 does not know, and has the new connection in place of the old. */
    if (pe == 1) {
        int lost = stream->fd;
        stream->fd = -1;
        start(stream);
        exchange(stream, 8);
        close(lost);
    } else {
        while (stream->adopted == 1)
            poll_once(10);
        exchange(stream, 8);
    }
    require(stream->adopted == 2);
}

START_TEST(connects_and_again)
{
    run(2, one_connects);
}
END_TEST

static void both_connect(int pe)
{
    unsigned seed = (unsigned)pe;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        struct tcp_stream *stream = find(NULL, 1 - pe, round % LANES);
        meet();
        for (uint64_t end = sy_tcp_now() + (uint64_t)(rand_r(&seed) % 500000) * (round % 3);
             sy_tcp_now() < end;)
            if (round % 3 == 2)
                poll_once(0);
        if (stream->fd < 0)
            start(stream);
        exchange(stream, round);
        meet();
        poll_once(0);
        /* One connection has been made, not one after the other. */
        require(stream->fd >= 0 && stream->adopted == (int)(round / LANES + 1));
        meet();
        close(stream->fd);
        stream->fd = -1;
        sy_tcp_connect_cancel(net, stream, stream->pe, stream->number);
    }
}

START_TEST(simultaneous)
{
    run(2, both_connect);
}
END_TEST

/* More connections at once than there are places for guests. */
static void all_connect(int pe)
{
    for (int peer = 0; peer < PES; peer++)
        for (unsigned k = 0; k < LANES && peer != pe; k++)
            if (streams[peer][k].fd < 0)
                start(&streams[peer][k]);
    for (int peer = 0; peer < PES; peer++)
        for (unsigned k = 0; k < LANES && peer != pe; k++)
            exchange(&streams[peer][k], k);
}

START_TEST(storm)
{
    run(PES, all_connect);
}
END_TEST

/* While connections keep being made, four that are the peer's by rule begin at once; of five, all
 * are left to the peer. */
static void few_connect(int pe)
{
    if (pe == 1) {
        net->turns.seen = 1000 * SECOND;
        for (unsigned k = 0; k < 9; k++) {
            net->turns.last = sy_tcp_now();
            start(&streams[0][k]);
            if (k == 3 || k == 8)
                sy_tcp_turns_timer(net, sy_tcp_now());
        }
        require(sy_tcp_attempts_since(net, 0) == 4 && net->turns.theirs.count == 5);
        net->turns.seen = 0;
    }
    for (unsigned k = 0; k < 9; k++)
        exchange(&streams[1 - pe][k], k);
}

START_TEST(few_wanted)
{
    run(2, few_connect);
}
END_TEST

/* A socket that listens and is no PE's. */
static int open_listener(struct tcp_endpoint *endpoint)
{
    struct sockaddr_storage address;
    socklen_t length;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    require(!sy_ip_parse("127.0.0.1", &endpoint->ip));
    length = sy_ip_socket(&endpoint->ip, 0, 0, &address);
    require(!bind(fd, (struct sockaddr *)&address, length) && !listen(fd, 0));
    require(!getsockname(fd, (struct sockaddr *)&address, &length));
    endpoint->port = ntohs(((struct sockaddr_in *)&address)->sin_port);
    return fd;
}

/* An address at which nothing is ever answered: a socket whose queue is full. */
static void dead_end(struct tcp_endpoint *endpoint)
{
    struct sockaddr_storage address;
    socklen_t length;

    open_listener(endpoint);
    length = sy_ip_socket(&endpoint->ip, endpoint->port, 0, &address);
    for (int i = 0; i < 4; i++) {
        int full = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        require(!connect(full, (struct sockaddr *)&address, length) || errno == EINPROGRESS);
    }
}

/* Puts dead addresses before those that a PE has published, or in place of them. */
static void put_dead_ends(int pe, unsigned count, bool before)
{
    struct tcp_record record, out = {.count = count};

    require(sy_tcp_record_read(&record, shared->address[pe], shared->length[pe]));
    out.machine = record.machine;
    for (unsigned i = 0; i < count; i++)
        dead_end(&out.endpoint[i]);
    for (unsigned i = 0; i < record.count && before; i++)
        out.endpoint[out.count++] = record.endpoint[i];
    shared->length[pe] = sy_tcp_record_write(&out, shared->address[pe], 127);
}

static void behind_dead_ends(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0);

    if (pe == 1) {
        put_dead_ends(0, 3, true);
        start(stream);
    }
    exchange(stream, 1);
    require(stream->unreachable == 0);
}

START_TEST(dead_first)
{
    run(2, behind_dead_ends);
}
END_TEST

/* Both want to connect, but only the higher PE's connections arrive, which are to give way. */
static void one_way(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0);

    if (pe == 0)
        put_dead_ends(1, 1, false);
    meet();
    start(stream);
    exchange(stream, 1);
    require(stream->connector == (pe == 1));
}

START_TEST(one_direction)
{
    run(2, one_way);
}
END_TEST

static void to_nowhere(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0);
    char port[16];

    if (pe == 1) {
        put_dead_ends(0, 2, false);
        start(stream);
        require(!stream->unreachable);
        while (!stream->unreachable)
            poll_once(10);
        snprintf(port, sizeof port, ":%u", shared->address[0][9] * 256u + shared->address[0][10]);
        require(strstr(stream->why, port) && strstr(stream->why, "; 127.0.0.1:"));
        require(strstr(stream->why, "no answer within 2 s"));
        stream->unreachable = 0;
        sy_tcp_connect_start(net, stream, 0, 0, "nonsense", 8, true);
        require(!stream->unreachable);
        while (!stream->unreachable)
            poll_once(10);
        require(stream->unreachable == 1 && strstr(stream->why, "malformed"));
    }
}

START_TEST(nowhere)
{
    run(2, to_nowhere);
}
END_TEST

/* The peer says, late, that it is of another version: no later attempt would end otherwise. */
static void to_other_version(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0);
    struct tcp_record out = {.count = 1};
    struct tcp_transcript transcript = {.count = 0};
    struct tcp_self peer = {key, 0, 2, NULL};
    struct tcp_handshake hello;

    if (pe == 0)
        return;
    int listener = open_listener(&out.endpoint[0]);
    shared->length[0] = sy_tcp_record_write(&out, shared->address[0], 127);
    start(stream);
    poll_until(sy_tcp_attempt_progress(net, sy_tcp_contact(net, 0, 0)) == TCP_ATTEMPT_ANSWERED);
    int fd = accept(listener, NULL, NULL);
    require(recv(fd, &hello, sizeof hello, MSG_WAITALL) == sizeof hello);
    require(sy_tcp_hear(&transcript, &peer, &hello) == TCP_GOOD);
    require(!sy_tcp_say_refuse(&transcript, &peer, TCP_REFUSE_VERSION));
    usleep(600000);
    require(sy_tcp_attempt_is_silent(net, 0, 0));
    require(send(fd, sy_tcp_last(&transcript), sizeof hello, 0) == sizeof hello);
    poll_until(stream->unreachable);
    require(stream->seen == TCP_SEEN_VERSION && strstr(stream->why, "another version"));
}

START_TEST(other_version)
{
    run(2, to_other_version);
}
END_TEST

static void other_job(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0);

    if (pe == 1) {
        key[7] ^= 1;
        start(stream);
        while (!stream->unreachable)
            poll_once(10);
        require(strstr(stream->why, "another job"));
        shared->over = true;
    }
    while (!shared->over)
        poll_once(10);
    require(stream->frozen == 0 && stream->adopted == 0);
}

START_TEST(another_job)
{
    run(2, other_job);
}
END_TEST

static void starved(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0);
    struct rlimit few = {32, 32};

    if (pe == 1) {
        meet();
        start(stream);
        poll_until_adopted(stream);
        return;
    }
    require(!setrlimit(RLIMIT_NOFILE, &few));
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        ;
    meet();
    for (uint64_t end = sy_tcp_now() + SECOND / 2; sy_tcp_now() < end;)
        poll_once(10);
    require(stream->adopted == 0 && log_lines > 0);
    for (int fd = 16; fd < 32; fd++)
        close(fd);
    poll_until_adopted(stream);
}

START_TEST(no_descriptors)
{
    run(2, starved);
}
END_TEST

/* For once there is no memory to accept a connection, while this PE begins one of its own. */
static void short_once(int pe)
{
    struct tcp_stream *mine = find(NULL, 1 - pe, 0), *later = find(NULL, 1 - pe, 1);

    if (pe == 0) {
        start(mine);
        refused_accepts = 1;
        sy_tcp_net_timers(net, sy_tcp_now());
        require(!refused_accepts);
    }
    poll_until_adopted(mine);
    meet();
    if (pe == 1)
        start(later);
    poll_until_adopted(later);
}

START_TEST(no_memory_once)
{
    run(2, short_once);
}
END_TEST

/* ---- strangers ---- */

static int stranger(void)
{
    struct tcp_record record;
    struct sockaddr_storage to;
    socklen_t length;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    require(sy_tcp_record_read(&record, shared->address[0], shared->length[0]));
    length = sy_ip_socket(&record.endpoint[0].ip, record.endpoint[0].port, 0, &to);
    require(!connect(fd, (struct sockaddr *)&to, length));
    return fd;
}

/* Says something: whether it is answered, with what. */
static bool say(int fd, const void *bytes, size_t length, struct tcp_handshake *answer)
{
    require(send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length);
    return recv(fd, answer, sizeof *answer, MSG_WAITALL) == sizeof *answer;
}

/* What is no message of the handshake at all, or in part. The port ends each connection. */
static void say_nonsense(void)
{
    static const char *const said[] = {"GET / HTTP/1.0\r\n\r\n", "\x16\x03\x01\x02", "SWYDTCX",
                                       "S?"};
    struct tcp_handshake answer;
    char noise[4096];

    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (char)(i * i >> 3);
    for (unsigned i = 0; i < 100; i++) {
        int fd = stranger();
        if (i % 5 < 4)
            require(!say(fd, said[i % 5], strlen(said[i % 5]), &answer));
        else
            require(!say(fd, noise, sizeof noise, &answer));
        close(fd);
        close(stranger());
    }
}

/* Messages made with another key, and messages overheard. Returns a HELLO. */
static struct tcp_handshake say_forged(void)
{
    static const unsigned char other[32] = "another job's key";
    struct tcp_self self = {other, 1, 2, NULL};
    struct tcp_transcript t;
    struct tcp_handshake answer, hello, confirm;
    int fd = stranger();

    require(!sy_tcp_say_hello(&t, &self, 0, 0, 0, sy_tcp_now()));
    require(!say(fd, &t.message[0], sizeof hello, &answer));
    close(fd);
    self.key = key;
    require(!sy_tcp_say_hello(&t, &self, 0, 0, 0, sy_tcp_now()));
    hello = *sy_tcp_last(&t);
    fd = stranger();
    require(say(fd, &hello, sizeof hello, &answer) && answer.kind == TCP_WELCOME);
    require(sy_tcp_hear(&t, &self, &answer) == TCP_GOOD);
    require(!sy_tcp_say_positions(&t, &self, (struct tcp_positions){.requests = 5, .replies = 5}));
    confirm = *sy_tcp_last(&t);
    close(fd); /* it was overheard, and never got there */
    /* Neither what has been heard before nor what is older is answered. */
    for (int i = 0; i < 20; i++) {
        if (i == 10) {
            t.count = 0;
            require(!sy_tcp_say_hello(&t, &self, 0, 0, 0, hello.serial - 1));
        }
        fd = stranger();
        require(!say(fd, i < 10 ? &hello : &t.message[0], sizeof hello, &answer));
        close(fd);
    }
    /* One that never got there is, once, but what followed it elsewhere is worth nothing. */
    require(!sy_tcp_say_hello(&t, &self, 0, 0, 0, hello.serial + 1));
    fd = stranger();
    require(say(fd, &t.message[0], sizeof hello, &answer) && answer.kind == TCP_WELCOME);
    require(!say(fd, &confirm, sizeof confirm, &answer));
    close(fd);
    return hello;
}

/* A PE of the job that gets a number wrong is told so. */
static void say_wrong_numbers(void)
{
    static const struct {
        uint32_t pe, stream;
    } wrong[] = {{77, 0}, {0, 0}, {UINT32_MAX, 0}, {1, LANES}, {1, UINT32_MAX}};
    struct tcp_transcript t;
    struct tcp_handshake answer;

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tcp_self self = {key, wrong[i].pe, 2, NULL};
        int fd = stranger();
        require(!sy_tcp_say_hello(&t, &self, 0, wrong[i].stream, 0, 1));
        require(say(fd, &t.message[0], sizeof answer, &answer));
        require(answer.kind == TCP_REFUSE && answer.reason == TCP_REFUSE_TARGET);
        close(fd);
    }
}

static void among_strangers(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0), *late = find(NULL, 1 - pe, 1);

    if (pe == 0) {
        while (!shared->over)
            poll_once(10);
        require(stream->adopted == 1 && stream->frozen == 1 && late->adopted == 1);
        require(log_lines < 30);
        return;
    }
    start(stream);
    poll_until_adopted(stream);
    say_nonsense();
    struct tcp_handshake hello = say_forged();
    say_wrong_numbers();
    /* More sockets than places: some say nothing, some a HELLO that was overheard, one begins one.
     */
    int slow = stranger();
    require(send(slow, &hello, 20, MSG_NOSIGNAL) == 20);
    for (int i = 0; i < 600; i++) {
        int held = stranger();
        if (i % 2)
            require(send(held, &hello, sizeof hello, MSG_NOSIGNAL) != 0);
    }
    start(late);
    poll_until_adopted(late);
    require(recv(slow, &hello, 1, 0) <= 0);
    require(recv(stream->fd, &hello, 1, 0) == -1 && errno == EAGAIN);
    shared->over = true;
}

START_TEST(strangers)
{
    run(2, among_strangers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("connect");
    TCase *cases = tcase_create("connect");

    if (pes_probe())
        return 77;
    tcase_add_test(cases, connects_and_again);
    tcase_add_test(cases, simultaneous);
    tcase_add_test(cases, storm);
    tcase_add_test(cases, few_wanted);
    tcase_add_test(cases, dead_first);
    tcase_add_test(cases, one_direction);
    tcase_add_test(cases, nowhere);
    tcase_add_test(cases, other_version);
    tcase_add_test(cases, another_job);
    tcase_add_test(cases, no_descriptors);
    tcase_add_test(cases, no_memory_once);
    tcase_add_test(cases, strangers);
    tcase_set_timeout(cases, 120);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}

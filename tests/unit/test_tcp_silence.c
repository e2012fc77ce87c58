/* A peer whose machine is there and that does not answer, or a machine that is heard of no more
 * while a connection is made: how the tcp transport finds out. */
#include <check.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/tcp.h>

#include "suite.h"
#include "tcp_pes.h"

/* The peer's machine takes the connection, and is never heard of again. Where so many PEs share a
 * processor that the kernel does not ask for it, the attempt has an end. */
static void heard_no_more(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0);

    host.load = 64;
    if (pe == 1)
        start(stream);
    poll_until_adopted(stream);
    meet();
    for (int i = 0; pe == 0 && i < 3000 && !shared->over; i++)
        usleep(1000);
    if (pe == 1) {
        close(stream->fd);
        stream->fd = -1;
        start(stream);
        for (int i = 0; i < 50 && sy_tcp_attempt_progress(net, sy_tcp_contact(net, 0, 0)) !=
                                      TCP_ATTEMPT_ANSWERED;
             i++)
            poll_once(10);
        require(sy_tcp_attempt_progress(net, sy_tcp_contact(net, 0, 0)) == TCP_ATTEMPT_ANSWERED);
        require(sy_tcp_attempts_deadline(net) < UINT64_MAX);
        sy_tcp_connect_cancel(net, stream, 0, 0);
        shared->over = true;
    }
}

START_TEST(not_probed)
{
    run(2, heard_no_more);
}
END_TEST

/* One after the other, while the other one does nothing. */
static void await_step(int step)
{
    for (uint64_t end = sy_tcp_now() + HANG; atomic_load(&shared->step) < step; usleep(1000))
        require(sy_tcp_now() < end);
}

/* The peer is stopped when it has answered the HELLO: the attempt is silent at CONFIRM too. */
static void stopped_amid(int pe)
{
    struct tcp_stream *stream = find(NULL, 1 - pe, 0);
    struct tcp_contact *contact = sy_tcp_contact(net, (uint32_t)(1 - pe), 0);

    if (pe == 0) {
        shared->step = 1;
        await_step(2);
        poll_until(contact->incoming && contact->incoming->transcript.count >= 2);
        shared->step = 3;
        await_step(4);
    } else {
        await_step(1);
        start(stream);
        poll_until(sy_tcp_attempt_progress(net, contact) == TCP_ATTEMPT_ANSWERED);
        shared->step = 2;
        await_step(3);
        poll_until(sy_tcp_attempt_is_silent(net, 0, 0));
        require(sy_tcp_attempt_progress(net, contact) == TCP_ATTEMPT_CONFIRMED);
        shared->step = 4;
    }
    poll_until_adopted(stream);
    require(!sy_tcp_attempt_is_silent(net, 1 - pe, 0));
}

START_TEST(silent_at_any_step)
{
    run(2, stopped_amid);
}
END_TEST

/* How long a connection may be silent follows from the PEs that share a processor, not from those
 * of the job. */
START_TEST(silence)
{
    static const struct {
        int npes, load;
        unsigned milliseconds;
        int probed;
    } expected[] = {{2, 1, 7500, 1},
                    {4096, 1, 7500, 1},
                    {4096, 63, 7500, 1},
                    {512, 64, 15000, 0},
                    {64, 256, 60000, 0}};
    struct tcp_settings before = settings;
    struct tcp_net tuned = {.host = &host, .settings = &settings};

    settings.reconnect_timeout = 100;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0), probed = -1;
        unsigned timeout = 0;
        socklen_t length = sizeof timeout;
        host.npes = expected[i].npes;
        host.load = expected[i].load;
        host.crowded = host.load > 1;
        sy_tcp_pending_tune(&tuned, fd);
        ck_assert(!getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &length));
        ck_assert_uint_eq(timeout, expected[i].milliseconds);
        length = sizeof probed;
        ck_assert(!getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &probed, &length));
        ck_assert_int_eq(probed, expected[i].probed);
        close(fd);
    }
    settings = before;
    host.load = 1;
    host.crowded = false;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp silence");
    TCase *cases = tcase_create("tcp silence");

    if (pes_probe())
        return 77;
    tcase_add_test(cases, not_probed);
    tcase_add_test(cases, silent_at_any_step);
    tcase_add_test(cases, silence);
    tcase_set_timeout(cases, 120);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}

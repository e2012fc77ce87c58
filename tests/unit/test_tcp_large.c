/* Large transfers over several streams: which ones carry parts, and at which streams a fence looks.
 * No stream has a connection; some say that they are up. */
#include <check.h>
#include <stdlib.h>

#include "engine/issue.h"
#include "suite.h"
#include "tests/host.h"
#include "transports/tcp/peer/large.h"
#include "transports/tcp/tcp.h"

enum { NPES = 3, FURTHER = 2, EACH = 1 + FURTHER, BYTES = 1 << 20, BUFFER = 256 << 10 };

static struct tcp *tcp;
static struct tcp_peer *peer[NPES][EACH];
static struct sy_engine_ctx ctx;
static char data[BYTES];

static const struct sy_host host = {.size = sizeof host,
                                    .npes = NPES,
                                    .fail = host_fail,
                                    .log = host_no_log,
                                    .rest = host_no_rest,
                                    .soon = host_no_soon};

static void *zeros(size_t alignment, size_t size)
{
    void *made = aligned_alloc(alignment, size);

    ck_assert_ptr_nonnull(made);
    return memset(made, 0, size);
}

/* Streams to PEs 1 and 2, all of them up. */
static void begin(void)
{
    struct sy_error err;

    tcp = zeros(_Alignof(struct tcp), sizeof *tcp);
    tcp->host = &host;
    tcp->settings = (struct tcp_settings){.streams = FURTHER, .stripe = BYTES, .buffer = BUFFER};
    tcp->streams = (struct tcp_streams){.user = &sy_tcp_stream_events, .host = &host};
    ctx = (struct sy_engine_ctx){0};
    ck_assert_int_eq(
        sy_engine_open(&tcp->engine, &host, &sy_tcp_requests_ops, NPES * EACH, BUFFER, 50, &err),
        0);
    for (int pe = 1; pe < NPES; pe++)
        for (unsigned k = 0; k < EACH; k++) {
            struct tcp_peer *made = zeros(_Alignof(struct tcp_peer), sizeof *made);
            made->tcp = tcp;
            ck_assert_int_eq(sy_tcp_stream_init(&made->stream, &tcp->streams, pe, k,
                                                &made->requests.tx, &made->replies, BUFFER),
                             0);
            atomic_store(&made->stream.state, TCP_STREAM_UP);
            sy_engine_add(&tcp->engine, &made->requests, pe);
            peer[pe][k] = made;
            if (k)
                peer[pe][0]->stripe[k - 1] = made;
            else
                atomic_store(&tcp->engine.routes[pe].peer, &made->requests);
        }
}

/* Puts BYTES to a PE without waiting for it. */
static void put(int pe)
{
    struct sy_transfer transfer = {.pe = pe, .local = data, .length = BYTES};

    ck_assert_int_eq(sy_tcp_put_large(&tcp->engine, &ctx, &transfer, 0), 0);
}

static uint64_t tail(int pe, unsigned number)
{
    return sy_tx_tail(&peer[pe][number]->requests.tx);
}

START_TEST(over_the_streams_that_are_up)
{
    begin();
    put(1);
    ck_assert_uint_eq(tail(1, 0), 0);
    ck_assert_uint_ge(tail(1, 1), BYTES / 2);
    ck_assert_uint_ge(tail(1, 2), BYTES / 2);
    uint64_t before = tail(1, 1);
    atomic_store(&peer[1][1]->stream.state, TCP_STREAM_DOWN);
    put(1);
    ck_assert_uint_eq(tail(1, 1), before);
    ck_assert_uint_ge(tail(1, 2), BYTES / 2 + BYTES);
    atomic_store(&peer[1][2]->stream.state, TCP_STREAM_DOWN);
    put(1);
    ck_assert_uint_ge(tail(1, 0), BYTES);
}
END_TEST

/* A fence appends an AWAIT for each of the streams that have carried parts, and only once. */
START_TEST(fence_orders)
{
    begin();
    put(1);
    put(2);
    atomic_store(&peer[2][1]->stream.state, TCP_STREAM_DOWN);
    put(2);
    sy_tcp_large_fence(&tcp->engine);
    ck_assert_uint_eq(tail(1, 0), 16 * FURTHER);
    ck_assert_uint_eq(tail(2, 0), 16 * FURTHER);
    put(2);
    sy_tcp_large_fence(&tcp->engine);
    ck_assert_uint_eq(tail(1, 0), 16 * FURTHER);
    ck_assert_uint_eq(tail(2, 0), 16 * FURTHER + 16);
}
END_TEST

/* A fence that has nothing to order goes to no stream: another thread, which is the producer of
 * all, does not hold it up. */
START_TEST(fence_without_parts_looks_at_no_stream)
{
    begin();
    put(1);
    sy_tcp_large_fence(&tcp->engine);
    for (int pe = 1; pe < NPES; pe++) {
        atomic_store(&peer[pe][0]->requests.producer.locked, true);
        atomic_store(&peer[pe][0]->requests.producer.append, true);
    }
    sy_tcp_large_fence(&tcp->engine);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp large");
    TCase *cases = tcase_create("large");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, over_the_streams_that_are_up);
    tcase_add_test(cases, fence_orders);
    tcase_add_test(cases, fence_without_parts_looks_at_no_stream);
    suite_add_tcase(suite, cases);
    return suite_run(suite);
}

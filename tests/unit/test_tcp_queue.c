/* A channel's bytes until the other side has applied them (transports/tcp/stream/queue.h): room,
 * what is taken for sending, and what is begun anew on another connection. */
#include <check.h>
#include <string.h>

#include "suite.h"
#include "transports/tcp/stream/queue.h"

enum { SIZE = 1 << 16, WINDOW = 4096 };

static struct sy_tx tx;
static struct tcp_queue queue;
static char taken[2 * SIZE];

static void begin(void)
{
    memset(&tx, 0, sizeof tx);
    ck_assert_int_eq(sy_tcp_queue_open(&queue, &tx, SIZE, SIZE), 0);
    ck_assert_uint_eq(queue.ring.size, SIZE);
}

static void end(void)
{
    sy_tcp_queue_close(&queue);
}

/* Appends bytes of the value `byte`. */
static bool append(size_t length, int byte)
{
    char *room = sy_tcp_queue_reserve(&queue, length);

    if (!room)
        return false;
    memset(room, byte, length);
    sy_tx_commit(&tx, length);
    return true;
}

/* Takes all for sending: its length, and the bytes in `taken`. */
static size_t take(void)
{
    struct iovec part[8];
    size_t length = 0;
    int count;

    while (sy_tx_tail(&tx) > sy_tx_sent(&tx)) {
        ck_assert_uint_gt(sy_tcp_queue_take(&queue, part, 8, &count, sizeof taken), 0);
        for (int i = 0; i < count; length += part[i++].iov_len)
            memcpy(taken + length, part[i].iov_base, part[i].iov_len);
    }
    return length;
}

static void ck_bytes(size_t from, size_t length, int byte)
{
    size_t same = 0;

    while (same < length && taken[from + same] == byte)
        same++;
    ck_assert_uint_eq(same, length);
}

/* A queue that is empty now and then stays at the front of its ring. */
START_TEST(stays_in_front)
{
    begin();
    for (int i = 0; i < 1000; i++) {
        ck_assert(append(48, i & 127));
        ck_assert_int_le(tx.at - queue.ring.base, WINDOW + 48);
        ck_assert_uint_eq(take(), 48);
        ck_bytes(0, 48, i & 127);
        ck_assert(sy_tcp_queue_release(&queue, sy_tx_sent(&tx)));
    }
    end();
}
END_TEST

/* A ring that has been full asks, takes nothing until it is empty, and then is the larger one. */
START_TEST(grows)
{
    memset(&tx, 0, sizeof tx);
    ck_assert_int_eq(sy_tcp_queue_open(&queue, &tx, SIZE, 2 * SIZE), 0);
    for (int i = 0; i < SIZE / 4096; i++)
        ck_assert(append(4096, i));
    ck_assert(!append(16, 1));
    ck_assert_uint_eq(tx.ask, SIZE);
    ck_assert_uint_eq(take(), SIZE);
    for (int i = 0; i < SIZE / 4096; i++)
        ck_bytes((size_t)i * 4096, 4096, i);
    ck_assert(sy_tcp_queue_release(&queue, SIZE - 4096));
    ck_assert(!append(16, 1));
    ck_assert(sy_tcp_queue_release(&queue, SIZE));
    for (int i = 0; i < 2 * SIZE / 4096; i++)
        ck_assert(append(4096, i));
    ck_assert(!append(16, 1));
    ck_assert_uint_eq(queue.ring.size, 2 * SIZE);
    ck_assert_uint_eq(tx.ask, SIZE); /* it is as large as it may be */
    ck_assert_uint_eq(take(), 2 * SIZE);
    for (int i = 0; i < 2 * SIZE / 4096; i++)
        ck_bytes((size_t)i * 4096, 4096, i);
    end();
}
END_TEST

/* As much as the ring holds, and again as soon as some of it has been applied; across its end too.
 */
START_TEST(holds_all)
{
    begin();
    for (int i = 0; i < SIZE / 1000; i++)
        ck_assert(append(1000, 1));
    ck_assert(!append(1000, 2));
    ck_assert(append(SIZE % 1000, 1));
    ck_assert(!append(8, 2));
    ck_assert_uint_eq(take(), SIZE);
    ck_assert(sy_tcp_queue_release(&queue, 40000));
    ck_assert(append(40000, 2));
    ck_assert(!append(8, 3));
    ck_assert_uint_eq(take(), 40000);
    ck_bytes(0, 40000, 2);
    ck_assert(sy_tcp_queue_release(&queue, SIZE + 40000));
    ck_assert(append(SIZE, 4));
    ck_assert_uint_eq(take(), SIZE);
    ck_bytes(0, SIZE, 4);
    end();
}
END_TEST

/* Segments, the first of them with nothing before it, are padded and lie where they were entered.
 */
START_TEST(has_segments)
{
    static char data[100];

    begin();
    memset(data, 5, sizeof data);
    ck_assert(sy_tcp_queue_has_segment(&queue));
    ck_assert_uint_eq(sy_tcp_queue_commit_segment(&queue, 0, data, 99, NULL), 104);
    memset(sy_tcp_queue_reserve(&queue, 16), 6, 16);
    ck_assert_uint_eq(sy_tcp_queue_commit_segment(&queue, 16, data, 8, NULL), 128);
    ck_assert(append(24, 7));
    ck_assert_uint_eq(take(), 152);
    ck_bytes(0, 99, 5);
    ck_bytes(99, 5, 0);
    ck_bytes(104, 16, 6);
    ck_bytes(120, 8, 5);
    ck_bytes(128, 24, 7);
    ck_assert(!sy_tcp_queue_release(&queue, 50)); /* no record ends inside a segment */
    ck_assert(sy_tcp_queue_release(&queue, 104));
    ck_assert(!sy_tcp_queue_resume(&queue, 96));
    ck_assert(sy_tcp_queue_resume(&queue, 128));
    ck_assert_uint_eq(take(), 24);
    ck_bytes(0, 24, 7);
    end();
}
END_TEST

/* A segment lets go of data that the kernel has; a new connection needs those that have not been
 * applied. */
START_TEST(lets_go)
{
    static char data[64], *copy;

    begin();
    memset(data, 5, sizeof data);
    for (uint64_t i = 0; i < 3; i++) {
        ck_assert(sy_tcp_queue_has_segment(&queue));
        sy_tcp_queue_commit_segment(&queue, 0, data, sizeof data, NULL);
        ck_assert_uint_eq(take(), sizeof data);
        copy = i == 2 ? sy_tcp_queue_copy(&queue, sizeof data) : NULL;
        if (copy)
            memset(copy, 6, sizeof data);
        sy_tcp_queue_let_go(&queue, copy, 7 + i);
    }
    ck_assert(sy_tcp_queue_resume(&queue, sizeof data));
    struct tcp_segment *lacking = sy_tcp_queue_lacking(&queue);
    ck_assert_uint_eq(lacking->source, 8);
    ck_assert_uint_eq(lacking->length, sizeof data);
    lacking->data = data;
    ck_assert_ptr_null(sy_tcp_queue_lacking(&queue));
    ck_assert_uint_eq(take(), 2 * sizeof data);
    ck_bytes(0, sizeof data, 5);
    ck_bytes(sizeof data, sizeof data, 6);
    ck_assert(sy_tcp_queue_release(&queue, 3 * sizeof data)); /* frees the copy */
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tcp_queue");
    TCase *calls = tcase_create("queue");

    tcase_add_test(calls, stays_in_front);
    tcase_add_test(calls, grows);
    tcase_add_test(calls, holds_all);
    tcase_add_test(calls, has_segments);
    tcase_add_test(calls, lets_go);
    suite_add_tcase(suite, calls);
    return suite_run(suite);
}

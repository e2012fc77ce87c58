/* The message engine's calls (shmem/engine/engine.h) over a transport of one buffer, which applies
 * what is sent to it when it polls: what is issued, when it leaves, and when it is complete. */
#include <check.h>
#include <errno.h>

#include "engine/apply.h"
#include "engine/issue.h"
#include "suite.h"
#include "tests/host.h"

enum {
    ME = 0,
    PEER = 1,
    UNKNOWN = 2,
    NPES = 3,
    MEMORY = 1 << 18,
    BUFFER = 9008,
    REPLIES = 1 << 16
};

static _Alignas(64) char memory[MEMORY], buffer[BUFFER], replies[REPLIES];
static struct sy_regions regions;
static struct sy_engine engine;
static struct sy_engine_peer peer;
static struct sy_engine_ctx ctx;
static struct sy_transport_ctx *const context = (struct sy_transport_ctx *)&ctx;
static unsigned records, sends, rooms, rests; /* applied; calls */
static bool deaf;                             /* polls apply nothing */
static char *applied_at;                      /* in the buffer */

/* ---- the host and the transport ---- */

static struct sy_place place(int pe)
{
    return (struct sy_place){.node = pe, .host = "test"};
}

static int window(unsigned index, struct sy_region *w)
{
    *w = (struct sy_region){.base = memory, .length = MEMORY, .fd = -1};
    return index ? -ENOENT : 0;
}

static void *address(int pe, unsigned index, uint64_t offset, size_t length)
{
    return pe == ME && !index && offset + length <= MEMORY ? memory + offset : NULL;
}

static void amo(enum sy_amo_op op, void *at, size_t width, uint64_t operand, uint64_t compare,
                uint64_t *result)
{
    uint64_t *word = at, old = *word;

    ck_assert_uint_eq(width, 8);
    if (op == SY_AMO_ADD)
        *word += operand;
    else if (op != SY_AMO_CSWAP || old == compare)
        *word = operand;
    if (result)
        *result = old;
}

static void rest(uint64_t *since)
{
    (void)since;
    ck_assert_uint_lt(++rests, 1000);
}

static const struct sy_host host = {.size = sizeof host,
                                    .pe = ME,
                                    .npes = NPES,
                                    .place = place,
                                    .window = window,
                                    .memory = address,
                                    .amo = amo,
                                    .fail = host_fail,
                                    .rest = rest,
                                    .soon = host_no_soon};

static struct sy_engine_peer *route(struct sy_engine *e, int pe, unsigned *target)
{
    (void)target;
    ck_assert_ptr_eq(e, &engine);
    return pe == UNKNOWN ? NULL : &peer;
}

/* The buffer is used anew when all has been applied. */
static bool room(struct sy_engine_peer *p, size_t bytes)
{
    rooms++;
    if (sy_tx_applied(&p->tx) == sy_tx_tail(&p->tx))
        p->tx.at = applied_at = buffer;
    p->tx.end = buffer + BUFFER;
    return sy_tx_fits(&p->tx, bytes);
}

static void send_all(struct sy_engine_peer *p)
{
    sends++;
    atomic_store(&p->tx.sent, sy_tx_tail(&p->tx));
}

static size_t apply_one(const char *at, size_t have, size_t *replied)
{
    const char *why = NULL;
    size_t size = sy_record_size(at, have, &why);

    ck_assert_ptr_null(why);
    ck_assert_uint_gt(size, 0);
    ck_assert_uint_le(size, have);
    records++;
    if (sy_record_op(sy_record_word(at)) == SY_RECORD_RAISE) {
        ck_assert_int_ge(sy_apply_raise(&regions, sy_record_word(at), sy_record_word(at + 8)), 0);
        return size;
    }
    long length = sy_record_reply(at);
    ck_assert_int_ge(length, 0);
    why = sy_apply(&regions, at, at + sy_record_head(sy_record_word(at)), replies + *replied);
    ck_assert_ptr_null(why);
    *replied += sy_record_padded((size_t)length);
    return size;
}

static long poll_all(struct sy_engine *e, struct sy_engine_peer *expected)
{
    const struct sy_pending_reply *part;
    const char *why = NULL;
    static _Atomic uint64_t got;
    size_t replied = 0, left, size;

    (void)expected;
    sy_engine_send_gathered(e, false);
    if (deaf)
        return 0;
    left = sy_tx_sent(&peer.tx) - sy_tx_applied(&peer.tx);
    for (; left; left -= size, applied_at += size)
        size = apply_one(applied_at, left, &replied);
    ck_assert_uint_eq(sy_pending_take(&peer.pending, replies, replied, &got, &part, &why), replied);
    atomic_store(&peer.tx.applied, sy_tx_sent(&peer.tx));
    return replied > 0;
}

static const struct sy_engine_ops ops = {.route = route,
                                         .room = room,
                                         .send = send_all,
                                         .poll = poll_all,
                                         .longest_put = {1000, 2000},
                                         .longest_get = 3000};

static void begin(void)
{
    struct sy_error err;

    memset(&peer, 0, sizeof peer);
    memset(&ctx, 0, sizeof ctx);
    memset(memory, 0, sizeof memory);
    records = sends = rooms = rests = 0;
    deaf = false;
    applied_at = buffer;
    ck_assert_int_eq(sy_regions_open(&regions, &host, false, &err), 0);
    for (unsigned i = 0; i < SY_RECORD_REGIONS; i++)
        sy_regions_attach(&regions, i);
    sy_regions_ensure(&regions);
    ck_assert_int_eq(sy_engine_open(&engine, &host, &ops, 1, BUFFER, 50, &err), 0);
    peer.pending.table = calloc(SY_PENDING_MOST, sizeof *peer.pending.table);
    peer.pending.room = REPLIES / 2;
    sy_engine_add(&engine, &peer, PEER);
}

static void end(void)
{
    free(peer.pending.table);
    free(ctx.mark);
    sy_engine_close(&engine);
    sy_regions_close(&regions);
}

/* ---- calls ---- */

static int put(uint64_t offset, const void *from, size_t length)
{
    const struct sy_transfer t = {
        .pe = PEER, .offset = offset, .local = (void *)from, .length = length};

    return sy_engine_put(&engine, context, &t, SY_BLOCKING);
}

static int get(uint64_t offset, void *to, size_t length, unsigned flags)
{
    const struct sy_transfer t = {.pe = PEER, .offset = offset, .local = to, .length = length};

    return sy_engine_get(&engine, context, &t, flags);
}

static int put_word(uint64_t offset, uint64_t value)
{
    return put(offset, &value, sizeof value);
}

static uint64_t word(uint64_t offset)
{
    uint64_t value;

    memcpy(&value, memory + offset, sizeof value);
    return value;
}

/* How often it has to poll. */
static int quiet(int pe)
{
    int turns = 0;

    while (sy_engine_quiet(&engine, context, pe) == -EAGAIN) {
        ck_assert_int_lt(turns++, 10);
        poll_all(&engine, NULL);
    }
    return turns;
}

static void fill(char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (char)(i * 7 + i / 251);
}

START_TEST(completes)
{
    begin();
    ck_assert_int_eq(quiet(SY_ALL_PES), 0);
    ck_assert_int_eq(put_word(8, 5), 0);
    ck_assert_uint_eq(word(8), 0);
    ck_assert_int_eq(quiet(UNKNOWN), 0);
    ck_assert_int_eq(quiet(SY_ALL_PES), 1);
    ck_assert_uint_eq(word(8), 5);
    ck_assert_uint_eq(peer.tx.ask, 16);
    ck_assert_int_eq(quiet(SY_ALL_PES), 0);
    ck_assert_int_eq(put(24, "abc", 4), 0);
    ck_assert_int_eq(put(28, "0123456789", 10), 0);
    ck_assert_int_eq(quiet(PEER), 1);
    ck_assert_str_eq(memory + 24, "abc");
    ck_assert_mem_eq(memory + 28, "0123456789", 10);
    const struct sy_transfer nobody = {.pe = UNKNOWN, .local = memory, .length = 8};
    ck_assert_int_eq(sy_engine_put(&engine, context, &nobody, 0), -EAGAIN);
    end();
}
END_TEST

/* The first of a batch is gathered, and those that continue it are one record; when that is full
 * there is enough to be sent, and it begins anew. */
START_TEST(combines)
{
    begin();
    sy_engine_session(&engine, context, true, 1000);
    for (uint64_t i = 0; i < 600; i++)
        ck_assert_int_eq(put_word(64 + 8 * i, i + 1), 0);
    ck_assert(sy_combine_is_open(&peer));
    ck_assert_int_eq(quiet(SY_ALL_PES), 1);
    ck_assert(!sy_combine_is_open(&peer));
    ck_assert_uint_eq(records, 4);
    for (uint64_t i = 0; i < 600; i++)
        ck_assert_uint_eq(word(64 + 8 * i), i + 1);
    uint64_t tail = sy_tx_tail(&peer.tx);
    for (uint64_t i = 0; i < 10; i++) /* the same place again and again continues nothing */
        ck_assert_int_eq(put_word(64, i), 0);
    ck_assert_uint_eq(sy_tx_tail(&peer.tx), tail + 160);
    quiet(SY_ALL_PES);
    end();
}
END_TEST

/* A thread that sends what another one has joined. */
START_TEST(combined_by_others)
{
    begin();
    sy_engine_session(&engine, context, true, 100);
    for (uint64_t i = 0; i < 3; i++)
        put_word(8 * i, i + 1);
    ck_assert(sy_combine_is_open(&peer));
    atomic_store(&peer.producer.thread, (pthread_t)0);
    ck_assert(sy_producer_stop(&peer.producer));
    ck_assert(!sy_producer_stop(&peer.producer));
    sy_combine_flush(&peer); /* it is not this thread's, and somebody keeps everybody out */
    ck_assert(sy_combine_is_open(&peer));
    sy_producer_go(&peer.producer);
    poll_all(&engine, NULL);
    ck_assert(!sy_combine_is_open(&peer));
    ck_assert_uint_eq(word(16), 3);
    end();
}
END_TEST

/* A call that finds no room has done nothing, and the next one goes on. */
START_TEST(room_ends)
{
    unsigned puts = 0;

    begin();
    deaf = true;
    while (!put_word(16 * (puts % 1000), puts))
        puts++;
    ck_assert_uint_eq(puts, BUFFER / 16);
    ck_assert_uint_eq(sy_tx_tail(&peer.tx), 16 * puts);
    ck_assert_int_eq(put(0, memory, 10), -EAGAIN);
    ck_assert_int_eq(sy_engine_raise(&engine, context, PEER, 0, 0, 1), -EAGAIN);
    uint64_t to;
    ck_assert_int_eq(get(0, &to, 8, 0), -EAGAIN);
    ck_assert_uint_eq(sy_pending_count(&peer.pending), 0);
    deaf = false;
    quiet(SY_ALL_PES);
    ck_assert_uint_eq(records, puts);
    ck_assert_int_eq(put_word(8, 9), 0);
    quiet(SY_ALL_PES);
    ck_assert_uint_eq(word(8), 9);
    ck_assert_uint_eq(rooms, 6);
    end();
}
END_TEST

START_TEST(answers)
{
    uint64_t to = 0, old = 0;
    struct sy_amo a = {.pe = PEER, .offset = 8, .op = SY_AMO_ADD, .width = 8, .operand = 3};

    begin();
    memory[0] = 77;
    ck_assert_int_eq(get(0, &to, 8, SY_BLOCKING), 0);
    ck_assert_uint_eq(to, 77);
    ck_assert_int_eq(sy_engine_amo(&engine, context, &a, 0), 0);
    a.result = &old;
    ck_assert_int_eq(sy_engine_amo(&engine, context, &a, SY_BLOCKING), 0);
    ck_assert_uint_eq(old, 3);
    a.op = SY_AMO_CSWAP;
    a.operand = 10;
    a.compare = 6;
    ck_assert_int_eq(sy_engine_amo(&engine, context, &a, 0), 0);
    ck_assert_int_eq(get(8, &to, 8, 0), 0);
    ck_assert_uint_eq(sy_pending_count(&peer.pending), 2);
    quiet(SY_ALL_PES);
    ck_assert_uint_eq(old, 6);
    ck_assert_uint_eq(to, 10);
    ck_assert_int_eq(sy_engine_raise(&engine, context, PEER, 0, 8, 9), 0);
    ck_assert_int_eq(sy_engine_raise(&engine, context, PEER, 0, 16, 4), 0);
    quiet(SY_ALL_PES);
    ck_assert_uint_eq(word(8), 10);
    ck_assert_uint_eq(word(16), 4);
    end();
}
END_TEST

/* Longer than a record, and than the buffer. */
START_TEST(parts)
{
    static char bytes[20011], back[20011];

    begin();
    fill(bytes, sizeof bytes);
    ck_assert_int_eq(put(5, bytes, sizeof bytes), 0);
    ck_assert_int_eq(get(5, back, sizeof back, SY_BLOCKING), 0);
    ck_assert_mem_eq(back, bytes, sizeof back);
    ck_assert_mem_eq(memory + 5, bytes, sizeof bytes);
    ck_assert_uint_eq(records, 11 + 7);
    deaf = true;
    while (!put_word(0, 1))
        ;
    uint64_t tail = sy_tx_tail(&peer.tx);
    ck_assert_int_eq(put(5, bytes, sizeof bytes), -EAGAIN);
    ck_assert_uint_eq(sy_tx_tail(&peer.tx), tail);
    deaf = false;
    quiet(SY_ALL_PES);
    end();
}
END_TEST

START_TEST(strided)
{
    static uint64_t from[6000], back[2000];
    struct sy_strided s = {.first = {.pe = PEER, .offset = 32, .local = from},
                           .block = 8,
                           .blocks = 1000,
                           .remote_stride = 16,
                           .local_stride = 24};

    begin();
    for (uint64_t i = 0; i < 6000; i++)
        from[i] = i;
    ck_assert_int_eq(sy_engine_put_strided(&engine, context, &s, 0), 0);
    s.first.local = back;
    s.local_stride = 8;
    ck_assert_int_eq(sy_engine_get_strided(&engine, context, &s, SY_BLOCKING), 0);
    for (uint64_t i = 0; i < 1000; i++) {
        ck_assert_uint_eq(back[i], 3 * i);
        ck_assert_uint_eq(word(32 + 16 * i), 3 * i);
    }
    s.block = SY_RECORD_PACKED + 1;
    ck_assert_int_eq(sy_engine_put_strided(&engine, context, &s, 0), -EOPNOTSUPP);
    end();
}
END_TEST

START_TEST(signals)
{
    static char bytes[5000];
    struct sy_transfer t = {.pe = PEER, .offset = 64, .local = bytes, .length = 100};
    struct sy_amo signal = {.pe = PEER, .op = SY_AMO_ADD, .width = 8, .operand = 1};

    begin();
    fill(bytes, sizeof bytes);
    ck_assert_int_eq(sy_engine_put_signal(&engine, context, &t, &signal, 0), 0);
    ck_assert_uint_eq(sends, 1);
    t.length = sizeof bytes;
    ck_assert_int_eq(sy_engine_put_signal(&engine, context, &t, &signal, 0), 0);
    quiet(SY_ALL_PES);
    ck_assert_mem_eq(memory + 64, bytes, sizeof bytes);
    ck_assert_uint_eq(word(0), 2);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *calls = tcase_create("calls");

    tcase_add_test(calls, completes);
    tcase_add_test(calls, combines);
    tcase_add_test(calls, combined_by_others);
    tcase_add_test(calls, room_ends);
    tcase_add_test(calls, answers);
    tcase_add_test(calls, parts);
    tcase_add_test(calls, strided);
    tcase_add_test(calls, signals);
    suite_add_tcase(suite, calls);
    return suite_run(suite);
}

/* When requests leave (shmem/engine/flush.c): sequences of events with their times, as programs
 * produce them, and the decisions. */
#include <check.h>

#include "engine/flush.h"
#include "suite.h"

enum { DELAY = 50000, RECORD = 16, LARGE_RECORD = 8000, MOST = 1 << 20 };

/* A step of a sequence: `after` nanoseconds behind the one before. */
struct step {
    enum { PUT, LARGE, BATCHED, QUIET, SEND, TIMER } event;
    unsigned after;
    enum sy_flush_when when; /* of PUT, LARGE and BATCHED */
};

/* The transport's part beside the policy: the time, and the stream's position. */
struct peer {
    struct sy_flush flush;
    struct sy_flush_row row;
    uint64_t now, tail, sent;
    bool crowded;
};

static void leave(struct peer *peer)
{
    peer->sent = peer->tail;
    sy_flush_sent(&peer->flush, peer->now);
}

static enum sy_flush_when put_in_row(struct peer *peer, struct sy_flush_row *row, bool batch,
                                     unsigned bytes)
{
    peer->tail += bytes;
    enum sy_flush_when when =
        sy_flush_appended(&peer->flush, peer->tail - peer->sent, bytes, false);
    if (when == SY_FLUSH_FIRST)
        when = sy_flush_first(&peer->flush, row, peer->now, peer->tail - bytes, peer->tail, batch);
    if (when == SY_FLUSH_ALONE || when == SY_FLUSH_ALONE_ACK) {
        leave(peer);
        sy_flush_left(&peer->flush, row);
    } else if (when == SY_FLUSH_FULL) {
        sy_flush_filled(&peer->flush);
        leave(peer);
    }
    return when;
}

/* Gathered requests are sent by the program (SEND, QUIET), or by the progress thread (TIMER). */
static void step(struct peer *peer, const struct step *s)
{
    peer->now += s->after;
    switch (s->event) {
    case PUT:
    case LARGE:
    case BATCHED:
        ck_assert_int_eq(put_in_row(peer, &peer->row, s->event == BATCHED,
                                    s->event == LARGE ? LARGE_RECORD : RECORD),
                         s->when);
        return;
    case QUIET:
        if (peer->sent < peer->tail)
            leave(peer);
        sy_flush_quiet(&peer->flush);
        return;
    case SEND:
        leave(peer);
        return;
    default:
        ck_assert(sy_flush_is_due(&peer->flush, peer->now, DELAY));
        uint64_t bytes = peer->tail - peer->sent;
        leave(peer);
        sy_flush_taken(&peer->flush, bytes, DELAY, peer->crowded);
    }
}

static void play(struct peer *peer, int times, const struct step *steps, size_t count)
{
    for (int i = 0; i < times; i++)
        for (size_t j = 0; j < count; j++)
            step(peer, &steps[j]);
}
#define PLAY(peer, times, ...)                                                                     \
    do {                                                                                           \
        const struct step steps[] = {__VA_ARGS__};                                                 \
        play(peer, times, steps, sizeof steps / sizeof steps[0]);                                  \
    } while (0)

static struct peer begin(void)
{
    struct peer peer = {.now = 1000000000};

    sy_flush_start(&peer.flush, MOST);
    return peer;
}

/* Operations far apart leave one by one. */
START_TEST(test_seldom)
{
    struct peer peer = begin();

    PLAY(&peer, 100, {PUT, 10000000, SY_FLUSH_ALONE});
    ck_assert(sy_flush_has_rested(&peer.flush, peer.now + 200000));
    ck_assert(!sy_flush_has_rested(&peer.flush, peer.now + 20000));
}
END_TEST

/* Put and quiet alternate: from the third pair on the put asks for the acknowledgement. When the
 * quiets cease, so does this. */
START_TEST(test_put_quiet)
{
    struct peer peer = begin();

    PLAY(&peer, 2, {PUT, 50000, SY_FLUSH_ALONE}, {QUIET, 100, 0});
    PLAY(&peer, 50, {PUT, 50000, SY_FLUSH_ALONE_ACK}, {QUIET, 100, 0});
    PLAY(&peer, 1, {PUT, 50000, SY_FLUSH_ALONE_ACK}, {PUT, 50000, SY_FLUSH_ALONE_ACK});
    PLAY(&peer, 50, {PUT, 50000, SY_FLUSH_ALONE});
}
END_TEST

/* A sequence: its first put leaves at once, those that follow within the time of a send are
 * gathered. */
START_TEST(test_sequence)
{
    struct peer peer = begin();

    PLAY(&peer, 1, {PUT, 50000, SY_FLUSH_ALONE}, {PUT, 100, SY_FLUSH_SOON},
         {PUT, 100, SY_FLUSH_GATHER}, {PUT, 100, SY_FLUSH_GATHER}, {QUIET, 100, 0});
}
END_TEST

/* Where sequences are the habit the first put waits for its successors, too. A put that stays alone
 * ends the habit. */
START_TEST(test_bursts)
{
    struct peer peer = begin();

    PLAY(&peer, 3, {PUT, 50000, SY_FLUSH_ALONE}, {PUT, 100, SY_FLUSH_SOON},
         {PUT, 100, SY_FLUSH_GATHER}, {SEND, 100, 0});
    PLAY(&peer, 1, {PUT, 50000, SY_FLUSH_LATE}, {PUT, 100, SY_FLUSH_GATHER}, {SEND, 100, 0});
    PLAY(&peer, 1, {PUT, 50000, SY_FLUSH_LATE}, {SEND, 100, 0});
    PLAY(&peer, 1, {PUT, 50000, SY_FLUSH_ALONE});
}
END_TEST

/* Puts to several peers in turn by one context. */
enum { PEERS = 16, SENDING = 7000 };
static struct peer turned[PEERS];

static void begin_turned(void)
{
    for (int i = 0; i < PEERS; i++)
        turned[i] = begin();
}

/* One put to each of `count` peers. Returns how many left alone; each takes SENDING. */
static int turn(struct sy_flush_row *row, uint64_t *now, int count)
{
    int alone = 0;

    for (int i = 0; i < count; i++) {
        struct peer *peer = &turned[i];
        peer->now = *now += 100;
        if (put_in_row(peer, row, false, RECORD) != SY_FLUSH_ALONE)
            continue;
        alone++;
        peer->now = *now += SENDING;
        leave(peer);
        sy_flush_left(&peer->flush, row);
    }
    return alone;
}

/* Each peer is idle when its turn comes, as sending to the others has taken so long. All the same
 * the puts are one sequence, and gathered, also after the progress thread has sent for the program.
 */
START_TEST(test_row)
{
    struct sy_flush_row row = {0};
    uint64_t now = 1000000000;

    begin_turned();
    ck_assert_int_eq(turn(&row, &now, PEERS), 8);
    for (int round = 0; round < 1000; round++) {
        ck_assert_int_eq(turn(&row, &now, PEERS), 0);
        for (int i = 0; round % 50 == 49 && i < PEERS; i++) {
            turned[i].now = now;
            leave(&turned[i]);
            now += SENDING;
        }
    }
}
END_TEST

/* A program that puts to so many peers without a pause that one request a peer has been gathered
 * when the progress thread takes it: it does not leave them, it goes on. */
START_TEST(test_row_of_many)
{
    enum { AHEAD = 40, MANY = DELAY / 100 + AHEAD + 10 };
    static struct peer many[MANY];
    struct sy_flush_row row = {0};
    uint64_t now = 1000000000;

    for (int i = 0; i < MANY; i++)
        many[i] = begin();
    for (int i = 0; i < 200 * MANY; i++) {
        struct peer *peer = &many[i % MANY], *taken = &many[(i + AHEAD) % MANY];
        peer->now = taken->now = now += 100;
        if (taken->sent < taken->tail) {
            leave(taken);
            sy_flush_taken(&taken->flush, RECORD, DELAY, false);
        }
        enum sy_flush_when when = put_in_row(peer, &row, false, RECORD);
        ck_assert(i < 8 || when == SY_FLUSH_SOON || when == SY_FLUSH_LATE);
    }
}
END_TEST

/* Puts to a few neighbours, and then none for some time, are no row. Nor are single ones after a
 * row has ended. */
START_TEST(test_neighbours)
{
    struct sy_flush_row row = {0};
    uint64_t now = 1000000000;

    begin_turned();
    for (int round = 0; round < 100; round++, now += 100000)
        ck_assert_int_eq(turn(&row, &now, 6), 6);
    turn(&row, &now, PEERS);
    for (int round = 0; round < 2; round++, now += 100000) {
        for (int i = 0; i < PEERS; i++)
            leave(&turned[i]);
        now += 100000;
        turn(&row, &now, 1);
    }
    leave(&turned[0]);
    ck_assert_int_eq(turn(&row, &now, 6), 6);
}
END_TEST

/* Whether the program sends what it gathers: then the timer may be late, until it had to send once.
 */
START_TEST(test_kept)
{
    struct peer peer = begin();

    PLAY(&peer, 1, {PUT, 50000, SY_FLUSH_ALONE});
    PLAY(&peer, 3, {PUT, 100, SY_FLUSH_SOON}, {SEND, 100, 0});
    PLAY(&peer, 20, {PUT, 100, SY_FLUSH_LATE}, {SEND, 100, 0});
    PLAY(&peer, 1, {PUT, 100, SY_FLUSH_LATE}, {TIMER, 60000, 0});
    PLAY(&peer, 1, {PUT, 100, SY_FLUSH_SOON}, {SEND, 100, 0});
    PLAY(&peer, 3, {PUT, 100, SY_FLUSH_SOON}, {SEND, 100, 0});
    PLAY(&peer, 1, {PUT, 100, SY_FLUSH_LATE});
}
END_TEST

/* A producer that keeps writing has not stopped, though the progress thread sent for it. */
START_TEST(test_busy)
{
    struct peer peer = begin();

    PLAY(&peer, 1, {PUT, 50000, SY_FLUSH_ALONE});
    PLAY(&peer, 3, {PUT, 100, SY_FLUSH_SOON}, {SEND, 100, 0});
    PLAY(&peer, 1, {PUT, 100, SY_FLUSH_LATE});
    PLAY(&peer, 1000, {PUT, 10, SY_FLUSH_GATHER});
    PLAY(&peer, 1, {TIMER, 60000, 0}, {PUT, 100, SY_FLUSH_LATE});
}
END_TEST

/* A producer of large requests, whose rate is that of one which has stopped: the timer was late, and
 * in all that time little was added. */
START_TEST(test_stopped)
{
    struct peer peer = begin();

    PLAY(&peer, 1, {PUT, 50000, SY_FLUSH_ALONE});
    PLAY(&peer, 3, {PUT, 100, SY_FLUSH_SOON}, {SEND, 100, 0});
    PLAY(&peer, 1, {PUT, 100, SY_FLUSH_LATE});
    PLAY(&peer, 1000, {PUT, 10, SY_FLUSH_GATHER});
    PLAY(&peer, 1, {TIMER, 1000000, 0}, {PUT, 100, SY_FLUSH_SOON});
}
END_TEST

/* A message and its flag, and then the program looks at memory without a call. */
#define LEFT     {LARGE, 50000, SY_FLUSH_ALONE}, {PUT, 100, SY_FLUSH_SOON}, {TIMER, 60000, 0}
#define APART    {LARGE, 50000, SY_FLUSH_ALONE}, {PUT, 100, SY_FLUSH_ALONE}
#define TOGETHER {LARGE, 50000, SY_FLUSH_LATE}, {PUT, 100, SY_FLUSH_FULL}
#define TRIED    {LARGE, 50000, SY_FLUSH_SOON}, {PUT, 100, SY_FLUSH_GATHER}

/* The beginning of each: at first the flag waits for the progress thread, then it leaves at once. */
static struct peer leaving(void)
{
    struct peer peer = begin();

    PLAY(&peer, 3, LEFT);
    PLAY(&peer, 1, APART);
    return peer;
}

/* Then message and flag leave together, and a flag alone, too. One is gathered now and then to see
 * whether that is still so. */
START_TEST(test_leaves)
{
    struct peer peer = leaving();

    PLAY(&peer, 10, TOGETHER);
    PLAY(&peer, 20, {PUT, 50000, SY_FLUSH_ALONE});
    PLAY(&peer, 1, LEFT);
    PLAY(&peer, 32, TOGETHER);
    PLAY(&peer, 1, TRIED, {TIMER, 60000, 0});
    PLAY(&peer, 32, TOGETHER);
    PLAY(&peer, 1, TRIED, {SEND, 100, 0});
    PLAY(&peer, 1, TRIED, {SEND, 100, 0});
}
END_TEST

/* The flag does not come: the message leaves when the longer delay is over. Messages without flags
 * are no burst, and leave at once. */
START_TEST(test_leaves_lone)
{
    struct peer peer = leaving();

    PLAY(&peer, 1, {LARGE, 50000, SY_FLUSH_LATE}, {TIMER, 1000000, 0});
    PLAY(&peer, 20, {LARGE, 50000, SY_FLUSH_ALONE});
}
END_TEST

/* Where PEs outnumber processors they are gathered all the same. */
START_TEST(test_leaves_crowded)
{
    struct peer peer = begin();

    peer.crowded = true;
    PLAY(&peer, 3, LEFT);
    PLAY(&peer, 20, TRIED, {TIMER, 60000, 0});
}
END_TEST

/* A quiet ends the habit: the program does not leave what it waits for. */
START_TEST(test_leaves_quiet)
{
    struct peer peer = leaving();

    PLAY(&peer, 1, {QUIET, 100, 0});
    PLAY(&peer, 1, TRIED, {SEND, 100, 0});
}
END_TEST

/* So do many at once, of which but the first few leave. */
START_TEST(test_leaves_many)
{
    struct peer peer = leaving();

    PLAY(&peer, 2, {PUT, 100, SY_FLUSH_ALONE});
    PLAY(&peer, 1, {PUT, 100, SY_FLUSH_SOON});
    PLAY(&peer, 20, {PUT, 100, SY_FLUSH_GATHER});
    PLAY(&peer, 1, {TIMER, 60000, 0}, {PUT, 100, SY_FLUSH_SOON}, {SEND, 100, 0});
}
END_TEST

/* Messages and flags without a pause are gathered like everything else. */
START_TEST(test_leaves_flow)
{
    struct peer peer = leaving();

    PLAY(&peer, 1, TOGETHER);
    PLAY(&peer, 3, {LARGE, 100, SY_FLUSH_LATE}, {PUT, 100, SY_FLUSH_FULL});
    PLAY(&peer, 1, {LARGE, 100, SY_FLUSH_SOON});
    PLAY(&peer, 50, {PUT, 100, SY_FLUSH_GATHER}, {LARGE, 100, SY_FLUSH_GATHER});
}
END_TEST

/* A session gathers at once, and for longer; what happens in it does not change the habits outside.
 */
START_TEST(test_batch)
{
    struct peer peer = begin();

    PLAY(&peer, 10, {BATCHED, 50000, SY_FLUSH_LATE}, {BATCHED, 100, SY_FLUSH_GATHER}, {SEND, 1, 0});
    ck_assert_int_eq(peer.flush.kept, 0);
}
END_TEST

/* The size limit, and a PE that waits, override everything else. */
START_TEST(test_full)
{
    size_t limit = sy_flush_limit(1 << 16);
    struct sy_flush flush = {0};

    sy_flush_start(&flush, limit);
    ck_assert_uint_eq(limit, 1 << 14);
    ck_assert_uint_eq(sy_flush_limit(1 << 30), sy_flush_limit(1 << 29));
    ck_assert_int_eq(sy_flush_appended(&flush, limit, RECORD, false), SY_FLUSH_FULL);
    ck_assert_int_eq(sy_flush_appended(&flush, limit - 1, RECORD, false), SY_FLUSH_GATHER);
    ck_assert_int_eq(sy_flush_appended(&flush, limit, limit, true), SY_FLUSH_NOW);
    ck_assert_int_eq(sy_flush_appended(&flush, RECORD, RECORD, false), SY_FLUSH_FIRST);
    ck_assert_uint_gt(sy_flush_delay(50, true), sy_flush_delay(50, false));
    ck_assert_uint_eq(sy_flush_delay(50, false), 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("flush");
    TCase *all = tcase_create("all");

    tcase_add_test(all, test_seldom);
    tcase_add_test(all, test_put_quiet);
    tcase_add_test(all, test_sequence);
    tcase_add_test(all, test_bursts);
    tcase_add_test(all, test_row);
    tcase_add_test(all, test_row_of_many);
    tcase_add_test(all, test_neighbours);
    tcase_add_test(all, test_kept);
    tcase_add_test(all, test_busy);
    tcase_add_test(all, test_stopped);
    tcase_add_test(all, test_leaves);
    tcase_add_test(all, test_leaves_lone);
    tcase_add_test(all, test_leaves_crowded);
    tcase_add_test(all, test_leaves_quiet);
    tcase_add_test(all, test_leaves_many);
    tcase_add_test(all, test_leaves_flow);
    tcase_add_test(all, test_batch);
    tcase_add_test(all, test_full);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}

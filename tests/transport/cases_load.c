/* Cases of the suite: many operations, from many sides, at targets that make no call. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/transport/suite.h"

static uint64_t *words_here(unsigned window, uint64_t offset)
{
    return (uint64_t *)(suite.window[window].base + offset);
}

/* Many more operations than any queue holds, without a wait: a call that answers -EAGAIN has
 * started nothing, one that answers 0 takes effect once. */
void case_flood(void)
{
    enum { TIMES = 3000 };
    static uint64_t value[TIMES], old[64];

    for (int k = 0; k < TIMES; k++) {
        value[k] = (uint64_t)k + 1;
        for (int i = 0; i < suite.peers; i++) {
            uint64_t base = suite_area(SUITE_UNMAPPED, suite.pe);
            struct suite_place word = {suite.peer[i], SUITE_UNMAPPED,
                                       base + 64 + 8 * (uint64_t)(k % 1000)};
            suite_add(suite.ctx, (struct suite_place){suite.peer[i], SUITE_UNMAPPED, base}, 1);
            if (k < 1000)
                suite_put(suite.ctx, word, &value[k], 8, 0);
            else
                suite_amo(suite.ctx,
                          &(struct sy_amo){.pe = word.pe,
                                           .window = word.window,
                                           .offset = word.offset,
                                           .op = SY_AMO_ADD,
                                           .width = 8,
                                           .operand = 1,
                                           .result = &old[k % 64]},
                          0);
        }
        if (k == 999)
            suite_fence(suite.ctx);
    }
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    for (int i = 0; i < suite.peers; i++) {
        uint64_t *there = words_here(SUITE_UNMAPPED, suite_area(SUITE_UNMAPPED, suite.peer[i]));
        CHECK(there[0] == TIMES, "%llu of %d additions", (unsigned long long)there[0], TIMES);
        for (int k = 0; k < 1000; k++)
            CHECK(there[8 + k] == (uint64_t)k + 3, "word %d: put and two additions make %llu", k,
                  (unsigned long long)there[8 + k]);
    }
    suite_barrier();
}

/* All PEs access one target, which serves while it makes calls itself. */
void case_many_to_one(void)
{
    enum { TIMES = 100, BYTES = 9000 };
    static char data[BYTES];

    for (int target = 0; target < suite.npes; target++) {
        bool mine = false;
        for (int i = 0; i < suite.peers; i++)
            mine |= suite.peer[i] == target;
        for (int k = 0; mine && k < TIMES; k++) {
            size_t length = (size_t)(k * 89) % BYTES + 1;
            suite_fill(data, length, (uint64_t)k);
            suite_put(suite.ctx,
                      (struct suite_place){target, SUITE_HEAP,
                                           suite_area(SUITE_HEAP, suite.pe) + (uint64_t)k * BYTES},
                      data, length, SY_BLOCKING);
            suite_add(suite.ctx, (struct suite_place){target, SUITE_UNMAPPED, 0}, 1);
        }
        suite_quiet(suite.ctx, SY_ALL_PES);
        suite_barrier();
        if (suite.pe == target) {
            uint64_t sum = *words_here(SUITE_UNMAPPED, 0);
            CHECK(sum == (uint64_t)(TIMES * suite.peers), "%llu additions",
                  (unsigned long long)sum);
        }
        for (int i = 0; suite.pe == target && i < suite.peers; i++)
            for (int k = 0; k < TIMES; k++) {
                const char *there = suite.window[SUITE_HEAP].base +
                                    suite_area(SUITE_HEAP, suite.peer[i]) + k * BYTES;
                CHECK(suite_differs(there, (size_t)(k * 89) % BYTES + 1, (uint64_t)k) < 0,
                      "put %d of PE %d", k, suite.peer[i]);
            }
        suite_barrier();
    }
}

/* ---- random ---- */

enum { BLOCKS = 24, EPOCHS = 25 };

/* What this PE has put into its area of each peer: the seed of the bytes; 0: nothing yet. */
struct shadow {
    uint64_t seed[BLOCKS];
    size_t length[BLOCKS];
};

static size_t block_room(unsigned window)
{
    return suite_area_length(window) / BLOCKS & ~(size_t)7;
}

static struct suite_place block_place(int pe, unsigned window, int block, int writer)
{
    return (struct suite_place){pe, window,
                                suite_area(window, writer) + (uint64_t)block * block_room(window)};
}

static void random_put(struct shadow *shadow, unsigned window, int pe, int block, char *data)
{
    size_t most = block_room(window), length = suite_random() % (most < 70000 ? most : 70000) + 1;

    if (suite_random() % 2)
        length = length % 128 + 1;
    shadow->seed[block] = suite_random() | 1;
    shadow->length[block] = length;
    suite_fill(data, length, shadow->seed[block]);
    suite_put(suite.ctx, block_place(pe, window, block, suite.pe), data, length,
              suite_random() % 2 ? SY_BLOCKING : 0);
}

/* An epoch: each block of each peer is written at most once, in any order; then everything is
 * completed, and some blocks are read back. */
static void epoch(struct shadow *shadow, unsigned window, char **data, char *back)
{
    for (int k = 0; k < BLOCKS; k++) {
        int i = (int)(suite_random() % (uint64_t)suite.peers), block = (k * 7) % BLOCKS;
        random_put(&shadow[i], window, suite.peer[i], block, data[k]);
    }
    if (suite_random() % 2)
        for (int i = 0; i < suite.peers; i++)
            suite_quiet(suite.ctx, suite.peer[i]);
    else
        suite_quiet(suite.ctx, SY_ALL_PES);
    for (int k = 0; k < 8; k++) {
        int i = (int)(suite_random() % (uint64_t)suite.peers),
            block = (int)(suite_random() % BLOCKS);
        if (!shadow[i].seed[block])
            continue;
        bool blocking = suite_random() % 2;
        suite_get(suite.ctx, back, block_place(suite.peer[i], window, block, suite.pe),
                  shadow[i].length[block], blocking ? SY_BLOCKING : 0);
        if (!blocking)
            suite_quiet(suite.ctx, suite.peer[i]);
        CHECK(suite_differs(back, shadow[i].length[block], shadow[i].seed[block]) < 0,
              "random: block %d at PE %d", block, suite.peer[i]);
    }
}

/* The owner learns from the others what its memory must hold, a block at a time. */
static void check_owned(const struct shadow *shadow, unsigned window)
{
    for (int block = 0; block < BLOCKS; block++) {
        struct {
            uint64_t seed, length;
        } row[SUITE_PES] = {{0, 0}};
        for (int i = 0; i < suite.peers; i++) {
            row[suite.peer[i]].seed = shadow[i].seed[block];
            row[suite.peer[i]].length = shadow[i].length[block];
        }
        suite_exchange(row, sizeof row);
        for (int i = 0; i < suite.peers; i++) {
            int writer = suite.peer[i];
            struct suite_place at = block_place(suite.pe, window, block, writer);
            memcpy(row, suite.shared->blob[writer], sizeof row);
            CHECK(!row[suite.pe].seed ||
                      suite_differs(suite.window[window].base + at.offset, row[suite.pe].length,
                                    row[suite.pe].seed) < 0,
                  "random: block %d of PE %d is not as it was put (window %u)", block, writer,
                  window);
        }
    }
}

void case_random(void)
{
    enum { MOST = 70000 };
    static const unsigned windows[] = {SUITE_HEAP, SUITE_UNMAPPED};
    char *data[BLOCKS], *back = malloc(MOST);

    for (int k = 0; k < BLOCKS; k++)
        if (!(data[k] = malloc(MOST)) || !back)
            suite_give_up("no memory");
    for (unsigned w = 0; w < 2; w++) {
        struct shadow *shadow = calloc((size_t)suite.peers, sizeof *shadow);
        for (int e = 0; shadow && e < EPOCHS; e++)
            epoch(shadow, windows[w], data, back);
        suite_barrier();
        check_owned(shadow, windows[w]);
        free(shadow);
    }
    for (int k = 0; k < BLOCKS; k++)
        free(data[k]);
    free(back);
}

/* ---- passive targets ---- */

/* The target sleeps and makes no call; every operation on it completes all the same. */
void case_passive(void)
{
    enum { BYTES = 50000 };
    static char data[BYTES];
    struct suite_shared *s = suite.shared;

    for (int target = 0; target < suite.npes; target++) {
        bool mine = false;
        for (int i = 0; i < suite.peers; i++)
            mine |= suite.peer[i] == target;
        suite_quiet(suite.ctx, SY_ALL_PES);
        suite_barrier();
        s->word[suite.pe] = 0;
        suite_barrier_asleep();
        for (int round = 0; mine && round < 5; round++) {
            struct suite_place to = {target, SUITE_HEAP, suite_area(SUITE_HEAP, suite.pe)};
            uint64_t old = 99;
            suite_fill(data, BYTES, (uint64_t)round);
            suite_put(suite.ctx, to, data, BYTES, SY_BLOCKING);
            suite_quiet(suite.ctx, target);
            memset(data, 0, BYTES);
            suite_get(suite.ctx, data, to, BYTES, SY_BLOCKING);
            CHECK(suite_differs(data, BYTES, (uint64_t)round) < 0, "passive: round %d", round);
            suite_amo(suite.ctx,
                      &(struct sy_amo){.pe = target,
                                       .window = SUITE_UNMAPPED,
                                       .offset = suite_area(SUITE_UNMAPPED, suite.pe),
                                       .op = SY_AMO_ADD,
                                       .width = 8,
                                       .operand = 1,
                                       .result = &old},
                      SY_BLOCKING);
            CHECK(old == (uint64_t)round, "passive: addition %d", round);
        }
        s->word[suite.pe] = 1;
        for (int pe = 0; pe < suite.npes; pe++)
            while (suite.pe == target && pe != target && !s->word[pe])
                usleep(500);
        suite_barrier_asleep();
    }
}

/* ---- threads ---- */

enum { THREADS = 4, EACH = 150 };

static void *work(void *arg)
{
    uint64_t number = (uint64_t)(uintptr_t)arg,
             slot = suite_area(SUITE_HEAP, suite.pe) + 128 * number;
    uint64_t word = 0;

    for (uint64_t k = 1; k <= EACH; k++)
        for (int i = 0; i < suite.peers; i++) {
            uint64_t value = k << 8 | number;
            struct suite_place own = {suite.peer[i], SUITE_HEAP, slot + 8 * (k % 16)};
            suite_put(suite.ctx, own, &value, 8, SY_BLOCKING);
            suite_add(suite.ctx, (struct suite_place){suite.peer[i], SUITE_UNMAPPED, 0}, 1);
            if (k % 10)
                continue;
            suite_quiet(suite.ctx, suite.peer[i]);
            suite_get(suite.ctx, &word, own, 8, SY_BLOCKING);
            CHECK(word == value, "thread %llu: %#llx was put, %#llx is there",
                  (unsigned long long)number, (unsigned long long)value, (unsigned long long)word);
        }
    suite_quiet(suite.ctx, SY_ALL_PES);
    return NULL;
}

/* Threads share one context while the progress thread runs too. */
void case_threads(void)
{
    pthread_t thread[THREADS];

    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, (void *)i))
            suite_give_up("no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    suite_barrier();
    uint64_t sum = *words_here(SUITE_UNMAPPED, 0);
    CHECK(sum == (uint64_t)(THREADS * EACH * suite.peers), "%llu of %d additions by threads",
          (unsigned long long)sum, THREADS * EACH * suite.peers);
    suite_barrier();
}

/* With nothing in flight the descriptor does not become readable: a sleeping process must not spin.
 */
void case_idle(void)
{
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    usleep(100000);
    uint64_t before = suite_wakeups();
    usleep(300000);
    uint64_t wakeups = suite_wakeups() - before;
    CHECK(wakeups < 300, "the progress thread woke up %llu times in 0.3 s with nothing to do",
          (unsigned long long)wakeups);
    CHECK(suite_progress(100) < 100, "progress() says each of 100 times that something was done");
    suite_barrier_asleep();
}

/* Cases of the suite: large transfers, many at a time in both directions, among small operations
 * that must not overtake them. A PE writes into its own area of its peers' heaps. */
#include <stdlib.h>
#include <string.h>

#include "tests/transport/suite.h"

enum {
    ROUNDS = 6,
    DATA = 256, /* where the data begin, behind the flags */
    MOST = 3 << 20,
    PARTS = 6
};

static size_t large_length(int round)
{
    size_t room = suite_area_length(SUITE_HEAP) - DATA;

    return (room < MOST ? room : MOST) - (size_t)round % 9;
}

static struct suite_place large_at(int pe, uint64_t offset)
{
    return (struct suite_place){pe, SUITE_HEAP, suite_area(SUITE_HEAP, suite.pe) + offset};
}

static uint64_t large_seed(int writer, int round)
{
    return (uint64_t)writer * 104729 + (uint64_t)round * 17;
}

/* Parts of odd lengths, of which no two end alike. */
static size_t large_part(size_t length, int part)
{
    return part == PARTS ? length : length / PARTS * (size_t)part + (size_t)part * 3 % 11;
}

static void large_check(int writer, int round, const char *what)
{
    const char *area = suite.window[SUITE_HEAP].base + suite_area(SUITE_HEAP, writer);
    long wrong = suite_differs(area + DATA, large_length(round), large_seed(writer, round));

    CHECK(wrong < 0, "%s: byte %ld of %zu from PE %d is not there (round %d)", what, wrong,
          large_length(round), writer, round);
}

/* Large parts, then a flag behind a fence. Words that are put between them may come at any time
 * before the flag. */
static void large_put_parts(int pe, int round, const char *data)
{
    size_t length = large_length(round);
    uint64_t word = (uint64_t)round;

    for (int i = 0; i < PARTS; i++) {
        size_t begin = large_part(length, i), end = large_part(length, i + 1);
        suite_put(suite.ctx, large_at(pe, DATA + begin), data + begin, end - begin,
                  (i + round) % 4 ? 0 : SY_BLOCKING);
        suite_put(suite.ctx, large_at(pe, 64 + (uint64_t)i * 8), &word, 8, SY_BLOCKING);
    }
}

static void large_look(int writer, int round, const char *what)
{
    const char *area = suite.window[SUITE_HEAP].base + suite_area(SUITE_HEAP, writer);
    uint64_t word;

    (round % 2 ? suite_wait : suite_watch)(area, (uint64_t)round);
    large_check(writer, round, what);
    for (int i = 0; i < PARTS && round % 2; i++) {
        memcpy(&word, area + 64 + i * 8, sizeof word);
        CHECK(word == (uint64_t)round, "%s: word %d from PE %d is %llu in round %d", what, i,
              writer, (unsigned long long)word, round);
    }
}

/* What has been put comes back by several gets at a time, with small ones between them. */
static void large_get_parts(int pe, int round, const char *data, char *back)
{
    size_t length = large_length(round);
    uint64_t words[PARTS] = {0};

    memset(back, 0, length);
    for (int i = 0; i < PARTS; i++) {
        size_t begin = large_part(length, i), end = large_part(length, i + 1);
        suite_get(suite.ctx, back + begin, large_at(pe, DATA + begin), end - begin,
                  (i + round) % 3 ? 0 : SY_BLOCKING);
        suite_get(suite.ctx, &words[i], large_at(pe, 0), 8, i % 2 ? 0 : SY_BLOCKING);
    }
    suite_quiet(suite.ctx, pe);
    CHECK(!memcmp(back, data, length), "a get of %zu bytes in parts from PE %d, round %d", length,
          pe, round);
    for (int i = 0; i < PARTS; i++)
        CHECK(words[i] == (uint64_t)round, "a get between large ones: %llu in round %d",
              (unsigned long long)words[i], round);
}

static void large_round(int round, char *data, char *back)
{
    size_t length = large_length(round);

    suite_fill(data, length, large_seed(suite.pe, round));
    for (int i = 0; i < suite.peers; i++)
        if (round % 2) {
            large_put_parts(suite.peer[i], round, data);
            suite_fence(suite.ctx);
            suite_add(suite.ctx, large_at(suite.peer[i], 0), 1);
        } else {
            suite_put_signal(suite.ctx, large_at(suite.peer[i], DATA), data, length,
                             suite_area(SUITE_HEAP, suite.pe), SY_AMO_ADD, 1,
                             round % 4 ? SY_BLOCKING : 0);
        }
    for (int i = 0; i < suite.peers; i++)
        large_look(suite.peer[i], round, round % 2 ? "fence" : "signal");
    suite_quiet(suite.ctx, SY_ALL_PES);
    for (int i = 0; i < suite.peers; i++)
        large_get_parts(suite.peer[i], round, data, back);
    suite_barrier();
}

void case_large(void)
{
    char *data = malloc(MOST), *back = malloc(MOST);

    if (!data || !back)
        suite_give_up("no memory");
    for (int round = 1; round <= ROUNDS; round++)
        large_round(round, data, back);
    free(data);
    free(back);
}

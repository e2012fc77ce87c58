/* What model.c works on: symmetric memory, the model of it, and writers with the parts of it that
 * are theirs. */
#ifndef MODEL_H
#define MODEL_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum {
    HEAP = 4 << 20, /* bytes of the block of the heap */
    FIXED = 1 << 16,
    MOST_WRITERS = 64,
    MOST_PES = 16,
    MOST_THREADS = 4,
    BLOCKS = 60, /* most elements of a strided transfer */
    STRIDE = 5,
    LATER = 64,      /* most results that a writer waits for */
    EXTRA = 3000,    /* bytes by which the block of the heap grows and shrinks */
    TOGETHER = 2000, /* most elements of a collective routine */
};

enum { ON_HEAP, ON_FIXED, AREAS };
enum { CTX_OWN, CTX_DEFAULT, CTXS };

/* ---- symmetric memory, and what it must be ---- */

static unsigned char *heap, fixed[FIXED];
static const size_t area_size[AREAS] = {HEAP, FIXED};
static uint64_t words[MOST_WRITERS], signals[MOST_WRITERS];
static uint32_t halves[MOST_WRITERS];
static long shared, counter, lock;
static long sum_of[TOGETHER], sum_to[TOGETHER * MOST_PES];

struct model {
    unsigned char *area[AREAS];
    uint64_t words[MOST_WRITERS], signals[MOST_WRITERS];
    uint32_t halves[MOST_WRITERS];
};

static struct model models[MOST_PES];
static long shared_model, counter_model; /* on PE 0; of all rounds until now */
static int me, npes, threads, writers, steps, turn;
static uint64_t seed;
static shmem_team_t teams[3];

/* ---- numbers without a pattern ---- */

struct dice {
    uint64_t state;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a + (b + 1) * 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t draw(struct dice *dice, uint64_t limit)
{
    return mix(dice->state++, 77) % limit;
}

static void fill(unsigned char *to, size_t length, uint64_t key)
{
    for (size_t at = 0; at < length; at += sizeof key) {
        uint64_t word = mix(key, at);
        memcpy(to + at, &word, length - at < sizeof word ? length - at : sizeof word);
    }
}

/* ---- writers ---- */

/* A result that is there only after shmem_quiet. */
struct later {
    const unsigned char *got;
    unsigned char *expected; /* of malloc */
    size_t length;
};

struct told { /* a put with a signal, whose data must be there when the signal is */
    int pe, area;
    size_t at, length;
};

struct writer {
    int pe, thread, index;
    int live; /* performs what it draws, and does not only keep the model */
    struct dice dice;
    shmem_ctx_t ctx[CTXS];
    size_t used[MOST_PES][AREAS]; /* of its lanes */
    unsigned char *own;           /* private memory, for sources and results, as large as a lane */
    size_t own_used, own_size;
    int word_ctx[MOST_PES]; /* that has last changed its words there; -1: none since quiet */
    struct later later[LATER];
    int later_count;
    struct told told[LATER];
    int told_count;
    long shared, counter; /* how much it has added */
};

static struct writer crew[MOST_WRITERS];

static void expect(int holds, const struct writer *w, int line, const char *text)
{
    static pthread_mutex_t reports = PTHREAD_MUTEX_INITIALIZER;

    __atomic_fetch_add(&check_count, 1, __ATOMIC_RELAXED);
    if (holds)
        return;
    pthread_mutex_lock(&reports);
    fprintf(stderr, "round %d, writer %d of PE %d, seed %lu: ", turn, w->thread, w->pe,
            (unsigned long)seed);
    check_fail(__FILE__, line, text);
    shmem_global_exit(1); /* the others wait for this PE */
}

#define EXPECT(WRITER, CONDITION) expect(CONDITION, WRITER, __LINE__, #CONDITION)

static unsigned char *area(int which)
{
    return which == ON_HEAP ? heap : fixed;
}

static size_t lane_size(int which)
{
    return area_size[which] / 2 / (size_t)writers / 16 * 16;
}

/* The first byte of the writer's lane, in the half that is written in this round. */
static size_t lane(const struct writer *w, int which)
{
    return area_size[which] / 2 * (size_t)(turn & 1) + lane_size(which) * (size_t)w->index;
}

/* A place in the half that is only read, for `length` bytes. */
static size_t anywhere(struct writer *w, int which, size_t length, size_t align)
{
    size_t half = area_size[which] / 2;

    return half * (size_t)(~turn & 1) + draw(&w->dice, (half - length) / align) * align;
}

/* Everything that the writer has issued is complete, on all PEs. */
static void complete(struct writer *w)
{
    if (w->live) {
        for (int c = 0; c < CTXS; c++)
            shmem_ctx_quiet(w->ctx[c]);
        for (int i = 0; i < w->later_count; i++) {
            const struct later *l = &w->later[i];
            EXPECT(w, memcmp(l->got, l->expected, l->length) == 0);
            free(l->expected);
        }
    }
    w->later_count = w->told_count = 0;
    w->own_used = 0;
    memset(w->used, 0, sizeof w->used);
    memset(w->word_ctx, -1, sizeof w->word_ctx);
}

/* Whether there is room for `length` bytes in all that an operation may use; else completes. */
static void reserve(struct writer *w, int pe, int which, size_t length)
{
    if (w->used[pe][which] + length + 16 > lane_size(which) ||
        w->used[w->pe][ON_HEAP] + length + 16 > lane_size(ON_HEAP) ||
        w->own_used + length + 16 > w->own_size || w->later_count == LATER ||
        w->told_count == LATER)
        complete(w);
}

static size_t take_lane(struct writer *w, int pe, int which, size_t length, size_t align)
{
    size_t at = (w->used[pe][which] + align - 1) / align * align;

    w->used[pe][which] = at + length;
    return lane(w, which) + at;
}

static unsigned char *take_own(struct writer *w, size_t length)
{
    size_t at = (w->own_used + 15) / 16 * 16;

    w->own_used = at + length;
    return w->own + at;
}

static size_t any_length(struct writer *w, int which)
{
    static const size_t most[] = {8, 64, 600, 5000, 70000, HEAP};
    size_t limit = most[draw(&w->dice, 6)], room = lane_size(which) / 2;

    if (limit > room)
        limit = room;
    return 1 + draw(&w->dice, limit);
}

static void expect_later(struct writer *w, const unsigned char *got, const unsigned char *expected,
                         size_t length)
{
    struct later *l = &w->later[w->later_count++];

    if (!w->live)
        return;
    *l = (struct later){.got = got, .expected = malloc(length), .length = length};
    if (!l->expected)
        shmem_global_exit(2);
    memcpy(l->expected, expected, length);
}

#endif

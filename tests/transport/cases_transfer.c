/* Cases of the suite: put and get, of every size and alignment, strided, and whole elements. */
#include <stdlib.h>
#include <string.h>

#include "tests/transport/suite.h"

enum { FENCE = 16 }; /* bytes before and behind a transfer that must stay */

/* Symmetric, entirely usable or not at all, and always with the same answer. */
void case_reach(void)
{
    const unsigned data = SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO;
    unsigned char reach[SUITE_PES] = {0};

    for (int pe = 0; pe < suite.npes; pe++)
        if (pe != suite.pe)
            reach[pe] = (unsigned char)suite.table->reach(suite.self, pe);
    suite_exchange(reach, sizeof reach);
    for (int pe = 0; pe < suite.npes; pe++) {
        if (pe == suite.pe)
            continue;
        unsigned there = (unsigned char)suite.shared->blob[pe][suite.pe], here = reach[pe];
        CHECK(here == there, "reach: PE %d is reached by %#x, but reaches this one by %#x", pe,
              here, there);
        CHECK(here == suite.table->reach(suite.self, pe), "reach of PE %d changes", pe);
        bool carries = (here & data) == data || here & SY_REACH_MESSAGE;
        CHECK(!here || carries || (here & SY_REACH_MAP),
              "reach of PE %d is %#x: neither data nor messages nor mapped", pe, here);
        for (unsigned w = 0; w < SUITE_WINDOWS; w++) {
            void *pointer = suite.table->mem_pointer(suite.self, pe, w);
            CHECK(!pointer || (here & SY_REACH_MAP), "mem_pointer of PE %d without SY_REACH_MAP",
                  pe);
            CHECK(pointer || carries || !(here & SY_REACH_MAP),
                  "window %u of PE %d is neither mapped nor reached", w, pe);
        }
    }
    CHECK(!suite.table->mem_pointer(suite.self, suite.peer[0], 1000),
          "mem_pointer of a window that is not");
}

/* One round trip: guards, put, get, all compared. `room` has length + 2 * FENCE + 16 bytes. */
static void round_trip(struct suite_place at, size_t length, size_t shift, unsigned flags,
                       char *room)
{
    static uint64_t seed;
    struct suite_place whole = {at.pe, at.window, at.offset - FENCE},
                       behind = {at.pe, at.window, at.offset + length};
    char guard[FENCE], *local = room + shift;

    seed += 3;
    suite_fill(guard, FENCE, seed);
    suite_put(suite.ctx, whole, guard, FENCE, SY_BLOCKING);
    suite_put(suite.ctx, behind, guard, FENCE, SY_BLOCKING);
    suite_fence(suite.ctx);
    suite_fill(local, length, seed + 1);
    suite_put(suite.ctx, at, local, length, flags);
    if (flags & SY_BLOCKING)
        suite_fill(local, length, seed + 2); /* the source is the caller's again */
    suite_quiet(suite.ctx, seed % 2 ? at.pe : SY_ALL_PES);
    memset(local, 0, length + 2 * FENCE);
    suite_get(suite.ctx, local, whole, length + 2 * FENCE, flags);
    if (!(flags & SY_BLOCKING))
        suite_quiet(suite.ctx, at.pe);
    CHECK(suite_differs(local, FENCE, seed) < 0, "put of %zu bytes at %llu: wrote before it",
          length, (unsigned long long)at.offset);
    CHECK(suite_differs(local + FENCE, length, seed + 1) < 0,
          "put and get of %zu bytes at %llu, window %u, PE %d: byte %ld is wrong", length,
          (unsigned long long)at.offset, at.window, at.pe,
          suite_differs(local + FENCE, length, seed + 1));
    CHECK(suite_differs(local + FENCE + length, FENCE, seed) < 0,
          "put of %zu bytes at %llu: wrote behind it", length, (unsigned long long)at.offset);
}

static void sizes_to(int pe, unsigned window, char *room, size_t most)
{
    static const struct {
        unsigned remote, local;
    } shifts[] = {{0, 0}, {1, 5}, {8, 3}, {4, 4}, {7, 0}};
    uint64_t base = suite_area(window, suite.pe) + 64;

    for (size_t length = 0; length <= 72; length++)
        for (unsigned i = 0; i < 5; i++)
            round_trip((struct suite_place){pe, window, base + shifts[i].remote}, length,
                       shifts[i].local, i % 2 ? SY_BLOCKING : 0, room);
    for (size_t power = 128; power <= most; power *= 2)
        for (unsigned i = 0; i < 3; i++)
            round_trip((struct suite_place){pe, window, base + shifts[i].remote}, power - 1 + i,
                       shifts[i].local, (power >> 7 & 1) ^ i ? SY_BLOCKING : 0, room);
}

/* From no bytes to megabytes, into every window. */
void case_sizes(void)
{
    char *room = malloc((4 << 20) + 4096);

    if (!room)
        suite_give_up("no memory");
    for (int i = 0; i < suite.peers; i++)
        for (unsigned w = 0; w < SUITE_WINDOWS; w++) {
            size_t most = suite_area_length(w) - 256;
            sizes_to(suite.peer[i], w, room, most < 4 << 20 ? most : 4 << 20);
        }
    suite_barrier();
    free(room);
}

/* ---- strided ---- */

struct shape {
    size_t block, blocks;
    ptrdiff_t remote, local;
};

enum { STRIDED = 32768 }; /* bytes, on each side, of which the blocks are in the middle */

static void copy_shape(char *to, const char *from, const struct shape *s, bool put)
{
    for (size_t i = 0; i < s->blocks; i++)
        memcpy(to + (ptrdiff_t)i * (put ? s->remote : s->local),
               from + (ptrdiff_t)i * (put ? s->local : s->remote), s->block);
}

/* The same transfer by the plugin and by memcpy, over a whole area, so that the bytes between the
 * blocks are compared too. */
static void try_shape(int pe, unsigned window, const struct shape *s, uint64_t seed)
{
    static char local[STRIDED], remote[STRIDED], model[STRIDED];
    struct suite_place area = {pe, window, suite_area(window, suite.pe)};
    struct sy_strided t = {.first = {.pe = pe,
                                     .window = window,
                                     .offset = area.offset + STRIDED / 2,
                                     .local = local + STRIDED / 2},
                           .block = s->block,
                           .blocks = s->blocks,
                           .remote_stride = s->remote,
                           .local_stride = s->local};

    suite_fill(local, STRIDED, seed);
    suite_fill(model, STRIDED, seed + 1);
    suite_put(suite.ctx, area, model, STRIDED, SY_BLOCKING);
    suite_fence(suite.ctx);
    suite_strided(suite.ctx, true, &t);
    suite_quiet(suite.ctx, pe);
    copy_shape(model + STRIDED / 2, local + STRIDED / 2, s, true);
    suite_get(suite.ctx, remote, area, STRIDED, SY_BLOCKING);
    CHECK(!memcmp(remote, model, STRIDED), "strided put of %zu blocks of %zu, strides %td and %td",
          s->blocks, s->block, s->remote, s->local);
    suite_fill(local, STRIDED, seed + 2);
    memcpy(model, local, STRIDED);
    suite_strided(suite.ctx, false, &t);
    copy_shape(model + STRIDED / 2, remote + STRIDED / 2, s, false);
    CHECK(!memcmp(local, model, STRIDED), "strided get of %zu blocks of %zu, strides %td and %td",
          s->blocks, s->block, s->remote, s->local);
}

void case_strided(void)
{
    static const struct shape shapes[] = {
        {1, 1, 1, 1},     {1, 100, 1, 1},        {1, 60, 3, 2},    {2, 77, 4, 2},
        {4, 90, 8, 4},    {8, 100, 24, 8},       {8, 50, 8, 64},   {16, 50, 16, 48},
        {3, 40, 7, 11},   {100, 20, 130, 100},   {8, 64, -16, 8},  {4, 64, 8, -12},
        {8, 30, -8, -24}, {1000, 8, 1500, 1000}, {8, 900, 16, 16}, {5000, 2, 6000, 5000},
    };

    for (int i = 0; i < suite.peers; i++)
        for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
            unsigned window = (k + (size_t)i) % 2 ? SUITE_HEAP : SUITE_UNMAPPED;
            if (suite_area_length(window) >= STRIDED)
                try_shape(suite.peer[i], window, &shapes[k], k * 7 + (uint64_t)suite.pe);
        }
    suite_barrier();
}

/* ---- whole elements ---- */

enum { WORDS = 600 };

/* While others write arrays whose elements consist of equal bytes, this PE's words never have two
 * kinds of bytes. */
static void look(const char *base, size_t element)
{
    uint64_t ones = UINT64_MAX / 255 >> (64 - 8 * element), torn = 0, word;

    for (size_t i = 0; i < WORDS && !torn; i++) {
        if (element == 2)
            word = __atomic_load_n((const uint16_t *)base + i, __ATOMIC_RELAXED);
        else if (element == 4)
            word = __atomic_load_n((const uint32_t *)base + i, __ATOMIC_RELAXED);
        else
            word = __atomic_load_n((const uint64_t *)base + i, __ATOMIC_RELAXED);
        if (word != (word & 0xff) * ones)
            torn = word;
    }
    CHECK(!torn, "an element of %zu bytes is torn: %#llx", element, (unsigned long long)torn);
}

static void write_elements(int pe, unsigned window, size_t element, int rounds)
{
    static char source[WORDS * 8];

    for (int i = 1; i <= rounds; i++) {
        memset(source, i, sizeof source);
        size_t length = i % 3 ? element : WORDS * element;
        suite_put(suite.ctx, (struct suite_place){pe, window, 0}, source, length, SY_BLOCKING);
    }
}

void case_whole(void)
{
    enum { ROUNDS = 120 };

    for (size_t element = 2; element <= 8; element *= 2)
        for (unsigned w = 0; w < SUITE_WINDOWS; w++) {
            _Atomic uint64_t *done = suite.shared->word;
            done[suite.pe] = 0;
            memset(suite.window[w].base, 0, WORDS * element);
            suite_barrier();
            if (suite.peer[0] == 0) {
                write_elements(0, w, element, ROUNDS);
                suite_quiet(suite.ctx, 0);
            }
            done[suite.pe] = 1;
            for (int pe = 1; suite.pe == 0 && pe < suite.npes; pe++)
                for (unsigned looks = 1; !done[pe]; looks++) {
                    look(suite.window[w].base, element);
                    if (looks % 32 ==
                        0) /* between, the progress thread writes while this one looks */
                        suite_poll();
                }
            suite_barrier();
        }
}

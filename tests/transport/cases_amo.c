/* Cases of the suite: atomic operations. */
#include <stdlib.h>
#include <string.h>

#include "tests/transport/suite.h"

/* The new value that an operation makes of the old one; not atomic. */
static uint64_t model(enum sy_amo_op op, uint64_t old, uint64_t operand, uint64_t compare)
{
    switch (op) {
    case SY_AMO_FETCH:
        return old;
    case SY_AMO_SET:
    case SY_AMO_SWAP:
        return operand;
    case SY_AMO_CSWAP:
        return old == compare ? operand : old;
    case SY_AMO_ADD:
        return old + operand;
    case SY_AMO_AND:
        return old & operand;
    case SY_AMO_OR:
        return old | operand;
    case SY_AMO_XOR:
        return old ^ operand;
    }
    return 0;
}

static const struct {
    enum sy_amo_op op;
    const char *name;
    bool fetches, updates; /* with a result, without one */
} operations[] = {
    {SY_AMO_FETCH, "fetch", true, false}, {SY_AMO_SET, "set", false, true},
    {SY_AMO_SWAP, "swap", true, false},   {SY_AMO_CSWAP, "cswap", true, false},
    {SY_AMO_ADD, "add", true, true},      {SY_AMO_AND, "and", true, true},
    {SY_AMO_OR, "or", true, true},        {SY_AMO_XOR, "xor", true, true},
};

struct trial {
    struct suite_place word;
    unsigned width;
    size_t operation;
    uint64_t old, operand, compare;
};

static uint64_t cut(uint64_t value, unsigned width)
{
    return width == 4 ? (uint32_t)value : value;
}

/* One operation on the middle one of three words. Its neighbours and the bytes behind the result
 * must not change. */
static void try_one(const struct trial *t, bool fetch, unsigned flags)
{
    const char *name = operations[t->operation].name;
    char words[24], result[16];
    struct suite_place before = {t->word.pe, t->word.window, t->word.offset - t->width};

    memset(words, 0x5a, sizeof words);
    memset(result, 0xc3, sizeof result);
    memcpy(words + t->width, &t->old, t->width);
    suite_put(suite.ctx, before, words, 3 * t->width, SY_BLOCKING);
    suite_fence(suite.ctx);
    suite_amo(suite.ctx,
              &(struct sy_amo){.pe = t->word.pe,
                               .window = t->word.window,
                               .offset = t->word.offset,
                               .op = operations[t->operation].op,
                               .width = t->width,
                               .operand = cut(t->operand, t->width),
                               .compare = cut(t->compare, t->width),
                               .result = fetch ? result : NULL},
              flags);
    if (!fetch || !(flags & SY_BLOCKING))
        suite_quiet(suite.ctx, t->word.pe);
    CHECK(!fetch || !memcmp(result, &t->old, t->width),
          "%s of %u bytes, old value %#llx: another result", name, t->width,
          (unsigned long long)t->old);
    for (size_t i = fetch ? t->width : 0; i < sizeof result; i++)
        CHECK((unsigned char)result[i] == 0xc3, "%s of %u bytes: wrote past its result", name,
              t->width);
    uint64_t now = model(operations[t->operation].op, cut(t->old, t->width),
                         cut(t->operand, t->width), cut(t->compare, t->width));
    char expected[24];
    memset(expected, 0x5a, sizeof expected);
    memcpy(expected + t->width, &now, t->width);
    suite_get(suite.ctx, words, before, 3 * t->width, SY_BLOCKING);
    CHECK(!memcmp(words, expected, 3 * t->width),
          "%s of %u bytes: from %#llx with %#llx (compare %#llx) to something else", name, t->width,
          (unsigned long long)t->old, (unsigned long long)t->operand,
          (unsigned long long)t->compare);
}

static void try_values(struct trial *t)
{
    static const uint64_t values[] = {
        0,          1,          0x7fffffff,         0x80000000,
        UINT32_MAX, UINT64_MAX, 0x8000000000000000, 0x123456789abcdef0};
    enum { VALUES = sizeof values / sizeof values[0] };

    for (size_t v = 0; v < VALUES; v++) {
        t->old = values[v];
        t->operand = values[(v + t->operation + 3) % VALUES];
        t->compare = v % 2 ? t->old : ~t->old;
        if (operations[t->operation].updates) {
            try_one(t, false, 0);
            try_one(t, false, SY_BLOCKING);
        }
        if (operations[t->operation].fetches) {
            try_one(t, true, 0);
            try_one(t, true, SY_BLOCKING);
        }
    }
}

/* Every operation, width and form, over values at the edges. */
void case_amo_values(void)
{
    for (int i = 0; i < suite.peers; i++)
        for (unsigned w = 0; w < SUITE_WINDOWS; w++)
            for (unsigned width = 4; width <= 8; width += 4)
                for (size_t op = 0; op < sizeof operations / sizeof operations[0]; op++) {
                    struct trial t = {.word = {suite.peer[i], w, suite_area(w, suite.pe) + 64},
                                      .width = width,
                                      .operation = op};
                    if (op % 2) /* a word of 4 bytes in the upper half of one of 8 */
                        t.word.offset += width;
                    try_values(&t);
                }
    suite_barrier();
}

/* The target's own atomic operations on the same words, as the core makes them. */
static uint64_t here(unsigned window, uint64_t offset, unsigned width, enum sy_amo_op op,
                     uint64_t operand)
{
    uint64_t old;
    void *word = suite.host->memory(suite.pe, window, offset, width);

    suite.host->amo(op, word, width, operand, 0, &old);
    return old;
}

/* The PEs that access a PE's words: those that reach it by the plugin, those of its node, and
 * itself. */
static int hitters(void)
{
    int neighbours = 0;

    for (int pe = 0; pe < suite.npes; pe++)
        neighbours += suite.neighbours && pe / suite.per_node == suite.pe / suite.per_node;
    return suite.peers + (neighbours ? neighbours : 1);
}

static int hit(int index)
{
    if (index < suite.peers)
        return suite.peer[index];
    return suite.pe / suite.per_node * suite.per_node +
           (suite.pe + index - suite.peers + 1) % suite.per_node;
}

/* Adds to every word that this PE reaches, and flips bits in the word behind it. */
static void hit_all(unsigned window, unsigned width, int times)
{
    for (int i = 0; i < times; i++)
        for (int p = 0; p < hitters() - 1; p++) {
            struct sy_amo amo = {.pe = hit(p),
                                 .window = window,
                                 .offset = 128 * width,
                                 .op = SY_AMO_ADD,
                                 .width = width,
                                 .operand = 1};
            suite_amo(suite.ctx, &amo, 0);
            amo.offset += width;
            amo.op = SY_AMO_XOR;
            amo.operand = UINT64_C(1) << i % 32;
            suite_amo(suite.ctx, &amo, 0);
        }
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite.shared->word[suite.pe] = 1;
}

static bool all_done(void)
{
    for (int pe = 0; pe < suite.npes; pe++)
        if (!suite.shared->word[pe])
            return false;
    return true;
}

/* All PEs that reach a word add to it at once, and so does its owner, with the processor's
 * instructions: a read and a separate write would lose some additions. */
void case_amo_exact(void)
{
    enum { TIMES = 300 };
    static const unsigned windows[] = {SUITE_HEAP, SUITE_UNMAPPED};

    for (unsigned k = 0; k < 4; k++) {
        unsigned width = k % 2 ? 4 : 8, window = windows[k / 2];
        uint64_t own = 0, bits = 0, expected;
        suite.shared->word[suite.pe] = 0;
        suite_barrier();
        hit_all(window, width, TIMES);
        for (; !all_done(); own += 1000) {
            for (int i = 0; i < 1000; i++)
                here(window, 128 * width, width, SY_AMO_ADD, 1);
            suite_poll();
        }
        for (int i = 0; i < TIMES * (hitters() - 1); i++)
            bits ^= UINT64_C(1) << i % TIMES % 32;
        uint64_t sum = here(window, 128 * width, width, SY_AMO_FETCH, 0);
        expected = own + (uint64_t)(TIMES * (hitters() - 1));
        CHECK(sum == cut(expected, width), "%llu of %llu additions of %u bytes",
              (unsigned long long)sum, (unsigned long long)expected, width);
        CHECK(here(window, 129 * width, width, SY_AMO_FETCH, 0) == bits,
              "bits flipped by xor of %u bytes are not those", width);
        suite_barrier();
    }
}

/* Tickets that all PEs draw, the owner included, are all different; by fetching addition and by
 * compare-and-swap. */
void case_amo_tickets(void)
{
    enum { TIMES = 150 };
    struct suite_place counter = {0, SUITE_UNMAPPED, 64}, used = {0, SUITE_HEAP, 4096};
    bool draws = !suite.pe;

    for (int p = 0; p < hitters() - 1; p++)
        draws |= hit(p) == 0;
    for (int i = 0; draws && i < TIMES; i++) {
        uint64_t ticket = 0, seen;
        struct sy_amo amo = {.pe = counter.pe,
                             .window = counter.window,
                             .offset = counter.offset,
                             .op = i % 2 ? SY_AMO_ADD : SY_AMO_FETCH,
                             .width = 8,
                             .operand = 1,
                             .result = &ticket};
        suite_amo(suite.ctx, &amo, SY_BLOCKING);
        while (!(i % 2)) {
            seen = ticket;
            amo.op = SY_AMO_CSWAP;
            amo.compare = seen;
            amo.operand = seen + 1;
            suite_amo(suite.ctx, &amo, SY_BLOCKING);
            if (ticket == seen)
                break;
        }
        CHECK(ticket < (uint64_t)TIMES * SUITE_PES, "ticket %llu", (unsigned long long)ticket);
        suite_add(suite.ctx, (struct suite_place){0, used.window, used.offset + ticket * 8}, 1);
    }
    suite_quiet(suite.ctx, SY_ALL_PES);
    suite_barrier();
    const uint64_t *marks = (const uint64_t *)(suite.window[SUITE_HEAP].base + used.offset);
    for (int i = 0; !suite.pe && i < TIMES * hitters(); i++)
        CHECK(marks[i] == 1, "ticket %d was drawn %llu times", i, (unsigned long long)marks[i]);
    suite_barrier();
}

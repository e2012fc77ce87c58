/* Data calls as the core makes them: see suite.h. */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "tests/transport/suite.h"

static char *mapped(struct suite_place at)
{
    char *base = suite.mapped[at.pe][at.window];

    return base ? base + at.offset : NULL;
}

/* What a call answered: false if the operation was accepted, true if the call must be repeated. */
static bool again(int answer, const char *what, int pe)
{
    atomic_fetch_add_explicit(&suite.shared->calls, 1, memory_order_relaxed);
    if (!answer)
        return false;
    if (answer != -EAGAIN)
        suite_give_up("%s with PE %d: %s", what, pe, strerror(-answer));
    atomic_fetch_add_explicit(&suite.shared->agains, 1, memory_order_relaxed);
    suite_poll();
    return true;
}

/* The caller may reuse the description of an operation on return, so a plugin must not keep a
 * pointer to it. */
static void spoil(void *description, size_t length)
{
    memset(description, 0xee, length);
    __asm__ volatile("" : : "r"(description) : "memory");
}

void suite_put(struct sy_transport_ctx *ctx, struct suite_place to, const void *from, size_t length,
               unsigned flags)
{
    char *here = mapped(to);
    struct sy_transfer t = {.pe = to.pe,
                            .window = to.window,
                            .offset = to.offset,
                            .local = (void *)from,
                            .length = length};

    if (!length)
        return; /* nor does the core hand it on */
    if (here) {
        memcpy(here, from, length);
        return;
    }
    while (again(suite.table->put(suite.self, ctx, &t, flags), "put", to.pe))
        ;
    spoil(&t, sizeof t);
}

void suite_get(struct sy_transport_ctx *ctx, void *to, struct suite_place from, size_t length,
               unsigned flags)
{
    char *here = mapped(from);
    struct sy_transfer t = {
        .pe = from.pe, .window = from.window, .offset = from.offset, .local = to, .length = length};

    if (!length)
        return;
    if (here) {
        memcpy(to, here, length);
        return;
    }
    while (again(suite.table->get(suite.self, ctx, &t, flags), "get", from.pe))
        ;
    spoil(&t, sizeof t);
}

static void block_by_block(struct sy_transport_ctx *ctx, bool put, const struct sy_strided *t)
{
    for (size_t i = 0; i < t->blocks; i++) {
        struct suite_place there = {t->first.pe, t->first.window,
                                    t->first.offset + i * (uint64_t)t->remote_stride};
        char *local = (char *)t->first.local + (ptrdiff_t)i * t->local_stride;
        if (put)
            suite_put(ctx, there, local, t->block, SY_BLOCKING);
        else
            suite_get(ctx, local, there, t->block, SY_BLOCKING);
    }
}

void suite_strided(struct sy_transport_ctx *ctx, bool put, const struct sy_strided *given)
{
    struct sy_strided t = *given;
    int answer = -EOPNOTSUPP;

    if (!suite.mapped[t.first.pe][t.first.window]) {
        do
            answer = put ? suite.table->put_strided(suite.self, ctx, &t, SY_BLOCKING)
                         : suite.table->get_strided(suite.self, ctx, &t, SY_BLOCKING);
        while (answer != -EOPNOTSUPP && again(answer, "strided transfer", given->first.pe));
        spoil(&t, sizeof t);
    }
    if (answer == -EOPNOTSUPP)
        block_by_block(ctx, put, given);
}

void suite_amo(struct sy_transport_ctx *ctx, const struct sy_amo *given, unsigned flags)
{
    struct sy_amo amo = *given;
    char *here = mapped((struct suite_place){amo.pe, amo.window, amo.offset});

    if (here) {
        uint64_t old;
        suite.host->amo(amo.op, here, amo.width, amo.operand, amo.compare, &old);
        uint32_t narrow = (uint32_t)old;
        if (amo.result)
            memcpy(amo.result, amo.width == 4 ? (void *)&narrow : (void *)&old, amo.width);
        return;
    }
    while (again(suite.table->amo(suite.self, ctx, &amo, flags), "amo", given->pe))
        ;
    spoil(&amo, sizeof amo);
}

/* An operation without a result on an 8-byte word. */
static void update(struct sy_transport_ctx *ctx, struct suite_place to, enum sy_amo_op op,
                   uint64_t value, unsigned flags)
{
    suite_amo(ctx,
              &(struct sy_amo){.pe = to.pe,
                               .window = to.window,
                               .offset = to.offset,
                               .op = op,
                               .width = 8,
                               .operand = value},
              flags);
}

void suite_add(struct sy_transport_ctx *ctx, struct suite_place to, uint64_t value)
{
    update(ctx, to, SY_AMO_ADD, value, 0);
}

void suite_put_signal(struct sy_transport_ctx *ctx, struct suite_place to, const void *from,
                      size_t length, uint64_t word, enum sy_amo_op op, uint64_t signal,
                      unsigned flags)
{
    struct sy_transfer t = {.pe = to.pe,
                            .window = to.window,
                            .offset = to.offset,
                            .local = (void *)from,
                            .length = length};
    const struct sy_amo given = {
        .pe = to.pe, .window = to.window, .offset = word, .op = op, .width = 8, .operand = signal};
    struct sy_amo amo = given;
    int answer = -EOPNOTSUPP;

    if (!mapped(to)) {
        do
            answer = suite.table->put_signal(suite.self, ctx, &t, &amo, flags);
        while (answer != -EOPNOTSUPP && again(answer, "put_signal", to.pe));
        spoil(&t, sizeof t);
        spoil(&amo, sizeof amo);
    }
    if (answer != -EOPNOTSUPP)
        return;
    suite_put(ctx, to, from, length, flags);
    suite_fence(ctx);
    suite_amo(ctx, &given, 0);
}

void suite_raise(struct sy_transport_ctx *ctx, struct suite_place to, uint64_t value)
{
    int answer = -EOPNOTSUPP;

    if (!mapped(to))
        do
            answer = suite.table->raise(suite.self, ctx, to.pe, to.window, to.offset, value);
        while (answer != -EOPNOTSUPP && again(answer, "raise", to.pe));
    if (answer != -EOPNOTSUPP)
        return;
    suite_fence(ctx);
    update(ctx, to, SY_AMO_SET, value, SY_PROMPT);
}

void suite_fence(struct sy_transport_ctx *ctx)
{
    int answer = suite.table->fence(suite.self, ctx);

    if (answer)
        suite_give_up("fence: %s", strerror(-answer));
    atomic_thread_fence(memory_order_acq_rel);
}

void suite_quiet(struct sy_transport_ctx *ctx, int pe)
{
    while (again(suite.table->quiet(suite.self, ctx, pe), "quiet", pe))
        ;
    atomic_thread_fence(memory_order_seq_cst);
}

/* ---- what the bytes are ---- */

static unsigned char pattern(uint64_t seed, size_t index)
{
    uint64_t x = (seed + index) * 0x9e3779b97f4a7c15u;

    return (unsigned char)(x >> 56 ^ x >> 24);
}

void suite_fill(void *bytes, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = pattern(seed, i);
}

long suite_differs(const void *bytes, size_t length, uint64_t seed)
{
    for (size_t i = length; i--;)
        if (((const unsigned char *)bytes)[i] != pattern(seed, i))
            return (long)i;
    return -1;
}

static uint64_t state;

void suite_random_begin(uint64_t seed)
{
    state = (suite.seed * 1000003 + seed) * 0x9e3779b97f4a7c15u | 1;
}

uint64_t suite_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du >> 11;
}

size_t suite_area_length(unsigned window)
{
    return suite.window[window].length / (size_t)suite.npes & ~(size_t)63;
}

uint64_t suite_area(unsigned window, int pe)
{
    return (uint64_t)pe * suite_area_length(window);
}

/* Signalling operations (9.8) and the wait for a signal (9.11.15): put_signal of each type and
 * size, blocking and not, with and without a context, that sets and that adds. The receiver waits
 * for the signal alone, and must then find the data. A row of the table is a type with its routines
 * behind thunks of one signature. */
#include <stdlib.h>
#include <string.h>
#include "check.h"

enum {
    AREA = 2048, /* bytes of the object that is written; all of it is compared */
    BEFORE = 48, /* bytes before the data: a multiple of 16, the largest element */
    CANARY = 0xc5
};

enum { PLAIN, CTX, NBI, CTX_NBI, FORMS };

typedef void put_signal(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems,
                        uint64_t *sig_addr, uint64_t signal, int sig_op, int pe);

struct row {
    const char *name;
    size_t size;  /* bytes of an element */
    size_t value; /* bytes of it that carry the value: fewer for long double */
    size_t shift; /* bytes off alignment, for the routines that have none */
    put_signal *call[FORMS];
};

/* clang-format off */

#define THUNK(NAME, CALL, ...) \
    static void NAME(shmem_ctx_t ctx, void *dest, const void *source, size_t nelems, \
                     uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
    { \
        (void)ctx; \
        CALL(__VA_ARGS__ dest, source, nelems, sig_addr, signal, sig_op, pe); \
    }
#define THUNKS(NAME, PART) \
    THUNK(NAME##_plain, shmem_##PART,) \
    THUNK(NAME##_ctx, shmem_ctx_##PART, ctx,) \
    THUNK(NAME##_nbi, shmem_##PART##_nbi,) \
    THUNK(NAME##_ctx_nbi, shmem_ctx_##PART##_nbi, ctx,)

#define TYPED_THUNKS(TYPENAME, TYPE) THUNKS(TYPENAME, TYPENAME##_put_signal)
SY_RMA_TYPES(TYPED_THUNKS)
#define SIZE_THUNKS(SIZE, BYTES) THUNKS(size_##SIZE, put##SIZE##_signal)
SY_SIZES_AND_MEM(SIZE_THUNKS)

static const struct row rows[] = {
#define TYPED_ROW(TYPENAME, TYPE) \
    {#TYPENAME, sizeof(TYPE), VALUE_BYTES(TYPE), 0, \
     {TYPENAME##_plain, TYPENAME##_ctx, TYPENAME##_nbi, TYPENAME##_ctx_nbi}},
    SY_RMA_TYPES(TYPED_ROW)
#define SIZE_ROW(SIZE, BYTES) \
    {#SIZE, BYTES, BYTES, 0, \
     {size_##SIZE##_plain, size_##SIZE##_ctx, size_##SIZE##_nbi, size_##SIZE##_ctx_nbi}},
    SY_SIZES(SIZE_ROW)
    {"mem", 1, 1, 1, {size_mem_plain, size_mem_ctx, size_mem_nbi, size_mem_ctx_nbi}},
};

/* clang-format on */

/* One way to send: the objects, the context, the PE that this one sends to with its number on the
 * context's team, and the PE that sends to this one. */
struct path {
    const char *name;
    unsigned char *area;
    uint64_t *signal;
    shmem_ctx_t ctx;
    int to, from; /* to in the numbers of the context's team; from in those of the job */
    int contexts_only;
};

static _Alignas(64) unsigned char static_area[AREA];
static uint64_t static_signal;

static unsigned char source_byte(int pe, uint64_t stamp, size_t i)
{
    return (unsigned char)((17 + 31 * (size_t)pe + 7 * i + i / 256 + 3 * (size_t)stamp) % 0x7f);
}

static int same(const struct row *row, const unsigned char *a, const unsigned char *b)
{
    return check_same(a, b, AREA / row->size, row->size, row->value);
}

/* Every PE sends to its target and waits for the signal from its own sender; there is no other
 * synchronisation between a put and the look at its data. */
static void check_put(const struct row *row, int form, const struct path *path, size_t nelems,
                      int sig_op, uint64_t stamp)
{
    _Alignas(64) unsigned char source[AREA], expected[AREA];
    size_t bytes = nelems * row->size, at = BEFORE + row->shift;
    const uint64_t base = sig_op == SHMEM_SIGNAL_ADD ? UINT64_MAX - 2 : 7;
    const uint64_t operand = sig_op == SHMEM_SIGNAL_ADD ? stamp : UINT64_MAX / 2 + stamp;
    const uint64_t wanted = sig_op == SHMEM_SIGNAL_ADD ? base + stamp : operand;

    memset(path->area, CANARY, AREA);
    memset(expected, CANARY, AREA);
    for (size_t i = 0; i < bytes; i++) {
        source[i] = source_byte(shmem_my_pe(), stamp, i);
        expected[at + i] = source_byte(path->from, stamp, i);
    }
    *path->signal = base;
    shmem_barrier_all();
    row->call[form](path->ctx, nelems ? path->area + at : NULL, nelems ? source : NULL, nelems,
                    path->signal, operand, sig_op, path->to);
    if (form == NBI || form == CTX_NBI)
        shmem_ctx_quiet(form == NBI ? SHMEM_CTX_DEFAULT : path->ctx);
    memset(source, 0xee, sizeof source);
    CHECK(shmem_signal_wait_until(path->signal, SHMEM_CMP_NE, base) == wanted);
    CHECK(same(row, path->area, expected));
    CHECK(shmem_signal_fetch(path->signal) == wanted);
}

static void check_row(const struct row *row, const struct path *path)
{
    static const size_t counts[] = {0, 1, 3, 40};
    static uint64_t stamp = 100;

    for (int form = 0; form < FORMS; form++) {
        if (path->contexts_only && (form == PLAIN || form == NBI))
            continue;
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            check_put(row, form, path, counts[i], SHMEM_SIGNAL_SET, ++stamp);
            check_put(row, form, path, counts[i], SHMEM_SIGNAL_ADD, ++stamp);
        }
    }
}

/* Megabytes of an odd length and at odd addresses, several in flight at once; each is complete when
 * its own signal is seen. */
static void check_large(int to, int from)
{
    enum { LENGTH = (3 << 20) + 13, PARTS = 3 };
    unsigned char *mine = malloc(LENGTH), *area = shmem_malloc(PARTS * (LENGTH + 2));
    static uint64_t signals[PARTS];

    check_case = "large";
    CHECK(mine && area);
    for (size_t i = 0; i < LENGTH; i++)
        mine[i] = source_byte(shmem_my_pe(), 1, i);
    for (int round = 0; round < 4; round++) {
        memset(area, CANARY, PARTS * (LENGTH + 2));
        memset(signals, 0, sizeof signals);
        shmem_barrier_all();
        for (int part = 0; part < PARTS; part++) {
            unsigned char *there = area + part * (LENGTH + 2) + 1;
            if (part % 2 == round % 2)
                shmem_putmem_signal(there, mine, LENGTH, &signals[part], 1, SHMEM_SIGNAL_SET, to);
            else
                shmem_putmem_signal_nbi(there, mine, LENGTH, &signals[part], 1, SHMEM_SIGNAL_ADD,
                                        to);
        }
        for (int part = PARTS - 1; part >= 0; part--) {
            const unsigned char *got = area + part * (LENGTH + 2) + 1;
            size_t right = 0;
            CHECK(shmem_signal_wait_until(&signals[part], SHMEM_CMP_EQ, 1) == 1);
            while (right < LENGTH && got[right] == source_byte(from, 1, right))
                right++;
            CHECK(right == LENGTH);
            CHECK(got[-1] == CANARY && got[LENGTH] == CANARY);
        }
        shmem_barrier_all();
    }
    free(mine);
    shmem_free(area);
}

/* All PEs add to one signal; what the wait returns is a value that satisfied it, although the
 * signal goes on changing. */
static void check_adders(int me, int npes)
{
    enum { TIMES = 200 };
    static uint64_t counter;
    const uint64_t total = (uint64_t)npes * TIMES * 2;

    check_case = "adders";
    shmem_barrier_all();
    for (int i = 0; i < TIMES; i++) {
        shmem_putmem_signal(NULL, NULL, 0, &counter, 1, SHMEM_SIGNAL_ADD, 0);
        shmem_ctx_signal_add(SHMEM_CTX_DEFAULT, &counter, 1, 0);
    }
    if (me == 0) {
        for (uint64_t seen = 0; seen < total;) {
            uint64_t value = shmem_signal_wait_until(&counter, SHMEM_CMP_GT, seen);
            CHECK(value > seen && value <= total);
            seen = value > seen ? value : total;
        }
        CHECK(shmem_signal_fetch(&counter) == total);
        CHECK(shmem_signal_wait_until(&counter, SHMEM_CMP_EQ, total) == total);
    }
    shmem_barrier_all();
    shmem_signal_set(&counter, 0, me);
    shmem_barrier_all();
}

/* The comparisons of the wait are of unsigned 64-bit numbers. */
static void check_comparisons(int me)
{
    static uint64_t signal;
    const uint64_t high = UINT64_MAX - 1;

    check_case = "comparisons";
    shmem_signal_set(&signal, high, me);
    shmem_quiet();
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, high) == high);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_NE, 1) == high);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_GT, INT64_MAX) == high);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_GE, high) == high);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_LT, UINT64_MAX) == high);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_LE, high) == high);
    shmem_signal_add(&signal, 5, me);
    shmem_quiet();
    CHECK(shmem_signal_fetch(&signal) == 3);
    shmem_barrier_all();
}

/* A signal without data orders nothing by itself; after a fence it stands for the puts before it,
 * and signals in order arrive in order. Any comparison of a signal waits for it, too. */
static void check_order(int to, int from)
{
    static long data[300], mine[300];
    static uint64_t first, second;

    check_case = "order";
    for (long round = 1; round <= 100; round++) {
        for (int i = 0; i < 300; i++)
            mine[i] = round * 1000 + shmem_my_pe();
        shmem_long_put_nbi(data, mine, 300, to);
        shmem_fence();
        shmem_ctx_signal_set(SHMEM_CTX_DEFAULT, &first, (uint64_t)round, to);
        shmem_fence();
        shmem_signal_add(&second, 1, to);
        if (round % 2)
            shmem_uint64_wait_until(&second, SHMEM_CMP_EQ, (uint64_t)round);
        else
            CHECK(shmem_signal_wait_until(&second, SHMEM_CMP_GE, (uint64_t)round) ==
                  (uint64_t)round);
        CHECK(shmem_signal_fetch(&first) == (uint64_t)round);
        CHECK(data[0] == round * 1000 + from && data[299] == round * 1000 + from);
        shmem_barrier_all();
    }
}

/* A PE sends data and a signal to itself. */
static void check_self(int me)
{
    static uint64_t signal;
    static long value;
    const long mine = 12345 + me;

    check_case = "self";
    shmem_long_put_signal(&value, &mine, 1, &signal, 3, SHMEM_SIGNAL_SET, me);
    CHECK(shmem_signal_wait_until(&signal, SHMEM_CMP_EQ, 3) == 3);
    CHECK(value == mine);
    shmem_barrier_all();
}

int main(void)
{
    shmem_team_t reversed = SHMEM_TEAM_INVALID;
    shmem_ctx_t own = SHMEM_CTX_INVALID, of_team = SHMEM_CTX_INVALID;
    int me, npes, to, from, status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    to = (me + 1) % npes;
    from = (me + npes - 1) % npes;
    unsigned char *heap_area = shmem_align(64, AREA);
    uint64_t *heap_signal = shmem_malloc(sizeof *heap_signal);
    CHECK(heap_area && heap_signal);
    CHECK(shmem_ctx_create(0, &own) == 0);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, npes - 1, -1, npes, NULL, 0, &reversed) == 0);
    CHECK(shmem_team_create_ctx(reversed, 0, &of_team) == 0);

    const struct path paths[] = {
        {"static, signal in the heap", static_area, heap_signal, SHMEM_CTX_DEFAULT, to, from, 0},
        {"both static", static_area, &static_signal, SHMEM_CTX_DEFAULT, to, from, 0},
        {"heap, signal static", heap_area, &static_signal, SHMEM_CTX_DEFAULT, to, from, 0},
        {"to self", heap_area, heap_signal, SHMEM_CTX_DEFAULT, me, me, 0},
        {"a context", heap_area, heap_signal, own, to, from, 1},
        {"a team's context", heap_area, heap_signal, of_team, npes - 1 - to, from, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t j = 0; j < sizeof paths / sizeof paths[0]; j++) {
            static char text[100];
            snprintf(text, sizeof text, "%s, %s", rows[i].name, paths[j].name);
            check_case = text;
            check_row(&rows[i], &paths[j]);
        }
    check_large(to, from);
    check_adders(me, npes);
    check_comparisons(me);
    check_order(to, from);
    check_self(me);
    shmem_ctx_destroy(of_team);
    shmem_ctx_destroy(own);
    shmem_team_destroy(reversed);
    shmem_free(heap_signal);
    shmem_free(heap_area);
    status = check_end("signals_typed");
    shmem_finalize();
    return status;
}

/* The collective routines on active sets, deprecated since 1.5 (9.10): each routine, on sets of
 * several starts, strides and sizes, with work arrays among the statics and in the heap that take
 * turns. After each call pSync is as it was before. PEs outside of a set take no part. */
#include <stdlib.h>
#include <unistd.h>

#include "values.h"

enum { MOST_PES = 64, COUNT = 37, STRIDE = 3, PSYNCS = 2, ROUNDS = 6, CANARY = 0x3c };

/* PEs start, start + 2^log_stride, ... */
struct set {
    int start, log_stride, size;
    int me; /* the ordinal of this PE, or -1 */
};

static int world_number(const struct set *set, int ordinal)
{
    return set->start + (ordinal << set->log_stride);
}

/* Work arrays that the rounds take turns with: two among the statics, two in the heap. */
static struct work {
    long *psync;
    void *pwrk;
} work[PSYNCS * 2];

static long static_psync[PSYNCS][SHMEM_SYNC_SIZE];
static _Alignas(
    16) unsigned char static_pwrk[PSYNCS][16 * SHMEM_REDUCE_MIN_WRKDATA_SIZE + 16 * COUNT];

_Static_assert(SHMEM_BARRIER_SYNC_SIZE >= 1 && SHMEM_BARRIER_SYNC_SIZE <= SHMEM_SYNC_SIZE, "size");
_Static_assert(SHMEM_BCAST_SYNC_SIZE >= 1 && SHMEM_BCAST_SYNC_SIZE <= SHMEM_SYNC_SIZE, "size");
_Static_assert(SHMEM_COLLECT_SYNC_SIZE >= 1 && SHMEM_COLLECT_SYNC_SIZE <= SHMEM_SYNC_SIZE, "size");
_Static_assert(SHMEM_ALLTOALL_SYNC_SIZE >= 1 && SHMEM_ALLTOALL_SYNC_SIZE <= SHMEM_SYNC_SIZE,
               "size");
_Static_assert(SHMEM_ALLTOALLS_SYNC_SIZE >= 1 && SHMEM_ALLTOALLS_SYNC_SIZE <= SHMEM_SYNC_SIZE,
               "size");
_Static_assert(SHMEM_REDUCE_SYNC_SIZE >= 1 && SHMEM_REDUCE_SYNC_SIZE <= SHMEM_SYNC_SIZE, "size");
_Static_assert(_SHMEM_BARRIER_SYNC_SIZE == SHMEM_BARRIER_SYNC_SIZE, "old name");
_Static_assert(_SHMEM_BCAST_SYNC_SIZE == SHMEM_BCAST_SYNC_SIZE, "old name");
_Static_assert(_SHMEM_COLLECT_SYNC_SIZE == SHMEM_COLLECT_SYNC_SIZE, "old name");
_Static_assert(_SHMEM_REDUCE_SYNC_SIZE == SHMEM_REDUCE_SYNC_SIZE, "old name");
_Static_assert(_SHMEM_REDUCE_MIN_WRKDATA_SIZE == SHMEM_REDUCE_MIN_WRKDATA_SIZE, "old name");
_Static_assert(_SHMEM_SYNC_VALUE == SHMEM_SYNC_VALUE, "old name");

static unsigned char *dest, *source; /* heap; a place for each round */
static unsigned char *expected, *theirs;
static size_t area; /* bytes of one round's place */

/* pSync is as it was. Another PE may have begun the next call with it, so this is checked only
 * where none can have: after a call whose work array is not that of the next one, and after a
 * barrier of all. */
static void check_restored(const struct work *w)
{
    int restored = 1;

    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        restored &= w->psync[i] == SHMEM_SYNC_VALUE;
    CHECK(restored);
}

/* The heap in one round, the statics in the next, and two of each. */
static const struct work *work_of(int round)
{
    return &work[round % (PSYNCS * 2)];
}

/* ---- routines that move data ---- */

enum kind { ALLTOALL, ALLTOALLS, BROADCAST, COLLECT, FCOLLECT, KINDS };

struct mover {
    const char *name;
    enum kind kind;
    size_t size; /* bytes of an element */
    void (*call)(void *to, const void *from, size_t count, const struct set *set, int root,
                 long *psync);
};

/* clang-format off */

#define SET set->start, set->log_stride, set->size, psync
#define MOVERS(SIZE, BYTES) \
    static void alltoall##SIZE(void *to, const void *from, size_t count, const struct set *set, \
                               int root, long *psync) \
    { \
        (void)root; \
        shmem_alltoall##SIZE(to, from, count, SET); \
    } \
    static void alltoalls##SIZE(void *to, const void *from, size_t count, const struct set *set, \
                                int root, long *psync) \
    { \
        (void)root; \
        shmem_alltoalls##SIZE(to, from, STRIDE, STRIDE - 1, count, SET); \
    } \
    static void broadcast##SIZE(void *to, const void *from, size_t count, const struct set *set, \
                                int root, long *psync) \
    { \
        shmem_broadcast##SIZE(to, from, count, root, SET); \
    } \
    static void collect##SIZE(void *to, const void *from, size_t count, const struct set *set, \
                              int root, long *psync) \
    { \
        (void)root; \
        shmem_collect##SIZE(to, from, count, SET); \
    } \
    static void fcollect##SIZE(void *to, const void *from, size_t count, const struct set *set, \
                               int root, long *psync) \
    { \
        (void)root; \
        shmem_fcollect##SIZE(to, from, count, SET); \
    }
SY_ACTIVE_SET_SIZES(MOVERS)

static const struct mover movers[] = {
#define MOVER_ROWS(SIZE, BYTES) \
    {"alltoall" #SIZE, ALLTOALL, BYTES, alltoall##SIZE}, \
    {"alltoalls" #SIZE, ALLTOALLS, BYTES, alltoalls##SIZE}, \
    {"broadcast" #SIZE, BROADCAST, BYTES, broadcast##SIZE}, \
    {"collect" #SIZE, COLLECT, BYTES, collect##SIZE}, \
    {"fcollect" #SIZE, FCOLLECT, BYTES, fcollect##SIZE},
    SY_ACTIVE_SET_SIZES(MOVER_ROWS)
};

/* clang-format on */

/* Byte i of what PE pe sends in a round. Each element has at least one byte that is no canary. */
static unsigned char source_byte(int pe, int round, size_t i)
{
    return (unsigned char)noise((uint64_t)(pe * ROUNDS + round + 1), i);
}

static size_t count_of(enum kind kind, int ordinal)
{
    return kind == COLLECT ? (size_t)((ordinal * 5 + 3) % COUNT) * (size_t)(ordinal % 4 != 1)
                           : COUNT;
}

static void model_element(size_t size, size_t to, int pe, int round, size_t from)
{
    for (size_t i = 0; i < size; i++)
        expected[to * size + i] = source_byte(pe, round, from * size + i);
}

static void model(const struct mover *m, const struct set *set, int root, int round)
{
    size_t done = 0, mine = (size_t)set->me * COUNT;

    memset(expected, CANARY, area);
    if (m->kind == BROADCAST && set->me == root)
        return;
    for (int ordinal = 0; ordinal < set->size; ordinal++) {
        size_t count = count_of(m->kind, ordinal);
        int pe = world_number(set, ordinal);
        for (size_t i = 0; i < count; i++) {
            if (m->kind == ALLTOALL)
                model_element(m->size, done + i, pe, round, mine + i);
            else if (m->kind == ALLTOALLS)
                model_element(m->size, (done + i) * STRIDE, pe, round, (mine + i) * (STRIDE - 1));
            else if (m->kind != BROADCAST)
                model_element(m->size, done + i, pe, round, i);
            else if (ordinal == root)
                model_element(m->size, i, pe, round, i);
        }
        done += count;
    }
}

/* Rounds without a barrier between them, each with the next of the work arrays. A broadcast's root
 * may leave before the others have entered, so a broadcast needs a barrier before its work array's
 * next turn. */
static void check_mover(const struct mover *m, const struct set *set)
{
    memset(dest, CANARY, area * ROUNDS);
    shmem_barrier_all();
    for (int round = 0; set->me >= 0 && round < ROUNDS; round++) {
        const struct work *w = work_of(round);
        int root = round % set->size;
        unsigned char *to = dest + area * (size_t)round;

        for (size_t i = 0; i < area; i++)
            source[i] = source_byte(shmem_my_pe(), round, i);
        m->call(to, source, count_of(m->kind, set->me), set, root, w->psync);
        check_restored(w);
        memset(source, 0x77, area);
        model(m, set, root, round);
        CHECK(memcmp(to, expected, area) == 0);
        if (m->kind == BROADCAST)
            shmem_sync(set->start, set->log_stride, set->size, work[(round + 2) % 4].psync);
    }
    shmem_barrier_all();
    if (set->me < 0) {
        memset(expected, CANARY, area);
        CHECK(memcmp(dest, expected, area) == 0);
    }
}

/* ---- reductions ---- */

struct reducer {
    const char *name;
    enum operation op;
    const struct type *type;
    void (*call)(void *to, const void *from, int count, const struct set *set, void *pwrk,
                 long *psync);
};

/* clang-format off */

#define REDUCER(TYPENAME, OP) \
    static void TYPENAME##_##OP(void *to, const void *from, int count, const struct set *set, \
                                void *pwrk, long *psync) \
    { \
        shmem_##TYPENAME##_##OP##_to_all(to, from, count, set->start, set->log_stride, set->size, \
                                         pwrk, psync); \
    }
#define BITWISE(TYPENAME, TYPE) \
    REDUCER(TYPENAME, and) REDUCER(TYPENAME, or) REDUCER(TYPENAME, xor)
#define COMPARE(TYPENAME, TYPE) REDUCER(TYPENAME, max) REDUCER(TYPENAME, min)
#define ARITHMETIC(TYPENAME, TYPE) REDUCER(TYPENAME, sum) REDUCER(TYPENAME, prod)
SY_BITWISE_TO_ALL_TYPES(BITWISE)
SY_COMPARE_TO_ALL_TYPES(COMPARE)
SY_ARITHMETIC_TO_ALL_TYPES(ARITHMETIC)

static const struct reducer reducers[] = {
#define BITWISE_ROWS(TYPENAME, TYPE) \
    {#TYPENAME " and", AND, &TYPENAME##_type, TYPENAME##_and}, \
    {#TYPENAME " or", OR, &TYPENAME##_type, TYPENAME##_or}, \
    {#TYPENAME " xor", XOR, &TYPENAME##_type, TYPENAME##_xor},
    SY_BITWISE_TO_ALL_TYPES(BITWISE_ROWS)
#define COMPARE_ROWS(TYPENAME, TYPE) \
    {#TYPENAME " max", MAX, &TYPENAME##_type, TYPENAME##_max}, \
    {#TYPENAME " min", MIN, &TYPENAME##_type, TYPENAME##_min},
    SY_COMPARE_TO_ALL_TYPES(COMPARE_ROWS)
#define ARITHMETIC_ROWS(TYPENAME, TYPE) \
    {#TYPENAME " sum", SUM, &TYPENAME##_type, TYPENAME##_sum}, \
    {#TYPENAME " prod", PROD, &TYPENAME##_type, TYPENAME##_prod},
    SY_ARITHMETIC_TO_ALL_TYPES(ARITHMETIC_ROWS)
};

/* clang-format on */

enum { MOVERS = sizeof movers / sizeof movers[0], REDUCERS = sizeof reducers / sizeof reducers[0] };

_Static_assert(REDUCERS == 4 * 3 + 7 * 2 + 9 * 2, "the tables have the specification's types");

static uint64_t seed_of(int pe, int round)
{
    return (uint64_t)(pe * ROUNDS + round);
}

/* Half of the rounds in place; one, two and COUNT elements. */
static void check_reducer(const struct reducer *r, const struct set *set)
{
    static const int counts[] = {COUNT, 1, 2, COUNT, 5, 0};
    const struct type *type = r->type;

    memset(dest, CANARY, area * ROUNDS);
    for (int round = 1; round < ROUNDS; round += 2)
        type->fill(dest + area * (size_t)round, (size_t)counts[round], r->op,
                   seed_of(shmem_my_pe(), round));
    shmem_barrier_all();
    for (int round = 0; set->me >= 0 && round < ROUNDS; round++) {
        const struct work *w = work_of(round);
        size_t count = (size_t)counts[round];
        unsigned char *to = dest + area * (size_t)round;

        type->fill(source, count, r->op, seed_of(shmem_my_pe(), round));
        if (count == 0)
            r->call(NULL, NULL, 0, set, w->pwrk, w->psync);
        else
            r->call(to, round % 2 ? to : source, counts[round], set, w->pwrk, w->psync);
        check_restored(w);
        memset(source, 0x77, count * type->size);
        type->fill(expected, count, r->op, seed_of(set->start, round));
        for (int i = 1; i < set->size; i++) {
            type->fill(theirs, count, r->op, seed_of(world_number(set, i), round));
            type->combine(expected, theirs, count, r->op);
        }
        CHECK(same_values(type, to, expected, count));
        CHECK(to[count * type->size] == CANARY);
    }
    shmem_barrier_all();
}

/* ---- barriers ---- */

/* The same pSync again and again. barrier completes what is pending on the default context. */
static void check_barriers(const struct set *set, const struct work *w)
{
    static long counter, values[50], mine[50];

    counter = 0;
    shmem_barrier_all();
    for (long round = 1; set->me >= 0 && round <= 40; round++) {
        int next = world_number(set, (set->me + 1) % set->size);
        int from = world_number(set, (set->me + set->size - 1) % set->size);

        for (int i = 0; i < 50; i++)
            mine[i] = round * 1000 + shmem_my_pe();
        shmem_long_put_nbi(values, mine, 50, next);
        shmem_long_atomic_inc(&counter, set->start);
        shmem_barrier(set->start, set->log_stride, set->size, w->psync);
        CHECK(values[0] == round * 1000 + from && values[49] == round * 1000 + from);
        CHECK(shmem_long_atomic_fetch(&counter, set->start) == round * set->size);
        shmem_sync(set->start, set->log_stride, set->size, w->psync);
    }
    shmem_barrier_all();
    check_restored(w);
}

/* A store into another PE's memory, made visible by sync alone. */
static void check_sync(const struct set *set, const struct work *w)
{
    static long mark;
    long *there = NULL;
    int written = 0; /* whether the one before can store into this PE's */

    shmem_barrier_all();
    if (set->me >= 0) {
        there = shmem_ptr(&mark, world_number(set, (set->me + 1) % set->size));
        written = shmem_ptr(&mark, world_number(set, (set->me + set->size - 1) % set->size)) !=
                  NULL;
    }
    for (long round = 1; set->me >= 0 && round <= 40; round++) {
        if (there)
            *there = round;
        shmem_sync(set->start, set->log_stride, set->size, w->psync);
        CHECK(!written || mark == round);
        shmem_sync(set->start, set->log_stride, set->size, w->psync);
    }
    shmem_barrier_all();
}

static void check_set(const struct set *set)
{
    static char text[100];

    check_case = text;
    for (int i = 0; i < PSYNCS * 2; i++) {
        snprintf(text, sizeof text, "barriers of %d, %d, %d", set->start, set->log_stride,
                 set->size);
        check_barriers(set, &work[i]);
        check_sync(set, &work[i]);
    }
    for (int i = 0; i < MOVERS; i++) {
        snprintf(text, sizeof text, "%s of %d, %d, %d", movers[i].name, set->start, set->log_stride,
                 set->size);
        check_mover(&movers[i], set);
    }
    for (int i = 0; i < REDUCERS; i++) {
        snprintf(text, sizeof text, "%s of %d, %d, %d", reducers[i].name, set->start,
                 set->log_stride, set->size);
        check_reducer(&reducers[i], set);
    }
}

/* Each word has a value of its own round and root, in dest of all but the root, and in no other
 * array. */
static void check_large_words(const uint64_t *to, const uint64_t *from, size_t count, uint64_t own,
                              uint64_t came)
{
    int right = 1, kept = 1;

    for (size_t i = 0; i < count; i++) {
        right &= to[i] == came + i;
        kept &= from[i] == own + i;
    }
    CHECK(right);
    CHECK(kept);
}

/* Broadcasts of sizes that go in other ways than a few elements; each PE of the set is the root
 * once. */
static void check_large_broadcasts(const struct set *set)
{
    static const size_t counts[] = {1500, 3000, 5000, 9000, 40000};
    enum { MOST = 40000 };
    uint64_t *to = shmem_malloc(MOST * 8), *from = shmem_malloc(MOST * 8);

    check_case = "large broadcasts";
    for (size_t k = 0; to && from && k < sizeof counts / sizeof counts[0]; k++)
        for (int root = 0; root < set->size; root++) {
            uint64_t own = (k * MOST_PES + (uint64_t)set->me + 1) << 32;
            uint64_t came = (k * MOST_PES + (uint64_t)root + 1) << 32;
            for (size_t i = 0; i < counts[k]; i++) {
                to[i] = i;
                from[i] = own + i;
            }
            shmem_barrier_all();
            if (set->me < 0)
                continue;
            shmem_broadcast64(to, from, counts[k], root, set->start, set->log_stride, set->size,
                              static_psync[root % PSYNCS]);
            check_large_words(to, from, counts[k], own, set->me == root ? 0 : came);
        }
    CHECK(to && from);
    shmem_barrier_all();
    shmem_free(from);
    shmem_free(to);
}

/* Two sets at the same time, the even and the odd PEs, and then the whole. */
static void check_disjoint_sets(int me, int npes)
{
    static long ones, sum, total, pwrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
    int size = me % 2 ? npes / 2 : (npes + 1) / 2;

    check_case = "disjoint sets";
    ones = 1;
    for (int round = 0; round < 20; round++) {
        shmem_barrier_all();
        shmem_long_sum_to_all(&sum, &ones, 1, me % 2, 1, size, pwrk, static_psync[0]);
        CHECK(sum == size);
        shmem_barrier_all();
        shmem_long_sum_to_all(&total, &sum, 1, 0, 0, npes, pwrk, static_psync[1]);
        CHECK(total == (long)((npes + 1) / 2) * ((npes + 1) / 2) + (long)(npes / 2) * (npes / 2));
    }
}

/* Programs may not set a work array when others may have entered already, but many do, on sets of
 * all PEs. */
static void check_late_work_arrays(int me, int npes)
{
    static long sum, own, psync[SHMEM_REDUCE_SYNC_SIZE], pwrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE];

    check_case = "late work arrays";
    for (int round = 0; round < 20; round++) {
        own = round + me;
        shmem_barrier_all();
        if (round % npes == me)
            usleep(2000);
        for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
            psync[i] = SHMEM_SYNC_VALUE;
        shmem_long_sum_to_all(&sum, &own, 1, 0, 0, npes, pwrk, psync);
        CHECK(sum == (long)npes * round + (long)npes * (npes - 1) / 2);
    }
}

static int allocate(int npes)
{
    area = (size_t)npes * COUNT * STRIDE * 8;
    area = area < 16 * COUNT + 16 ? 16 * COUNT + 16 : (area + 15) / 16 * 16;
    dest = shmem_malloc(area * ROUNDS);
    source = shmem_malloc(area);
    expected = malloc(area);
    theirs = malloc(area);
    for (int i = 0; i < PSYNCS * 2; i++) {
        work[i].psync = i % 2 ? static_psync[i / 2] : shmem_malloc(sizeof static_psync[0]);
        work[i].pwrk = i % 2 ? static_pwrk[i / 2] : shmem_malloc(sizeof static_pwrk[0]);
        if (!work[i].psync || !work[i].pwrk)
            return 0;
        for (int j = 0; j < SHMEM_SYNC_SIZE; j++)
            work[i].psync[j] = SHMEM_SYNC_VALUE;
    }
    return dest && source && expected && theirs;
}

int main(void)
{
    int me, npes, status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    if (!allocate(npes)) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    const struct set sets[] = {
        {0, 0, npes, 0},     {1, 0, npes - 1, 0},       {0, 1, (npes + 1) / 2, 0},
        {1, 1, npes / 2, 0}, {0, 2, (npes + 3) / 4, 0}, {npes - 1, 0, 1, 0},
    };
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        struct set set = sets[i];
        set.me = -1;
        for (int j = 0; j < set.size; j++)
            if (world_number(&set, j) == me)
                set.me = j;
        if (set.size > 0) {
            check_set(&set);
            check_large_broadcasts(&set);
        }
    }
    check_disjoint_sets(me, npes);
    check_late_work_arrays(me, npes);
    status = check_end("activesets");
    shmem_finalize();
    return status;
}

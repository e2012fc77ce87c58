/* The algorithms of the collective routines, on jobs of which every PE is a coroutine (fake_job.h):
 * each way to place PEs on nodes, each algorithm, sizes around the limits between them, many orders
 * in which PEs run. A member uses every freedom that it has after a collective: it overwrites what
 * the others have read. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "core/memory/staged.h"
#include "coll/alltoall.h"
#include "coll/broadcast.h"
#include "coll/collect.h"
#include "coll/reduce.h"
#include "coll/reduce_part.h"
#include "coll/scan.h"
#include "core/start/config.h"
#include "core/start/world.h"
#include "fake_job.h"
#include "suite.h"

enum { MOST = 16000 }; /* bytes of a member's array */

/* ---- operations ---- */

/* Two words that are added up. */
struct pair {
    uint64_t a, b;
};

static void add_pairs(void *dest, const void *left, const void *right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct pair l = ((const struct pair *)left)[i], r = ((const struct pair *)right)[i];
        ((struct pair *)dest)[i] = (struct pair){l.a + r.a, l.b + r.b};
    }
}

static const struct sy_operation add = {add_pairs, sizeof(struct pair)};

/* Member i's value at place k of round `round`: no sum over a part of the members equals that over
 * another part. */
static struct pair pair_of(long round, int i, size_t k)
{
    return (struct pair){UINT64_C(1) << i, ((uint64_t)round << 40 | (uint64_t)k << 8 | (uint64_t)i) * 0x9e3779b97f4a7c15u};
}

static unsigned char byte_of(long round, int i, size_t k)
{
    return (unsigned char)(round * 31 + i * 17 + (long)k * 7 + (long)(k >> 8));
}

/* ---- a PE's part in each routine ---- */

struct arrays {
    char *source, *dest;
};

static void fill(char *to, long round, int i, size_t length)
{
    for (size_t k = 0; k < length; k++)
        to[k] = (char)byte_of(round, i, k);
}

static void same_bytes(const char *at, long round, int i, size_t from, size_t length, const char *what)
{
    for (size_t k = 0; k < length; k++)
        FAKE_SAME((unsigned char)at[k], byte_of(round, i, from + k), what);
}

static void do_broadcast(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    int root = (int)(round % group->members.size), me = group->members.me;

    fill(a->source, round, me, length);
    sy_broadcast(group, a->dest, a->source, length, root);
    if (me != root || !group->psync)
        same_bytes(a->dest, round, root, 0, length, "broadcast");
}

static void do_fcollect(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    int size = group->members.size;

    length = length * (size_t)size > MOST ? MOST / (size_t)size / 8 * 8 : length;
    fill(a->source, round, group->members.me, length);
    sy_fcollect(group, a->dest, a->source, length);
    for (int i = 0; i < size; i++)
        same_bytes(a->dest + (size_t)i * length, round, i, 0, length, "fcollect");
}

static size_t length_of(long round, int i, size_t length)
{
    return (size_t)(round * 7 + i * 5) % 4 * (length / 8) / 4 * 8;
}

static void do_collect(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    int size = group->members.size;
    size_t at = 0;

    length = length * (size_t)size > MOST ? MOST / (size_t)size / 8 * 8 : length;
    fill(a->source, round, group->members.me, length);
    sy_collect(group, a->dest, a->source, length_of(round, group->members.me, length));
    for (int i = 0; i < size; at += length_of(round, i, length), i++)
        same_bytes(a->dest + at, round, i, 0, length_of(round, i, length), "collect");
}

static void do_alltoall(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    int size = group->members.size, me = group->members.me;

    length = length * (size_t)size > MOST ? MOST / (size_t)size / 8 * 8 : length;
    fill(a->source, round, me, length * (size_t)size);
    sy_alltoall(group, a->dest, a->source, length);
    for (int i = 0; i < size; i++)
        same_bytes(a->dest + (size_t)i * length, round, i, (size_t)me * length, length, "alltoall");
}

/* Elements of 4 bytes, every other one of the source, every third place of dest. */
static void do_alltoalls(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    enum { SIZE = 4, FROM = 2 * SIZE, TO = 3 * SIZE, ELEMENTS = 40 };
    int size = group->members.size, me = group->members.me;
    size_t count = length / TO < ELEMENTS ? length / TO : ELEMENTS; /* between nodes each is a message */

    if (count > MOST / TO / (size_t)size)
        count = MOST / TO / (size_t)size;

    fill(a->source, round, me, count * (size_t)size * FROM);
    memset(a->dest, 0x77, MOST);
    sy_alltoalls(group, a->dest, a->source, TO, FROM, SIZE, count);
    for (int i = 0; i < size; i++)
        for (size_t k = 0; k < count; k++) {
            size_t to = ((size_t)i * count + k) * TO, from = ((size_t)me * count + k) * FROM;
            same_bytes(a->dest + to, round, i, from, SIZE, "alltoalls");
            FAKE_SAME(a->dest[to + SIZE], 0x77, "between alltoalls' elements");
        }
}

static void same_sums(const void *at, long round, int members, size_t count, const char *what)
{
    for (size_t k = 0; k < count; k++) {
        struct pair got, all = {0, 0};
        for (int i = 0; i < members; i++) {
            struct pair next = pair_of(round, i, k);
            add_pairs(&all, &all, &next, 1);
        }
        memcpy(&got, (const struct pair *)at + k, sizeof got);
        FAKE_SAME(got.a, all.a, what);
        FAKE_SAME(got.b, all.b, what);
    }
}

static struct pair *bring_pairs(const struct sy_group *group, const struct arrays *a, long round, size_t count)
{
    struct pair *mine = (struct pair *)(round % 2 ? a->dest : a->source); /* in place every other time */

    for (size_t k = 0; k < count; k++)
        mine[k] = pair_of(round, group->members.me, k);
    return mine;
}

static void do_reduce(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    size_t count = length / sizeof(struct pair);

    sy_reduce(group, add, a->dest, bring_pairs(group, a, round, count), count);
    same_sums(a->dest, round, group->members.size, count, "reduce");
}

static void do_reduce_few(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    size_t count = (length < SY_REDUCE_FEW ? length : SY_REDUCE_FEW) / sizeof(struct pair);

    if (!group->psync && count) {
        sy_reduce_few(group, add, a->dest, bring_pairs(group, a, round, count), count);
        same_sums(a->dest, round, group->members.size, count, "reduce of few");
    }
}

static void do_scan(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    bool inclusive = round / 2 % 2;
    size_t count = length / sizeof(struct pair);

    if (!group->psync) {
        sy_scan(group, add, a->dest, bring_pairs(group, a, round, count), count, inclusive);
        same_sums(a->dest, round, group->members.me + inclusive, count, "scan");
    }
}

/* No member leaves before all have entered. */
static long entered[FAKE_PES];

static void do_sync(const struct sy_group *group, const struct arrays *a, long round, size_t length)
{
    (void)a, (void)length;
    int me = sy_members_pe(&group->members, group->members.me);

    entered[me] = round + 1;
    sy_group_sync(group);
    for (int i = 0; i < group->members.size; i++)
        if (entered[sy_members_pe(&group->members, i)] < round + 1)
            FAKE_SAME(entered[sy_members_pe(&group->members, i)], round + 1, "entered");
}

typedef void routine(const struct sy_group *group, const struct arrays *a, long round, size_t length);

static routine *const routines[] = {do_broadcast, do_fcollect,   do_collect, do_alltoall, do_alltoalls,
                                    do_reduce,    do_reduce_few, do_scan,    do_sync};
enum { ROUTINES = sizeof routines / sizeof *routines };

/* ---- jobs ---- */

static const size_t lengths[] = {0, 8, 64, 504, 520, 1040, 4096, 8200, 15000};
static long rounds;

/* So many collectives in a row have arrays of their own, and may overlap: a member is ahead of
 * others as far as the routines let it. */
enum { ROW = 20 };

/* A sequence of collectives that the dice determine. */
static void storm_on(const struct sy_group *group)
{
    struct arrays a[ROW];
    int used = 0;

    for (int i = 0; i < ROW; i++)
        a[i] = (struct arrays){fake_alloc(MOST), fake_alloc(MOST)};
    for (long round = 0; round < rounds; round++) {
        routine *what = routines[fake_common(ROUTINES)];
        size_t length = lengths[fake_common(sizeof lengths / sizeof *lengths)];
        if (!fake_own(8)) /* a PE that is late */
            for (uint64_t i = fake_own(200); i; i--)
                fake_yield();
        what(group, &a[used], round, length);
        memset(a[used].source, 0x33, MOST); /* others have read what they need */
        memset(a[used].dest, 0x33, MOST);
        if (++used == ROW) {
            sy_group_sync(group);
            used = 0;
        }
    }
    sy_group_sync(group);
}

static void storm(struct sy_group *world)
{
    storm_on(world);
}

/* Two teams at the same time: PEs with an odd number from the last one on, and the others in their
 * order. Then all. */
static void storm_of_teams(struct sy_group *world)
{
    int size = world->members.size;
    struct sy_group half = sy_world.pe % 2 ? fake_team(size - 1 - size % 2, -2, size / 2)
                                           : fake_team(0, 2, size - size / 2);

    storm_on(&half);
    storm_on(world);
}

/* An active set of PEs 1, 3, 5, ...; psync is restored. */
static void storm_of_sets(struct sy_group *world)
{
    int size = world->members.size / 2;
    long *psync = fake_alloc(SHMEM_REDUCE_SYNC_SIZE * sizeof *psync);

    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        psync[i] = SHMEM_SYNC_VALUE;
    sy_group_sync(world);
    if (sy_world.pe % 2) {
        struct sy_group set = sy_group_of_set("test", 1, 1, size, psync);
        storm_on(&set);
    }
    sy_group_sync(world);
    for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++)
        FAKE_SAME(psync[i], SHMEM_SYNC_VALUE, "psync");
}

/* A broadcast's root waits only where it must. */
static void one_after_the_other(struct sy_group *world)
{
    for (long i = 0; i < 4 * SY_NOTIFY_COLLECTIVES; i++) {
        struct arrays a = {fake_alloc(64), fake_alloc(64)};
        for (uint64_t late = world->members.me ? fake_own(100) : 0; late; late--)
            fake_yield();
        do_broadcast(world, &a, i * world->members.size, 64);
    }
    sy_group_sync(world);
}

/* ---- placements ---- */

static const struct placement {
    const char *name;
    int npes, place[FAKE_PES];
} placements[] = {
    {"one PE", 1, {0}},
    {"two PEs on a node", 2, {0}},
    {"three PEs on a node", 3, {0}},
    {"as many as look at each other", 8, {0}},
    {"one more", 9, {0}},
    {"so many that slots are joined", 20, {0}},
    {"two nodes of one PE", 2, {0, 1}},
    {"five nodes of one PE", 5, {0, 1, 2, 3, 4}},
    {"nodes of two PEs, the last of one", 5, {0, 0, 1, 1, 2}},
    {"four nodes of two PEs", 8, {0, 0, 1, 1, 2, 2, 3, 3}},
    {"PEs in turn on three nodes", 8, {0, 1, 2, 0, 1, 2, 0, 1}},
    {"no rule", 9, {0, 1, 0, 2, 2, 0, 1, 2, 2}},
    {"a node of ten PEs and one of three", 13, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1}},
    {"nine nodes", 11, {0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 0}},
    {"twenty-two nodes", 24, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 16, 16, 17, 18, 19, 20, 21}},
    {"forty nodes", 40, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
                         20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39}},
};
enum { PLACEMENTS = sizeof placements / sizeof *placements };

/* With SY_TEST_FULL so many collectives, else three fifths of them: each routine, and each length, has many in all placements. */
static void set_rounds(long full)
{
    rounds = getenv("SY_TEST_FULL") ? full : full * 3 / 5;
}

/* With SY_TEST_FULL in thirty times as many orders. */
static void run_all(const struct placement *p, const char *what, int seeds, void (*body)(struct sy_group *))
{
    if (getenv("SY_TEST_FULL"))
        seeds *= 30;
    for (int seed = 1; seed <= seeds; seed++) {
        snprintf(fake_what, sizeof fake_what, "%s, %s, seed %d", p->name, what, seed);
        fake_run((uint64_t)seed, p->npes, p->place, body);
    }
}

START_TEST(all_routines)
{
    set_rounds(40);
    run_all(&placements[_i], "storm", 1, storm);
}
END_TEST

START_TEST(teams)
{
    set_rounds(15);
    if (placements[_i].npes > 1)
        run_all(&placements[_i], "teams", 1, storm_of_teams);
}
END_TEST

/* Nodes outnumber processors: small data go along trees. */
static void run_short_of_processors(const struct placement *p)
{
    sy_world.nodes_crowd = true;
    set_rounds(30);
    run_all(p, "storm along trees", 1, storm);
    run_all(p, "broadcasts along trees", 1, one_after_the_other);
    if (p->npes > 1) {
        run_all(p, "teams along trees", 1, storm_of_teams);
        run_all(p, "active sets, few pairs", 1, storm_of_sets);
    }
}

START_TEST(short_of_processors)
{
    run_short_of_processors(&placements[_i]);
}
END_TEST

/* And all are below the first, up to a number. */
START_TEST(two_processors)
{
    sy_world.crowd_processors = 2;
    run_short_of_processors(&placements[_i]);
}
END_TEST

START_TEST(active_sets)
{
    set_rounds(15);
    if (placements[_i].npes > 1)
        run_all(&placements[_i], "active sets", 1, storm_of_sets);
}
END_TEST

START_TEST(flags_are_used_again)
{
    run_all(&placements[_i], "broadcasts", 1, one_after_the_other);
}
END_TEST

/* ---- algorithms that are asked for by name ---- */

static const struct {
    const char *name;
    struct sy_config config;
} algorithms[] = {
    {"linear",
     {.barrier_algorithm = SY_BARRIER_LINEAR, .bcast_algorithm = SY_BCAST_LINEAR, .reduce_algorithm = SY_REDUCE_LINEAR,
      .scan_algorithm = SY_SCAN_LINEAR, .collect_algorithm = SY_COLLECT_LINEAR, .fcollect_algorithm = SY_COLLECT_LINEAR}},
    {"trees of radix 2",
     {.barrier_algorithm = SY_BARRIER_TREE, .bcast_algorithm = SY_BCAST_TREE, .reduce_algorithm = SY_REDUCE_TREE,
      .coll_radix = 2}},
    {"trees of radix 3",
     {.barrier_algorithm = SY_BARRIER_TREE, .bcast_algorithm = SY_BCAST_TREE, .reduce_algorithm = SY_REDUCE_TREE,
      .coll_radix = 3}},
    {"doubling distances",
     {.barrier_algorithm = SY_BARRIER_DISSEM, .reduce_algorithm = SY_REDUCE_RECDBL,
      .fcollect_algorithm = SY_COLLECT_RECDBL}},
    {"rings",
     {.reduce_algorithm = SY_REDUCE_RING, .scan_algorithm = SY_SCAN_RING, .fcollect_algorithm = SY_COLLECT_RING}},
};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

START_TEST(algorithms_by_name)
{
    set_rounds(15);
    sy_config = algorithms[_i].config;
    for (int p = 0; p < PLACEMENTS; p++)
        run_all(&placements[p], algorithms[_i].name, 1, storm);
}
END_TEST

/* ---- long lines ---- */

enum { LONG = 2400000 }; /* each node's part is many chunks */
static size_t long_length;

static struct arrays enter_long_line(struct sy_group *world)
{
    struct arrays a = {fake_alloc(LONG), fake_alloc(LONG)};

    sy_group_sync(world);
    fake_latencies = 0;
    return a;
}

static void long_reduce(struct sy_group *world)
{
    struct arrays a = enter_long_line(world);

    do_reduce(world, &a, 0, long_length);
}

static void long_broadcast(struct sy_group *world)
{
    struct arrays a = enter_long_line(world);

    do_broadcast(world, &a, 0, long_length);
}

static void long_collection(struct sy_group *world, bool fixed)
{
    struct arrays a = enter_long_line(world);
    size_t length = long_length / (size_t)world->members.size / 8 * 8;

    fill(a.source, 0, world->members.me, length);
    (fixed ? sy_fcollect : sy_collect)(world, a.dest, a.source, length);
    for (int i = 0; i < world->members.size; i++)
        same_bytes(a.dest + (size_t)i * length, 0, i, 0, length, "collected");
}

static void long_fcollect(struct sy_group *world)
{
    long_collection(world, true);
}

static void long_collect(struct sy_group *world)
{
    long_collection(world, false);
}

/* What follows each other on a line does not wait for what is before it to arrive. Around a ring of five nodes the first
 * chunks take four latencies, twice in a reduction; between 32 nodes a message takes part in five rounds. A few more are
 * for word of who has entered and what has arrived. */
static const struct {
    void (*body)(struct sy_group *);
    const char *name;
    int pes, nodes;
    size_t length;
    long least, most;
} long_rows[] = {
    {long_reduce, "reduce", 5, 5, LONG, 8, 12},
    {long_reduce, "reduce", 10, 5, LONG, 8, 12},
    {long_reduce, "reduce", 32, 32, 32000, 5, 12},
    {long_broadcast, "broadcast", 5, 5, LONG, 3, 6},
    {long_broadcast, "broadcast", 10, 5, LONG, 3, 6},
    {long_fcollect, "fcollect", 5, 5, LONG, 4, 6},
    {long_fcollect, "fcollect", 10, 5, LONG, 4, 6},
    {long_collect, "collect", 5, 5, LONG, 5, 8},
    {long_collect, "collect", 10, 5, LONG, 5, 8},
};
enum { LONG_ROWS = sizeof long_rows / sizeof *long_rows };

START_TEST(long_lines)
{
    int where[FAKE_PES];

    fake_long_line = true;
    long_length = long_rows[_i].length;
    for (int i = 0; i < long_rows[_i].pes; i++)
        where[i] = i * long_rows[_i].nodes / long_rows[_i].pes;
    snprintf(fake_what, sizeof fake_what, "%s of %zu bytes, %d PEs on %d nodes, long lines", long_rows[_i].name,
             long_length, long_rows[_i].pes, long_rows[_i].nodes);
    fake_run(1, long_rows[_i].pes, where, long_rows[_i].body);
    ck_assert_msg(fake_latencies >= long_rows[_i].least && fake_latencies <= long_rows[_i].most, "%s: %ld latencies",
                  fake_what, fake_latencies);
}
END_TEST

START_TEST(memory_of_a_device)
{
    set_rounds(15);
    sy_staged_windows = 1;
    for (int p = 0; p < PLACEMENTS; p++)
        run_all(&placements[p], "memory of a device", 1, storm);
}
END_TEST

/* ---- kernels ---- */

/* Each operation of a type, on values that include the least and the greatest, compared with C. */
#define CHECK_KERNEL(TYPE, KERNEL, EXPRESSION)                                                     \
    do {                                                                                           \
        TYPE got[COUNT];                                                                           \
        (KERNEL)(got, left, right, COUNT);                                                         \
        for (int i = 0; i < COUNT; i++) {                                                          \
            TYPE l = left[i], r = right[i];                                                        \
            TYPE wanted = (TYPE)(EXPRESSION);                                                      \
            ck_assert_msg(got[i] == wanted, "%s, place %d: %s", #TYPE, i, #EXPRESSION);            \
        }                                                                                          \
    } while (0)
#define FILL(TYPE, LEAST, GREATEST)                                                                \
    TYPE left[COUNT], right[COUNT];                                                                \
    for (int i = 0; i < COUNT; i++) {                                                              \
        left[i] = (TYPE)(i % 5 == 0 ? (LEAST) : i % 5 == 1 ? (GREATEST) : (TYPE)(i * 37 - 90));    \
        right[i] = (TYPE)(i % 7 == 0 ? (LEAST) : i % 7 == 1 ? (GREATEST) : (TYPE)(200 - i * 53));  \
    }
#define CHECK_COMPARE(TYPE)                                                                        \
    CHECK_KERNEL(TYPE, SY_COMPARE_KERNEL(max, TYPE), l > r ? l : r);                               \
    CHECK_KERNEL(TYPE, SY_COMPARE_KERNEL(min, TYPE), l < r ? l : r)
#define CHECK_INTEGERS(TYPE, UNSIGNED, LEAST, GREATEST)                                            \
    do {                                                                                           \
        FILL(TYPE, LEAST, GREATEST)                                                                \
        CHECK_COMPARE(TYPE);                                                                       \
        CHECK_KERNEL(TYPE, SY_BITWISE_KERNEL(and, TYPE), l & r);                                   \
        CHECK_KERNEL(TYPE, SY_BITWISE_KERNEL(or, TYPE), l | r);                                    \
        CHECK_KERNEL(TYPE, SY_BITWISE_KERNEL(xor, TYPE), l ^ r);                                   \
        CHECK_KERNEL(TYPE, SY_ARITHMETIC_KERNEL(sum, TYPE), (UNSIGNED)l + (UNSIGNED)r);            \
        CHECK_KERNEL(TYPE, SY_ARITHMETIC_KERNEL(prod, TYPE), 1u * (UNSIGNED)l * (UNSIGNED)r);      \
    } while (0)
#define CHECK_REALS(TYPE)                                                                          \
    do {                                                                                           \
        FILL(TYPE, -1e30, 1e30)                                                                    \
        CHECK_COMPARE(TYPE);                                                                       \
        CHECK_KERNEL(TYPE, SY_ARITHMETIC_KERNEL(sum, TYPE), l + r);                                \
        CHECK_KERNEL(TYPE, SY_ARITHMETIC_KERNEL(prod, TYPE), l *r);                                \
    } while (0)

enum { COUNT = 70 };

START_TEST(integers)
{
    CHECK_INTEGERS(signed char, unsigned char, INT8_MIN, INT8_MAX);
    CHECK_INTEGERS(unsigned char, unsigned char, 0, UINT8_MAX);
    CHECK_INTEGERS(short, unsigned short, INT16_MIN, INT16_MAX);
    CHECK_INTEGERS(unsigned short, unsigned short, 0, UINT16_MAX);
    CHECK_INTEGERS(int, unsigned, INT32_MIN, INT32_MAX);
    CHECK_INTEGERS(unsigned, unsigned, 0, UINT32_MAX);
    CHECK_INTEGERS(long long, unsigned long long, INT64_MIN, INT64_MAX);
    CHECK_INTEGERS(unsigned long, unsigned long, 0, UINT64_MAX);
}
END_TEST

START_TEST(reals)
{
    CHECK_REALS(float);
    CHECK_REALS(double);
    CHECK_REALS(long double);
}
END_TEST

START_TEST(complex_numbers)
{
    sy_complexd left[] = {1 + 2 * (sy_complexd)1.0i, 5}, right[] = {3 - 1 * (sy_complexd)1.0i, 2.0i}, got[2];

    SY_ARITHMETIC_KERNEL(sum, sy_complexd)(got, left, right, 2);
    ck_assert(got[0] == 4 + 1.0i && got[1] == 5 + 2.0i);
    SY_ARITHMETIC_KERNEL(prod, sy_complexd)(got, left, right, 2);
    ck_assert(got[0] == 5 + 5.0i && got[1] == 10.0i);
}
END_TEST

/* ---- who does what ---- */

/* Exactly one worker combines each element, whatever the numbers. */
START_TEST(parts)
{
    static const size_t sizes[] = {1, 2, 4, 8, 16};

    for (int members = 1; members < 40; members++)
        for (size_t count = 0; count < 700; count += 1 + count / 9)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                size_t before = 0, first, end;
                for (int i = 0; i < members; i++, before = end) {
                    sy_reduce_part(members, sizes[s], count, i, &first, &end);
                    ck_assert_msg(first == before && end >= first, "part %d of %d, %zu elements", i, members, count);
                    ck_assert(first == count || first * sizes[s] % SY_LINE == 0);
                }
                ck_assert_uint_eq(before, count);
            }
}
END_TEST

/* A power of two of parties take part in the rounds of pairs, each once; every other party has one
 * that stands for it. */
START_TEST(pairs)
{
    for (int size = 1; size < 100; size++) {
        int who[128], taking = 0;
        memset(who, -1, sizeof who);
        for (int me = 0; me < size; me++) {
            struct sy_pairs p = sy_pairs_make(size, me);
            ck_assert_int_eq(size, p.extra + (1 << p.rounds));
            if (p.rank < 0) {
                ck_assert_int_ge(sy_pairs_make(size, me + 1).rank, 0);
                continue;
            }
            ck_assert_int_eq(who[p.rank], -1);
            ck_assert_int_eq(sy_pairs_party(&p, p.rank), me);
            who[p.rank] = me;
            taking++;
        }
        ck_assert_int_eq(taking, 1 << sy_pairs_make(size, 0).rounds);
    }
}
END_TEST

static void add_loops(Suite *suite)
{
    TCase *jobs = tcase_create("jobs"), *named = tcase_create("algorithms");

    tcase_set_timeout(jobs, 600); /* of the full set, on a machine that does much else */
    tcase_set_timeout(named, 600);
    tcase_add_loop_test(jobs, all_routines, 0, PLACEMENTS);
    tcase_add_loop_test(jobs, teams, 0, PLACEMENTS);
    tcase_add_loop_test(jobs, short_of_processors, 0, PLACEMENTS);
    tcase_add_loop_test(jobs, two_processors, 0, PLACEMENTS);
    tcase_add_loop_test(jobs, active_sets, 0, PLACEMENTS);
    tcase_add_loop_test(jobs, flags_are_used_again, 0, PLACEMENTS);
    tcase_add_loop_test(named, algorithms_by_name, 0, ALGORITHMS);
    tcase_add_test(named, memory_of_a_device);
    tcase_add_loop_test(named, long_lines, 0, LONG_ROWS);
    suite_add_tcase(suite, jobs);
    suite_add_tcase(suite, named);
}

int main(void)
{
    Suite *suite = suite_create("collectives");
    TCase *kernels = tcase_create("kernels"), *work = tcase_create("division of work");

    tcase_add_test(kernels, integers);
    tcase_add_test(kernels, reals);
    tcase_add_test(kernels, complex_numbers);
    tcase_add_test(work, parts);
    tcase_add_test(work, pairs);
    suite_add_tcase(suite, kernels);
    suite_add_tcase(suite, work);
    add_loops(suite);
    return suite_run(suite);
}

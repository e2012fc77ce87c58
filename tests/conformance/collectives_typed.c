/* Collective routines on teams that move data (9.10.5 to 9.10.8): each routine, for each type and
 * for bytes, on teams of several shapes, compared with a serial model. A row of the table is a type
 * with its routines behind thunks of one signature, so that the checks are ordinary functions on
 * bytes. Also the barriers of teams (9.10.1, 9.10.3, 9.10.4). */
#include <stdlib.h>
#include <string.h>
#include "team_cases.h"

typedef int contiguous(shmem_team_t team, void *dest, const void *source, size_t nelems);
typedef int strided(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                    size_t nelems);
typedef int rooted(shmem_team_t team, void *dest, const void *source, size_t nelems, int root);

struct row {
    const char *name;
    size_t size;  /* bytes of an element */
    size_t value; /* bytes of it that carry the value: fewer for long double */
    size_t shift; /* bytes off alignment, for the routines that have none */
    contiguous *alltoall, *collect, *fcollect;
    strided *alltoalls;
    rooted *broadcast;
};

/* clang-format off */

#define CONTIGUOUS(NAME, CALL) \
    static int NAME(shmem_team_t team, void *dest, const void *source, size_t nelems) \
    { \
        return CALL(team, dest, source, nelems); \
    }
#define STRIDED(NAME, CALL) \
    static int NAME(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, \
                    ptrdiff_t sst, size_t nelems) \
    { \
        return CALL(team, dest, source, dst, sst, nelems); \
    }
#define ROOTED(NAME, CALL) \
    static int NAME(shmem_team_t team, void *dest, const void *source, size_t nelems, int root) \
    { \
        return CALL(team, dest, source, nelems, root); \
    }

#define THUNKS(TYPENAME, TYPE) \
    CONTIGUOUS(TYPENAME##_alltoall, shmem_##TYPENAME##_alltoall) \
    STRIDED(TYPENAME##_alltoalls, shmem_##TYPENAME##_alltoalls) \
    ROOTED(TYPENAME##_broadcast, shmem_##TYPENAME##_broadcast) \
    CONTIGUOUS(TYPENAME##_collect, shmem_##TYPENAME##_collect) \
    CONTIGUOUS(TYPENAME##_fcollect, shmem_##TYPENAME##_fcollect)
SY_RMA_TYPES(THUNKS)

static const struct row rows[] = {
#define ROW(TYPENAME, TYPE) \
    {.name = #TYPENAME, .size = sizeof(TYPE), .value = VALUE_BYTES(TYPE), \
     .alltoall = TYPENAME##_alltoall, .alltoalls = TYPENAME##_alltoalls, \
     .broadcast = TYPENAME##_broadcast, .collect = TYPENAME##_collect, \
     .fcollect = TYPENAME##_fcollect},
    SY_RMA_TYPES(ROW)
    {.name = "mem", .size = 1, .value = 1, .shift = 1,
     .alltoall = shmem_alltoallmem, .alltoalls = shmem_alltoallsmem,
     .broadcast = shmem_broadcastmem, .collect = shmem_collectmem,
     .fcollect = shmem_fcollectmem},
};

/* clang-format on */

enum kind { ALLTOALL, ALLTOALLS, BROADCAST, COLLECT, FCOLLECT, KINDS };

static const char *const kinds[] = {"alltoall", "alltoalls", "broadcast", "collect", "fcollect"};

enum {
    ROWS = sizeof rows / sizeof rows[0],
    BEFORE = 48,          /* bytes before the data: a multiple of 16, the largest element */
    AFTER = 64,           /* bytes after them that must stay as they are */
    LARGE = 70000,        /* bytes of the largest block, more than any buffer of the library */
    HUGE = (1 << 20) + 3, /* bytes of a block of the calls that are made for their size alone */
    STATIC_AREA = 1 << 18,
    CANARY = 0xc5
};

static unsigned char *heap_dest, *heap_source, *expected;
static _Alignas(64) unsigned char static_dest[STATIC_AREA], static_source[STATIC_AREA];

/* One call, as every member of the team sees it. */
struct call {
    const struct row *row;
    enum kind kind;
    const struct team_case *team;
    size_t nelems;
    ptrdiff_t dst, sst;
    int root;
    size_t stamp; /* differs for each call */
};

enum { TOP = 0x7f, RUN = 256 }; /* values of a byte; bytes of a source that follow one pattern */

static unsigned char pattern[TOP + RUN]; /* each byte is the one before and 7, modulo TOP */

static void make_pattern(void)
{
    for (unsigned i = 0; i < sizeof pattern; i++)
        pattern[i] = (unsigned char)(7 * i % TOP);
}

/* `count` bytes of the source of PE pe, from byte `at` on. They differ between PEs and between
 * places, and none is a canary. Below 0x7f no floating type reads a NaN. */
static void source_bytes(unsigned char *to, const struct call *c, int pe, size_t at, size_t count)
{
    enum { INVERSE = 109 }; /* of 7, modulo TOP: where in the pattern a value is */

    while (count > 0) {
        size_t length = RUN - at % RUN < count ? RUN - at % RUN : count,
               byte = 17 + 31 * (size_t)pe + 7 * at + at / RUN + 3 * c->stamp;
        memcpy(to, &pattern[byte % TOP * INVERSE % TOP], length);
        to += length;
        at += length;
        count -= length;
    }
}

/* How many elements member i contributes to a collect: some members none. */
static size_t share(const struct call *c, int i)
{
    if (c->kind != COLLECT)
        return c->nelems;
    return c->nelems == 0 || (size_t)i % 3 == c->stamp % 3 ? 0 : c->nelems + (size_t)i % 4;
}

/* The elements of dest and source that a call spans. */
static size_t span(const struct call *c, ptrdiff_t stride)
{
    size_t total = 0;

    if (c->kind == BROADCAST)
        return c->nelems;
    for (int i = 0; i < c->team->size; i++)
        total += share(c, i);
    if (c->kind == ALLTOALLS)
        return (total - 1) * (size_t)stride + 1;
    return total;
}

/* From element `to` on this member's result has elements of PE pe, from element `from` on. */
static void model_elements(const struct call *c, size_t to, int pe, size_t from, size_t count)
{
    size_t size = c->row->size;

    source_bytes(expected + to * size, c, pe, from * size, count * size);
}

static void model(const struct call *c)
{
    const struct team_case *team = c->team;
    size_t done = 0, mine = (size_t)team->me * c->nelems;

    memset(expected, CANARY, span(c, c->dst) * c->row->size);
    for (int member = 0; member < team->size; member++) {
        size_t count = share(c, member);
        int pe = team->world[member];
        if (c->kind == BROADCAST && member != c->root)
            continue;
        for (size_t i = 0; c->kind == ALLTOALLS && i < count; i++)
            model_elements(c, (done + i) * (size_t)c->dst, pe, (mine + i) * (size_t)c->sst, 1);
        if (c->kind != ALLTOALLS)
            model_elements(c, c->kind == BROADCAST ? 0 : done, pe, c->kind == ALLTOALL ? mine : 0,
                           count);
        done += count;
    }
}

static int invoke(const struct call *c, void *dest, const void *source)
{
    const struct row *row = c->row;
    shmem_team_t team = c->team->team;

    switch (c->kind) {
    case ALLTOALL:
        return row->alltoall(team, dest, source, c->nelems);
    case ALLTOALLS:
        return row->alltoalls(team, dest, source, c->dst, c->sst, c->nelems);
    case BROADCAST:
        return row->broadcast(team, dest, source, c->nelems, c->root);
    case COLLECT:
        return row->collect(team, dest, source, share(c, c->team->me));
    default:
        return row->fcollect(team, dest, source, c->nelems);
    }
}

static int untouched(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != CANARY)
            return 0;
    return 1;
}

/* The arrays lie in the heap or among the statics, in all four ways. The source is used again as
 * soon as the call has returned, without waiting for the others. */
static void check_call(const struct call *c)
{
    const struct row *row = c->row;
    size_t bytes = span(c, c->dst) * row->size, given = span(c, c->sst) * row->size;
    int small = BEFORE + bytes + given + AFTER <= STATIC_AREA;
    unsigned char *dest = small && c->stamp % 2 ? static_dest : heap_dest;
    unsigned char *source = small && c->stamp / 2 % 2 ? static_source : heap_source;
    unsigned char *to = dest + BEFORE + row->shift, *from = source + BEFORE + 3 * row->shift;

    memset(dest, CANARY, BEFORE + row->shift + bytes + AFTER);
    source_bytes(from, c, shmem_my_pe(), 0, given);
    model(c);
    CHECK(shmem_team_sync(c->team->team) == 0);
    CHECK(invoke(c, to, from) == 0);
    memset(from, 0x77, given);
    CHECK(check_same(to, expected, bytes / row->size, row->size, row->value));
    CHECK(untouched(dest, (size_t)(to - dest)));
    CHECK(untouched(to + bytes, AFTER));
}

/* The same array as source and as result: the root's data reach all. */
static void check_same_array(const struct call *c)
{
    size_t bytes = c->nelems * c->row->size;
    unsigned char *both = heap_dest + BEFORE + c->row->shift;

    source_bytes(both, c, shmem_my_pe(), 0, bytes);
    model(c);
    CHECK(shmem_team_sync(c->team->team) == 0);
    CHECK(invoke(c, both, both) == 0);
    CHECK(check_same(both, expected, c->nelems, c->row->size, c->row->value));
}

static void check_row(const struct row *row, const struct team_case *team, int is_world)
{
    static const size_t counts[] = {1, 2, 7, 1000};
    static const ptrdiff_t strides[][2] = {{1, 1}, {2, 3}, {3, 1}, {1, 2}};
    static size_t stamp;
    static char text[100];

    check_case = text;
    for (int kind = 0; kind < KINDS; kind++) {
        struct call c = {.row = row, .kind = kind, .team = team, .dst = 1, .sst = 1};
        snprintf(text, sizeof text, "%s of %s, team %s", kinds[kind], row->name, team->name);
        stamp = ((size_t)(row - rows) * KINDS + (size_t)kind) * 16;
        CHECK(invoke(&c, NULL, NULL) == 0);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            c.nelems = counts[i];
            c.stamp = ++stamp;
            c.root = (int)(c.stamp % (size_t)team->size);
            c.dst = kind == ALLTOALLS ? strides[i][0] : 1;
            c.sst = kind == ALLTOALLS ? strides[i][1] : 1;
            check_call(&c);
        }
        if (kind == BROADCAST)
            check_same_array(&c);
        c.dst = c.sst = 1;
        c.nelems = LARGE / row->size;
        c.stamp = ++stamp;
        if (is_world || row->size == 1)
            check_call(&c);
    }
}

/* Every member broadcasts, to members that leave early and late. */
static void check_roots(const struct row *row, const struct team_case *team)
{
    check_case = "every root";
    for (int root = 0; root < team->size; root++) {
        struct call c = {.row = row,
                         .kind = BROADCAST,
                         .team = team,
                         .nelems = 5,
                         .dst = 1,
                         .sst = 1,
                         .root = root,
                         .stamp = (size_t)root};
        check_call(&c);
    }
}

static void check_invalid_team(const struct row *row)
{
    struct team_case none = {.team = SHMEM_TEAM_INVALID, .size = 1};

    check_case = "the invalid team";
    for (int kind = 0; kind < KINDS; kind++) {
        struct call c = {
            .row = row, .kind = kind, .team = &none, .nelems = 1, .dst = 1, .sst = 1, .stamp = 1};
        heap_dest[0] = CANARY;
        CHECK(invoke(&c, heap_dest, heap_source) != 0);
        CHECK(heap_dest[0] == CANARY);
    }
    CHECK(shmem_team_sync(SHMEM_TEAM_INVALID) != 0);
}

/* A barrier of a team is passed only when every member has come; stores that were made before are
 * visible after. Each team has its own words: PEs that are not in one may be at the next. */
static void check_sync(const struct team_case *team, int number)
{
    enum { ROUNDS = 50 };
    static long counters[TEAM_CASES], marks[TEAM_CASES];
    long *counter = &counters[number], *mark = &marks[number];
    int first = team->world[0], next = team->world[(team->me + 1) % team->size];
    int from = team->world[(team->me + team->size - 1) % team->size];
    long *theirs = shmem_ptr(mark, next);
    int written = shmem_ptr(mark, from) != NULL; /* then that one can store into this PE's */

    check_case = team->name;
    for (int round = 1; round <= ROUNDS; round++) {
        if (theirs)
            *theirs = round * 100 + shmem_my_pe();
        shmem_long_atomic_inc(counter, first);
        shmem_quiet();
        CHECK(shmem_team_sync(team->team) == 0);
        CHECK(shmem_long_atomic_fetch(counter, first) == (long)round * team->size);
        CHECK(!written || *mark == round * 100 + from);
        CHECK(shmem_team_sync(team->team) == 0);
    }
}

/* The barrier of all completes what is pending, and the other one only waits. */
static void check_barriers(void)
{
    static long values[100], mine[100];
    int npes = shmem_n_pes(), to = (shmem_my_pe() + 1) % npes,
        from = (shmem_my_pe() + npes - 1) % npes;

    check_case = "barriers of all";
    for (long round = 1; round <= 30; round++) {
        for (int i = 0; i < 100; i++)
            mine[i] = round * 1000 + shmem_my_pe() + i;
        shmem_long_put_nbi(values, mine, 100, to);
        shmem_barrier_all();
        CHECK(values[0] == round * 1000 + from && values[99] == round * 1000 + from + 99);
        shmem_sync_all();
    }
}

/* Megabytes of bytes at odd addresses. */
static void check_huge(const struct row *row, const struct team_case *team)
{
    static const enum kind which[] = {ALLTOALL, BROADCAST, COLLECT, FCOLLECT};

    check_case = "megabytes";
    for (size_t i = 0; i < sizeof which / sizeof which[0]; i++) {
        struct call c = {.row = row,
                         .kind = which[i],
                         .team = team,
                         .nelems = HUGE,
                         .dst = 1,
                         .sst = 1,
                         .root = team->size / 2,
                         .stamp = i};
        check_call(&c);
    }
}

/* Room for a block of HUGE bytes for each PE, which all other calls need less than. */
static int allocate(void)
{
    size_t area = BEFORE + AFTER + (size_t)shmem_n_pes() * (HUGE + 64);

    heap_dest = shmem_align(64, area);
    heap_source = shmem_align(64, area);
    expected = malloc(area);
    return heap_dest && heap_source && expected;
}

/* A PE that gives nothing to collect may pass no source. */
static void check_nothing_given(void)
{
    int me = shmem_my_pe(), npes = shmem_n_pes();

    for (int lazy = 0; lazy < npes && npes <= 8; lazy += npes - 1 ? npes - 1 : 1)
        for (size_t count = 5; count <= 50000; count *= 100) {
            long *source = shmem_malloc(count * sizeof *source), *at = NULL,
                 *dest = shmem_calloc(count * (size_t)npes, sizeof *dest);
            for (size_t i = 0; i < count; i++)
                source[i] = (long)i * 100 + me;
            CHECK(!shmem_long_collect(SHMEM_TEAM_WORLD, dest, me == lazy ? NULL : source,
                                      me == lazy ? 0 : count));
            at = dest;
            for (int pe = 0; pe < npes; pe++)
                for (size_t i = 0; pe != lazy && i < count; i += 1 + count / 8)
                    CHECK(at[(size_t)(pe - (pe > lazy)) * count + i] == (long)i * 100 + pe);
            shmem_free(dest);
            shmem_free(source);
        }
}

/* The argument N: every Nth row only. */
int main(int argc, char **argv)
{
    struct team_case teams[TEAM_CASES];
    int status, step = argc > 1 ? atoi(argv[1]) : 1;

    make_pattern();
    shmem_init();
    if (!allocate()) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    teams_make(teams);
    check_barriers();
    check_nothing_given();
    for (int j = 0; j < TEAM_CASES; j++) {
        if (teams[j].team == SHMEM_TEAM_INVALID)
            continue;
        check_sync(&teams[j], j);
        for (int i = 0; i < ROWS; i += step)
            check_row(&rows[i], &teams[j], j == TEAM_OF_ALL);
        check_roots(&rows[ROWS - 1], &teams[j]);
        if (j == TEAM_OF_ALL || j == TEAM_REVERSED)
            check_huge(&rows[ROWS - 1], &teams[j]);
    }
    for (int i = 0; i < ROWS; i++)
        check_invalid_team(&rows[i]);
    teams_destroy(teams);
    free(expected);
    shmem_free(heap_source);
    shmem_free(heap_dest);
    status = check_end("collectives_typed");
    shmem_finalize();
    return status;
}

/* Reductions and scans on teams (9.10.9, 9.10.10): each routine, for each type, on teams of several
 * shapes, in place and not, compared with a serial model. A row of the table is one routine behind
 * a thunk of one signature. */
#include <stdlib.h>
#include "team_cases.h"
#include "values.h"

typedef int reduction(shmem_team_t team, void *dest, const void *source, size_t count);

struct row {
    const char *name;
    reduction *call;
    enum operation op;
    const struct type *type;
};

/* clang-format off */

#define THUNK(NAME, CALL) \
    static int NAME(shmem_team_t team, void *dest, const void *source, size_t count) \
    { \
        return CALL(team, dest, source, count); \
    }

#define BITWISE_THUNKS(TYPENAME, TYPE) \
    THUNK(TYPENAME##_and, shmem_##TYPENAME##_and_reduce) \
    THUNK(TYPENAME##_or, shmem_##TYPENAME##_or_reduce) \
    THUNK(TYPENAME##_xor, shmem_##TYPENAME##_xor_reduce)
SY_BITWISE_REDUCE_TYPES(BITWISE_THUNKS)

#define COMPARE_THUNKS(TYPENAME, TYPE) \
    THUNK(TYPENAME##_max, shmem_##TYPENAME##_max_reduce) \
    THUNK(TYPENAME##_min, shmem_##TYPENAME##_min_reduce)
SY_COMPARE_REDUCE_TYPES(COMPARE_THUNKS)

#define ARITHMETIC_THUNKS(TYPENAME, TYPE) \
    THUNK(TYPENAME##_sum, shmem_##TYPENAME##_sum_reduce) \
    THUNK(TYPENAME##_prod, shmem_##TYPENAME##_prod_reduce) \
    THUNK(TYPENAME##_inscan, shmem_##TYPENAME##_sum_inscan) \
    THUNK(TYPENAME##_exscan, shmem_##TYPENAME##_sum_exscan)
SY_ARITHMETIC_REDUCE_TYPES(ARITHMETIC_THUNKS)

static const struct row rows[] = {
#define BITWISE_ROWS(TYPENAME, TYPE) \
    {#TYPENAME " and", TYPENAME##_and, AND, &TYPENAME##_type}, \
    {#TYPENAME " or", TYPENAME##_or, OR, &TYPENAME##_type}, \
    {#TYPENAME " xor", TYPENAME##_xor, XOR, &TYPENAME##_type},
    SY_BITWISE_REDUCE_TYPES(BITWISE_ROWS)
#define COMPARE_ROWS(TYPENAME, TYPE) \
    {#TYPENAME " max", TYPENAME##_max, MAX, &TYPENAME##_type}, \
    {#TYPENAME " min", TYPENAME##_min, MIN, &TYPENAME##_type},
    SY_COMPARE_REDUCE_TYPES(COMPARE_ROWS)
#define ARITHMETIC_ROWS(TYPENAME, TYPE) \
    {#TYPENAME " sum", TYPENAME##_sum, SUM, &TYPENAME##_type}, \
    {#TYPENAME " prod", TYPENAME##_prod, PROD, &TYPENAME##_type}, \
    {#TYPENAME " inscan", TYPENAME##_inscan, INSCAN, &TYPENAME##_type}, \
    {#TYPENAME " exscan", TYPENAME##_exscan, EXSCAN, &TYPENAME##_type},
    SY_ARITHMETIC_REDUCE_TYPES(ARITHMETIC_ROWS)
};

/* clang-format on */

enum {
    ROWS = sizeof rows / sizeof rows[0],
    LARGE = 70000,    /* bytes of the largest arrays, more than any buffer of the library */
    HUGE = 1 << 20,   /* bytes of those of the calls that are made for their size alone */
    AREA = HUGE + 64, /* bytes of an area, with what must stay untouched */
    STATIC_AREA = 1 << 14,
    CANARY = 0x3c
};

_Static_assert(ROWS == 14 * 3 + 24 * 2 + 26 * 4, "the tables have the specification's types");

/* Two symmetric areas in the heap and two among the statics, with two local ones for the model. */
static struct {
    unsigned char *dest, *source, *expected, *theirs;
} heap;

static _Alignas(64) unsigned char static_dest[STATIC_AREA], static_source[STATIC_AREA];

static uint64_t stamp; /* differs for each call; the same on all members of a team */

static uint64_t seed_of(int pe)
{
    return stamp * TEAM_MOST + (uint64_t)pe;
}

/* What this member must get, worked out from the values of all. */
static void model(const struct row *row, const struct team_case *team, size_t count)
{
    const struct type *type = row->type;
    int scan = row->op == INSCAN || row->op == EXSCAN;
    int first = row->op == EXSCAN && team->me == 0 ? -1 : 0;
    int last = !scan ? team->size - 1 : row->op == INSCAN ? team->me : team->me - 1;

    memset(heap.expected, first < 0 ? 0 : CANARY, count * type->size);
    for (int i = 0; i <= last; i++) {
        unsigned char *values = i == 0 ? heap.expected : heap.theirs;
        type->fill(values, count, row->op, seed_of(team->world[i]));
        if (i > 0)
            type->combine(heap.expected, heap.theirs, count, row->op);
    }
}

static int untouched(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != CANARY)
            return 0;
    return 1;
}

/* One call. The source is used again as soon as it has returned, without waiting for the others. */
static void check_call(const struct row *row, const struct team_case *team, size_t count,
                       int in_place, int use_statics)
{
    const struct type *type = row->type;
    unsigned char *dest = use_statics ? static_dest : heap.dest;
    unsigned char *source = in_place ? dest : use_statics == 2 ? static_source : heap.source;
    size_t bytes = count * type->size;

    stamp++;
    memset(dest, CANARY, bytes + 64);
    type->fill(source, count, row->op, seed_of(shmem_my_pe()));
    model(row, team, count);
    CHECK(shmem_team_sync(team->team) == 0);
    CHECK(row->call(team->team, dest, source, count) == 0);
    CHECK(same_values(type, dest, heap.expected, count));
    CHECK(untouched(dest + bytes, 64));
    if (in_place)
        return;
    type->fill(heap.theirs, count, row->op, seed_of(shmem_my_pe()));
    CHECK(same_values(type, source, heap.theirs, count));
    memset(source, 0x55, bytes);
}

/* Sums that are not exact: all members get the same bits all the same. */
static void check_rounding(const struct row *row, const struct team_case *team, size_t count)
{
    const struct type *type = row->type;
    unsigned char *dest = heap.dest, *first = heap.dest + HUGE / 2;

    stamp++;
    type->fill_rough(heap.source, count, seed_of(shmem_my_pe()));
    CHECK(shmem_team_sync(team->team) == 0);
    CHECK(row->call(team->team, dest, heap.source, count) == 0);
    CHECK(shmem_team_sync(team->team) == 0);
    shmem_getmem(first, dest, count * type->size, team->world[0]);
    CHECK(same_values(type, dest, first, count));
    CHECK(shmem_team_sync(team->team) == 0);
}

static void check_row(const struct row *row, const struct team_case *team, int is_world)
{
    static const size_t counts[] = {1, 2, 7, 1000};

    CHECK(row->call(team->team, NULL, NULL, 0) == 0);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int fits = counts[i] * row->type->size + 64 <= STATIC_AREA;
        check_call(row, team, counts[i], 0, fits ? (int)(i % 3) : 0);
        check_call(row, team, counts[i], 1, fits ? (int)(i % 2) : 0);
    }
    if (is_world) {
        check_call(row, team, LARGE / row->type->size, 0, 0);
        check_call(row, team, LARGE / row->type->size, 1, 0);
    }
    if (is_world && (row->type == &long_type || row->type == &float_type)) {
        check_call(row, team, HUGE / row->type->size - 3, 0, 0);
        check_call(row, team, HUGE / row->type->size - 5, 1, 0);
    }
    if (row->type->rounds && (row->op == SUM || row->op == PROD)) {
        check_rounding(row, team, 13);
        check_rounding(row, team, 1000);
    }
}

/* The argument N: every Nth row only. */
int main(int argc, char **argv)
{
    struct team_case teams[TEAM_CASES];
    char text[100];
    int status, step = argc > 1 ? atoi(argv[1]) : 1;

    shmem_init();
    heap.dest = shmem_align(64, AREA);
    heap.source = shmem_align(64, AREA);
    heap.expected = malloc(AREA);
    heap.theirs = malloc(AREA);
    if (!heap.dest || !heap.source || !heap.expected || !heap.theirs) {
        fprintf(stderr, "no memory\n");
        return 1;
    }
    teams_make(teams);
    check_case = text;
    for (int i = 0; i < ROWS; i += step)
        for (int j = 0; j < TEAM_CASES; j++) {
            snprintf(text, sizeof text, "%s, team %s", rows[i].name, teams[j].name);
            stamp = (uint64_t)(i * TEAM_CASES + j) * 100;
            if (teams[j].team != SHMEM_TEAM_INVALID)
                check_row(&rows[i], &teams[j], j == TEAM_OF_ALL);
            else
                CHECK(rows[i].call(teams[j].team, heap.dest, heap.source, 1) != 0);
        }
    teams_destroy(teams);
    free(heap.expected);
    free(heap.theirs);
    shmem_free(heap.source);
    shmem_free(heap.dest);
    status = check_end("reductions_typed");
    shmem_finalize();
    return status;
}

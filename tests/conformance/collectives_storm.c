/* A storm of collective routines (9.10): mixed kinds, sizes and roots, on teams and active sets
 * that overlap, one right after the other, with random delays. What every PE contributes follows
 * from a seed, so each PE can work out what it must get. Sources are overwritten as soon as a call
 * returns.
 *
 * dest is the same array in all operations. Nothing protects it but that this library writes no
 * member's dest before that member has entered.
 *
 * Arguments: number of operations, seed. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

enum {
    OPERATIONS = 10000,
    SMALL = 200,   /* bytes of most parts */
    LARGE = 40000, /* bytes of some */
    HUGE = 600000, /* bytes of few, in all parts together */
    MOST_STRIDE = 3,
    BEYOND = 128, /* bytes after the result, which must stay as they are */
    UNTOUCHED = 0xa5,
    SPOILT = 0x5a,
    WORK = 4, /* work arrays of an active set, which take turns */
    STRETCH =
        128, /* operations, of which some rows are broadcasts of one group, with roots in turn */
};

enum kind {
    SYNC,
    BROADCAST,
    COLLECT,
    FCOLLECT,
    ALLTOALL,
    ALLTOALLS,
    SUM_LONG,
    SUM_DOUBLE,
    MAX_INT,
    XOR_UCHAR,
    INSCAN_LONG,
    EXSCAN_SHORT,
    KINDS
};

static const char *const names[KINDS] = {"team_sync", "broadcast", "collect",     "fcollect",
                                         "alltoall",  "alltoalls", "sum_long",    "sum_double",
                                         "max_int",   "xor_uchar", "inscan_long", "exscan_short"};

/* Bytes of an element on a team. On an active set none is smaller than a word of 4. */
static const size_t element[KINDS] = {1,
                                      1,
                                      1,
                                      1,
                                      1,
                                      sizeof(int),
                                      sizeof(long),
                                      sizeof(double),
                                      sizeof(int),
                                      1,
                                      sizeof(long),
                                      sizeof(short)};

struct group {
    shmem_team_t team;
    int start, stride, size, me;
    int active, log_stride; /* an active set, without a team */
    long *psync[WORK], *synced;
    void *pwrk[WORK];
    unsigned turn;
};

struct operation {
    enum kind kind;
    struct group *group;
    uint64_t key; /* of the data */
    size_t size;  /* bytes of an element */
    size_t count; /* elements of a part */
    size_t shift; /* bytes of the arrays before the data */
    int root, dst, sst, in_place;
};

static struct group groups[16];
static int group_count, me, npes;
static unsigned char *dest, *source, *expected, *part;
static size_t area;

/* ---- numbers without a pattern ---- */

static uint64_t noise(uint64_t key, uint64_t i)
{
    uint64_t x = key + i * 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* `bytes` of what member i of the operation contributes. Doubles are whole numbers, so that sums
 * are exact. */
static void fill(unsigned char *to, const struct operation *op, int i, size_t bytes)
{
    uint64_t key = noise(op->key, 1000 + (uint64_t)i);

    if (op->kind == SUM_DOUBLE) {
        for (size_t at = 0; at < bytes / sizeof(double); at++)
            ((double *)(void *)to)[at] = (double)(noise(key, at) % 100000);
        return;
    }
    for (size_t at = 0; at < bytes; at += sizeof key) {
        uint64_t word = noise(key, at);
        memcpy(to + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
    }
}

/* ---- operations ---- */

static size_t count_of(const struct operation *op, int i)
{
    return op->kind == COLLECT ? noise(op->key, 500 + (uint64_t)i) % (op->count + 1) : op->count;
}

static struct operation make_operation(uint64_t seed, uint64_t number)
{
    uint64_t key = noise(seed, number);
    struct operation op = {.key = key,
                           .kind = (enum kind)(noise(key, 1) % KINDS),
                           .group = &groups[noise(key, 2) % (uint64_t)group_count],
                           .dst = 1 + (int)(noise(key, 3) % MOST_STRIDE),
                           .sst = 1 + (int)(noise(key, 4) % MOST_STRIDE),
                           .in_place = noise(key, 5) % 2 == 0};
    uint64_t stretch = noise(seed, UINT64_MAX - number / STRETCH);
    int row = stretch % 4 == 0 && noise(key, 11) % 32;
    uint64_t chance = noise(key, 7) % (row ? 128 : 512);
    size_t most, bytes;
    int grows; /* the result does, with the number of PEs */

    if (row) {
        op.kind = BROADCAST;
        op.group = &groups[noise(stretch, 2) % (uint64_t)group_count];
    }
    op.size = element[op.kind];
    if (op.group->active) {
        op.kind = (enum kind)(op.kind % XOR_UCHAR);
        op.size = op.kind < SUM_LONG ? sizeof(int) : element[op.kind];
    }
    grows = op.kind > BROADCAST && op.kind < SUM_LONG;
    most = chance < (grows ? 4 : 32) ? HUGE : chance < 64 ? LARGE : SMALL;
    bytes = noise(key, 6) % most;
    if (most == HUGE && grows)
        bytes /= (size_t)op.group->size * MOST_STRIDE;
    op.shift = noise(key, 10) % 16 * op.size;
    op.root = (int)((row ? number : noise(key, 8)) % (uint64_t)op.group->size);
    op.count = noise(key, 9) % 10 ? bytes / op.size : 1;
    if (op.kind == ALLTOALL || op.kind == ALLTOALLS)
        op.count /= (size_t)op.group->size;
    return op;
}

/* Bytes of this PE's source. */
static size_t source_bytes(const struct operation *op)
{
    size_t bytes = count_of(op, op->group->me) * op->size;

    if (op->kind == ALLTOALL || op->kind == ALLTOALLS)
        bytes *= (size_t)op->group->size;
    return op->kind == ALLTOALLS ? bytes * (size_t)op->sst : bytes;
}

/* The work arrays take turns; before the first one's next, all members have left its last call. */
static void call_on_set(const struct operation *op, void *to, const void *from)
{
    struct group *g = op->group;
    unsigned turn = g->turn++ % WORK;
    long *psync = g->psync[turn];
    void *pwrk = g->pwrk[turn];

    if (turn == 0)
        shmem_sync(g->start, g->log_stride, g->size, g->synced);
#define SET g->start, g->log_stride, g->size
    switch (op->kind) {
    case SYNC:
        shmem_sync(SET, psync);
        return;
    case BROADCAST:
        shmem_broadcast32(to, from, op->count, op->root, SET, psync);
        return;
    case COLLECT:
        shmem_collect32(to, from, count_of(op, g->me), SET, psync);
        return;
    case FCOLLECT:
        shmem_fcollect32(to, from, op->count, SET, psync);
        return;
    case ALLTOALL:
        shmem_alltoall32(to, from, op->count, SET, psync);
        return;
    case ALLTOALLS:
        shmem_alltoalls32(to, from, op->dst, op->sst, op->count, SET, psync);
        return;
    case SUM_LONG:
        shmem_long_sum_to_all(to, from, (int)op->count, SET, pwrk, psync);
        return;
    case SUM_DOUBLE:
        shmem_double_sum_to_all(to, from, (int)op->count, SET, pwrk, psync);
        return;
    default:
        shmem_int_max_to_all(to, from, (int)op->count, SET, pwrk, psync);
    }
#undef SET
}

static int call_on_team(const struct operation *op, void *to, const void *from)
{
    shmem_team_t team = op->group->team;

    switch (op->kind) {
    case SYNC:
        return shmem_team_sync(team);
    case BROADCAST:
        return shmem_broadcastmem(team, to, from, op->count, op->root);
    case COLLECT:
        return shmem_collectmem(team, to, from, count_of(op, op->group->me));
    case FCOLLECT:
        return shmem_fcollectmem(team, to, from, op->count);
    case ALLTOALL:
        return shmem_alltoallmem(team, to, from, op->count);
    case ALLTOALLS:
        return shmem_int_alltoalls(team, to, from, op->dst, op->sst, op->count);
    case SUM_LONG:
        return shmem_long_sum_reduce(team, to, from, op->count);
    case SUM_DOUBLE:
        return shmem_double_sum_reduce(team, to, from, op->count);
    case MAX_INT:
        return shmem_int_max_reduce(team, to, from, op->count);
    case XOR_UCHAR:
        return shmem_uchar_xor_reduce(team, to, from, op->count);
    case INSCAN_LONG:
        return shmem_long_sum_inscan(team, to, from, op->count);
    default:
        return shmem_short_sum_exscan(team, to, from, op->count);
    }
}

static int call(const struct operation *op, void *to, const void *from)
{
    if (!op->group->active)
        return call_on_team(op, to, from);
    call_on_set(op, to, from);
    return 0;
}

/* ---- the serial model ---- */

static size_t model_joined(const struct operation *op, unsigned char *to)
{
    size_t at = 0;

    for (int i = 0; i < op->group->size; i++) {
        size_t bytes = count_of(op, i) * op->size;
        fill(to + at, op, i, bytes);
        at += bytes;
    }
    return at;
}

static size_t model_exchanged(const struct operation *op, unsigned char *to)
{
    size_t size = op->size, count = op->count, from = (size_t)op->group->me * count;
    size_t dst = op->kind == ALLTOALLS ? (size_t)op->dst : 1;
    size_t sst = op->kind == ALLTOALLS ? (size_t)op->sst : 1;

    for (size_t i = 0; i < (size_t)op->group->size; i++) {
        fill(part, op, (int)i, (from + count) * sst * size);
        for (size_t k = 0; k < count; k++)
            memcpy(to + (i * count + k) * dst * size, part + (from + k) * sst * size, size);
    }
    return (size_t)op->group->size * count * dst * size;
}

#define COMBINE(TYPE, EXPRESSION)                                                                  \
    do {                                                                                           \
        TYPE *all = to;                                                                            \
        const TYPE *one = from;                                                                    \
        for (size_t k = 0; k < count; k++) {                                                       \
            TYPE a = all[k], b = one[k];                                                           \
            all[k] = (TYPE)(EXPRESSION);                                                           \
        }                                                                                          \
    } while (0)

static void combine(enum kind kind, void *to, const void *from, size_t count)
{
    switch (kind) {
    case SUM_DOUBLE:
        COMBINE(double, a + b);
        break;
    case MAX_INT:
        COMBINE(int, a < b ? b : a);
        break;
    case XOR_UCHAR:
        COMBINE(unsigned char, a ^ b);
        break;
    case EXSCAN_SHORT:
        COMBINE(unsigned short, a + b);
        break;
    default:
        COMBINE(unsigned long, a + b);
    }
}

static size_t model_combined(const struct operation *op, unsigned char *to)
{
    size_t bytes = op->count * op->size;
    int end = op->kind == INSCAN_LONG    ? op->group->me + 1
              : op->kind == EXSCAN_SHORT ? op->group->me
                                         : op->group->size;

    memset(to, 0, bytes);
    for (int i = 0; i < end; i++) {
        fill(part, op, i, bytes);
        if (i)
            combine(op->kind, to, part, op->count);
        else
            memcpy(to, part, bytes);
    }
    return bytes;
}

static size_t model(const struct operation *op, unsigned char *to)
{
    switch (op->kind) {
    case SYNC:
        return 0;
    case BROADCAST:
        if (!op->group->active || op->group->me != op->root)
            fill(to, op, op->root, op->count * op->size);
        return op->count * op->size;
    case COLLECT:
    case FCOLLECT:
        return model_joined(op, to);
    case ALLTOALL:
    case ALLTOALLS:
        return model_exchanged(op, to);
    default:
        return model_combined(op, to);
    }
}

/* At most so many bytes of dest and of `expected` are looked at: with many PEs far fewer than there
 * are. */
static size_t model_room(const struct operation *op)
{
    int grows = op->kind > BROADCAST && op->kind < SUM_LONG;
    size_t parts = grows ? (size_t)op->group->size * MOST_STRIDE : 1;
    size_t room = op->shift + op->count * op->size * parts + BEYOND;

    return room < area ? room : area;
}

/* ---- running ---- */

/* Now and then, and differently on each PE. */
static void delay(uint64_t key)
{
    uint64_t chance = noise(key, 77 + (uint64_t)me) % 100;

    if (chance == 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)(noise(key, 78) % 300000)}, NULL);
    for (volatile uint64_t i = 0; chance < 8 && i < noise(key, 79 + (uint64_t)me) % 2000;)
        i = i + 1;
}

static void run(const struct operation *op, uint64_t number)
{
    static char text[128];
    int in_place = op->in_place && op->kind >= SUM_LONG;
    unsigned char *to = dest + op->shift, *from = in_place ? to : source + op->shift;
    size_t bytes = source_bytes(op), length;

    snprintf(text, sizeof text, "operation %lu: %s of %zu from %d on %s %d (%d of %d)",
             (unsigned long)number, names[op->kind], op->count, op->root,
             op->group->active ? "active set" : "team", (int)(op->group - groups), op->group->me,
             op->group->size);
    check_case = text;
    memset(expected, UNTOUCHED, model_room(op));
    length = op->shift + model(op, expected + op->shift) + BEYOND;
    CHECK(length <= model_room(op));
    memset(dest, UNTOUCHED, length);
    fill(from, op, op->group->me, bytes);
    delay(op->key);
    CHECK(call(op, to, from) == 0);
    if (!in_place)
        memset(from, SPOILT, bytes);
    CHECK(memcmp(dest, expected, length) == 0);
    memset(dest, SPOILT, length);
}

static void add_group(int start, int stride, int size)
{
    struct group *group = &groups[group_count++];

    *group = (struct group){.start = start, .stride = stride, .size = size, .me = -1};
    for (int i = 0; i < size; i++)
        if (start + i * stride == me)
            group->me = i;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &group->team) ==
          0);
    CHECK((group->team != SHMEM_TEAM_INVALID) == (group->me >= 0));
}

static long *work_array(size_t bytes)
{
    long *words = shmem_malloc(bytes);

    if (!words)
        shmem_global_exit(2);
    for (size_t i = 0; i < SHMEM_SYNC_SIZE; i++)
        words[i] = SHMEM_SYNC_VALUE;
    return words;
}

static void add_active_set(int start, int log_stride, int size)
{
    struct group *group = &groups[group_count++];
    size_t sync = SHMEM_SYNC_SIZE * sizeof(long);
    size_t least = (SHMEM_REDUCE_MIN_WRKDATA_SIZE + SHMEM_SYNC_SIZE) * sizeof(double);

    *group = (struct group){.start = start, .log_stride = log_stride, .size = size, .me = -1};
    group->active = 1;
    for (int i = 0; i < size; i++)
        if (start + (i << log_stride) == me)
            group->me = i;
    group->synced = work_array(sync);
    for (int i = 0; i < WORK; i++) {
        group->psync[i] = work_array(sync);
        group->pwrk[i] = work_array(HUGE / 2 + least);
    }
}

static void make_groups(void)
{
    groups[group_count++] = (struct group){
        .team = SHMEM_TEAM_WORLD, .stride = 1, .size = npes, .me = me};
    add_group(npes - 1, -1, npes);
    add_group(0, 2, (npes + 1) / 2);
    add_group(0, 1, (npes + 1) / 2);
    add_group(npes / 2, 1, npes - npes / 2);
    if (npes > 1) {
        add_group(1, 1, npes - 1);
        add_group(0, npes - 1, 2);
        add_active_set(1, 0, npes - 1);
    }
    add_active_set(0, 0, npes);
    add_active_set(0, 1, (npes + 1) / 2);
    shmem_barrier_all(); /* all work arrays are set */
}

int main(int argc, char **argv)
{
    uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 0) : OPERATIONS;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 20241;
    int status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    area = HUGE + (size_t)LARGE * (size_t)npes + (size_t)LARGE * MOST_STRIDE + 2 * BEYOND;
    dest = shmem_malloc(area);
    source = shmem_malloc(area);
    expected = malloc(area);
    part = malloc(area);
    if (!dest || !source || !expected || !part)
        shmem_global_exit(2);
    make_groups();
    for (uint64_t number = 0; number < operations; number++) {
        struct operation op = make_operation(seed, number);
        if (op.group->me >= 0)
            run(&op, number);
    }
    check_case = "";
    for (int i = 1; i < group_count; i++)
        if (!groups[i].active)
            shmem_team_destroy(groups[i].team);
    status = check_end("collectives_storm");
    free(expected);
    free(part);
    shmem_finalize();
    return status;
}

/* A storm of collective routines (9.10): mixed kinds, sizes and roots, on teams that overlap, one
 * right after the other, with random delays. What every PE contributes follows from a seed, so each
 * PE can work out what it must get. Sources are overwritten as soon as a call returns.
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
    BEYOND = 64, /* bytes after the result, which must stay as they are */
    UNTOUCHED = 0xa5,
    SPOILT = 0x5a,
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
};

struct operation {
    enum kind kind;
    const struct group *group;
    uint64_t key; /* of the data */
    size_t count; /* elements of a part */
    int root, dst, sst, in_place;
};

static struct group groups[8];
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
    uint64_t chance = noise(key, 7) % 512;
    size_t most = chance == 0 ? HUGE : chance < 64 ? LARGE : SMALL, bytes = noise(key, 6) % most;

    if (chance == 0 && op.kind != BROADCAST && op.kind < SUM_LONG)
        bytes /= (size_t)op.group->size * MOST_STRIDE;
    op.root = (int)(noise(key, 8) % (uint64_t)op.group->size);
    op.count = noise(key, 9) % 10 ? bytes / element[op.kind] : 1;
    if (op.kind == ALLTOALL || op.kind == ALLTOALLS)
        op.count /= (size_t)op.group->size;
    return op;
}

/* Bytes of this PE's source. */
static size_t source_bytes(const struct operation *op)
{
    size_t bytes = count_of(op, op->group->me) * element[op->kind];

    if (op->kind == ALLTOALL || op->kind == ALLTOALLS)
        bytes *= (size_t)op->group->size;
    return op->kind == ALLTOALLS ? bytes * (size_t)op->sst : bytes;
}

static int call(const struct operation *op, void *to, const void *from)
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

/* ---- the serial model ---- */

static size_t model_joined(const struct operation *op, unsigned char *to)
{
    size_t at = 0;

    for (int i = 0; i < op->group->size; i++) {
        fill(to + at, op, i, count_of(op, i));
        at += count_of(op, i);
    }
    return at;
}

static size_t model_exchanged(const struct operation *op, unsigned char *to)
{
    size_t size = element[op->kind], count = op->count, from = (size_t)op->group->me * count;
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
    size_t bytes = op->count * element[op->kind];
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
        fill(to, op, op->root, op->count);
        return op->count;
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
    unsigned char *from = in_place ? dest : source;
    size_t bytes = source_bytes(op), length;

    snprintf(text, sizeof text, "operation %lu: %s of %zu from %d on team %d (%d of %d)",
             (unsigned long)number, names[op->kind], op->count, op->root, (int)(op->group - groups),
             op->group->me, op->group->size);
    check_case = text;
    memset(expected, UNTOUCHED, area);
    length = model(op, expected) + BEYOND;
    CHECK(length <= area);
    memset(dest, UNTOUCHED, length);
    fill(from, op, op->group->me, bytes);
    delay(op->key);
    CHECK(call(op, dest, from) == 0);
    if (!in_place)
        memset(source, SPOILT, bytes);
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
    }
}

int main(int argc, char **argv)
{
    uint64_t operations = argc > 1 ? strtoull(argv[1], NULL, 0) : OPERATIONS;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 20241;
    int status;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    area = HUGE + (size_t)LARGE * (size_t)npes + (size_t)LARGE * MOST_STRIDE + BEYOND;
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
        shmem_team_destroy(groups[i].team);
    status = check_end("collectives_storm");
    free(expected);
    free(part);
    shmem_finalize();
    return status;
}

/* Memory spaces: what the symmetric heap can, on memory of a space, and the rules of the proposal.
 * PEs, nodes and transports are as the environment has them. Arguments: how often a space is made
 * and ended; "all": spaces of some PEs are refused. */
#define SHMEMX_SPACES_AS_PROPOSED
#include <dirent.h>
#include <malloc.h>
#include <errno.h>
#include <limits.h>
#include <shmemx.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conformance/check.h"

#define MB ((size_t)1 << 20)

static int me, npes;

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

static long mapped_regions(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    long lines = 0;

    for (int c; maps && (c = getc(maps)) != EOF;)
        lines += c == '\n';
    if (maps)
        fclose(maps);
    return lines;
}

/* Bytes that malloc has given out; 0 where the C library does not tell. */
static size_t allocated(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
#else
    return 0;
#endif
}

static shmemx_space_t make(size_t size, shmem_team_t *team)
{
    shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_CPU, .size = size};
    shmemx_space_t space = (shmemx_space_t)77;

    CHECK(shmemx_space_create(&config, &space, team) == 0);
    CHECK(space != SHMEMX_SPACE_INVALID && *team != SHMEM_TEAM_INVALID);
    return space;
}

static void end(shmemx_space_t space, shmem_team_t team)
{
    shmem_team_destroy(team);
    CHECK(shmemx_space_destroy(space) == 0);
}

/* ---- operations ---- */

static void transfers(long *at, shmem_ctx_t ctx)
{
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    long data[64], back[64];

    for (int i = 0; i < 64; i++)
        data[i] = me * 1000 + i;
    shmem_ctx_long_put(ctx, at, data, 64, next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    for (int i = 0; i < 64; i++)
        CHECK(at[i] == before * 1000 + i);
    shmem_ctx_long_get(ctx, back, at, 64, next);
    for (int i = 0; i < 64; i++)
        CHECK(back[i] == me * 1000 + i);
    shmem_barrier_all();
    shmem_ctx_long_p(ctx, &at[3], 5L + me, next);
    shmem_ctx_long_iput(ctx, at + 8, data, 3, 2, 10, next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK(at[3] == 5 + before);
    CHECK(shmem_ctx_long_g(ctx, &at[3], next) == 5 + me);
    for (int i = 0; i < 10; i++)
        CHECK(at[8 + 3 * i] == before * 1000 + 2 * i);
    shmem_ctx_long_iget(ctx, back, at + 8, 1, 3, 10, next);
    for (int i = 0; i < 10; i++)
        CHECK(back[i] == me * 1000 + 2 * i);
    shmem_barrier_all();
    shmem_ctx_putmem_nbi(ctx, at + 40, data, sizeof(long), next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    CHECK(at[40] == before * 1000);
    shmem_barrier_all();
}

static void large(shmemx_space_t space)
{
    size_t words = 3 * MB / 8;
    long *at = (long *)shmemx_space_malloc(space, words * 8), *data = (long *)malloc(words * 8);
    int next = (me + 1) % npes, before = (me + npes - 1) % npes, wrong = 0;

    CHECK(at != NULL);
    for (size_t i = 0; i < words; i++)
        data[i] = (long)i * 7 + me;
    shmem_long_put(at, data, words, next);
    shmem_barrier_all();
    for (size_t i = 0; i < words; i++)
        wrong += at[i] != (long)i * 7 + before;
    CHECK(!wrong);
    shmem_long_get(data, at, words, next);
    for (size_t i = 0; i < words; i++)
        wrong += data[i] != (long)i * 7 + me;
    CHECK(!wrong);
    free(data);
    shmemx_space_free(space, at);
}

static void atomics(long *at)
{
    uint64_t *signal = (uint64_t *)(at + 32);
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    long value = me + 1;

    at[0] = 0;
    *signal = 0;
    shmem_barrier_all();
    for (int pe = 0; pe < npes; pe++)
        shmem_atomic_add(&at[0], 1L, pe);
    shmem_barrier_all();
    CHECK(at[0] == npes);
    CHECK(shmem_atomic_fetch(&at[0], next) == npes);
    shmem_barrier_all();
    CHECK(shmem_atomic_swap(&at[1], value, next) != -1);
    shmem_barrier_all();
    CHECK(at[1] == before + 1);
    shmem_barrier_all();
    CHECK(shmem_atomic_compare_swap(&at[1], value, 99L, next) == value);
    shmem_barrier_all();
    CHECK(at[1] == 99);
    long old = 0;
    int *narrow = (int *)(at + 5), first = -1;
    shmem_barrier_all();
    shmem_long_atomic_fetch_add_nbi(&old, &at[1], 1, next);
    shmem_quiet();
    CHECK(old == 99);
    shmem_int_p(narrow, me, next);
    shmem_int_p(narrow + 1, 7, next);
    shmem_quiet();
    shmem_int_atomic_swap_nbi(&first, narrow, 8, next);
    shmem_quiet();
    CHECK(first == me);
    shmem_barrier_all();
    CHECK(at[1] == 100 && narrow[0] == 8 && narrow[1] == 7);
    shmem_barrier_all();
    shmem_put_signal(at + 2, &value, 1, signal, 3, SHMEM_SIGNAL_ADD, next);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 3);
    CHECK(at[2] == before + 1);
    shmem_barrier_all();
    if (me == 0)
        shmem_p(&at[4], 17L, npes - 1);
    if (me == npes - 1) {
        shmem_wait_until(&at[4], SHMEM_CMP_EQ, 17);
        CHECK(shmem_test(&at[4], SHMEM_CMP_EQ, 17));
    }
    shmem_barrier_all();
}

/* On the team, which has all PEs, with both buffers in the space. */
static void collectives(shmem_team_t team, long *at)
{
    int n = shmem_team_n_pes(team), rank = shmem_team_my_pe(team);
    long *source = at, *dest = at + 128;

    for (int i = 0; i < 64; i++)
        source[i] = rank * 100 + i;
    shmem_team_sync(team);
    CHECK(shmem_sum_reduce(team, dest, source, 4) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(dest[i] == 100L * n * (n - 1) / 2 + (long)n * i);
    CHECK(shmem_fcollect(team, dest, source, 2) == 0);
    for (int i = 0; i < n; i++)
        CHECK(dest[2 * i] == 100 * i && dest[2 * i + 1] == 100 * i + 1);
    CHECK(shmem_broadcast(team, dest, source, 8, n - 1) == 0);
    for (int i = 0; i < 8; i++)
        CHECK(dest[i] == (n - 1) * 100 + i);
    CHECK(shmem_alltoall(team, dest, source, 1) == 0);
    for (int i = 0; i < n; i++)
        CHECK(dest[i] == 100 * i + rank);
    CHECK(shmem_sum_inscan(team, dest, source, 1) == 0);
    CHECK(dest[0] == 100L * rank * (rank + 1) / 2);
    shmem_team_sync(team);
}

static void large_collective(shmemx_space_t space, shmem_team_t team)
{
    size_t words = MB / 8;
    int n = shmem_team_n_pes(team), rank = shmem_team_my_pe(team), wrong = 0;
    long *at = (long *)shmemx_space_align(space, 4096, 2 * words * 8);

    CHECK(at && (uintptr_t)at % 4096 == 0);
    for (size_t i = 0; i < words; i++)
        at[i] = rank + (long)i;
    CHECK(shmem_sum_reduce(team, at + words, at, words) == 0);
    for (size_t i = 0; i < words; i++)
        wrong += at[words + i] != (long)n * (n - 1) / 2 + (long)i * n;
    CHECK(!wrong);
    shmemx_space_free(space, at);
}

static void locks(shmemx_space_t space)
{
    long *lock = (long *)shmemx_space_calloc(space, 2, sizeof *lock);

    for (int i = 0; i < 20; i++) {
        shmem_set_lock(lock);
        long value = shmem_long_g(&lock[1], 0);
        shmem_long_p(&lock[1], value + 1, 0);
        shmem_quiet();
        shmem_clear_lock(lock);
    }
    shmem_barrier_all();
    CHECK(me || lock[1] == 20 * npes);
    shmemx_space_free(space, lock);
}

/* ---- cases ---- */

/* The space's team in two rows. */
static void split(shmem_team_t team, long *at)
{
    shmem_team_t rows, columns;
    shmemx_space_t found, space;

    CHECK(shmemx_team_get_space(team, &space) == 0);
    CHECK(shmem_team_split_2d(team, (npes + 1) / 2, NULL, 0, &rows, NULL, 0, &columns) == 0);
    const shmem_team_t both[] = {rows, columns};
    for (int i = 0; i < 2; i++) {
        CHECK(shmemx_team_get_space(both[i], &found) == 0 && found == space);
        collectives(both[i], at);
        shmem_barrier_all();
        shmem_team_destroy(both[i]);
    }
}

static void operations(void)
{
    shmem_team_t team, half;
    shmemx_space_t space = make(16 * MB, &team), found;
    shmem_ctx_t ctx;
    long *at = (long *)shmemx_space_calloc(space, 1024, sizeof *at), zeros = 0;

    CHECK(at && (uintptr_t)at % 16 == 0);
    for (int i = 0; i < 1024; i++)
        zeros += at[i] != 0;
    CHECK(!zeros);
    shmem_barrier_all();
    CHECK(shmemx_get_space(at + 5, &found) == 0 && found == space);
    CHECK(shmem_addr_accessible(at, npes - 1));
    CHECK(shmem_ptr(at, me) == at);
    transfers(at, SHMEM_CTX_DEFAULT);
    CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
    transfers(at, ctx);
    shmem_ctx_destroy(ctx);
    large(space);
    atomics(at);
    collectives(team, at);
    collectives(SHMEM_TEAM_WORLD, at);
    split(team, at);
    if (npes > 2) {
        int size = (npes + 1) / 2;
        CHECK(shmem_team_split_strided(team, 0, 2, size, NULL, 0, &half) == 0);
        CHECK((half != SHMEM_TEAM_INVALID) == (me % 2 == 0));
        if (half != SHMEM_TEAM_INVALID) {
            CHECK(shmemx_team_get_space(half, &found) == 0 && found == space);
            collectives(half, at);
            shmem_team_destroy(half);
        }
        shmem_barrier_all();
    }
    large_collective(space, team);
    locks(space);
    shmemx_space_free(space, at);
    end(space, team);
}

/* The other side of a transfer may be anywhere: in another space, in the heap, in a variable. */
static void between(void)
{
    enum { WORDS = 3000 };
    static long variable[WORDS];
    shmem_team_t team[2];
    shmemx_space_t space[2] = {make(MB, &team[0]), make(MB, &team[1])};
    long *at[] = {(long *)shmemx_space_malloc(space[0], sizeof variable),
                  (long *)shmemx_space_malloc(space[1], sizeof variable),
                  (long *)shmem_malloc(sizeof variable), variable};
    int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;

    CHECK(shmem_ctx_create(0, &ctx) == 0); /* of no space's team */
    for (int from = 0; from < 4; from++)
        for (int to = 0; to < 4; to++) {
            int wrong = 0;
            if (from == to)
                continue;
            for (int i = 0; i < WORDS; i++)
                at[from][i] = me * 100000L + from * 10000 + i;
            shmem_barrier_all();
            shmem_ctx_long_put(ctx, at[to], at[from], WORDS, next);
            shmem_ctx_quiet(ctx);
            shmem_barrier_all();
            for (int i = 0; i < WORDS; i++)
                wrong += at[to][i] != before * 100000L + from * 10000 + i;
            shmem_ctx_long_get(ctx, at[to], at[from], WORDS, next);
            for (int i = 0; i < WORDS; i++)
                wrong += at[to][i] != next * 100000L + from * 10000 + i;
            CHECK(!wrong);
            shmem_barrier_all();
        }
    shmem_ctx_destroy(ctx);
    shmem_free(at[2]);
    end(space[0], team[0]);
    end(space[1], team[1]);
}

/* Memory of the program, at an address of its own on each PE. */
static void addresses(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), length = 5 * MB + (size_t)npes * page;
    char *map = (char *)mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                             0);
    char *all = map + (-(uintptr_t)map & (MB - 1)); /* aligned to more on PE 0 */
    const shmemx_space_config_t config = {
        .device_type = SHMEMX_DEVICE_USER, .size = 4 * MB, .base = all + (size_t)me * page};
    static uintptr_t mine, least, most;
    shmemx_space_cap_t caps = 0;
    shmemx_space_t space;
    shmem_team_t team;

    CHECK(map != MAP_FAILED && shmemx_space_create(&config, &space, &team) == 0);
    CHECK(shmemx_space_get_caps(space, &caps) == 0);
    long *at = (long *)shmemx_space_calloc(space, 1024, sizeof *at);
    CHECK((char *)at >= all + (size_t)me * page && (char *)at < map + length);
    CHECK((shmemx_space_align(space, 2 * page, 8) == NULL) == (npes > 1));
    mine = (uintptr_t)at;
    shmem_uint64_min_reduce(SHMEM_TEAM_WORLD, &least, &mine, 1);
    shmem_uint64_max_reduce(SHMEM_TEAM_WORLD, &most, &mine, 1);
    CHECK(!(caps & SHMEMX_SPACE_CAP_IDENT_ADDR) == (least != most));
    transfers(at, SHMEM_CTX_DEFAULT);
    large(space);
    atomics(at);
    collectives(team, at);
    end(space, team);
    munmap(map, length);
}

/* In files, of which each PE's may be mapped by others. */
static void file(void)
{
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_FILE, .size = 4 * MB};
    shmemx_space_t space;
    shmem_team_t team;

    CHECK(shmemx_space_create(&config, &space, &team) == 0);
    long *at = (long *)shmemx_space_calloc(space, 1024, sizeof *at);
    CHECK(at != NULL);
    transfers(at, SHMEM_CTX_DEFAULT);
    large(space);
    atomics(at);
    collectives(team, at);
    end(space, team);
}

static void several(void)
{
    shmem_team_t team[3];
    shmemx_space_t space[3];
    long *at[3], *heap = (long *)shmem_malloc(8);

    for (int i = 0; i < 3; i++) {
        space[i] = make((size_t)(i + 1) * MB, &team[i]);
        at[i] = (long *)shmemx_space_malloc(space[i], 64);
    }
    shmemx_space_free(space[1], at[1]);
    end(space[1], team[1]);
    for (int i = 0; i < 3; i += 2)
        shmem_p(at[i], 10L * i + me, (me + 1) % npes);
    shmem_p(heap, 5L + me, (me + 1) % npes);
    shmem_barrier_all();
    for (int i = 0; i < 3; i += 2)
        CHECK(*at[i] == 10 * i + (me + npes - 1) % npes);
    CHECK(*heap == 5 + (me + npes - 1) % npes);
    space[1] = make(MB, &team[1]);
    for (int i = 0; i < 3; i++) /* with what is allocated */
        end(space[i], team[i]);
    shmem_free(heap);
}

static void allocation(void)
{
    shmem_team_t team;
    shmemx_space_t space = make(MB, &team);

    CHECK(shmemx_space_malloc(space, 0) == NULL);
    CHECK(shmemx_space_calloc(space, 0, 5) == NULL);
    CHECK(shmemx_space_calloc(space, SIZE_MAX / 2, 4) == NULL);
    CHECK(shmemx_space_calloc(space, SIZE_MAX / 8 + 2, 8) == NULL); /* 8 bytes, where it wraps */
    CHECK(shmemx_space_malloc(space, 2 * MB) == NULL);
    CHECK(shmemx_space_malloc(space, SIZE_MAX) == NULL);
    CHECK(shmemx_space_align(space, 3, 8) == NULL);
    if (me == 0) /* without a barrier */
        CHECK(!shmemx_space_malloc(space, 0) && !shmemx_space_align(space, 3, 0));
    shmemx_space_free(space, NULL);
    int *a = (int *)shmemx_space_malloc(space, 100);
    int *b = (int *)shmemx_space_malloc_with_hints(space, 100, SHMEM_MALLOC_ATOMICS_REMOTE);
    for (int i = 0; i < 25; i++)
        a[i] = i;
    a = (int *)shmemx_space_realloc(space, a, 1000);
    CHECK(a && a != b && a[24] == 24);
    CHECK(shmemx_space_realloc(space, a, 2 * MB) == NULL && a[24] == 24);
    CHECK(shmemx_space_realloc(space, a, 0) == NULL);
    shmemx_space_free(space, b);
    char *all = (char *)shmemx_space_malloc(space, MB);
    CHECK(all != NULL && (uintptr_t)all % _Alignof(max_align_t) == 0);
    memset(all, 1, MB);
    shmemx_space_free(space, all);
    all = (char *)shmemx_space_calloc(space, 1000, 1000); /* of what has been written */
    CHECK(all && !all[0] && !memcmp(all, all + 1, 999999));
    shmemx_space_free(space, all);
    end(space, team);
}

/* What no PE gets a space for. */
static void no_space(void)
{
    shmemx_space_t space;
    shmem_team_t team;
    static char aligned[4096] __attribute__((aligned(4096)));
    char *inside = (char *)shmem_align(64, 4096);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *torn = (char *)mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                              -1, 0);
    CHECK(torn != MAP_FAILED && !munmap(torn + page, page));
    const shmemx_space_config_t wrong[] = {
        {.device_type = SHMEMX_DEVICE_CPU, .size = 0},
        {.device_type = SHMEMX_DEVICE_CPU, .size = SIZE_MAX},
        {.device_type = SHMEMX_DEVICE_CPU, .size = SIZE_MAX / 2},
        {.device_type = SHMEMX_DEVICE_CPU, .size = (size_t)1 << 38}, /* 256 GiB */
        {.device_type = (shmemx_device_type_t)23, .size = 4096},
        {.device_type = (shmemx_device_type_t)-1, .size = 4096},
        {.device_type = SHMEMX_DEVICE_USER, .size = 4096},
        {.device_type = SHMEMX_DEVICE_CPU, .size = 4096, .flags = 0x10000},
        {.device_type = SHMEMX_DEVICE_CPU, .size = 4096, .device = -1},
        {.device_type = SHMEMX_DEVICE_CPU, .size = 4096, .device = INT_MIN},
        {.device_type = SHMEMX_DEVICE_CPU, .size = 4096, .device = 99},
        {.device_type = SHMEMX_DEVICE_USER, .size = 4096, .base = aligned},
        {.device_type = SHMEMX_DEVICE_USER, .size = 3 * page, .base = torn},
        {.device_type = SHMEMX_DEVICE_USER, .size = 4 * MB, .base = inside - MB}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        space = (shmem_space_t)3, team = SHMEM_TEAM_WORLD;
        CHECK(shmemx_space_create(&wrong[i], &space, &team) != 0);
        CHECK(space == SHMEMX_SPACE_INVALID && team == SHMEM_TEAM_INVALID);
    }
    space = (shmem_space_t)3, team = SHMEM_TEAM_WORLD;
    CHECK(shmemx_space_create(NULL, &space, &team) != 0);
    CHECK(space == SHMEMX_SPACE_INVALID && team == SHMEM_TEAM_INVALID);
    const shmemx_space_config_t right = {.device_type = SHMEMX_DEVICE_CPU, .size = 4096};
    space = (shmem_space_t)3, team = SHMEM_TEAM_WORLD;
    CHECK(shmemx_space_create(&right, &space, me ? &team : NULL) != 0); /* of PE 0 alone */
    CHECK(space == SHMEMX_SPACE_INVALID && team == (me ? SHMEM_TEAM_INVALID : SHMEM_TEAM_WORLD));
    shmem_free(inside);
    munmap(torn, page);
    munmap(torn + 2 * page, page);
}

static void handles(void)
{
    shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_CPU, .size = MB};
    shmem_space_t space = (shmem_space_t)3, found;
    shmem_team_t team = SHMEM_TEAM_WORLD, again;
    shmem_device_type_t type;
    shmem_space_cap_t caps;
    char text[256];
    int local;

    CHECK(shmem_space_create(&config, &space, &team) == 0 && shmem_team_is_valid(team));
    CHECK(shmem_team_n_pes(team) == npes && shmem_team_my_pe(team) == me);
    CHECK(shmem_space_get_team(space, &again) == 0 && again == team);
    CHECK(shmem_space_get_device_type(space, &type) == 0 && type == SHMEM_DEVICE_CPU);
    CHECK(shmem_space_get_caps(space, &caps) == 0);
    CHECK((caps & 0x1f) == 0x1f && !(caps & SHMEMX_SPACE_CAP_DURABLE));
    CHECK(shmemx_space_describe(space, text, sizeof text) == 0 && strstr(text, "1048576 bytes"));
    CHECK(shmem_team_get_space(team, &found) == 0 && found == space);
    CHECK(shmem_team_get_space(SHMEM_TEAM_WORLD, &found) == 0 && found == SHMEM_SPACE_DEFAULT);
    CHECK(shmem_team_get_space(SHMEM_TEAM_INVALID, &found) != 0 && found == SHMEM_SPACE_INVALID);

    /* With its team, with a team of that, without. */
    CHECK(shmem_space_destroy(space) != 0);
    CHECK(shmem_team_split_strided(team, 0, 1, npes, NULL, 0, &again) == 0);
    shmem_team_destroy(team);
    CHECK(shmem_space_get_team(space, &team) == 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmem_space_destroy(space) != 0);
    CHECK(shmem_team_split_strided(again, 0, 1, npes, NULL, 0, &team) == 0);
    shmem_team_destroy(again); /* a team of a team of it is left */
    again = team;
    CHECK(shmem_space_destroy(space) != 0);
    long *block = (long *)shmem_space_malloc(space, 64);
    CHECK(block != NULL);
    shmem_long_p(block, 5L + me, (me + 1) % npes);
    shmem_barrier_all();
    CHECK(*block == 5 + (me + npes - 1) % npes);
    shmem_space_free(space, block);
    shmem_team_destroy(again);
    CHECK(shmem_space_destroy(space) == 0);
    CHECK(shmem_space_get_team(space, &team) != 0);
    CHECK(shmem_space_get_caps(space, &caps) != 0);
    CHECK(shmemx_get_space(block, &found) != 0 && found == SHMEM_SPACE_INVALID);
    CHECK(!shmem_addr_accessible(block, me) && !shmem_ptr(block, me));

    space = SHMEM_SPACE_INVALID;
    CHECK(shmem_space_destroy(space) == 0);
    CHECK(shmem_space_malloc(space, 8) == NULL && shmem_space_calloc(space, 1, 8) == NULL);
    CHECK(shmemx_space_align(space, 8, 8) == NULL && shmemx_space_realloc(space, NULL, 8) == NULL);
    shmem_space_free(space, &local);
    CHECK(shmem_space_get_team(space, &team) != 0 && shmem_space_get_caps(space, &caps) != 0);
    CHECK(shmem_space_get_device_type(space, &type) != 0);
    CHECK(shmemx_space_sync(space, NULL) != 0);
    memset(text, 'x', sizeof text);
    CHECK(shmemx_space_describe(space, text, sizeof text) != 0 && !*text);
    CHECK(shmem_get_space(NULL, &found) != 0 && shmem_get_space(&local, &found) != 0);
    CHECK(!shmem_team_is_valid(SHMEM_TEAM_INVALID) && shmem_team_is_valid(SHMEM_TEAM_WORLD));

    space = SHMEM_SPACE_DEFAULT;
    block = (long *)shmem_space_malloc(space, 8);
    CHECK(block && shmem_get_space(block, &found) == 0 && found == space);
    CHECK(shmem_get_space(&me, &found) == 0 && found == space);
    shmem_space_free(space, block);
    CHECK(shmem_space_get_team(space, &team) == 0 && team == SHMEM_TEAM_WORLD);
    CHECK(shmem_space_get_device_type(space, &type) == 0 && type == SHMEM_DEVICE_CPU);
    CHECK(shmem_space_get_caps(space, &caps) == 0 && caps == 0x1f);
    CHECK(shmem_space_destroy(space) != 0);
    CHECK(shmemx_space_sync(space, NULL) == -EOPNOTSUPP);
    CHECK(shmem_space_calloc(space, SIZE_MAX / 2, 4) == NULL);
}

static void no_subset(void)
{
    shmemx_space_config_t config = {.device_type = (shmemx_device_type_t)17, .size = MB};
    shmemx_space_t space;
    shmem_team_t team;

    CHECK(shmemx_space_create(&config, &space, &team) != 0);
    CHECK(space == SHMEM_SPACE_INVALID && team == SHMEM_TEAM_INVALID);
}

/* PE 0 tells the others of its handle, with which those that are no members get nothing. */
static void foreign(shmemx_space_t space)
{
    static uint64_t told, mine;
    shmem_team_t team = SHMEM_TEAM_WORLD;
    shmemx_device_type_t type;
    shmemx_space_cap_t caps;

    mine = (uintptr_t)space;
    CHECK(shmem_uint64_broadcast(SHMEM_TEAM_WORLD, &told, &mine, 1, 0) == 0);
    shmemx_space_t handle = (shmemx_space_t)(uintptr_t)told;
    if (me % 2 == 0) {
        CHECK(handle == space);
        return;
    }
    CHECK(shmemx_space_get_team(handle, &team) != 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmemx_space_get_caps(handle, &caps) != 0 && caps == 0);
    CHECK(shmemx_space_get_device_type(handle, &type) != 0);
}

/* A device that the PEs with an even number have (plugin_even.c). */
static void subset(void)
{
    shmemx_space_config_t config = {.device_type = (shmemx_device_type_t)17, .size = MB};
    shmemx_space_cap_t caps;
    shmemx_space_t space;
    shmem_team_t team;
    int members = (npes + 1) / 2;

    for (int round = 0; round < 3; round++) {
        CHECK(shmemx_space_create(&config, &space, &team) == 0);
        CHECK((space != SHMEMX_SPACE_INVALID) == (me % 2 == 0));
        CHECK((team != SHMEM_TEAM_INVALID) == (me % 2 == 0));
        CHECK(shmemx_space_destroy(SHMEMX_SPACE_INVALID) == 0);
        foreign(space);
        if (me % 2)
            continue;
        CHECK(shmem_team_n_pes(team) == members && shmem_team_my_pe(team) == me / 2);
        CHECK(shmemx_space_get_caps(space, &caps) == 0);
        CHECK(!(caps & SHMEMX_SPACE_CAP_WORLD_ACCESS) == (members != npes));
        long *at = (long *)shmemx_space_calloc(space, 512, sizeof *at);
        int next = (me / 2 + 1) % members * 2, before = (me / 2 + members - 1) % members * 2;
        shmem_p(at, 7L + me, next);
        shmem_atomic_add(at + 1, 1L + me, next);
        shmem_quiet();
        shmem_team_sync(team);
        CHECK(at[0] == 7 + before && at[1] == 1 + before);
        CHECK(shmem_g(at, next) == 7 + me);
        shmem_team_sync(team);
        CHECK(shmem_addr_accessible(at, next));
        CHECK(npes == 1 || !shmem_addr_accessible(at, 1));
        CHECK(npes == 1 || !shmem_ptr(at, 1));
        collectives(team, at);
        long *lock = (long *)shmemx_space_calloc(space, 2, sizeof *lock);
        for (int i = 0; i < 5; i++) {
            shmem_set_lock(lock);
            shmem_p(&lock[1], shmem_g(&lock[1], 0) + 1, 0);
            shmem_quiet();
            shmem_clear_lock(lock);
        }
        shmem_team_sync(team);
        CHECK(me || lock[1] == 5 * members);
        end(space, team);
    }
}

static void again(long times)
{
    int descriptors = 0;
    long regions = 0;
    size_t memory = 0;

    /* The library begins some things when the job has lasted for half a second, and for one. */
    if (times >= 40)
        sleep(2);
    for (long i = 0; i < times; i++) {
        shmem_team_t team;
        shmemx_space_t space = make(64 << 10, &team);
        long *at = (long *)shmemx_space_malloc(space, 8);
        shmem_p(at, i + me, (me + 1) % npes);
        shmem_barrier_all();
        CHECK(*at == i + (me + npes - 1) % npes);
        shmem_barrier_all();
        end(space, team);
        if (i == times / 2) {
            descriptors = open_descriptors();
            regions = mapped_regions();
            memory = allocated();
        }
    }
    /* A table may be larger once, and what is on its way over a network counts, as do a provider's
     * buffers: so this is for many rounds, which are those of one node. */
    CHECK(times < 40 || allocated() <= memory + 1024);
    /* Two PEs that connect to each other at once have two connections until one is closed. */
    for (int i = 0; open_descriptors() > descriptors && i < 200; i++)
        usleep(10000);
    CHECK(open_descriptors() <= descriptors);
    CHECK(mapped_regions() <= regions + 2 * npes); /* neighbours may be joined or not */
}

int main(int argc, char **argv)
{
    shmem_team_t team;
    shmemx_space_t space;

    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    no_space();
    handles();
    allocation();
    operations();
    several();
    between();
    file();
    if (argc > 2) {
        no_subset();
    } else {
        addresses();
        subset();
    }
    again(argc > 1 ? atol(argv[1]) : 20);
    space = make(MB, &team); /* which shmem_finalize ends */
    CHECK(shmemx_space_malloc(space, 100) != NULL);
    return check_end("spaces");
}

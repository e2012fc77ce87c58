/* What ends the job with words, one case a run; the argument says which. */
#include <errno.h>
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static int is(const char *word, const char *other)
{
    return strcmp(word, other) == 0;
}

/* PE 0 is in the space, PE 1 is not. */
static void members(const char *word, shmemx_space_t space)
{
    static long local;
    static uint64_t told, handle;
    int me = shmem_my_pe();
    long *mine = me ? &local : shmemx_space_malloc(space, 64);

    handle = (uintptr_t)space;
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, &told, &handle, 1, 0);
    if (is(word, "even world"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, mine, mine, 1);
    if (is(word, "even") && me == 0)
        shmem_putmem(mine, &local, 8, 1);
    if (is(word, "even handle") && me)
        shmemx_space_destroy((shmemx_space_t)(uintptr_t)told);
    shmem_barrier_all();
    shmem_finalize();
}

/* Collective routines whose arrays end behind their space. Eight members' parts, or one's, do. */
static void past(const char *word, shmem_team_t team, shmemx_space_t space)
{
    enum { ALL = 1 << 20 };
    char *first = shmemx_space_malloc(space, ALL / 2), *last = shmemx_space_malloc(space, 4096);
    static char heap[64];
    size_t many = ALL;

    if (is(word, "past reduce"))
        shmem_long_sum_reduce(team, (long *)(void *)first, (long *)(void *)first, ALL);
    if (is(word, "past scan"))
        shmem_long_sum_inscan(team, (long *)(void *)first, (long *)(void *)first, ALL);
    if (is(word, "past broadcast"))
        shmem_broadcastmem(team, last, first, many, 0);
    if (is(word, "past collect"))
        shmem_collectmem(team, last, first, (size_t)(shmem_my_pe() ? ALL / 2 : 8));
    if (is(word, "past fcollect"))
        shmem_fcollectmem(team, last, first, ALL / 2);
    if (is(word, "past alltoall"))
        shmem_alltoallmem(team, last, first, ALL / 2);
    if (is(word, "past alltoalls"))
        shmem_alltoallsmem(team, last, first, ALL / 4, 1, 4);
    if (is(word, "past heap"))
        shmem_broadcastmem(team, shmem_malloc(64), heap, SIZE_MAX / 4, 0);
    if (is(word, "past data"))
        shmem_fcollectmem(team, heap, shmem_malloc(64), (size_t)1 << 40);
    if (is(word, "past stream")) {
        shmemx_stream_t stream;
        shmemx_stream_create(team, NULL, &stream);
        shmemx_long_sum_reduce_on_stream(team, (long *)(void *)first, (long *)(void *)first, ALL,
                                         stream);
        shmemx_stream_synchronize(stream);
    }
}

/* A space of plugin_wrong.c: as good as any, or on no PE. */
static int pool(shmemx_space_config_t config)
{
    shmemx_space_t space;
    shmem_team_t team;
    char text[500];

    config.device_type = (shmemx_device_type_t)18;
    if (shmemx_space_create(&config, &space, &team)) {
        int valid = space != SHMEMX_SPACE_INVALID || shmemx_team_is_valid(team);
        shmem_finalize();
        return valid;
    }
    char *at = shmemx_space_calloc(space, 1, config.size * 3 / 4);
    char last = (char)shmem_my_pe(), right;
    shmem_putmem(at + config.size * 3 / 4 - 1, &last, 1, 1 - last);
    shmem_team_sync(team);
    shmem_getmem(&right, at + config.size * 3 / 4 - 1, 1, shmem_my_pe());
    shmemx_space_describe(space, text, sizeof text);
    shmem_team_destroy(team);
    int rc = shmemx_space_destroy(space);
    shmem_finalize();
    puts("made");
    return rc || right == last || !strlen(text);
}

/* PE 1 has no descriptor left, then one, and so on: spaces of the program's memory, which need some
 * on each PE, are refused for that reason alone, and made in the end. */
static int files(shmemx_space_config_t config)
{
    enum { MOST = 12 };
    struct rlimit before, few;
    int refused = 0, others = 0, rc = 0;
    shmemx_space_t space;
    shmem_team_t team;

    config.device_type = SHMEMX_DEVICE_USER;
    if (shmemx_space_create(&config, &space, &team) != -EINVAL) /* loads the plugin */
        return 1;
    config.base = aligned_alloc(4096, config.size);
    const int lowest = dup(0);
    close(lowest);
    getrlimit(RLIMIT_NOFILE, &before);
    for (int left = 0; left < MOST; left++) {
        few = (struct rlimit){(rlim_t)(lowest + left), before.rlim_max};
        setrlimit(RLIMIT_NOFILE, shmem_my_pe() ? &few : &before);
        rc = shmemx_space_create(&config, &space, &team);
        setrlimit(RLIMIT_NOFILE, &before);
        refused += rc == -EMFILE;
        others += rc && rc != -EMFILE;
        if (!rc) {
            shmem_team_destroy(team);
            shmemx_space_destroy(space);
        }
        shmem_barrier_all();
    }
    shmem_finalize();
    free(config.base);
    printf("%d refused, %d otherwise, the last %d\n", refused, others, rc);
    return !refused || others || rc;
}

/* What uses a space that has ended. */
static void late(const char *word, shmem_team_t team, shmemx_space_t space, long *block)
{
    shmem_team_destroy(team);
    shmemx_space_destroy(space);
    if (is(word, "destroyed"))
        shmemx_space_malloc(space, 8);
    if (is(word, "freed late"))
        shmemx_space_free(space, block);
    shmem_long_p(block, 1, 0);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_CPU, .size = 1 << 20};
    shmemx_space_t a, b;
    shmem_team_t team_a, team_b;
    static long local;

    int given;
    shmem_init_thread(is(word, "past stream") ? SHMEM_THREAD_FUNNELED : SHMEM_THREAD_SINGLE,
                      &given);
    int me = shmem_my_pe();
    if (is(word, "arguments"))
        config.flags = me ? SHMEMX_SPACE_FLAG_LOCKED : 0;
    if (is(word, "size"))
        config.size += (size_t)me;
    if (is(word, "pool"))
        return pool(config);
    if (is(word, "files"))
        return files(config);
    if (strncmp(word, "even", 4) == 0)
        config.device_type = (shmemx_device_type_t)17;
    shmemx_space_create(is(word, "null") && me ? NULL : &config, &a, &team_a);
    if (strncmp(word, "even", 4) == 0) {
        members(word, a);
        return 0;
    }
    if (strncmp(word, "past", 4) == 0) {
        past(word, team_a, a);
        shmem_finalize();
        return 0;
    }
    shmemx_space_create(&config, &b, &team_b);
    long *in_a = shmemx_space_malloc(a, 64), *in_b = shmemx_space_malloc(b, 64);
    if (is(word, "other"))
        shmemx_space_free(b, in_a);
    if (is(word, "heap"))
        shmem_free(in_a);
    if (is(word, "default"))
        shmemx_space_free(SHMEMX_SPACE_DEFAULT, in_a);
    if (is(word, "foreign"))
        shmemx_space_free(a, &config);
    if (is(word, "inside"))
        shmemx_space_free(a, in_a + 2);
    if (is(word, "sizes"))
        shmemx_space_malloc(a, 64 + (size_t)me);
    if (is(word, "mixed"))
        shmem_long_sum_reduce(team_a, in_a, in_b, 1);
    if (is(word, "mixed heap"))
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, in_a, &local, 1);
    if (is(word, "mixed PEs"))
        shmem_long_sum_reduce(team_a, me ? in_a : in_b, me ? in_a : in_b, 1);
    if (is(word, "beyond"))
        shmem_long_put(in_a, &local, 20, 0);
    if (is(word, "freed")) {
        shmemx_space_free(a, in_a);
        shmem_long_p(in_a, 1, 0);
    }
    if (is(word, "end"))
        shmem_long_put((long *)((char *)in_a + (1 << 20) - 8), in_b, 2, 0);
    long *other = shmemx_space_malloc(a, 64);
    if (is(word, "blocks"))
        shmemx_space_free(a, me ? in_a : other);
    if (is(word, "destroyed") || is(word, "freed late") || is(word, "after"))
        late(word, team_a, a, in_a);
    shmem_finalize();
    puts("ended");
    return 0;
}

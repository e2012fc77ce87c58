/* Threads that use one space while another thread makes and ends others, and one more makes and
 * ends streams. Argument: the kind of memory of the space that is used. */
#include <pthread.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "conformance/check.h"

enum { THREADS = 3, MOST = 200000, SIZE = 1 << 20 };

static int rounds = 6, endings = 8; /* with SY_TEST_FULL 15 and 60 */
static long *words;
static int to;
static _Atomic int over;
static long added[THREADS];

static void *use(void *arg)
{
    long id = (long)(intptr_t)arg, i;

    for (i = 0; i < MOST && !over; i++) {
        shmem_long_atomic_add(&words[id], 1, to);
        shmem_long_p(&words[8 + id], i, to);
        shmem_long_g(&words[16 + id], to);
        if (i % 50 == 0)
            shmem_quiet();
    }
    added[id] = i;
    return NULL;
}

static void *make_streams(void *arg)
{
    shmemx_stream_t stream;

    while (!over) {
        if (shmemx_stream_create(SHMEM_TEAM_WORLD, NULL, &stream))
            return NULL;
        shmemx_stream_destroy(stream);
    }
    return arg;
}

static void *anew(size_t length)
{
    return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Of plain memory; of the program's, which is reached by messages; of a device, where there is one,
 * which may have all calls take another way while it is there. */
static void make_others(void)
{
    static const int types[] = {SHMEMX_DEVICE_CPU, SHMEMX_DEVICE_USER, SHMEMX_DEVICE_GPU};
    int me = shmem_my_pe(), from = (me + shmem_n_pes() - 1) % shmem_n_pes();
    void *mine = anew(1 << 16);

    for (int i = 0; i < rounds; i++) {
        shmemx_space_config_t config = {.device_type = types[i % 3], .size = 1 << 16};
        if (config.device_type == SHMEMX_DEVICE_USER)
            config.base = mine;
        shmemx_space_t space;
        shmem_team_t team;
        int rc = shmemx_space_create(&config, &space, &team);
        CHECK(rc == 0 || config.device_type == SHMEMX_DEVICE_GPU);
        if (rc)
            continue;
        long *word = shmemx_space_malloc(space, sizeof *word);
        shmem_long_p(word, i + me, to);
        shmem_barrier_all();
        CHECK(shmem_long_g(word, me) == i + from);
        shmem_barrier_all();
        shmem_team_destroy(team);
        CHECK(shmemx_space_destroy(space) == 0);
    }
}

struct made {
    shmemx_space_t space;
    shmem_team_t team;
    pthread_t thread;
    int ended;
};

static void *destroy(void *arg)
{
    struct made *own = arg;

    shmem_team_destroy(own->team);
    own->ended = shmemx_space_destroy(own->space); /* only the main thread counts checks */
    return NULL;
}

/* Spaces that each end on a thread of its own, all at once. Those that stay are found. */
static void end_at_once(void)
{
    enum { ENDS = 4 };
    shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_CPU, .size = 1 << 16};
    struct made made[ENDS], stays;

    for (int i = 0; i < endings; i++) {
        for (int k = 0; k < ENDS; k++)
            CHECK(shmemx_space_create(&config, &made[k].space, &made[k].team) == 0);
        CHECK(shmemx_space_create(&config, &stays.space, &stays.team) == 0);
        long *word = shmemx_space_malloc(stays.space, sizeof *word);
        for (int k = 0; k < ENDS; k++)
            CHECK(pthread_create(&made[k].thread, NULL, destroy, &made[k]) == 0);
        for (int k = 0; k < ENDS; k++)
            CHECK(pthread_join(made[k].thread, NULL) == 0 && made[k].ended == 0);
        shmem_long_p(word, i + 1, to);
        shmem_barrier_all();
        CHECK(*word == i + 1 && shmem_addr_accessible(words, to));
        destroy(&stays);
        CHECK(stays.ended == 0);
        CHECK(!shmem_addr_accessible(word, to));
    }
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "cpu";
    shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_CPU, .size = SIZE};
    shmemx_space_t space;
    shmem_team_t team;
    pthread_t thread[THREADS], streams;
    void *made;
    int level;

    if (getenv("SY_TEST_FULL"))
        rounds = 15, endings = 60;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &level);
    to = (shmem_my_pe() + 1) % shmem_n_pes();
    if (strcmp(kind, "file") == 0)
        config.device_type = SHMEMX_DEVICE_FILE;
    if (strcmp(kind, "user") == 0) {
        config.device_type = SHMEMX_DEVICE_USER;
        config.base = anew(SIZE);
    }
    CHECK(shmemx_space_create(&config, &space, &team) == 0);
    words = shmemx_space_calloc(space, 64, sizeof *words);
    CHECK(words != NULL);
    for (intptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, use, (void *)i) == 0);
    CHECK(pthread_create(&streams, NULL, make_streams, &config) == 0);
    make_others();
    end_at_once();
    over = 1;
    CHECK(pthread_join(streams, &made) == 0 && made);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    shmem_barrier_all();
    for (int i = 0; i < THREADS; i++)
        CHECK(shmem_long_atomic_fetch(&words[i], to) == added[i]);
    shmem_barrier_all();
    shmem_team_destroy(team);
    CHECK(shmemx_space_destroy(space) == 0);
    return check_end("threads");
}

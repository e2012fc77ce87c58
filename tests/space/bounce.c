/* Order of long transfers with memory of another PE's device, whose copies go on by themselves and
 * are done at their very end (plugin_engine.c): whatever comes after a put finds all of it there,
 * whoever looks. Arguments: rounds. */
#include <pthread.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = (3 << 20) + 1000, THREADS = 4, TIMES = 10 };

static int me, next, before;
static char *there, *mine; /* symmetric memory of the device; memory of the program */
static uint64_t *signal_word, *device_word;

static void fail(const char *what, long round)
{
    fprintf(stderr, "PE %d, round %ld: %s\n", me, round, what);
    shmem_global_exit(1);
}

static void fill(char *to, int pe, long round)
{
    memset(to, (int)((round * 7 + pe) % 251 + 1), SIZE);
}

/* Whether `length` bytes at `at` are what a PE has put in a round. */
static int is(const char *at, size_t length, int pe, long round)
{
    char byte = (char)((round * 7 + pe) % 251 + 1);

    return at[0] == byte && !memcmp(at, at + 1, length - 1);
}

/* Puts that overlap, with a fence between them: the later one stays. */
static void overlap(long round)
{
    size_t from = (size_t)round * 4099 % (SIZE / 2), length = SIZE / 3;

    fill(mine, me, round);
    shmem_putmem(there, mine, SIZE, next);
    shmem_fence();
    fill(mine, me, round + 1);
    shmem_putmem_nbi(there + from, mine, length, next);
    shmem_quiet();
    shmem_getmem(mine, there, SIZE, next);
    if (!is(mine + from, length, me, round + 1) || (from && !is(mine, from, me, round)) ||
        !is(mine + from + length, SIZE - from - length, me, round))
        fail("a put after a fence did not come after that before it", round);
}

/* What a signal announces is there for the PE that is signalled: it reads its device. */
static void signalled(long round)
{
    fill(mine, me, round);
    shmem_putmem_signal(there, mine, SIZE, signal_word, 1, SHMEM_SIGNAL_ADD, next);
    shmem_uint64_wait_until(signal_word, SHMEM_CMP_GE, (uint64_t)round + 1);
    shmem_getmem(mine, there, SIZE, me);
    if (!is(mine, SIZE, before, round))
        fail("a signal came before its data", round);
}

/* The same with a counter in the device. */
static void counted(long round)
{
    fill(mine, me, round + 3);
    shmem_putmem(there, mine, SIZE, next);
    shmem_fence();
    shmem_uint64_atomic_inc(device_word, next);
    while (shmem_uint64_atomic_fetch(device_word, me) <= (uint64_t)round)
        ;
    shmem_getmem(mine, there, SIZE, me);
    if (!is(mine, SIZE, before, round + 3))
        fail("an atomic operation came before a put that a fence had before it", round);
}

/* More transfers than there are bounce buffers, all with the same PE. */
static void *crowd(void *arg)
{
    size_t thread = (size_t)arg, length = SIZE / THREADS / 8 * 8;
    char *at = there + thread * length, *own = malloc(length), *got = malloc(length);

    for (int i = 0; i < TIMES; i++) {
        memset(own, (int)thread * TIMES + i + 1, length);
        shmem_putmem(at, own, length, next);
        shmem_getmem(got, at, length, next);
        if (memcmp(own, got, length))
            fail("transfers of several threads mix", (long)thread);
    }
    free(own);
    free(got);
    return NULL;
}

static void crowds(void)
{
    pthread_t thread[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, crowd, (void *)i))
            fail("no thread", (long)i);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    shmem_barrier_all();
}

static void orders(long rounds)
{
    for (long round = 0; round < rounds; round++) {
        overlap(round);
        shmem_barrier_all();
        signalled(round);
        shmem_barrier_all();
        counted(round);
        shmem_barrier_all();
    }
}

int main(int argc, char **argv)
{
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_GPU, .size = SIZE + 4096};
    long rounds = argc > 1 ? atol(argv[1]) : 5;
    shmemx_space_t space;
    shmem_team_t team;
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    next = (me + 1) % shmem_n_pes();
    before = (me + shmem_n_pes() - 1) % shmem_n_pes();
    mine = malloc(SIZE);
    for (int life = 0; life < 3; life++) { /* a space goes while its last copies are just over */
        if (shmemx_space_create(&config, &space, &team))
            fail("no space", life);
        signal_word = shmem_calloc(1, sizeof *signal_word);
        there = shmemx_space_malloc(space, SIZE);
        device_word = shmemx_space_calloc(space, 1, sizeof *device_word);
        if (!mine || !signal_word || !there || !device_word)
            fail("no memory", life);
        orders(rounds);
        if (provided == SHMEM_THREAD_MULTIPLE)
            crowds();
        shmem_free(signal_word);
        shmem_putmem(there, mine, SIZE, next);
        shmem_team_destroy(team);
        if (shmemx_space_destroy(space))
            fail("the space does not end", life);
    }
    if (!me)
        puts("bounce: OK");
    free(mine);
    shmem_finalize();
    return 0;
}

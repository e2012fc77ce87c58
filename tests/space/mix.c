/* Random transfers with memory of a device, of odd lengths and strides at odd places, compared with
 * what ordinary memory has after the same. A PE changes the space of the next one alone, and half
 * of its own. Arguments: steps, flags of the space, a seed. */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 6 << 20, MOST_STRIDE = 40, MOST_BLOCKS = 3000 };

static const unsigned lengths[] = {1,      7,      13,      4095,    4096,    65535,   65536,
                                   262143, 262144, 1048575, 1048576, 1048577, 2097160, 4194309};
static unsigned long state;
static int me, next;
static char *there, *here;                    /* of the space: the next PE's half, and this one's */
static char *there_model, *here_model, *host; /* ordinary memory */
static uint64_t *signal_word;

static size_t below(size_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 20) % n;
}

static void same(const char *a, const char *b, size_t length, const char *what, long step)
{
    if (!memcmp(a, b, length))
        return;
    fprintf(stderr, "PE %d, step %ld: %s of %zu bytes is wrong\n", me, step, what, length);
    shmem_global_exit(1);
}

static void scatter(size_t length)
{
    for (size_t i = 0; i < length; i += 1 + below(50))
        host[i] = (char)below(256);
}

/* A place for `blocks` ints that are `*stride` apart, perhaps downwards. */
static ptrdiff_t place(size_t blocks, ptrdiff_t *stride)
{
    *stride = below(4) ? (ptrdiff_t)(1 + below(MOST_STRIDE)) : 1;
    size_t span = blocks * (size_t)*stride;
    ptrdiff_t first = (ptrdiff_t)below(SIZE / 4 - span);

    if (below(2))
        return first;
    first += (ptrdiff_t)(blocks - 1) * *stride;
    *stride = -*stride;
    return first;
}

static void strided(int put)
{
    size_t blocks = 1 + below(MOST_BLOCKS);
    ptrdiff_t far_stride, near_stride, far = place(blocks, &far_stride),
                                       near = place(blocks, &near_stride);
    int *far_model = (int *)(void *)there_model, *near_model = (int *)(void *)here_model;

    if (put)
        shmem_int_iput((int *)(void *)there + far, (int *)(void *)here + near, far_stride,
                       near_stride, blocks, next);
    else
        shmem_int_iget((int *)(void *)here + near, (int *)(void *)there + far, near_stride,
                       far_stride, blocks, next);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)blocks; i++)
        if (put)
            far_model[far + i * far_stride] = near_model[near + i * near_stride];
        else
            near_model[near + i * near_stride] = far_model[far + i * far_stride];
}

static void put_new(char *to, char *model, size_t length, int pe)
{
    scatter(length);
    shmem_putmem(to, host, length, pe);
    memcpy(model, host, length);
}

static void one(long step)
{
    size_t length = lengths[below(sizeof lengths / sizeof *lengths)];
    size_t at = below(SIZE - length + 1), other = below(SIZE - length + 1);

    switch (below(8)) {
    case 0:
        put_new(there + at, there_model + at, length, next);
        break;
    case 1:
        shmem_putmem(there + at, here + other, length, next);
        memcpy(there_model + at, here_model + other, length);
        break;
    case 2:
        shmem_quiet();
        shmem_getmem(here + other, there + at, length, next);
        memcpy(here_model + other, there_model + at, length);
        break;
    case 3:
        shmem_quiet();
        shmem_getmem(host, there + at, length, next);
        same(host, there_model + at, length, "a get", step);
        break;
    case 4:
        put_new(here + at, here_model + at, length, me);
        break;
    case 5:
        scatter(length);
        shmem_putmem_signal(there + at, host, length, signal_word, 1, SHMEM_SIGNAL_ADD, next);
        memcpy(there_model + at, host, length);
        break;
    case 6:
        strided(1);
        break;
    default:
        shmem_quiet();
        strided(0);
    }
}

int main(int argc, char **argv)
{
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_GPU,
                                          .size = 2 * SIZE + 65536,
                                          .flags = argc > 2 ? atoi(argv[2]) : 0};
    shmemx_space_t space;
    shmem_team_t team;

    shmem_init();
    me = shmem_my_pe();
    next = (me + 1) % shmem_n_pes();
    state = 88172645463325252u + 7919u * (unsigned long)me +
            (argc > 3 ? strtoul(argv[3], NULL, 0) : 0);
    if (shmemx_space_create(&config, &space, &team))
        shmem_global_exit(1);
    there = shmemx_space_calloc(space, 1, SIZE);
    here = shmemx_space_calloc(space, 1, SIZE);
    signal_word = shmem_calloc(1, sizeof *signal_word);
    there_model = calloc(1, SIZE);
    here_model = calloc(1, SIZE);
    host = calloc(1, SIZE);
    if (!there || !here || !signal_word || !there_model || !here_model || !host)
        shmem_global_exit(1);
    shmem_barrier_all();
    long steps = argc > 1 ? atol(argv[1]) : 100;
    for (long step = 0; step < steps; step++)
        one(step);
    shmem_barrier_all();
    shmem_getmem(host, there, SIZE, next);
    same(host, there_model, SIZE, "the next PE's half", steps);
    shmem_getmem(host, here, SIZE, me);
    same(host, here_model, SIZE, "this PE's half", steps);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}

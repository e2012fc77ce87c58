/* How fast transfers with memory of a device are, next to what bounds them: the device's own copies
 * and the transport's transfers between the heap and memory of the program. To be looked at; two
 * PEs, transports and which device are as the environment has them. Arguments: flags of the space;
 * a size, where it is for this one alone.
 *
 * A row has MB/s, medians of several times. Behind each of a device is its part of the slower of
 * the two bounds. */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 25 };

static const size_t sizes[] = {4096, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A kind of transfer with a PE. */
struct kind {
    int put;
    char *dest, *source;
    int pe;
    double rate[TIMES]; /* MB/s */
};

static double once(const struct kind *kind, size_t size)
{
    double begun = now();

    if (kind->put)
        shmem_putmem(kind->dest, kind->source, size, kind->pe);
    else
        shmem_getmem(kind->dest, kind->source, size, kind->pe);
    shmem_quiet();
    return (double)size / (now() - begun) / 1e6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(struct kind *kind)
{
    qsort(kind->rate, TIMES, sizeof kind->rate[0], compare);
    return kind->rate[TIMES / 2];
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* The kinds take turns, so that a machine whose speed changes changes it for all. */
static void row(size_t size, char *device, char *heap, char *mine)
{
    enum { IN, OUT, PUT, GET, PUT_TO, GET_FROM, PUT_OWN, GET_TO_OWN, PUT_OWN_TO, KINDS };
    struct kind kind[KINDS] = {
        [IN] = {1, device, mine, 0, {0}},
        [OUT] = {0, mine, device, 0, {0}},
        [PUT] = {1, heap, mine, 1, {0}},
        [GET] = {0, mine, heap, 1, {0}},
        [PUT_TO] = {1, device, mine, 1, {0}},
        [GET_FROM] = {0, mine, device, 1, {0}},
        [PUT_OWN] = {1, heap, device, 1, {0}},
        [GET_TO_OWN] = {0, device, heap, 1, {0}},
        [PUT_OWN_TO] = {1, device, device + size, 1, {0}},
    };

    for (int i = 0; i < TIMES; i++)
        for (int k = 0; k < KINDS; k++)
            kind[k].rate[i] = once(&kind[k], size);
    double in = median(&kind[IN]), out = median(&kind[OUT]);
    double put = median(&kind[PUT]), get = median(&kind[GET]);
    const double bound[KINDS] = {[PUT_TO] = lesser(in, put),
                                 [GET_FROM] = lesser(out, get),
                                 [PUT_OWN] = lesser(out, put),
                                 [GET_TO_OWN] = lesser(in, get),
                                 [PUT_OWN_TO] = lesser(lesser(in, out), put)};
    printf("%9zu %8.0f %8.0f %8.0f %8.0f", size, in, out, put, get);
    for (int k = PUT_TO; k < KINDS; k++)
        printf(" %8.0f %4.2f", median(&kind[k]), median(&kind[k]) / bound[k]);
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const size_t most = sizes[sizeof sizes / sizeof *sizes - 1];
    const shmemx_space_config_t config = {
        .device_type = SHMEMX_DEVICE_GPU, .size = 3 * most, .flags = argc > 1 ? atoi(argv[1]) : 0};
    shmemx_space_t space;
    shmem_team_t team;

    shmem_init();
    if (shmem_n_pes() != 2 || shmemx_space_create(&config, &space, &team))
        shmem_global_exit(1);
    char *device = shmemx_space_malloc(space, 2 * most), *heap = shmem_malloc(most),
         *mine = malloc(most);
    if (!device || !heap || !mine)
        shmem_global_exit(1);
    memset(mine, 1, most);
    memset(heap, 2, most);
    shmem_putmem(device, mine, most, shmem_my_pe());
    shmem_putmem(device + most, heap, most, shmem_my_pe());
    shmem_barrier_all();
    if (!shmem_my_pe()) {
        printf("%9s %8s %8s %8s %8s %13s %13s %13s %13s %13s\n", "bytes", "copy in", "copy out",
               "put", "get", "put to", "get from", "put own", "get to own", "put own to");
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (argc < 3 || sizes[i] == strtoul(argv[2], NULL, 0))
                row(sizes[i], device, heap, mine);
    }
    shmem_finalize();
    return 0;
}

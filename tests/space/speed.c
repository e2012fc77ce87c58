/* How fast transfers with memory of a device are, next to what bounds them: the device's own copies
 * and the transport's transfers between the heap and memory of the program. To be looked at; two
 * PEs, transports and which device are as the environment has them. Argument: flags of the space.
 *
 * A row has MB/s, of the best of several times. Behind each of a device is its part of the slower of
 * the two bounds. */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TIMES = 15 };

static const size_t sizes[] = {4096, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* MB/s of a put to PE `pe`, or a get. */
static double rate(int put, void *dest, const void *source, size_t size, int pe)
{
    double best = 1e9;

    for (int i = 0; i < TIMES; i++) {
        double begun = now();
        if (put)
            shmem_putmem(dest, source, size, pe);
        else
            shmem_getmem(dest, source, size, pe);
        shmem_quiet();
        double took = now() - begun;
        best = took < best ? took : best;
    }
    return (double)size / best / 1e6;
}

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static void row(size_t size, char *device, char *heap, char *mine)
{
    double in = rate(1, device, mine, size, 0), out = rate(0, mine, device, size, 0);
    double put = rate(1, heap, mine, size, 1), get = rate(0, mine, heap, size, 1);
    const struct {
        double rate, bound;
    } of[] = {{rate(1, device, mine, size, 1), lesser(in, put)},
              {rate(0, mine, device, size, 1), lesser(out, get)},
              {rate(1, heap, device, size, 1), lesser(out, put)},
              {rate(0, device, heap, size, 1), lesser(in, get)},
              {rate(1, device, device + size, size, 1), lesser(lesser(in, out), put)}};

    printf("%9zu %8.0f %8.0f %8.0f %8.0f", size, in, out, put, get);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        printf(" %8.0f %4.2f", of[i].rate, of[i].rate / of[i].bound);
    putchar('\n');
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const size_t most = sizes[sizeof sizes / sizeof *sizes - 1];
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_GPU,
                                          .size = 3 * most,
                                          .flags = argc > 1 ? atoi(argv[1]) : 0};
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
            row(sizes[i], device, heap, mine);
    }
    shmem_finalize();
    return 0;
}

/* The memory that idle connections keep in PE 0, after both sides of each have put, got and added,
 * small and large amounts. Prints the KiB per connection, and fails where they stay above the
 * limit. The memory of sockets is the kernel's and is not counted. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/check.h"

enum { LARGE = 100000, SETTLES = 3, PATIENCE = 12 /* seconds */ };

static long word, sum;
static char here[LARGE], there[LARGE];

/* KiB of resident pages that this process has written to: heap, stacks, data, rings. Pages of code
 * and shared pages come and go with the system's memory. */
static long resident(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = -1;

    while (file && kib < 0 && fgets(line, sizeof line, file))
        sscanf(line, "Private_Dirty: %ld", &kib);
    if (file)
        fclose(file);
    return kib;
}

static int connections(void)
{
    int count = 0;

    for (int fd = 0; fd < 4096; fd++) {
        struct tcp_info info = {0};
        socklen_t size = sizeof info;
        count += !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) &&
                 info.tcpi_state == TCP_ESTABLISHED;
    }
    return count;
}

static void use(int pe)
{
    shmem_long_p(&word, 1, pe);
    shmem_long_atomic_add(&sum, 1, pe);
    shmem_long_atomic_fetch_add(&sum, 1, pe);
    shmem_putmem(there, here, LARGE, pe);
    shmem_getmem(here, there, 1000, pe);
    shmem_getmem(here, there, LARGE, pe);
    shmem_quiet();
}

/* The PEs in [first, end) and PE 0 use each other's memory, one after the other. */
static void meet(int first, int end)
{
    int me = shmem_my_pe();

    for (int pe = first; pe < end && me == 0; pe++)
        use(pe);
    shmem_barrier_all();
    if (me >= first && me < end)
        use(0);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    double allowed = argc > 1 ? atof(argv[1]) : 4, each = 0;
    struct timespec moment = {.tv_nsec = 100000000};
    long before = 0, after = 0;
    int first = 0;

    shmem_init();
    meet(1, 5); /* what is needed once is there then */
    if (shmem_my_pe() == 0) {
        sleep(SETTLES);
        before = resident();
        first = connections();
    }
    shmem_barrier_all();
    meet(5, shmem_n_pes());
    if (shmem_my_pe() == 0) {
        int more = connections() - first;
        sleep(SETTLES);
        CHECK(before > 0 && more >= shmem_n_pes() / 2);
        for (int i = 0; i < PATIENCE * 10; i++) {
            nanosleep(&moment, NULL);
            after = resident();
            each = (double)(after - before) / more;
            if (each <= allowed)
                break;
        }
        CHECK(each <= allowed);
        printf("%d connections at rest: %.2f KiB each (%ld KiB, and %ld KiB with the first %d)\n",
               more, each, after - before, before, first);
    }
    shmem_barrier_all();
    int status = check_end("resident");
    shmem_finalize();
    return status;
}

/* The first contact of all PEs with all others, at once.
 *   first around|puts|full [LATE SECONDS]
 * Each PE puts to all others: around, beginning with the one after itself; puts: in the order of
 * their numbers; full: as around, without a file descriptor left. PE LATE does nothing of the
 * library's for a while before that; -1 seconds: it is stopped. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/conformance/check.h"

static long *source, *dest;

static void put_to_all(int me, int n, int first)
{
    for (int step = 0; step < n; step++) {
        int pe = (first + step) % n;
        shmem_long_p(&dest[me], source[pe], pe);
    }
    shmem_barrier_all();
}

static void use_up_descriptors(void)
{
    const struct rlimit low = {128, 128};

    CHECK(!setrlimit(RLIMIT_NOFILE, &low));
    while (open("/dev/null", O_RDONLY) >= 0)
        ;
}

static void be_late(int seconds)
{
    if (seconds < 0)
        raise(SIGSTOP);
    else
        sleep((unsigned)seconds);
}

int main(int argc, char **argv)
{
    int level;

    shmem_init_thread(getenv("FIRST_THREADS") ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE,
                      &level);
    int me = shmem_my_pe(), n = shmem_n_pes();
    source = shmem_calloc((size_t)n, sizeof *source);
    dest = shmem_calloc((size_t)n, sizeof *dest);
    CHECK(source && dest);
    for (int pe = 0; pe < n; pe++)
        source[pe] = 1000L * me + pe + 1;
    if (argc > 3 && atoi(argv[2]) == me)
        be_late(atoi(argv[3]));
    if (argc > 1 && !strcmp(argv[1], "full")) {
        use_up_descriptors();
        shmem_barrier_all();
    }
    put_to_all(me, n, argc > 1 && !strcmp(argv[1], "puts") ? 0 : me + 1);
    for (int pe = 0; pe < n; pe++)
        CHECK(dest[pe] == 1000L * pe + me + 1);
    int status = check_end("first");
    shmem_finalize();
    return status;
}

/* PEs that wait for ever, each in a call of its own: for the reports of what a job waits for.
 * "short": PE 0 ends it after 3 s; "for SECONDS": PE 2, which computes, ends the job after that
 * time; "malloc SECONDS": the same, and PE 4 waits in shmem_malloc. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long flag;
static uint64_t signal_word;

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe();
    printf("up\n");
    fflush(stdout);
    printf("here\n"); /* which is seen where stdout is a pipe, although nobody flushes it */
    if (argc > 1 && strcmp(argv[1], "short") == 0 && me == 0) {
        sleep(3);
        shmem_long_p(&flag, 1, 1);
    } else if (me == 0) {
        shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 1);
    } else if (me == 1) {
        shmem_long_wait_until(&flag, SHMEM_CMP_EQ, 1);
    } else if (me == 2) {
        time_t end = argc > 2 ? time(NULL) + atoi(argv[2]) : 0;
        while (!end || time(NULL) < end)
            continue;
        shmem_global_exit(0);
    } else if (argc > 1 && strcmp(argv[1], "malloc") == 0 && me == 4) {
        shmem_malloc(8);
    } else {
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}

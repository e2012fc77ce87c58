/* PEs that wait for ever, each in a call of its own: for the reports of what a job waits for.
 * "short": PE 0 ends it after 3 s; "for SECONDS": PE 2, which computes, ends the job after that
 * time; "malloc SECONDS": the same, and PE 4 waits in shmem_malloc; "starved SECONDS": the same,
 * and the thread of PE 0 has a processor only where no other thread needs it; "get": PE 0 gets from
 * PE 1, which stops itself. */
#include <sched.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long flag;
static uint64_t signal_word;

static void get_from_the_stopped(int me)
{
    shmem_barrier_all();
    if (me == 1)
        raise(SIGSTOP);
    for (;;)
        shmem_long_g(&flag, 1);
}

/* Of this thread alone, not the library's. */
static void starve(void)
{
    const struct sched_param none = {0};

    if (sched_setscheduler(0, SCHED_IDLE, &none))
        perror("SCHED_IDLE");
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe();
    if (argc > 1 && strcmp(argv[1], "starved") == 0 && me == 0)
        starve();
    printf("up\n");
    fflush(stdout);
    printf("here\n"); /* which is seen where stdout is a pipe, although nobody flushes it */
    if (argc > 1 && strcmp(argv[1], "get") == 0) {
        get_from_the_stopped(me);
    } else if (argc > 1 && strcmp(argv[1], "short") == 0 && me == 0) {
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

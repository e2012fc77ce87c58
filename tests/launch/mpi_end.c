/* mpi_end HOW [VALUE]: a job of MPI and OpenSHMEM whose last process ends in some way. PE 0
 * computes, PE 1 waits in MPI, others in OpenSHMEM. HOW = wait: nothing ends until all are killed;
 * late: the job ends in order, but the last process looks at MPI for a while when others have gone.
 * leave: the last process exits with status 0 while all others are in a barrier, where they would
 * stay; with VALUE 1 at SHMEM_THREAD_MULTIPLE; get: the same, but they read its memory and then end
 * as well, which is in order. early: all finalise MPI first, with large puts under way; with VALUE
 * 2 with a short one. alone: the last process does, and the others wait for it in a barrier. lock:
 * a thread of PE 0 has what all others wait for, and sleeps. */
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int end_late(int last)
{
    int there;

    shmem_finalize();
    for (double until = MPI_Wtime() + 0.5; last && MPI_Wtime() < until;)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}

static int end_left(int last, int other)
{
    static long mine = 7, theirs;

    if (last)
        exit(0);
    if (other) {
        usleep(200000); /* PE 0 leaves meanwhile */
        theirs = shmem_long_g(&mine, shmem_n_pes() - 1);
    } else {
        shmem_barrier_all();
        shmem_barrier_all();
    }
    shmem_finalize();
    MPI_Finalize();
    return other && theirs != 7;
}

static long lock;

static void *hold(void *arg)
{
    (void)arg;
    poll(NULL, 0, 2500);
    shmem_clear_lock(&lock);
    return NULL;
}

static int end_lock(int me)
{
    pthread_t thread;

    if (me == 0)
        shmem_set_lock(&lock);
    shmem_barrier_all();
    if (me == 0) {
        pthread_create(&thread, NULL, hold, NULL);
    } else {
        shmem_set_lock(&lock);
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    if (me == 0)
        pthread_join(thread, NULL);
    shmem_finalize();
    MPI_Finalize();
    return 0;
}

/* The last process comes later: the others are in MPI_Finalize when its puts reach them. */
static int end_early(int last, int next, int larges)
{
    enum { LARGE = 1 << 20 };
    static char large[LARGE], small[1000];

    if (last)
        usleep(200000);
    for (int i = 0; i < larges; i++)
        shmem_putmem_nbi(large, large, LARGE, next);
    shmem_putmem(small, large, sizeof small, next);
    MPI_Finalize();
    shmem_quiet();
    printf("quiet\n");
    fflush(stdout);
    shmem_finalize();
    return 0;
}

/* An MPI_Finalize that does not wait for the others lets all go on. */
static int end_alone(int last)
{
    if (last)
        MPI_Finalize();
    shmem_barrier_all();
    shmem_finalize();
    if (!last)
        MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int value = argc > 2 ? atoi(argv[2]) : 0, level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level); /* as the transport mpi wants it */
    shmem_init_thread(value == 1 ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &level);
    int me = shmem_my_pe(), npes = shmem_n_pes();
    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        printf("begun\n");
        fflush(stdout);
    }
    shmem_barrier_all();
    if (!strcmp(how, "late"))
        return end_late(me == npes - 1);
    if (!strcmp(how, "leave") || !strcmp(how, "get"))
        return end_left(me == npes - 1, !strcmp(how, "get"));
    if (!strcmp(how, "lock"))
        return end_lock(me);
    if (!strcmp(how, "alone"))
        return end_alone(me == npes - 1);
    if (!strcmp(how, "early"))
        return end_early(me == npes - 1, (me + 1) % npes, value == 2 ? 0 : 8);
    if (me == npes - 1) {
        if (!strcmp(how, "global_exit"))
            shmem_global_exit(value);
        if (!strcmp(how, "exit"))
            exit(value);
        if (!strcmp(how, "abort"))
            MPI_Abort(MPI_COMM_WORLD, value);
        if (!strcmp(how, "kill"))
            raise(value);
    }
    for (volatile long forever = 0; me == 0; forever++)
        ;
    if (me == 1)
        MPI_Barrier(MPI_COMM_WORLD);
    shmem_barrier_all();
    return 3;
}

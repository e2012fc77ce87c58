/* PE 0 has left main, or waits for the others in shmem_finalize, and the others do what the command
 * line says: some can never go on, and some only look as if they could not. */
#include <pthread.h>
#include <shmem.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static long flag;
static long *heap;
static unsigned seconds;

static void raise_flag(int number)
{
    (void)number;
    flag = 1;
}

static void *raise_later(void *arg)
{
    sleep(seconds);
    shmem_long_p(&flag, 1, shmem_my_pe());
    return arg;
}

static void compute(void)
{
    for (long end = time(NULL) + (long)seconds; time(NULL) < end;)
        ;
}

static void wait_for(long *what)
{
    shmem_long_wait_until(what, SHMEM_CMP_EQ, 1);
}

/* What comes from outside of the library. */
static void wait_for_event(const char *what)
{
    pthread_t thread;

    if (!strcmp(what, "thread")) {
        pthread_create(&thread, NULL, raise_later, NULL);
        wait_for(&flag);
        pthread_join(thread, NULL);
    } else if (!strcmp(what, "handler")) {
        signal(SIGALRM, raise_flag);
        alarm(seconds);
        wait_for(&flag);
    } else if (!strcmp(what, "child")) {
        if (!fork()) {
            sleep(seconds);
            *heap = 1;
            _exit(0);
        }
        wait_for(heap);
        wait(NULL);
    }
}

static void act(const char *what, int me)
{
    if (!strcmp(what, "barrier")) {
        shmem_barrier_all();
        shmem_barrier_all();
    } else if (!strcmp(what, "signal")) {
        wait_for(&flag);
    } else if (!strcmp(what, "sleep")) {
        sleep(seconds);
    } else if (!strcmp(what, "compute")) {
        compute();
    } else if (!strcmp(what, "test")) {
        for (unsigned i = 0; i < seconds * 10 && !shmem_long_test(&flag, SHMEM_CMP_EQ, 1); i++)
            usleep(100000);
    } else if (!strcmp(what, "put")) {
        /* PE 2 computes before it does what PE 1 waits for. */
        if (me == 1)
            wait_for(&flag);
        if (me == 2)
            sleep(seconds);
        if (me == 2)
            shmem_long_p(&flag, 1, 1);
    } else {
        wait_for_event(what);
    }
}

int main(int argc, char **argv)
{
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    int me = shmem_my_pe();
    seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    heap = shmem_calloc(1, sizeof *heap);
    printf("up\n");
    fflush(stdout);
    if (!strcmp(argv[1], "circle")) { /* nobody leaves */
        wait_for(&flag);
    } else if (me) {
        act(argv[1], me);
    } else if (argc > 3) {
        return 0; /* without shmem_finalize */
    }
    shmem_finalize();
    return 0;
}

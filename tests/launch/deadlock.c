/* PE 0 has left main, or waits for the others in shmem_finalize, and the others do what the command
 * line says: some can never continue, others only look like that. With LATE in the environment the
 * PEs have memory that a thread of shm serves, which starts with that. */
#include <pthread.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
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

static void raise_others(int number)
{
    (void)number;
    for (int pe = 1; pe < shmem_n_pes(); pe++)
        shmem_long_p(&flag, 1, pe);
}

static void *raise_later(void *arg)
{
    sleep(seconds);
    shmem_long_p(&flag, 1, shmem_my_pe());
    return arg;
}

/* Waits until another thread of this PE notifies it, which none does. */
static void *park(void *arg)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    pthread_mutex_lock(&mutex);
    while (!seconds || !arg)
        pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void start_parked(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, park, NULL);
}

/* Everything that may write to a program's variables without the library. */
static void keep_company(void)
{
    start_parked();
    signal(SIGUSR2, raise_flag);
    if (!fork()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
    }
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

/* What reaches a process from outside of the library. */
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
    } else if (!strcmp(what, "parked")) {
        start_parked();
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
            wait_for(heap);
        if (me == 2)
            sleep(seconds);
        if (me == 2)
            shmem_long_p(heap, 1, 1);
    } else {
        wait_for_event(what);
    }
}

static long *allocate_late(void)
{
    enum { BYTES = 1 << 16 };
    const shmemx_space_config_t config = {.device_type = SHMEMX_DEVICE_USER,
                                          .size = BYTES,
                                          .base = memset(aligned_alloc(4096, BYTES), 0, BYTES)};
    shmemx_space_t space;
    shmem_team_t team;

    if (shmemx_space_create(&config, &space, &team))
        shmem_global_exit(9);
    return shmemx_space_calloc(space, 1, sizeof(long));
}

int main(int argc, char **argv)
{
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    int me = shmem_my_pe();
    seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    heap = getenv("LATE") ? allocate_late() : shmem_calloc(1, sizeof *heap);
    printf("up\n");
    fflush(stdout);
    if (!strcmp(argv[1], "circle")) { /* nobody leaves */
        wait_for(&flag);
    } else if (!strcmp(argv[1], "lock")) {
        static long lock;
        keep_company();
        if (!me)
            shmem_set_lock(&lock);
        shmem_sync_all();
        if (me)
            shmem_set_lock(&lock);
        shmem_barrier_all();
    } else if (!strcmp(argv[1], "barrier_handler")) {
        if (!me)
            signal(SIGALRM, raise_others), alarm(seconds);
        else
            wait_for(&flag);
        shmem_barrier_all();
    } else if (me) {
        act(argv[1], me);
    } else if (argc > 3) {
        return 0; /* without shmem_finalize */
    }
    shmem_finalize();
    return 0;
}

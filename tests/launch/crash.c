/* Crashes, one a run, by the name on the command line, on PE 1; the other PEs wait for it. */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *how;
static volatile long zero;
static long *gone; /* a block of the symmetric heap */
static volatile int *volatile nowhere = (volatile int *)8;

static __attribute__((noinline)) void wild_store(void)
{
    *nowhere = 1;
}

static __attribute__((noinline)) long deep(long n)
{
    volatile char room[4096];

    room[n & 4095] = 1;
    return n ? deep(n - 1) + room[n & 1] : 0;
}

static void own_handler(int number)
{
    (void)number;
    static const char text[] = "handled\n";
    if (write(STDOUT_FILENO, text, sizeof text - 1) < 0)
        abort();
    _exit(3);
}

static void *crash_in_thread(void *arg)
{
    if (!strcmp(how, "thread overflow"))
        deep(1 << 30);
    wild_store();
    return arg;
}

/* Uses symmetric memory after the library has ended, as a thread does that is left in a routine. */
static void use_late(long *block)
{
    shmem_finalize();
    *(volatile long *)block = 1;
}

static void in_child(void)
{
    pid_t child = fork();
    int status;

    if (!child)
        wild_store();
    waitpid(child, &status, 0);
    printf("child: signal %d\n", WTERMSIG(status));
}

/* The library's call is this one; PEs have their numbers, and no heap yet. */
__attribute__((visibility("default"))) int ftruncate(int fd, off_t length)
{
    const char *pe = getenv("SHMEM_BOOT_PE");

    if (how && !strcmp(how, "starting") && pe && !strcmp(pe, "1"))
        wild_store();
    return (int)syscall(SYS_ftruncate, fd, length);
}

static void crash(void)
{
    pthread_t thread;

    if (!strcmp(how, "chroot") && (chdir("/proc/self/fdinfo") || chroot(".")))
        exit(77);
    if (!strcmp(how, "segv") || !strcmp(how, "before") || !strcmp(how, "chroot"))
        wild_store();
    else if (!strcmp(how, "abort"))
        abort();
    else if (!strcmp(how, "fpe"))
        zero = 100 / zero;
    else if (!strcmp(how, "overflow"))
        deep(1 << 30);
    else if (!strcmp(how, "sent"))
        kill(getpid(), SIGSEGV);
    else if (!strcmp(how, "null"))
        shmemx_team_from_group(1, NULL, NULL, (void *)zero);
    else if (!strcmp(how, "gone"))
        use_late(gone);
    else if (!strcmp(how, "later")) {
        signal(SIGSEGV, own_handler);
        wild_store();
    } else if (!strncmp(how, "thread", 6)) {
        pthread_create(&thread, NULL, crash_in_thread, NULL);
        pthread_join(thread, NULL);
    } else if (!strcmp(how, "child")) {
        in_child();
    } else if (!strcmp(how, "masks")) {
        /* Until the child runs, the calling thread blocks all signals; now and then for longer. */
        zero = system("while grep -q 'SigBlk:.*fffffffff' /proc/$PPID/status; do sleep 0.01; done; "
                      "grep -h SigBlk /proc/$PPID/task/*/status");
    }
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "before"))
        signal(SIGSEGV, own_handler);
    shmem_init();
    gone = shmem_malloc(sizeof *gone);
    if (shmem_my_pe() == 1)
        crash();
    if (strcmp(how, "gone"))
        shmem_barrier_all();
    shmem_finalize();
    return 0;
}

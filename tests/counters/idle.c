/* What a long wait takes of the processor, and how soon it ends: PE 0 waits for PE 1, which sleeps
 * for MILLISECONDS and then puts the time of day. Prints the processor time of PE 0 during the
 * wait, of all its threads, without the first tenth of a second, in thousandths of the rest of the
 * wait; how often it has given the processor away; and how many microseconds after the put it was
 * back. With "puts" PE 1 puts 64 KiB many times before that, and waits for each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <shmem.h>

#define FIRST_NS 100000000L
#define PUTS     2000
#define PUT      65536

static long put_at;
static char data[PUT], put_to[PUT];

static long idle_clock(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long idle_switches(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static void idle_wait(const char *how)
{
    if (!strcmp(how, "barrier"))
        shmem_barrier_all();
    else
        shmem_long_wait_until(&put_at, SHMEM_CMP_NE, 0);
}

static void idle_measure(const char *how)
{
    long since = idle_clock(CLOCK_MONOTONIC), used = idle_clock(CLOCK_PROCESS_CPUTIME_ID);
    long switches = idle_switches();

    idle_wait(how);
    long now = idle_clock(CLOCK_MONOTONIC), rest = now - since - FIRST_NS;
    used = idle_clock(CLOCK_PROCESS_CPUTIME_ID) - used - FIRST_NS;
    printf("%s: thousandths %ld switches %ld late %ld us\n", how, used > 0 ? used * 1000 / rest : 0,
           idle_switches() - switches, (now - put_at) / 1000);
}

static void idle_puts(void)
{
    for (int i = 0; i < PUTS; i++) {
        shmem_putmem(put_to, data, sizeof data, 0);
        shmem_quiet();
    }
}

int main(int argc, char **argv)
{
    shmem_init();
    for (int i = 2; i < argc; i++) {
        put_at = 0;
        shmem_barrier_all();
        if (shmem_my_pe() == 0) {
            idle_measure(argv[i]);
        } else {
            usleep((useconds_t)atoi(argv[1]) * 1000);
            if (!strcmp(argv[i], "puts"))
                idle_puts();
            shmem_long_p(&put_at, idle_clock(CLOCK_MONOTONIC), 0);
            if (!strcmp(argv[i], "barrier"))
                shmem_barrier_all();
        }
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}

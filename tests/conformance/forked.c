/* A program that forks without exec: the child has variables of its own, and leaving the child does
 * not end the parent's part in the job. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* A program with WIDE runs where its variables could not be moved: there is little room all the
 * time, and none may be taken from the progress thread, which serves them. */
#ifdef WIDE
#define TIGHT 0
#else
#define TIGHT 1
#define WIDE  100000
#endif
static long shared = 1, wide[WIDE];

/* The bytes of address space that this process has. */
static rlim_t used(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (!file || fscanf(file, "%lu", &pages) != 1)
        abort();
    fclose(file);
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Forks, in some rounds where there is no room for a copy of the variables, but some for what the
 * progress thread allocates meanwhile. Sanitizers need room themselves. */
static pid_t fork_in(int round)
{
    struct rlimit before;
    bool tight = TIGHT && round % 4 > 1;

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    tight = false;
#endif
    getrlimit(RLIMIT_AS, &before);
    if (tight)
        setrlimit(RLIMIT_AS, &(struct rlimit){.rlim_cur = used() + sizeof wide / 2,
                                              .rlim_max = before.rlim_max});
    pid_t child = fork();
    setrlimit(RLIMIT_AS, &before);
    return child;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), to = (me + 1) % npes;

    wide[50000] = 7;
    shmem_barrier_all();
    for (int round = 0; round < 20; round++) {
        shared = 1;
        pid_t child = fork_in(round);
        if (child == 0) {
            int same = shared == 1 && wide[50000] == 7;
            shared = 2;
            wide[50000] = 8;
            if (round % 2)
                exit(same ? 0 : 1); /* runs exit handlers, which must leave the job alone */
            _exit(same ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(shared == 1 && wide[50000] == 7);
    }
    CHECK(system("exit 5") >> 8 == 5);
    shmem_barrier_all();
    shmem_long_p(&shared, 40 + me, to);
    shmem_barrier_all();
    CHECK(shared == 40 + (me + npes - 1) % npes);
    shmem_barrier_all();
    int status = check_end("forked");
    shmem_finalize();
    return status;
}

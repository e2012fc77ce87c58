/* A program that forks without exec: the child has variables of its own, and leaving the child does
 * not end the parent's part in the job. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static long shared = 1, wide[100000];

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes(), to = (me + 1) % npes;

    wide[50000] = 7;
    shmem_barrier_all();
    for (int round = 0; round < 20; round++) {
        shared = 1;
        pid_t child = fork();
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

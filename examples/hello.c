/* The first program: each PE says where it runs and puts its number where its left neighbour looks.
 *
 *     oshcc hello.c -o hello && oshrun -n 4 ./hello */
#define _POSIX_C_SOURCE 200809L /* gethostname */
#include <shmem.h>
#include <stdio.h>
#include <unistd.h>

/* A static variable is symmetric: each PE has its own, and can name that of any other PE. */
static int neighbour = -1;
static char greeting[320];
static long errors;

int main(int argc, char **argv)
{
    char host[256] = "?", library[SHMEM_MAX_NAME_LEN];
    int major, minor;

    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();
    if (argc > 1) {
        if (me == 0)
            fprintf(stderr, "usage: %s   (it takes no arguments)\n", argv[0]);
        shmem_finalize();
        return 2;
    }
    gethostname(host, sizeof(host) - 1);
    snprintf(greeting, sizeof(greeting), "Hello from PE %d of %d on %s", me, npes, host);

    /* Put my number into the variable of the PE on my left, and wait until all have done so. */
    shmem_int_p(&neighbour, me, (me + npes - 1) % npes);
    shmem_barrier_all();

    if (neighbour != (me + 1) % npes) {
        fprintf(stderr, "PE %d: the neighbour is %d, not %d\n", me, neighbour, (me + 1) % npes);
        shmem_long_atomic_inc(&errors, 0);
    }
    shmem_barrier_all();

    errors = shmem_long_g(&errors, 0);
    if (me == 0) {
        /* What several PEs print comes in any order, whatever they wait for. One that prints for
         * all keeps it. */
        for (int pe = 0; pe < npes; pe++) {
            char line[sizeof(greeting)];
            shmem_getmem(line, greeting, sizeof(line), pe);
            puts(line);
        }
        shmem_info_get_name(library);
        shmem_info_get_version(&major, &minor);
        printf("hello: %s: %d PEs know their neighbours (%s, OpenSHMEM %d.%d)\n",
               errors ? "FAILED" : "OK", npes - (int)errors, library, major, minor);
    }
    shmem_finalize();
    return errors ? 1 : 0;
}

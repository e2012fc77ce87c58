/* Mistakes that programs make, one a run, by the name on the command line: for what is said about
 * them. PE 0 prints "null" where a routine returns NULL. */
#include <shmem.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long from[4], to[4], sync_array[SHMEM_BARRIER_SYNC_SIZE], lock;

static useconds_t patience;

static void give_back(void *block)
{
    if (!block && shmem_my_pe() == 0)
        printf("null\n");
    shmem_free(block);
}

static void commit(const char *what)
{
    long local = 0;
    int next = (shmem_my_pe() + 1) % shmem_n_pes();

    if (strcmp(what, "slowly") == 0)
        patience = 300000;
    if (strcmp(what, "alignment") == 0)
        give_back(shmem_align(96, 1000));
    else if (strcmp(what, "size") == 0)
        give_back(shmem_malloc((size_t)1 << 60));
    else if (strcmp(what, "product") == 0)
        give_back(shmem_calloc((size_t)1 << 40, (size_t)1 << 40));
    else if (strcmp(what, "free") == 0)
        shmem_free(&local);
    else if (strcmp(what, "set") == 0)
        shmem_barrier(0, 1, shmem_n_pes(), sync_array);
    else if (strcmp(what, "pe") == 0)
        shmem_long_p(to, 1, 9);
    else if (strcmp(what, "local") == 0 || strcmp(what, "slowly") == 0)
        shmem_long_g(&local, next);
    else if (strcmp(what, "length") == 0)
        shmem_putmem(to, from, (size_t)1 << 40, next);
    else if (strcmp(what, "odd") == 0)
        shmem_long_atomic_inc((long *)((char *)to + 1), next);
    else if (strcmp(what, "root") == 0)
        shmem_long_broadcast(SHMEM_TEAM_WORLD, to, from, 4, 7);
    else if (strcmp(what, "unlock") == 0)
        shmem_clear_lock(&lock);
}

/* The library's threads still run while a program ends that way, which may take its time. */
__attribute__((destructor)) static void linger(void)
{
    usleep(patience);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "early") == 0)
        shmem_barrier_all();
    shmem_init();
    if (argc > 1)
        commit(argv[1]);
    shmem_finalize();
    return 0;
}

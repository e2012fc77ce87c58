/* levels MPI_LEVEL SHMEM_LEVEL: a program whose threads use MPI and OpenSHMEM, as far as the
 * levels, 0 (single) to 3 (multiple), allow it. shmem_init_thread comes first where their sum is
 * even. When both have worked together, the other levels of OpenSHMEM follow, while MPI stays. */
#include <mpi.h>
#include <pthread.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static const int mpi_levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
static const int shmem_levels[] = {SHMEM_THREAD_SINGLE, SHMEM_THREAD_FUNNELED,
                                   SHMEM_THREAD_SERIALIZED, SHMEM_THREAD_MULTIPLE};
enum { SERIALIZED = 2, MULTIPLE, ROUNDS = 50 };

static long sum;
static int wrong, mpi_has, shmem_has;

static void begin_mpi(int level)
{
    int provided = -1;

    MPI_Init_thread(NULL, NULL, mpi_levels[level], &provided);
    mpi_has = level;
    while (mpi_has && mpi_levels[mpi_has] > provided)
        mpi_has--;
}

static void begin_shmem(int level)
{
    int provided = -1, asked = -1;

    if (shmem_init_thread(shmem_levels[level], &provided) || provided < shmem_levels[level])
        wrong = printf("shmem_init_thread: level %d became %d\n", level, provided);
    shmem_query_thread(&asked);
    if (asked != provided)
        wrong = printf("shmem_query_thread: %d, not %d\n", asked, provided);
    shmem_has = level;
}

static void *use_shmem(void *unused)
{
    int npes = shmem_n_pes();

    for (int i = 0; i < ROUNDS; i++)
        shmem_long_atomic_inc(&sum, (shmem_my_pe() + 1) % npes);
    shmem_barrier_all();
    if (sum != ROUNDS)
        wrong = printf("a sum of %ld, not %d\n", sum, ROUNDS);
    shmem_barrier_all();
    sum = 0;
    shmem_barrier_all();
    return unused;
}

static void *use_mpi(void *unused)
{
    int one = 1, all = 0, size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (all != size)
            wrong = printf("a sum of %d on %d ranks\n", all, size);
    }
    return unused;
}

/* A second thread uses a library in the meantime, where both may be used by several; or while the
 * first one waits for it. */
static void use_both(void)
{
    void *(*use[])(void *) = {use_mpi, use_shmem};
    int has[] = {mpi_has, shmem_has}, both = has[0] < has[1] ? has[0] : has[1];
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        if (both >= SERIALIZED)
            pthread_create(&thread, NULL, use[i], NULL);
        else
            use[i](NULL);
        if (both == MULTIPLE)
            use[!i](NULL);
        if (both >= SERIALIZED)
            pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    int mpi = atoi(argv[1]), shmem = atoi(argv[argc - 1]), rank;

    if ((mpi + shmem) % 2)
        begin_mpi(mpi);
    begin_shmem(shmem);
    if ((mpi + shmem) % 2 == 0)
        begin_mpi(mpi);
    for (int i = 0; i < 4; i++) {
        if (i)
            begin_shmem((shmem + i) % 4);
        use_both();
        shmem_finalize();
    }
    use_mpi(NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !wrong)
        printf("done: MPI's level is %d\n", mpi_has);
    MPI_Finalize();
    return wrong != 0;
}

/* hybrid ORDER: a program that uses MPI, with all threads, and OpenSHMEM. ORDER consists of the
 * letters I and F for MPI_Init and MPI_Finalize, i and f for shmem_init and shmem_finalize. After
 * each step, every library that is initialised must work. */
#include <mpi.h>
#include <shmem.h>
#include <stdio.h>

static long sum;
static int rank = -1, size, mpi_on, shmem_on, wrong;

static void check(char step)
{
    int one = 1, all = 0;

    if (shmem_on) {
        sum = 0;
        shmem_barrier_all();
        shmem_long_atomic_add(&sum, 1, 0);
        shmem_barrier_all();
        if (shmem_my_pe() == 0 && sum != shmem_n_pes())
            wrong = printf("after %c: a sum of %ld on %d PEs\n", step, sum, shmem_n_pes());
        shmem_barrier_all();
    }
    if (mpi_on) {
        MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (all != size)
            wrong = printf("after %c: a sum of %d on %d ranks\n", step, all, size);
    }
    if (mpi_on && shmem_on && (shmem_my_pe() != rank || shmem_n_pes() != size))
        wrong = printf("rank %d of %d is PE %d of %d\n", rank, size, shmem_my_pe(), shmem_n_pes());
}

static void take(char step, int *argc, char ***argv)
{
    int level;

    switch (step) {
    case 'I':
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level); /* for the transport mpi */
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        mpi_on = 1;
        break;
    case 'F':
        mpi_on = 0;
        MPI_Finalize();
        break;
    case 'i':
        shmem_init();
        shmem_on = 1;
        break;
    default:
        shmem_on = 0;
        shmem_finalize();
    }
}

int main(int argc, char **argv)
{
    for (const char *step = argv[1]; *step; step++) {
        take(*step, &argc, &argv);
        check(*step);
    }
    if (rank == 0 && !wrong)
        printf("done %s on %d\n", argv[1], size);
    return wrong != 0;
}

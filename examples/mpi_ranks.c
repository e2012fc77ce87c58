/* A program of MPI and OpenSHMEM: which rank of MPI is which PE, in the three ways there are.
 *
 *     OSHCC_CC=mpicc oshcc mpi_ranks.c -o mpi_ranks && mpiexec -n 4 ./mpi_ranks
 *
 * This library gives a process the same number in both, but no standard says so: a program that
 * goes on elsewhere asks. Either each PE tells its rank, and a table has them all; or MPI makes a
 * communicator in which ranks are PE numbers; or a team is made a communicator at once, which is an
 * extension of this library (<shmemx_mpi.h>). */
#include <shmemx_mpi.h>

static int rank; /* symmetric: a source of shmem_int_collect */

/* PE 0 prints the rank of each PE. Returns how many differ from the PE's number. */
static int show_table(int me, int npes)
{
    int *ranks = shmem_calloc((size_t)npes, sizeof(int)), different = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shmem_int_collect(SHMEM_TEAM_WORLD, ranks, &rank, 1);
    for (int pe = 0; pe < npes; pe++) {
        different += ranks[pe] != pe;
        if (me == 0)
            printf("PE %d is rank %d of MPI_COMM_WORLD\n", pe, ranks[pe]);
    }
    shmem_free(ranks);
    return different;
}

/* Whether ranks of a communicator of all PEs are their numbers: the sum over PEs, made by MPI, of
 * what is different. */
static int is_in_order(MPI_Comm comm, int me)
{
    int mine = 0, wrong = 0, all = 1;

    MPI_Comm_rank(comm, &mine);
    wrong = mine != me;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, comm);
    return all == 0;
}

int main(int argc, char **argv)
{
    MPI_Comm by_split, by_team;

    MPI_Init(&argc, &argv);
    shmem_init();
    int me = shmem_my_pe(), npes = shmem_n_pes();

    int different = show_table(me, npes);
    MPI_Comm_split(MPI_COMM_WORLD, 0, me, &by_split);
    int wrong = shmemx_team_to_comm(SHMEM_TEAM_WORLD, &by_team);
    wrong = wrong || !is_in_order(by_split, me) || !is_in_order(by_team, me);
    MPI_Comm_free(&by_split);
    if (by_team != MPI_COMM_NULL)
        MPI_Comm_free(&by_team);
    if (me == 0)
        printf("mpi_ranks: %s: %d PEs, %d of them have another rank in MPI_COMM_WORLD\n",
               wrong ? "FAILED" : "OK", npes, different);
    shmem_finalize();
    MPI_Finalize();
    return wrong;
}

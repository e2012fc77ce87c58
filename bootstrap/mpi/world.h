/* The bootstrap's part that calls MPI, built once for each family of MPIs:
 * mpi_bootstrap_<family>.so. It brings a few bytes to all processes of the MPI job; where MPI
 * is 4.0 or later, or Open MPI 5, by a session of its own, so that it meets neither MPI_Init nor
 * MPI_Finalize of the program. */
#ifndef MPI_WORLD_H
#define MPI_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <switchyard/host.h>

#define MPI_WORLD_MODULE "mpi_bootstrap"
#define MPI_WORLD_SYMBOL "shmem_mpi_bootstrap_1"

#define MPI_WORLD_SPAWNED                                                                          \
    "this process was started by MPI_Comm_spawn: such processes are no PEs of the job that "       \
    "started "                                                                                     \
    "them, and use MPI alone"

struct mpi_world; /* an instance */

struct mpi_world_calls {
    size_t size;
    bool sessions; /* join leaves MPI_Init to the program */
    /* Processes in MPI_COMM_WORLD; 0 where MPI is not initialised or finalised already. */
    int (*world_size)(void);
    /* Whether MPI_Comm_spawn has started this process; MPI is initialised. */
    bool (*spawned)(void);
    /* The text of MPI_Get_library_version. */
    const char *(*version)(void);
    /* Finds out which process this is. Collective where MPI has sessions. -ECONNRESET: MPI_Finalize
     * has been called; -ECHILD: the process was started by MPI_Comm_spawn. *world is set also where
     * it fails, if there is something to be ended. */
    int (*join)(const struct sy_host *host, struct mpi_world **world, int *rank, int *size,
                struct sy_error *err);
    /* Collective: whether `value` is the same everywhere. */
    int (*same)(struct mpi_world *world, uint64_t value, bool *same, struct sy_error *err);
    /* Collective: rank 0's bytes, on all. */
    int (*broadcast)(struct mpi_world *world, void *bytes, int length, struct sy_error *err);
    void (*abort)(struct mpi_world *world, int status);
    /* Communication is over; what the program does with MPI from here on does not matter. */
    void (*done)(struct mpi_world *world);
    /* The process ends. all: so do all the others, in the same way, so that MPI can be finalised
     * where it was initialised by join. */
    void (*end)(struct mpi_world *world, bool all);
};

#endif

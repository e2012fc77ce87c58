/* Teams and MPI's communicators, each made of the other (docs/mpi.md). What is here calls the
 * program's own MPI, so the program is compiled and linked with that; the library has none. */
#ifndef SY_SHMEMX_MPI_H
#define SY_SHMEMX_MPI_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "shmemx.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int sy_mpi_allgather(void *comm, const void *mine, void *all, size_t length)
{
    return MPI_Allgather((void *)mine, (int)length, MPI_BYTE, all, (int)length, MPI_BYTE,
                         *(MPI_Comm *)comm);
}

/* Makes a team of the processes of a communicator: member i is its rank i. All of them call, with
 * MPI initialised and between shmem_init and shmem_finalize; the two do not depend on each other
 * after. 0, with SHMEM_TEAM_INVALID for MPI_COMM_NULL; or, on all of them, not 0 with
 * SHMEM_TEAM_INVALID: it is an inter-communicator, one of them is no PE of this job (MPI_Comm_spawn
 * has started it, say), or there is no room for one more team. */
static inline int shmemx_team_from_comm(MPI_Comm comm, shmem_team_t *team)
{
    int rank = 0, size = 0, inter = 0;

    *team = SHMEM_TEAM_INVALID;
    if (comm == MPI_COMM_NULL)
        return 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_test_inter(comm, &inter);
    if (!inter)
        return shmemx_team_from_group(size, sy_mpi_allgather, &comm, team);
    if (rank == 0)
        fprintf(stderr, "shmemx_team_from_comm: an inter-communicator has two groups, a team is "
                        "one; no team is made (MPI_Intercomm_merge makes one of them)\n");
    return -1;
}

/* A process's rank in MPI_COMM_WORLD, or -1, and how many there are. */
struct sy_mpi_place {
    int rank, size;
};

static inline struct sy_mpi_place sy_mpi_place(void)
{
    struct sy_mpi_place place = {-1, 0};
    int begun = 0, over = 0;

    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    if (begun && !over) {
        MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
        MPI_Comm_size(MPI_COMM_WORLD, &place.size);
    }
    return place;
}

/* One member without memory cannot leave the others alone. */
static inline void *sy_mpi_room(size_t bytes)
{
    void *room = calloc(bytes, 1);

    if (!room) {
        fprintf(stderr, "shmemx_team_to_comm: no memory for %lu bytes\n", (unsigned long)bytes);
        shmem_global_exit(1);
    }
    return room;
}

/* The members' ranks in MPI_COMM_WORLD, and a tag that teams of other members are not likely to
 * have; or why there are none. All members find the same. */
static inline const char *sy_mpi_ranks(const struct sy_mpi_place *place, int size, int *rank,
                                       int *tag, int *unfit)
{
    char *seen = (char *)sy_mpi_room((size_t)place[0].size + 1);
    const char *why = NULL;
    unsigned hash = 0;

    for (int i = 0; i < size && !why; i++) {
        *unfit = i;
        if (place[i].rank < 0)
            why = "MPI is not initialised, or is finalised";
        else if (place[i].size != place[0].size || seen[place[i].rank]++)
            why = "MPI_COMM_WORLD is another one (start the job with the mpiexec of its MPI)";
        rank[i] = place[i].rank;
        hash = hash * 31 + (unsigned)rank[i] + 1;
    }
    free(seen);
    *tag = (int)(hash & 0x7fff); /* every MPI has tags up to here */
    return why;
}

static inline int sy_mpi_make_comm(const int *rank, int size, int tag, MPI_Comm *comm)
{
    MPI_Group world = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
    int rc = MPI_Comm_group(MPI_COMM_WORLD, &world);

    if (rc == MPI_SUCCESS)
        rc = MPI_Group_incl(world, size, rank, &members);
    if (rc == MPI_SUCCESS)
        rc = MPI_Comm_create_group(MPI_COMM_WORLD, members, tag, comm);
    if (members != MPI_GROUP_NULL)
        MPI_Group_free(&members);
    if (world != MPI_GROUP_NULL)
        MPI_Group_free(&world);
    return rc;
}

/* Makes a communicator of a team's members: rank i is its member i. All members call, where
 * MPI_COMM_WORLD can be used; the program frees it. 0, with MPI_COMM_NULL for SHMEM_TEAM_INVALID;
 * or, on all members, not 0 with MPI_COMM_NULL: MPI cannot be used on one of them, or takes them
 * for processes of different jobs; or this is not between shmem_init and shmem_finalize. Errors of
 * MPI are as MPI_COMM_WORLD's handler has them. */
static inline int shmemx_team_to_comm(shmem_team_t team, MPI_Comm *comm)
{
    struct sy_mpi_place mine = sy_mpi_place(), *place;
    int begun = 0, size, tag = 0, unfit = 0, rc = -1, *rank;
    const char *why;

    *comm = MPI_COMM_NULL;
    if (team == SHMEM_TEAM_INVALID)
        return 0;
    shmem_query_initialized(&begun);
    if (!begun) {
        fprintf(stderr, "shmemx_team_to_comm was called before shmem_init or after shmem_finalize; "
                        "no communicator is made\n");
        return -1;
    }
    size = shmem_team_n_pes(team);
    place = (struct sy_mpi_place *)sy_mpi_room((size_t)size * sizeof *place);
    rank = (int *)sy_mpi_room((size_t)size * sizeof *rank);
    shmemx_team_gather(team, &mine, place, sizeof mine);
    why = sy_mpi_ranks(place, size, rank, &tag, &unfit);
    if (!why)
        rc = sy_mpi_make_comm(rank, size, tag, comm);
    else if (shmem_team_my_pe(team) == 0)
        fprintf(stderr, "shmemx_team_to_comm: on PE %d %s; no communicator is made\n",
                shmem_team_translate_pe(team, unfit, SHMEM_TEAM_WORLD), why);
    free(place);
    free(rank);
    return rc;
}

#ifdef __cplusplus
}
#endif

#endif

/* Teams and the groups of other libraries: what shmemx_mpi.h is made of, for any library that can
 * bring its processes' bytes together. */
#ifndef SY_API
#include "../shmemx.h"
#else

/* Makes a team of the `size` processes of another library's group, as its members in their order.
 * All of them call, and nobody else has to. allgather(arg, mine, all, length) brings `length` bytes
 * of each to all, in their order, and returns 0; it is called a few times until the routine
 * returns. 0; or, on all of them, not 0 with SHMEM_TEAM_INVALID: one of them is no PE of this job
 * (a warning says which), allgather has failed, or there is no room for one more team. */
int SY_API(shmemx_team_from_group)(int size,
                                   int (*allgather)(void *arg, const void *mine, void *all,
                                                    size_t length),
                                   void *arg, shmem_team_t *team);

/* Brings `length` bytes of each member of a team to all, in their order; neither `mine` nor `all`,
 * of length times the team's size, need be symmetric. All members call. 0; or not 0 for
 * SHMEM_TEAM_INVALID. */
int SY_API(shmemx_team_gather)(shmem_team_t team, const void *mine, void *all, size_t length);

#endif

/* Teams and the groups of other libraries (shmemx.h): thunks over coll/team.h. */
#include <errno.h>

#include "api/alias.h"
#include "coll/team.h"

int pshmemx_team_from_group(int size,
                            int (*allgather)(void *arg, const void *mine, void *all, size_t length),
                            void *arg, shmem_team_t *team)
{
    const struct sy_processes of = {size, allgather, arg};
    struct sy_team *made;

    /* A process that is no PE takes part, so that the others learn it. */
    *team = SHMEM_TEAM_INVALID;
    if (size < 1)
        return -EINVAL;
    int rc = sy_team_from_group(&of, &made);
    *team = made ? sy_team_handle(made) : SHMEM_TEAM_INVALID;
    return rc;
}
SY_ALIAS(shmemx_team_from_group);

int pshmemx_team_gather(shmem_team_t team, const void *mine, void *all, size_t length)
{
    struct sy_team *of = sy_team_need(team, "shmemx_team_gather");

    if (!of)
        return -EINVAL;
    sy_team_gather(of, mine, all, length);
    return 0;
}
SY_ALIAS(shmemx_team_gather);

/* What all PEs of the job do together, under set-up, memory and the barriers. */
#ifndef SY_COLL_SYNC_H
#define SY_COLL_SYNC_H

#include <stdbool.h>

#include "coll/reduce.h"
#include "core/rma.h"

/* Waits until all PEs have entered; stores made before are visible to all after. Completes no
 * communication. */
static inline void sy_sync_world(void)
{
    struct sy_group world = sy_group_of_team(&sy_team_world);
    sy_group_sync(&world);
}

/* sy_sync_world after a quiet on the default context. */
static inline void sy_barrier_world(void)
{
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    sy_sync_world();
}

/* Collective: whether every PE says yes. */
static inline bool sy_agree_world(bool yes)
{
    const struct sy_operation all = {SY_BITWISE_KERNEL(and, uint64_t), sizeof(uint64_t)};
    struct sy_group world = sy_group_of_team(&sy_team_world);
    uint64_t vote = yes;

    sy_reduce_few(&world, all, &vote, &vote, 1);
    return vote;
}

#endif

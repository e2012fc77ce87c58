/* What all PEs of the job do together, under set-up, memory and the barriers. */
#ifndef SY_COLL_SYNC_H
#define SY_COLL_SYNC_H

#include "coll/group.h"
#include "core/issue.h"
#include "core/rma.h"
#include "core/start/world.h"

/* Waits until all PEs have entered; stores made before are visible to all after. Completes no
 * communication. */
static inline void sy_sync_world(void)
{
    struct sy_group world = sy_group_of_team(&sy_team_world);
    sy_group_sync(&world);
}

/* sy_sync_world once what was issued on the default context is complete. */
static inline void sy_barrier_world(void)
{
    if (SY_UNLIKELY(sy_hot_carries() && sy_world.npes == 2))
        sy_flush_pair(1 - sy_world.pe);
    else
        sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    sy_sync_world();
}

#endif

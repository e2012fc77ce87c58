/* Collective routines (9.10) over all PEs. */
#include "api/alias.h"
#include "coll/sync.h"
#include "core/world.h"

void pshmem_barrier_all(void)
{
    sy_world_need("shmem_barrier_all");
    sy_barrier_world();
}
SY_ALIAS(shmem_barrier_all);

void pshmem_sync_all(void)
{
    sy_world_need("shmem_sync_all");
    sy_sync_world();
}
SY_ALIAS(shmem_sync_all);

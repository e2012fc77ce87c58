/* Locks (9.13): thunks over coll/lock.h. */
#include "api/alias.h"
#include "coll/lock.h"
#include "core/wait/wait.h"

void pshmem_set_lock(long *lock)
{
    sy_lock_set("shmem_set_lock", lock);
}
SY_ALIAS(shmem_set_lock);

int pshmem_test_lock(long *lock)
{
    bool taken = sy_lock_try("shmem_test_lock", lock);

    if (!taken)
        sy_wait_missed();
    return !taken;
}
SY_ALIAS(shmem_test_lock);

void pshmem_clear_lock(long *lock)
{
    sy_lock_clear("shmem_clear_lock", lock);
}
SY_ALIAS(shmem_clear_lock);

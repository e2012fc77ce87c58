/* Collective routines (9.10). */
#ifndef SY_API
#include "../shmem.h"
#else

/* Waits for all PEs, after completing what this PE has issued on the default context (9.10.1). */
void SY_API(shmem_barrier_all)(void);

/* Waits for all PEs, and makes this PE's stores visible to them; completes no communication
 * (9.10.4). */
void SY_API(shmem_sync_all)(void);

#endif

/* Locks (9.13). A lock is a symmetric long, 0 before its first use; the calls name the program's
 * one lock by the address of this PE's copy. The threads of a PE count as one. */
#ifndef SY_API
#include "../shmem.h"
#else

/* Gives the lock back, after completing what this PE has issued on the default context (9.13.1). */
void SY_API(shmem_clear_lock)(long *lock);

/* Waits for the lock and takes it (9.13.2). PEs get it in the order in which they came. */
void SY_API(shmem_set_lock)(long *lock);

/* Takes the lock and returns 0 if no PE holds it, otherwise returns 1 at once (9.13.3). */
int SY_API(shmem_test_lock)(long *lock);

#endif

/* Locks (9.13): a queue of PEs in the symmetric variable itself. Knows no transport: words of other
 * PEs are reached by the atomic operations of the core. */
#ifndef SY_COLL_LOCK_H
#define SY_COLL_LOCK_H

#include <stdbool.h>

/* `lock` is this PE's copy of a symmetric variable. `what` names the routine in messages; they end
 * the job where the address is not symmetric. */

/* Waits for the lock; PEs get it in the order in which they entered the queue. */
void sy_lock_set(const char *what, long *lock);

/* Takes the lock only if it is free; true if so. */
bool sy_lock_try(const char *what, long *lock);

/* Completes what this PE has issued on the default context, then hands the lock on. */
void sy_lock_clear(const char *what, long *lock);

#endif

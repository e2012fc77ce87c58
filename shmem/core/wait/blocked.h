/* Whether this PE is blocked: see util/deadlock.h. */
#ifndef SY_CORE_BLOCKED_H
#define SY_CORE_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>

/* Encloses the start of the library's own threads: all others are the program's. */
void sy_blocked_threads_begin(void);
void sy_blocked_threads_end(void);

/* By a function that is called as a thread's first one: its return address, which all threads have
 * at the end of their stack. */
void sy_blocked_threads_base(const void *address);

/* From here on a thread of the library issues operations, beside the program's. Any thread. */
void sy_blocked_threads_issue(void);

/* Which wait this PE is in, with SY_BLOCKED_ flags and for how many seconds; 0: it is not blocked:
 * a thread does something else, it has not waited for `limit`, of SHMEM_DEADLOCK_TIMEOUT, or a
 * transport has had something under way for some milliseconds. By the progress thread. */
uint64_t sy_blocked_look(double limit, unsigned *flags, double *seconds);

/* Whether the main thread has ended, by pthread_exit, and none of the program's is left. */
bool sy_blocked_deserted(void);

#endif

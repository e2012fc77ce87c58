/* The ways a PE ends its job. */
#ifndef SY_CORE_FATAL_H
#define SY_CORE_FATAL_H

#include <stdbool.h>

/* An error that the job cannot survive: logs it, has the launcher stop all PEs, exits with status 1
 * (standard streams are flushed). The text says what, why, and what to do. */
_Noreturn void sy_fatal(const char *fmt, ...) __attribute__((format(printf, 1, 2), cold));

/* Ends all PEs with `status`, as shmem_global_exit. */
_Noreturn void sy_exit_job(int status);

/* Makes the calling thread the one that ends the process; false: another thread is that already. */
bool sy_leave_claim(void);

/* Ends this PE at once because the job has ended: flushes and exits. */
_Noreturn void sy_leave(int status);

/* sy_leave for a thread of the library. Threads of the program may hold what exit handlers need,
 * above all the lock of a stdio stream, while they wait for a PE that is gone. Then the process
 * ends without the handlers. */
_Noreturn void sy_leave_anyway(int status);

#endif

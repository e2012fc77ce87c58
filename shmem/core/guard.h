/* Listens to the bootstrap for a PE that is busy with something else: the end of the job, or of the
 * launcher, ends the process. */
#ifndef SY_CORE_GUARD_H
#define SY_CORE_GUARD_H

#include <stdbool.h>

/* To be called when the bootstrap's descriptor may be readable. Returns unless the job ends:
 * whether the launcher asks what this PE is doing. From any thread; one at a time reads. */
bool sy_guard_hear(void);

/* A thread that listens while plugins are opened, wait for other PEs, or are closed, when there is
 * no progress thread, and says which call of a plugin lasts for long. Failing to start it is no
 * error: the waits have time limits of their own. */
void sy_guard_listen(void);
void sy_guard_stop(void);

#endif

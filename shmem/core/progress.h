/* The progress thread: one for a process, asleep in a libev loop until a descriptor of the
 * bootstrap (the launcher's word that the job ends, or its death) or of a transport has something
 * to say. Application threads that wait poll the transports themselves; the thread serves a PE that
 * computes. */
#ifndef SY_CORE_PROGRESS_H
#define SY_CORE_PROGRESS_H

#include <switchyard/error.h>

/* Starts the thread if there is anything to watch. */
int sy_progress_start(struct sy_error *err);
void sy_progress_stop(void);

/* Polls every transport that carries data once; for application threads that wait. */
void sy_progress_poll(void);

#endif

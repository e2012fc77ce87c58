/* The progress thread: one for a process, asleep in a libev loop until the launcher or a transport
 * has something to say. It serves a PE that computes; a PE that waits polls the transports itself.
 *
 * Two threads that are woken for each message would be in each other's way, so the thread is in one
 * of two modes. Event mode: it watches the transports' descriptors and sleeps without a timer.
 * Watch mode, while application threads poll: it lets the descriptors be and looks at each beat of
 * a timer whether they still do. */
#ifndef SY_CORE_PROGRESS_H
#define SY_CORE_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <switchyard/error.h>

#include "util/bits.h"

/* Set by application threads that poll, cleared by the progress thread when it looks. */
extern _Atomic bool sy_progress_entered SY_HIDDEN;

/* The caller is about to poll transports by itself. */
static inline void sy_progress_enter(void)
{
    atomic_store_explicit(&sy_progress_entered, true, memory_order_relaxed);
}

/* Starts the thread if there is anything to watch. mode: enum sy_progress_mode (config.h). */
int sy_progress_start(int mode, struct sy_error *err);
void sy_progress_stop(void);

/* For application threads that wait: polls every transport through which data arrive once. Returns
 * as their progress() does. */
int sy_progress_poll(void);

/* Before this PE ends the job because it cannot reach another: a PE that fails is missed by others
 * before the launcher knows of it, and the launcher knows why. Gives it a second to end the job
 * itself; where it does, this does not return. From any thread. */
void sy_progress_hear_out(void) __attribute__((cold));

/* As struct sy_host's member. */
void sy_progress_soon(unsigned microseconds);

#endif

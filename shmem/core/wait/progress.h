/* The progress thread: one for a process, asleep in a libev loop until the launcher or a transport
 * has something to say. It serves a PE that computes; a PE that waits polls the transports itself.
 *
 * Two threads that are woken for each message would be in each other's way, so the thread is in one
 * of two modes. Event mode: it watches the transports' descriptors and sleeps without a timer.
 * Watch mode, while application threads poll: it lets the descriptors be and looks at each beat of
 * a timer whether they still do. Where PEs outnumber processors an application thread says that it
 * waits, and then the thread does neither until that one, when its wait is over, sets the timer;
 * but for a look every 200 ms, as it may be stuck in the handler of a signal. */
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

/* Starts the thread if there is anything to watch. mode: enum sy_progress_mode (config.h). After
 * sy_wait_open. */
int sy_progress_start(int mode, struct sy_error *err);
void sy_progress_stop(void);

/* For application threads that wait: polls every transport through which data arrive once. Returns
 * as their progress() does. */
int sy_progress_poll(void);

/* For threads that are about to sleep on the transports' descriptors: tells all transports, and
 * returns as their arm() does. */
int sy_progress_arm(void);

/* For threads that have slept, or have armed and do not sleep: where nobody but threads that wait
 * polls (SHMEM_PROGRESS=polling) and none of them sleeps, the descriptors need wake nobody. */
void sy_progress_awake(void);

/* Whether a thread is awake soon after anything has arrived: the progress thread, where no other
 * one polls. It tells the listener (sleep.h). */
bool sy_progress_tells(void);

/* Where PEs outnumber processors, or a wait is long: a thread of the application begins or ends a
 * wait, in which it polls the transports or sleeps on their descriptors (sleep.h). Calls may be
 * nested. */
void sy_progress_take_over(void);
void sy_progress_hand_back(void);

/* As struct sy_host's member. */
void sy_progress_soon(unsigned microseconds);

#endif

/* Workers: threads that carry out what blocks: collective routines, functions of the program, and
 * transfers with memory of a device. All other transfers are the proxy's. stream.h has the argument
 * why they do not wait for each other in a circle. All under sy_stream_lock but where it is said.
 */
#ifndef SY_STREAM_WORKER_H
#define SY_STREAM_WORKER_H

#include "stream/stream.h"

/* A collective routine has been added to its stream: it enters its team's queue. 0 or -ENOMEM. */
int sy_worker_enter(struct sy_stream_op *op);

/* What the operation waits its turn for: a team, the stream of a transfer, or NULL: for functions
 * of the program. */
static inline const void *sy_worker_turn(const struct sy_stream_op *op)
{
    return op->kind->issues ? (const void *)op->stream : op->team;
}

/* All that is before it in its stream is complete: it runs when it is the first in its queue. What
 * is not collective has no queue before, and enters one now. */
void sy_worker_ready(struct sy_stream_op *op);

/* The stream for which this thread, a worker, carries out an operation; or NULL. */
struct sy_stream *sy_worker_serves(void);

/* For sy_coll_of_stream (coll/check.h). Takes the lock itself. */
bool sy_worker_is_team(const struct sy_team *team, const char **routine);

/* Ends the workers, which have nothing left to do. Called without the lock. */
void sy_worker_stop(void);

#endif

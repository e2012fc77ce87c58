/* Lanes and workers: see stream.h. All but the last under the lock. */
#ifndef SY_STREAM_LANE_H
#define SY_STREAM_LANE_H

#include "stream/stream.h"

/* A collective routine is added: it enters its team's lane. 0 or -ENOMEM. */
int sy_lane_enter(struct sy_stream_op *op);

/* Everything before it in its stream is complete: runs when its turn has come in its lane. What has
 * none runs after others of that kind that were ready before. */
void sy_lane_ready(struct sy_stream_op *op);

/* The stream for which this thread, a worker, carries out an operation; or NULL. */
struct sy_stream *sy_lane_serves(void);

/* For sy_coll_of_stream (coll/check.h). Takes the lock. */
bool sy_lane_is_team(const struct sy_team *team, const char **routine);

/* Ends the workers, which have nothing left to do. Without the lock. */
void sy_lane_stop(void);

#endif

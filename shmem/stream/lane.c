/* See lane.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/callsite.h"
#include "core/fatal.h"
#include "stream/lane.h"
#include "stream/proxy.h"

/* Operations in order, at most one of which runs. */
struct sy_lane {
    struct sy_team *team; /* NULL: of the program's functions */
    struct sy_stream_op *first, **last;
    bool running; /* or about to: it is among `runnable` */
    struct sy_lane *next, *next_runnable;
};

/* Lanes with operations, those of which one can run, and the workers; under sy_stream_lock. */
static struct {
    struct sy_lane *all, *runnable, **last_runnable;
    unsigned runnables, idle;
    bool stop;
    pthread_t *worker;
    unsigned workers;
    pthread_cond_t work;
} lanes = {.work = PTHREAD_COND_INITIALIZER};

static _Thread_local const struct sy_stream_op *serves;

struct sy_stream *sy_lane_serves(void)
{
    return serves ? serves->stream : NULL;
}

/* The lane of a team, or NULL; *place: where it is in the list, or would be. */
static struct sy_lane *lane_find(const struct sy_team *team, struct sy_lane ***place)
{
    struct sy_lane **at = &lanes.all;

    while (*at && (*at)->team != team)
        at = &(*at)->next;
    *place = at;
    return *at;
}

bool sy_lane_is_team(const struct sy_team *team, const char **routine)
{
    struct sy_lane **place;

    if (serves && serves->team == team)
        return true;
    pthread_mutex_lock(&sy_stream_lock);
    const struct sy_lane *lane = lane_find(team, &place);
    *routine = lane ? lane->first->routine : NULL;
    pthread_mutex_unlock(&sy_stream_lock);
    return false;
}

int sy_lane_enter(struct sy_stream_op *op)
{
    struct sy_lane **place, *lane = lane_find(op->team, &place);

    if (!lane) {
        lane = calloc(1, sizeof *lane);
        if (!lane)
            return -ENOMEM;
        lane->team = op->team;
        lane->last = &lane->first;
        *place = lane;
    }
    op->behind = NULL;
    op->lane = lane;
    *lane->last = op;
    lane->last = &op->behind;
    return 0;
}

/* ---- workers ---- */

static void *lane_worker(void *arg);

/* Fewer workers than lanes that run might wait for each other, so there is no way without one. */
static void lane_add_worker(const struct sy_stream_op *op)
{
    pthread_t *more = realloc(lanes.worker, (lanes.workers + 1) * sizeof *more);
    int rc = more ? 0 : -ENOMEM;

    if (more)
        lanes.worker = more;
    if (!rc)
        rc = sy_proxy_thread(&lanes.worker[lanes.workers], lane_worker);
    if (rc)
        sy_fatal("%s: no thread could be started to carry it out: %s; %u threads of streams run on "
                 "this PE (ulimit -u, pids.max of the control group)",
                 op->routine, strerror(-rc), lanes.workers + 1);
    lanes.workers++;
}

/* Has a worker run the first of the lane, if it can run. */
static void lane_try(struct sy_lane *lane)
{
    if (lane->running || !lane->first->ready)
        return;
    lane->running = true;
    lane->next_runnable = NULL;
    if (!lanes.runnable)
        lanes.last_runnable = &lanes.runnable;
    *lanes.last_runnable = lane;
    lanes.last_runnable = &lane->next_runnable;
    if (++lanes.runnables > lanes.idle)
        lane_add_worker(lane->first);
    else
        pthread_cond_signal(&lanes.work);
}

/* Leaves the lane, and its stream goes on. The lane ends with its last operation. */
static void lane_done(struct sy_lane *lane, struct sy_stream_op *op)
{
    struct sy_stream *stream = op->stream;
    struct sy_lane **place;

    lane->running = false;
    lane->first = op->behind;
    if (lane->first) {
        lane_try(lane);
    } else {
        lane_find(lane->team, &place);
        *place = lane->next;
        free(lane);
    }
    stream->calls -= !op->team;
    free(op);
    stream->working = NULL;
    sy_stream_completed(stream, 1);
    sy_stream_wake(stream);
}

static void lane_run(struct sy_lane *lane)
{
    struct sy_stream_op *op = lane->first;

    pthread_mutex_unlock(&sy_stream_lock);
    serves = op;
    sy_callsite_asked = op->routine;
    op->kind->work(op);
    serves = NULL;
    pthread_mutex_lock(&sy_stream_lock);
    lane_done(lane, op);
}

static void *lane_worker(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&sy_stream_lock);
    while (lanes.runnable || !lanes.stop) {
        struct sy_lane *lane = lanes.runnable;
        if (!lane) {
            lanes.idle++;
            pthread_cond_wait(&lanes.work, &sy_stream_lock);
            lanes.idle--;
            continue;
        }
        lanes.runnable = lane->next_runnable;
        lanes.runnables--;
        lane_run(lane);
    }
    pthread_mutex_unlock(&sy_stream_lock);
    return NULL;
}

void sy_lane_ready(struct sy_stream_op *op)
{
    if (!op->lane && sy_lane_enter(op))
        sy_fatal("%s: no memory", op->routine);
    op->ready = true;
    lane_try(op->lane);
}

void sy_lane_stop(void)
{
    pthread_mutex_lock(&sy_stream_lock);
    lanes.stop = true;
    pthread_cond_broadcast(&lanes.work);
    pthread_mutex_unlock(&sy_stream_lock);
    for (unsigned i = 0; i < lanes.workers; i++)
        pthread_join(lanes.worker[i], NULL);
    free(lanes.worker);
    lanes.worker = NULL;
    lanes.workers = 0;
    lanes.stop = false;
}

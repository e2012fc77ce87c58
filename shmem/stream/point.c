/* Points: see stream.h. */
#include <stdlib.h>

#include "core/fatal.h"
#include "core/wait/stall.h"
#include "stream/stream.h"
#include "util/clock.h"

struct sy_point {
    int references;
    bool reached;
    int error;                       /* of what has reached it, or 0 */
    const struct sy_stream_op *mark; /* what reaches it, which is there until then; or NULL */
    struct sy_stream_op *waiting;    /* operations, linked by `behind` */
};

static pthread_cond_t any_reached = PTHREAD_COND_INITIALIZER;

struct sy_point *sy_point_new(void)
{
    struct sy_point *point = calloc(1, sizeof *point);

    if (point)
        point->references = 2;
    return point;
}

static void point_drop(struct sy_point *point)
{
    if (!--point->references)
        free(point);
}

void sy_point_hold(struct sy_point *point)
{
    pthread_mutex_lock(&sy_stream_lock);
    point->references++;
    pthread_mutex_unlock(&sy_stream_lock);
}

void sy_point_drop(struct sy_point *point)
{
    pthread_mutex_lock(&sy_stream_lock);
    point_drop(point);
    pthread_mutex_unlock(&sy_stream_lock);
}

void sy_point_reach(struct sy_point *point, int error)
{
    pthread_mutex_lock(&sy_stream_lock);
    point->error = error;
    point->reached = true;
    for (struct sy_stream_op *op = point->waiting; op; op = op->behind)
        sy_stream_wake(op->stream);
    point->waiting = NULL;
    pthread_cond_broadcast(&any_reached);
    point_drop(point);
    pthread_mutex_unlock(&sy_stream_lock);
}

bool sy_point_reached(struct sy_point *point)
{
    pthread_mutex_lock(&sy_stream_lock);
    bool reached = point->reached;
    pthread_mutex_unlock(&sy_stream_lock);
    return reached;
}

void sy_point_await(struct sy_point *point, const char *routine)
{
    pthread_mutex_lock(&sy_stream_lock);
    if (!point->reached) {
        if (point->mark)
            sy_stream_check_wait(point->mark->stream, point->mark->calls, routine);
        sy_stall_opened(sy_clock_ns(), routine);
        while (!point->reached)
            pthread_cond_wait(&any_reached, &sy_stream_lock);
        sy_stall_opened(0, NULL);
    }
    pthread_mutex_unlock(&sy_stream_lock);
}

/* ---- operations ---- */

static enum sy_step point_step_gate(struct sy_stream_op *op)
{
    struct sy_point *point = op->to.point;

    pthread_mutex_lock(&sy_stream_lock);
    bool reached = point->reached;
    int error = point->error;
    if (reached) {
        point_drop(point);
    } else if (!op->waits) {
        op->waits = true;
        op->behind = point->waiting;
        point->waiting = op;
    }
    pthread_mutex_unlock(&sy_stream_lock);
    if (error)
        sy_fatal(
            "%s: a command before it in the stream's OpenCL queue has failed, or the device is "
            "lost: OpenCL's error %d",
            op->routine, error);
    return reached ? SY_STEP_DONE : SY_STEP_PARKED;
}

static void point_drop_gate(struct sy_stream_op *op)
{
    sy_point_drop(op->to.point);
}

/* Without memory a mark counts as reached: a thread that waits for it must not wait for ever. */
static void point_drop_mark(struct sy_stream_op *op)
{
    sy_point_reach(op->to.point, 0);
}

static enum sy_step point_step_mark(struct sy_stream_op *op)
{
    sy_point_reach(op->to.point, 0);
    return SY_STEP_DONE;
}

/* Behind fn the program may ask whether all is complete. It is: nothing is under way when this
 * begins, since it joins nothing. But who waits for the stream goes on when fn has returned, and
 * the proxy has let go. fn may reach points, so it is called without the lock. */
static enum sy_step point_step_tell(struct sy_stream_op *op)
{
    struct sy_stream *stream = op->stream;

    pthread_mutex_lock(&sy_stream_lock);
    stream->told = stream->completed + stream->issued + 1;
    pthread_mutex_unlock(&sy_stream_lock);
    op->to.call.fn(op->to.call.arg);
    return SY_STEP_DONE;
}

static const struct sy_stream_kind gate = {.step = point_step_gate, .drop = point_drop_gate},
                                   mark = {.step = point_step_mark, .drop = point_drop_mark},
                                   tell = {.step = point_step_tell};

int sy_stream_gate(struct sy_stream *stream, const char *routine, struct sy_point *point)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, &gate);

    if (!op) {
        sy_point_drop(point);
        return -1;
    }
    op->to.point = point;
    sy_stream_add(op);
    return 0;
}

void sy_stream_mark(struct sy_stream *stream, const char *routine, struct sy_point *point)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, &mark);

    if (!op) {
        sy_point_reach(point, 0);
        return;
    }
    point->mark = op;
    op->to.point = point;
    sy_stream_add(op);
}

void sy_stream_tell(struct sy_stream *stream, const char *routine, void (*fn)(void *), void *arg)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, &tell);

    if (!op) {
        fn(arg);
        return;
    }
    op->to.call.fn = fn;
    op->to.call.arg = arg;
    sy_stream_add(op);
}

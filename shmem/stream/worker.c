#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/callsite.h"
#include "core/fatal.h"
#include "stream/worker.h"
#include "stream/proxy.h"
#include "util/denied.h"

/* Operations of one turn (sy_worker_turn) in the order in which they were added; one at a time
 * runs. */
struct sy_worker_queue {
    const void *turn;
    struct sy_stream_op *first, **last;
    bool running; /* or about to: it is among `runnable` */
    struct sy_worker_queue *next, *next_runnable;
};

/* Guarded by sy_stream_lock. */
static struct {
    struct sy_worker_queue *all, *runnable, **last_runnable; /* queues; those whose first can run */
    unsigned runnables, idle;                                /* of queues; of threads */
    bool stop;
    pthread_t *thread;
    unsigned count; /* of threads */
    pthread_cond_t work;
} workers = {.work = PTHREAD_COND_INITIALIZER};

static _Thread_local const struct sy_stream_op *serves;

struct sy_stream *sy_worker_serves(void)
{
    return serves ? serves->stream : NULL;
}

/* The queue, or NULL; *place: where it is in the list, or would be. */
static struct sy_worker_queue *worker_find(const void *turn, struct sy_worker_queue ***place)
{
    struct sy_worker_queue **at = &workers.all;

    while (*at && (*at)->turn != turn)
        at = &(*at)->next;
    *place = at;
    return *at;
}

bool sy_worker_is_team(const struct sy_team *team, const char **routine)
{
    struct sy_worker_queue **place;

    if (serves && serves->team == team)
        return true;
    pthread_mutex_lock(&sy_stream_lock);
    const struct sy_worker_queue *queue = worker_find(team, &place);
    *routine = queue ? queue->first->routine : NULL;
    pthread_mutex_unlock(&sy_stream_lock);
    return false;
}

int sy_worker_enter(struct sy_stream_op *op)
{
    struct sy_worker_queue **place, *queue = worker_find(sy_worker_turn(op), &place);

    if (!queue) {
        queue = calloc(1, sizeof *queue);
        if (!queue)
            return -ENOMEM;
        queue->turn = sy_worker_turn(op);
        queue->last = &queue->first;
        *place = queue;
    }
    op->behind = NULL;
    op->queue = queue;
    *queue->last = op;
    queue->last = &op->behind;
    return 0;
}

/* ---- workers ---- */

static void *worker_main(void *arg);

/* Queues that run may wait for each other by way of other PEs, so each needs a worker: without one
 * the job cannot go on. */
static void worker_add(const struct sy_stream_op *op)
{
    pthread_t *more = realloc(workers.thread, (workers.count + 1) * sizeof *more);
    int rc = more ? 0 : -ENOMEM;

    if (more)
        workers.thread = more;
    if (!rc)
        rc = sy_proxy_thread(&workers.thread[workers.count], worker_main);
    if (rc)
        sy_fatal("%s: no thread could be started to carry it out: %s; %u threads of streams run on "
                 "this PE " SY_DENIED_THREAD,
                 op->routine, strerror(-rc), workers.count + 1);
    workers.count++;
}

/* Has a worker run the first of the queue, if it can run. */
static void worker_try(struct sy_worker_queue *queue)
{
    if (queue->running || !queue->first->ready)
        return;
    queue->running = true;
    queue->next_runnable = NULL;
    if (!workers.runnable)
        workers.last_runnable = &workers.runnable;
    *workers.last_runnable = queue;
    workers.last_runnable = &queue->next_runnable;
    if (++workers.runnables > workers.idle)
        worker_add(queue->first);
    else
        pthread_cond_signal(&workers.work);
}

/* The operation leaves its queue, and its stream goes on. An empty queue is freed. */
static void worker_done(struct sy_worker_queue *queue, struct sy_stream_op *op)
{
    struct sy_stream *stream = op->stream;
    struct sy_worker_queue **place;

    queue->running = false;
    queue->first = op->behind;
    if (queue->first) {
        worker_try(queue);
    } else {
        worker_find(queue->turn, &place);
        *place = queue->next;
        free(queue);
    }
    stream->called += !sy_worker_turn(op);
    free(op);
    stream->working = NULL;
    sy_stream_completed(stream, 1);
    sy_stream_wake(stream);
}

static void worker_run(struct sy_worker_queue *queue)
{
    struct sy_stream_op *op = queue->first;

    pthread_mutex_unlock(&sy_stream_lock);
    serves = op;
    sy_callsite_asked = op->routine;
    op->kind->work(op);
    serves = NULL;
    pthread_mutex_lock(&sy_stream_lock);
    worker_done(queue, op);
}

static void *worker_main(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&sy_stream_lock);
    while (workers.runnable || !workers.stop) {
        struct sy_worker_queue *queue = workers.runnable;
        if (!queue) {
            workers.idle++;
            pthread_cond_wait(&workers.work, &sy_stream_lock);
            workers.idle--;
            continue;
        }
        workers.runnable = queue->next_runnable;
        workers.runnables--;
        worker_run(queue);
    }
    pthread_mutex_unlock(&sy_stream_lock);
    return NULL;
}

void sy_worker_ready(struct sy_stream_op *op)
{
    if (!op->queue && sy_worker_enter(op))
        sy_fatal("%s: no memory", op->routine);
    op->ready = true;
    worker_try(op->queue);
}

void sy_worker_stop(void)
{
    pthread_mutex_lock(&sy_stream_lock);
    workers.stop = true;
    pthread_cond_broadcast(&workers.work);
    pthread_mutex_unlock(&sy_stream_lock);
    for (unsigned i = 0; i < workers.count; i++)
        pthread_join(workers.thread[i], NULL);
    free(workers.thread);
    workers.thread = NULL;
    workers.count = 0;
    workers.stop = false;
}

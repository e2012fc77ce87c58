#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/check.h"
#include "core/callsite.h"
#include "core/fatal.h"
#include "core/issue.h"
#include "core/start/config.h"
#include "core/start/world.h"
#include "core/wait/stall.h"
#include "stream/worker.h"
#include "stream/proxy.h"
#include "stream/stream.h"
#include "util/clock.h"
#include "util/denied.h"
#include "util/log.h"

pthread_mutex_t sy_stream_lock = PTHREAD_MUTEX_INITIALIZER;

static LIST_HEAD(, sy_stream) all = LIST_HEAD_INITIALIZER(all); /* under the lock */

/* ---- making and ending ---- */

static int stream_refuse(int code, const char *why)
{
    sy_log(SY_LOG_ERROR, "stream", "%s: no stream: %s", sy_callsite_routine("shmemx_stream_create"),
           why);
    return -code;
}

/* Prepares what all streams need. Under the lock, which also keeps apart threads that come here at
 * once. */
static int stream_prepare(void)
{
    if (sy_world.thread_level < SHMEM_THREAD_FUNNELED)
        return stream_refuse(EPERM, "the library was started for a single thread; a program with "
                                    "streams calls shmem_init_thread(SHMEM_THREAD_FUNNELED, ...), "
                                    "or a higher level, in place of shmem_init");
    const char *unready = sy_world_threads();
    if (unready) {
        sy_log(SY_LOG_ERROR, "stream",
               "%s: transport %s cannot be told that several threads call it from now on; with "
               "SHMEM_THREAD_MULTIPLE they do from the start",
               sy_callsite_routine("shmemx_stream_create"), unready);
        return -ENOTSUP;
    }
    __atomic_store_n(&sy_coll_of_stream, sy_worker_is_team, __ATOMIC_RELEASE);
    int rc = sy_proxy_start();
    return rc ? stream_refuse(
                    -rc,
                    "the thread that carries out streams could not be started " SY_DENIED_THREAD)
              : 0;
}

/* The context is one of the job with the team's members: it ends with the stream, not with the
 * team. */
static int stream_open_ctx(struct sy_stream *stream)
{
    int rc = sy_ctx_create(&sy_team_world, 0, &stream->ctx);

    if (!rc)
        stream->ctx->members = stream->team->members;
    return rc;
}

int sy_stream_create(struct sy_team *team, size_t depth, struct sy_stream **made)
{
    sy_issue_refuse_child("shmemx_stream_create");
    if (!team)
        return stream_refuse(EINVAL, "SHMEM_TEAM_INVALID is no team");
    struct sy_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return stream_refuse(ENOMEM, strerror(ENOMEM));
    stream->team = team;
    stream->depth = depth ? depth : SY_STREAM_DEPTH;
    stream->last = &stream->first;
    stream->wake_at = UINT64_MAX;
    pthread_cond_init(&stream->done, NULL);
    pthread_mutex_lock(&sy_stream_lock);
    int rc = stream_prepare();
    pthread_mutex_unlock(&sy_stream_lock);
    if (!rc && (rc = stream_open_ctx(stream)))
        stream_refuse(-rc, "a transport has no further context for it");
    if (rc) {
        free(stream);
        return rc;
    }
    pthread_mutex_lock(&sy_stream_lock);
    LIST_INSERT_HEAD(&all, stream, link);
    pthread_mutex_unlock(&sy_stream_lock);
    *made = stream;
    return 0;
}

/* Ends the job where the handle is no stream, or the process a child; without SHMEM_CHECK only the
 * invalid one is found. */
static void stream_check(const struct sy_stream *stream, const char *routine)
{
    const struct sy_stream *known;

    sy_world_need(routine);
    sy_issue_refuse_child(routine);
    if (!stream)
        sy_fatal("%s was given SHMEMX_STREAM_INVALID", routine);
    if (!sy_config.check)
        return;
    pthread_mutex_lock(&sy_stream_lock);
    LIST_FOREACH (known, &all, link)
        if (known == stream)
            break;
    pthread_mutex_unlock(&sy_stream_lock);
    if (!known)
        sy_fatal(
            "%s was given the stream %p, which does not exist: it was never created, or has been "
            "destroyed, by itself or with its team",
            routine, (const void *)stream);
}

/* ---- waiting ---- */

/* Waits until so many operations are complete. Under the lock. */
static void stream_wait(struct sy_stream *stream, uint64_t completed, const char *routine)
{
    if (stream->completed >= completed)
        return;
    sy_stall_opened(sy_clock_ns(), routine);
    while (stream->completed < completed) {
        if (completed < stream->wake_at)
            stream->wake_at = completed;
        pthread_cond_wait(&stream->done, &sy_stream_lock);
    }
    sy_stall_opened(0, NULL);
}

void sy_stream_completed(struct sy_stream *stream, uint64_t count)
{
    stream->completed += count;
    if (stream->completed >= stream->wake_at) {
        stream->wake_at = UINT64_MAX;
        pthread_cond_broadcast(&stream->done);
    }
}

/* Functions run one after another, whatever their streams. */
void sy_stream_check_wait(const struct sy_stream *stream, size_t calls, const char *routine)
{
    const struct sy_stream *serves = sy_worker_serves();

    if (serves == stream)
        sy_fatal("%s was called in a function that the same stream carries out: it would wait for "
                 "itself",
                 routine);
    if (serves && stream->called < calls)
        sy_fatal("%s was called in a function that a stream carries out, and waits for a stream "
                 "with another function, which begins when this one has ended: it would wait for "
                 "itself",
                 routine);
}

/* Takes the stream's failure, and forgets it. Under the lock. */
static int stream_take_error(struct sy_stream *stream)
{
    int error = stream->error;

    if (error)
        sy_log(SY_LOG_ERROR, "stream", "%s on a stream failed: %s", stream->error_in,
               strerror(error));
    stream->error = 0;
    return -error;
}

int sy_stream_synchronize(struct sy_stream *stream, const char *routine)
{
    stream_check(stream, routine);
    pthread_mutex_lock(&sy_stream_lock);
    sy_stream_check_wait(stream, stream->calls, routine);
    stream_wait(stream, stream->added, routine);
    int rc = stream_take_error(stream);
    pthread_mutex_unlock(&sy_stream_lock);
    return rc;
}

int sy_stream_query(struct sy_stream *stream, const char *routine)
{
    stream_check(stream, routine);
    pthread_mutex_lock(&sy_stream_lock);
    bool complete = stream->completed == stream->added || stream->told == stream->added;
    int answer = stream->error ? -stream->error : complete;
    pthread_mutex_unlock(&sy_stream_lock);
    return answer;
}

/* The proxy lets go of a stream after it has completed the last operation. */
static void stream_end(struct sy_stream *stream, const char *routine)
{
    pthread_mutex_lock(&sy_stream_lock);
    sy_stream_check_wait(stream, stream->calls, routine);
    stream_wait(stream, stream->added, routine);
    while (stream->held) {
        pthread_mutex_unlock(&sy_stream_lock);
        sched_yield();
        pthread_mutex_lock(&sy_stream_lock);
    }
    stream_take_error(stream);
    LIST_REMOVE(stream, link);
    pthread_mutex_unlock(&sy_stream_lock);
    if (stream->foreign.end && !sy_world.exiting)
        stream->foreign.end(stream->foreign.queue);
    sy_ctx_destroy(stream->ctx);
    pthread_cond_destroy(&stream->done);
    free(stream);
}

void sy_stream_destroy(struct sy_stream *stream, const char *routine)
{
    stream_check(stream, routine);
    stream_end(stream, routine);
}

/* A stream of the team, or NULL. Nobody uses the team's streams any more; those of others may come
 * and go. */
static struct sy_stream *stream_of_team(const struct sy_team *team)
{
    pthread_mutex_lock(&sy_stream_lock);
    struct sy_stream *stream = LIST_FIRST(&all);
    while (stream && team && stream->team != team)
        stream = LIST_NEXT(stream, link);
    pthread_mutex_unlock(&sy_stream_lock);
    return stream;
}

void sy_streams_close(const struct sy_team *team)
{
    struct sy_stream *stream;

    while ((stream = stream_of_team(team))) {
        if (sy_config.check)
            sy_log(SY_LOG_WARN, "stream", "stream %p was not destroyed before its %s ended",
                   (void *)stream, team ? "team" : "library");
        stream_end(stream, team               ? "shmem_team_destroy"
                           : sy_world.exiting ? "exit"
                                              : "shmem_finalize");
    }
    if (!team)
        sy_proxy_stop();
}

/* ---- adding ---- */

void sy_stream_failed(struct sy_stream *stream, const char *routine, int code)
{
    pthread_mutex_lock(&sy_stream_lock);
    if (!stream->error) {
        stream->error = code;
        stream->error_in = routine;
    }
    pthread_mutex_unlock(&sy_stream_lock);
}

struct sy_stream_op *sy_stream_new(struct sy_stream *stream, const char *routine,
                                   const struct sy_stream_kind *kind)
{
    stream_check(stream, routine);
    struct sy_stream_op *op = malloc(sizeof *op);
    if (!op) {
        sy_stream_failed(stream, routine, ENOMEM);
        return NULL;
    }
    op->stream = stream;
    op->kind = kind;
    op->routine = routine;
    op->next = op->behind = NULL;
    op->queue = NULL;
    op->team = NULL;
    op->ready = op->waits = false;
    return op;
}

void sy_stream_wake(struct sy_stream *stream)
{
    stream->parked = false;
    if (stream->held)
        stream->again = true;
    else
        sy_proxy_inbox(stream);
}

/* A full stream is waited for until half of it is complete, but not by a function that a stream
 * carries out: it might wait for itself. */
static void stream_wait_for_room(struct sy_stream *stream, const char *routine)
{
    if (stream->added - stream->completed >= stream->depth && !sy_worker_serves())
        stream_wait(stream, stream->added - stream->depth / 2, routine);
}

static void stream_append(struct sy_stream_op *op)
{
    struct sy_stream *stream = op->stream;

    pthread_mutex_lock(&sy_stream_lock);
    stream_wait_for_room(stream, op->routine);
    if (op->team && sy_worker_enter(op)) {
        pthread_mutex_unlock(&sy_stream_lock);
        sy_stream_failed(stream, op->routine, ENOMEM);
        free(op);
        return;
    }
    *stream->last = op;
    stream->last = &op->next;
    stream->added++;
    op->calls = stream->calls;
    stream->calls += op->kind->work && !sy_worker_turn(op);
    if (!stream->held && !stream->parked)
        sy_proxy_inbox(stream);
    pthread_mutex_unlock(&sy_stream_lock);
}

/* Adds an operation, between the hooks of a foreign queue. What the hooks add themselves goes
 * without them. */
void sy_stream_add(struct sy_stream_op *op)
{
    static _Thread_local bool inside;
    struct sy_stream *stream = op->stream;
    const struct sy_stream_foreign *foreign = stream->foreign.before && !inside ? &stream->foreign
                                                                                : NULL;

    if (!foreign) {
        stream_append(op);
        return;
    }
    inside = true;
    const char *routine = op->routine;
    if (foreign->before(stream, routine, foreign->queue)) {
        stream_append(op);
        foreign->after(stream, routine, foreign->queue);
    } else {
        if (op->kind->drop)
            op->kind->drop(op);
        free(op);
    }
    inside = false;
}

/* See proxy.h and stream.h. The proxy has streams in its hands that have something to do: it goes
 * round them, and lets go of those that are empty, parked at a point or with a worker. While it has
 * none it sleeps until one comes. While all that it has wait, it looks for as long as a thread in
 * core/wait would poll, and then sleeps between its looks: for a sixteenth of the wait so far,
 * until that is more than its share of a processor asks for (core/wait/pause.h).
 *
 * What comes through transports ends the sleep: whoever polls them, be it the progress thread while
 * the program computes, tells the proxy (core/wait/sleep.h). Where all comes that way it sleeps for
 * a sixteenth of the wait however long that is: so late does it see what this PE's program or a
 * kernel stores itself, which nobody tells of. A put to mapped memory is a store too, so there the
 * sleep has a limit. A thread of the program that exchanges messages tells with each of them: a
 * look that was in vain is followed by a sleep that nobody ends. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "core/callsite.h"
#include "core/issue.h"
#include "core/start/config.h"
#include "core/wait/blocked.h"
#include "core/wait/pause.h"
#include "core/wait/progress.h"
#include "core/wait/sleep.h"
#include "core/wait/stall.h"
#include "core/wait/wait.h"
#include "stream/worker.h"
#include "stream/proxy.h"
#include "util/clock.h"
#include "util/signals.h"

/* Operations of a stream before others have their turn. */
enum { BATCH = 256 };

#define POLLING_NS         UINT64_C(75000)
#define POLLING_CROWDED_NS UINT64_C(10000)

/* The longest sleep: below what a note of a wait lasts (core/wait/stall.c). */
#define LONGEST_SLEEP_NS UINT64_C(50000000)

/* What ends the next sleep. IN_VAIN: time alone, after a telling that brought nothing. */
enum proxy_end { TIME, TELLING, IN_VAIN };

/* Guarded by sy_stream_lock, but for `active`, `now` and what follows, which are the proxy's. */
static struct {
    pthread_t thread;
    bool running, stop;
    bool told; /* since it began to listen */
    struct sy_stream *inbox;
    pthread_cond_t wake;
    struct sy_stream *active;
    uint64_t now, moved_at;
    const struct sy_stream *oldest; /* of those that wait */
    enum proxy_end end;
    struct sy_pause pause;
} proxy = {.wake = PTHREAD_COND_INITIALIZER, .pause = SY_PAUSE_START};

void sy_proxy_inbox(struct sy_stream *stream)
{
    stream->held = true;
    stream->inbox = proxy.inbox;
    proxy.inbox = stream;
    pthread_cond_signal(&proxy.wake);
}

/* ---- a stream ---- */

static struct sy_stream_op *proxy_take(struct sy_stream *stream)
{
    if (!stream->mine) {
        pthread_mutex_lock(&sy_stream_lock);
        stream->mine = stream->first;
        stream->first = NULL;
        stream->last = &stream->first;
        pthread_mutex_unlock(&sy_stream_lock);
    }
    struct sy_stream_op *op = stream->mine;
    if (op)
        stream->mine = op->next;
    return op;
}

/* Whether what the stream has started is complete. */
static bool proxy_settled(struct sy_stream *stream)
{
    sy_callsite_asked = stream->routine;
    if (stream->under_way && sy_hot_carries() && !sy_quiet_reached(stream->ctx))
        return false;
    if (stream->under_way)
        atomic_thread_fence(memory_order_seq_cst);
    stream->under_way = stream->fetches = false;
    return true;
}

static enum sy_step proxy_hand_over(struct sy_stream *stream, struct sy_stream_op *op)
{
    pthread_mutex_lock(&sy_stream_lock);
    stream->current = NULL;
    stream->handed = true;
    stream->working = op;
    sy_worker_ready(op);
    pthread_mutex_unlock(&sy_stream_lock);
    return SY_STEP_PARKED;
}

static bool proxy_is_handed(struct sy_stream *stream)
{
    if (!stream->handed)
        return false;
    pthread_mutex_lock(&sy_stream_lock);
    stream->handed = stream->working != NULL;
    pthread_mutex_unlock(&sy_stream_lock);
    return stream->handed;
}

/* Takes one step of the stream. DONE: an operation has been done; the others: there is none that
 * could go on. */
static enum sy_step proxy_step(struct sy_stream *stream)
{
    if (proxy_is_handed(stream))
        return SY_STEP_PARKED;
    if (!stream->current)
        stream->current = proxy_take(stream);
    struct sy_stream_op *op = stream->current;
    if (!(op && op->kind->joins && !stream->fetches) && !proxy_settled(stream))
        return SY_STEP_AGAIN;
    if (!op)
        return SY_STEP_PARKED;
    sy_callsite_asked = stream->routine = op->routine;
    if (op->kind->work)
        return proxy_hand_over(stream, op);
    enum sy_step step = op->kind->step(op);
    if (step == SY_STEP_DONE) {
        stream->under_way |= op->kind->issues;
        stream->fetches |= op->kind->issues && !op->kind->joins;
        stream->issued++;
        stream->current = NULL;
        free(op);
    }
    return step;
}

/* Completes what is complete, and lets go of a stream that has nothing to do; false: it stays. */
static bool proxy_let_go(struct sy_stream *stream, enum sy_step step)
{
    pthread_mutex_lock(&sy_stream_lock);
    if (!stream->under_way && stream->issued) {
        sy_stream_completed(stream, stream->issued);
        stream->issued = 0;
    }
    bool idle = !stream->current && !stream->handed;
    bool stays = step != SY_STEP_PARKED || stream->again || (idle && stream->first);
    stream->again = false;
    stream->held = stays;
    stream->parked = !stays && !idle;
    pthread_mutex_unlock(&sy_stream_lock);
    return !stays;
}

/* Serves one stream. Returns whether something has moved. */
static bool proxy_serve(struct sy_stream *stream, enum sy_step *step)
{
    unsigned turns = 0;
    bool moved = stream->under_way;

    while ((*step = proxy_step(stream)) == SY_STEP_DONE && ++turns < BATCH)
        ;
    moved = turns > 0 || (moved && !stream->under_way);
    if (*step != SY_STEP_AGAIN)
        stream->since = 0;
    else if (moved || !stream->since)
        stream->since = proxy.now;
    return moved;
}

/* Goes round the streams once; returns whether something has moved. A stream that has been let go
 * of may be gone at once. */
static bool proxy_round(void)
{
    struct sy_stream **at = &proxy.active, *stream;
    bool moved = false;
    enum sy_step step;

    proxy.oldest = NULL;
    while ((stream = *at)) {
        struct sy_stream *next = stream->active;
        moved |= proxy_serve(stream, &step);
        if (proxy_let_go(stream, step)) {
            *at = next;
            continue;
        }
        if (stream->since && (!proxy.oldest || stream->since < proxy.oldest->since))
            proxy.oldest = stream;
        at = &stream->active;
    }
    return moved;
}

/* ---- the thread ---- */

/* For sy_sleep_listen. */
static void proxy_tell(void)
{
    pthread_mutex_lock(&sy_stream_lock);
    proxy.told = true;
    pthread_cond_signal(&proxy.wake);
    pthread_mutex_unlock(&sy_stream_lock);
}

static uint64_t proxy_sleep_length(uint64_t waited, bool told)
{
    uint64_t length = waited / 16;

    if (!told)
        length = sy_pause_rare(&proxy.pause, waited, sy_wait_crowded());
    if (length < SY_PAUSE_RARE_SHORTEST_NS)
        return SY_PAUSE_RARE_SHORTEST_NS;
    return length < LONGEST_SLEEP_NS ? length : LONGEST_SLEEP_NS;
}

/* Sleeps, or prepares a sleep that is ended by telling, before which is one more look. Under the
 * lock. */
static void proxy_sleep(uint64_t waited)
{
    bool listens = proxy.end == TELLING;

    if (proxy.end == TIME && sy_hot_carries()) {
        proxy.end = TELLING;
        proxy.told = false;
        sy_sleep_listen(proxy_tell);
        return;
    }
    uint64_t until = proxy.now + proxy_sleep_length(waited, listens && sy_wait_told());
    struct timespec at = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    if (!proxy.inbox && !(listens && proxy.told)) {
        sy_pause_begin(&proxy.pause);
        pthread_cond_clockwait(&proxy.wake, &sy_stream_lock, CLOCK_MONOTONIC, &at);
        sy_pause_end(&proxy.pause);
    }
    proxy.end = listens && proxy.told ? IN_VAIN : TIME;
    if (listens)
        sy_sleep_listen(NULL);
}

static void proxy_note(void)
{
    const struct sy_stream *oldest = proxy.oldest;

    if (!oldest || proxy.now - oldest->since <= SY_STALL_NOTED_NS)
        return;
    sy_callsite_asked = oldest->routine;
    sy_stall_note(oldest->since, proxy.now, oldest->routine);
}

/* All streams wait. Under the lock, which is given away. */
static void proxy_rest(void)
{
    uint64_t waited = proxy.now - proxy.moved_at;
    bool young = waited < (sy_wait_crowded() ? POLLING_CROWDED_NS : POLLING_NS);
    bool polls = sy_hot_carries() && (young || sy_config.progress == SY_PROGRESS_POLLING);

    proxy_note();
    if (!polls && !young) {
        proxy_sleep(waited);
        return;
    }
    pthread_mutex_unlock(&sy_stream_lock);
    if (polls)
        sy_progress_poll();
    if (young)
        sched_yield();
    pthread_mutex_lock(&sy_stream_lock);
    if (!young)
        proxy_sleep(waited);
}

/* Takes over what is in the inbox; true: there was something. */
static bool proxy_take_in(void)
{
    bool any = proxy.inbox;

    for (struct sy_stream *stream; (stream = proxy.inbox);) {
        proxy.inbox = stream->inbox;
        stream->active = proxy.active;
        proxy.active = stream;
    }
    return any;
}

static void *proxy_run(void *arg)
{
    bool moved = false;

    (void)arg;
    pthread_mutex_lock(&sy_stream_lock);
    for (;;) {
        bool came = proxy_take_in();
        if (!proxy.active) {
            if (proxy.stop)
                break;
            pthread_cond_wait(&proxy.wake, &sy_stream_lock);
            continue;
        }
        proxy.now = sy_clock_ns();
        if (moved || came)
            proxy.moved_at = proxy.now;
        else
            proxy_rest();
        pthread_mutex_unlock(&sy_stream_lock);
        moved = proxy_round();
        pthread_mutex_lock(&sy_stream_lock);
    }
    pthread_mutex_unlock(&sy_stream_lock);
    return NULL;
}

int sy_proxy_thread(pthread_t *thread, void *(*run)(void *))
{
    sy_blocked_threads_issue();
    return -sy_thread_start(thread, run, NULL);
}

int sy_proxy_start(void)
{
    if (proxy.running)
        return 0;
    int rc = sy_proxy_thread(&proxy.thread, proxy_run);
    proxy.running = !rc;
    return rc;
}

void sy_proxy_stop(void)
{
    if (!proxy.running)
        return;
    sy_worker_stop();
    pthread_mutex_lock(&sy_stream_lock);
    proxy.stop = true;
    pthread_cond_signal(&proxy.wake);
    pthread_mutex_unlock(&sy_stream_lock);
    pthread_join(proxy.thread, NULL);
    sy_sleep_listen(NULL);
    proxy.running = proxy.stop = false;
}

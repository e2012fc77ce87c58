/* See progress.h. The only file of the core that knows libev. */
#include <errno.h>
#include <ev.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "core/boot.h"
#include "core/fatal.h"
#include "core/progress.h"
#include "core/route.h"
#include "core/world.h"
#include "util/error.h"
#include "util/log.h"

/* Owned by the thread that starts and stops; the progress thread touches only `loop` and its
 * watchers, between pthread_create and pthread_join. `stop` is libev's own cross-thread signal. */
static struct {
    struct ev_loop *loop;
    pthread_t thread;
    ev_async stop;
    ev_io launcher;
    ev_io transport[SY_TRANSPORTS_MAX];
    bool running;
} progress;

static void on_stop(struct ev_loop *loop, ev_async *watcher, int events)
{
    (void)watcher, (void)events;
    ev_break(loop, EVBREAK_ALL);
}

static void on_launcher(struct ev_loop *loop, ev_io *watcher, int events)
{
    int status = 0;

    (void)events;
    switch (sy_boot->event(&status)) {
    case SY_EVENT_EXIT:
        sy_leave(status);
    case SY_EVENT_LOST:
        ev_io_stop(loop, watcher);
        sy_log(SY_LOG_ERROR, "boot", "the launcher is gone; this PE leaves");
        sy_leave(1);
    default:
        break;
    }
}

static void on_transport(struct ev_loop *loop, ev_io *watcher, int events)
{
    const struct sy_transport *table = watcher->data;

    (void)loop, (void)events;
    table->progress();
}

static void *run(void *arg)
{
    (void)arg;
    ev_run(progress.loop, 0);
    return NULL;
}

/* Watches what has a descriptor; returns how many do. */
static int watch(void)
{
    int watched = 0, fd = sy_boot->wait_fd();

    if (fd >= 0) {
        ev_io_init(&progress.launcher, on_launcher, fd, EV_READ);
        ev_io_start(progress.loop, &progress.launcher);
        watched++;
    }
    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_transport *table = sy_routes.transport[i].table;
        fd = table->wait_fd();
        if (fd < 0)
            continue;
        ev_io_init(&progress.transport[i], on_transport, fd, EV_READ);
        progress.transport[i].data = (void *)table;
        ev_io_start(progress.loop, &progress.transport[i]);
        watched++;
    }
    return watched;
}

/* The thread takes no signals: handlers of the program run on the program's threads. */
static int start_thread(void)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&progress.thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int sy_progress_start(struct sy_error *err)
{
    memset(&progress, 0, sizeof progress);
    progress.loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (!progress.loop)
        return sy_fail(err, ENOMEM, "libev has no usable event loop on this machine");
    if (!watch()) {
        ev_loop_destroy(progress.loop);
        progress.loop = NULL;
        return 0;
    }
    ev_async_init(&progress.stop, on_stop);
    ev_async_start(progress.loop, &progress.stop);
    int rc = start_thread();
    if (rc) {
        ev_loop_destroy(progress.loop);
        progress.loop = NULL;
        return sy_fail(err, rc, "the progress thread could not be started: %s", strerror(rc));
    }
    progress.running = true;
    return 0;
}

void sy_progress_stop(void)
{
    if (!progress.running)
        return;
    ev_async_send(progress.loop, &progress.stop);
    pthread_join(progress.thread, NULL);
    ev_loop_destroy(progress.loop);
    progress.loop = NULL;
    progress.running = false;
}

void sy_progress_poll(void)
{
    for (unsigned i = 0; i < sy_routes.count; i++)
        sy_routes.transport[i].table->progress();
}

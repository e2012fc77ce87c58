/* See guard.h. A shutdown or the end of a socket stops the thread, since a filter may refuse one of
 * them, or a write: two readers of the launcher's socket would share its frames. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "core/start/boot.h"
#include "core/fatal.h"
#include "core/guard.h"
#include "core/start/config.h"
#include "core/wait/stall.h"
#include "util/denied.h"
#include "util/file.h"
#include "util/log.h"
#include "util/signals.h"

/* Within SHMEM_STALL_REPORT the thread looks so often whether a call lasts for long. */
#define LOOKS 4

/* Seconds; longer ones are as good as none. */
#define LONGEST_PAUSE 1e6

static struct {
    pthread_t thread;
    int stop[2]; /* a pair of sockets, or -1 while there is no guard: the thread polls the first */
} guard = {.stop = {-1, -1}};

bool sy_guard_hear(void)
{
    static pthread_mutex_t hearing = PTHREAD_MUTEX_INITIALIZER;
    int status = 0;

    pthread_mutex_lock(&hearing);
    int event = sy_boot->event(sy_boot_self, &status);
    pthread_mutex_unlock(&hearing);
    switch (event) {
    case SY_EVENT_EXIT:
        sy_leave_anyway(status);
    case SY_EVENT_LOST:
        sy_log(SY_LOG_ERROR, "boot", "the launcher is gone; this PE leaves");
        sy_leave_anyway(1);
    case SY_EVENT_ASK:
        return true;
    default:
        return false;
    }
}

static void core_guard_tell(bool asked)
{
    char text[200];
    double seconds = sy_stall_text(text, sizeof text);

    sy_boot->note(sy_boot_self, text, seconds, asked);
}

static void *core_guard_keep(void *arg)
{
    struct pollfd wait[] = {{.fd = guard.stop[0], .events = POLLIN},
                            {.fd = sy_boot->wait_fd(sy_boot_self), .events = POLLIN}};
    const double limit = sy_config.stall_report;
    const int pause = limit > 0 && limit < LONGEST_PAUSE ? (int)(limit * 1000 / LOOKS) + 1 : -1;
    int ready;

    (void)arg;
    while (!wait[0].revents && ((ready = poll(wait, 2, pause)) >= 0 || errno == EINTR))
        if (ready > 0 && wait[1].revents && !wait[0].revents && sy_guard_hear())
            core_guard_tell(true);
        else if (!ready && sy_stall_due(limit, pause / 1e3))
            core_guard_tell(false);
    if (!wait[0].revents)
        sy_log(SY_LOG_WARN, "boot", "the end of the job is not noticed at once: poll: %s%s",
               strerror(errno), sy_denied_hint(errno));
    return NULL;
}

void sy_guard_listen(void)
{
    if (sy_boot->wait_fd(sy_boot_self) < 0)
        return;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, guard.stop) != 0)
        return;
    if (sy_thread_start(&guard.thread, core_guard_keep, NULL) != 0) {
        sy_file_close(&guard.stop[1]);
        sy_file_close(&guard.stop[0]);
    }
}

void sy_guard_stop(void)
{
    if (guard.stop[0] < 0)
        return;
    shutdown(guard.stop[1], SHUT_WR); /* it works where a child has the socket too */
    sy_file_close(&guard.stop[1]);
    pthread_join(guard.thread, NULL);
    sy_file_close(&guard.stop[0]);
}

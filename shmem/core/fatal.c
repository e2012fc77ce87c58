/* See fatal.h. The library leaves by exit() so that the program's buffered output is not lost; its
 * own exit handler sees sy_world.ending and only leaves the bootstrap. */
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/start/boot.h"
#include "core/callsite.h"
#include "core/start/config.h"
#include "core/crash.h"
#include "core/fatal.h"
#include "core/start/world.h"
#include "util/log.h"
#include "util/signals.h"

/* The thread that ends the process, or 0. */
static _Atomic pthread_t leaver;

bool sy_leave_claim(void)
{
    pthread_t first = 0;

    return atomic_compare_exchange_strong(&leaver, &first, pthread_self()) ||
           pthread_equal(first, pthread_self());
}

static void *fatal_lose_patience(void *arg)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    for (int left = 30, looks = 0; left && looks < 500; looks++) {
        poll(NULL, 0, 20);
        left = poll(&out, 1, 0) ? left - 1 : 30;
    }
    _exit((int)(intptr_t)arg);
}

/* Only one thread may call exit(). A second one, because the launcher ends the job that the first
 * is leaving or because two have failed, waits for the process to end, but only for 0.6 s in which
 * stdout had room, and 10 s in all. The first may call again, from an exit handler. */
void sy_leave(int status)
{
    sy_world.ending = true;
    if (!sy_leave_claim())
        fatal_lose_patience((void *)(intptr_t)status);
    exit(status);
}

void sy_leave_anyway(int status)
{
    pthread_t thread;

    if (!sy_thread_start(&thread, fatal_lose_patience, (void *)(intptr_t)status))
        pthread_detach(thread);
    sy_leave(status);
}

static _Noreturn void fatal_leave_or_trap(int status)
{
    if (sy_config.trap_on_abort) {
        sy_crash_silence();
        abort();
    }
    sy_leave(status);
}

void sy_fatal(const char *fmt, ...)
{
    char text[1280], place[256];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text - 256, fmt, args);
    va_end(args);
    sy_callsite_text(place, sizeof place);
    if (*place)
        snprintf(strchr(text, '\0'), sizeof text - strlen(text), "; called from %s", place);
    sy_log(SY_LOG_ERROR, "", "%s", text);
    if (sy_boot)
        sy_boot->abort(sy_boot_self, 1, text);
    fatal_leave_or_trap(1);
}

void sy_exit_job(int status)
{
    sy_world.ending = true;
    if (sy_boot)
        sy_boot->abort(sy_boot_self, status, NULL);
    fatal_leave_or_trap(status);
}

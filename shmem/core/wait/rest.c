/* See rest.h. The program's threads are those that there are beside the library's own: if as many
 * have a note of a wait (stall.h), none does anything else. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "core/wait/rest.h"
#include "core/route/route.h"
#include "core/wait/stall.h"
#include "core/start/world.h"

/* Where no PE is in shmem_finalize the program may be waiting for something from outside, and more
 * patience is due. */
#define LONG 12

enum { MOST = 64 };

/* Threads, by their numbers; count -1: there are too many, or they cannot be seen. */
struct tasks {
    int count;
    pid_t task[MOST];
};

static struct tasks before, own = {.count = -1};

static bool is_among(const struct tasks *tasks, pid_t task)
{
    for (int i = 0; i < tasks->count; i++)
        if (tasks->task[i] == task)
            return true;
    return false;
}

/* The threads that there are, but for those in `others`. */
static void list_tasks(struct tasks *tasks, const struct tasks *others)
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;

    tasks->count = folder ? 0 : -1;
    while (folder && tasks->count >= 0 && (entry = readdir(folder))) {
        pid_t task = (pid_t)strtol(entry->d_name, NULL, 10);
        if (task <= 0 || (others && is_among(others, task)))
            continue;
        if (tasks->count == MOST)
            tasks->count = -1;
        else
            tasks->task[tasks->count++] = task;
    }
    if (folder)
        closedir(folder);
}

void sy_rest_threads_begin(void)
{
    list_tasks(&before, NULL);
}

void sy_rest_threads_end(void)
{
    own.count = -1;
    if (before.count > 0)
        list_tasks(&own, &before);
}

/* Threads of the program; -1: not known. */
static int count_threads(void)
{
    struct tasks others;

    if (own.count < 0)
        return -1;
    list_tasks(&others, &own);
    return others.count;
}

static bool has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) == 0 ||
           errno != ECHILD;
}

static bool has_pending(void)
{
    struct sy_pending one;

    for (unsigned i = 0; i < sy_routes.count; i++)
        if (sy_routes.transport[i].table->pending(&one, 1) != 0)
            return true;
    return false;
}

/* Whether one of the program, and not of the library, may end a wait. Those of crashes do not. */
static bool has_handlers(void)
{
    static const unsigned long crashes = 1UL << SIGSEGV | 1UL << SIGBUS | 1UL << SIGFPE |
                                         1UL << SIGILL | 1UL << SIGABRT;
    struct sigaction action;
    Dl_info ours, info;

    if (!dladdr(&sy_world, &ours))
        return true;
    for (int number = 1; number < NSIG; number++) {
        if ((number < 32 && crashes >> number & 1) || sigaction(number, NULL, &action) ||
            (!(action.sa_flags & SA_SIGINFO) &&
             (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)))
            continue;
        if (!dladdr((void *)(uintptr_t)action.sa_handler, &info) ||
            info.dli_fbase != ours.dli_fbase)
            return true;
    }
    return false;
}

uint64_t sy_rest_look(double limit, unsigned *flags, double *seconds)
{
    int waiting;
    uint64_t wait = sy_stall_waits(&waiting, seconds);

    *flags = 0;
    if (!wait || count_threads() != waiting || has_children() || has_handlers() || has_pending())
        return 0;
    if (sy_world.finalizing)
        *flags |= SY_REST_FINALIZING;
    if (*seconds >= LONG * limit)
        *flags |= SY_REST_LONG;
    return wait;
}

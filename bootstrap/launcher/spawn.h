/* Around vfork: what the child does before it executes a program, and how its parent learns that it
 * could not. */
#ifndef SY_LAUNCHER_SPAWN_H
#define SY_LAUNCHER_SPAWN_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/denied.h"

/* In the child. Blocked signals that have arrived since vfork take effect here, with their default
 * action. */
static inline void sy_spawn_reset_signals(void)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        sigaction(number, &action, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In the parent: what vfork has returned, and the word that the child has written, errno of exec or
 * 0. Returns 0 or -errno, with no child left. */
static inline int sy_spawn_result(pid_t pid, int error)
{
    if (pid < 0)
        return -errno;
    while (error && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return -error;
}

/* Whether the end of a child would be noticed; otherwise says which call a filter refuses. libev
 * wakes its loop by an eventfd and looks at no error. */
static inline bool sy_spawn_can_watch(void)
{
    const uint64_t one = 1;
    struct sigaction action;
    const char *refused = NULL;
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (waitpid(-1, NULL, WNOHANG) < 0 && errno != ECHILD)
        refused = "waitpid";
    else if (sigaction(SIGCHLD, NULL, &action) != 0)
        refused = "sigaction";
    else if (event >= 0 && write(event, &one, sizeof one) < 0)
        refused = "write";
    if (refused)
        fprintf(stderr, "oshrun: the end of PEs would not be noticed: %s: %m%s\n", refused,
                sy_denied_hint(errno));
    if (event >= 0)
        close(event);
    return !refused;
}

#endif

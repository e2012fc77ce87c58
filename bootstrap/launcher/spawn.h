/* Around vfork: what the child does before it executes a program, and how its parent learns that it
 * could not. */
#ifndef SY_LAUNCHER_SPAWN_H
#define SY_LAUNCHER_SPAWN_H

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The name of a call that a filter refuses and without which the end of a child would never be
 * noticed, with errno; or NULL. libev wakes its loop by an eventfd and looks at no error. */
static inline const char *sy_spawn_lacks(void)
{
    const uint64_t one = 1;
    struct sigaction action;
    const char *call = NULL;

    if (waitpid(-1, NULL, WNOHANG) < 0 && errno != ECHILD)
        return "waitpid";
    if (sigaction(SIGCHLD, NULL, &action) != 0)
        return "sigaction";
    int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event >= 0 && write(event, &one, sizeof one) < 0)
        call = "write";
    int error = errno;
    if (event >= 0)
        close(event);
    errno = error;
    return call;
}

#endif

/* Runs a command that starts an agent: see call.h. */
#include "bootstrap/launcher/head/call.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bootstrap/launcher/options/program.h"
#include "bootstrap/launcher/spawn.h"

/* In the child of a vfork: calls of the kernel only. */
static _Noreturn void call_run_command(const char *path, char *const *command,
                                       const struct rlimit *nofile, const int theirs[3],
                                       pid_t parent, volatile int *error)
{
    setsid();
    setrlimit(RLIMIT_NOFILE, nofile);
    for (int fd = 0; fd < 3; fd++)
        dup2(theirs[fd], fd);
    sy_spawn_reset_signals();
    /* The command's descriptors close with oshrun anyway; the signal is for a command that does not
     * read them. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent)
        execve(path, command, environ);
    *error = errno;
    _exit(127);
}

static int call_spawn(const char *path, char *const *command, const struct rlimit *nofile,
                      const int theirs[3], pid_t *pid)
{
    volatile int error = 0;
    pid_t parent = getpid();

    *pid = vfork();
    if (*pid == 0)
        call_run_command(path, command, nofile, theirs, parent, &error);
    return sy_spawn_result(*pid, error);
}

int sy_call_start(char *const *command, const struct rlimit *nofile, struct sy_call_ends *ends)
{
    int status, ours[3] = {-1, -1, -1}, theirs[3] = {-1, -1, -1}, rc = 0;
    char *path = sy_program_find(command[0], &status, NULL);

    if (!path)
        return status == 127 ? -ENOENT : -EACCES;
    for (int fd = 0; fd < 3 && rc == 0; fd++) {
        int pair[2];

        if (pipe2(pair, O_CLOEXEC) != 0) {
            rc = -errno;
            break;
        }
        ours[fd] = pair[fd == 0];
        theirs[fd] = pair[fd != 0];
        if (fcntl(ours[fd], F_SETFL, O_NONBLOCK) != 0)
            rc = -errno;
    }
    if (rc == 0)
        rc = call_spawn(path, command, nofile, theirs, &ends->pid);
    free(path);
    for (int fd = 0; fd < 3; fd++) {
        if (theirs[fd] >= 0)
            close(theirs[fd]);
        if (rc != 0 && ours[fd] >= 0)
            close(ours[fd]);
    }
    ends->in = ours[0];
    ends->out = ours[1];
    ends->err = ours[2];
    return rc;
}

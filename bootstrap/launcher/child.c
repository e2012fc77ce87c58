/* One process: see child.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/launcher/protocol.h"

enum {
    OURS,  /* first index of a pair: oshrun's end */
    THEIRS /* and the PE's */
};

struct ends {
    int link[2], out[2], err[2], in[2];
};

static void open_standard(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) < 0)
            _exit(1);
    }
}

/* oshrun may itself be run by a PE: its PEs must not hold the outer job's socket. */
static void hide_outer_socket(void)
{
    const char *text = getenv(SY_LAUNCH_FD_ENV);
    struct stat st;
    int fd = text ? atoi(text) : -1;

    if (fd > 2 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void sy_child_prepare(struct sy_child_plan *plan)
{
    struct rlimit all;

    open_standard();
    hide_outer_socket();
    /* The lowest free number above 2 is kept, so that it is the same in all PEs. */
    plan->boot_fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
    getrlimit(RLIMIT_NOFILE, &plan->nofile);
    all = plan->nofile;
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
}

static void close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i] >= 0)
            close(pair[i]);
        pair[i] = -1;
    }
}

static void close_ends(struct ends *ends)
{
    close_pair(ends->link);
    close_pair(ends->out);
    close_pair(ends->err);
    close_pair(ends->in);
}

static int open_pipe(int pair[2], int ours)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    pair[OURS] = fds[ours];
    pair[THEIRS] = fds[!ours];
    return fcntl(pair[OURS], F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

static int open_ends(struct ends *ends, bool with_stdin)
{
    const int reading = 0, writing = 1; /* index of the end of a pipe that is ours */
    int rc;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->link) != 0)
        return -errno;
    rc = open_pipe(ends->out, reading);
    if (rc == 0)
        rc = open_pipe(ends->err, reading);
    if (rc == 0 && with_stdin)
        rc = open_pipe(ends->in, writing);
    if (rc == 0 && !with_stdin) {
        ends->in[THEIRS] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        rc = ends->in[THEIRS] < 0 ? -errno : 0;
    }
    return rc;
}

/* The PE dies with oshrun; if oshrun died before that was arranged, at once. */
static void tie_to_parent(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(127);
}

/* Blocked signals that have arrived since fork take effect here, with their default action. */
static void reset_signals(void)
{
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_child(const struct sy_child_plan *plan, int pe, const struct ends *ends,
                      pid_t parent) __attribute__((noreturn));
static void run_child(const struct sy_child_plan *plan, int pe, const struct ends *ends,
                      pid_t parent)
{
    struct sy_child_failure failure = {.pe = pe};

    setpgid(0, 0);
    tie_to_parent(parent);
    setrlimit(RLIMIT_NOFILE, &plan->nofile);
    if (dup2(ends->in[THEIRS], 0) < 0 || dup2(ends->out[THEIRS], 1) < 0 ||
        dup2(ends->err[THEIRS], 2) < 0 || dup2(ends->link[THEIRS], plan->boot_fd) < 0) {
        failure.error = errno;
    } else {
        reset_signals();
        execve(plan->path, plan->argv, plan->envp);
        failure.error = errno;
    }
    /* Less than PIPE_BUF: comes whole. If oshrun is gone there is nobody to tell. */
    if (write(plan->failure_fd, &failure, sizeof failure) < 0)
        _exit(126);
    _exit(127);
}

int sy_child_start(const struct sy_child_plan *plan, int pe, bool with_stdin,
                   struct sy_child *child)
{
    struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    pid_t parent = getpid();
    int rc = open_ends(&ends, with_stdin);

    if (rc != 0) {
        close_ends(&ends);
        return rc;
    }
    child->pid = fork();
    if (child->pid < 0) {
        rc = -errno;
        close_ends(&ends);
        return rc;
    }
    if (child->pid == 0)
        run_child(plan, pe, &ends, parent);
    /* Both sides do it: a signal for the group may be sent before the child has run. */
    setpgid(child->pid, child->pid);
    child->link = ends.link[OURS];
    child->out = ends.out[OURS];
    child->err = ends.err[OURS];
    child->in = ends.in[OURS];
    ends.link[OURS] = ends.out[OURS] = ends.err[OURS] = ends.in[OURS] = -1;
    close_ends(&ends);
    return 0;
}

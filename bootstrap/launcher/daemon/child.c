/* One process: see child.h. */
#include "bootstrap/launcher/daemon/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/control/protocol.h"
#include "bootstrap/launcher/spawn.h"
#include "util/file.h"
#include "util/parse.h"
#include "util/standard.h"

enum {
    OURS,  /* first index of a pair: oshrun's end */
    THEIRS /* and the PE's */
};

struct ends {
    int link[2], out[2], err[2], in[2];
};

/* A closed stdin is at its end, and what goes to a closed stderr is lost. Output of PEs to a closed
 * stdout is not to be lost unsaid. */
static void child_open_standard(void)
{
    bool lost = fcntl(STDERR_FILENO, F_GETFD) < 0 && errno == EBADF;

    if (fcntl(STDIN_FILENO, F_GETFD) < 0 && errno == EBADF)
        open("/dev/null", O_RDONLY);
    sy_standard_keep();
    int null = lost ? open("/dev/null", O_WRONLY) : -1;
    if (null >= 0) {
        dup2(null, STDERR_FILENO);
        close(null);
    }
}

/* Hides the socket of an outer job: this oshrun may be a PE's, and its PEs must not hold that. */
static void child_hide_outer_socket(void)
{
    struct stat st;
    int fd = (int)sy_parse_variable(SY_LAUNCH_FD_ENV);

    if (fd > 2 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

void sy_child_prepare(struct sy_child_plan *plan)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    child_open_standard();
    child_hide_outer_socket();
    /* The lowest free number above 2 is reserved, so that it is the same in all PEs. */
    plan->boot_fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
    getrlimit(RLIMIT_NOFILE, &plan->nofile);
    struct rlimit all = plan->nofile;
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
}

static void child_close_pair(int pair[2])
{
    for (int i = 0; i < 2; i++)
        sy_file_close(&pair[i]);
}

static void child_close_ends(struct ends *ends)
{
    child_close_pair(ends->link);
    child_close_pair(ends->out);
    child_close_pair(ends->err);
    child_close_pair(ends->in);
}

static int child_open_pipe(int pair[2], int ours)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return -errno;
    pair[OURS] = fds[ours];
    pair[THEIRS] = fds[!ours];
    return fcntl(pair[OURS], F_SETFL, O_NONBLOCK) == 0 ? 0 : -errno;
}

static int child_open_ends(struct ends *ends, bool merge_stderr, bool with_stdin)
{
    const int reading = 0, writing = 1; /* index of the end of a pipe that is ours */

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->link) != 0)
        return -errno;
    int rc = child_open_pipe(ends->out, reading);
    if (rc == 0 && !merge_stderr)
        rc = child_open_pipe(ends->err, reading);
    if (rc == 0 && with_stdin)
        rc = child_open_pipe(ends->in, writing);
    if (rc == 0 && !with_stdin) {
        ends->in[THEIRS] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (ends->in[THEIRS] < 0) { /* there is no /dev; a pipe that nobody writes ends as well */
            rc = child_open_pipe(ends->in, writing);
            sy_file_close(&ends->in[OURS]);
        }
    }
    return rc;
}

/* The PE dies with oshrun; if oshrun died before this took effect, at once. */
static void child_tie_to_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* where a filter forbids it, the reaper still ends the PE */
    if (getppid() != parent)
        _exit(127);
}

/* In the child of a vfork, which shares oshrun's memory: only system calls, and words written
 * for oshrun to read. */
static _Noreturn void child_run(const struct sy_child_plan *plan, const cpu_set_t *cpus,
                                const struct ends *ends, pid_t parent, struct sy_child *child,
                                volatile int *error)
{
    int out = ends->out[THEIRS];
    int err = ends->err[THEIRS] < 0 ? out : ends->err[THEIRS];

    setpgid(0, 0);
    child_tie_to_parent(parent);
    setrlimit(RLIMIT_NOFILE, &plan->nofile);
    if (cpus && sched_setaffinity(0, sizeof *cpus, cpus) != 0)
        child->unbound = errno;
    if (dup2(ends->in[THEIRS], 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0 &&
        dup2(ends->link[THEIRS], plan->boot_fd) >= 0 && chdir(plan->directory) == 0) {
        sy_spawn_reset_signals();
        child->executed = false;
        execve(plan->path, plan->argv, plan->envp);
    }
    *error = errno;
    _exit(127);
}

/* vfork: it makes the start of a job's PEs an eighth shorter than fork does, and reports a failure
 * of exec at once. */
static int child_spawn(const struct sy_child_plan *plan, const cpu_set_t *cpus,
                       const struct ends *ends, struct sy_child *child)
{
    volatile int error = 0;
    pid_t parent = getpid();

    child->pid = vfork();
    if (child->pid == 0)
        child_run(plan, cpus, ends, parent, child, &error);
    return sy_spawn_result(child->pid, error);
}

int sy_child_start(const struct sy_child_plan *plan, const cpu_set_t *cpus, bool with_stdin,
                   struct sy_child *child)
{
    struct ends ends = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    int rc = child_open_ends(&ends, plan->merge_stderr, with_stdin);

    *child = (struct sy_child){.executed = true};
    if (rc == 0)
        rc = child_spawn(plan, cpus, &ends, child);
    if (rc != 0) {
        child_close_ends(&ends);
        return rc;
    }
    child->link = ends.link[OURS];
    child->out = ends.out[OURS];
    child->err = ends.err[OURS];
    child->in = ends.in[OURS];
    ends.link[OURS] = ends.out[OURS] = ends.err[OURS] = ends.in[OURS] = -1;
    child_close_ends(&ends);
    return 0;
}

/* No process outlives its job: see reaper.h. */
#include "bootstrap/launcher/daemon/reaper.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/proc.h"
#include "util/signals.h"

enum {
    MOST_FILES = 65536, /* of oshrun's, while it starts */
    ROUND_MS = 2,
    ROUNDS = 500, /* a killed process needs no longer, unless it is stuck in the kernel */
    RESTARTS = 8  /* of a reaper that is killed: where it cannot live, no more are started */
};

/* Detaches the reaper: it holds no descriptor of oshrun's and gets no signal of its group. Signals
 * stay blocked. */
static void daemon_reaper_detach(int pipe_end)
{
    int null = open("/dev/null", O_RDWR);

    setpgid(0, 0);
    prctl(PR_SET_NAME, "oshrun-reaper");
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    dup2(pipe_end, 3);
    /* Above all its own copy of the pipe's other end. Kernels before 5.9 lack the call. */
    for (int fd = syscall(SYS_close_range, 4, ~0u, 0) ? 4 : MOST_FILES; fd < MOST_FILES; fd++)
        close(fd);
}

static _Noreturn void daemon_reaper_keep_watch(const struct sy_reaper *reaper, int pipe_end)
{
    char byte;

    daemon_reaper_detach(pipe_end);
    while (read(3, &byte, 1) < 0 && errno == EINTR)
        continue;
    for (int pe = 0; pe < reaper->npes; pe++) {
        if (reaper->groups[pe] > 0)
            kill(-reaper->groups[pe], SIGKILL);
    }
    _exit(0);
}

/* Signals are blocked meanwhile: oshrun's handlers must not run in the reaper. */
static int daemon_reaper_fork(struct sy_reaper *reaper)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    sigset_t before = sy_signals_block();
    pid_t pid = fork();
    int error = errno;
    if (pid == 0)
        daemon_reaper_keep_watch(reaper, ends[0]);
    sy_signals_restore(before);
    close(ends[0]);
    if (pid < 0) {
        close(ends[1]);
        return -error;
    }
    reaper->pid = pid;
    reaper->pipe = ends[1];
    return 0;
}

/* A shell that has children may become oshrun. */
static void daemon_reaper_note_older(struct sy_reaper *reaper)
{
    char path[40], text[SY_PROC_TEXT], *end;

    snprintf(path, sizeof path, "task/%d/children", (int)getpid());
    const char *at = sy_proc_of(getpid(), path, text);
    for (long pid; reaper->olders < SY_REAPER_OLDER && (pid = strtol(at, &end, 10)) > 0; at = end)
        reaper->older[reaper->olders++] = (pid_t)pid;
}

static bool daemon_reaper_is_older(const struct sy_reaper *reaper, pid_t pid)
{
    for (int i = 0; i < reaper->olders; i++)
        if (reaper->older[i] == pid)
            return true;
    return false;
}

int sy_reaper_start(struct sy_reaper *reaper, int npes)
{
    size_t bytes = (size_t)npes * sizeof *reaper->groups;
    void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return -errno;
    reaper->groups = shared;
    reaper->npes = npes;
    daemon_reaper_note_older(reaper);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return daemon_reaper_fork(reaper);
}

bool sy_reaper_restart(struct sy_reaper *reaper, pid_t pid)
{
    if (reaper->pid <= 0 || pid != reaper->pid)
        return false;
    close(reaper->pipe);
    reaper->pid = 0;
    if (reaper->restarts++ < RESTARTS)
        daemon_reaper_fork(reaper);
    return true;
}

void sy_reaper_add(struct sy_reaper *reaper, int pe, pid_t pid)
{
    reaper->groups[pe] = pid;
}

void sy_reaper_review(struct sy_reaper *reaper, int pe)
{
    if (reaper->groups[pe] > 0 && kill(-reaper->groups[pe], 0) != 0 && errno == ESRCH)
        reaper->groups[pe] = 0;
}

/* Kills all children but the reaper and those that are older; false: there are none. */
static bool daemon_reaper_kill_children(const struct sy_reaper *reaper)
{
    DIR *proc = opendir("/proc");
    char name[SY_PROC_NAME];
    struct dirent *entry;
    bool any = false;

    if (!proc)
        return false;
    while ((entry = readdir(proc)) != NULL) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

        if (pid > 0 && pid != reaper->pid && sy_proc_parent(pid, name) == getpid() &&
            !daemon_reaper_is_older(reaper, pid))
            any = !kill(pid, SIGKILL) || any;
    }
    closedir(proc);
    return any;
}

/* Kills all children, in rounds until none is left: a killed child's own children become this
 * process's. */
static void daemon_reaper_sweep(const struct sy_reaper *reaper)
{
    for (int round = 0; round < ROUNDS; round++) {
        pid_t pid;

        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            continue;
        if (pid < 0 || !daemon_reaper_kill_children(reaper))
            return;
        sy_clock_sleep(ROUND_MS * 1000000L);
    }
}

static bool daemon_reaper_has_groups(const struct sy_reaper *reaper)
{
    for (int pe = 0; pe < reaper->npes; pe++)
        if (reaper->groups[pe] > 0)
            return true;
    return false;
}

/* Ends the reaper last: it watches until nothing is left of the PEs' groups, since the process that
 * ends them may itself be killed. */
void sy_reaper_end(struct sy_reaper *reaper)
{
    if (reaper->pid > 0) {
        if (daemon_reaper_has_groups(reaper))
            daemon_reaper_sweep(reaper);
        for (int pe = 0; pe < reaper->npes; pe++)
            reaper->groups[pe] = 0;
        close(reaper->pipe);
        kill(reaper->pid, SIGKILL); /* nothing is left for it to do, and it may be stopped */
        while (waitpid(reaper->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
        reaper->pid = 0;
    }
    daemon_reaper_sweep(reaper);
}

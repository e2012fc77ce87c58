/* Starts one process of a job on this host. Knows about fork, exec and descriptors; nothing of
 * jobs. */
#ifndef SY_LAUNCHER_CHILD_H
#define SY_LAUNCHER_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What all PEs of a job have in common. */
struct sy_child_plan {
    const char *path;     /* the file to execute */
    char *const *argv;    /* its arguments */
    char *const *envp;    /* its environment */
    int boot_fd;          /* the number under which a PE finds its socket; kept free in oshrun */
    int failure_fd;       /* write end of the pipe that reports a failed exec */
    struct rlimit nofile; /* the limit that oshrun was started with */
};

/* A failed exec, as it comes through the pipe. */
struct sy_child_failure {
    int pe, error;
};

/* oshrun's ends of what a PE holds; all non-blocking and closed on exec. */
struct sy_child {
    pid_t pid;
    int link, out, err;
    int in; /* or -1: the PE has /dev/null */
};

/* Readies oshrun itself: descriptors 0, 1, 2 are open, an outer job's socket does not pass to PEs,
 * the limit of descriptors is raised, boot_fd and nofile of the plan are set. */
void sy_child_prepare(struct sy_child_plan *plan);

/* Starts PE `pe`. All signals must be blocked. Returns 0 or -errno, with nothing left behind. */
int sy_child_start(const struct sy_child_plan *plan, int pe, bool with_stdin,
                   struct sy_child *child);

#endif

/* Starts one process of a job on this host. Knows about fork, exec and descriptors; nothing of
 * jobs. */
#ifndef SY_LAUNCHER_CHILD_H
#define SY_LAUNCHER_CHILD_H

#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

/* What the PEs of one program have in common. */
struct sy_child_plan {
    const char *path;      /* the file to execute */
    const char *directory; /* where to run it */
    char *const *argv;     /* its arguments */
    char *const *envp;     /* its environment */
    int boot_fd;           /* the number under which a PE finds its socket; kept free in oshrun */
    struct rlimit nofile;  /* the limit that oshrun was started with */
    bool merge_stderr;     /* stderr goes where stdout goes */
};

/* oshrun's ends of what a PE holds; all non-blocking and closed on exec. */
struct sy_child {
    pid_t pid;
    int link, out;
    int err; /* or -1: stderr is merged into stdout */
    int in;  /* or -1: the PE has /dev/null */
    /* written by the child, whose vfork shares this memory */
    volatile int unbound;   /* errno where it could not be bound to its processors, or 0 */
    volatile bool executed; /* false with a failure: the program could not be executed */
};

/* Readies oshrun itself: no signal is blocked, as its starter's mask is inherited and libev leaves
 * it so; descriptors 0, 1, 2 are open; an outer job's socket does not pass to PEs; the limit of
 * descriptors is raised; boot_fd and nofile of the plan are set. */
void sy_child_prepare(struct sy_child_plan *plan);

/* Starts a PE, on these processors unless `cpus` is NULL. All signals must be blocked. Returns 0 or
 * -errno, with nothing left behind. */
int sy_child_start(const struct sy_child_plan *plan, const cpu_set_t *cpus, bool with_stdin,
                   struct sy_child *child);

#endif

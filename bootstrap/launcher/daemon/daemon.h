/* The daemon: the PEs of a job on one host. It starts them, reaps them, signals them, carries their
 * frames, output and input, and sees to it that nothing of them is left; what any of it means for
 * the job is decided by the head, which is oshrun where the user started it.
 *
 * Head and daemon speak in frames (frames.h), whether the head is in the same process
 * (sy_daemon_take and the daemon's `tell`) or at the other end of an agent's stdin and stdout
 * (agent.c). */
#ifndef SY_LAUNCHER_DAEMON_H
#define SY_LAUNCHER_DAEMON_H

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bootstrap/launcher/daemon/child.h"
#include "bootstrap/launcher/daemon/reaper.h"
#include "bootstrap/launcher/stdio/pe_input.h"
#include "bootstrap/launcher/link.h"
#include "bootstrap/launcher/stdio/pe_output.h"
#include "bootstrap/launcher/spec.h"

/* A PE as its host sees it. */
struct sy_local_pe {
    struct sy_daemon *daemon;
    int pe;
    pid_t pid;
    bool alive;
    bool trace_due;  /* its stack is to be looked at */
    bool just_ended; /* with wait_status, and the head does not know yet */
    int wait_status;
    struct sy_link link;
    ev_timer closed; /* a second after the PE has closed the link, or died */
    struct sy_pe_output out, err;
    struct sy_pe_input in;
};

struct sy_daemon {
    struct ev_loop *loop;
    const struct sy_spec *spec;
    int count, started, living;
    int outputs; /* that are open */
    struct sy_local_pe *local;
    int *local_of; /* by PE; -1: not here */
    struct sy_child_plan plan;
    struct sy_reaper reaper;
    long short_before; /* processes that the kernel had ended for lack of memory */
    ev_timer drain;    /* how long to wait for writers that are no PEs */
    bool finishing, finished;

    /* A frame for the head; it is called in the middle of things, and may call sy_daemon_take. */
    void (*tell)(struct sy_daemon *daemon, const struct sy_frame *header, const void *body);
    void *owner;
};

/* Starts all PEs of the spec, which must stay. tell, owner, and of the plan boot_fd and nofile are
 * set by the caller. What goes wrong is told by a TROUBLE. */
void sy_daemon_start(struct sy_daemon *daemon, struct ev_loop *loop, const struct sy_spec *spec);

/* A frame from the head. */
void sy_daemon_take(struct sy_daemon *daemon, const struct sy_frame *header, const char *body);

/* To be called upon SIGCHLD. `stranger` (may be NULL) gets the children that are no PEs. */
void sy_daemon_reap(struct sy_daemon *daemon,
                    void (*stranger)(void *arg, pid_t pid, int wait_status), void *arg);

/* All PEs get this signal. */
void sy_daemon_signal(struct sy_daemon *daemon, int number);

/* Tells the head something: header fields and body. */
void sy_daemon_tell(struct sy_daemon *daemon, unsigned type, int pe, int arg, const void *body,
                    size_t length);

/* Ends what is left and frees. */
void sy_daemon_close(struct sy_daemon *daemon);

/* ---- between the daemon's files ---- */

/* Opens a started PE's socket, output and input on the daemon's side. */
void sy_daemon_attach(struct sy_local_pe *local, const struct sy_child *child);

/* trace.c: a stack trace of the PE, by gdb where there is one. Begins; the daemon sends TRACED for
 * the PE if it lives, within a limited time. */
void sy_trace_start(struct sy_local_pe *local);

#endif

/* One run of oshrun: a job, from its start to an exit status. The parts:
 *
 *     run.c      makes the job's description, runs the loop
 *     signals.c  signals to oshrun
 *     messages.c what daemons and PEs say, gathers
 *     judge.c    PEs that end: which ends are failures
 *     waiting.c  messages while a job makes no progress, or never can
 *     life.c     PEs that are there, that are gone; the end of the run
 *     ending.c   how a job is ended before its time
 *     node.c     the hosts: a daemon in this process (daemon.h), or agents
 *     call.c, command.c  the commands that start agents
 *     say.c      messages to the user
 *
 * Each calls those below it only; what hosts have to say goes upward by struct sy_node_events. */
#ifndef SY_LAUNCHER_RUN_H
#define SY_LAUNCHER_RUN_H

#include <ev.h>
#include <stdbool.h>

#include "bootstrap/launcher/daemon/child.h"
#include "bootstrap/launcher/stdio/input.h"
#include "bootstrap/launcher/options/flags.h"
#include "bootstrap/control/gather.h"
#include "bootstrap/control/report.h"
#include "bootstrap/launcher/head/node.h"
#include "bootstrap/launcher/stdio/output.h"
#include "bootstrap/launcher/options/placement.h"
#include "bootstrap/launcher/stdio/repeats.h"
#include "bootstrap/launcher/stdio/out_file.h"
#include "bootstrap/launcher/stdio/forward.h"

enum {
    SY_SIGNALS = 10 /* watched by signals.c */
};

struct sy_pe {
    struct sy_run *run;
    struct sy_node *node;
    int number;
    pid_t pid;
    bool started, alive;
    bool just_ended; /* with wait_status, and not judged yet */
    int wait_status;
    bool memory_short; /* SY_DAEMON_SHORT came with it */
    bool said_hello;   /* has said HELLO */
    bool initialized;  /* is between shmem_init and shmem_finalize */
    bool finalized;    /* has been there, and is not any more */
    bool aborted;      /* has asked to end the job: how it ends itself does not matter */
    bool traced;       /* its stack trace has come */
    bool trace_due;    /* it is to come */
    bool explained;    /* an error of the library has come through its stderr */
    int said;          /* messages about its start */
    size_t room[2];    /* bytes of stdout and stderr that may come */
    struct sy_forward out, err;
};

struct sy_run {
    const struct sy_flags *flags;
    const struct sy_placement *placement;
    const struct sy_child_plan *plan;
    bool slurm; /* the hosts are those of a Slurm job */
    struct ev_loop *loop;
    char id[40];
    unsigned char *key; /* in a page of its own, for PEs that join; children do not have it */

    int npes;
    int living;
    int streams; /* stdouts and stderrs of PEs that are still open */
    struct sy_pe *pes;
    int nodes;
    struct sy_node *node;
    struct sy_node_events hosts;
    bool all_gone;

    struct sy_outputs outputs;
    struct sy_repeats repeats;      /* warnings and errors of the library */
    struct sy_repeats host_repeats; /* what commands that start agents say */
    char *later;                    /* lines of oshrun's own that come after those */
    size_t later_length;
    double later_since; /* the last of them */
    struct sy_input input;
    ev_timer limit;         /* --timeout */
    ev_timer spawn_limit;   /* --spawn-timeout */
    ev_timer heartbeat;     /* looks for lost hosts */
    ev_timer last_commands; /* how long to wait for commands whose agents are done */
    ev_signal signals[SY_SIGNALS];

    struct sy_report report;
    struct sy_gather gather;
    ev_timer gather_limit;

    struct {
        ev_timer wait; /* a PE that died may be the cause: its end is given time to show */
        bool asked;
        int status;
        const struct sy_pe *pe; /* the first that has given up because of an error, or NULL */
        char why[1024];
    } abort;

    struct {
        bool begun;
        int stage;
        int living; /* at the last look */
        double grace, waited;
        ev_timer timer;
    } ending;

    struct {
        ev_timer tick;    /* looks what is waited for */
        ev_timer answers; /* of the report */
        double started, gather_began;
        double told; /* time of the last message */
    } waiting;
    struct {
        ev_timer limit;
        int left; /* traces that are to come */
        bool running;
    } traces;
    int status; /* of oshrun */
};

enum sy_say {
    SY_SAY_ALWAYS,
    SY_SAY_ENDING, /* why and how the job ends: not with -q */
    SY_SAY_MORE    /* only with -v */
};

/* Prints one line to stderr, "oshrun: ...". */
void sy_run_say(struct sy_run *run, enum sy_say kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the lines that have waited for those of PEs and hosts. */
void sy_run_say_later(struct sy_run *run);

/* Runs the job. Returns the exit status. */
int sy_run_job(const struct sy_flags *flags, const struct sy_placement *placement, bool slurm,
               const struct sy_child_plan *plan);

/* No more messages will come from the PEs of a host. */
void sy_run_host_gone(const struct sy_node *node);

/* To be called when PEs have ended or a host is up: checks whether the last one has gone. */
void sy_run_check_gone(struct sy_run *run);

/* Ends the loop if nothing is left to do. */
bool sy_run_is_done(const struct sy_run *run);
void sy_run_check_done(struct sy_run *run);

/* Begins to pass stdin on, when the PEs are there. */
void sy_run_start_input(struct sy_run *run);

/* A frame for one PE. */
void sy_run_send(struct sy_pe *pe, unsigned type, int arg, const void *body, size_t length);

/* messages.c */
void sy_messages_init(struct sy_run *run);
/* A frame from a node, whether its daemon runs in this process or not. */
void sy_messages_take(struct sy_node *node, const struct sy_frame *header, const char *body);

/* judge.c: those that ended together are judged. */
void sy_judge(struct sy_run *run);

/* ending.c. The first reason counts: status is ignored when an end has begun. */
void sy_ending_init(struct sy_run *run);
/* PEs are asked to leave, then told (SIGTERM), then killed. grace: seconds from SIGTERM to SIGKILL
 * where --grace does not say. */
void sy_ending_begin(struct sy_run *run, int status, double grace);
/* The status of a job whose PEs cannot go on: that of the first failure, which
 * --kill-on-bad-exit=0 has let the others outlive, or 1. */
int sy_ending_status(const struct sy_run *run);
/* Begins the end a moment later, because a PE has exited with an error. */
void sy_ending_failed(struct sy_run *run, int status);
/* Begins the end because of a signal to oshrun: the PEs get that signal at once. */
void sy_ending_signal(struct sy_run *run, int number);
void sy_ending_forward(struct sy_run *run, int number);
/* "; stopping the other 3 PEs", for the end of a message. The text is valid until the next call. */
const char *sy_ending_rest(const struct sy_run *run);

#define SY_GRACE_FAILED 0.6 /* seconds: with the 0.2 before it, all is over within one second */
#define SY_GRACE_ASKED  2.0

/* waiting.c */
void sy_waiting_init(struct sy_run *run);
/* The time of --timeout is over: reports where the PEs are, then ends the job. */
void sy_waiting_trace(struct sy_run *run);
void sy_waiting_traced(struct sy_pe *pe, const char *text);
/* A PE has ended, and was judged: its stack trace is not waited for any more. One that comes all
 * the same is dropped. */
void sy_waiting_ended(struct sy_pe *pe);
/* How a PE has ended: "has exited with status 0", "was killed by signal 9". The text is valid until
 * the next call. */
const char *sy_waiting_how_ended(const struct sy_pe *pe);

/* signals.c */
void sy_signals_start(struct sy_run *run);

#endif

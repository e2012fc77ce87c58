/* One run of oshrun: a job of N PEs on this host, from its start to an exit status. The parts:
 *
 *     run.c      starts the PEs; ends when they are gone and their output is delivered
 *     talk.c     what PEs say (protocol.h), gathers
 *     reap.c     PEs that end: which ends are failures
 *     ending.c   how a job is ended before its time
 *     signals.c  signals to oshrun */
#ifndef SY_LAUNCHER_RUN_H
#define SY_LAUNCHER_RUN_H

#include <ev.h>
#include <stdbool.h>

#include "bootstrap/launcher/child.h"
#include "bootstrap/launcher/feed.h"
#include "bootstrap/launcher/flags.h"
#include "bootstrap/launcher/gather.h"
#include "bootstrap/launcher/guard.h"
#include "bootstrap/launcher/link.h"
#include "bootstrap/launcher/sink.h"
#include "bootstrap/launcher/stream.h"

enum {
    SY_SIGNALS = 10 /* watched by signals.c */
};

struct sy_pe {
    struct sy_run *run;
    int number;
    pid_t pid;
    bool alive;
    bool just_ended; /* with wait_status, and not judged yet */
    int wait_status;
    bool greeted;     /* has said HELLO */
    bool initialized; /* is between shmem_init and shmem_finalize */
    bool aborted;     /* has asked to end the job: how it ends itself does not matter */
    struct sy_link link;
    struct sy_stream out, err;
};

struct sy_run {
    const struct sy_flags *flags;
    struct ev_loop *loop;
    char host[256];
    char id[40];
    unsigned char key[32];

    int npes;
    int started, living;
    int streams; /* outputs of PEs that are still open */
    struct sy_pe *pes;
    struct sy_child_plan plan;
    struct sy_guard guard;
    ev_io failures; /* failed execs */

    struct sy_sink out, err;
    struct sy_sink *err_sink; /* &err, or &out where both are the same file */
    struct sy_feed feed;
    ev_timer limit; /* --timeout */
    ev_timer drain; /* how long to wait for writers that are no PEs */
    ev_signal signals[SY_SIGNALS];

    struct sy_gather gather;
    ev_timer gather_limit;

    struct {
        ev_timer wait; /* a PE that died may be the cause: its end is given time to show */
        bool pending;
        int status;
    } abort;

    struct {
        bool begun;
        int stage;
        double grace;
        ev_timer timer;
    } ending;
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

/* Runs the job; path is the program's file. Returns the exit status. */
int sy_run_job(const struct sy_flags *flags, struct sy_child_plan *plan);

/* To be called when the last PE has gone. */
void sy_run_all_gone(struct sy_run *run);

/* Ends the loop if nothing is left to do. */
void sy_run_check_done(struct sy_run *run);

/* Reports failed execs that have been heard of. */
void sy_run_read_failures(struct sy_run *run);

/* talk.c */
void sy_talk_open(struct sy_pe *pe, int fd);
void sy_talk_init(struct sy_run *run);

/* reap.c: takes note of ended children. */
void sy_reap(struct sy_run *run);

/* ending.c. The first reason counts: status is ignored when an end has begun. */
void sy_ending_init(struct sy_run *run);
/* PEs are asked to leave, then told (SIGTERM), then killed. grace: seconds from SIGTERM to SIGKILL
 * where --grace does not say. */
void sy_ending_begin(struct sy_run *run, int status, double grace);
/* The same, because of a signal to oshrun: the PEs get that signal at once. */
void sy_ending_signal(struct sy_run *run, int number);
void sy_ending_kill(struct sy_run *run);
void sy_ending_forward(struct sy_run *run, int number);
/* "; stopping the other 3 PEs", for the end of a message: `others` says whether the one that caused
 * it is among the living. The text is valid until the next call. */
const char *sy_ending_rest(const struct sy_run *run, bool others);

#define SY_GRACE_FAILED 0.6 /* seconds: with the 0.2 before it, all is over within one second */
#define SY_GRACE_ASKED  2.0

/* signals.c */
void sy_signals_start(struct sy_run *run);

#endif

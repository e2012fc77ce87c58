/* The crew: the PEs of a job on one host. It starts them, reaps them, signals them, carries their
 * frames, output and input, and sees to it that nothing of them is left; what any of it means for
 * the job is decided by the head, which is oshrun where the user started it.
 *
 * Head and crew speak in frames (protocol.h), whether the head is in the same process (sy_crew_take
 * and the crew's `tell`) or at the other end of an agent's stdin and stdout (agent.c). Frames of
 * the types of protocol.h pass through: from the PE named in the header, or to it. */
#ifndef SY_LAUNCHER_CREW_H
#define SY_LAUNCHER_CREW_H

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bootstrap/launcher/child.h"
#include "bootstrap/launcher/guard.h"
#include "bootstrap/launcher/inlet.h"
#include "bootstrap/launcher/link.h"
#include "bootstrap/launcher/outlet.h"
#include "bootstrap/launcher/spec.h"

enum {
    SY_ALL = -1 /* in place of a PE: all of the host */
};

enum sy_crew_type {
    /* from the head */
    SY_CREW_START = 64, /* body: a spec. Only to an agent */
    SY_CREW_SIGNAL,     /* arg: number */
    SY_CREW_CREDIT,     /* so many bytes (arg) of output stream `more` (1 or 2) may come again */
    SY_CREW_INPUT,      /* body: what comes on the PE's stdin; empty: its end */
    SY_CREW_TRACE,      /* wants the stack traces of all PEs */
    SY_CREW_FINISH,     /* all PEs of the job are gone. arg = 1: stop what they left at once */
    SY_CREW_PING,
    SY_CREW_PAUSE, /* the head is going to be stopped: do not wonder about its silence */
    SY_CREW_PROBE, /* body: a question of the pre-flight check (probe.h). Only to an agent */
    /* from the crew */
    SY_CREW_STARTED,  /* arg: process id */
    SY_CREW_UP,       /* all PEs have been started, or trouble was told of */
    SY_CREW_TROUBLE,  /* arg: exit status; body: why the PEs cannot be started */
    SY_CREW_SAY,      /* body: a line for people */
    SY_CREW_OUTPUT,   /* more: 1 or 2; body: what the PE wrote; empty: no more will come */
    SY_CREW_TAKEN,    /* what came by INPUT is in the pipe. arg = 1: the PE wants no more */
    SY_CREW_FAULT,    /* body: what is wrong with what the PE sent */
    SY_CREW_ENDED,    /* arg: the status as of waitpid */
    SY_CREW_JUDGE,    /* those that ended together have been told of */
    SY_CREW_TRACED,   /* body: a stack trace */
    SY_CREW_FINISHED, /* nothing is left; no more frames */
    SY_CREW_PONG,
    SY_CREW_ANSWER, /* body: the answer to a PROBE */
    SY_CREW_END
};

enum {
    SY_CREW_WINDOW = 65536 /* bytes of each output that the head has room for */
};

struct sy_crew;

/* A PE as its host sees it. */
struct sy_member {
    struct sy_crew *crew;
    int pe;
    pid_t pid;
    bool alive;
    bool just_ended; /* with wait_status, and the head does not know yet */
    int wait_status;
    struct sy_link link;
    struct sy_outlet out, err;
    struct sy_inlet in;
};

struct sy_crew {
    struct ev_loop *loop;
    const struct sy_spec *spec;
    int count, started, living;
    int outlets; /* that are open */
    struct sy_member *member;
    int *member_of; /* by PE; -1: not here */
    struct sy_child_plan plan;
    struct sy_guard guard;
    ev_timer drain; /* how long to wait for writers that are no PEs */
    bool finishing, finished;

    /* A frame for the head; it is called in the middle of things, and may call sy_crew_take. */
    void (*tell)(struct sy_crew *crew, const struct sy_launch_header *header, const void *body);
    void *owner;
};

/* Starts all PEs of the spec, which must stay. tell, owner, and of the plan boot_fd and nofile are
 * set by the caller. What goes wrong is told by a TROUBLE. */
void sy_crew_start(struct sy_crew *crew, struct ev_loop *loop, const struct sy_spec *spec);

/* A frame from the head. */
void sy_crew_take(struct sy_crew *crew, const struct sy_launch_header *header, const char *body);

/* To be called upon SIGCHLD. `stranger` (may be NULL) gets the children that are no PEs. */
void sy_crew_reap(struct sy_crew *crew, void (*stranger)(void *arg, pid_t pid, int wait_status),
                  void *arg);

/* All PEs get this signal. */
void sy_crew_signal(struct sy_crew *crew, int number);

/* Tells the head something: header fields and body. */
void sy_crew_tell(struct sy_crew *crew, unsigned type, int pe, int64_t arg, const void *body,
                  size_t length);

/* Ends what is left and frees. */
void sy_crew_close(struct sy_crew *crew);

/* What is wrong with the beginning of a frame from a crew, or for one; NULL: nothing. */
const char *sy_crew_fault(const struct sy_launch_header *header);

#endif

/* What a frame may look like: one table with, for each type, who sends it, at which time of a
 * conversation, whom it is about, and how large its body and its numbers may be. A reader asks here
 * with the header alone, before it allocates a body. What a frame means, and whether it fits what
 * was said before, is not known here. */
#ifndef SY_CONTROL_FRAMES_H
#define SY_CONTROL_FRAMES_H

#include "bootstrap/control/protocol.h"
#include "util/frame.h"

enum {
    SY_ALL = -1 /* in place of a PE: all of the host */
};

/* Frames between oshrun and an agent (agent.h), or a daemon in the same process (daemon.h); those
 * of protocol.h pass through, from the PE named in the header or to it. */
enum sy_daemon_type {
    /* from the head */
    SY_DAEMON_START = 64, /* body: a spec. Only to an agent */
    SY_DAEMON_SIGNAL,     /* arg: number */
    SY_DAEMON_CREDIT,     /* so many bytes (arg) of output stream `more` (1 or 2) may come again */
    SY_DAEMON_INPUT,      /* body: what comes on the PE's stdin; empty: its end */
    SY_DAEMON_TRACE,      /* wants the stack trace of a PE */
    SY_DAEMON_FINISH,     /* all PEs of the job are gone. arg = 1: stop what they left at once */
    SY_DAEMON_PING,
    SY_DAEMON_PAUSE, /* the head is going to be stopped: do not wonder about its silence */
    /* from the daemon */
    SY_DAEMON_STARTED,  /* arg: process id */
    SY_DAEMON_UP,       /* all PEs have been started, or trouble was reported */
    SY_DAEMON_TROUBLE,  /* arg: exit status; body: why the PEs cannot be started */
    SY_DAEMON_SAY,      /* body: a message to the user; arg: enum sy_daemon_line */
    SY_DAEMON_OUTPUT,   /* more: 1 or 2; body: what the PE wrote; empty: no more will come */
    SY_DAEMON_TAKEN,    /* what came by INPUT is in the pipe. arg = 1: the PE wants no more */
    SY_DAEMON_FAULT,    /* body: what is wrong with what the PE sent; arg 1: if it is initialized */
    SY_DAEMON_ENDED,    /* arg: the status as of waitpid, 16 bits, and SY_DAEMON_SHORT */
    SY_DAEMON_JUDGE,    /* all that ended together have been reported */
    SY_DAEMON_TRACED,   /* body: a stack trace */
    SY_DAEMON_FINISHED, /* nothing is left; no more frames */
    SY_DAEMON_PONG
};

/* With the status of a PE that was killed: the kernel has ended processes of the machine for lack
 * of memory since the job began. */
#define SY_DAEMON_SHORT 0x10000

enum sy_daemon_line {
    SY_SAY_OF_BINDING, /* which processors a PE has */
    SY_SAY_OF_SHARING, /* that PEs share what they are bound to */
    SY_SAY_LINES
};

enum {
    SY_DAEMON_WINDOW = 65536,         /* bytes of each output that the head has room for */
    SY_DAEMON_TRACE_MAX = 256 * 1024, /* of one stack trace */
    SY_DAEMON_SPEC_MAX = 64 * 1024 * 1024
};

/* Which end reads. */
enum sy_frame_reader {
    SY_FRAME_AT_PE = 1,      /* a PE, from oshrun or its agent */
    SY_FRAME_AT_DAEMON = 2,  /* those, from a PE */
    SY_FRAME_AT_AGENT = 4,   /* an agent, from the head */
    SY_FRAME_AT_HEAD = 8,    /* the head, from an agent */
    SY_FRAME_AT_PARENT = 16, /* a PE of the control tree, from a child, or from one that joins */
    SY_FRAME_AT_CHILD = 32   /* a PE of the control tree, from its parent */
};

/* How far the conversation of head and agent has got, or of two PEs of the control tree; one of
 * oshrun with a PE is always in the last state. */
enum sy_frame_state {
    /* The agent has sent its banner and was not told to start anything; the other PE has proved
     * that it belongs to the job, and has no place. */
    SY_FRAME_NEW = 1,
    /* The agent was told, and has not said that all PEs are started; not all PEs have come. */
    SY_FRAME_STARTING = 2,
    SY_FRAME_RUNNING = 4
};

/* What is wrong with a frame that begins so, in words that are valid until the next call; NULL:
 * nothing. */
const char *sy_frame_fault(const struct sy_frame *header, enum sy_frame_reader reader,
                           enum sy_frame_state state);

#endif

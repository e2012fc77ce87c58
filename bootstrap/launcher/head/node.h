/* A host of the job as the head sees it: a daemon in this process, or an agent at the other end of
 * a command's stdin and stdout. */
#ifndef SY_LAUNCHER_NODE_H
#define SY_LAUNCHER_NODE_H

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

#include "bootstrap/launcher/daemon/daemon.h"
#include "bootstrap/launcher/stdio/pe_output.h"
#include "bootstrap/launcher/silence.h"
#include "bootstrap/launcher/stdio/forward.h"

enum sy_node_state {
    SY_NODE_WAITS,    /* not begun: only some commands run at a time */
    SY_NODE_CALLED,   /* its command runs */
    SY_NODE_STARTING, /* the agent has sent its banner and was told what to start */
    SY_NODE_UP,       /* its PEs have been started, as far as that is possible */
    SY_NODE_FINISHED, /* nothing is left there */
    SY_NODE_LOST
};

struct sy_node {
    struct sy_run *run;
    const char *name;
    struct sy_spec spec;
    enum sy_node_state state;

    bool local;
    struct sy_daemon daemon; /* if local */

    /* Otherwise: */
    char **command;
    pid_t pid;    /* of the command; 0: gone */
    int answer;   /* its stdout, until the banner has come */
    int question; /* its stdin */
    ev_io banner;
    char line[512]; /* what came since the last newline */
    size_t line_length;
    size_t said; /* bytes before the banner */
    struct sy_link link;
    struct sy_pe_output errors; /* its stderr */
    struct sy_forward error_lines;
    size_t error_bytes;
    struct sy_silence silence;
    size_t heard;      /* of the link's bytes, at the last look */
    double progressed; /* when it last told of a PE that has started, or said HELLO */
    size_t output;     /* bytes that its PEs have written */
    struct {           /* since all PEs are gone, save the time in which output waits here */
        size_t output; /* as above, at the last look */
        double quiet;  /* seconds since some came */
        double spent;  /* seconds in all */
    } finish;
};

/* Upcalls, set before nodes are started: the run decides what follows from a host's messages. */
struct sy_node_events {
    /* A frame from the host, whether its daemon runs in this process or not. */
    void (*take)(struct sy_node *node, const struct sy_frame *header, const char *body);
    /* The node's state is LOST, and no more frames come from it. why: the message, or NULL where
     * the job's end has begun and the host was not reached yet. */
    void (*lost)(struct sy_node *node, const char *why);
    /* The node's command has ended: the run may be over. */
    void (*quiet)(struct sy_run *run);
};

/* Starts all nodes, and gives up after a time those that do not answer. The specs are filled;
 * run->nodes of them. */
void sy_nodes_start(struct sy_run *run);

/* A frame for a PE of the node or for the node; what its fields mean is in frames.h. */
void sy_node_send(struct sy_node *node, const struct sy_frame *header, const void *body);

/* The node has sent a frame that contradicts earlier ones, and is given up. */
void sy_node_wrong(struct sy_node *node, const char *what);

/* The node makes progress: a PE has been started. */
void sy_node_progress(struct sy_node *node);

/* To all nodes that run. */
void sy_nodes_send(struct sy_run *run, unsigned type, int arg);

/* To be called upon SIGCHLD. */
void sy_nodes_reap(struct sy_run *run);

/* An end has begun: gives up nodes whose agent has not answered. */
void sy_nodes_end(struct sy_run *run);

/* Before oshrun stops itself, and after it has been continued. */
void sy_nodes_pause(struct sy_run *run);
void sy_nodes_resume(struct sy_run *run);

/* "hosts a, b and 3 more": those that are wanted (allocated); NULL: none is. */
char *sy_nodes_text(const struct sy_run *run, bool (*wanted)(const struct sy_node *node));

/* Whether all PEs that can be started have been. */
bool sy_nodes_are_up(const struct sy_run *run);

/* Whether nothing is left on any host. */
bool sy_nodes_are_done(const struct sy_run *run);

void sy_nodes_close(struct sy_run *run);

/* A time limit is over. True, the first time: oshrun may not have run itself, so it goes on for a
 * moment and takes what has come; then the timer expires again, behind all that there is. */
static inline bool sy_node_looks_again(struct ev_loop *loop, ev_timer *limit)
{
    bool first = ev_priority(limit) == 0;

    ev_set_priority(limit, first ? EV_MINPRI : 0);
    if (!first)
        return false;
    ev_timer_set(limit, 0.1, 0.);
    ev_timer_start(loop, limit);
    return true;
}

#endif

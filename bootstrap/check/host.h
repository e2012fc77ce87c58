/* A host that is checked: an agent there, started like one of oshrun, answers questions (probe.h).
 * They are asked one after the other, since a person reads the answers. */
#ifndef CHECK_HOST_H
#define CHECK_HOST_H

#include <stdbool.h>

#include "bootstrap/launcher/head/call.h"
#include "bootstrap/launcher/options/flags.h"

struct host {
    const char *name;
    struct sy_call_ends ends;
    bool reached;
    bool broken;    /* it has left a question without an answer that makes sense */
    double seconds; /* until it answered */
    double clock;   /* how far its clock is ahead of ours */
    char *facts;
    char fault[400]; /* why it is not reached */
};

/* Starts the agent, and asks for facts and the clock. slurm: the hosts are those of a Slurm job. */
void sy_host_reach(struct host *host, const struct sy_flags *flags, bool slurm);

/* The answer (allocated), or NULL; then the conversation is over, because a late answer would
 * be taken for that to the next question. */
char *sy_host_ask(struct host *host, const char *question);

/* All values of a fact, with a blank between (allocated). */
char *sy_host_fact(const struct host *host, const char *name);

/* Ends the agent. */
void sy_host_leave(struct host *host);

#endif

/* The job as this PE sees it, from the first shmem_init to the end of the process. */
#ifndef SY_CORE_WORLD_H
#define SY_CORE_WORLD_H

#include <stdbool.h>
#include <sys/types.h>
#include <switchyard/bootstrap.h>
#include <switchyard/host.h>

#include "util/bits.h"

struct sy_world {
    int pe, npes;
    int node, nodes;      /* index of this PE's node, number of nodes */
    int local;            /* index of this PE on its node */
    int node_size;        /* PEs on this node */
    int *node_pe;         /* node_size PE numbers, ascending */
    bool nodes_crowd;     /* on some host those with mapped memory outnumber its processors; all PEs
                             know the same */
    int crowd_processors; /* where they do, and are all on one host: its processors; else 0 */
    char host[72];        /* this machine's name */
    struct sy_job job;
    int depth;               /* shmem_init calls not yet matched by shmem_finalize */
    int thread_level;        /* SHMEM_THREAD_ of the current initialisation */
    bool anyone_multiple;    /* some PE has SHMEM_THREAD_MULTIPLE; all PEs know the same */
    _Atomic bool finalizing; /* in the last shmem_finalize, or the exit handler */
    _Atomic bool streaming;  /* and there it waits for streams to have done their work */
    bool exiting;            /* in the exit handler, which finalises where the program has not */
    bool ending;             /* the process leaves: no finalisation any more */
    pid_t process;           /* that called shmem_init; a forked child is no PE */
};

extern struct sy_world sy_world SY_HIDDEN;

/* Steps of shmem_init and shmem_finalize below their collective parts: after sy_world_open this PE
 * reaches all others; before sy_world_close all traffic has been completed and all PEs have agreed
 * to leave. Errors of open end the job (fatal.h). */
void sy_world_open(int thread_level);
void sy_world_close(void);

/* What the core offers to plugins that are opened later than the start. */
const struct sy_host *sy_world_host(void);

/* A second thread, besides the progress thread, is about to make data calls. Below
 * SHMEM_THREAD_MULTIPLE it is called while no thread of the program is in one but the caller. NULL;
 * or the name of a transport that cannot be told so, when nothing has changed. */
const char *sy_world_threads(void);

/* Ends the job where the library is not started, naming the routine that the program is in, or
 * `routine` where the stack does not show it. */
void sy_world_missing(const char *routine) __attribute__((cold, noreturn));

static inline void sy_world_need(const char *routine)
{
    if (SY_UNLIKELY(!sy_world.depth))
        sy_world_missing(routine);
}

/* The place of PE pe: struct sy_host's member. */
struct sy_place sy_world_place(int pe);

/* A number below sy_world_domains() that is equal for PEs that have each other's memory mapped: all
 * of a node, or none of it. All PEs of the job know the same. */
int sy_world_domain(int pe);
int sy_world_domains(void);

#endif

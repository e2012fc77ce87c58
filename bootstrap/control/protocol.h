/* What a PE and the process that started it say to each other, in frames (util/frame.h): oshrun, on
 * a UNIX stream socket that the PE inherits and whose number is in SHMEM_BOOT_FD; oshrun's agents,
 * through which the same frames pass (daemon.h); or, where a launcher does no more than start
 * processes, the PE's parent in the control tree (tree.h). Both ends have the same byte order:
 * those of a socket are on one machine, and others are turned away when a conversation begins.
 *
 * A PE of oshrun speaks first: HELLO, which is answered by WELCOME. PEs of the control tree JOIN.
 * Then, any number of times: GATHER from every PE, answered by GATHERED to every PE once all have
 * come; MARK at each change of state; ABORT ends the job. EXIT and ASK come unasked. A program that
 * follows another in the same slot (sh -c "./a; ./b") says HELLO again. */
#ifndef SY_CONTROL_PROTOCOL_H
#define SY_CONTROL_PROTOCOL_H

#include <limits.h>
#include <stdint.h>

#define SY_LAUNCH_VERSION 7
#define SY_LAUNCH_FD_ENV  "SHMEM_BOOT_FD"

/* Names the plugin that speaks this, so that a PE need not try all there are. */
#define SY_LAUNCH_PLUGIN_ENV "SHMEM_BOOT_PLUGIN"
#define SY_LAUNCH_PLUGIN     "oshrun"

enum sy_control_type {
    SY_CONTROL_HELLO = 1, /* PE: arg = SY_LAUNCH_VERSION; body: empty */
    SY_CONTROL_WELCOME,   /* oshrun: arg = SY_LAUNCH_VERSION; body: struct sy_launch_welcome */
    SY_CONTROL_GATHER,    /* PE: arg = time limit in milliseconds; body: phase name, NUL, blob */
    SY_CONTROL_GATHERED,  /* to PEs: body: npes blobs, in order of PEs */
    SY_CONTROL_MARK,  /* PE, in the tree to all its neighbours: arg = enum sy_mark; body: empty */
    SY_CONTROL_ABORT, /* PE, in the tree to all its neighbours: arg = exit status; body: the reason,
                         or empty for shmem_global_exit */
    SY_CONTROL_EXIT,  /* oshrun: arg = exit status: flush and leave now */
    SY_CONTROL_ASK,   /* to PEs: what is this PE doing? body: empty */
    SY_CONTROL_NOTE,  /* PE: what it is doing, in words; arg: milliseconds that it has been waiting,
                         if it was not asked, else -1 */
    SY_CONTROL_BLOCKED, /* PE: it is blocked; more = SY_BLOCKED_ flags; body: which wait it is, or 0
                        where it is not, as uint64_t. Before a NOTE that was asked for, and
                        unasked */
    SY_CONTROL_LAST,

    /* How PEs of the control tree find their places. Bodies are in tree/state.h. */
    SY_CONTROL_JOIN = 32, /* to PE 0, first on a connection: I am PE `pe` */
    SY_CONTROL_ATTACH,    /* to the PE that a REDIRECT named: the same */
    SY_CONTROL_ACCEPT,    /* you are a child of PE `pe`; body: its host's name */
    SY_CONTROL_REDIRECT,  /* be a child of PE `pe`; body: its addresses */
    SY_CONTROL_REFUSE,    /* go away; body: the reason */
    SY_CONTROL_HERE,      /* up to PE 0: PE `pe` has a place in the tree; body: its host's name */
    SY_CONTROL_ALL,       /* down: all have come; body: the seed of the job's key */
    SY_CONTROL_TYPES
};

enum {
    SY_LAUNCH_TEXT_MAX = 4096, /* of a reason, a complaint, a message to the user */
    SY_LAUNCH_NOTE_MAX = 1024, /* of what a PE says it is doing */
    SY_CONTROL_HOST = 64       /* of a host's name in the control tree, cut and ended */
};

/* A PE's part of a gather with its name, and the answer with all parts. */
#define SY_LAUNCH_BODY_MAX     (1u << 20)
#define SY_LAUNCH_GATHERED_MAX (1u << 30)

/* PEs of a job. */
#define SY_LAUNCH_PES_MAX 65536

/* The number of a NOTE. */
static inline int sy_control_waited(double seconds, int asked)
{
    return asked ? -1 : seconds < INT_MAX / 1000 ? (int)(seconds * 1000) : INT_MAX;
}

struct sy_launch_welcome {
    int32_t pe, npes;
    char id[40];
    unsigned char key[32];
};

#endif

/* The frames that oshrun speaks: with a PE, on a UNIX stream socket that the PE inherits and whose
 * number is in SHMEM_BOOT_FD; and with its agents on other hosts (daemon.h). Both ends have the
 * same byte order: those of a socket are on one machine, and agents of another order are turned
 * away.
 *
 * The PE speaks first: HELLO. oshrun answers WELCOME. Then, any number of times: GATHER from every
 * PE, answered by GATHERED to every PE once all have come; MARK at each change of state; ABORT ends
 * the job. EXIT and ASK come unasked. A program that follows another in the same slot
 * (sh -c "./a; ./b") says HELLO again. */
#ifndef SY_LAUNCHER_PROTOCOL_H
#define SY_LAUNCHER_PROTOCOL_H

#include <stdint.h>

#define SY_LAUNCH_VERSION 3
#define SY_LAUNCH_FD_ENV  "SHMEM_BOOT_FD"

/* Names the plugin that speaks this, so that a PE need not try all there are. */
#define SY_LAUNCH_PLUGIN_ENV "SHMEM_BOOT_PLUGIN"
#define SY_LAUNCH_PLUGIN     "oshrun"

enum sy_launch_type {
    SY_LAUNCH_HELLO = 1, /* PE: arg = SY_LAUNCH_VERSION; body: empty */
    SY_LAUNCH_WELCOME,   /* oshrun: arg = SY_LAUNCH_VERSION; body: struct sy_launch_welcome */
    SY_LAUNCH_GATHER,    /* PE: arg = time limit in milliseconds; body: phase name, NUL, blob */
    SY_LAUNCH_GATHERED,  /* oshrun: body: npes blobs, in order of PEs */
    SY_LAUNCH_MARK,      /* PE: arg = enum sy_mark; body: empty */
    SY_LAUNCH_ABORT, /* PE: arg = exit status; body: the reason, or empty for shmem_global_exit */
    SY_LAUNCH_EXIT,  /* oshrun: arg = exit status: flush and leave now */
    SY_LAUNCH_ASK,   /* oshrun: what is this PE doing? body: empty */
    SY_LAUNCH_NOTE,  /* PE: what it is doing, in words; arg = 1 if it was not asked and has been
                        waiting for long, else 0 */
    SY_LAUNCH_REST, /* PE: it rests; arg = which wait it is, or 0 where it does not; more = SY_REST_
                       flags. Before a NOTE that was asked for, and unasked */
    SY_LAUNCH_LAST
};

struct sy_launch_header {
    uint32_t type;
    uint32_t length; /* bytes of body that follow; frames.h says how many a type may have */
    int32_t pe;      /* between oshrun and its agents: about which PE; PEs leave it alone */
    int32_t more;
    int64_t arg;
};

/* A PE's part of a gather with its name, and the answer with all parts. */
#define SY_LAUNCH_BODY_MAX     (1u << 20)
#define SY_LAUNCH_GATHERED_MAX (1u << 30)

/* PEs of a job. */
#define SY_LAUNCH_PES_MAX 65536

struct sy_launch_welcome {
    int32_t pe, npes;
    char id[40];
    unsigned char key[32];
};

#endif

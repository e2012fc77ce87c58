/* The transports of the job, while routes are chosen: what every PE has packed (sy_routes_pack) and
 * all PEs compute from it alike.
 *
 * route_job.c    gathers them, and connects those that this PE has
 * route_agree.c  has the PEs agree on what has connected, and on who reaches whom
 * route_choose.c chooses for each pair */
#ifndef SY_CORE_ROUTE_JOB_H
#define SY_CORE_ROUTE_JOB_H

#include "core/route/route.h"

/* A transport that some PE of the job has opened. */
struct sy_route_kind {
    int32_t rank;      /* the lowest that a PE has given it */
    int own;           /* index into sy_routes.transport, or -1: this PE does not have it */
    uint8_t key_bytes; /* of the longest key that some PE has for a window */
    bool *mutual;      /* where it does not reach the same PEs from both sides: npes flags of those
                          where it does. Else NULL */
};

struct sy_route_job {
    unsigned count;                      /* of kinds, in the effective order */
    const char *name[SY_TRANSPORTS_MAX]; /* of each */
    struct sy_route_kind kind[SY_TRANSPORTS_MAX];
    uint8_t *has;      /* npes masks of kinds: opened by that PE, and later connected too */
    const char *packs; /* PE p's is at packs + p * stride */
    size_t stride;
};

static inline const char *sy_route_job_pack(const struct sy_route_job *job, int pe)
{
    return job->packs + (size_t)pe * job->stride;
}

/* This PE's instance of kind i, or NULL. */
static inline struct sy_route_transport *sy_route_job_own(const struct sy_route_job *job,
                                                          unsigned i)
{
    return job->kind[i].own < 0 ? NULL : &sy_routes.transport[job->kind[i].own];
}

/* Gathers the kinds from the packs. -EINVAL, -ENOENT: a setting of the user's fits none. */
int sy_route_job_open(struct sy_route_job *job, const char *packs, size_t stride,
                      struct sy_error *err);
void sy_route_job_close(struct sy_route_job *job);

/* The address that PE pe has packed for a kind; false, and zeros: none. */
bool sy_route_job_address(const struct sy_route_job *job, int pe, unsigned i,
                          char address[SY_ADDRESS_MAX]);

/* Connects what this PE has and is not connected yet. What fails is left out, unless it was
 * demanded. */
int sy_route_job_connect(struct sy_route_job *job, double seconds, struct sy_error *err);

/* Warns of transports that are left out, when all PEs know what the others have. */
void sy_route_job_tell_dropped(const struct sy_route_job *job);

/* ---- route_agree.c ---- */

/* What kind i can do from here towards PE pe, where both sides agree: SY_REACH_ bits, or 0. */
unsigned sy_route_agree_reach(const struct sy_route_job *job, unsigned i, int pe);

/* Exchanges what has connected and who is reached. 0, SY_ROUTES_SHORT as in sy_routes_connect, or
 * -errno. */
int sy_route_agree(struct sy_route_job *job, bool beyond, double seconds, struct sy_error *err);

#endif

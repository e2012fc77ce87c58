/* What the PEs agree on before routes are chosen: see route_job.h.
 *
 * A pair of PEs has a transport where both have connected it and each reaches the other. What has
 * connected is exchanged in any case. Who reaches whom would be npes bits of each PE, which mostly
 * agree; so a PE first tells a sum for each transport, and only where the sums do not cancel out
 * all bits are exchanged. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/route/route_check.h"
#include "core/route/route_job.h"
#include "core/start/boot.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/log.h"

/* What a PE tells the others. */
struct verdict {
    uint32_t connected; /* a mask of kinds */
    uint32_t inputs;    /* a sum over what this was computed from, which is to be the same on all */
    uint32_t reach[SY_TRANSPORTS_MAX]; /* for each kind a sum over the PEs that it reaches from
                                          here, each pair having the same number on both sides */
    uint32_t short_of;                 /* PEs that nothing reaches from here */
};

/* ---- what a transport answers ---- */

/* Says once of each transport that an answer of it is of no use. */
static void route_agree_tell_of_reach(struct sy_route_transport *t, const char *why)
{
    if (!t->faulted)
        sy_log(SY_LOG_ERROR, "routes", "transport %s: %s. The PE is taken as not reached",
               t->plugin.name, why);
    t->faulted = true;
}

unsigned sy_route_agree_reach(const struct sy_route_job *job, unsigned i, int pe)
{
    struct sy_route_transport *t = sy_route_job_own(job, i);
    struct sy_error why = {""};

    if (job->kind[i].mutual && !job->kind[i].mutual[pe])
        return 0;
    unsigned bits = sy_route_check_reach(t->plugin.table, pe, t->table->reach(t->self, pe), &why);
    if (*why.text)
        route_agree_tell_of_reach(t, why.text);
    return bits;
}

/* ---- verdicts ---- */

/* A number of the pair, the same from both sides. */
static uint32_t route_agree_pair_hash(int a, int b)
{
    uint64_t pair = a < b ? (uint64_t)a << 32 | (uint32_t)b : (uint64_t)b << 32 | (uint32_t)a;

    pair *= 0x9e3779b97f4a7c15u;
    pair ^= pair >> 29;
    return (uint32_t)(pair * 0xbf58476d1ce4e5b9u >> 32);
}

static uint32_t route_agree_inputs(const struct sy_route_job *job)
{
    uint64_t inputs = 0;

    for (int pe = 0; pe < sy_world.npes; pe++)
        inputs = sy_hash(&job->has[pe], 1, inputs);
    for (unsigned i = 0; i < job->count; i++)
        inputs = sy_hash(job->name[i], strlen(job->name[i]), inputs);
    return (uint32_t)(inputs ^ inputs >> 32);
}

static struct verdict route_agree_own_verdict(const struct sy_route_job *job)
{
    struct verdict v = {.inputs = route_agree_inputs(job)};

    for (unsigned i = 0; i < job->count; i++)
        v.connected |= (uint32_t)(job->kind[i].own >= 0) << i;
    for (int pe = 0; pe < sy_world.npes; pe++) {
        bool reached = pe == sy_world.pe;
        for (unsigned i = 0; i < job->count && pe != sy_world.pe; i++)
            if (v.connected >> i & 1 && job->has[pe] >> i & 1 && sy_route_agree_reach(job, i, pe)) {
                v.reach[i] ^= route_agree_pair_hash(pe, sy_world.pe);
                reached = true;
            }
        v.short_of += !reached;
    }
    return v;
}

/* Takes note of what has connected where. *lacking: some PE has lost a kind on the way, or reaches
 * not all others. *one_sided: a mask of kinds by which some PE reaches another but not the other
 * way round. Both are the same on every PE. */
static int route_agree_take_verdicts(struct sy_route_job *job, const struct verdict *all,
                                     bool *lacking, uint32_t *one_sided, struct sy_error *err)
{
    uint32_t sum[SY_TRANSPORTS_MAX] = {0};

    *lacking = false;
    *one_sided = 0;
    for (int pe = 0; pe < sy_world.npes; pe++) {
        if (all[pe].inputs != all[0].inputs)
            return sy_fail(
                err, EPROTO,
                "PE %d on host %s sees other transports in the job than PE 0: the exchange of "
                "addresses has been damaged",
                pe, sy_world_place(pe).host);
        *lacking = *lacking || all[pe].short_of || job->has[pe] & ~all[pe].connected;
        job->has[pe] &= (uint8_t)all[pe].connected;
        for (unsigned i = 0; i < job->count; i++)
            sum[i] ^= all[pe].reach[i];
    }
    for (unsigned i = 0; i < job->count; i++)
        *one_sided |= (uint32_t)(sum[i] != 0) << i;
    return 0;
}

/* ---- pairs, where they do not agree ---- */

static bool route_agree_bit(const uint8_t *bits, size_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

static void route_agree_tell_pair(const char *name, size_t pe, bool there)
{
    sy_log(SY_LOG_DEBUG, "routes", "transport %s: not used with PE %zu: %s", name, pe,
           there ? "it does not reach this PE" : "this PE does not reach it");
}

/* All PEs tell whom they reach by kind i, and a pair has it where both do: contact may have been
 * made from one side only. */
static int route_agree_on_pairs(struct sy_route_job *job, unsigned i, double seconds,
                                struct sy_error *err)
{
    size_t npes = (size_t)sy_world.npes, bytes = (npes + 7) / 8, me = (size_t)sy_world.pe;
    uint8_t *mine = calloc(1, bytes), *all = calloc(npes, bytes);
    bool *mutual = calloc(npes, sizeof *mutual);
    int rc = mine && all && mutual ? 0 : sy_fail(err, ENOMEM, "no memory for %zu PEs", npes);

    for (size_t pe = 0; pe < npes && job->kind[i].own >= 0 && !rc; pe++)
        mine[pe / 8] |= (uint8_t)((pe != me && sy_route_agree_reach(job, i, (int)pe)) << pe % 8);
    if (!rc)
        rc = sy_boot->allgather(sy_boot_self, "agreement on pairs", mine, all, bytes, seconds, err);
    for (size_t pe = 0; pe < npes && !rc; pe++) {
        bool there = route_agree_bit(mine, pe), back = route_agree_bit(all + pe * bytes, me);
        mutual[pe] = there && back;
        if (there != back)
            route_agree_tell_pair(job->name[i], pe, there);
    }
    free(mine);
    free(all);
    job->kind[i].mutual = mutual;
    return rc;
}

int sy_route_agree(struct sy_route_job *job, bool beyond, double seconds, struct sy_error *err)
{
    struct verdict mine = route_agree_own_verdict(job),
                   *all = calloc((size_t)sy_world.npes, sizeof *all);
    uint32_t one_sided = 0;
    bool lacking = false;

    if (!all)
        return sy_fail(err, ENOMEM, "no memory for %d PEs", sy_world.npes);
    int rc = sy_boot->allgather(sy_boot_self, "agreement on routes", &mine, all, sizeof mine,
                                seconds, err);
    if (!rc)
        rc = route_agree_take_verdicts(job, all, &lacking, &one_sided, err);
    free(all);
    if (!rc && lacking && !beyond)
        return SY_ROUTES_SHORT;
    for (unsigned i = 0; i < job->count && !rc; i++)
        if (one_sided >> i & 1)
            rc = route_agree_on_pairs(job, i, seconds, err);
    return rc;
}

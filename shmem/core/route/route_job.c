/* The transports of the job, gathered and connected: see route_job.h. No transport is named. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/route/route_check.h"
#include "core/route/route_job.h"
#include "core/route/route_rule.h"
#include "core/start/world.h"
#include "core/wait/stall.h"
#include "util/error.h"
#include "util/log.h"
#include "util/plugin.h"

/* ---- gathering ---- */

/* The number of a kind, or -1. */
static int route_job_find(const struct sy_route_job *job, const char *name)
{
    for (unsigned i = 0; i < job->count; i++)
        if (!strcmp(job->name[i], name))
            return (int)i;
    return -1;
}

static bool route_job_is_before(const struct sy_route_entry *entry, const struct sy_route_job *job,
                                unsigned i)
{
    return entry->rank != job->kind[i].rank ? entry->rank < job->kind[i].rank
                                            : strcmp(entry->name, job->name[i]) < 0;
}

/* Takes a transport out of the table, or makes room for one, at place i. */
static void route_job_move(struct sy_route_job *job, unsigned i, int by)
{
    unsigned from = by > 0 ? i : i + 1, to = by > 0 ? i + 1 : i, behind = job->count - from;

    memmove(&job->kind[to], &job->kind[from], behind * sizeof job->kind[0]);
    memmove(&job->name[to], &job->name[from], behind * sizeof job->name[0]);
    job->count += (unsigned)by;
}

/* Notes that a PE has a transport. Its place in the order is by the lowest rank that has been seen:
 * the PEs' settings may differ. */
static int route_job_add(struct sy_route_job *job, const struct sy_route_entry *entry,
                         struct sy_error *err)
{
    struct sy_route_kind kind = {.rank = entry->rank, .own = -1, .key_bytes = entry->key_bytes};
    struct sy_route_entry placed = *entry;
    int known = route_job_find(job, entry->name);
    unsigned at = 0;

    if (known >= 0) {
        const struct sy_route_kind *was = &job->kind[known];
        kind.rank = was->rank < kind.rank ? was->rank : kind.rank;
        kind.key_bytes = was->key_bytes > kind.key_bytes ? was->key_bytes : kind.key_bytes;
        placed.name = job->name[known];
        placed.rank = kind.rank;
        route_job_move(job, (unsigned)known, -1);
    }
    if (job->count == SY_TRANSPORTS_MAX)
        return sy_fail(err, E2BIG, "the PEs of the job have more than %d transports",
                       SY_TRANSPORTS_MAX);
    while (at < job->count && !route_job_is_before(&placed, job, at))
        at++;
    route_job_move(job, at, 1);
    job->kind[at] = kind;
    job->name[at] = placed.name;
    return 0;
}

static int route_job_gather(struct sy_route_job *job, struct sy_error *err)
{
    struct sy_route_entry entry;
    int rc = 0;

    for (int pe = 0; pe < sy_world.npes; pe++)
        for (const char *at = sy_route_job_pack(job, pe); !rc && sy_routes_unpack(&at, &entry);)
            if (strcmp(entry.name, SY_ROUTE_NETS) != 0)
                rc = route_job_add(job, &entry, err);
    return rc;
}

/* Notes which PE has which transport, once all have their places in the table. */
static void route_job_number(struct sy_route_job *job)
{
    struct sy_route_entry entry;

    for (int pe = 0; pe < sy_world.npes; pe++)
        for (const char *at = sy_route_job_pack(job, pe); sy_routes_unpack(&at, &entry);)
            if (strcmp(entry.name, SY_ROUTE_NETS) != 0)
                job->has[pe] |= (uint8_t)(1 << route_job_find(job, entry.name));
    for (unsigned k = 0; k < sy_routes.count; k++) {
        struct sy_route_transport *t = &sy_routes.transport[k];
        int i = route_job_find(job, t->plugin.name);
        if (i < 0)
            continue;
        job->kind[i].own = (int)k;
        t->place = (uint8_t)i;
    }
    sy_routes.kinds = job->count;
}

/* ---- settings that fit none ---- */

static bool route_job_is_installed(const char *name)
{
    size_t count;
    struct sy_plugin *found = sy_plugins_find("transport", &count);
    bool known = false;

    for (size_t k = 0; k < count && !known; k++)
        known = !strcmp(found[k].name, name);
    sy_plugins_free(found, count);
    return known;
}

/* Whether some PE has it, or this one has loaded it or left it out. */
static bool route_job_knows(const struct sy_route_job *job, const char *name)
{
    const struct sy_route_drop *drop;
    bool known = route_job_find(job, name) >= 0;

    for (unsigned k = 0; k < sy_routes.loaded && !known; k++)
        known = !strcmp(sy_routes.transport[k].plugin.name, name);
    for (unsigned k = 0; (drop = sy_routes_dropped(k)) && !known; k++)
        known = !strcmp(drop->name, name);
    return known;
}

static int route_job_check_rules(const struct sy_route_job *job, struct sy_error *err)
{
    const char *name;

    for (unsigned i = 0; (name = sy_route_rules_name(i)); i++)
        if (!route_job_knows(job, name) && !route_job_is_installed(name))
            return sy_route_rules_no_such(name, err);
    return 0;
}

/* A setting that does not fit here is the user's to mend, rather than a reason to go without;
 * unless it fits other PEs of the job, whose machines have what it names. */
static int route_job_check_settings(const struct sy_route_job *job, struct sy_error *err)
{
    const struct sy_route_drop *drop;

    for (unsigned i = 0; (drop = sy_routes_dropped(i)); i++)
        if (drop->code == -EINVAL && route_job_find(job, drop->name) < 0)
            return sy_fail(err, EINVAL, "transport %s: %s", drop->name, drop->why);
    return 0;
}

int sy_route_job_open(struct sy_route_job *job, const char *packs, size_t stride,
                      struct sy_error *err)
{
    *job = (struct sy_route_job){
        .packs = packs, .stride = stride, .has = calloc((size_t)sy_world.npes, 1)};
    if (!job->has)
        return sy_fail(err, ENOMEM, "no memory for routes to %d PEs", sy_world.npes);
    int rc = route_job_gather(job, err);
    if (rc)
        return rc;
    route_job_number(job);
    rc = route_job_check_rules(job, err);
    return rc ? rc : route_job_check_settings(job, err);
}

void sy_route_job_close(struct sy_route_job *job)
{
    free(job->has);
    for (unsigned i = 0; i < job->count; i++)
        free(job->kind[i].mutual);
}

/* ---- connecting ---- */

bool sy_route_job_address(const struct sy_route_job *job, int pe, unsigned i,
                          char address[SY_ADDRESS_MAX])
{
    const char *at = sy_route_job_pack(job, pe);
    struct sy_route_entry entry;
    bool any = false;

    memset(address, 0, SY_ADDRESS_MAX);
    while (sy_routes_unpack(&at, &entry))
        if (!strcmp(entry.name, job->name[i]) && entry.length <= SY_ADDRESS_MAX)
            memcpy(address, entry.address, entry.length);
    for (size_t k = 0; k < SY_ADDRESS_MAX; k++)
        any |= address[k];
    return any;
}

static int route_job_connect_one(const struct sy_route_job *job, unsigned i, double seconds,
                                 struct sy_error *err)
{
    const struct sy_route_transport *t = sy_route_job_own(job, i);
    size_t npes = (size_t)sy_world.npes;
    char *addresses = malloc(npes * SY_ADDRESS_MAX);

    if (!addresses)
        return sy_fail(err, ENOMEM, "no memory for the addresses of %zu PEs", npes);
    for (size_t pe = 0; pe < npes; pe++)
        sy_route_job_address(job, (int)pe, i, addresses + pe * SY_ADDRESS_MAX);
    sy_stall_enter(t->plugin.name, "connect");
    int rc = t->table->connect(t->self, addresses, SY_ADDRESS_MAX, seconds, err);
    sy_stall_leave();
    free(addresses);
    return sy_route_check_step("connect", rc, err);
}

/* Drops transport i of the job. The transports after it move up in sy_routes. */
static void route_job_leave_out(struct sy_route_job *job, unsigned i, int rc, const char *why)
{
    int own = job->kind[i].own;

    sy_log(SY_LOG_DEBUG, "routes", "transport %s: could not connect: %s", job->name[i], why);
    sy_routes_drop((unsigned)own, rc, why);
    for (unsigned k = 0; k < job->count; k++)
        job->kind[k].own -= job->kind[k].own > own;
    job->kind[i].own = -1;
}

/* Connects all transports in the job's order, since a connect may wait for that of other PEs. */
int sy_route_job_connect(struct sy_route_job *job, double seconds, struct sy_error *err)
{
    for (unsigned i = 0; i < job->count; i++) {
        struct sy_route_transport *t = sy_route_job_own(job, i);
        struct sy_error why = {""};
        if (!t || t->connected)
            continue;
        int rc = route_job_connect_one(job, i, seconds, &why);
        t->connected = !rc;
        if (!rc && *why.text)
            snprintf(sy_routes.remark, sizeof sy_routes.remark, "%s: %.120s", job->name[i],
                     why.text);
        if (rc == -ENOMEM || rc == -ECANCELED)
            return sy_fail(err, -rc, "transport %s: %s", job->name[i], why.text);
        if (rc && t->required)
            return sy_fail(err, -rc, "transport %s, which SHMEM_TRANSPORTS demands: %s",
                           job->name[i], why.text);
        if (rc)
            route_job_leave_out(job, i, rc, why.text);
    }
    return 0;
}

/* ---- warnings about transports that are left out ---- */

/* How many PEs of this node lack kind i, if this PE is the first of them; otherwise 0. */
static int route_job_without(const struct sy_route_job *job, unsigned i)
{
    int count = 0;

    for (int k = 0; k < sy_world.node_size; k++) {
        int pe = sy_world.node_pe[k];
        if (job->has[pe] >> i & 1)
            continue;
        if (!count++ && pe != sy_world.pe)
            return 0;
    }
    return count;
}

/* Reports transports that were left out. One line of each host for a transport that others use; one
 * line of the job for a transport that nobody can use although the user has named it, or for
 * another reason than that it does not fit the machine. */
void sy_route_job_tell_dropped(const struct sy_route_job *job)
{
    const struct sy_route_drop *drop;

    for (unsigned k = 0; (drop = sy_routes_dropped(k)); k++) {
        int i = route_job_find(job, drop->name),
            count = i < 0 ? 0 : route_job_without(job, (unsigned)i);
        bool surprise = drop->named || drop->code != -ENODEV;
        if (i < 0 && surprise && !sy_world.pe)
            sy_log(SY_LOG_WARN, "routes", "transport %s is left out: %s", drop->name, drop->why);
        else if (count)
            sy_log(SY_LOG_WARN, "routes",
                   "transport %s is left out on %d PE%s of this host, whose routes go by the next "
                   "one in the order: %s",
                   drop->name, count, count == 1 ? "" : "s", drop->why);
    }
}

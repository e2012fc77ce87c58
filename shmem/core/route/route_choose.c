/* Connects the transports and chooses one for each pair: see route.h. Contains no transport's name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/start/boot.h"
#include "core/fatal.h"
#include "core/guard.h"
#include "core/route/route.h"
#include "core/route/route_rule.h"
#include "core/memory/windows.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/log.h"
#include "util/plugin.h"

/* The transports of the job: all that some PE has opened, in the effective order; the same on every
 * PE. */
static struct {
    unsigned count;
    const char *name[SY_TRANSPORTS_MAX];
    int32_t rank[SY_TRANSPORTS_MAX];
    int own[SY_TRANSPORTS_MAX];           /* index into sy_routes.transport, or -1 */
    uint8_t key_bytes[SY_TRANSPORTS_MAX]; /* of the longest key of a window */
    uint8_t *has;                         /* npes masks of these: opened, then also connected */
    const char *packs;
    size_t stride;
    uint8_t *mutual[SY_TRANSPORTS_MAX]; /* where a transport does not reach the same PEs from both
                                           sides: npes flags of those where it does; else NULL */
} job;

/* What PEs tell each other when they have connected. reach: for each transport a sum over the PEs
 * that it reaches from here, such that the sums of all PEs cancel out where both sides of each pair
 * agree. */
struct verdict {
    uint32_t connected, inputs;
    uint32_t reach[SY_TRANSPORTS_MAX];
};

static const char *pack_of(int pe)
{
    return job.packs + (size_t)pe * job.stride;
}

/* ---- the transports of the job ---- */

static int route_choose_find(const char *name)
{
    for (unsigned i = 0; i < job.count; i++)
        if (!strcmp(job.name[i], name))
            return (int)i;
    return -1;
}

static int route_choose_add(const struct sy_route_entry *entry, struct sy_error *err)
{
    int at = route_choose_find(entry->name);

    if (at < 0) {
        if (job.count == SY_TRANSPORTS_MAX)
            return sy_fail(err, E2BIG, "the PEs of the job have more than %d transports",
                           SY_TRANSPORTS_MAX);
        at = (int)job.count++;
        job.name[at] = entry->name;
        job.rank[at] = entry->rank;
    }
    if (entry->rank < job.rank[at]) /* versions may differ */
        job.rank[at] = entry->rank;
    if (entry->key_bytes > job.key_bytes[at])
        job.key_bytes[at] = entry->key_bytes;
    return 0;
}

static void route_choose_sort_names(void)
{
    for (unsigned i = 1; i < job.count; i++)
        for (unsigned k = i; k > 0; k--) {
            const char *name = job.name[k];
            int32_t rank = job.rank[k];
            uint8_t key_bytes = job.key_bytes[k];
            if (job.rank[k - 1] < rank ||
                (job.rank[k - 1] == rank && strcmp(job.name[k - 1], name) < 0))
                break;
            job.name[k] = job.name[k - 1];
            job.rank[k] = job.rank[k - 1];
            job.key_bytes[k] = job.key_bytes[k - 1];
            job.name[k - 1] = name;
            job.rank[k - 1] = rank;
            job.key_bytes[k - 1] = key_bytes;
        }
}

/* A name in a rule must be that of a transport which some PE has, which this one has loaded or left
 * out, or which at least is installed. */
static int route_choose_check_rules(struct sy_error *err)
{
    const char *name;
    size_t count;
    int rc = 0;

    if (!sy_route_rules_name(0))
        return 0;
    struct sy_plugin *found = sy_plugins_find("transport", &count);
    for (unsigned i = 0; !rc && (name = sy_route_rules_name(i)); i++) {
        const struct sy_route_drop *drop;
        bool known = route_choose_find(name) >= 0;
        for (unsigned k = 0; k < sy_routes.loaded && !known; k++)
            known = !strcmp(sy_routes.transport[k].plugin.name, name);
        for (unsigned k = 0; (drop = sy_routes_dropped(k)) && !known; k++)
            known = !strcmp(drop->name, name);
        for (size_t k = 0; k < count && !known; k++)
            known = !strcmp(found[k].name, name);
        if (!known)
            rc = sy_fail(err, ENOENT, "SHMEM_ROUTES names '%s', but %s such %s", name,
                         strchr(name, '@') ? "SHMEM_TRANSPORTS has no" : "there is no",
                         strchr(name, '@') ? "instance" : "transport");
    }
    sy_plugins_free(found, count);
    return rc;
}

static int route_choose_gather_names(int npes, struct sy_error *err)
{
    struct sy_route_entry entry;
    int rc = 0;

    for (int pass = 0; pass < 2 && !rc; pass++) {
        for (int pe = 0; pe < npes && !rc; pe++) {
            const char *at = pack_of(pe);
            while (!rc && sy_routes_unpack(&at, &entry)) {
                if (!strcmp(entry.name, SY_ROUTE_NETS))
                    continue;
                if (!pass)
                    rc = route_choose_add(&entry, err);
                else
                    job.has[pe] |= (uint8_t)(1 << route_choose_find(entry.name));
            }
        }
        route_choose_sort_names();
    }
    for (unsigned i = 0; i < job.count; i++) {
        job.own[i] = -1;
        for (unsigned k = 0; k < sy_routes.count; k++)
            if (!strcmp(sy_routes.transport[k].plugin.name, job.name[i])) {
                job.own[i] = (int)k;
                sy_routes.transport[k].place = (uint8_t)i;
            }
    }
    sy_routes.kinds = job.count;
    return rc ? rc : route_choose_check_rules(err);
}

/* A setting that does not fit here is the user's to mend, rather than a reason to go without;
 * unless it fits other PEs of the job, whose machines have what it names. */
static int route_choose_check_settings(struct sy_error *err)
{
    const struct sy_route_drop *drop;

    for (unsigned i = 0; (drop = sy_routes_dropped(i)); i++)
        if (drop->code == -EINVAL && route_choose_find(drop->name) < 0)
            return sy_fail(err, EINVAL, "transport %s: %s", drop->name, drop->why);
    return 0;
}

/* ---- connecting ---- */

static void route_choose_find_address(int pe, const char *name, char address[SY_ADDRESS_MAX])
{
    const char *at = pack_of(pe);
    struct sy_route_entry entry;

    while (sy_routes_unpack(&at, &entry))
        if (!strcmp(entry.name, name) && entry.length <= SY_ADDRESS_MAX)
            memcpy(address, entry.address, entry.length);
}

static int route_choose_connect_one(const struct sy_route_transport *t, double seconds,
                                    struct sy_error *err)
{
    size_t npes = (size_t)sy_world.npes;
    char *addresses = calloc(npes, SY_ADDRESS_MAX);

    if (!addresses)
        return sy_fail(err, ENOMEM, "no memory for the addresses of %zu PEs", npes);
    for (size_t pe = 0; pe < npes; pe++)
        route_choose_find_address((int)pe, t->plugin.name, addresses + pe * SY_ADDRESS_MAX);
    int rc = t->table->connect(t->self, addresses, SY_ADDRESS_MAX, seconds, err);
    free(addresses);
    return rc;
}

/* All in the order of the job, since a connect may wait for that of other PEs. One that fails is
 * left out, unless it was demanded. */
static int route_choose_connect_all(double seconds, struct sy_error *err)
{
    for (unsigned i = 0; i < job.count; i++) {
        struct sy_error why = {""};
        if (job.own[i] < 0 || sy_routes.transport[job.own[i]].connected)
            continue;
        struct sy_route_transport *t = &sy_routes.transport[job.own[i]];
        int rc = sy_routes_step("connect", route_choose_connect_one(t, seconds, &why), &why);
        t->connected = !rc;
        if (!rc)
            continue;
        if (rc == -ENOMEM || rc == -ECANCELED)
            return sy_fail(err, -rc, "transport %s: %s", job.name[i], why.text);
        if (t->required)
            return sy_fail(err, -rc, "transport %s, which SHMEM_TRANSPORTS demands: %s",
                           job.name[i], why.text);
        sy_log(SY_LOG_DEBUG, "routes", "transport %s: could not connect: %s", job.name[i],
               why.text);
        sy_routes_drop((unsigned)job.own[i], rc, why.text);
        for (unsigned k = 0; k < job.count; k++)
            if (job.own[k] > job.own[i])
                job.own[k]--;
        job.own[i] = -1;
    }
    return 0;
}

/* ---- agreement ---- */

/* The names of SY_REACH_ bits. */
static const char *route_choose_bits(unsigned bits, char text[32])
{
    static const char *const name[] = {"PUT", "GET", "AMO", "MAP", "LATE", "MESSAGE"};
    size_t used = 0;

    snprintf(text, 32, "nothing");
    for (unsigned i = 0; i < sizeof name / sizeof *name; i++)
        if (bits >> i & 1)
            used += (size_t)snprintf(text + used, 32 - used, "%s%s", used ? "|" : "", name[i]);
    return text;
}

/* Says once of each transport that an answer of it is of no use. */
static void route_choose_tell_of_reach(struct sy_route_transport *t, int pe, unsigned bits)
{
    unsigned able = sy_routes_able(t), without = bits & ~(able | SY_REACH_LATE);
    char answer[32], missing[32], why[80] = "";

    if (without)
        snprintf(why, sizeof why, "has no functions for %s", route_choose_bits(without, missing));
    else
        snprintf(why, sizeof why, "needs all of PUT|GET|AMO where it says neither MAP nor MESSAGE");
    if (!t->faulted)
        sy_log(SY_LOG_ERROR, "routes",
               "transport %s: its reach(%d) answers %s, but it %s. The PE is taken as not reached",
               t->plugin.name, pe, route_choose_bits(bits, answer), why);
    t->faulted = true;
}

static unsigned route_choose_reach(unsigned i, int pe)
{
    const unsigned data = SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO;
    struct sy_route_transport *t = &sy_routes.transport[job.own[i]];
    unsigned bits = job.mutual[i] && !job.mutual[i][pe] ? 0 : t->table->reach(t->self, pe);

    /* A later version of the interface may have more. */
    const unsigned whole = SY_REACH_MAP | SY_REACH_MESSAGE; /* the core can make all of either */
    bits &= data | whole | (bits & SY_REACH_MAP ? SY_REACH_LATE : 0u);
    bool good = !(bits & ~(sy_routes_able(t) | SY_REACH_LATE)) &&
                ((bits & whole) || (bits & data) == data);

    if (bits && !good)
        route_choose_tell_of_reach(t, pe, bits);
    return good ? bits : 0;
}

/* The same for a pair from both sides. */
static uint32_t route_choose_pair_hash(int a, int b)
{
    uint64_t pair = a < b ? (uint64_t)a << 32 | (uint32_t)b : (uint64_t)b << 32 | (uint32_t)a;

    pair *= 0x9e3779b97f4a7c15u;
    pair ^= pair >> 29;
    return (uint32_t)(pair * 0xbf58476d1ce4e5b9u >> 32);
}

static struct verdict route_choose_own_verdict(void)
{
    struct verdict v = {0};
    uint64_t inputs = 0;

    for (int pe = 0; pe < sy_world.npes; pe++)
        inputs = sy_hash(&job.has[pe], 1, inputs);
    for (unsigned i = 0; i < job.count; i++) {
        inputs = sy_hash(job.name[i], strlen(job.name[i]), inputs);
        if (job.own[i] < 0)
            continue;
        v.connected |= 1u << i;
        for (int pe = 0; pe < sy_world.npes; pe++)
            if (pe != sy_world.pe && (job.has[pe] >> i & 1) && route_choose_reach(i, pe))
                v.reach[i] ^= route_choose_pair_hash(pe, sy_world.pe);
    }
    v.inputs = (uint32_t)(inputs ^ inputs >> 32);
    return v;
}

/* What has connected where, and that all PEs have computed from the same data. *failed,
 * *one_sided: transports that have been lost on the way by some PE, and those that some PE reaches
 * another by but not the other way round; the same on every PE. */
static int route_choose_take_verdicts(const struct verdict *all, uint32_t *failed,
                                      uint32_t *one_sided, struct sy_error *err)
{
    uint32_t sum[SY_TRANSPORTS_MAX] = {0};

    *failed = *one_sided = 0;
    for (int pe = 0; pe < sy_world.npes; pe++) {
        if (all[pe].inputs != all[0].inputs)
            return sy_fail(
                err, EPROTO,
                "PE %d on host %s sees other transports in the job than PE 0: the exchange of "
                "addresses has been damaged",
                pe, sy_world_place(pe).host);
        *failed |= job.has[pe] & ~all[pe].connected;
        job.has[pe] &= (uint8_t)all[pe].connected;
        for (unsigned i = 0; i < job.count; i++)
            sum[i] ^= all[pe].reach[i];
    }
    for (unsigned i = 0; i < job.count; i++)
        *one_sided |= (uint32_t)(sum[i] != 0) << i;
    return 0;
}

/* All PEs tell whom they reach by transport i, and a pair has it where both do: contact may have
 * been made from one side only. */
static int route_choose_intersect(unsigned i, double seconds, struct sy_error *err)
{
    size_t npes = (size_t)sy_world.npes, bytes = (npes + 7) / 8, me = (size_t)sy_world.pe;
    uint8_t *mine = calloc(1, bytes), *all = calloc(npes, bytes), *mutual = calloc(npes, 1);
    int rc = -ENOMEM;

    if (mine && all && mutual) {
        for (size_t pe = 0; pe < npes && job.own[i] >= 0; pe++)
            mine[pe / 8] |= (uint8_t)((pe != me && route_choose_reach(i, (int)pe)) << pe % 8);
        rc = sy_boot->allgather(sy_boot_self, "agreement on pairs", mine, all, bytes, seconds, err);
        for (size_t pe = 0; pe < npes; pe++) {
            bool there = mine[pe / 8] >> pe % 8 & 1, back = all[pe * bytes + me / 8] >> me % 8 & 1;
            mutual[pe] = there && back;
            if (there != back)
                sy_log(SY_LOG_DEBUG, "routes", "transport %s: not used with PE %zu: %s",
                       job.name[i], pe,
                       there ? "it does not reach this PE" : "this PE does not reach it");
        }
        job.mutual[i] = mutual;
    } else {
        free(mutual);
        sy_fail(err, ENOMEM, "no memory for %zu PEs", npes);
    }
    free(mine);
    free(all);
    return rc;
}

/* 0, SY_ROUTES_SHORT as in sy_routes_connect, or -errno. */
static int route_choose_agree(bool beyond, double seconds, struct sy_error *err)
{
    struct verdict mine = route_choose_own_verdict(),
                   *all = calloc((size_t)sy_world.npes, sizeof *all);
    uint32_t failed = 0, one_sided = 0;

    if (!all)
        return sy_fail(err, ENOMEM, "no memory for %d PEs", sy_world.npes);
    int rc = sy_boot->allgather(sy_boot_self, "agreement on routes", &mine, all, sizeof mine,
                                seconds, err);
    if (!rc)
        rc = route_choose_take_verdicts(all, &failed, &one_sided, err);
    free(all);
    if (!rc && failed && !beyond)
        return SY_ROUTES_SHORT;
    for (unsigned i = 0; i < job.count && !rc; i++)
        if (one_sided >> i & 1)
            rc = route_choose_intersect(i, seconds, err);
    return rc;
}

/* ---- warnings about transports that are left out ---- */

/* Of the PEs of this node without transport i: how many they are, if this one is the first. */
static int route_choose_without(unsigned i)
{
    int count = 0;

    for (int k = 0; k < sy_world.node_size; k++) {
        int pe = sy_world.node_pe[k];
        if (job.has[pe] >> i & 1)
            continue;
        if (!count++ && pe != sy_world.pe)
            return 0;
    }
    return count;
}

/* One line of each host for a transport that others use; one of the job for what nobody can use
 * although the user has named it, or for another reason than that it is not for this machine. */
static void route_choose_tell_dropped(void)
{
    const struct sy_route_drop *drop;

    for (unsigned i = 0; (drop = sy_routes_dropped(i)); i++) {
        int at = route_choose_find(drop->name),
            count = at < 0 ? 0 : route_choose_without((unsigned)at);
        bool surprise = drop->named || drop->code != -ENODEV;
        if (at < 0 && surprise && !sy_world.pe)
            sy_log(SY_LOG_WARN, "routes", "transport %s is left out: %s", drop->name, drop->why);
        else if (count)
            sy_log(SY_LOG_WARN, "routes",
                   "transport %s is left out on %d PE%s of this host, whose routes go by the next "
                   "one in the order: %s",
                   drop->name, count, count == 1 ? "" : "s", drop->why);
    }
}

/* ---- choice ---- */

static struct sy_route_end route_choose_end_of(int pe)
{
    struct sy_place place = sy_world_place(pe);
    struct sy_route_end end = {.pe = pe, .node = place.node, .host = place.host};
    struct sy_route_entry entry;
    const char *at = pack_of(pe);

    while (sy_route_rules_use_nets() && sy_routes_unpack(&at, &entry))
        if (!strcmp(entry.name, SY_ROUTE_NETS)) {
            end.nets = entry.address;
            end.nets_length = entry.length;
        }
    return end;
}

/* The first in an order that both sides have and that reaches. */
static struct sy_route_cell route_choose_first_of(const uint8_t *order, unsigned count, int pe)
{
    uint8_t both = job.has[sy_world.pe] & job.has[pe];
    struct sy_route_cell cell = {.transport = SY_TRANSPORT_NONE, .why = SY_ROUTE_FIRST};

    for (unsigned i = 0; i < count && cell.transport == SY_TRANSPORT_NONE; i++) {
        if (!(both >> order[i] & 1))
            cell.why = cell.why > SY_ROUTE_COMMON ? cell.why : SY_ROUTE_COMMON;
        else if (!route_choose_reach(order[i], pe))
            cell.why = SY_ROUTE_REACH;
        else
            cell.transport = order[i];
    }
    return cell;
}

/* The route from this PE to another. *rule: the last rule that had a say, or 0. */
static struct sy_route_cell route_choose_choose(const struct sy_route_end *mine, int pe,
                                                unsigned *rule)
{
    uint8_t order[SY_TRANSPORTS_MAX];
    struct sy_route_end other = route_choose_end_of(pe);

    for (unsigned i = 0; i < job.count; i++)
        order[i] = (uint8_t)i;
    struct sy_route_cell plain = route_choose_first_of(order, job.count, pe);
    unsigned count = sy_route_rules_apply(mine, &other, job.name, order, job.count, rule);
    struct sy_route_cell ruled = route_choose_first_of(order, count, pe);
    if (ruled.transport != plain.transport)
        plain = (struct sy_route_cell){.transport = ruled.transport,
                                       .why = (uint8_t)(SY_ROUTE_RULE + *rule - 1)};
    return plain;
}

/* What is known of a transport that does not reach PE pe. */
static const char *route_choose_remark(unsigned i, int pe)
{
    static const char nothing[SY_ADDRESS_MAX];
    char address[SY_ADDRESS_MAX] = {0};

    if (job.mutual[i] && !job.mutual[i][pe])
        return " (reached from one side only, or none)";
    route_choose_find_address(pe, job.name[i], address);
    return memcmp(address, nothing, sizeof address) ? "" : " (without an address)";
}

/* Those that a PE has opened; pe: remarks on those of that PE, or -1. */
static const char *route_choose_names_of(uint8_t mask, int pe, char *buffer, size_t room)
{
    size_t used = 0;

    snprintf(buffer, room, "none");
    for (unsigned i = 0; i < job.count && used < room; i++)
        if (mask >> i & 1)
            used += (size_t)snprintf(buffer + used, room - used, "%s%s%s", used ? ", " : "",
                                     job.name[i], pe < 0 ? "" : route_choose_remark(i, pe));
    return buffer;
}

/* No transport reaches PE pe: says what each side has, and what stands in the way. */
static int route_choose_no_route(int pe, unsigned rule, struct sy_error *err)
{
    char ours[80], theirs[110], text[80], by_rule[110] = "", dropped[400] = "";
    const struct sy_route_drop *drop;
    size_t used = 0;

    for (unsigned i = 0; (drop = sy_routes_dropped(i)) && used < sizeof dropped; i++)
        used += (size_t)snprintf(dropped + used, sizeof dropped - used, "%s%s (%s)",
                                 used ? ", " : "", drop->name, drop->why);
    if (rule)
        snprintf(by_rule, sizeof by_rule, "; SHMEM_ROUTES: %s",
                 sy_route_rule_text(rule, text, sizeof text));
    return sy_fail(
        err, EHOSTUNREACH,
        "no transport reaches PE %d on host %s from PE %d on host %s; opened here: %s; there: "
        "%s%s. Name one that spans both in SHMEM_TRANSPORTS; SHMEM_DEBUG=routes says more%s%.110s",
        pe, sy_world_place(pe).host, sy_world.pe, sy_world.host,
        route_choose_names_of(job.has[sy_world.pe], -1, ours, sizeof ours),
        route_choose_names_of(job.has[pe], pe, theirs, sizeof theirs), by_rule,
        *dropped ? "; left out here: " : "", dropped);
}

static int route_choose_all(struct sy_route_cell *cells, struct sy_error *err)
{
    struct sy_route_end mine = route_choose_end_of(sy_world.pe);

    for (int pe = 0; pe < sy_world.npes; pe++) {
        struct sy_route_cell cell = {.transport = SY_TRANSPORT_NONE, .why = SY_ROUTE_FIRST};
        unsigned rule;
        if (pe != sy_world.pe) {
            cell = route_choose_choose(&mine, pe, &rule);
            if (cell.transport == SY_TRANSPORT_NONE)
                return route_choose_no_route(pe, rule, err);
            sy_routes.of[pe] = (uint8_t)job.own[cell.transport];
            sy_route_enter_windows(pe);
            const struct sy_route_cell reached = sy_route_cell_of(SY_WINDOW_HEAP, pe);
            cell.how = reached.how;
            cell.how_data = reached.how_data;
        }
        if (cells)
            cells[pe] = cell;
    }
    return 0;
}

/* Rows of all PEs are gathered only for the table that is printed, and not in jobs whose table
 * would be too large. */
static int route_choose_show_table(const struct sy_route_cell *row, double seconds,
                                   struct sy_error *err)
{
    size_t npes = (size_t)sy_world.npes;
    struct sy_route_cell *all = npes <= SY_ROUTE_TABLE_PES ? calloc(npes, npes * sizeof *all)
                                                           : NULL;
    int rc = 0;

    if (all)
        rc = sy_boot->allgather(sy_boot_self, "table of routes", row, all, npes * sizeof *row,
                                seconds, err);
    if (all && !rc && !sy_world.pe)
        sy_routes_show(all, sy_world.npes, job.name);
    free(all);
    return rc;
}

static int route_choose_connect_and(bool beyond, bool show, double seconds, struct sy_error *err)
{
    struct sy_route_cell *row = show ? calloc((size_t)sy_world.npes, sizeof *row) : NULL;
    int rc = route_choose_gather_names(sy_world.npes, err);

    sy_routes.shown = show;
    if (!rc)
        rc = route_choose_check_settings(err);
    if (!rc) {
        /* Transports wait for other PEs, which may be dead: the guard thread listens for that. */
        sy_guard_listen();
        rc = route_choose_connect_all(seconds, err);
        sy_guard_stop();
    }
    if (!rc)
        rc = route_choose_agree(beyond, seconds, err);
    if (!rc)
        route_choose_tell_dropped();
    if (!rc) /* some windows are mapped by their keys */
        rc = sy_route_connect_windows(&(struct sy_route_keys){job.count, job.own, job.key_bytes},
                                      seconds, err);
    if (!rc)
        rc = route_choose_all(row, err);
    if (!rc && row)
        rc = route_choose_show_table(row, seconds, err);
    free(row);
    return rc;
}

static int route_choose_note_descriptors(struct sy_error *err)
{
    for (unsigned i = 0; i < sy_routes.count; i++) {
        struct sy_route_transport *t = &sy_routes.transport[i];
        t->wait_fd = t->table->wait_fd(t->self);
        if (t->wait_fd >= 0 && fcntl(t->wait_fd, F_GETFD) < 0)
            return sy_fail(err, EPROTO,
                           "transport %s: its wait_fd() answers %d, which is not a descriptor",
                           t->plugin.name, t->wait_fd);
        t->polled = t->carries || t->wait_fd >= 0;
    }
    return 0;
}

int sy_routes_connect(const char *all, size_t stride, bool (*same_layout)(int pe), double seconds,
                      bool beyond, bool show, struct sy_error *err)
{
    size_t npes = (size_t)sy_world.npes;

    memset(&job, 0, sizeof job);
    job.packs = all;
    job.stride = stride;
    job.has = calloc(npes, 1);
    if (!sy_routes.of)
        sy_routes.of = malloc(npes);
    if (!sy_routes.other)
        sy_routes.other = calloc(npes, 1);
    if (!job.has || !sy_routes.of || !sy_routes.other) {
        free(job.has);
        return sy_fail(err, ENOMEM, "no memory for routes to %zu PEs", npes);
    }
    memset(sy_routes.of, SY_TRANSPORT_NONE, npes);
    for (int pe = 0; pe < sy_world.npes; pe++)
        sy_routes.other[pe] = !same_layout(pe);
    for (unsigned w = SY_WINDOW_DATA; w < sy_windows.count; w++)
        sy_windows.entry[w].absent = sy_routes.other;
    int rc = route_choose_connect_and(beyond, show, seconds, err);
    free(job.has);
    for (unsigned i = 0; i < job.count; i++)
        free(job.mutual[i]);
    return rc ? rc : route_choose_note_descriptors(err);
}

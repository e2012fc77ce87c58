#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <config.h>
#include <shmem/constants.h>

#include "core/start/boot.h"
#include "core/start/config.h"
#include "core/start/exchange.h"
#include "core/start/places.h"
#include "core/route/route.h"
#include "core/memory/statics.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/log.h"
#include "util/net/machine.h"
#include "util/option.h"

/* The first gather of every job, whatever its bootstrap. Bootstraps refuse PEs that are at
 * different gathers and name both, so PEs of two releases, whose identities may differ in size and
 * meaning, learn here that they do not fit. */
#define IDENTITIES "exchange of identities, release " PACKAGE_VERSION

#define PACK_MAX     (sizeof sy_world.host + (SY_TRANSPORTS_MAX + 2) * SY_TRANSPORT_RECORD + 1)
#define SETTINGS_MAX 4096

enum {
    IDENTITY_SHOW = 1,    /* it wants to see the table of routes */
    IDENTITY_MULTIPLE = 2 /* it has SHMEM_THREAD_MULTIPLE */
};

/* What each PE sends in the first gather. The second gather has host names and addresses, of as
 * many bytes as the longest. */
struct identity {
    struct sy_location location;
    uint64_t layout;            /* equal on PEs that run the same executable */
    uint32_t pack, pack_beyond; /* bytes for the second gather, without and with transports that
                                   reach beyond the node: the latter at most */
    uint32_t spans_node;        /* a transport that reaches all PEs of the node is open */
    uint32_t flags;             /* IDENTITY_ */
    uint32_t settings;          /* how many must be the same everywhere, */
    uint64_t digest;            /* and a hash of them all */
};

static struct identity *identities; /* by PE; only while starting */

/* ---- this PE's identity ---- */

/* Network namespaces divide a machine into nodes, because the socket that hands over memory stays
 * inside one; so does SHMEM_PES_PER_NODE. host: of the former. */
static uint64_t start_exchange_node_identity(uint64_t host, long pes_per_node)
{
    long virtual_node = pes_per_node > 0 ? sy_world.pe / pes_per_node : 0;

    return pes_per_node > 0 ? sy_hash(&virtual_node, sizeof virtual_node, host) : host;
}

static uint64_t start_exchange_layout_identity(void)
{
    uint64_t identity = sy_statics.identity;

    for (unsigned i = 0; i < sy_statics.ranges; i++)
        identity = sy_hash(&sy_statics.range[i].length, sizeof sy_statics.range[i].length,
                           identity);
    return identity;
}

/* ---- what others say, who may be hostile ---- */

static int start_exchange_is_wrong(int pe, const char *what, struct sy_error *err)
{
    return sy_fail(
        err, EPROTO,
        "what PE %d sends as its %s is not what this library sends; does it run the same "
        "build?",
        pe, what);
}

/* This PE's own may have come back changed. */
static int start_exchange_check_identities(const struct identity *mine, struct sy_error *err)
{
    identities[sy_world.pe] = *mine;
    for (int pe = 0; pe < sy_world.npes; pe++) {
        const struct identity *other = &identities[pe];
        if (other->pack > PACK_MAX || other->pack_beyond > PACK_MAX ||
            other->settings > SETTINGS_MAX)
            return start_exchange_is_wrong(pe, "identity", err);
    }
    return 0;
}

/* Host names and addresses: see start_exchange_packs. */
static int start_exchange_check_packs(char *all, size_t stride, struct sy_error *err)
{
    size_t host = sizeof sy_world.host;

    for (int pe = 0; pe < sy_world.npes; pe++) {
        char *pack = all + (size_t)pe * stride;
        pack[host - 1] = '\0';
        if (!sy_routes_check_pack(pack + host, stride - host))
            return start_exchange_is_wrong(pe, "addresses", err);
    }
    return 0;
}

/* ---- settings that must be the same on all PEs ---- */

/* A setting that must be the same everywhere, by hashes: PEs may have other plugins. */
struct setting {
    uint32_t name, value;
};

/* The setting number `index`; name 0: there are no more. */
static struct setting start_exchange_setting(const struct sy_options *options, uint32_t index)
{
    struct setting s = {0};
    const char *name;

    if (sy_options_job(options, index, &name, &s.value)) {
        uint64_t hash = sy_hash(name, strlen(name), 0);
        s.name = (uint32_t)(hash ^ hash >> 32) | 1;
    }
    return s;
}

/* The digest is a sum, so it does not depend on the order in which plugins were loaded. */
static void start_exchange_digest(const struct sy_options *options, struct identity *mine)
{
    struct setting s;

    for (; (s = start_exchange_setting(options, mine->settings)).name; mine->settings++)
        mine->digest += sy_hash(&s, sizeof s, 0);
}

/* Compares this PE's settings with PE 0's, as far as both have them; the PE that differs reports
 * it. */
static int start_exchange_compare(const struct sy_options *options, const struct setting *mine,
                                  const struct setting *first, uint32_t count, struct sy_error *err)
{
    const char *name;
    uint32_t hash;

    for (uint32_t i = 0; i < count && mine[i].name; i++) {
        char env[128];
        uint32_t k = 0;
        while (k < count && first[k].name != mine[i].name)
            k++;
        if (k == count || mine[i].value == first[k].value ||
            !sy_options_job(options, i, &name, &hash))
            continue;
        return sy_fail(
            err, EINVAL,
            "%s on PE %d (host %s) is not what it is on PE 0; give all PEs the same value, "
            "e.g. with oshrun -x %s=...",
            sy_option_env_name(name, env, sizeof env), sy_world.pe, sy_world.host, env);
    }
    return 0;
}

/* Only where some digest differs from PE 0's, which all PEs see alike, are the settings gathered:
 * as many as the PE has that has most. */
static int start_exchange_check_settings(const struct sy_options *options, double seconds,
                                         struct sy_error *err)
{
    uint32_t most = 0;
    bool alike = true;

    for (int pe = 0; pe < sy_world.npes; pe++) {
        alike = alike && identities[pe].digest == identities[0].digest;
        most = identities[pe].settings > most ? identities[pe].settings : most;
    }
    if (alike)
        return 0;
    struct setting *mine = calloc(most, sizeof *mine),
                   *all = calloc((size_t)sy_world.npes * most, sizeof *all);
    int rc = mine && all ? 0 : sy_fail(err, ENOMEM, "no memory for %d PEs", sy_world.npes);
    for (uint32_t i = 0; i < most && !rc; i++)
        mine[i] = start_exchange_setting(options, i);
    if (!rc)
        rc = sy_boot->allgather(sy_boot_self, "comparison of settings", mine, all,
                                most * sizeof *mine, seconds, err);
    if (!rc)
        rc = start_exchange_compare(options, mine, all, most, err);
    free(mine);
    free(all);
    return rc;
}

static bool start_exchange_same_layout(int pe)
{
    return identities[pe].layout == identities[sy_world.pe].layout;
}

/* ---- the exchange ---- */

static const struct sy_location *start_exchange_location(int pe)
{
    return &identities[pe].location;
}

static int start_exchange_share(int pes, int processors)
{
    return (pes + processors - 1) / processors;
}

/* PEs for each processor that this PE may use, rounded up: by the set, or by the quota where that
 * is what is short. */
static int start_exchange_load(void)
{
    const struct sy_processors *mine = &identities[sy_world.pe].location.processors;
    int of_set = 0, of_quota = 0;

    for (int pe = 0; pe < sy_world.npes; pe++) {
        of_set += identities[pe].location.processors.set == mine->set;
        of_quota += mine->quota && identities[pe].location.processors.quota == mine->quota;
    }
    int by_set = start_exchange_share(of_set, mine->in_set);
    int by_quota = mine->quota ? start_exchange_share(of_quota, mine->in_quota) : 0;
    bool quota = by_quota > 1 && by_quota >= by_set;
    int load = quota ? by_quota : by_set;
    sy_log(SY_LOG_DEBUG, "boot", "processors: %d%s; PEs that may use them: %d; waiting PEs %s",
           quota ? mine->in_quota : mine->in_set, quota ? " by quota" : "",
           quota ? of_quota : of_set,
           load > 1 ? "give way early" : "look for long before they give way");
    return load;
}

/* Whether waiting threads sleep soon: with more PEs than processors, and where SHMEM_WAIT says so.
 * The log line of the load is about processors alone. */
static bool start_exchange_crowded(int load)
{
    if (sy_config.wait == SY_WAIT_AUTO || sy_config.wait == SY_WAIT_YIELD)
        return load > 1;
    return sy_config.wait == SY_WAIT_SLEEP;
}

static bool start_exchange_anyone(uint32_t flag)
{
    for (int pe = 0; pe < sy_world.npes; pe++)
        if (identities[pe].flags & flag)
            return true;
    return false;
}

/* The second gather: host name and addresses, `stride` bytes a PE. The result is that of
 * sy_routes_connect. */
static int start_exchange_packs(const char *pack, size_t stride, bool beyond, double seconds,
                                struct sy_error *err)
{
    char *all = calloc((size_t)sy_world.npes, stride), *mine = calloc(1, stride);
    int rc = -ENOMEM;

    if (all && mine) {
        memcpy(mine, pack, identities[sy_world.pe].pack);
        rc = sy_boot->allgather(sy_boot_self, "exchange of addresses", mine, all, stride, seconds,
                                err);
        if (!rc)
            rc = start_exchange_check_packs(all, stride, err);
        if (!rc)
            rc = sy_places_make(start_exchange_location, all, stride, err);
        /* A pack is the host name, of sizeof sy_world.host bytes on every PE, then what
         * sy_routes_pack wrote: one pointer finds all addresses. */
        if (!rc)
            rc = sy_routes_connect(all + sizeof sy_world.host, stride, start_exchange_same_layout,
                                   seconds, beyond, start_exchange_anyone(IDENTITY_SHOW), err);
        if (!rc)
            rc = sy_places_map(seconds, err);
        if (!rc)
            rc = sy_places_find_crowd(start_exchange_location, err);
    } else {
        sy_fail(err, ENOMEM, "no memory for %d PEs' addresses", sy_world.npes);
    }
    free(all);
    free(mine);
    return rc;
}

/* Whether the transports that are open reach all: the same answer on every PE. */
static bool start_exchange_near_enough(void)
{
    for (int pe = 0; pe < sy_world.npes; pe++)
        if (identities[pe].location.node != identities[0].location.node ||
            !identities[pe].spans_node)
            return false;
    return true;
}

static size_t start_exchange_make_pack(char *pack, size_t room)
{
    size_t name = sizeof sy_world.host;

    memcpy(pack, sy_world.host, name);
    return name + sy_routes_pack(pack + name, room - name);
}

/* Exchanges addresses and routes with the transports that are open or, with `beyond`, with all. */
static int start_exchange_once(const struct sy_host *host, char *pack, bool beyond, double seconds,
                               struct sy_error *err)
{
    int rc = beyond ? sy_routes_open(host, true, err) : 0;
    size_t stride = 0;

    if (rc)
        return rc;
    if (beyond)
        identities[sy_world.pe].pack = (uint32_t)start_exchange_make_pack(pack, PACK_MAX);
    for (int pe = 0; pe < sy_world.npes; pe++) {
        size_t length = beyond ? identities[pe].pack_beyond : identities[pe].pack;
        stride = length > stride ? length : stride;
    }
    return start_exchange_packs(pack, stride, beyond, seconds, err);
}

/* Transports that reach other nodes are opened only where there are other nodes, or where the
 * node's own transport has failed: opening takes time and descriptors. */
static int start_exchange_addresses(const struct sy_host *host, char *pack, double seconds,
                                    struct sy_error *err)
{
    int rc = SY_ROUTES_SHORT;

    if (start_exchange_near_enough())
        rc = start_exchange_once(host, pack, false, seconds, err);
    return rc == SY_ROUTES_SHORT ? start_exchange_once(host, pack, true, seconds, err) : rc;
}

int sy_exchange(struct sy_options *options, struct sy_host *host, double seconds, long pes_per_node,
                struct sy_error *err)
{
    char pack[PACK_MAX] = "";
    uint64_t boot = sy_machine_boot();
    uint64_t machine = boot ? boot : sy_hash(sy_world.host, strlen(sy_world.host), 1);
    uint64_t network = sy_machine_network_of(machine), host_identity = network ? network : machine;
    struct identity mine = {
        .location = {.node = start_exchange_node_identity(host_identity, pes_per_node),
                     .host = host_identity,
                     .processors = sy_processors_find(machine)},
        .layout = start_exchange_layout_identity()};

    mine.pack = (uint32_t)start_exchange_make_pack(pack, sizeof pack);
    mine.pack_beyond = (uint32_t)(sizeof sy_world.host + sy_routes_pack_room());
    mine.spans_node = sy_routes_span_node();
    if (sy_world.thread_level == SHMEM_THREAD_MULTIPLE)
        mine.flags |= IDENTITY_MULTIPLE;
    start_exchange_digest(options, &mine);
    if (sy_config.show_routes || sy_log_enabled(SY_LOG_DEBUG, "routes"))
        mine.flags |= IDENTITY_SHOW;
    identities = calloc((size_t)sy_world.npes, sizeof *identities);
    if (!identities)
        return sy_fail(err, ENOMEM, "no memory for %d PEs", sy_world.npes);
    int rc = sy_boot->allgather(sy_boot_self, IDENTITIES, &mine, identities, sizeof mine, seconds,
                                err);
    if (!rc)
        rc = start_exchange_check_identities(&mine, err);
    if (!rc)
        rc = start_exchange_check_settings(options, seconds, err);
    if (!rc) {
        sy_world.anyone_multiple = start_exchange_anyone(IDENTITY_MULTIPLE);
        host->load = start_exchange_load();
        host->crowded = start_exchange_crowded(host->load);
        rc = start_exchange_addresses(host, pack, seconds, err);
    }
    free(identities);
    identities = NULL;
    return rc;
}

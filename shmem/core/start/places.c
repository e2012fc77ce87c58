#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory/windows.h"
#include "core/route/route.h"
#include "core/start/boot.h"
#include "core/start/places.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/error.h"
#include "util/proc.h"

static struct {
    int32_t *node, *local; /* npes each */
    char **host;           /* one for each node */
    bool *mapped;          /* and whether its PEs have each other's memory mapped */
    int nodes;
} places;

/* ---- processors ---- */

/* The quota of processor time, in processors; 0: none. */
static int start_places_quota(void)
{
    char text[SY_PROC_TEXT];
    double allowed, period;

    if (sscanf(sy_proc_read("/sys/fs/cgroup/cpu.max", text), "%lf %lf", &allowed, &period) != 2 ||
        period <= 0 || allowed <= 0)
        return 0;
    return allowed < 2 * period ? 1 : (int)(allowed / period);
}

struct sy_processors sy_processors_find(uint64_t machine)
{
    struct sy_processors found = {.in_quota = start_places_quota()};
    cpu_set_t set;

    CPU_ZERO(&set);
    found.in_set = sched_getaffinity(0, sizeof set, &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
                                                          : CPU_COUNT(&set);
    found.set = sy_hash(&set, sizeof set, machine);
    /* A quota is the container's own, and so is its host name. */
    if (found.in_quota)
        found.quota = sy_hash(sy_world.host, strlen(sy_world.host), machine);
    return found;
}

/* ---- nodes ---- */

struct located {
    uint64_t node;
    int pe;
};

static int start_places_by_node_then_pe(const void *a, const void *b)
{
    const struct located *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->pe - y->pe;
}

static int start_places_by_pe(const void *a, const void *b)
{
    return ((const struct located *)a)->pe - ((const struct located *)b)->pe;
}

/* Numbers the nodes in the order of their lowest PE, and the PEs on each. */
static int start_places_number_nodes(struct located *all, int npes, const char *host, size_t stride)
{
    struct located *first = calloc((size_t)npes, sizeof *first);
    int nodes = 0;

    if (!first)
        return -ENOMEM;
    qsort(all, (size_t)npes, sizeof *all, start_places_by_node_then_pe);
    for (int i = 0; i < npes; i++)
        if (!i || all[i].node != all[i - 1].node)
            first[nodes++] = (struct located){.node = (uint64_t)i, .pe = all[i].pe};
    qsort(first, (size_t)nodes, sizeof *first, start_places_by_pe);
    places.nodes = nodes;
    places.host = calloc((size_t)nodes, sizeof *places.host);
    for (int n = 0; places.host && n < nodes; n++) {
        int from = (int)first[n].node;
        places.host[n] = strdup(host + (size_t)first[n].pe * stride);
        for (int i = from; i < npes && all[i].node == all[from].node; i++) {
            places.node[all[i].pe] = n;
            places.local[all[i].pe] = i - from;
        }
    }
    free(first);
    return places.host ? 0 : -ENOMEM;
}

static int start_places_fill_world(int npes)
{
    sy_world.nodes = places.nodes;
    sy_world.node = places.node[sy_world.pe];
    sy_world.local = places.local[sy_world.pe];
    sy_world.node_size = 0;
    for (int pe = 0; pe < npes; pe++)
        sy_world.node_size += places.node[pe] == sy_world.node;
    sy_world.node_pe = calloc((size_t)sy_world.node_size, sizeof *sy_world.node_pe);
    if (!sy_world.node_pe)
        return -ENOMEM;
    for (int pe = 0; pe < npes; pe++)
        if (places.node[pe] == sy_world.node)
            sy_world.node_pe[places.local[pe]] = pe;
    return 0;
}

int sy_places_make(sy_location_of *of, const char *host, size_t stride, struct sy_error *err)
{
    int npes = sy_world.npes, rc = -ENOMEM;

    if (places.nodes)
        return 0;
    struct located *all = calloc((size_t)npes, sizeof *all);
    places.node = calloc((size_t)npes, sizeof *places.node);
    places.local = calloc((size_t)npes, sizeof *places.local);
    if (all && places.node && places.local) {
        for (int pe = 0; pe < npes; pe++)
            all[pe] = (struct located){.node = of(pe)->node, .pe = pe};
        rc = start_places_number_nodes(all, npes, host, stride);
    }
    free(all);
    if (!rc)
        rc = start_places_fill_world(npes);
    return rc ? sy_fail(err, ENOMEM, "no memory for the places of %d PEs", npes) : 0;
}

struct sy_place sy_world_place(int pe)
{
    int node = places.node[pe];
    const char *host = places.host[node];
    return (struct sy_place){.node = node, .local = places.local[pe], .host = host ? host : "?"};
}

/* ---- PEs whose memory is mapped ---- */

static bool start_places_maps_own_node(void)
{
    for (int i = 0; i < sy_world.node_size; i++)
        if (!sy_windows_has(SY_WINDOW_CONTROL, sy_world.node_pe[i]))
            return false;
    return true;
}

/* A PE knows whether it shares its processors; it must learn that of others unless all pairs are
 * alike. */
int sy_places_map(double seconds, struct sy_error *err)
{
    const bool mine = start_places_maps_own_node(),
               alike = places.nodes == 1 && sy_routes.kinds == 1;
    bool *all = malloc((size_t)sy_world.npes * sizeof *all);
    int rc = 0;

    places.mapped = malloc((size_t)places.nodes * sizeof *places.mapped);
    if (!all || !places.mapped) {
        free(all);
        return sy_fail(err, ENOMEM, "no memory for the places of %d PEs", sy_world.npes);
    }
    for (int n = 0; n < places.nodes; n++)
        places.mapped[n] = !alike || mine;
    if (!alike)
        rc = sy_boot->allgather(sy_boot_self, "exchange of mappings", &mine, all, sizeof mine,
                                seconds, err);
    for (int pe = 0; !alike && !rc && pe < sy_world.npes; pe++)
        if (!all[pe])
            places.mapped[places.node[pe]] = false;
    free(all);
    return rc;
}

int sy_world_domain(int pe)
{
    int node = places.node[pe];
    return places.mapped[node] ? node : places.nodes + pe;
}

int sy_world_domains(void)
{
    return places.nodes + sy_world.npes;
}

/* A set of mapped PEs, and the processors of a host that it may use. */
struct domain_processors {
    uint64_t processors;
    int domain, count;
};

static int start_places_by_processors_then_domain(const void *a, const void *b)
{
    const struct domain_processors *x = a, *y = b;
    if (x->processors != y->processors)
        return x->processors < y->processors ? -1 : 1;
    return x->domain - y->domain;
}

int sy_places_find_crowd(sy_location_of *of, struct sy_error *err)
{
    int npes = sy_world.npes, domains = 0, most = 0;
    struct domain_processors *all;
    bool one_host = true;

    sy_world.nodes_crowd = false;
    sy_world.crowd_processors = 0;
    if (places.nodes == 1 && places.mapped[0])
        return 0;
    all = calloc((size_t)npes, sizeof *all);
    if (!all)
        return sy_fail(err, ENOMEM, "no memory for the places of %d PEs", npes);
    for (int pe = 0; pe < npes; pe++) {
        const struct sy_processors *p = &of(pe)->processors;
        all[pe] = (struct domain_processors){
            .processors = sy_hash(&p->set, sizeof p->set, of(pe)->host),
            .domain = sy_world_domain(pe),
            .count = p->in_quota && p->in_quota < p->in_set ? p->in_quota : p->in_set};
        one_host &= of(pe)->host == of(0)->host;
        most = all[pe].count > most ? all[pe].count : most;
    }
    qsort(all, (size_t)npes, sizeof *all, start_places_by_processors_then_domain);
    for (int i = 0; i < npes; i++) {
        bool anew = !i || all[i].processors != all[i - 1].processors;
        domains = anew ? 1 : domains + (all[i].domain != all[i - 1].domain);
        sy_world.nodes_crowd |= domains > all[i].count;
    }
    if (sy_world.nodes_crowd && one_host)
        sy_world.crowd_processors = most;
    free(all);
    return 0;
}

void sy_places_close(void)
{
    for (int n = 0; n < places.nodes; n++)
        free(places.host[n]);
    free(places.host);
    free(places.mapped);
    free(places.node);
    free(places.local);
    memset(&places, 0, sizeof places);
    free(sy_world.node_pe);
    sy_world.node_pe = NULL;
}

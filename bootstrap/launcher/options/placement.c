/* PEs on hosts: see placement.h. First how many each host gets, then in which order. */
#include "bootstrap/launcher/options/placement.h"

#include <limits.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/control/protocol.h"

/* The most PEs that a host may have. */
static int placement_limit_of(const struct sy_listed *host, const struct sy_placement_wish *wish)
{
    int most = host->most ? host->most : INT_MAX;

    return wish->most && wish->most < most ? wish->most : most;
}

/* How many PEs a host is meant for; 0: not given. */
static int placement_slots_of(const struct sy_listed *host, const struct sy_placement_wish *wish)
{
    int slots = wish->per_host ? wish->per_host : host->slots;
    int most = placement_limit_of(host, wish);

    return slots > most ? most : slots;
}

/* Gives the slots that hosts have, in order or in turns. Returns how many PEs are left. */
static int placement_fill_slots(int *share, const struct sy_hostlist *hosts,
                                const struct sy_placement_wish *wish, int left)
{
    for (bool any = true; left && any;) {
        any = false;
        for (int i = 0; i < hosts->count && left; i++) {
            int take = placement_slots_of(&hosts->host[i], wish) - share[i];

            if (wish->cyclic && take > 1)
                take = 1;
            if (take > left)
                take = left;
            share[i] += take;
            left -= take;
            any = any || take;
        }
    }
    return left;
}

/* Spreads the rest evenly: over all hosts, or those without a number of slots if there are any. */
static int placement_spread(int *share, const struct sy_hostlist *hosts,
                            const struct sy_placement_wish *wish, int left, bool unnumbered)
{
    for (bool any = true; left && any;) {
        any = false;
        for (int i = 0; i < hosts->count && left; i++) {
            const struct sy_listed *host = &hosts->host[i];

            if ((unnumbered && placement_slots_of(host, wish)) ||
                share[i] >= placement_limit_of(host, wish))
                continue;
            share[i]++;
            left--;
            any = true;
        }
    }
    return left;
}

static void placement_order(struct sy_placement *placement, int *share, int hosts, bool cyclic)
{
    int pe = 0;

    while (pe < placement->npes) {
        for (int host = 0; host < hosts; host++) {
            int take = cyclic && share[host] ? 1 : share[host];

            share[host] -= take;
            while (take--)
                placement->host_of[pe++] = host;
        }
    }
}

static char *placement_too_many(int left, const struct sy_hostlist *hosts,
                                const struct sy_placement_wish *wish)
{
    bool hard = true;

    for (int i = 0; i < hosts->count; i++)
        hard = hard && placement_limit_of(&hosts->host[i], wish) <=
                           placement_slots_of(&hosts->host[i], wish);
    return sy_memory_text("%d PEs are wanted and the %d host%s %s slots for %d%s", wish->npes,
                          hosts->count, hosts->count == 1 ? "" : "s",
                          hosts->count == 1 ? "has" : "have", wish->npes - left,
                          hard ? "" : "; add hosts, or --oversubscribe to put more on them");
}

/* Without a number of PEs: all slots, and one PE on a host whose slots are unknown. */
static long placement_default_number(const struct sy_hostlist *hosts,
                                     const struct sy_placement_wish *wish)
{
    long sum = 0;

    for (int i = 0; i < hosts->count; i++) {
        int slots = placement_slots_of(&hosts->host[i], wish);

        sum += slots ? slots : 1;
    }
    return sum;
}

static char *placement_too_large(void)
{
    return sy_memory_text("a job has at most %d PEs, and the slots of the hosts, or the numbers of "
                          "the programs, add up to more; give a smaller number with -n",
                          SY_LAUNCH_PES_MAX);
}

char *sy_placement_make(struct sy_placement *placement, const struct sy_hostlist *hosts,
                        const struct sy_placement_wish *wish)
{
    struct sy_placement_wish all = *wish;
    int *share = sy_memory_zeroed((size_t)hosts->count, sizeof *share);
    char *fault = NULL;

    if (!all.npes && placement_default_number(hosts, wish) <= SY_LAUNCH_PES_MAX)
        all.npes = (int)placement_default_number(hosts, wish);
    if (!all.npes || all.npes > SY_LAUNCH_PES_MAX) {
        free(share);
        return placement_too_large();
    }
    int left = placement_fill_slots(share, hosts, &all, all.npes);
    left = placement_spread(share, hosts, &all, left, true);
    if (left && all.oversubscribe)
        left = placement_spread(share, hosts, &all, left, false);
    if (left) {
        fault = placement_too_many(left, hosts, &all);
    } else {
        placement->npes = all.npes;
        placement->host_of = sy_memory_zeroed((size_t)all.npes, sizeof *placement->host_of);
        placement_order(placement, share, hosts->count, all.cyclic);
    }
    free(share);
    return fault;
}

void sy_placement_free(struct sy_placement *placement)
{
    free(placement->host_of);
    placement->host_of = NULL;
}

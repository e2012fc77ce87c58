/* First contact. A fabric that two hosts have need not lead from one to the other: before routes
 * are chosen, each PE exchanges an empty message with one PE of each node near it in number, and
 * answers those that ask it. Each node's result is that of all its PEs. Pairs that have no contact
 * go by another transport; a PE that has none at all does without this one. Everything here is
 * before data calls, in one thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "transports/ofi/ofi.h"
#include "util/clock.h"
#include "util/net/interfaces.h"

#define NEAR     8 /* nodes before and behind this one */
#define PAUSE_NS 20000L
#define NOBODY   (-1)

/* A node near this one. */
struct node {
    int index;        /* the node's */
    int count;        /* its PEs that have this transport */
    int pe;           /* the one that is asked, or NOBODY */
    bool done, given; /* it has answered; it has been given up */
};

/* The nodes near this one. */
struct ofi_near {
    struct node node[2 * NEAR];
    int count;
};

static struct node *ofi_contact_find(struct ofi_near *near, int index)
{
    for (int i = 0; i < near->count; i++)
        if (near->node[i].index == index)
            return &near->node[i];
    return NULL;
}

/* Lists the nodes up to NEAR away in either direction; the first and the last are neighbours. */
static void ofi_contact_find_near(struct ofi_state *ofi, struct ofi_near *near)
{
    int own = ofi->host->place(ofi->host->pe).node, all = 0;

    for (int pe = 0; pe < ofi->host->npes; pe++) {
        int node = ofi->host->place(pe).node;
        all = node >= all ? node + 1 : all;
    }
    near->count = 0;
    for (int away = 1; away <= NEAR && 2 * away <= all; away++) {
        int back = (own + all - away) % all, on = (own + away) % all;
        near->node[near->count++] = (struct node){.index = on, .pe = NOBODY};
        if (back != on)
            near->node[near->count++] = (struct node){.index = back, .pe = NOBODY};
    }
}

/* The k-th PE of this node asks the k-th of another, counting those that have the transport, and
 * round again where it has fewer. Sets whom this PE asks; asks[pe]: pe asks this one. */
static void ofi_contact_pair_up(struct ofi_state *ofi, struct ofi_near *near, bool *asks)
{
    const struct sy_host *host = ofi->host;
    int own = host->place(host->pe).node, mine = 0, ours = 0;
    struct node *n;

    for (int pe = 0; pe < host->npes; pe++) {
        if (!ofi->peer[pe].known)
            continue;
        if (host->place(pe).node == own) {
            mine = pe == host->pe ? ours : mine;
            ours++;
        } else if ((n = ofi_contact_find(near, host->place(pe).node))) {
            n->count++;
        }
    }
    int seen[2 * NEAR] = {0};
    for (int pe = 0; pe < host->npes; pe++) {
        if (!ofi->peer[pe].known || !(n = ofi_contact_find(near, host->place(pe).node)))
            continue;
        int k = seen[n - near->node]++;
        if (k == mine % n->count)
            n->pe = pe;
        asks[pe] = ours && k % ours == mine;
    }
}

/* Looks at a node; true if there is nothing to wait for any more. */
static bool ofi_contact_settled(struct ofi_state *ofi, struct node *n, const bool *asks)
{
    if (n->pe == NOBODY || n->given)
        return true;
    struct ofi_peer *peer = &ofi->peer[n->pe];
    n->done = peer->acked >= 1;
    n->given = !n->done && peer->refused;
    if (!n->done)
        return n->given;
    for (int pe = 0; pe < ofi->host->npes; pe++)
        if (asks[pe] && ofi->host->place(pe).node == n->index &&
            (!sy_ofi_reached(ofi->peer[pe].told, 1) || ofi->peer[pe].head))
            return false;
    return true;
}

static bool ofi_contact_all_settled(struct ofi_state *ofi, struct ofi_near *near, const bool *asks)
{
    bool all = !ofi->replies.taken; /* nobody polls for a while after this */

    for (int i = 0; i < near->count; i++)
        all = ofi_contact_settled(ofi, &near->node[i], asks) && all;
    return all;
}

static void ofi_contact_converse(struct ofi_state *ofi, struct ofi_near *near, const bool *asks,
                                 double seconds)
{
    uint64_t end = sy_clock_ns() + (uint64_t)(seconds * 1e9);

    for (int i = 0; i < near->count; i++)
        if (near->node[i].pe != NOBODY)
            sy_ofi_ask(&ofi->peer[near->node[i].pe], 1);
    while (!ofi_contact_all_settled(ofi, near, asks) && sy_clock_ns() < end)
        if (!sy_ofi_poll(ofi))
            sy_clock_sleep(PAUSE_NS);
    for (int i = 0; i < near->count; i++)
        near->node[i].given = near->node[i].pe != NOBODY && !near->node[i].done;
}

/* The PEs of a node without contact are as if they had no such transport. */
static void ofi_contact_give_up(struct ofi_state *ofi, const struct node *n)
{
    for (int pe = 0; pe < ofi->host->npes; pe++)
        if (ofi->host->place(pe).node == n->index)
            sy_ofi_forget(&ofi->peer[pe]);
}

/* Reports the nodes without contact: `failed` of those that were `tried`, such as that of PE
 * `example`. Returns as sy_ofi_contact. */
static int ofi_contact_tell(struct ofi_state *ofi, int tried, int failed, int example,
                            const char *why, struct sy_error *err)
{
    const struct sy_host *host = ofi->host;
    const char *fabric = ofi->info->fabric_attr->name;
    const char *provider = ofi->info->fabric_attr->prov_name;

    if (failed == tried)
        return host->fail(err, EHOSTUNREACH,
                          "provider %s, fabric %s: no contact with any of %d other hosts, such as "
                          "PE %d on host %s: %s",
                          provider, fabric, failed, example, host->place(example).host, why);
    /* A host that is cut off from most others says so, rather than they; and one PE of it. */
    bool worth = 2 * failed > tried && !host->place(host->pe).local;
    host->fail(err, EHOSTUNREACH, "no contact with %d of %d hosts, such as PE %d on host %s: %s",
               failed, tried, example, host->place(example).host, why);
    host->log(worth ? SY_LOG_WARN : SY_LOG_DEBUG, ofi->name,
              "provider %s, fabric %s: no contact with %d of %d hosts, such as PE %d on host %s, "
              "which are reached by the next transport in the order: %s",
              provider, fabric, failed, tried, example, host->place(example).host, why);
    return 0;
}

/* Why the PE has not been reached, and what may be done. */
static void ofi_contact_why(struct ofi_state *ofi, int pe, char *why, size_t room)
{
    const struct ofi_peer *peer = &ofi->peer[pe];
    struct sy_ip own = sy_socket_ip(ofi->info->src_addr);
    char advice[OFI_ADVICE];

    snprintf(why, room, "%s%s",
             peer->refused ? sy_ofi_library.strerror(peer->refused) : "no answer",
             own.family && sy_ip_loopback(&own)
                 ? ". That is the loopback interface, which leads to no other host; of the others "
                   "that are up, have an address that is not link-local and were not excluded "
                   "(SHMEM_OFI_DOMAIN, FI_TCP_IFACE) none could be used"
                 : sy_ofi_advice(&peer->at, peer->refused ? peer->refused : ETIMEDOUT, advice));
}

int sy_ofi_contact(struct ofi_state *ofi, double seconds, struct sy_error *err)
{
    const struct sy_host *host = ofi->host;
    bool *asks = calloc((size_t)host->npes, sizeof *asks);
    struct ofi_near nearby, *near = &nearby;
    int tried = 0, failed = 0, example = 0;
    char why[160 + OFI_ADVICE] = "";

    if (!asks)
        return host->fail(err, ENOMEM, "no memory for %d PEs", host->npes);
    ofi_contact_find_near(ofi, near);
    ofi_contact_pair_up(ofi, near, asks);
    sy_ofi_lock(&ofi->endpoint[0]);
    ofi->contacting = true;
    ofi_contact_converse(ofi, near, asks, seconds);
    for (int i = 0; i < near->count; i++) {
        tried += near->node[i].pe != NOBODY;
        if (!near->node[i].given)
            continue;
        example = near->node[i].pe;
        failed++;
        ofi_contact_why(ofi, example, why, sizeof why);
        ofi_contact_give_up(ofi, &near->node[i]);
    }
    ofi->contacting = false;
    sy_ofi_unlock(&ofi->endpoint[0]);
    free(asks);
    return failed ? ofi_contact_tell(ofi, tried, failed, example, why, err) : 0;
}

/* Allgathers over the tree: every PE's part goes up to PE 0 as it is, all parts together come down.
 * PE 0 so knows at any time exactly who is missing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/tree/state.h"
#include "util/list.h"

static const double MARGIN = 5; /* PE 0's limit comes first, since it can name the missing */

/* ---- names of the missing ---- */

/* Where a PE is or should be. */
static const char *tree_gather_host_of(int pe)
{
    if (sy_tree.member && *sy_tree.member[pe].host)
        return sy_tree.member[pe].host;
    return sy_tree.rank->host_of ? sy_tree.rank->host_of(pe) : NULL;
}

void sy_tree_missing(const bool *have, char *text, size_t room)
{
    struct sy_list list = sy_list_begin(text, room);

    for (int pe = 0; have && pe < sy_tree.npes; pe++)
        if (!have[pe])
            sy_list_add_on(&list, pe, tree_gather_host_of(pe));
    sy_list_end(&list);
}

/* ---- PE 0 ---- */

static void tree_gather_deliver(void)
{
    struct tree_gather *g = &sy_tree.gather;
    size_t total = g->length * (size_t)sy_tree.npes;

    sy_tree_send_children(TREE_DOWN, 0, (int)g->number, g->all, total);
}

/* Where they are known, the hosts are named: one of them may have another release. */
static void tree_gather_fault(int pe, const char *phase)
{
    struct tree_gather *g = &sy_tree.gather;
    const char *host = tree_gather_host_of(pe), *first = tree_gather_host_of(g->first);

    snprintf(g->fault, sizeof g->fault,
             "PE %d on host %s is at '%.47s' while PE %d on host %s is at '%.47s'", pe,
             host ? host : "?", phase, g->first, first ? first : "?", g->phase);
}

/* Takes a part in. A fault is kept until this PE is in the gather itself and can speak of it. */
static int tree_gather_take(int pe, const char *phase, const char *blob, size_t length)
{
    struct tree_gather *g = &sy_tree.gather;

    if (!g->arrived) {
        if (length > UINT32_MAX / (size_t)sy_tree.npes)
            return -EMSGSIZE;
        snprintf(g->phase, sizeof g->phase, "%s", phase);
        g->first = pe;
        g->length = length;
        g->all = calloc((size_t)sy_tree.npes, length ? length : 1);
        g->have = calloc((size_t)sy_tree.npes, sizeof *g->have);
        if (!g->all || !g->have)
            return -ENOMEM;
    }
    if (g->have[pe])
        return -EPROTO;
    if (strncmp(phase, g->phase, sizeof g->phase - 1) != 0)
        tree_gather_fault(pe, phase);
    else if (length != g->length)
        snprintf(g->fault, sizeof g->fault, "PE %d has %zu bytes where PE %d has %zu", pe, length,
                 g->first, g->length);
    else if (length)
        memcpy(g->all + (size_t)pe * length, blob, length);
    g->have[pe] = true;
    g->arrived++;
    return 0;
}

static void tree_gather_forget(void)
{
    struct tree_gather *g = &sy_tree.gather;

    if (sy_tree.pe == 0)
        free(g->all);
    free(g->have);
    *g = (struct tree_gather){.number = g->number + 1};
}

/* ---- frames ---- */

int sy_tree_on_up(const struct tree_header *header, const char *body)
{
    size_t phase = strnlen(body, header->length);

    if (sy_tree.pe != 0) {
        if (sy_tree.parent)
            sy_tree_link_send(sy_tree.parent, TREE_UP, header->pe, header->arg, body,
                              header->length, NULL, 0);
        return 0;
    }
    if (header->pe < 1 || header->pe >= sy_tree.npes || phase == header->length ||
        phase >= TREE_PHASE || header->arg != (int)sy_tree.gather.number)
        return -EPROTO;
    return tree_gather_take(header->pe, body, body + phase + 1, header->length - phase - 1);
}

int sy_tree_on_down(const struct tree_header *header, const char *body)
{
    struct tree_gather *g = &sy_tree.gather;

    if (!g->busy || g->done || header->arg != (int)g->number ||
        header->length != g->length * (size_t)sy_tree.npes)
        return -EPROTO;
    sy_tree_send_children(TREE_DOWN, header->pe, header->arg, body, header->length);
    memcpy(g->all, body, header->length);
    g->done = true;
    return 0;
}

/* ---- the call ---- */

static int tree_gather_out_of_time(const char *phase, double seconds, struct sy_error *err)
{
    char missing[512];

    if (sy_tree.pe != 0)
        return sy_tree.host->fail(
            err, ETIMEDOUT, "%s: no answer from PE 0 for %.0f s; is it stopped?", phase, seconds);
    sy_tree_missing(sy_tree.gather.have, missing, sizeof missing);
    return sy_tree.host->fail(err, ETIMEDOUT, "%s: waited %.0f s for %s", phase, seconds, missing);
}

static int tree_gather_lead(const char *phase, const void *mine, void *all, size_t length,
                            double seconds, struct sy_error *err)
{
    struct tree_gather *g = &sy_tree.gather;
    double deadline = sy_tree_now() + seconds;
    int rc = tree_gather_take(0, phase, mine, length);

    if (rc)
        return sy_tree.host->fail(err, -rc, "%s: %s", phase, strerror(-rc));
    while (g->arrived < sy_tree.npes && !*g->fault && !sy_tree.ended && sy_tree_now() < deadline)
        sy_tree_pump(0.5);
    if (sy_tree.ended)
        return -ECANCELED;
    if (*g->fault)
        return sy_tree.host->fail(
            err, EPROTO,
            "%s: the PEs do not run the same version of the library, or not the "
            "same program",
            g->fault);
    if (g->arrived < sy_tree.npes)
        return tree_gather_out_of_time(phase, seconds, err);
    tree_gather_deliver();
    memcpy(all, g->all, length * (size_t)sy_tree.npes);
    return 0;
}

static int tree_gather_follow(const char *phase, const void *mine, void *all, size_t length,
                              double seconds, struct sy_error *err)
{
    struct tree_gather *g = &sy_tree.gather;
    double deadline = sy_tree_now() + seconds + MARGIN;

    g->length = length;
    g->all = all;
    if (sy_tree.parent)
        sy_tree_link_send(sy_tree.parent, TREE_UP, sy_tree.pe, (int)g->number, phase,
                          strlen(phase) + 1, mine, length);
    while (!g->done && !sy_tree.ended && sy_tree_now() < deadline)
        sy_tree_pump(0.5);
    if (g->done)
        return 0;
    return sy_tree.ended ? -ECANCELED : tree_gather_out_of_time(phase, seconds, err);
}

int sy_tree_allgather(const char *phase, const void *mine, void *all, size_t length, double seconds,
                      struct sy_error *err)
{
    int rc;

    pthread_mutex_lock(&sy_tree.lock);
    if (sy_tree.ended)
        rc = -ECANCELED;
    else if (sy_tree.left)
        rc = sy_tree.host->fail(err, ECONNRESET, "%s: another PE has left the job", phase);
    else if (strlen(phase) >= TREE_PHASE || length > TREE_BODY_MOST - TREE_PHASE ||
             length > UINT32_MAX / (size_t)sy_tree.npes)
        rc = sy_tree.host->fail(err, EMSGSIZE, "%s: %zu bytes are too many", phase, length);
    else {
        sy_tree.gather.busy = true;
        rc = (sy_tree.pe ? tree_gather_follow : tree_gather_lead)(phase, mine, all, length, seconds,
                                                                  err);
        if (rc == 0)
            tree_gather_forget();
    }
    pthread_mutex_unlock(&sy_tree.lock);
    return rc;
}

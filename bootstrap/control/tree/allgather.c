/* Allgathers over the tree: every PE's part goes up to PE 0 as it is, all parts together come down.
 * So PE 0 knows at any time which PEs are missing. */
#include <errno.h>
#include <string.h>

#include "bootstrap/control/tree/state.h"
#include "util/clock.h"
#include "util/list.h"

static const double MARGIN = 5; /* PE 0's limit comes first, since it can name the missing */

const char *sy_tree_host_of(void *owner, int pe)
{
    struct tree *tree = owner;

    if (tree->member && *tree->member[pe].host)
        return tree->member[pe].host;
    return tree->user->rank.host_of ? tree->user->rank.host_of(tree->user, pe) : NULL;
}

/* ---- frames ---- */

/* PE 0 takes a part in. A fault in it is kept until PE 0 is in the gather itself and can report it.
 * Negative: this PE's part is not to be used. */
static int allgather_take(struct tree *tree, int pe, const char *phase, const char *blob,
                          size_t length)
{
    struct tree_gather *g = &tree->gather;

    if (g->parts.have[pe])
        return -EPROTO;
    int rc = sy_gather_add(&g->parts, pe, phase, blob, length, g->fault);
    return rc == -ENOMEM ? rc : 0;
}

int sy_tree_on_up(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                  const char *body)
{
    size_t phase = strnlen(body, header->length);

    (void)link;
    if (tree->pe != 0) {
        sy_tree_send_up(tree, header, body);
        return 0;
    }
    if (header->pe < 1 || header->pe >= tree->npes || phase == header->length ||
        phase >= TREE_PHASE)
        return -EPROTO;
    return allgather_take(tree, header->pe, body, body + phase + 1, header->length - phase - 1);
}

int sy_tree_on_down(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                    const char *body)
{
    struct tree_gather *g = &tree->gather;

    (void)link;
    sy_tree_send_children(tree, header, body);
    memcpy(g->all, body, header->length);
    g->done = true;
    return 0;
}

/* ---- the call ---- */

static int allgather_out_of_time(struct tree *tree, const char *phase, double seconds,
                                 struct sy_error *err)
{
    char missing[512];

    if (tree->pe != 0)
        return tree->host->fail(
            err, ETIMEDOUT, "%s: no answer from PE 0 for %.0f s; is it stopped?", phase, seconds);
    return tree->host->fail(err, ETIMEDOUT, "%s: waited %.0f s for %s", phase, seconds,
                            sy_list_missing(tree->gather.parts.have, tree->npes, sy_tree_host_of,
                                            tree, missing, sizeof missing));
}

static int allgather_lead(struct tree *tree, const char *phase, const void *mine, void *all,
                          size_t length, double seconds, struct sy_error *err)
{
    struct tree_gather *g = &tree->gather;
    double deadline = sy_clock() + seconds;
    int rc = allgather_take(tree, 0, phase, mine, length);

    if (rc)
        return tree->host->fail(err, -rc, "%s: %s", phase, strerror(-rc));
    while (g->parts.arrived < tree->npes && !*g->fault && !tree->ended && sy_clock() < deadline)
        sy_tree_pump(tree, 0.5);
    if (tree->ended)
        return -ECANCELED;
    if (*g->fault)
        return tree->host->fail(
            err, EPROTO,
            "%s: the PEs do not run the same version of the library, or not the same program",
            g->fault);
    if (g->parts.arrived < tree->npes)
        return allgather_out_of_time(tree, phase, seconds, err);
    struct sy_packet *packet = sy_gather_take(&g->parts);
    memcpy(all, sy_packet_body(packet), length * (size_t)tree->npes);
    sy_tree_send_to(tree, packet, NULL, false);
    return 0;
}

static int allgather_follow(struct tree *tree, const char *phase, const void *mine, void *all,
                            size_t length, double seconds, struct sy_error *err)
{
    struct tree_gather *g = &tree->gather;
    double deadline = sy_clock() + seconds + MARGIN;

    g->length = length;
    g->all = all;
    const struct sy_frame part = {.type = SY_CONTROL_GATHER,
                                  .length = (uint32_t)(strlen(phase) + 1 + length),
                                  .pe = tree->pe,
                                  .arg = sy_control_waited(seconds, 0)};

    if (tree->parent)
        sy_tree_link_put(tree->parent, sy_packet_new(&part, phase, strlen(phase) + 1, mine));
    while (!g->done && !tree->ended && sy_clock() < deadline)
        sy_tree_pump(tree, 0.5);
    if (g->done)
        return 0;
    return tree->ended ? -ECANCELED : allgather_out_of_time(tree, phase, seconds, err);
}

int sy_tree_allgather(void *self, const char *phase, const void *mine, void *all, size_t length,
                      double seconds, struct sy_error *err)
{
    struct tree *tree = sy_tree_of(self);
    int rc;

    pthread_mutex_lock(&tree->lock);
    if (tree->ended)
        rc = -ECANCELED;
    else if (tree->left)
        rc = tree->host->fail(err, ECONNRESET, "%s: another PE has left the job", phase);
    else if (strlen(phase) >= TREE_PHASE || length > SY_LAUNCH_BODY_MAX - TREE_PHASE ||
             length > SY_LAUNCH_GATHERED_MAX / (size_t)tree->npes)
        rc = tree->host->fail(err, EMSGSIZE, "%s: %zu bytes are too many", phase, length);
    else {
        tree->gather.busy = true;
        rc = (tree->pe ? allgather_follow : allgather_lead)(tree, phase, mine, all, length, seconds,
                                                            err);
        if (rc == 0)
            tree->gather.busy = tree->gather.done = false;
    }
    pthread_mutex_unlock(&tree->lock);
    return rc;
}

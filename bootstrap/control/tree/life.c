/* The life of the job after it has started, and its end: by the program's wish, by an error, or
 * because a PE or its host is gone. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"

static const double PARTING = 0.5; /* seconds for the last words to go out */

/* After a failure the other PEs stay this long: a launcher that watches its processes then sees the
 * PE that died first, and reports its status. */
static const struct timespec GRACE = {.tv_nsec = 250 * 1000 * 1000};

void sy_tree_end(struct tree *tree, int status, bool failed)
{
    if (tree->ended)
        return;
    tree->ended = true;
    tree->failed = failed;
    tree->status = status;
}

/* ---- what the neighbours say ---- */

int sy_tree_on_mark(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                    const char *body)
{
    (void)tree, (void)body;
    link->finalized = header->arg == SY_MARK_FINALIZED;
    return 0;
}

int sy_tree_on_abort(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                     const char *body)
{
    (void)body;
    if (tree->ended)
        return 0;
    sy_tree_end(tree, header->arg, header->length != 0);
    sy_tree_send_all_but(tree, link, SY_CONTROL_ABORT, header->pe, header->arg, "!",
                         header->length ? 1 : 0);
    sy_tree_flush(tree, PARTING);
    return 0;
}

/* A neighbour's connection is closed or broken; why: NULL for the former. One PE tells the user:
 * the parent, or of the children the first on each host. */
void sy_tree_on_gone(struct tree_link *link, const char *why)
{
    struct tree *tree = link->tree;
    bool parent = link == tree->parent;

    if (tree->ended)
        return;
    if (link->finalized && !tree->gather.busy) {
        tree->left = true;
        return;
    }
    sy_tree_end(tree, 1, true);
    if (!parent || tree->speaks || !tree->complete)
        tree->host->log(SY_LOG_ERROR, "boot", "PE %d on host %s is gone (%s); the job ends",
                        link->pe, link->host,
                        why               ? why
                        : link->finalized ? "it has left"
                                          : "its connection closed without shmem_finalize: it was "
                                            "killed, crashed, or left by _exit");
    sy_tree_send_all_but(tree, link, SY_CONTROL_ABORT, link->pe, 1, "!", 1);
    sy_tree_flush(tree, PARTING);
}

/* The launcher's process on this host has ended. One PE of the host tells the user. */
void sy_tree_on_orphaned(struct tree *tree)
{
    sy_tree_forget_launcher(tree);
    if (tree->ended)
        return;
    sy_tree_end(tree, 1, true);
    sy_tree_send_all_but(tree, NULL, SY_CONTROL_ABORT, tree->pe, 1, "!", 1);
    sy_tree_flush(tree, PARTING);
    if (tree->pe == 0 || tree->speaks)
        tree->host->log(SY_LOG_ERROR, "boot",
                        "the launcher's process on this host is gone: it was killed, or has "
                        "crashed; the job ends");
}

/* ---- what this PE says ---- */

void sy_tree_mark(void *self, enum sy_mark mark)
{
    struct tree *tree = sy_tree_of(self);
    pthread_mutex_lock(&tree->lock);
    tree->finished = mark == SY_MARK_FINALIZED;
    if (!tree->ended)
        sy_tree_send_all_but(tree, NULL, SY_CONTROL_MARK, tree->pe, (int)mark, NULL, 0);
    pthread_mutex_unlock(&tree->lock);
}

void sy_tree_abort(void *self, int status, const char *why)
{
    struct tree *tree = sy_tree_of(self);
    pthread_mutex_lock(&tree->lock);
    tree->mine = true;
    if (!tree->ended) {
        sy_tree_end(tree, status, why != NULL);
        sy_tree_send_all_but(tree, NULL, SY_CONTROL_ABORT, tree->pe, status, "!", why ? 1 : 0);
        sy_tree_flush(tree, PARTING);
    }
    pthread_mutex_unlock(&tree->lock);
}

void sy_tree_failing(void *self, int status)
{
    struct tree *tree = sy_tree_of(self);
    if (!tree->ended && tree->npes > 1)
        tree->host->log(SY_LOG_ERROR, "boot",
                        "this PE exits with status %d without shmem_finalize; the job ends",
                        status);
    sy_tree_abort(self, status, "a PE exits");
}

/* ---- the core's loop ---- */

int sy_tree_wait_fd(void *self)
{
    struct tree *tree = sy_tree_of(self);
    return tree->epoll;
}

int sy_tree_event(void *self, int *status)
{
    struct tree *tree = sy_tree_of(self);
    pthread_mutex_lock(&tree->lock);
    if (tree->epoll >= 0)
        sy_tree_pump(tree, 0);
    bool ended = tree->ended && !tree->mine, failed = tree->failed;
    bool ask = tree->stall.ask;
    *status = tree->status;
    tree->stall.ask = false;
    pthread_mutex_unlock(&tree->lock);
    if (!ended)
        return ask ? SY_EVENT_ASK : SY_EVENT_NONE;
    if (failed)
        nanosleep(&GRACE, NULL);
    return SY_EVENT_EXIT;
}

bool sy_tree_ends_well(const struct tree_user *user)
{
    struct tree *tree = user->tree;

    pthread_mutex_lock(&tree->lock);
    bool well = tree->ended ? tree->status == 0 : tree->finished;
    pthread_mutex_unlock(&tree->lock);
    return well;
}

void sy_tree_leave(void *self)
{
    struct tree *tree = sy_tree_of(self);

    pthread_mutex_lock(&tree->lock);
    sy_tree_flush(tree, PARTING);
    for (struct tree_link *link = tree->links; link; link = link->next)
        sy_tree_link_close(link);
    sy_tree_bury(tree);
    sy_tree_listen_close(tree);
    tree->ended = tree->mine = true;
    pthread_mutex_unlock(&tree->lock);
}

void sy_tree_close(void *self)
{
    struct tree_user *user = self;

    sy_tree_free(user->tree);
    explicit_bzero(&user->contact, sizeof user->contact);
    free(user);
}

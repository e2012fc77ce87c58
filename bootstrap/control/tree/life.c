/* The life of the job after it has started, and its end: by the program's wish, by an error, or
 * because a PE or its host is gone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"

static const double PARTING = 0.5; /* seconds for the last words to go out */

/* After a failure PEs stay this long: a launcher that watches its processes should see the PE that
 * died before it sees those that left for that reason, and report its status. */
static const struct timespec GRACE = {.tv_nsec = 250 * 1000 * 1000};

void sy_tree_end(int status, bool failed)
{
    if (sy_tree.ended)
        return;
    sy_tree.ended = true;
    sy_tree.failed = failed;
    sy_tree.status = status;
}

/* ---- what the neighbours say ---- */

int sy_tree_on_mark(struct tree_link *link, const struct sy_frame *header, const char *body)
{
    (void)body;
    link->finalized = header->arg == SY_MARK_FINALIZED;
    return 0;
}

int sy_tree_on_abort(struct tree_link *link, const struct sy_frame *header, const char *body)
{
    (void)body;
    if (sy_tree.ended)
        return 0;
    sy_tree_end(header->arg, header->length != 0);
    sy_tree_send_all_but(link, SY_CONTROL_ABORT, header->pe, header->arg, "!",
                         header->length ? 1 : 0);
    sy_tree_flush(PARTING);
    return 0;
}

/* A neighbour's connection is closed or broken; why: NULL for the former. One PE tells the user:
 * the parent, or of the children the first on each host. */
void sy_tree_on_gone(struct tree_link *link, const char *why)
{
    bool parent = link == sy_tree.parent;

    if (sy_tree.ended)
        return;
    if (link->finalized && !sy_tree.gather.busy) {
        sy_tree.left = true;
        return;
    }
    sy_tree_end(1, true);
    if (!parent || sy_tree.speaks || !sy_tree.complete)
        sy_tree.host->log(SY_LOG_ERROR, "boot", "PE %d on host %s is gone (%s); the job ends",
                          link->pe, link->host,
                          why ? why
                          : link->finalized
                              ? "it has left"
                              : "its connection closed without shmem_finalize: it was "
                                "killed, crashed, or left by _exit");
    sy_tree_send_all_but(link, SY_CONTROL_ABORT, link->pe, 1, "!", 1);
    sy_tree_flush(PARTING);
}

/* ---- what this PE says ---- */

void sy_tree_mark(enum sy_mark mark)
{
    pthread_mutex_lock(&sy_tree.lock);
    if (!sy_tree.ended)
        sy_tree_send_all_but(NULL, SY_CONTROL_MARK, sy_tree.pe, (int)mark, NULL, 0);
    pthread_mutex_unlock(&sy_tree.lock);
}

void sy_tree_abort(int status, const char *why)
{
    pthread_mutex_lock(&sy_tree.lock);
    sy_tree.mine = true;
    if (!sy_tree.ended) {
        sy_tree_end(status, why != NULL);
        sy_tree_send_all_but(NULL, SY_CONTROL_ABORT, sy_tree.pe, status, "!", why ? 1 : 0);
        sy_tree_flush(PARTING);
    }
    pthread_mutex_unlock(&sy_tree.lock);
}

void sy_tree_failing(int status)
{
    if (!sy_tree.ended && sy_tree.npes > 1)
        sy_tree.host->log(SY_LOG_ERROR, "boot",
                          "this PE exits with status %d without shmem_finalize; the job ends",
                          status);
    sy_tree_abort(status, "a PE exits");
}

/* ---- the core's loop ---- */

int sy_tree_wait_fd(void)
{
    return sy_tree.epoll;
}

int sy_tree_event(int *status)
{
    pthread_mutex_lock(&sy_tree.lock);
    if (sy_tree.epoll >= 0)
        sy_tree_pump(0);
    bool ended = sy_tree.ended && !sy_tree.mine, failed = sy_tree.failed;
    bool ask = sy_tree.stall.ask;
    *status = sy_tree.status;
    sy_tree.stall.ask = false;
    pthread_mutex_unlock(&sy_tree.lock);
    if (!ended)
        return ask ? SY_EVENT_ASK : SY_EVENT_NONE;
    if (failed)
        nanosleep(&GRACE, NULL);
    return SY_EVENT_EXIT;
}

void sy_tree_close(void)
{
    pthread_mutex_lock(&sy_tree.lock);
    sy_tree_flush(PARTING);
    for (struct tree_link *link = sy_tree.links; link; link = link->next)
        sy_tree_link_close(link);
    sy_tree_bury();
    sy_tree_listen_close();
    /* The core's loop may still watch sy_tree.epoll. It goes with the process, which is about to
     * end. */
    sy_tree.ended = sy_tree.mine = true;
    free(sy_tree.member);
    free(sy_tree.joined);
    sy_tree.member = NULL;
    sy_tree.joined = NULL;
    pthread_mutex_unlock(&sy_tree.lock);
}

/* Instances of the control tree: making one, freeing it, and what a fork does to it. The list of
 * all instances, with its lock, is the only thing that no instance owns: the handler of a fork has
 * no argument. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"
#include "util/file.h"

/* The trees of this process, for the handler of forks. Guarded by trees_lock. */
static struct tree *trees;
static pthread_mutex_t trees_lock = PTHREAD_MUTEX_INITIALIZER;

/* A child process is no PE. It closes its copies of the sockets: while they are open, nobody
 * notices that this PE has died. */
static void instance_in_child(void)
{
    for (struct tree *tree = trees; tree; tree = tree->next) {
        for (struct tree_link *link = tree->links; link; link = link->next)
            if (link->state != TREE_LINK_DEAD)
                close(link->fd);
        sy_tree_listen_close(tree);
        sy_file_close(&tree->epoll);
        sy_file_close(&tree->stall.timer);
        sy_tree_forget_launcher(tree);
        tree->links = tree->parent = NULL;
        explicit_bzero(tree->key, sizeof tree->key);
        explicit_bzero(tree->seed, sizeof tree->seed);
        tree->ended = true;
        pthread_mutex_init(&tree->lock, NULL);
    }
    pthread_mutex_init(&trees_lock, NULL);
}

static void instance_enter(struct tree *tree)
{
    static bool told;

    pthread_mutex_lock(&trees_lock);
    if (!told)
        pthread_atfork(NULL, NULL, instance_in_child);
    told = true;
    tree->next = trees;
    trees = tree;
    pthread_mutex_unlock(&trees_lock);
}

int sy_tree_new(const struct sy_host *host, struct tree **made, struct sy_error *err)
{
    struct tree *tree = calloc(1, sizeof *tree);

    if (!tree)
        return host->fail(err, ENOMEM, "no memory for the control tree");
    tree->host = host;
    tree->stall.timer = tree->launcher = -1;
    pthread_mutex_init(&tree->lock, NULL);
    tree->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (tree->epoll < 0) {
        int code = errno;
        free(tree);
        return host->fail(err, code, "epoll: %s", strerror(code));
    }
    if (gethostname(tree->host_name, sizeof tree->host_name - 1) != 0)
        strcpy(tree->host_name, "unknown-host");
    instance_enter(tree);
    *made = tree;
    return 0;
}

void sy_tree_free(struct tree *tree)
{
    struct tree **at = &trees;

    pthread_mutex_lock(&trees_lock);
    while (*at != tree)
        at = &(*at)->next;
    *at = tree->next;
    pthread_mutex_unlock(&trees_lock);
    for (struct tree_link *link = tree->links; link; link = link->next)
        sy_tree_link_close(link);
    sy_tree_bury(tree);
    sy_tree_listen_close(tree);
    sy_tree_forget_launcher(tree);
    sy_file_close(&tree->stall.timer);
    sy_file_close(&tree->epoll);
    sy_gather_free(&tree->gather.parts);
    sy_report_free(&tree->stall.report);
    free(tree->member);
    free(tree->joined);
    explicit_bzero(tree, sizeof *tree);
    free(tree);
}

int sy_tree_open(const struct sy_host *host, size_t size, void **self, struct sy_error *err)
{
    struct tree_user *user = calloc(1, size);

    if (!user)
        return host->fail(err, ENOMEM, "no memory for an instance of a bootstrap");
    int rc = sy_tree_new(host, &user->tree, err);
    if (rc) {
        free(user);
        return rc;
    }
    user->host = host;
    user->tree->user = user;
    *self = user;
    return 0;
}

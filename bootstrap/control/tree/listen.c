/* The sockets on which PEs are accepted while the job starts, and which connections are kept. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"
#include "util/auth.h"
#include "util/net/machine.h"

enum { TRIES = 200, ROUND = 64 /* connections taken before those that are there are served */ };

/* ---- where ---- */

static uint16_t tree_listen_port(const struct sy_bound *bound, int count)
{
    for (int i = 1; i < count; i++)
        if (bound[i].port != bound[0].port)
            return 0;
    return bound[0].port;
}

/* Listens at one port on all addresses, since a contact has room for one. Returns how many
 * addresses, or -errno. port 0: any that is free on all of them. */
static int tree_listen_at(const struct tree_places *places, uint16_t port, struct sy_bound *bound)
{
    const struct sy_interface *chosen[TREE_ADDRESSES];
    char range[16] = "";
    int count = -EADDRINUSE;

    for (int i = 0; i < places->count; i++)
        chosen[i] = &places->at[i];
    if (port)
        snprintf(range, sizeof range, "%u:%u", port, port);
    for (int i = 0; i < (port ? 1 : TRIES) && count == -EADDRINUSE; i++) {
        count = sy_interfaces_listen(chosen, (size_t)places->count, "port", range, 0, bound, NULL);
        if (count <= 0 || tree_listen_port(bound, count))
            continue;
        while (count > 0)
            close(bound[--count].fd);
        count = -EADDRINUSE;
    }
    return count;
}

/* Ports of a range are tried from a random one on, so that jobs that start at once do not all try
 * the same. How many addresses, or -errno. */
static int tree_listen_somewhere(struct tree *tree, const struct tree_places *places, uint16_t port,
                                 struct sy_bound *bound, struct sy_error *err)
{
    const char *range = tree->host->start ? tree->host->start->ports : "";
    unsigned first, last, start = 0;
    int count = -EADDRINUSE;

    if (port || !*range) {
        count = tree_listen_at(places, port, bound);
        if (count < 0)
            tree->host->fail(err, -count, "cannot listen on port %u: %s", port, strerror(-count));
        return count;
    }
    count = sy_ports_parse("SHMEM_CONTROL_PORT_RANGE", range, &first, &last, err);
    if (count)
        return count;
    if (sy_auth_random(&start, sizeof start) != 0)
        start = 0;
    count = -EADDRINUSE;
    for (unsigned i = 0; i <= last - first && i < TRIES && count == -EADDRINUSE; i++)
        count = tree_listen_at(places, (uint16_t)(first + (start + i) % (last - first + 1)), bound);
    if (count < 0)
        tree->host->fail(err, -count, "cannot listen on a port of SHMEM_CONTROL_PORT_RANGE=%s: %s",
                         range, strerror(-count));
    return count;
}

const char *sy_tree_listens_text(struct tree *tree, char text[TREE_PLACES])
{
    struct sockaddr_storage address;
    char one[SY_IP_TEXT];
    size_t used = 0;

    *text = '\0';
    for (int i = 0; i < tree->listens.count && used < TREE_PLACES; i++) {
        sy_ip_socket(&tree->listens.entry[i], tree->listens.port, 0, &address);
        used += (size_t)snprintf(text + used, TREE_PLACES - used, "%s%s", used ? ", " : "",
                                 sy_socket_text(&address, one));
    }
    return text;
}

int sy_tree_listen_open(struct tree *tree, bool one_host, const char *name, uint16_t port,
                        struct sy_error *err)
{
    const char *networks = tree->host->start ? tree->host->start->networks : "";
    struct sy_bound bound[TREE_ADDRESSES];
    struct tree_places places;
    char text[TREE_PLACES];
    int rc = 0;

    if (one_host)
        sy_tree_places_loopback(&places);
    else
        rc = sy_tree_places(tree, networks, name, &places, err);
    int count = rc ? rc : tree_listen_somewhere(tree, &places, port, bound, err);
    if (count < 0)
        return count;
    tree->listeners = count;
    tree->listens = (struct tree_addresses){
        .count = count, .port = bound[0].port, .host = sy_machine_network()};
    for (int i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &tree->listener[i]};
        tree->listener[i] = bound[i].fd;
        tree->listens.entry[i] = bound[i].ip;
        if (epoll_ctl(tree->epoll, EPOLL_CTL_ADD, bound[i].fd, &event) != 0)
            rc = tree->host->fail(err, errno, "epoll: %s", strerror(errno));
    }
    tree->host->log(SY_LOG_INFO, "boot", "listens for other PEs on %s",
                    sy_tree_listens_text(tree, text));
    return rc;
}

void sy_tree_listen_close(struct tree *tree)
{
    for (int i = 0; i < tree->listeners; i++)
        close(tree->listener[i]);
    tree->listeners = 0;
}

/* ---- strangers and PEs ---- */

/* Closes the oldest connection of the source that has most of them in this state, so that a flood
 * pushes out its own connections. */
static bool tree_listen_drop(struct tree *tree, enum tree_link_state state)
{
    struct tree_link *oldest = NULL;
    int count[UINT8_MAX + 1] = {0}, most = 0;

    for (struct tree_link *link = tree->links; link; link = link->next)
        if (link->state == state && ++count[link->source] > count[most])
            most = link->source;
    for (struct tree_link *link = tree->links; link; link = link->next)
        if (link->state == state && link->source == most)
            oldest = link; /* new ones are put in front */
    if (oldest)
        sy_tree_link_close(oldest);
    return oldest != NULL;
}

/* Pushes out connections where more have come than are kept. */
static void tree_listen_make_place(struct tree *tree)
{
    while (tree->silent > TREE_SILENT)
        tree_listen_drop(tree, TREE_LINK_HELLO);
    while (tree->opened > TREE_OPENED + 2 * tree->npes)
        tree_listen_drop(tree, TREE_LINK_OPENED);
}

static bool listen_short(struct tree *tree, int code)
{
    return (code == EMFILE || code == ENFILE) &&
           (tree_listen_drop(tree, TREE_LINK_HELLO) || tree_listen_drop(tree, TREE_LINK_OPENED));
}

/* The first message of a PE has mostly arrived with the connection. It is read at once, before a
 * flood can push the PE out. */
static void tree_listen_take(struct tree *tree, int fd, const struct sockaddr_storage *from)
{
    struct tree_link *link = sy_tree_link_new(tree, fd, TREE_LINK_HELLO);

    if (!link) {
        close(fd);
        return;
    }
    link->source = (uint8_t)sy_socket_source(from);
    sy_tree_link_read(link);
    tree_listen_make_place(tree);
}

bool sy_tree_accept(struct tree *tree, const void *listener)
{
    struct sockaddr_storage from;
    int which = 0;

    while (which < TREE_ADDRESSES && listener != &tree->listener[which])
        which++;
    if (which == TREE_ADDRESSES)
        return false;
    /* What was read before this event may have had all listeners closed. */
    for (int taken = 0; which < tree->listeners && taken < ROUND;) {
        socklen_t length = sizeof from;
        int fd = accept4(tree->listener[which], (struct sockaddr *)&from, &length,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && !listen_short(tree, errno) && errno != ECONNABORTED && errno != EINTR)
            break;
        if (fd < 0)
            continue;
        taken++;
        tree_listen_take(tree, fd, &from);
    }
    return true;
}

/* ---- opening ---- */

int sy_tree_listen(struct tree_user *user, bool one_host, const char *name, uint16_t port,
                   struct sy_error *err)
{
    int rc = sy_auth_random(user->contact.secret, TREE_SECRET);

    if (rc)
        return user->host->fail(err, -rc, "no random numbers: %s", strerror(-rc));
    rc = sy_tree_listen_open(user->tree, one_host, name, port, err);
    user->contact.root = user->tree->listens;
    return rc;
}

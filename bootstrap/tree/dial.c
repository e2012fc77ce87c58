/* Connecting to a PE: its addresses are tried with a small delay between them, until one answers
 * and proves to belong to this job. Another machine may have the same address (of a container
 * network, say). */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/tree/state.h"

static const double STAGGER = 0.25; /* seconds between the beginnings of attempts */
static const double PATIENCE = 3;   /* for one address, the handshake included */

enum { MOST = TREE_ADDRESSES + 2 };

struct attempts {
    const struct sockaddr_storage *address[MOST];
    struct pollfd wait[MOST];
    double until[MOST];
    int count, begun, failed;
    bool stranger; /* something answered that does not belong to this job */
};

/* What is tried: loopback first where both are on one host. */
static void list(struct attempts *all, const struct tree_addresses *to,
                 struct sockaddr_storage local[2])
{
    uint64_t me = sy_tree_host_identity();

    memset(all, 0, sizeof *all);
    if (me && me == to->host && to->count) {
        const struct sockaddr_storage *first = &to->entry[0];
        uint16_t port = ntohs(first->ss_family == AF_INET6
                                  ? ((const struct sockaddr_in6 *)first)->sin6_port
                                  : ((const struct sockaddr_in *)first)->sin_port);
        memset(local, 0, 2 * sizeof local[0]);
        ((struct sockaddr_in *)&local[0])->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        local[0].ss_family = AF_INET;
        ((struct sockaddr_in6 *)&local[1])->sin6_addr = in6addr_loopback;
        local[1].ss_family = AF_INET6;
        for (int i = 0; i < 2; i++) {
            sy_tree_address_set_port(&local[i], port);
            all->address[all->count++] = &local[i];
        }
    }
    for (int i = 0; i < to->count && i < TREE_ADDRESSES; i++)
        all->address[all->count++] = &to->entry[i];
    for (int i = 0; i < all->count; i++)
        all->wait[i] = (struct pollfd){.fd = -1, .events = POLLOUT};
}

static void note(const struct sockaddr_storage *address, const char *why, struct sy_error *err)
{
    char text[80];

    sy_tree.host->fail(err, ECONNREFUSED, "%s: %s",
                       sy_tree_address_text(address, text, sizeof text), why);
}

static void give_up(struct attempts *all, int i, const char *why, struct sy_error *err)
{
    if (all->wait[i].fd >= 0)
        close(all->wait[i].fd);
    all->wait[i].fd = -1;
    all->failed++;
    if (!all->stranger) /* which explains more than a refusal does */
        note(all->address[i], why, err);
}

static void begin(struct attempts *all, struct sy_error *err)
{
    int i = all->begun++, one = 1;
    const struct sockaddr_storage *to = all->address[i];

    all->until[i] = sy_tree_now() + PATIENCE;
    all->wait[i].fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (all->wait[i].fd < 0) {
        give_up(all, i, strerror(errno), err);
        return;
    }
    setsockopt(all->wait[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(all->wait[i].fd, (const struct sockaddr *)to, sy_tree_address_length(to)) != 0 &&
        errno != EINPROGRESS)
        give_up(all, i, strerror(errno), err);
}

/* Looks after attempt i; returns its socket if that one has proved to be the right one, else -1. */
static int look(struct attempts *all, int i, double deadline, struct sy_error *err)
{
    struct sy_error why = {""};
    int fd = all->wait[i].fd, code = 0;
    socklen_t length = sizeof code;

    if (!(all->wait[i].revents)) {
        if (sy_tree_now() > all->until[i])
            give_up(all, i, "no answer", err);
        return -1;
    }
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length);
    if (code) {
        give_up(all, i, strerror(code), err);
        return -1;
    }
    double limit = sy_tree_now() + PATIENCE;
    if (sy_tree_handshake_client(fd, limit < deadline ? limit : deadline, &why) != 0) {
        give_up(all, i, why.text, err);
        all->stranger = true;
        return -1;
    }
    all->wait[i].fd = -1;
    return fd;
}

int sy_tree_dial(const struct tree_addresses *to, double deadline, struct sy_error *err)
{
    struct sockaddr_storage local[2];
    struct attempts all;
    double next = 0;
    int fd = -1;

    list(&all, to, local);
    while (fd < 0 && all.failed < all.count && sy_tree_now() < deadline) {
        if (all.begun < all.count && (all.begun == all.failed || sy_tree_now() >= next)) {
            begin(&all, err);
            next = sy_tree_now() + STAGGER;
            continue;
        }
        if (poll(all.wait, (nfds_t)all.begun, 100) < 0)
            continue;
        for (int i = 0; fd < 0 && i < all.begun; i++)
            if (all.wait[i].fd >= 0)
                fd = look(&all, i, deadline, err);
    }
    for (int i = 0; i < all.begun; i++)
        if (all.wait[i].fd >= 0)
            close(all.wait[i].fd);
    if (fd < 0 && err && !*err->text)
        note(all.address[0], "no answer", err);
    return fd >= 0 ? fd : all.stranger ? -EACCES : -ECONNREFUSED;
}

/* Connecting to a PE: its addresses are tried with a small delay between them, until one answers
 * and proves to belong to this job. Another machine may have the same address (of a container
 * network, say). A PE that has much to do is given time: no second address of it is tried soon
 * after one has connected. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/tree/state.h"
#include "util/net/machine.h"

static const double STAGGER = 0.25; /* seconds between the beginnings of attempts */

enum { MOST = TREE_ADDRESSES + 2 };

struct attempts {
    const struct sockaddr_storage *address[MOST];
    struct pollfd wait[MOST];
    unsigned char nonce[MOST][TREE_NONCE];
    bool opened[MOST]; /* connected; the first word is said */
    double until[MOST], patience;
    int count, begun, failed;
    int code; /* of what answered and does not belong to this job; or 0 */
};

/* What is tried: loopback first where both are on one host. */
static void dial_list(struct attempts *all, const struct tree_addresses *to,
                      struct sockaddr_storage local[2])
{
    uint64_t me = sy_machine_network();

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

static void dial_note(const struct sockaddr_storage *address, const char *why, struct sy_error *err)
{
    char text[SY_IP_TEXT];

    sy_tree.host->fail(err, ECONNREFUSED, "%s: %s", sy_socket_text(address, text), why);
}

static void dial_give_up(struct attempts *all, int i, const char *why, struct sy_error *err)
{
    if (all->wait[i].fd >= 0)
        close(all->wait[i].fd);
    all->wait[i].fd = -1;
    all->failed++;
    if (!all->code) /* which explains more than a refusal does */
        dial_note(all->address[i], why, err);
}

static void dial_begin(struct attempts *all, struct sy_error *err)
{
    int i = all->begun++, one = 1;
    const struct sockaddr_storage *to = all->address[i];

    all->until[i] = sy_tree_now() + all->patience;
    all->wait[i].fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (all->wait[i].fd < 0) {
        dial_give_up(all, i, strerror(errno), err);
        return;
    }
    setsockopt(all->wait[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(all->wait[i].fd, (const struct sockaddr *)to, sy_tree_address_length(to)) != 0 &&
        errno != EINPROGRESS)
        dial_give_up(all, i, strerror(errno), err);
}

static void dial_open(struct attempts *all, int i, struct sy_error *err)
{
    int code = 0;
    socklen_t length = sizeof code;

    if (getsockopt(all->wait[i].fd, SOL_SOCKET, SO_ERROR, &code, &length))
        code = errno;
    if (!code)
        code = -sy_tree_handshake_open(all->wait[i].fd, all->nonce[i]);
    if (code) {
        dial_give_up(all, i, strerror(code), err);
        return;
    }
    all->opened[i] = true;
    all->wait[i].events = POLLIN;
    all->until[i] = sy_tree_now() + all->patience;
}

/* Looks after attempt i; returns its socket if that one has proved to be the right one, else -1. */
static int dial_look(struct attempts *all, int i, double deadline, struct sy_error *err)
{
    struct sy_error why = {""};
    int fd = all->wait[i].fd;

    if (!all->wait[i].revents) {
        if (sy_tree_now() > all->until[i])
            dial_give_up(all, i, all->opened[i] ? "it connects, and says nothing" : "no answer",
                         err);
        return -1;
    }
    if (!all->opened[i]) {
        dial_open(all, i, err);
        return -1;
    }
    double limit = all->until[i] < deadline ? all->until[i] : deadline;
    int rc = sy_tree_handshake_finish(fd, all->nonce[i], limit, &why);
    if (rc) {
        dial_give_up(all, i, why.text, err);
        if (all->code != -EPROTONOSUPPORT)
            all->code = rc == -EPROTONOSUPPORT ? rc : -EACCES;
        return -1;
    }
    all->wait[i].fd = -1;
    return fd;
}

static bool dial_connected(const struct attempts *all)
{
    for (int i = 0; i < all->begun; i++)
        if (all->wait[i].fd >= 0 && all->opened[i])
            return true;
    return false;
}

/* Begins the next attempt when it is time. */
static bool dial_next(struct attempts *all, double last, struct sy_error *err)
{
    double pause = dial_connected(all) ? all->patience / 3 : STAGGER;

    if (all->begun == all->count || (all->begun > all->failed && sy_tree_now() < last + pause))
        return false;
    dial_begin(all, err);
    return true;
}

int sy_tree_dial(const struct tree_addresses *to, double patience, double deadline,
                 struct sy_error *err)
{
    struct sockaddr_storage local[2];
    struct attempts all = {.patience = patience};
    double last = 0;
    int fd = -1;

    dial_list(&all, to, local);
    while (fd < 0 && all.failed < all.count && sy_tree_now() < deadline) {
        if (dial_next(&all, last, err)) {
            last = sy_tree_now();
            continue;
        }
        if (poll(all.wait, (nfds_t)all.begun, 100) < 0)
            continue;
        for (int i = 0; fd < 0 && i < all.begun; i++)
            if (all.wait[i].fd >= 0)
                fd = dial_look(&all, i, deadline, err);
    }
    for (int i = 0; i < all.begun; i++)
        if (all.wait[i].fd >= 0)
            close(all.wait[i].fd);
    if (fd < 0 && err && !*err->text && all.count)
        dial_note(all.address[0], "no answer", err);
    return fd >= 0 ? fd : all.code ? all.code : -ECONNREFUSED;
}

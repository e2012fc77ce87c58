/* Connecting to a PE: its addresses are tried with a small delay between them, until one answers
 * and proves to belong to this job. Another machine may have the same address (of a container
 * network, say). A PE that has much to do is given time: no second address of it is tried soon
 * after one has connected. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"
#include "util/net/machine.h"
#include "util/net/way.h"

static const double STAGGER = 0.25; /* seconds between the beginnings of attempts */

enum { MOST = TREE_ADDRESSES + 2, NOTES = 160 };

struct attempts {
    struct sockaddr_storage address[MOST];
    struct pollfd wait[MOST];
    unsigned char nonce[MOST][TREE_NONCE];
    bool opened[MOST]; /* connected; the first word is said */
    double began[MOST], until[MOST], patience;
    int count, begun, failed;
    int code;         /* of what answered and does not belong to this job; or 0 */
    unsigned seen;    /* SY_WAY_ */
    char note[NOTES]; /* what became of the addresses */
    int unnoted;      /* of them, for which there was no room */
};

static void dial_add(struct attempts *all, const struct sy_ip *ip, uint16_t port)
{
    all->wait[all->count] = (struct pollfd){.fd = -1, .events = POLLOUT};
    sy_ip_socket(ip, port, 0, &all->address[all->count++]);
}

/* What is tried: loopback first where both are on one host. */
static void dial_list(struct attempts *all, const struct tree_addresses *to)
{
    static const struct sy_ip four = {.family = 4, .bytes = {127, 0, 0, 1}},
                              six = {.family = 6, .bytes = {[15] = 1}};
    uint64_t me = sy_machine_network();

    if (me && me == to->host && to->count) {
        dial_add(all, &four, to->port);
        dial_add(all, &six, to->port);
    }
    for (int i = 0; i < to->count && i < TREE_ADDRESSES; i++)
        dial_add(all, &to->entry[i], to->port);
}

/* What does not belong to this job explains more than a refusal does. */
static void dial_note(struct attempts *all, int i, const char *why)
{
    size_t used = strlen(all->note);
    char text[SY_IP_TEXT], line[NOTES];

    if (all->code)
        return;
    int length = snprintf(line, sizeof line, "%s%s: %s", used ? "; " : "",
                          sy_socket_text(&all->address[i], text), why);
    if (used && used + (size_t)length >= sizeof all->note)
        all->unnoted++;
    else
        snprintf(all->note + used, sizeof all->note - used, "%s", line);
}

static void dial_drop(struct attempts *all, int i, unsigned seen, const char *why)
{
    if (all->wait[i].fd >= 0)
        close(all->wait[i].fd);
    all->wait[i].fd = -1;
    all->failed++;
    all->seen |= seen;
    dial_note(all, i, why);
}

/* The time is over. */
static void dial_late(struct attempts *all, int i)
{
    char why[64];

    snprintf(why, sizeof why, "no answer within %.1f s", sy_net_now() - all->began[i]);
    if (all->opened[i])
        dial_drop(all, i, 0, "it connects, and says nothing");
    else
        dial_drop(all, i, SY_WAY_SILENT, why);
}

static void dial_begin(struct attempts *all)
{
    int i = all->begun++, one = 1;

    all->began[i] = sy_net_now();
    all->until[i] = all->began[i] + all->patience;
    all->wait[i].fd = sy_net_connect(&all->address[i]);
    if (all->wait[i].fd < 0)
        dial_drop(all, i, sy_way_seen(-all->wait[i].fd), strerror(-all->wait[i].fd));
    else
        setsockopt(all->wait[i].fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void dial_open(struct attempts *all, int i)
{
    int code = -sy_net_connected(all->wait[i].fd);

    if (!code)
        code = -sy_tree_handshake_open(all->wait[i].fd, all->nonce[i]);
    if (code) {
        dial_drop(all, i, sy_way_seen(code), strerror(code));
        return;
    }
    all->opened[i] = true;
    all->wait[i].events = POLLIN;
    all->until[i] = sy_net_now() + all->patience;
}

/* Looks after attempt i; returns its socket if that one has proved to be the right one, else -1. */
static int dial_look(struct attempts *all, int i, double deadline)
{
    struct sy_error why = {""};
    int fd = all->wait[i].fd;

    if (!all->wait[i].revents) {
        if (sy_net_now() > all->until[i])
            dial_late(all, i);
        return -1;
    }
    if (!all->opened[i]) {
        dial_open(all, i);
        return -1;
    }
    double limit = all->until[i] < deadline ? all->until[i] : deadline;
    int rc = sy_tree_handshake_finish(fd, all->nonce[i], limit, &why);
    if (rc) {
        if (!all->code)
            all->note[0] = '\0';
        dial_drop(all, i, 0, why.text);
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
static bool dial_next(struct attempts *all, double last)
{
    double pause = dial_connected(all) ? all->patience / 3 : STAGGER;

    if (all->begun == all->count || (all->begun > all->failed && sy_net_now() < last + pause))
        return false;
    dial_begin(all);
    return true;
}

static int dial_explain(struct attempts *all, struct sy_error *err)
{
    char more[40] = "", advice[300];

    for (int i = 0; i < all->begun; i++)
        if (all->wait[i].fd >= 0)
            dial_late(all, i);
    if (all->unnoted && !all->code)
        snprintf(more, sizeof more, "; and %d more address%s", all->unnoted,
                 all->unnoted > 1 ? "es" : "");
    sy_way_text(all->code ? 0 : all->seen,
                "SHMEM_CONTROL_PORT_RANGE=A:B chooses them, or SHMEM_ROOT that of PE 0",
                "SHMEM_CONTROL_INTERFACES", advice, sizeof advice);
    return sy_tree.host->fail(err, all->code ? -all->code : ECONNREFUSED, "%s%s%s",
                              *all->note ? all->note : "no time was left for an attempt", more,
                              advice);
}

int sy_tree_dial(const struct tree_addresses *to, double patience, double deadline,
                 struct sy_error *err)
{
    struct attempts all = {.patience = patience};
    double last = 0;
    int fd = -1;

    dial_list(&all, to);
    while (fd < 0 && all.failed < all.count && sy_net_now() < deadline) {
        if (dial_next(&all, last)) {
            last = sy_net_now();
            continue;
        }
        if (poll(all.wait, (nfds_t)all.begun, 100) < 0)
            continue;
        for (int i = 0; fd < 0 && i < all.begun; i++)
            if (all.wait[i].fd >= 0)
                fd = dial_look(&all, i, deadline);
    }
    if (fd < 0)
        return dial_explain(&all, err);
    for (int i = 0; i < all.begun; i++)
        if (all.wait[i].fd >= 0)
            close(all.wait[i].fd);
    return fd;
}

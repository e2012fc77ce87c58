/* Connecting to a PE: its addresses are tried with a small delay between them, until one answers
 * and proves to belong to this job. Another machine may have the same address (of a container
 * network, say). A busy PE is given time: after one address has connected, the next one is tried
 * much later. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/control/tree/state.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/net/machine.h"
#include "util/net/race.h"
#include "util/net/way.h"

struct attempts {
    struct sy_race race;
    struct pollfd wait[SY_RACE_MOST];
    unsigned char nonce[SY_RACE_MOST][TREE_NONCE];
    bool opened[SY_RACE_MOST]; /* connected; the first word is said */
    double began[SY_RACE_MOST], until[SY_RACE_MOST], patience;
    bool stranger; /* something has answered that does not belong to this job */
    bool silent;   /* an address has not answered, so nobody knows whether the PE is there */
    bool deaf;     /* one has connected, and did not answer */
};

static void dial_add(struct sy_race *race, const struct sy_ip *ip, uint16_t port)
{
    sy_ip_socket(ip, port, 0, &race->address[race->count++]);
}

/* Lists the addresses to try: loopback first where both are on one host. */
static void dial_list(struct sy_race *race, const struct tree_addresses *to)
{
    static const struct sy_ip four = {.family = 4, .bytes = {127, 0, 0, 1}},
                              six = {.family = 6, .bytes = {[15] = 1}};
    uint64_t me = sy_machine_network();

    if (me && me == to->host && to->count) {
        dial_add(race, &four, to->port);
        dial_add(race, &six, to->port);
    }
    for (int i = 0; i < to->count && i < TREE_ADDRESSES; i++)
        dial_add(race, &to->entry[i], to->port);
}

/* Drops an attempt and notes why. After an answer from outside the job refusals are not noted: the
 * answer explains more. */
static void dial_drop(struct attempts *all, unsigned i, unsigned seen, const char *why)
{
    sy_file_close(&all->wait[i].fd);
    all->race.open--;
    if (!all->stranger)
        sy_race_note(&all->race, i, seen, why);
}

/* The time of attempt i is over: drops it. */
static void dial_late(struct attempts *all, unsigned i)
{
    char why[64];

    snprintf(why, sizeof why, "no answer within %.1f s", sy_clock() - all->began[i]);
    all->silent = true;
    all->deaf = all->deaf || all->opened[i];
    if (all->opened[i])
        dial_drop(all, i, 0, "it connects, and says nothing");
    else
        dial_drop(all, i, SY_WAY_SILENT, why);
}

static void dial_begin(struct attempts *all)
{
    unsigned i = all->race.begun - 1;
    int fd = sy_net_connect(&all->race.address[i]), one = 1;

    all->began[i] = sy_clock();
    all->until[i] = all->began[i] + all->patience;
    all->wait[i] = (struct pollfd){.fd = fd, .events = POLLOUT};
    if (fd < 0)
        dial_drop(all, i, sy_way_seen(-fd), strerror(-fd));
    else
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void dial_open(struct tree *tree, struct attempts *all, unsigned i)
{
    int code = -sy_net_connected(all->wait[i].fd);

    if (!code)
        code = -sy_tree_handshake_open(tree, all->wait[i].fd, all->nonce[i]);
    if (code) {
        dial_drop(all, i, sy_way_seen(code), strerror(code));
        return;
    }
    all->opened[i] = true;
    all->wait[i].events = POLLIN;
    all->until[i] = sy_clock() + all->patience;
    sy_race_answered(&all->race, sy_clock_ns(), (uint64_t)(all->patience * 1e9 / 3));
}

/* Serves attempt i. Returns its socket once the other end has proved itself, else -1. */
static int dial_look(struct tree *tree, struct attempts *all, unsigned i, double deadline)
{
    struct sy_error why = {""};
    int fd = all->wait[i].fd;

    if (!all->wait[i].revents) {
        if (sy_clock() > all->until[i])
            dial_late(all, i);
        return -1;
    }
    if (!all->opened[i]) {
        dial_open(tree, all, i);
        return -1;
    }
    double limit = all->until[i] < deadline ? all->until[i] : deadline;
    if (sy_tree_handshake_finish(tree, fd, all->nonce[i], limit, &why)) {
        if (!all->stranger)
            sy_race_forget(&all->race);
        dial_drop(all, i, 0, why.text);
        all->stranger = true;
        return -1;
    }
    all->wait[i].fd = -1;
    return fd;
}

static int dial_explain(struct tree *tree, struct attempts *all, struct sy_error *err)
{
    char note[SY_RACE_TEXT], advice[300];

    for (unsigned i = 0; i < all->race.begun; i++)
        if (all->wait[i].fd >= 0)
            dial_late(all, i);
    sy_way_text(all->deaf ? 0 : all->race.seen,
                "SHMEM_CONTROL_PORT_RANGE=A:B chooses them, or SHMEM_ROOT that of PE 0",
                "SHMEM_CONTROL_INTERFACES", advice, sizeof advice);
    sy_race_text(&all->race, note);
    int code = all->stranger ? EACCES : all->silent || !*note ? ETIMEDOUT : ECONNREFUSED;
    return tree->host->fail(err, code, "%s%s", *note ? note : "no time was left for an attempt",
                            advice);
}

int sy_tree_dial(struct tree *tree, const struct tree_addresses *to, double patience,
                 double deadline, struct sy_error *err)
{
    struct attempts all = {.patience = patience};
    int fd = -1;

    dial_list(&all.race, to);
    while (fd < 0 && sy_clock() < deadline) {
        while (sy_race_next(&all.race, sy_clock_ns()))
            dial_begin(&all);
        if (!all.race.open)
            break;
        if (poll(all.wait, all.race.begun, 100) < 0)
            continue;
        for (unsigned i = 0; fd < 0 && i < all.race.begun; i++)
            if (all.wait[i].fd >= 0)
                fd = dial_look(tree, &all, i, deadline);
    }
    if (fd < 0)
        return dial_explain(tree, &all, err);
    for (unsigned i = 0; i < all.race.begun; i++)
        sy_file_close(&all.wait[i].fd);
    return fd;
}

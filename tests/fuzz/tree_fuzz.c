/* libFuzzer target: what other launchers send to the bootstraps. The first byte chooses the kind of
 * the rest: frames of the control tree, in each state of a connection and on PE 0 or another PE;
 * the contact; answers of a PMI server; Slurm's lists; places that users write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/pmi/client.h"
#include "bootstrap/slurm/nodes.h"
#include "bootstrap/control/tree/state.h"
#include "tests/host.h"
#include "util/bits.h"
#include "util/clock.h"

enum { NPES = 5 };

static const struct sy_host host = {.size = sizeof host, .fail = host_fail, .log = host_no_log};
static struct tree *tree;

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* ---- frames ---- */

static void set_up(int pe, bool complete, bool gathers)
{
    static char all[NPES * 4];
    static struct tree_user user = {.host = &host,
                                    .rank = {.npes = NPES, .job = "", .root_name = "there"}};

    sy_tree_new(&host, &tree, NULL);
    require(tree);
    tree->user = &user;
    tree->pe = pe;
    tree->npes = NPES;
    tree->complete = complete;
    if (pe == 0) {
        tree->gather.parts.host_of = sy_tree_host_of;
        tree->gather.parts.owner = tree;
        require(sy_gather_init(&tree->gather.parts, NPES) == 0);
        require(sy_report_init(&tree->stall.report, NPES, &sy_tree_reports, tree) == 0);
        tree->member = calloc(NPES, sizeof *tree->member);
        tree->joined = complete ? NULL : calloc(NPES, sizeof *tree->joined);
        tree->joins = 1;
    }
    if (gathers && pe)
        tree->gather = (struct tree_gather){.busy = true, .length = 4, .all = all};
}

static void tear_down(void)
{
    for (struct tree_link *link = tree->links; link; link = link->next)
        sy_tree_link_close(link);
    sy_tree_bury(tree);
    require(!tree->silent && !tree->opened && !tree->proved && !tree->children);
    sy_tree_free(tree);
}

/* A neighbour or a stranger sends all of the input; another neighbour is there to be forwarded to.
 */
static void frames(const uint8_t *data, size_t size)
{
    static const enum tree_link_state states[] = {TREE_LINK_HELLO, TREE_LINK_PROVED,
                                                  TREE_LINK_CHILD, TREE_LINK_PARENT};
    enum tree_link_state state = states[data[0] & 3];
    int pe = data[0] & 4 ? 0 : 2, pair[2], other[2];

    if (state == TREE_LINK_PARENT)
        pe = 2;
    set_up(pe, data[0] & 8, data[0] & 16);
    require(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair) &&
            !socketpair(AF_UNIX, SOCK_STREAM, 0, other));
    struct tree_link *link = sy_tree_link_new(tree, pair[0], state);
    struct tree_link *next = sy_tree_link_new(
        tree, other[0], pe && state != TREE_LINK_PARENT ? TREE_LINK_PARENT : TREE_LINK_CHILD);
    require(link && next);
    next->pe = 3;
    if (next->state == TREE_LINK_PARENT)
        tree->parent = next;
    if (state == TREE_LINK_PARENT)
        tree->parent = link;
    unsigned char nonce[TREE_NONCE];
    if (data[0] & 64)
        require(!sy_tree_handshake_open(tree, pair[1], nonce));
    ssize_t sent = send(pair[1], data + 1, size - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    require(sent == (ssize_t)size - 1);
    sy_tree_link_read(link);
    if (state == TREE_LINK_HELLO)
        require(link->in.room <= 512 && link->out.queued <= 512);
    if (data[0] & 32) {
        shutdown(pair[1], SHUT_RDWR);
        if (link->state != TREE_LINK_DEAD)
            sy_tree_link_read(link);
    }
    tear_down();
    close(pair[1]);
    close(other[1]);
}

/* ---- texts ---- */

static void contact(const char *text)
{
    struct tree_contact read, again;
    char out[TREE_CONTACT_TEXT];

    if (sy_tree_contact_decode(text, &read) != 0)
        return;
    require(read.root.count > 0 && read.root.count <= TREE_ADDRESSES);
    sy_tree_contact_encode(&read, out);
    require(sy_tree_contact_decode(out, &again) == 0 && !memcmp(&read, &again, sizeof read));
}

/* The server's part of a conversation is written at once; what the client sends is discarded. */
static void pmi(const uint8_t *data, size_t size)
{
    struct pmi_client client = {.host = &host, .fd = -1, .deadline = sy_clock() + 5};
    struct sy_error err;
    char value[TREE_CONTACT_TEXT], number[16];
    int pair[2];

    require(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    require(send(pair[1], data + 1, size - 1, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size - 1);
    shutdown(pair[1], SHUT_WR);
    snprintf(number, sizeof number, "%d", pair[0]);
    setenv("PMI_FD", number, 1);
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_SIZE", "3", 1);
    if (sy_pmi_open(&client, data[0] % 3, &err) == 0) {
        require(client.rank >= 0 && client.rank < client.size);
        sy_pmi_one_node(&client);
        sy_pmi_put(&client, "key", "value", &err);
        sy_pmi_barrier_enter(&client, &err);
        sy_pmi_barrier_wait(&client, &err);
        if (sy_pmi_get(&client, "key", value, sizeof value, &err) == 0)
            require(strlen(value) < sizeof value);
    }
    sy_pmi_drop(&client);
    close(pair[0]);
    close(pair[1]);
}

static void lists(const char *text, uint8_t number)
{
    char name[64];
    uint16_t port = number;

    if (sy_slurm_host(text, number, name, sizeof name))
        require(strlen(name) < sizeof name);
    require(sy_slurm_node_of(text, number) <= number);
    sy_pmi_mapping_is_one_node(text);
    if (sy_place_split(text, name, sizeof name, &port) == 0)
        require(port && *name && strlen(name) < sizeof name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[4096];

    if (size < 2 || size > sizeof text)
        return 0;
    size_t length = size - 2;
    memcpy(text, data + 2, length);
    text[length] = '\0';
    switch (data[0] & 3) {
    case 0:
    case 1:
        frames(data + 1, size - 1);
        break;
    case 2:
        pmi(data + 1, size - 1);
        break;
    default:
        contact(text);
        lists(text, data[1]);
    }
    return 0;
}

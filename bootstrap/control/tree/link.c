/* Connections: buffers, frames, and the loop that serves them. What a frame means is known
 * elsewhere. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"
#include "util/clock.h"

enum { READ = 64 * 1024, ROUND = 64 };

double sy_tree_limit(struct tree *tree)
{
    return tree->host->start ? tree->host->start->init_timeout : 120;
}

double sy_tree_patience(struct tree *tree)
{
    double limit = sy_tree_limit(tree) / 4;

    return limit > 10 ? limit : 10;
}

/* ---- life ---- */

struct tree_link *sy_tree_link_new(struct tree *tree, int fd, enum tree_link_state state)
{
    struct tree_link *link = calloc(1, sizeof *link);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};

    if (!link || epoll_ctl(tree->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(link);
        return NULL;
    }
    link->tree = tree;
    link->fd = fd;
    link->pe = -1;
    link->state = TREE_LINK_DEAD;
    sy_tree_link_become(link, state);
    link->deadline = sy_clock() + sy_tree_patience(tree);
    link->next = tree->links;
    tree->links = link;
    return link;
}

/* Has the kernel probe the connection. The other kernel answers, so a PE that is stopped or
 * computes is not taken for lost. */
void sy_tree_link_guard(struct tree *tree, int fd)
{
    const struct sy_start *start = tree->host->start;
    double limit = start ? start->peer_timeout : 10;
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (limit <= 0 || limit > 1e6)
        return;
    int idle = limit < 4 ? 1 : (int)(limit / 4), milliseconds = (int)(limit * 1000);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

static bool is_pending(enum tree_link_state state)
{
    return state == TREE_LINK_HELLO || state == TREE_LINK_OPENED || state == TREE_LINK_PROVED;
}

static int *tree_link_count(struct tree *tree, enum tree_link_state state)
{
    switch (state) {
    case TREE_LINK_HELLO:
        return &tree->silent;
    case TREE_LINK_OPENED:
        return &tree->opened;
    case TREE_LINK_PROVED:
        return &tree->proved;
    case TREE_LINK_CHILD:
        return &tree->children;
    default:
        return NULL;
    }
}

void sy_tree_link_become(struct tree_link *link, enum tree_link_state state)
{
    struct tree *tree = link->tree;
    int *from = tree_link_count(tree, link->state), *to = tree_link_count(tree, state);

    if (from)
        (*from)--;
    if (to)
        (*to)++;
    if (link->state == TREE_LINK_PARENT)
        tree->parent = NULL;
    link->state = state;
}

/* The memory stays until the end of the round: epoll may have returned events for it. */
void sy_tree_link_close(struct tree_link *link)
{
    struct tree *tree = link->tree;
    if (link->state == TREE_LINK_DEAD)
        return;
    sy_tree_link_become(link, TREE_LINK_DEAD);
    /* close() does not take the socket out of the set while a child process has it open. */
    epoll_ctl(tree->epoll, EPOLL_CTL_DEL, link->fd, NULL);
    close(link->fd);
}

void sy_tree_bury(struct tree *tree)
{
    for (struct tree_link **at = &tree->links; *at;) {
        struct tree_link *link = *at;
        if (link->state != TREE_LINK_DEAD) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        sy_frames_in_free(&link->in);
        sy_frames_out_free(&link->out);
        free(link);
    }
}

/* Ends a broken connection. The loss of a neighbour is reported; no other connection matters. */
static void tree_link_broken(struct tree_link *link, const char *why)
{
    bool neighbour = link->state == TREE_LINK_CHILD || link->state == TREE_LINK_PARENT;

    if (neighbour)
        sy_tree_upper.gone(link, why);
    sy_tree_link_close(link);
}

/* ---- writing ---- */

static void tree_link_want_to_write(struct tree_link *link, bool want)
{
    struct tree *tree = link->tree;
    struct epoll_event event = {.events = EPOLLIN | (want ? (uint32_t)EPOLLOUT : 0),
                                .data.ptr = link};

    if (want != link->writing)
        epoll_ctl(tree->epoll, EPOLL_CTL_MOD, link->fd, &event);
    link->writing = want;
}

static void tree_link_flush(struct tree_link *link)
{
    bool more = sy_frames_flush(&link->out, link->fd);

    tree_link_want_to_write(link, more);
    if (!more && link->state == TREE_LINK_PARTING)
        shutdown(link->fd, SHUT_WR);
}

static void tree_link_queue(struct tree_link *link, struct sy_packet *packet)
{
    if (!packet || sy_frames_put(&link->out, packet))
        tree_link_broken(link, "no memory for messages to it");
    else
        tree_link_flush(link);
}

void sy_tree_link_put(struct tree_link *link, struct sy_packet *packet)
{
    if (link->state != TREE_LINK_DEAD)
        tree_link_queue(link, packet);
    sy_packet_drop(packet);
}

void sy_tree_link_write(struct tree_link *link, const void *data, size_t length)
{
    sy_tree_link_put(link, sy_packet_raw(data, length));
}

void sy_tree_link_send(struct tree_link *link, const struct sy_frame *frame, const void *body)
{
    sy_tree_link_put(link, sy_packet_new(frame, body, frame->length, NULL));
}

void sy_tree_send_up(struct tree *tree, const struct sy_frame *frame, const void *body)
{
    if (tree->parent)
        sy_tree_link_send(tree->parent, frame, body);
}

void sy_tree_send_to(struct tree *tree, struct sy_packet *packet, const struct tree_link *except,
                     bool up)
{
    for (struct tree_link *link = tree->links; link; link = link->next)
        if (link != except &&
            (link->state == TREE_LINK_CHILD || (up && link->state == TREE_LINK_PARENT)))
            tree_link_queue(link, packet);
    sy_packet_drop(packet);
}

void sy_tree_send_children(struct tree *tree, const struct sy_frame *frame, const void *body)
{
    sy_tree_send_to(tree, sy_packet_new(frame, body, frame->length, NULL), NULL, false);
}

void sy_tree_send_all_but(struct tree *tree, const struct tree_link *except,
                          enum sy_control_type type, int pe, int arg, const void *body,
                          size_t length)
{
    const struct sy_frame frame = {.type = type, .length = (uint32_t)length, .pe = pe, .arg = arg};

    sy_tree_send_to(tree, sy_packet_new(&frame, body, length, NULL), except, true);
}

/* ---- reading ---- */

/* Judges a frame by its header: one that may not come now ends the connection before memory is
 * allocated for its body. */
static bool tree_link_may_come(const struct tree_link *link, const struct sy_frame *frame)
{
    struct tree *tree = link->tree;
    const struct tree_gather *g = &tree->gather;
    bool parent = link->state == TREE_LINK_PARENT, proved = link->state == TREE_LINK_PROVED;

    if (!parent && !proved && link->state != TREE_LINK_CHILD)
        return false;
    if (sy_frame_fault(frame, parent ? SY_FRAME_AT_CHILD : SY_FRAME_AT_PARENT,
                       proved           ? SY_FRAME_NEW
                       : tree->complete ? SY_FRAME_RUNNING
                                        : SY_FRAME_STARTING))
        return false;
    switch (frame->type) {
    case SY_CONTROL_JOIN:
    case SY_CONTROL_ATTACH:
        return frame->length == sizeof(struct tree_join_body);
    case SY_CONTROL_ALL:
        return frame->length == sizeof(struct tree_all_body);
    case SY_CONTROL_GATHERED: /* comes after this PE's own part of it has gone up */
        return g->busy && !g->done && frame->length == g->length * (size_t)tree->npes;
    default:
        return true;
    }
}

static int tree_link_take_frame(struct tree_link *link)
{
    struct sy_frame frame;

    if (!sy_frames_next(&link->in, &frame))
        return 0;
    if (!tree_link_may_come(link, &frame))
        return -EMSGSIZE;
    const char *body = sy_frames_take(&link->in, &frame);
    if (!body)
        return 0;
    int rc = sy_tree_upper.take[frame.type](link->tree, link, &frame, body);
    return rc ? rc : 1;
}

static int tree_link_digest(struct tree_link *link)
{
    int rc = 1;

    if (link->state == TREE_LINK_HELLO || link->state == TREE_LINK_OPENED)
        rc = sy_tree_handshake_server(link);
    while (rc > 0 && link->state != TREE_LINK_DEAD)
        rc = tree_link_take_frame(link);
    return rc;
}

/* How many bytes to read from a connection. A stranger gets no more memory than what a PE would
 * say. */
static size_t tree_link_room(const struct tree_link *link)
{
    size_t have = sy_frames_held(&link->in), join;

    if (link->state == TREE_LINK_HELLO || link->state == TREE_LINK_OPENED)
        return sy_tree_handshake_wants(link) - have;
    join = sizeof(struct sy_frame) + sizeof(struct tree_join_body);
    return link->state == TREE_LINK_PROVED && have < join ? join - have : READ;
}

void sy_tree_link_read(struct tree_link *link)
{
    static const char no_memory[] = "no memory for messages from it";
    while (link->state != TREE_LINK_DEAD) {
        size_t most = tree_link_room(link);
        ssize_t n = sy_frames_receive(&link->in, link->fd, most);

        if (n == -EAGAIN)
            return;
        if (n <= 0) {
            tree_link_broken(link, n == 0 || n == -ECONNRESET ? NULL
                                   : n == -ENOMEM             ? no_memory
                                                              : strerror((int)-n));
            return;
        }
        /* Neighbours have proved who they are, so a frame that makes no sense is of another
         * version. */
        int rc = tree_link_digest(link);
        if (rc < 0)
            tree_link_broken(link, rc == -ENOMEM ? no_memory
                                                 : "it speaks another version of the protocol");
        /* One whose bytes are thrown away may send them faster than they are read. */
        if ((size_t)n < most || link->refused)
            return;
    }
}

/* ---- the loop ---- */

static bool link_pending(struct tree *tree)
{
    return tree->silent || tree->opened || tree->proved;
}

static void tree_link_drop_late(struct tree *tree)
{
    double time = sy_clock();

    for (struct tree_link *link = tree->links; link_pending(tree) && link; link = link->next)
        if (is_pending(link->state) && time > link->deadline)
            sy_tree_link_close(link);
}

void sy_tree_pump(struct tree *tree, double seconds)
{
    struct epoll_event events[ROUND];
    int wait = seconds > 1000 ? 1000000 : (int)(seconds * 1000 + 0.999);

    if (link_pending(tree) && wait > 1000)
        wait = 1000;
    int count = epoll_wait(tree->epoll, events, ROUND, wait);
    for (int i = 0; i < count; i++) {
        struct tree_link *link = events[i].data.ptr;
        if (sy_tree_upper.accept(tree, link))
            continue;
        if (events[i].data.ptr == &tree->stall) {
            sy_tree_upper.late(tree);
            continue;
        }
        if (events[i].data.ptr == &tree->launcher) {
            sy_tree_upper.orphaned(tree);
            continue;
        }
        if (link->state != TREE_LINK_DEAD && events[i].events & EPOLLOUT)
            tree_link_flush(link);
        if (link->state != TREE_LINK_DEAD && events[i].events & ~(uint32_t)EPOLLOUT)
            sy_tree_link_read(link);
    }
    tree_link_drop_late(tree);
    sy_tree_bury(tree);
}

void sy_tree_flush(struct tree *tree, double seconds)
{
    double deadline = sy_clock() + seconds;

    for (struct tree_link *link = tree->links; link; link = link->next)
        while (link->state != TREE_LINK_DEAD && link->writing &&
               sy_net_wait(link->fd, POLLOUT, &deadline) == 0)
            tree_link_flush(link);
}

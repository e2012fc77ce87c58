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

#include "bootstrap/tree/state.h"

enum { READ = 64 * 1024, ROUND = 64 };

/* ---- life ---- */

struct tree_link *sy_tree_link_new(int fd, enum tree_link_state state)
{
    struct tree_link *link = calloc(1, sizeof *link);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};

    if (!link || epoll_ctl(sy_tree.epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        free(link);
        return NULL;
    }
    link->fd = fd;
    link->pe = -1;
    link->state = TREE_LINK_DEAD;
    sy_tree_link_become(link, state);
    link->deadline = sy_tree_now() + sy_tree_patience();
    link->next = sy_tree.links;
    sy_tree.links = link;
    return link;
}

/* Probes come from the kernel and are answered by the kernel, so a PE that is stopped or computes
 * is not taken for lost. */
void sy_tree_link_guard(int fd)
{
    const struct sy_start *start = sy_tree.host->start;
    double limit = start ? start->peer_timeout : 10;
    int one = 1, idle = (int)(limit / 4), milliseconds = (int)(limit * 1000);

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (limit <= 0 || limit > 1e6)
        return;
    idle = idle > 0 ? idle : 1;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

static bool is_pending(enum tree_link_state state)
{
    return state == TREE_LINK_HELLO || state == TREE_LINK_OPENED || state == TREE_LINK_PROVED;
}

static int *tree_link_count(enum tree_link_state state)
{
    switch (state) {
    case TREE_LINK_HELLO:
        return &sy_tree.silent;
    case TREE_LINK_OPENED:
        return &sy_tree.opened;
    case TREE_LINK_PROVED:
        return &sy_tree.proved;
    case TREE_LINK_CHILD:
        return &sy_tree.children;
    default:
        return NULL;
    }
}

void sy_tree_link_become(struct tree_link *link, enum tree_link_state state)
{
    int *from = tree_link_count(link->state), *to = tree_link_count(state);

    if (from)
        (*from)--;
    if (to)
        (*to)++;
    if (link->state == TREE_LINK_PARENT)
        sy_tree.parent = NULL;
    link->state = state;
}

/* The memory stays until the end of the round: events for it may be on hand. */
void sy_tree_link_close(struct tree_link *link)
{
    if (link->state == TREE_LINK_DEAD)
        return;
    sy_tree_link_become(link, TREE_LINK_DEAD);
    /* Closing is not enough where a child of fork has the socket too. */
    epoll_ctl(sy_tree.epoll, EPOLL_CTL_DEL, link->fd, NULL);
    close(link->fd);
}

/* The seed of the job's key may have gone through it. */
static void tree_link_buffer_free(struct tree_buffer *buffer)
{
    if (buffer->data)
        explicit_bzero(buffer->data, buffer->room);
    free(buffer->data);
}

void sy_tree_bury(void)
{
    for (struct tree_link **at = &sy_tree.links; *at;) {
        struct tree_link *link = *at;
        if (link->state != TREE_LINK_DEAD) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        tree_link_buffer_free(&link->in);
        tree_link_buffer_free(&link->out);
        free(link);
    }
}

/* A neighbour's connection broke; anybody else's does not matter. */
static void tree_link_broken(struct tree_link *link, const char *why)
{
    bool neighbour = link->state == TREE_LINK_CHILD || link->state == TREE_LINK_PARENT;

    if (neighbour)
        sy_tree_on_gone(link, why);
    sy_tree_link_close(link);
}

/* ---- buffers ---- */

static int tree_link_make_room(struct tree_buffer *buffer, size_t more)
{
    if (buffer->taken) {
        buffer->length -= buffer->taken;
        memmove(buffer->data, buffer->data + buffer->taken, buffer->length);
        buffer->taken = 0;
    }
    if (buffer->length + more <= buffer->room)
        return 0;
    size_t room = buffer->room ? buffer->room * 2 : 128;
    while (room < buffer->length + more)
        room *= 2;
    char *data = realloc(buffer->data, room);
    if (!data)
        return -ENOMEM;
    buffer->data = data;
    buffer->room = room;
    return 0;
}

static int tree_link_append(struct tree_buffer *buffer, const void *data, size_t length)
{
    int rc = length ? tree_link_make_room(buffer, length) : 0;

    if (rc == 0 && length) {
        memcpy(buffer->data + buffer->length, data, length);
        buffer->length += length;
    }
    return rc;
}

/* ---- writing ---- */

static void tree_link_want_to_write(struct tree_link *link, bool want)
{
    struct epoll_event event = {.events = EPOLLIN | (want ? (uint32_t)EPOLLOUT : 0),
                                .data.ptr = link};

    if (want != link->writing)
        epoll_ctl(sy_tree.epoll, EPOLL_CTL_MOD, link->fd, &event);
    link->writing = want;
}

/* Failures show when reading, where they are told from a good end. */
static void tree_link_flush(struct tree_link *link)
{
    struct tree_buffer *out = &link->out;

    while (out->taken < out->length) {
        ssize_t n = send(link->fd, out->data + out->taken, out->length - out->taken,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            out->taken = out->length;
        if (n < 0)
            break;
        out->taken += (size_t)n;
    }
    bool more = out->taken < out->length;
    tree_link_want_to_write(link, more);
    if (!more && link->state == TREE_LINK_PARTING)
        shutdown(link->fd, SHUT_WR);
}

void sy_tree_link_write(struct tree_link *link, const void *data, size_t length)
{
    if (tree_link_append(&link->out, data, length) != 0)
        tree_link_broken(link, "no memory for messages to it");
    else
        tree_link_flush(link);
}

void sy_tree_link_send(struct tree_link *link, enum tree_frame type, int pe, int arg,
                       const void *first, size_t first_length, const void *second,
                       size_t second_length)
{
    struct tree_header header = {
        .length = (uint32_t)(first_length + second_length), .type = type, .pe = pe, .arg = arg};

    if (link->state == TREE_LINK_DEAD)
        return;
    if (tree_link_append(&link->out, &header, sizeof header) != 0 ||
        tree_link_append(&link->out, first, first_length) != 0 ||
        tree_link_append(&link->out, second, second_length) != 0)
        tree_link_broken(link, "no memory for messages to it");
    else
        tree_link_flush(link);
}

void sy_tree_send_children(enum tree_frame type, int pe, int arg, const void *body, size_t length)
{
    for (struct tree_link *link = sy_tree.links; link; link = link->next)
        if (link->state == TREE_LINK_CHILD)
            sy_tree_link_send(link, type, pe, arg, body, length, NULL, 0);
}

void sy_tree_send_all_but(const struct tree_link *except, enum tree_frame type, int pe, int arg,
                          const void *body, size_t length)
{
    for (struct tree_link *link = sy_tree.links; link; link = link->next)
        if (link != except && (link->state == TREE_LINK_CHILD || link->state == TREE_LINK_PARENT))
            sy_tree_link_send(link, type, pe, arg, body, length, NULL, 0);
}

/* ---- reading ---- */

/* The longest body of a frame, by its type and by who may send it when: what is longer ends the
 * connection before memory is taken for it. -1: no such frame may come now. */
static ssize_t tree_link_longest(const struct tree_link *link, uint32_t type)
{
    const struct tree_gather *g = &sy_tree.gather;
    bool child = link->state == TREE_LINK_CHILD, parent = link->state == TREE_LINK_PARENT;
    bool complete = sy_tree.complete;

    if (link->state == TREE_LINK_PROVED)
        return type == TREE_JOIN || type == TREE_ATTACH ? (ssize_t)sizeof(struct tree_join_body)
                                                        : -1;
    if (!child && !parent)
        return -1;
    switch (type) {
    case TREE_HERE:
        return child && !complete ? TREE_HOST_NAME : -1;
    case TREE_ALL:
        return parent && !complete ? (ssize_t)sizeof(struct tree_all_body) : -1;
    case TREE_UP:
        return child && complete ? TREE_BODY_MOST : -1;
    case TREE_DOWN: /* comes after this PE's own part of it has gone up */
        return parent && g->busy && !g->done ? (ssize_t)(g->length * (size_t)sy_tree.npes) : -1;
    case TREE_ABORT:
        return 1;
    case TREE_MARK:
        return 0;
    case TREE_ASK:
        return parent && complete ? 0 : -1;
    case TREE_REST:
        return child && complete ? (ssize_t)sizeof(uint64_t) : -1;
    case TREE_NOTE:
        return child && complete ? TREE_WORDS : -1;
    default:
        return -1;
    }
}

/* What may come now has been decided. Negative: the other end does not keep to the rules. */
static int tree_link_dispatch(struct tree_link *link, const struct tree_header *header,
                              const char *body)
{
    switch (header->type) {
    case TREE_JOIN:
    case TREE_ATTACH:
        return sy_tree_on_join(link, header, body);
    case TREE_HERE:
        if (header->length != TREE_HOST_NAME)
            return -EPROTO;
        sy_tree_on_here(header, body);
        return 0;
    case TREE_ALL:
        if (header->length != sizeof(struct tree_all_body))
            return -EPROTO;
        sy_tree_on_all(body);
        return 0;
    case TREE_UP:
        return sy_tree_on_up(header, body);
    case TREE_DOWN:
        return sy_tree_on_down(header, body);
    case TREE_MARK:
        link->finalized = header->arg == SY_MARK_FINALIZED;
        return 0;
    case TREE_ABORT:
        sy_tree_on_abort(link, header);
        return 0;
    case TREE_ASK:
        sy_tree_on_ask();
        return 0;
    case TREE_REST:
        return header->length == sizeof(uint64_t) ? sy_tree_on_rest(header, body) : -EPROTO;
    case TREE_NOTE:
        return sy_tree_on_note(header, body);
    default:
        return -EPROTO;
    }
}

static int tree_link_take_frame(struct tree_link *link)
{
    struct tree_buffer *in = &link->in;
    struct tree_header header;

    if (in->length - in->taken < sizeof header)
        return 0;
    memcpy(&header, in->data + in->taken, sizeof header);
    ssize_t longest = tree_link_longest(link, header.type);
    if (longest < 0 || header.length > (size_t)longest)
        return -EMSGSIZE;
    size_t length = sizeof header + (size_t)header.length;
    if (in->length - in->taken < length)
        return 0;
    in->taken += length;
    int rc = tree_link_dispatch(link, &header, in->data + in->taken - header.length);
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

/* A stranger is given no more memory than what a PE would say. */
static size_t tree_link_room(const struct tree_link *link)
{
    size_t have = link->in.length - link->in.taken, join;

    if (link->state == TREE_LINK_HELLO || link->state == TREE_LINK_OPENED)
        return sy_tree_handshake_wants(link) - have;
    join = sizeof(struct tree_header) + sizeof(struct tree_join_body);
    return link->state == TREE_LINK_PROVED && have < join ? join - have : READ;
}

void sy_tree_link_read(struct tree_link *link)
{
    while (link->state != TREE_LINK_DEAD) {
        size_t most = tree_link_room(link);
        if (tree_link_make_room(&link->in, most) != 0) {
            tree_link_broken(link, "no memory for messages from it");
            return;
        }
        ssize_t n = recv(link->fd, link->in.data + link->in.length, most, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            tree_link_broken(link, n == 0 || errno == ECONNRESET ? NULL : strerror(errno));
            return;
        }
        link->in.length += (size_t)n;
        /* Neighbours have proved who they are: what makes no sense from them is another version. */
        if (tree_link_digest(link) < 0)
            tree_link_broken(link, "it speaks another version of the protocol");
        if ((size_t)n < most)
            return;
    }
}

/* ---- the loop ---- */

static bool link_pending(void)
{
    return sy_tree.silent || sy_tree.opened || sy_tree.proved;
}

static void tree_link_drop_late(void)
{
    double time = sy_tree_now();

    for (struct tree_link *link = sy_tree.links; link_pending() && link; link = link->next)
        if (is_pending(link->state) && time > link->deadline)
            sy_tree_link_close(link);
}

void sy_tree_pump(double seconds)
{
    struct epoll_event events[ROUND];
    int wait = seconds > 1000 ? 1000000 : (int)(seconds * 1000 + 0.999);

    if (link_pending() && wait > 1000)
        wait = 1000;
    int count = epoll_wait(sy_tree.epoll, events, ROUND, wait);
    for (int i = 0; i < count; i++) {
        struct tree_link *link = events[i].data.ptr;
        if (sy_tree_accept(link))
            continue;
        if (events[i].data.ptr == &sy_tree.stall) {
            sy_tree_on_late();
            continue;
        }
        if (link->state != TREE_LINK_DEAD && events[i].events & EPOLLOUT)
            tree_link_flush(link);
        if (link->state != TREE_LINK_DEAD && events[i].events & ~(uint32_t)EPOLLOUT)
            sy_tree_link_read(link);
    }
    tree_link_drop_late();
    sy_tree_bury();
}

void sy_tree_flush(double seconds)
{
    double deadline = sy_tree_now() + seconds;

    for (struct tree_link *link = sy_tree.links; link; link = link->next)
        while (link->state != TREE_LINK_DEAD && link->writing &&
               sy_tree_wait(link->fd, POLLOUT, deadline) == 0)
            tree_link_flush(link);
}

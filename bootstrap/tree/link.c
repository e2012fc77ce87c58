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

enum { READ = 64 * 1024, ROUND = 64, PENDING_LIMIT = 5 /* seconds */ };

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
    link->deadline = sy_tree_now() + PENDING_LIMIT;
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
    return state == TREE_LINK_HELLO || state == TREE_LINK_PROVED;
}

void sy_tree_link_become(struct tree_link *link, enum tree_link_state state)
{
    sy_tree.pending += is_pending(state) - is_pending(link->state);
    sy_tree.children += (state == TREE_LINK_CHILD) - (link->state == TREE_LINK_CHILD);
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

void sy_tree_bury(void)
{
    for (struct tree_link **at = &sy_tree.links; *at;) {
        struct tree_link *link = *at;
        if (link->state != TREE_LINK_DEAD) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        free(link->in.data);
        free(link->out.data);
        free(link);
    }
}

/* A neighbour's connection broke; anybody else's does not matter. */
static void broken(struct tree_link *link, const char *why)
{
    bool neighbour = link->state == TREE_LINK_CHILD || link->state == TREE_LINK_PARENT;

    if (neighbour)
        sy_tree_on_gone(link, why);
    sy_tree_link_close(link);
}

/* ---- buffers ---- */

static int make_room(struct tree_buffer *buffer, size_t more)
{
    if (buffer->taken) {
        buffer->length -= buffer->taken;
        memmove(buffer->data, buffer->data + buffer->taken, buffer->length);
        buffer->taken = 0;
    }
    if (buffer->length + more <= buffer->room)
        return 0;
    size_t room = buffer->room ? buffer->room * 2 : 512;
    while (room < buffer->length + more)
        room *= 2;
    char *data = realloc(buffer->data, room);
    if (!data)
        return -ENOMEM;
    buffer->data = data;
    buffer->room = room;
    return 0;
}

static int append(struct tree_buffer *buffer, const void *data, size_t length)
{
    int rc = length ? make_room(buffer, length) : 0;

    if (rc == 0 && length) {
        memcpy(buffer->data + buffer->length, data, length);
        buffer->length += length;
    }
    return rc;
}

/* ---- writing ---- */

static void want_to_write(struct tree_link *link, bool want)
{
    struct epoll_event event = {.events = EPOLLIN | (want ? (uint32_t)EPOLLOUT : 0),
                                .data.ptr = link};

    if (want != link->writing)
        epoll_ctl(sy_tree.epoll, EPOLL_CTL_MOD, link->fd, &event);
    link->writing = want;
}

/* Failures show when reading, where they are told from a good end. */
static void flush(struct tree_link *link)
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
    want_to_write(link, more);
    if (!more && link->state == TREE_LINK_PARTING)
        shutdown(link->fd, SHUT_WR);
}

void sy_tree_link_write(struct tree_link *link, const void *data, size_t length)
{
    if (append(&link->out, data, length) != 0)
        broken(link, "no memory for messages to it");
    else
        flush(link);
}

void sy_tree_link_send(struct tree_link *link, enum tree_frame type, int pe, int arg,
                       const void *first, size_t first_length, const void *second,
                       size_t second_length)
{
    struct tree_header header = {
        .length = (uint32_t)(first_length + second_length), .type = type, .pe = pe, .arg = arg};

    if (link->state == TREE_LINK_DEAD)
        return;
    if (append(&link->out, &header, sizeof header) != 0 ||
        append(&link->out, first, first_length) != 0 ||
        append(&link->out, second, second_length) != 0)
        broken(link, "no memory for messages to it");
    else
        flush(link);
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

static size_t longest(const struct tree_link *link)
{
    if (!sy_tree.complete)
        return TREE_BODY_EARLY;
    return link->state == TREE_LINK_PARENT ? UINT32_MAX : TREE_BODY_MOST;
}

/* Negative: the other end does not keep to the rules. */
static int dispatch(struct tree_link *link, const struct tree_header *header, const char *body)
{
    bool child = link->state == TREE_LINK_CHILD, parent = link->state == TREE_LINK_PARENT;

    switch (header->type) {
    case TREE_JOIN:
    case TREE_ATTACH:
        return link->state == TREE_LINK_PROVED ? sy_tree_on_join(link, header, body) : -EPROTO;
    case TREE_HERE:
        if (!child || sy_tree.complete || header->length != TREE_HOST_NAME)
            return -EPROTO;
        sy_tree_on_here(header, body);
        return 0;
    case TREE_ALL:
        if (!parent || sy_tree.complete || header->length != sizeof(struct tree_all_body))
            return -EPROTO;
        sy_tree_on_all(body);
        return 0;
    case TREE_UP:
        return child ? sy_tree_on_up(header, body) : -EPROTO;
    case TREE_DOWN:
        return parent ? sy_tree_on_down(header, body) : -EPROTO;
    case TREE_MARK:
        link->finalized = header->arg == SY_MARK_FINALIZED;
        return child || parent ? 0 : -EPROTO;
    case TREE_ABORT:
        sy_tree_on_abort(link, header);
        return child || parent ? 0 : -EPROTO;
    case TREE_ASK:
        if (!parent || !sy_tree.complete || header->length)
            return -EPROTO;
        sy_tree_on_ask();
        return 0;
    case TREE_NOTE:
        return child && sy_tree.complete && header->length <= TREE_WORDS
                   ? sy_tree_on_note(header, body)
                   : -EPROTO;
    default:
        return -EPROTO;
    }
}

static int take_frame(struct tree_link *link)
{
    struct tree_buffer *in = &link->in;
    struct tree_header header;

    if (in->length - in->taken < sizeof header)
        return 0;
    memcpy(&header, in->data + in->taken, sizeof header);
    if (header.length > longest(link))
        return -EMSGSIZE;
    if (in->length - in->taken < sizeof header + header.length)
        return 0;
    in->taken += sizeof header + header.length;
    int rc = dispatch(link, &header, in->data + in->taken - header.length);
    return rc ? rc : 1;
}

static int digest(struct tree_link *link)
{
    int rc = 1;

    if (link->state == TREE_LINK_HELLO) {
        rc = sy_tree_handshake_server(link);
        if (rc == 1)
            sy_tree_link_become(link, TREE_LINK_PROVED);
    }
    while (rc > 0 && link->state != TREE_LINK_DEAD)
        rc = take_frame(link);
    return rc;
}

static void receive(struct tree_link *link)
{
    for (;;) {
        if (make_room(&link->in, READ) != 0) {
            broken(link, "no memory for messages from it");
            return;
        }
        ssize_t n = recv(link->fd, link->in.data + link->in.length, READ, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            broken(link, n == 0 || errno == ECONNRESET ? NULL : strerror(errno));
            return;
        }
        link->in.length += (size_t)n;
        /* Neighbours have proved who they are: what makes no sense from them is another version. */
        if (digest(link) < 0)
            broken(link, "it speaks another version of the protocol");
        if (link->state == TREE_LINK_DEAD || n < READ)
            return;
    }
}

/* ---- the loop ---- */

static void drop_late(void)
{
    double time = sy_tree_now();

    for (struct tree_link *link = sy_tree.links; sy_tree.pending && link; link = link->next)
        if (is_pending(link->state) && time > link->deadline)
            sy_tree_link_close(link);
}

void sy_tree_pump(double seconds)
{
    struct epoll_event events[ROUND];
    int wait = seconds > 1000 ? 1000000 : (int)(seconds * 1000 + 0.999);

    if (sy_tree.pending && wait > 1000)
        wait = 1000;
    int count = epoll_wait(sy_tree.epoll, events, ROUND, wait);
    for (int i = 0; i < count; i++) {
        struct tree_link *link = events[i].data.ptr;
        if (!link) {
            sy_tree_accept();
            continue;
        }
        if (events[i].data.ptr == &sy_tree.stall) {
            sy_tree_on_late();
            continue;
        }
        if (link->state != TREE_LINK_DEAD && events[i].events & EPOLLOUT)
            flush(link);
        if (link->state != TREE_LINK_DEAD && events[i].events & ~(uint32_t)EPOLLOUT)
            receive(link);
    }
    drop_late();
    sy_tree_bury();
}

void sy_tree_flush(double seconds)
{
    double deadline = sy_tree_now() + seconds;

    for (struct tree_link *link = sy_tree.links; link; link = link->next)
        while (link->state != TREE_LINK_DEAD && link->writing &&
               sy_tree_wait(link->fd, POLLOUT, deadline) == 0)
            flush(link);
}

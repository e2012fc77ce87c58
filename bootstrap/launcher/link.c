/* The socket to one PE: see link.h. */
#include "bootstrap/launcher/link.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

enum {
    FRAMES_AT_ONCE = 16, /* for one PE, before others get their turn */
    FRAMES_AT_END = 1024 /* bounds what a PE that is gone can have left */
};

struct sy_outgoing {
    struct sy_packet *packet;
    struct sy_outgoing *next;
};

struct sy_packet *sy_packet_new(enum sy_launch_type type, int64_t arg, size_t length)
{
    struct sy_launch_header header = {.type = type, .length = (uint32_t)length, .arg = arg};
    struct sy_packet *packet = sy_memory_resize(NULL,
                                                sizeof(struct sy_packet) + sizeof header + length);

    packet->users = 1;
    packet->length = sizeof header + length;
    memcpy(packet->bytes, &header, sizeof header);
    return packet;
}

char *sy_packet_body(struct sy_packet *packet)
{
    return packet->bytes + sizeof(struct sy_launch_header);
}

void sy_packet_drop(struct sy_packet *packet)
{
    if (packet && !--packet->users)
        free(packet);
}

static void drop_first(struct sy_link *link)
{
    struct sy_outgoing *first = link->first;

    link->first = first->next;
    if (!link->first)
        link->last = &link->first;
    link->sent = 0;
    sy_packet_drop(first->packet);
    free(first);
}

void sy_link_close(struct sy_link *link)
{
    if (link->fd < 0)
        return;
    ev_io_stop(link->loop, &link->read);
    ev_io_stop(link->loop, &link->write);
    close(link->fd);
    link->fd = -1;
    while (link->first)
        drop_first(link);
    free(link->body);
    link->body = NULL;
}

/* A PE that reads no more is noticed by its end, not here: just stop writing. */
static void flush(struct sy_link *link)
{
    while (link->first) {
        struct sy_packet *packet = link->first->packet;
        ssize_t n = send(link->fd, packet->bytes + link->sent, packet->length - link->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            ev_io_start(link->loop, &link->write);
            return;
        }
        link->sent += n > 0 ? (size_t)n : 0;
        if (n < 0 || link->sent == packet->length)
            drop_first(link);
    }
    ev_io_stop(link->loop, &link->write);
}

void sy_link_send(struct sy_link *link, struct sy_packet *packet)
{
    struct sy_outgoing *outgoing;

    if (link->fd < 0)
        return;
    outgoing = sy_memory_zeroed(1, sizeof *outgoing);
    outgoing->packet = packet;
    packet->users++;
    *link->last = outgoing;
    link->last = &outgoing->next;
    flush(link);
}

/* What is wrong with a frame that begins like this, or NULL. */
static const char *header_fault(const struct sy_launch_header *header)
{
    switch (header->type) {
    case SY_LAUNCH_HELLO:
    case SY_LAUNCH_MARK:
        return header->length ? "a frame with a body where none belongs" : NULL;
    case SY_LAUNCH_GATHER:
    case SY_LAUNCH_ABORT:
        return header->length > SY_LAUNCH_BODY_MAX ? "a frame of more than 1 MiB" : NULL;
    default:
        return "a frame of unknown type";
    }
}

/* Receives what is missing of header or body. Returns 1 when the frame is complete, 0 for not yet,
 * -1 when the link is closed. */
static int receive(struct sy_link *link)
{
    const size_t head = sizeof link->header;

    for (;;) {
        size_t want = link->got < head ? head : head + link->header.length;
        char *to = link->got < head ? (char *)&link->header + link->got
                                    : link->body + (link->got - head);
        ssize_t n = recv(link->fd, to, want - link->got, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            sy_link_close(link);
            return -1;
        }
        link->got += (size_t)n;
        if (link->got == head) {
            const char *fault = header_fault(&link->header);

            if (fault) {
                sy_link_close(link);
                link->malformed(link, fault);
                return -1;
            }
            link->body = sy_memory_resize(link->body, link->header.length + 1);
        }
        if (link->got >= head && link->got == head + link->header.length)
            return 1;
    }
}

static void handle_frames(struct sy_link *link, int most)
{
    while (most-- > 0 && link->fd >= 0 && receive(link) == 1) {
        char *body = link->body;

        /* The handler may close the link, so the body is out of its reach meanwhile. */
        link->body = NULL;
        link->got = 0;
        body[link->header.length] = '\0';
        link->frame(link, &link->header, body);
        free(body);
    }
}

void sy_link_drain(struct sy_link *link)
{
    handle_frames(link, FRAMES_AT_END);
}

static void readable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    handle_frames(io->data, FRAMES_AT_ONCE);
}

static void writable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    flush(io->data);
}

void sy_link_open(struct sy_link *link, struct ev_loop *loop, int fd)
{
    link->loop = loop;
    link->fd = fd;
    link->last = &link->first;
    ev_io_init(&link->read, readable, fd, EV_READ);
    ev_io_init(&link->write, writable, fd, EV_WRITE);
    link->read.data = link->write.data = link;
    ev_io_start(loop, &link->read);
}

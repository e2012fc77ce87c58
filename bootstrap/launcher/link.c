/* A conversation in frames: see link.h. */
#include "bootstrap/launcher/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

enum {
    FRAMES_AT_ONCE = 16, /* for one link, before others get their turn */
    FRAMES_AT_END = 1024 /* bounds what a PE that is gone can have left */
};

struct sy_outgoing {
    struct sy_packet *packet;
    struct sy_outgoing *next;
};

struct sy_packet *sy_packet_new(unsigned type, int64_t arg, size_t length)
{
    struct sy_launch_header header = {.type = type, .length = (uint32_t)length, .arg = arg};
    struct sy_packet *packet;

    if (length > SY_LAUNCH_GATHERED_MAX)
        abort(); /* no caller makes such a frame */
    packet = sy_memory_resize(NULL, sizeof(struct sy_packet) + sizeof header + length);

    packet->users = 1;
    packet->length = sizeof header + length;
    memcpy(packet->bytes, &header, sizeof header);
    return packet;
}

struct sy_packet *sy_packet_copy(const struct sy_launch_header *header, const void *body)
{
    struct sy_packet *packet = sy_packet_new(header->type, header->arg, header->length);

    memcpy(packet->bytes, header, sizeof *header);
    if (header->length)
        memcpy(sy_packet_body(packet), body, header->length);
    return packet;
}

struct sy_launch_header *sy_packet_header(struct sy_packet *packet)
{
    return (struct sy_launch_header *)packet->bytes;
}

char *sy_packet_body(struct sy_packet *packet)
{
    return packet->bytes + sizeof(struct sy_launch_header);
}

/* What has the job's key in it is wiped. */
static void launcher_link_free(void *memory, const struct sy_launch_header *header, void *body)
{
    if (memory && header->type == SY_LAUNCH_WELCOME)
        explicit_bzero(body, header->length);
    free(memory);
}

void sy_packet_drop(struct sy_packet *packet)
{
    if (packet && !--packet->users)
        launcher_link_free(packet, sy_packet_header(packet), sy_packet_body(packet));
}

static void launcher_link_count(struct sy_link *link, const struct sy_packet *packet, int sign)
{
    if (packet->length > SY_LINK_SMALL)
        link->large += (unsigned)sign;
    else
        link->queued += (size_t)sign * packet->length;
}

static void launcher_link_drop_first(struct sy_link *link)
{
    struct sy_outgoing *first = link->first;

    link->first = first->next;
    if (!link->first)
        link->last = &link->first;
    link->sent = 0;
    launcher_link_count(link, first->packet, -1);
    sy_packet_drop(first->packet);
    free(first);
}

void sy_link_close(struct sy_link *link)
{
    if (link->fd < 0)
        return;
    ev_io_stop(link->loop, &link->read);
    ev_io_stop(link->loop, &link->write);
    if (link->fd_out != link->fd)
        close(link->fd_out);
    close(link->fd);
    link->fd = -1;
    while (link->first)
        launcher_link_drop_first(link);
    launcher_link_free(link->body, &link->header, link->body);
    link->body = NULL;
}

/* Who reads no more is noticed by the end of what it sends, not here: just stop writing. */
static void launcher_link_flush(struct sy_link *link)
{
    while (link->first) {
        struct sy_packet *packet = link->first->packet;
        ssize_t n = write(link->fd_out, packet->bytes + link->sent, packet->length - link->sent);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            ev_io_start(link->loop, &link->write);
            return;
        }
        link->sent += n > 0 ? (size_t)n : 0;
        if (n < 0 || link->sent == packet->length)
            launcher_link_drop_first(link);
    }
    ev_io_stop(link->loop, &link->write);
}

static void link_fail(struct sy_link *link, const char *what)
{
    sy_link_close(link);
    link->malformed(link, what);
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
    launcher_link_count(link, packet, 1);
    launcher_link_flush(link);
    if (link->queued > SY_LINK_QUEUE || link->large > SY_LINK_LARGE)
        link_fail(link, "no sign of taking what it was sent");
}

/* Receives what is missing of header or body. Returns 1 when the frame is complete, 0 for not yet,
 * -1 when the link is closed. */
static int launcher_link_receive(struct sy_link *link)
{
    const size_t head = sizeof link->header;

    for (;;) {
        size_t want = link->got < head ? head : head + link->header.length;
        char *to = link->got < head ? (char *)&link->header + link->got
                                    : link->body + (link->got - head);
        ssize_t n = read(link->fd, to, want - link->got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0) {
            sy_link_close(link);
            if (link->ended)
                link->ended(link);
            return -1;
        }
        link->got += (size_t)n;
        link->received += (size_t)n;
        if (link->got == head) {
            const char *fault = link->fault(link, &link->header);

            if (fault) {
                link_fail(link, fault);
                return -1;
            }
            link->body = sy_memory_resize(link->body, (size_t)link->header.length + 1);
        }
        if (link->got >= head && link->got == head + link->header.length)
            return 1;
    }
}

static void launcher_link_handle_frames(struct sy_link *link, int most)
{
    struct sy_launch_header header;

    while (most-- > 0 && link->fd >= 0 && launcher_link_receive(link) == 1) {
        char *body = link->body;

        /* The handler may close the link, so the body is out of its reach meanwhile. */
        link->body = NULL;
        link->got = 0;
        body[link->header.length] = '\0';
        header = link->header;
        link->frame(link, &header, body);
        launcher_link_free(body, &header, body);
    }
}

bool sy_link_waiting(const struct sy_link *link)
{
    struct pollfd wait = {.fd = link->fd, .events = POLLIN};

    return link->fd >= 0 && poll(&wait, 1, 0) > 0;
}

void sy_link_drain(struct sy_link *link)
{
    launcher_link_handle_frames(link, FRAMES_AT_END);
}

static void launcher_link_readable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    launcher_link_handle_frames(io->data, FRAMES_AT_ONCE);
}

static void launcher_link_writable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    launcher_link_flush(io->data);
}

void sy_link_flush(struct sy_link *link, int milliseconds)
{
    struct pollfd wait = {.fd = link->fd_out, .events = POLLOUT};

    while (link->fd >= 0 && link->first && poll(&wait, 1, milliseconds) > 0)
        launcher_link_flush(link);
}

void sy_link_open(struct sy_link *link, struct ev_loop *loop, int in, int out)
{
    link->loop = loop;
    link->fd = in;
    link->fd_out = out;
    link->last = &link->first;
    fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
    ev_io_init(&link->read, launcher_link_readable, in, EV_READ);
    ev_io_init(&link->write, launcher_link_writable, out, EV_WRITE);
    link->read.data = link->write.data = link;
    ev_io_start(loop, &link->read);
}

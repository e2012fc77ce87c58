/* A conversation in frames: see link.h. */
#include "bootstrap/launcher/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

enum {
    LEAST = 4096,      /* bytes that are read before other links get their turn */
    MOST = 1 << 20,    /* where a long frame is under way */
    READS_AT_END = 256 /* bounds what a PE that is gone can have left */
};

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
    sy_frames_out_free(&link->out);
    sy_frames_in_free(&link->in);
}

static void launcher_link_flush(struct sy_link *link)
{
    if (sy_frames_flush(&link->out, link->fd_out))
        ev_io_start(link->loop, &link->write);
    else
        ev_io_stop(link->loop, &link->write);
}

static void link_fail(struct sy_link *link, const char *what)
{
    sy_link_close(link);
    link->malformed(link, what);
}

void sy_link_send(struct sy_link *link, struct sy_packet *packet)
{
    if (link->fd < 0)
        return;
    if (sy_frames_put(&link->out, packet) != 0)
        sy_memory_check(NULL);
    launcher_link_flush(link);
    if (link->out.queued > SY_LINK_QUEUE || link->out.large > SY_LINK_LARGE)
        link_fail(link, "no sign of taking what it was sent");
}

void sy_link_send_frame(struct sy_link *link, const struct sy_frame *frame, const void *body)
{
    struct sy_packet *packet = sy_memory_check(sy_packet_new(frame, body, frame->length, NULL));

    sy_link_send(link, packet);
    sy_packet_drop(packet);
}

/* Hands a frame to the owner, with the body ended by a NUL. */
static void launcher_link_handle(struct sy_link *link, const struct sy_frame *frame, char *body)
{
    char *end = body + frame->length, after = *end;

    *end = '\0';
    link->frame(link, frame, body);
    *end = after;
    /* The body holds the job's key. */
    if (frame->type == SY_CONTROL_WELCOME)
        explicit_bzero(body, frame->length);
}

/* Hands over all complete frames. A handler may close the link, so the received bytes are detached
 * from it meanwhile. */
static void launcher_link_handle_frames(struct sy_link *link)
{
    struct sy_frames_in in = link->in;
    struct sy_frame frame;

    link->in = (struct sy_frames_in){.pipe = in.pipe};
    while (link->fd >= 0 && sy_frames_next(&in, &frame)) {
        const char *fault = link->fault(link, &frame);
        char *body = fault ? NULL : sy_frames_take(&in, &frame);

        if (fault)
            link_fail(link, fault);
        if (!body)
            break;
        launcher_link_handle(link, &frame, body);
    }
    if (link->fd >= 0)
        link->in = in;
    else
        sy_frames_in_free(&in);
}

/* Returns whether bytes have come. */
static bool launcher_link_receive(struct sy_link *link)
{
    size_t held = sy_frames_held(&link->in), most = LEAST;
    struct sy_frame frame;

    if (sy_frames_next(&link->in, &frame) && frame.length > held + LEAST)
        most = frame.length - held < MOST ? frame.length - held : MOST;
    ssize_t n = sy_frames_receive(&link->in, link->fd, most);
    if (n == -ENOMEM)
        sy_memory_check(NULL);
    if (n > 0) {
        launcher_link_handle_frames(link);
    } else if (n != -EAGAIN) {
        sy_link_close(link);
        if (link->ended)
            link->ended(link);
    }
    return n > 0;
}

bool sy_link_waiting(const struct sy_link *link)
{
    struct pollfd wait = {.fd = link->fd, .events = POLLIN};

    return link->fd >= 0 && poll(&wait, 1, 0) > 0;
}

void sy_link_drain(struct sy_link *link)
{
    for (int i = 0; i < READS_AT_END && link->fd >= 0 && launcher_link_receive(link); i++)
        continue;
}

static void launcher_link_readable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop, (void)events;
    launcher_link_receive(io->data);
}

static void launcher_link_writable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop, (void)events;
    launcher_link_flush(io->data);
}

void sy_link_flush(struct sy_link *link, int milliseconds)
{
    struct pollfd wait = {.fd = link->fd_out, .events = POLLOUT};

    while (link->fd >= 0 && link->out.first && poll(&wait, 1, milliseconds) > 0)
        launcher_link_flush(link);
}

void sy_link_open(struct sy_link *link, struct ev_loop *loop, int in, int out)
{
    link->loop = loop;
    link->fd = in;
    link->fd_out = out;
    link->in = (struct sy_frames_in){.pipe = in != out};
    link->out = (struct sy_frames_out){.pipe = in != out};
    fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
    ev_io_init(&link->read, launcher_link_readable, in, EV_READ);
    ev_io_init(&link->write, launcher_link_writable, out, EV_WRITE);
    link->read.data = link->write.data = link;
    ev_io_start(loop, &link->read);
}

/* The output of one PE on its host: see pe_output.h. */
#include "bootstrap/launcher/stdio/pe_output.h"

#include <errno.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/daemon.h"

void sy_pe_output_close(struct sy_pe_output *output)
{
    if (output->fd < 0)
        return;
    ev_io_stop(output->loop, &output->io);
    close(output->fd);
    output->fd = -1;
}

enum { DRAIN = 32 /* most reads by sy_pe_output_drain */ };

static void pe_output_readable(struct ev_loop *loop, ev_io *io, int events)
{
    /* The bytes are forwarded before the next read, so all outputs share this buffer. */
    static char buffer[SY_DAEMON_WINDOW];
    struct sy_pe_output *output = io->data;
    size_t room = output->credit < sizeof buffer ? output->credit : sizeof buffer;
    ssize_t n = read(output->fd, buffer, room);

    (void)events;
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && !output->last_call)))
        return;
    if (n <= 0) {
        sy_pe_output_close(output);
        output->bytes(output, "", 0);
        return;
    }
    output->credit -= (size_t)n;
    if (!output->credit)
        ev_io_stop(loop, io);
    else if (output->last_call)
        ev_feed_event(loop, io, EV_READ);
    output->bytes(output, buffer, (size_t)n);
}

void sy_pe_output_open(struct sy_pe_output *output, struct ev_loop *loop, int fd, size_t credit)
{
    output->loop = loop;
    output->fd = fd;
    output->credit = credit;
    ev_io_init(&output->io, pe_output_readable, fd, EV_READ);
    output->io.data = output;
    ev_io_start(loop, &output->io);
}

void sy_pe_output_credit(struct sy_pe_output *output, size_t bytes)
{
    bool paused = !output->credit;

    output->credit += bytes;
    if (output->fd < 0 || !paused || !bytes)
        return;
    ev_io_start(output->loop, &output->io);
    if (output->last_call)
        ev_feed_event(output->loop, &output->io, EV_READ);
}

void sy_pe_output_finish(struct sy_pe_output *output)
{
    if (output->fd < 0)
        return;
    output->last_call = true;
    if (output->credit)
        ev_feed_event(output->loop, &output->io, EV_READ);
}

void sy_pe_output_drain(struct sy_pe_output *output)
{
    output->last_call = true;
    /* Bounded, because a process that still holds the pipe may write for ever. */
    for (int i = 0; i < DRAIN && output->fd >= 0 && output->credit; i++)
        pe_output_readable(output->loop, &output->io, EV_READ);
}

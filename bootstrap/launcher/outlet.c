/* The output of one PE on its host: see outlet.h. */
#include "bootstrap/launcher/outlet.h"

#include <errno.h>
#include <unistd.h>

#include "bootstrap/launcher/crew.h"

void sy_outlet_close(struct sy_outlet *outlet)
{
    if (outlet->fd < 0)
        return;
    ev_io_stop(outlet->loop, &outlet->io);
    close(outlet->fd);
    outlet->fd = -1;
}

enum { DRAIN = 32 /* reads at once, of what a command has left */ };

static void readable(struct ev_loop *loop, ev_io *io, int events)
{
    /* Handed on before the next read, so all outlets share it. */
    static char buffer[SY_CREW_WINDOW];
    struct sy_outlet *outlet = io->data;
    size_t room = outlet->credit < sizeof buffer ? outlet->credit : sizeof buffer;
    ssize_t n = read(outlet->fd, buffer, room);

    (void)events;
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && !outlet->last_call)))
        return;
    if (n <= 0) {
        sy_outlet_close(outlet);
        outlet->bytes(outlet, "", 0);
        return;
    }
    outlet->credit -= (size_t)n;
    if (!outlet->credit)
        ev_io_stop(loop, io);
    else if (outlet->last_call)
        ev_feed_event(loop, io, EV_READ);
    outlet->bytes(outlet, buffer, (size_t)n);
}

void sy_outlet_open(struct sy_outlet *outlet, struct ev_loop *loop, int fd, size_t credit)
{
    outlet->loop = loop;
    outlet->fd = fd;
    outlet->credit = credit;
    ev_io_init(&outlet->io, readable, fd, EV_READ);
    outlet->io.data = outlet;
    ev_io_start(loop, &outlet->io);
}

void sy_outlet_credit(struct sy_outlet *outlet, size_t bytes)
{
    bool paused = !outlet->credit;

    outlet->credit += bytes;
    if (outlet->fd < 0 || !paused || !bytes)
        return;
    ev_io_start(outlet->loop, &outlet->io);
    if (outlet->last_call)
        ev_feed_event(outlet->loop, &outlet->io, EV_READ);
}

void sy_outlet_finish(struct sy_outlet *outlet)
{
    if (outlet->fd < 0)
        return;
    outlet->last_call = true;
    if (outlet->credit)
        ev_feed_event(outlet->loop, &outlet->io, EV_READ);
}

void sy_outlet_drain(struct sy_outlet *outlet)
{
    outlet->last_call = true;
    /* Bounded, since what still holds the pipe may write for ever. */
    for (int i = 0; i < DRAIN && outlet->fd >= 0 && outlet->credit; i++)
        readable(outlet->loop, &outlet->io, EV_READ);
}

/* Standard input of one PE: see inlet.h. */
#include "bootstrap/launcher/inlet.h"

#include <errno.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

void sy_inlet_close(struct sy_inlet *inlet)
{
    if (inlet->fd < 0)
        return;
    ev_io_stop(inlet->loop, &inlet->io);
    close(inlet->fd);
    inlet->fd = -1;
    free(inlet->data);
    inlet->data = NULL;
}

static void push(struct sy_inlet *inlet)
{
    while (inlet->start < inlet->end) {
        ssize_t n = write(inlet->fd, inlet->data + inlet->start, inlet->end - inlet->start);

        if (n >= 0) {
            inlet->start += (size_t)n;
        } else if (errno == EAGAIN) {
            ev_io_start(inlet->loop, &inlet->io);
            return;
        } else if (errno != EINTR) {
            sy_inlet_close(inlet);
            inlet->taken(inlet, true);
            return;
        }
    }
    ev_io_stop(inlet->loop, &inlet->io);
    inlet->taken(inlet, false);
}

static void writable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    push(io->data);
}

void sy_inlet_open(struct sy_inlet *inlet, struct ev_loop *loop, int fd)
{
    inlet->loop = loop;
    inlet->fd = fd;
    ev_io_init(&inlet->io, writable, fd, EV_WRITE);
    inlet->io.data = inlet;
}

void sy_inlet_put(struct sy_inlet *inlet, const char *bytes, size_t length)
{
    if (inlet->fd < 0) {
        inlet->taken(inlet, true);
        return;
    }
    if (!length) {
        sy_inlet_close(inlet);
        return;
    }
    inlet->data = sy_memory_resize(inlet->data, length);
    memcpy(inlet->data, bytes, length);
    inlet->start = 0;
    inlet->end = length;
    push(inlet);
}

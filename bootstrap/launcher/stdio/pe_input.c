/* Standard input of one PE: see pe_input.h. */
#include "bootstrap/launcher/stdio/pe_input.h"

#include <errno.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

void sy_pe_input_close(struct sy_pe_input *input)
{
    if (input->fd < 0)
        return;
    ev_io_stop(input->loop, &input->io);
    close(input->fd);
    input->fd = -1;
    free(input->data);
    input->data = NULL;
}

static void pe_input_push(struct sy_pe_input *input)
{
    while (input->start < input->end) {
        ssize_t n = write(input->fd, input->data + input->start, input->end - input->start);

        if (n >= 0) {
            input->start += (size_t)n;
        } else if (errno == EAGAIN) {
            ev_io_start(input->loop, &input->io);
            return;
        } else if (errno != EINTR) {
            sy_pe_input_close(input);
            input->taken(input, true);
            return;
        }
    }
    ev_io_stop(input->loop, &input->io);
    input->taken(input, false);
}

static void pe_input_writable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop, (void)events;
    pe_input_push(io->data);
}

void sy_pe_input_open(struct sy_pe_input *input, struct ev_loop *loop, int fd)
{
    input->loop = loop;
    input->fd = fd;
    ev_io_init(&input->io, pe_input_writable, fd, EV_WRITE);
    input->io.data = input;
}

void sy_pe_input_put(struct sy_pe_input *input, const char *bytes, size_t length)
{
    if (input->fd < 0) {
        input->taken(input, true);
        return;
    }
    if (!length) {
        sy_pe_input_close(input);
        return;
    }
    input->data = sy_memory_resize(input->data, length);
    memcpy(input->data, bytes, length);
    input->start = 0;
    input->end = length;
    pe_input_push(input);
}

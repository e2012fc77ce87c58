/* stdin for PEs: see input.h. A background job must not read the terminal: nothing is read until
 * oshrun is in the foreground again. oshrun ignores SIGTTIN, so that the race between checking and
 * reading gives EIO and does not stop the whole job. */
#include "bootstrap/launcher/stdio/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

static const double LOOK_AGAIN = 0.5; /* seconds between two looks at who has the terminal */

static bool input_in_background(void)
{
    pid_t foreground = tcgetpgrp(STDIN_FILENO);

    return foreground > 0 && foreground != getpgrp();
}

void sy_input_close(struct sy_input *input)
{
    if (!input->open)
        return;
    input->open = false;
    ev_io_stop(input->loop, &input->read);
    ev_timer_stop(input->loop, &input->background);
    free(input->wants);
    free(input->owes);
    input->wants = input->owes = NULL;
}

static void wait_for_foreground(struct sy_input *input)
{
    ev_io_stop(input->loop, &input->read);
    ev_timer_again(input->loop, &input->background);
}

static void input_readable(struct ev_loop *loop, ev_io *io, int events)
{
    static char data[65536];
    struct sy_input *input = io->data;
    ssize_t n;

    (void)events;
    if (input_in_background()) {
        wait_for_foreground(input);
        return;
    }
    n = read(STDIN_FILENO, data, sizeof data);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0 && errno == EIO && input_in_background()) {
        wait_for_foreground(input);
        return;
    }
    if (n <= 0) {
        input->pass(input, "", 0);
        sy_input_close(input);
        return;
    }
    ev_io_stop(loop, io);
    input->unanswered = input->readers;
    memcpy(input->owes, input->wants, (size_t)input->npes * sizeof *input->owes);
    input->pass(input, data, (size_t)n);
}

static void input_look_again(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_input *input = timer->data;

    (void)events;
    if (input_in_background())
        return;
    ev_timer_stop(loop, timer);
    ev_io_start(loop, &input->read);
}

bool sy_input_awaits(const struct sy_input *input, int pe)
{
    return input->open && input->owes[pe];
}

/* Input that no PE wants stays in oshrun's stdin. */
void sy_input_taken(struct sy_input *input, int pe, bool closed)
{
    if (!sy_input_awaits(input, pe))
        return;
    input->owes[pe] = false;
    if (closed) {
        input->wants[pe] = false;
        input->readers--;
    }
    input->unanswered--;
    if (!input->readers)
        sy_input_close(input);
    else if (input->unanswered <= 0)
        ev_io_start(input->loop, &input->read);
}

void sy_input_open(struct sy_input *input, struct ev_loop *loop)
{
    input->loop = loop;
    input->open = true;
    input->owes = sy_memory_zeroed((size_t)input->npes, sizeof *input->owes);
    for (int pe = 0; pe < input->npes; pe++)
        input->readers += input->wants[pe];
    ev_io_init(&input->read, input_readable, STDIN_FILENO, EV_READ);
    ev_timer_init(&input->background, input_look_again, 0., LOOK_AGAIN);
    input->read.data = input->background.data = input;
    ev_io_start(loop, &input->read);
}

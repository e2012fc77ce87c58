/* stdin for PEs: see input.h. A background job must not read the terminal: nothing is read until
 * oshrun is in the foreground again. oshrun ignores SIGTTIN, so that the race between checking and
 * reading gives EIO and does not stop the whole job. */
#include "bootstrap/launcher/stdio/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
    if (input->fd != STDIN_FILENO)
        close(input->fd);
    free(input->wants);
    free(input->owes);
    input->wants = input->owes = NULL;
}

static void wait_for_foreground(struct sy_input *input)
{
    ev_io_stop(input->loop, &input->read);
    ev_timer_again(input->loop, &input->background);
}

/* Others may read the same stdin, another oshrun for one: what was there a moment ago may be theirs
 * by now, and the loop must not wait for more. The flags of stdin are shared with them too, so a
 * pipe or a terminal is opened a second time. Where it cannot be, or stdin is only for writing, it
 * is read as it is. The loop watches stdin itself: a FIFO that was opened when its last writer had
 * gone does not tell of its end. */
static void input_choose_fd(struct sy_input *input)
{
    int flags = fcntl(STDIN_FILENO, F_GETFL), own = -1;
    struct stat st;

    input->fd = STDIN_FILENO;
    if (fstat(STDIN_FILENO, &st) != 0 || (flags & O_ACCMODE) == O_WRONLY)
        return;
    input->socket = S_ISSOCK(st.st_mode);
    if (S_ISFIFO(st.st_mode) || isatty(STDIN_FILENO))
        own = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0)
        input->fd = own;
}

static void input_readable(struct ev_loop *loop, ev_io *io, int events)
{
    static char data[65536];
    struct sy_input *input = io->data;

    (void)events;
    if (input_in_background()) {
        wait_for_foreground(input);
        return;
    }
    ssize_t n = input->socket ? recv(input->fd, data, sizeof data, MSG_DONTWAIT)
                              : read(input->fd, data, sizeof data);
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
    input_choose_fd(input);
    ev_io_init(&input->read, input_readable, STDIN_FILENO, EV_READ);
    ev_timer_init(&input->background, input_look_again, 0., LOOK_AGAIN);
    input->read.data = input->background.data = input;
    ev_io_start(loop, &input->read);
}

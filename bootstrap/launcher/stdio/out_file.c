/* One output of oshrun: see out_file.h. This file must not block on a descriptor that oshrun shares
 * with the shell and with other programs, and therefore never changes the descriptor's flags. */
#include "bootstrap/launcher/stdio/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"

enum {
    HIGH_WATER = 256 * 1024 /* bytes not yet written from which on claims are refused */
};

#define OVERDUE 1. /* seconds */

static size_t buffer_used(const struct sy_out_file_buffer *buffer)
{
    return buffer->end - buffer->start;
}

static void out_file_buffer_add(struct sy_out_file_buffer *buffer, const char *text, size_t length)
{
    if (buffer->start == buffer->end)
        buffer->start = buffer->end = 0;
    if (buffer->room - buffer->end < length && buffer->start) {
        memmove(buffer->data, buffer->data + buffer->start, buffer_used(buffer));
        buffer->end -= buffer->start;
        buffer->start = 0;
    }
    if (buffer->room - buffer->end < length) {
        buffer->room = (buffer->end + length) * 2;
        buffer->data = sy_memory_resize(buffer->data, buffer->room);
    }
    memcpy(buffer->data + buffer->end, text, length);
    buffer->end += length;
}

/* A terminal or a pipe can be opened a second time through /proc: that gives flags of our own.
 * Where it cannot (another user's terminal after su), writes are kept so small that poll() vouches
 * for them. Regular files never block for long; what stands for a closed stdout (util/standard.h)
 * is a directory, and writing fails at once. */
static void out_file_choose_kind(struct sy_out_file *out_file)
{
    char path[64];
    struct stat st;

    out_file->kind = SY_OUT_FILE_FILE;
    if (fstat(out_file->fd, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return;
    if (S_ISSOCK(st.st_mode)) {
        out_file->kind = SY_OUT_FILE_SOCKET;
        return;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", out_file->fd);
    int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) {
        out_file->fd = own;
        out_file->reopened = true;
        out_file->kind = SY_OUT_FILE_NONBLOCKING;
        return;
    }
    out_file->kind = SY_OUT_FILE_POLLED;
}

static ssize_t out_file_write_some(struct sy_out_file *out_file, const char *text, size_t length)
{
    struct pollfd ready = {.fd = out_file->fd, .events = POLLOUT};

    switch (out_file->kind) {
    case SY_OUT_FILE_SOCKET:
        return send(out_file->fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    case SY_OUT_FILE_POLLED:
        if (poll(&ready, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        return write(out_file->fd, text, length < PIPE_BUF ? length : PIPE_BUF);
    default:
        return write(out_file->fd, text, length);
    }
}

static void out_file_die(struct sy_out_file *out_file, int error)
{
    out_file->dead = true;
    out_file->text.start = out_file->text.end = 0;
    out_file->notes.start = out_file->notes.end = 0;
    ev_io_stop(out_file->loop, &out_file->io);
    ev_timer_stop(out_file->loop, &out_file->overdue);
    out_file->broken(out_file, error);
}

void sy_out_file_flush(struct sy_out_file *out_file)
{
    while (buffer_used(&out_file->text) && !out_file->dead) {
        ssize_t n = out_file_write_some(out_file, out_file->text.data + out_file->text.start,
                                        buffer_used(&out_file->text));

        if (n >= 0) {
            out_file->text.start += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            ev_io_start(out_file->loop, &out_file->io);
            return;
        } else if (errno != EINTR) {
            out_file_die(out_file, errno);
            return;
        }
    }
    ev_io_stop(out_file->loop, &out_file->io);
}

/* Whether a writer in the queue would be granted a claim: the one that is inside a line or, if none
 * is, any. */
static bool out_file_can_serve(const struct sy_out_file *out_file)
{
    if (!out_file->first)
        return false;
    if (out_file->dead)
        return true;
    if (out_file->holder && !out_file->holder->queued)
        return false;
    return buffer_used(&out_file->text) < HIGH_WATER;
}

static void out_file_writable(struct ev_loop *loop, ev_io *io, int events)
{
    struct sy_out_file *out_file = io->data;

    (void)loop, (void)events;
    sy_out_file_flush(out_file);
    sy_out_file_serve(out_file);
    if (sy_out_file_empty(out_file))
        out_file->emptied(out_file);
}

static void out_file_let_go(struct sy_out_file *out_file)
{
    out_file->holder = NULL;
    ev_timer_stop(out_file->loop, &out_file->overdue);
    if (buffer_used(&out_file->notes)) {
        struct sy_out_file_buffer notes = out_file->notes;

        memset(&out_file->notes, 0, sizeof out_file->notes);
        sy_out_file_say(out_file, notes.data + notes.start, buffer_used(&notes));
        free(notes.data);
    }
}

/* A line is not ended, and its writer has nothing more of it. */
static void out_file_overdue(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_out_file *out_file = timer->data;

    (void)loop, (void)events;
    if (!out_file->holder || out_file->holder->queued)
        return;
    out_file->open_line = out_file->holder->source;
    out_file_let_go(out_file);
    sy_out_file_serve(out_file);
}

void sy_out_file_open(struct sy_out_file *out_file, struct ev_loop *loop, int fd)
{
    out_file->loop = loop;
    out_file->fd = fd;
    out_file->last = &out_file->first;
    out_file->open_line = -1;
    out_file_choose_kind(out_file);
    ev_io_init(&out_file->io, out_file_writable, out_file->fd, EV_WRITE);
    out_file->io.data = out_file;
    ev_timer_init(&out_file->overdue, out_file_overdue, OVERDUE, OVERDUE);
    out_file->overdue.data = out_file;
}

bool sy_out_file_claim(struct sy_out_file *out_file, const struct sy_writer *writer)
{
    if (out_file->dead)
        return true;
    if (out_file->holder && out_file->holder != writer)
        return false;
    if (buffer_used(&out_file->text) >= HIGH_WATER)
        sy_out_file_flush(out_file);
    return buffer_used(&out_file->text) < HIGH_WATER;
}

void sy_out_file_append(struct sy_out_file *out_file, const struct sy_writer *writer,
                        const char *text, size_t length)
{
    if (out_file->dead || !length)
        return;
    if (out_file->open_line >= 0 && out_file->open_line != writer->source)
        out_file_buffer_add(&out_file->text, "\n", 1);
    out_file->open_line = -1;
    out_file_buffer_add(&out_file->text, text, length);
}

void sy_out_file_hold(struct sy_out_file *out_file, struct sy_writer *writer, bool inside)
{
    if (inside) {
        out_file->holder = writer;
        if (ev_is_active(&out_file->overdue)) /* it has said more */
            ev_timer_again(out_file->loop, &out_file->overdue);
    } else if (out_file->holder == writer) {
        out_file_let_go(out_file);
    }
}

/* Somebody waits for the end of a line. */
static void out_file_await(struct sy_out_file *out_file)
{
    if (!ev_is_active(&out_file->overdue))
        ev_timer_again(out_file->loop, &out_file->overdue);
}

void sy_out_file_release(struct sy_out_file *out_file, struct sy_writer *writer, bool inside)
{
    if (out_file->holder && out_file->holder != writer)
        return;
    if (inside)
        out_file->open_line = writer->source;
    out_file_let_go(out_file);
}

void sy_out_file_wait(struct sy_out_file *out_file, struct sy_writer *writer)
{
    if (writer->queued)
        return;
    writer->queued = true;
    writer->next = NULL;
    *out_file->last = writer;
    out_file->last = &writer->next;
    if (out_file->holder && out_file->holder != writer)
        out_file_await(out_file);
}

void sy_out_file_serve(struct sy_out_file *out_file)
{
    while (out_file_can_serve(out_file)) {
        struct sy_writer *queue = out_file->first;

        /* Writers that are refused queue up anew, so a round ends. */
        out_file->first = NULL;
        out_file->last = &out_file->first;
        while (queue) {
            struct sy_writer *writer = queue;

            queue = writer->next;
            writer->queued = false;
            writer->resume(writer);
        }
    }
}

/* Where this has made room, the loop goes on with those that wait for it: the caller may be one of
 * them, in the middle of something. */
void sy_out_file_say(struct sy_out_file *out_file, const char *text, size_t length)
{
    if (out_file->dead)
        return;
    if (out_file->holder) {
        out_file_buffer_add(&out_file->notes, text, length);
        out_file_await(out_file);
        return;
    }
    if (out_file->open_line >= 0)
        out_file_buffer_add(&out_file->text, "\n", 1);
    out_file->open_line = -1;
    out_file_buffer_add(&out_file->text, text, length);
    sy_out_file_flush(out_file);
    if (out_file_can_serve(out_file))
        ev_io_start(out_file->loop, &out_file->io);
}

bool sy_out_file_empty(const struct sy_out_file *out_file)
{
    return out_file->dead || !buffer_used(&out_file->text);
}

void sy_out_file_close(struct sy_out_file *out_file)
{
    ev_io_stop(out_file->loop, &out_file->io);
    ev_timer_stop(out_file->loop, &out_file->overdue);
    if (out_file->reopened)
        close(out_file->fd);
    free(out_file->text.data);
    free(out_file->notes.data);
}

/* One output of oshrun: see sink.h. Everything here is about not blocking on a descriptor that is
 * shared with the shell and with other programs, whose flags are therefore never changed. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/sink.h"

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

static size_t buffer_used(const struct sy_sink_buffer *buffer)
{
    return buffer->end - buffer->start;
}

static void buffer_add(struct sy_sink_buffer *buffer, const char *text, size_t length)
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
 * for them. Regular files never block for long. */
static void choose_kind(struct sy_sink *sink)
{
    char path[64];
    struct stat st;
    int own;

    sink->kind = SY_SINK_FILE;
    if (fstat(sink->fd, &st) != 0 || S_ISREG(st.st_mode))
        return;
    if (S_ISSOCK(st.st_mode)) {
        sink->kind = SY_SINK_SOCKET;
        return;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", sink->fd);
    own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own >= 0) {
        sink->fd = own;
        sink->reopened = true;
        sink->kind = SY_SINK_NONBLOCKING;
        return;
    }
    sink->kind = SY_SINK_POLLED;
}

static ssize_t write_some(struct sy_sink *sink, const char *text, size_t length)
{
    struct pollfd ready = {.fd = sink->fd, .events = POLLOUT};

    switch (sink->kind) {
    case SY_SINK_SOCKET:
        return send(sink->fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    case SY_SINK_POLLED:
        if (poll(&ready, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        return write(sink->fd, text, length < PIPE_BUF ? length : PIPE_BUF);
    default:
        return write(sink->fd, text, length);
    }
}

static void die(struct sy_sink *sink, int error)
{
    sink->dead = true;
    sink->text.start = sink->text.end = 0;
    sink->notes.start = sink->notes.end = 0;
    ev_io_stop(sink->loop, &sink->io);
    sink->broken(sink, error);
}

void sy_sink_flush(struct sy_sink *sink)
{
    while (buffer_used(&sink->text) && !sink->dead) {
        ssize_t n = write_some(sink, sink->text.data + sink->text.start, buffer_used(&sink->text));

        if (n >= 0) {
            sink->text.start += (size_t)n;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            ev_io_start(sink->loop, &sink->io);
            return;
        } else if (errno != EINTR) {
            die(sink, errno);
            return;
        }
    }
    ev_io_stop(sink->loop, &sink->io);
}

static void writable(struct ev_loop *loop, ev_io *io, int events)
{
    struct sy_sink *sink = io->data;

    (void)loop;
    (void)events;
    sy_sink_flush(sink);
    sy_sink_serve(sink);
    if (sy_sink_empty(sink))
        sink->emptied(sink);
}

void sy_sink_open(struct sy_sink *sink, struct ev_loop *loop, int fd)
{
    sink->loop = loop;
    sink->fd = fd;
    sink->last = &sink->first;
    sink->open_line = -1;
    choose_kind(sink);
    ev_io_init(&sink->io, writable, sink->fd, EV_WRITE);
    sink->io.data = sink;
}

bool sy_sink_claim(struct sy_sink *sink, const struct sy_writer *writer)
{
    if (sink->dead)
        return true;
    if (sink->holder && sink->holder != writer)
        return false;
    if (buffer_used(&sink->text) >= HIGH_WATER)
        sy_sink_flush(sink);
    return buffer_used(&sink->text) < HIGH_WATER;
}

void sy_sink_append(struct sy_sink *sink, const struct sy_writer *writer, const char *text,
                    size_t length)
{
    if (sink->dead || !length)
        return;
    if (sink->open_line >= 0 && sink->open_line != writer->source)
        buffer_add(&sink->text, "\n", 1);
    sink->open_line = -1;
    buffer_add(&sink->text, text, length);
}

static void let_go(struct sy_sink *sink)
{
    sink->holder = NULL;
    if (buffer_used(&sink->notes)) {
        struct sy_sink_buffer notes = sink->notes;

        memset(&sink->notes, 0, sizeof sink->notes);
        sy_sink_say(sink, notes.data + notes.start, buffer_used(&notes));
        free(notes.data);
    }
}

void sy_sink_hold(struct sy_sink *sink, struct sy_writer *writer, bool inside)
{
    if (inside)
        sink->holder = writer;
    else if (sink->holder == writer)
        let_go(sink);
}

void sy_sink_release(struct sy_sink *sink, struct sy_writer *writer, bool inside)
{
    if (sink->holder && sink->holder != writer)
        return;
    if (inside)
        sink->open_line = writer->source;
    let_go(sink);
}

void sy_sink_wait(struct sy_sink *sink, struct sy_writer *writer)
{
    if (writer->queued)
        return;
    writer->queued = true;
    writer->next = NULL;
    *sink->last = writer;
    sink->last = &writer->next;
}

/* Whether a writer in the queue would be granted a claim: the one that is inside a line or, if none
 * is, any. */
static bool can_serve(const struct sy_sink *sink)
{
    if (!sink->first)
        return false;
    if (sink->dead)
        return true;
    if (sink->holder && !sink->holder->queued)
        return false;
    return buffer_used(&sink->text) < HIGH_WATER;
}

void sy_sink_serve(struct sy_sink *sink)
{
    while (can_serve(sink)) {
        struct sy_writer *queue = sink->first;

        /* Those that are refused queue up anew, so that a round ends. */
        sink->first = NULL;
        sink->last = &sink->first;
        while (queue) {
            struct sy_writer *writer = queue;

            queue = writer->next;
            writer->queued = false;
            writer->resume(writer);
        }
    }
}

void sy_sink_say(struct sy_sink *sink, const char *text, size_t length)
{
    if (sink->dead)
        return;
    if (sink->holder) {
        buffer_add(&sink->notes, text, length);
        return;
    }
    if (sink->open_line >= 0)
        buffer_add(&sink->text, "\n", 1);
    sink->open_line = -1;
    buffer_add(&sink->text, text, length);
    sy_sink_flush(sink);
}

bool sy_sink_empty(const struct sy_sink *sink)
{
    return sink->dead || !buffer_used(&sink->text);
}

void sy_sink_close(struct sy_sink *sink)
{
    ev_io_stop(sink->loop, &sink->io);
    if (sink->reopened)
        close(sink->fd);
    free(sink->text.data);
    free(sink->notes.data);
}

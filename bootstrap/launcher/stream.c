/* The output of one PE: see stream.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE = 32768 /* appended at a time: a claim is good for a piece, labels make it longer */
};

static void append_labelled(struct sy_stream *stream, const char *text, size_t length)
{
    bool inside = stream->lines.inside;

    while (length) {
        const char *newline = memchr(text, '\n', length);
        size_t line = newline ? (size_t)(newline - text) + 1 : length;

        if (!inside)
            sy_sink_append(stream->sink, &stream->writer, stream->label, strlen(stream->label));
        sy_sink_append(stream->sink, &stream->writer, text, line);
        inside = false;
        text += line;
        length -= line;
    }
}

static void close_stream(struct sy_stream *stream)
{
    bool inside = stream->lines.inside;

    ev_io_stop(stream->loop, &stream->io);
    close(stream->fd);
    stream->fd = -1;
    if (inside && stream->label[0]) {
        sy_sink_append(stream->sink, &stream->writer, "\n", 1);
        inside = false;
    }
    sy_sink_release(stream->sink, &stream->writer, inside);
    sy_sink_flush(stream->sink);
    sy_lines_free(&stream->lines);
    stream->done(stream);
}

/* Hands on what is ready; then reads on, or waits for the sink, or ends. */
static void push(struct sy_stream *stream)
{
    struct sy_lines *lines = &stream->lines;
    const char *text;
    size_t length;

    while ((text = sy_lines_ready(lines, &length)), length) {
        if (!sy_sink_claim(stream->sink, &stream->writer)) {
            ev_io_stop(stream->loop, &stream->io);
            sy_sink_wait(stream->sink, &stream->writer);
            return;
        }
        if (length > PIECE)
            length = PIECE;
        if (stream->label[0])
            append_labelled(stream, text, length);
        else
            sy_sink_append(stream->sink, &stream->writer, text, length);
        sy_lines_taken(lines, length);
        if (lines->raw)
            sy_sink_release(stream->sink, &stream->writer, lines->inside);
        else
            sy_sink_hold(stream->sink, &stream->writer, lines->inside);
    }
    sy_sink_flush(stream->sink);
    if (stream->ended) {
        close_stream(stream);
        return;
    }
    ev_io_start(stream->loop, &stream->io);
    if (stream->last_call)
        ev_feed_event(stream->loop, &stream->io, EV_READ);
}

static void readable(struct ev_loop *loop, ev_io *io, int events)
{
    struct sy_stream *stream = io->data;
    struct sy_sink *sink = stream->sink;
    size_t room;
    char *space = sy_lines_space(&stream->lines, &room);
    ssize_t n = read(stream->fd, space, room);

    (void)loop;
    (void)events;
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && !stream->last_call)))
        return;
    if (n > 0) {
        sy_lines_filled(&stream->lines, (size_t)n);
    } else {
        sy_lines_end(&stream->lines);
        stream->ended = true;
    }
    push(stream);
    sy_sink_serve(sink);
}

static void resume(struct sy_writer *writer)
{
    push((struct sy_stream *)writer);
}

void sy_stream_open(struct sy_stream *stream, struct ev_loop *loop, int fd, struct sy_sink *sink,
                    int pe, bool label, bool raw)
{
    stream->writer.source = pe;
    stream->writer.resume = resume;
    stream->loop = loop;
    stream->sink = sink;
    stream->fd = fd;
    stream->lines.raw = raw;
    if (label)
        snprintf(stream->label, sizeof stream->label, "[%d] ", pe);
    ev_io_init(&stream->io, readable, fd, EV_READ);
    stream->io.data = stream;
    ev_io_start(loop, &stream->io);
}

void sy_stream_finish(struct sy_stream *stream)
{
    if (stream->fd < 0)
        return;
    stream->last_call = true;
    if (!stream->writer.queued)
        ev_feed_event(stream->loop, &stream->io, EV_READ);
}

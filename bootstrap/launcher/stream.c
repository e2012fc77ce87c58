/* The output of one PE: see stream.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PIECE = 32768 /* appended at a time: a claim is good for a piece, labels make it longer */
};

static void append_label(struct sy_stream *stream)
{
    char text[64];
    struct timespec now;
    struct tm local;
    size_t length;

    if (stream->timestamp) {
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &local);
        length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
        length += (size_t)snprintf(text + length, sizeof text - length, ".%03ld ",
                                   now.tv_nsec / 1000000);
        sy_sink_append(stream->sink, &stream->writer, text, length);
    }
    sy_sink_append(stream->sink, &stream->writer, stream->label, strlen(stream->label));
}

static bool is_labelled(const struct sy_stream *stream)
{
    return stream->timestamp || *stream->label;
}

static void append_labelled(struct sy_stream *stream, const char *text, size_t length)
{
    bool inside = stream->lines.inside;

    while (length) {
        const char *newline = memchr(text, '\n', length);
        size_t line = newline ? (size_t)(newline - text) + 1 : length;

        if (!inside)
            append_label(stream);
        sy_sink_append(stream->sink, &stream->writer, text, line);
        inside = false;
        text += line;
        length -= line;
    }
}

static void close_stream(struct sy_stream *stream)
{
    bool inside = stream->lines.inside;

    stream->open = false;
    if (inside && is_labelled(stream)) {
        sy_sink_append(stream->sink, &stream->writer, "\n", 1);
        inside = false;
    }
    sy_sink_release(stream->sink, &stream->writer, inside);
    sy_sink_flush(stream->sink);
    sy_lines_free(&stream->lines);
    free(stream->label);
    stream->label = NULL;
    stream->done(stream);
}

/* Hands on what is ready; then asks for more, or waits for the sink, or ends. */
static void push(struct sy_stream *stream)
{
    struct sy_lines *lines = &stream->lines;
    const char *text;
    size_t length;

    while ((text = sy_lines_ready(lines, &length)), length) {
        if (!sy_sink_claim(stream->sink, &stream->writer)) {
            sy_sink_wait(stream->sink, &stream->writer);
            return;
        }
        if (length > PIECE)
            length = PIECE;
        if (is_labelled(stream))
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
    } else if (stream->unacked) {
        size_t bytes = stream->unacked;

        stream->unacked = 0;
        stream->room(stream, bytes);
    }
}

static void resume(struct sy_writer *writer)
{
    push((struct sy_stream *)writer);
}

void sy_stream_open(struct sy_stream *stream, struct sy_sink *sink, int source, char *label,
                    bool timestamp, bool raw)
{
    stream->writer.source = source;
    stream->writer.resume = resume;
    stream->sink = sink;
    stream->label = label;
    stream->timestamp = timestamp;
    stream->lines.raw = raw;
    stream->open = true;
}

void sy_stream_put(struct sy_stream *stream, const char *bytes, size_t length)
{
    struct sy_sink *sink = stream->sink;

    if (!stream->open || stream->ended)
        return;
    stream->unacked += length;
    if (!length) {
        sy_lines_end(&stream->lines);
        stream->ended = true;
    }
    while (length) {
        size_t room;
        char *space = sy_lines_space(&stream->lines, &room);

        if (room > length)
            room = length;
        memcpy(space, bytes, room);
        sy_lines_filled(&stream->lines, room);
        bytes += room;
        length -= room;
    }
    if (!stream->writer.queued)
        push(stream);
    sy_sink_serve(sink);
}

/* The output of one PE: see stream.h. */
#include "bootstrap/launcher/stdio/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/stdio/plain.h"

enum {
    PIECE = 32768 /* appended at a time: a claim is good for a piece, labels make it longer */
};

static void stream_append_label(struct sy_stream *stream)
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
        sy_out_file_append(stream->out_file, &stream->writer, text, length);
    }
    sy_out_file_append(stream->out_file, &stream->writer, stream->label, strlen(stream->label));
}

static bool is_labelled(const struct sy_stream *stream)
{
    return stream->timestamp || *stream->label;
}

/* The bytes of a line that go to the output. */
static void stream_append_text(struct sy_stream *stream, const char *text, size_t length)
{
    char plain[SY_PLAIN_ROOM(1024)];

    if (!stream->plain) {
        sy_out_file_append(stream->out_file, &stream->writer, text, length);
        return;
    }
    while (length) {
        size_t piece = length < 1024 ? length : 1024;
        bool ends = text[piece - 1] == '\n';
        /* ssh ends lines with \r\n. */
        bool returns = ends && piece > 1 && text[piece - 2] == '\r';
        size_t n = sy_plain(plain, text, piece - ends - returns);

        if (ends)
            plain[n++] = '\n';
        sy_out_file_append(stream->out_file, &stream->writer, plain, n);
        text += piece;
        length -= piece;
    }
}

static void stream_append_labelled(struct sy_stream *stream, const char *text, size_t length)
{
    bool inside = stream->lines.inside;

    while (length) {
        const char *newline = memchr(text, '\n', length);
        size_t line = newline ? (size_t)(newline - text) + 1 : length;

        if (!inside)
            stream_append_label(stream);
        stream_append_text(stream, text, line);
        inside = false;
        text += line;
        length -= line;
    }
}

/* ---- lines that other streams may have too ---- */

static bool stream_has_joined(const struct sy_stream *stream, const struct sy_repeat *repeat)
{
    for (size_t i = stream->first; i < stream->last; i++) {
        if (stream->waiting[i].repeat == repeat)
            return true;
    }
    return false;
}

static struct sy_repeat *stream_join(struct sy_stream *stream, const char *text, size_t length)
{
    struct sy_repeat *repeat = NULL;

    do
        repeat = sy_repeats_find(stream->repeats, repeat, stream->out_file, text, length);
    while (repeat && stream_has_joined(stream, repeat));
    if (!repeat)
        return sy_repeats_add(stream->repeats, stream->out_file, text, length,
                              stream->writer.source);
    sy_repeats_join(stream->repeats, repeat, stream->writer.source);
    return repeat;
}

static void stream_note_line(struct sy_stream *stream, const char *line, size_t length)
{
    ssize_t who = stream->who(stream, line, length - 1);
    struct sy_repeat *repeat;

    if (who < 0 || (size_t)who >= length - 1)
        return;
    repeat = stream_join(stream, line + who, length - 1 - (size_t)who);
    if (!repeat)
        return;
    if (stream->first == stream->last)
        stream->first = stream->last = 0;
    if (stream->last == stream->places) {
        stream->places = stream->places ? 2 * stream->places : 4;
        stream->waiting = sy_memory_resize(stream->waiting,
                                           stream->places * sizeof *stream->waiting);
    }
    stream->waiting[stream->last++] = (struct sy_stream_repeat){
        .at = stream->seen, .length = length, .repeat = repeat};
}

/* Searches the ready bytes that were not searched yet. */
static void stream_search(struct sy_stream *stream)
{
    size_t length;
    const char *text = sy_lines_ready(&stream->lines, &length);

    while (stream->repeats && stream->seen < stream->shown + length) {
        const char *line = text + (stream->seen - stream->shown);
        size_t left = stream->shown + length - stream->seen;
        const char *newline = memchr(line, '\n', left);

        left = newline ? (size_t)(newline - line) + 1 : left;
        if (newline && !stream->within)
            stream_note_line(stream, line, left);
        stream->within = !newline;
        stream->seen += left;
    }
}

static void stream_pop(struct sy_stream *stream)
{
    sy_repeats_leave(stream->repeats, stream->waiting[stream->first++].repeat);
}

/* Writes a whole line, with the number of other streams that have it, unless it was shown already.
 */
static void stream_append_repeat(struct sy_stream *stream, const struct sy_stream_repeat *line,
                                 const char *text)
{
    int others = line->repeat->sayers - 1;
    size_t length = line->length - 1;
    char more[160], which[100] = "";

    if (line->repeat->shown)
        return;
    sy_repeats_show(stream->repeats, line->repeat);
    if (is_labelled(stream))
        stream_append_label(stream);
    if (!others) {
        stream_append_text(stream, text, length + 1);
        return;
    }
    if (stream->writer.source >= 0)
        sy_repeats_others(line->repeat, stream->writer.source, which, sizeof which);
    snprintf(more, sizeof more, " (and %d more %s%s%s%s)\n", others, stream->sayer,
             others == 1 ? "" : "s", *which ? ": " : "", which);
    stream_append_text(stream, text, length && text[length - 1] == '\r' ? length - 1 : length);
    stream_append_text(stream, more, strlen(more));
}

/* ---- forwarding ---- */

static void stream_free(struct sy_stream *stream)
{
    while (stream->first < stream->last)
        stream_pop(stream);
    sy_lines_free(&stream->lines);
    free(stream->waiting);
    stream->waiting = NULL;
    free(stream->label);
    stream->label = NULL;
}

void sy_stream_close(struct sy_stream *stream)
{
    stream->open = false;
    stream_free(stream);
}

static void stream_close(struct sy_stream *stream)
{
    bool inside = stream->lines.inside;

    stream->open = false;
    if (inside && is_labelled(stream)) {
        sy_out_file_append(stream->out_file, &stream->writer, "\n", 1);
        inside = false;
    }
    sy_out_file_release(stream->out_file, &stream->writer, inside);
    sy_out_file_flush(stream->out_file);
    stream_free(stream);
    stream->done(stream);
}

/* How many of the ready bytes go at once, up to the next line that is shown for many. */
static size_t stream_piece_of(const struct sy_stream *stream, const struct sy_stream_repeat *line,
                              size_t length)
{
    if (line && line->at - stream->shown < length)
        length = line->at - stream->shown;
    return length < PIECE ? length : PIECE;
}

/* Forwards what is ready; then asks for more, or waits for the output, or ends. */
static void stream_push(struct sy_stream *stream)
{
    struct sy_lines *lines = &stream->lines;
    const char *text;
    size_t length;

    stream->held = false;
    while ((text = sy_lines_ready(lines, &length)), length) {
        const struct sy_stream_repeat *line = stream->first < stream->last
                                                  ? &stream->waiting[stream->first]
                                                  : NULL;
        bool here = line && line->at == stream->shown;

        if (here && !line->repeat->is_due) {
            stream->held = true;
            break;
        }
        if (!sy_out_file_claim(stream->out_file, &stream->writer)) {
            sy_out_file_wait(stream->out_file, &stream->writer);
            return;
        }
        if (here) {
            length = line->length;
            stream_append_repeat(stream, line, text);
            stream_pop(stream);
        } else {
            length = stream_piece_of(stream, line, length);
            if (is_labelled(stream))
                stream_append_labelled(stream, text, length);
            else
                stream_append_text(stream, text, length);
        }
        sy_lines_taken(lines, length);
        stream->shown += length;
        if (lines->raw)
            sy_out_file_release(stream->out_file, &stream->writer, lines->inside);
        else
            sy_out_file_hold(stream->out_file, &stream->writer, lines->inside);
    }
    sy_out_file_flush(stream->out_file);
    if (stream->held)
        return;
    if (stream->ended) {
        stream_close(stream);
    } else if (stream->unacked) {
        size_t bytes = stream->unacked;

        stream->unacked = 0;
        stream->room(stream, bytes);
    }
}

void sy_stream_resume(struct sy_stream *stream)
{
    if (!stream->open || !stream->held)
        return;
    stream_push(stream);
    sy_out_file_serve(stream->out_file);
}

static void stream_resume(struct sy_writer *writer)
{
    stream_push((struct sy_stream *)writer);
}

void sy_stream_open(struct sy_stream *stream, struct sy_out_file *out_file, int source, char *label,
                    bool timestamp, bool raw)
{
    stream->writer.source = source;
    stream->writer.resume = stream_resume;
    stream->out_file = out_file;
    stream->label = label;
    stream->timestamp = timestamp;
    stream->lines.raw = raw;
    stream->open = true;
}

void sy_stream_put(struct sy_stream *stream, const char *bytes, size_t length)
{
    struct sy_out_file *out_file = stream->out_file;

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
    stream_search(stream);
    if (!stream->writer.queued)
        stream_push(stream);
    sy_out_file_serve(out_file);
}

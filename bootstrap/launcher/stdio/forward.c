/* The output of one PE: see forward.h. */
#include "bootstrap/launcher/stdio/forward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/stdio/plain.h"

enum {
    PIECE = 32768 /* appended at a time: a claim is good for a piece, labels make it longer */
};

static void forward_append_label(struct sy_forward *forward)
{
    char text[64];
    struct timespec now;
    struct tm local;
    size_t length;

    if (forward->timestamp) {
        clock_gettime(CLOCK_REALTIME, &now);
        localtime_r(&now.tv_sec, &local);
        length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &local);
        length += (size_t)snprintf(text + length, sizeof text - length, ".%03ld ",
                                   now.tv_nsec / 1000000);
        sy_out_file_append(forward->out_file, &forward->writer, text, length);
    }
    sy_out_file_append(forward->out_file, &forward->writer, forward->label, strlen(forward->label));
}

static bool is_labelled(const struct sy_forward *forward)
{
    return forward->timestamp || *forward->label;
}

/* Appends bytes of a line to the output. */
static void forward_append_text(struct sy_forward *forward, const char *text, size_t length)
{
    char plain[SY_PLAIN_ROOM(1024)];

    if (!forward->plain) {
        sy_out_file_append(forward->out_file, &forward->writer, text, length);
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
        sy_out_file_append(forward->out_file, &forward->writer, plain, n);
        text += piece;
        length -= piece;
    }
}

static void forward_append_labelled(struct sy_forward *forward, const char *text, size_t length)
{
    bool inside = forward->lines.inside;

    while (length) {
        const char *newline = memchr(text, '\n', length);
        size_t line = newline ? (size_t)(newline - text) + 1 : length;

        if (!inside)
            forward_append_label(forward);
        forward_append_text(forward, text, line);
        inside = false;
        text += line;
        length -= line;
    }
}

/* ---- lines that others may write too ---- */

static bool forward_has_joined(const struct sy_forward *forward, const struct sy_repeat *repeat)
{
    for (size_t i = forward->first; i < forward->last; i++) {
        if (forward->waiting[i].repeat == repeat)
            return true;
    }
    return false;
}

static struct sy_repeat *forward_join(struct sy_forward *forward, const char *text, size_t length)
{
    struct sy_repeat *repeat = NULL;

    do
        repeat = sy_repeats_find(forward->repeats, repeat, forward->out_file, text, length);
    while (repeat && forward_has_joined(forward, repeat));
    if (!repeat)
        return sy_repeats_add(forward->repeats, forward->out_file, text, length,
                              forward->writer.source);
    sy_repeats_join(forward->repeats, repeat, forward->writer.source);
    return repeat;
}

static void forward_note_line(struct sy_forward *forward, const char *line, size_t length)
{
    ssize_t who = forward->who(forward, line, length - 1);

    if (who < 0 || (size_t)who >= length - 1)
        return;
    struct sy_repeat *repeat = forward_join(forward, line + who, length - 1 - (size_t)who);
    if (!repeat)
        return;
    if (forward->first == forward->last)
        forward->first = forward->last = 0;
    if (forward->last == forward->places) {
        forward->places = forward->places ? 2 * forward->places : 4;
        forward->waiting = sy_memory_resize(forward->waiting,
                                            forward->places * sizeof *forward->waiting);
    }
    forward->waiting[forward->last++] = (struct sy_forward_repeat){
        .at = forward->seen, .length = length, .repeat = repeat};
}

/* Searches the ready bytes that were not searched yet. */
static void forward_search(struct sy_forward *forward)
{
    size_t length;
    const char *text = sy_lines_ready(&forward->lines, &length);

    while (forward->repeats && forward->seen < forward->shown + length) {
        const char *line = text + (forward->seen - forward->shown);
        size_t left = forward->shown + length - forward->seen;
        const char *newline = memchr(line, '\n', left);

        left = newline ? (size_t)(newline - line) + 1 : left;
        if (newline && !forward->within)
            forward_note_line(forward, line, left);
        forward->within = !newline;
        forward->seen += left;
    }
}

static void forward_pop(struct sy_forward *forward)
{
    sy_repeats_leave(forward->repeats, forward->waiting[forward->first++].repeat);
}

/* Writes a whole line, with the number of others that have it, unless it was shown already. */
static void forward_append_repeat(struct sy_forward *forward, const struct sy_forward_repeat *line,
                                  const char *text)
{
    int others = line->repeat->sayers - 1;
    size_t length = line->length - 1;
    char more[160], which[100] = "";

    if (line->repeat->shown)
        return;
    sy_repeats_show(forward->repeats, line->repeat);
    if (is_labelled(forward))
        forward_append_label(forward);
    if (!others) {
        forward_append_text(forward, text, length + 1);
        return;
    }
    if (forward->writer.source >= 0)
        sy_repeats_others(line->repeat, forward->writer.source, which, sizeof which);
    snprintf(more, sizeof more, " (and %d more %s%s%s%s)\n", others, forward->sayer,
             others == 1 ? "" : "s", *which ? ":" : "", *which ? strchr(which, ' ') : "");
    forward_append_text(forward, text, length && text[length - 1] == '\r' ? length - 1 : length);
    forward_append_text(forward, more, strlen(more));
}

/* ---- forwarding ---- */

static void forward_free(struct sy_forward *forward)
{
    while (forward->first < forward->last)
        forward_pop(forward);
    sy_lines_free(&forward->lines);
    free(forward->waiting);
    forward->waiting = NULL;
    free(forward->label);
    forward->label = NULL;
}

void sy_forward_close(struct sy_forward *forward)
{
    forward->open = false;
    forward_free(forward);
}

static void forward_close(struct sy_forward *forward)
{
    bool inside = forward->lines.inside;

    forward->open = false;
    if (inside && is_labelled(forward)) {
        sy_out_file_append(forward->out_file, &forward->writer, "\n", 1);
        inside = false;
    }
    sy_out_file_release(forward->out_file, &forward->writer, inside);
    sy_out_file_flush(forward->out_file);
    forward_free(forward);
    forward->done(forward);
}

/* How many of the ready bytes go at once, up to the next line that is shown for many. */
static size_t forward_piece_of(const struct sy_forward *forward,
                               const struct sy_forward_repeat *line, size_t length)
{
    if (line && line->at - forward->shown < length)
        length = line->at - forward->shown;
    return length < PIECE ? length : PIECE;
}

/* Appends what is at `text`, of which `length` bytes are ready: where the merged `line` is here,
 * that one, else a piece of what comes before it. Returns how many bytes have been dealt with. */
static size_t forward_append_next(struct sy_forward *forward, bool here,
                                  const struct sy_forward_repeat *line, const char *text,
                                  size_t length)
{
    if (here) {
        length = line->length;
        forward_append_repeat(forward, line, text);
        forward_pop(forward);
        return length;
    }
    length = forward_piece_of(forward, line, length);
    if (is_labelled(forward))
        forward_append_labelled(forward, text, length);
    else
        forward_append_text(forward, text, length);
    return length;
}

/* Forwards what is ready; then asks for more, or waits for the output, or ends. */
static void forward_push(struct sy_forward *forward)
{
    struct sy_lines *lines = &forward->lines;
    const char *text;
    size_t length;

    forward->held = false;
    while ((text = sy_lines_ready(lines, &length)), length) {
        const struct sy_forward_repeat *line = forward->first < forward->last
                                                   ? &forward->waiting[forward->first]
                                                   : NULL;
        bool here = line && line->at == forward->shown;

        if (here && !line->repeat->is_due) {
            forward->held = true;
            break;
        }
        if (!sy_out_file_claim(forward->out_file, &forward->writer)) {
            sy_out_file_wait(forward->out_file, &forward->writer);
            return;
        }
        length = forward_append_next(forward, here, line, text, length);
        sy_lines_taken(lines, length);
        forward->shown += length;
        if (lines->raw)
            sy_out_file_release(forward->out_file, &forward->writer, lines->inside);
        else
            sy_out_file_hold(forward->out_file, &forward->writer, lines->inside);
    }
    sy_out_file_flush(forward->out_file);
    if (forward->held)
        return;
    if (forward->ended) {
        forward_close(forward);
    } else if (forward->unacked) {
        size_t bytes = forward->unacked;

        forward->unacked = 0;
        forward->room(forward, bytes);
    }
}

void sy_forward_resume(struct sy_forward *forward)
{
    if (!forward->open || !forward->held)
        return;
    forward_push(forward);
    sy_out_file_serve(forward->out_file);
}

static void forward_resume(struct sy_writer *writer)
{
    forward_push((struct sy_forward *)writer);
}

void sy_forward_open(struct sy_forward *forward, struct sy_out_file *out_file, int source,
                     char *label, bool timestamp, bool raw)
{
    forward->writer.source = source;
    forward->writer.resume = forward_resume;
    forward->out_file = out_file;
    forward->label = label;
    forward->timestamp = timestamp;
    forward->lines.raw = raw;
    forward->open = true;
}

void sy_forward_put(struct sy_forward *forward, const char *bytes, size_t length)
{
    struct sy_out_file *out_file = forward->out_file;

    if (!forward->open || forward->ended)
        return;
    forward->unacked += length;
    if (!length) {
        sy_lines_end(&forward->lines);
        forward->ended = true;
    }
    while (length) {
        size_t room;
        char *space = sy_lines_space(&forward->lines, &room);

        if (room > length)
            room = length;
        memcpy(space, bytes, room);
        sy_lines_filled(&forward->lines, room);
        bytes += room;
        length -= room;
    }
    forward_search(forward);
    if (!forward->writer.queued)
        forward_push(forward);
    sy_out_file_serve(out_file);
}

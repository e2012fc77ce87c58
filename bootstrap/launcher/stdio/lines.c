/* The line splitter: see lines.h. */
#include "bootstrap/launcher/stdio/lines.h"

#include <string.h>

#include "bootstrap/launcher/memory.h"

enum {
    FIRST_ROOM = 4096, /* most PEs never say more between two turns of the loop */
    READ_ROOM = 65536  /* what a full pipe holds */
};

/* A buffer that came back full was too small for the pipe; one that is half full of an unfinished
 * line needs room for the rest of the line. */
static size_t lines_wanted_room(const struct sy_lines *lines)
{
    size_t held = lines->end - lines->start;

    if (!lines->room)
        return FIRST_ROOM;
    if (lines->end == lines->room && lines->room < READ_ROOM)
        return lines->room * 2;
    if (held > lines->room / 2)
        return lines->room * 2;
    if (!held && lines->room > READ_ROOM)
        return READ_ROOM;
    return lines->room;
}

char *sy_lines_space(struct sy_lines *lines, size_t *room)
{
    size_t want = lines_wanted_room(lines);

    if (lines->start) {
        memmove(lines->data, lines->data + lines->start, lines->end - lines->start);
        lines->end -= lines->start;
        lines->ready -= lines->start;
        lines->start = 0;
    }
    if (want != lines->room) {
        lines->data = sy_memory_resize(lines->data, want);
        lines->room = want;
    }
    *room = lines->room - lines->end;
    return lines->data + lines->end;
}

void sy_lines_filled(struct sy_lines *lines, size_t count)
{
    size_t from = lines->end;
    bool inside = lines->inside;
    const char *newline = count ? memrchr(lines->data + from, '\n', count) : NULL;

    lines->end += count;
    if (lines->ready > lines->start)
        inside = lines->data[lines->ready - 1] != '\n';
    if (newline)
        lines->ready = (size_t)(newline + 1 - lines->data);
    /* Once the beginning of a line is out, holding back its rest gains nothing. */
    if (lines->raw || (inside && !newline) || lines->end - lines->ready >= SY_LINE_MAX)
        lines->ready = lines->end;
}

void sy_lines_end(struct sy_lines *lines)
{
    lines->ready = lines->end;
}

const char *sy_lines_ready(const struct sy_lines *lines, size_t *length)
{
    *length = lines->ready - lines->start;
    return *length ? lines->data + lines->start : "";
}

void sy_lines_taken(struct sy_lines *lines, size_t count)
{
    if (!count)
        return;
    lines->start += count;
    lines->inside = lines->data[lines->start - 1] != '\n';
}

void sy_lines_free(struct sy_lines *lines)
{
    free(lines->data);
    lines->data = NULL;
    lines->room = lines->start = lines->end = lines->ready = 0;
}

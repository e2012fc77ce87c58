/* The line splitter: bytes go in as they come from a pipe, whole lines come out. It does no input
 * or output and knows nothing of PEs.
 *
 *     space = sy_lines_space(l, &room);  n = read(fd, space, room);  sy_lines_filled(l, n);
 *     while ((text = sy_lines_ready(l, &length)), length)  ... sy_lines_taken(l, some);
 *
 * What is held is bounded by a line of SY_LINE_MAX and what the user lets come while something is
 * ready still. */
#ifndef SY_LAUNCHER_LINES_H
#define SY_LAUNCHER_LINES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SY_LINE_MAX = 1 << 20 /* a line that is longer comes out in pieces */
};

struct sy_lines {
    bool raw;    /* set by the owner: bytes are ready as they come, lines or not */
    bool inside; /* what was taken so far ends inside a line */
    char *data;
    size_t room;       /* bytes allocated */
    size_t start, end; /* what is held: data[start] .. data[end - 1] */
    size_t ready;      /* of it, data[start] .. data[ready - 1] may be taken */
};

/* Where to put the next bytes, and how many at most (at least 1). */
char *sy_lines_space(struct sy_lines *lines, size_t *room);

/* `count` bytes were put there. */
void sy_lines_filled(struct sy_lines *lines, size_t count);

/* No more will come: what is held is ready, newline or not. */
void sy_lines_end(struct sy_lines *lines);

/* The bytes that may be forwarded now. */
const char *sy_lines_ready(const struct sy_lines *lines, size_t *length);

/* The first `count` of them were forwarded. */
void sy_lines_taken(struct sy_lines *lines, size_t count);

void sy_lines_free(struct sy_lines *lines);

#endif

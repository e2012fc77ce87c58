/* Forwards the stdout or the stderr of one PE, or of a command that starts an agent, at the head:
 * takes bytes as they come and appends whole lines to an output of oshrun, with a label where one
 * is wanted. It tells how many bytes it has forwarded; so many may come again.
 *
 * The way of a PE's output, with the bound on what is held in each step:
 *
 *     the PE's pipe -> pe_output.h (its daemon; reads no more than the head has given it room for)
 *                   -> frames to the head, which checks them against that room (head/messages.c)
 *                   -> forward.h: lines.h splits, repeats.h joins equal lines of several PEs
 *                   -> out_file.h: one file or terminal; refuses writers while it is full */
#ifndef SY_LAUNCHER_FORWARD_H
#define SY_LAUNCHER_FORWARD_H

#include <sys/types.h>

#include "bootstrap/launcher/stdio/lines.h"
#include "bootstrap/launcher/stdio/repeats.h"
#include "bootstrap/launcher/stdio/out_file.h"

/* A line that other PEs may write too, and that is shown once for all. */
struct sy_forward_repeat {
    size_t at;     /* position in all that was ever forwarded */
    size_t length; /* with its newline */
    struct sy_repeat *repeat;
};

struct sy_forward {
    struct sy_writer writer; /* first, so that the writer's calls find this */
    struct sy_out_file *out_file;
    struct sy_lines lines;
    char *label;    /* put before each line; "" for none */
    bool timestamp; /* and before that the time */
    bool plain;     /* set by the owner: what a terminal would obey is shown (plain.h) */
    bool open;
    bool ended;     /* no more will come */
    size_t unacked; /* bytes that came and of which `room` was not told yet */
    /* Set by the owner, or NULL: lines that others may write too wait for them here. */
    struct sy_repeats *repeats;
    const char *sayer; /* "PE": what others are called */
    /* The length of a line's beginning that names its writer, newline not counted; -1: the line is
     * shown as it is. */
    ssize_t (*who)(const struct sy_forward *forward, const char *line, size_t length);
    struct sy_forward_repeat *waiting; /* in order */
    size_t first, last, places;        /* of them: waiting[first] .. waiting[last - 1] */
    size_t shown, seen;                /* bytes that were handed on, and searched for such lines */
    bool within;                       /* what was searched ends inside a line */
    bool held;                         /* waits for others to say the same */
    void (*room)(struct sy_forward *forward, size_t bytes);
    void (*done)(struct sy_forward *forward); /* everything was handed on */
    void *owner;
};

/* Begins. room, done and owner are set by the caller; label (allocated) is taken over. raw: forward
 * bytes as they come (one PE without labels: nothing can mix, and a prompt without a newline shows
 * at once). */
void sy_forward_open(struct sy_forward *forward, struct sy_out_file *out_file, int source,
                     char *label, bool timestamp, bool raw);

/* Drops the bytes that were not forwarded, and ends. */
void sy_forward_close(struct sy_forward *forward);

/* Goes on where a line waited for the same line of others. */
void sy_forward_resume(struct sy_forward *forward);

/* Takes bytes; length 0: the end. */
void sy_forward_put(struct sy_forward *forward, const char *bytes, size_t length);

#endif

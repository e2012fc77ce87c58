/* The stdout or the stderr of one PE, or of a command that starts an agent: takes bytes as they
 * come and forwards whole lines to an output, with a label where one is wanted. Reports how many
 * bytes it has forwarded; so many may come again. */
#ifndef SY_LAUNCHER_STREAM_H
#define SY_LAUNCHER_STREAM_H

#include <sys/types.h>

#include "bootstrap/launcher/stdio/lines.h"
#include "bootstrap/launcher/stdio/repeats.h"
#include "bootstrap/launcher/stdio/out_file.h"

/* A line that other streams may have too, and that is shown once for all. */
struct sy_stream_repeat {
    size_t at;     /* in all that the stream ever said */
    size_t length; /* with its newline */
    struct sy_repeat *repeat;
};

struct sy_stream {
    struct sy_writer writer; /* first: a stream is a writer */
    struct sy_out_file *out_file;
    struct sy_lines lines;
    char *label;    /* put before each line; "" for none */
    bool timestamp; /* and before that the time */
    bool plain;     /* set by the owner: what a terminal would obey is shown (plain.h) */
    bool open;
    bool ended;     /* no more will come */
    size_t unacked; /* bytes that came and of which `room` was not told yet */
    /* Set by the owner, or NULL: lines that others may say too wait for them. */
    struct sy_repeats *repeats;
    const char *sayer; /* "PE": what others are called */
    /* How many bytes at the beginning of a line (without its newline) say who says the rest; -1: it
     * is shown as it is. */
    ssize_t (*who)(const struct sy_stream *stream, const char *line, size_t length);
    struct sy_stream_repeat *waiting; /* in order */
    size_t first, last, places;       /* of them: waiting[first] .. waiting[last - 1] */
    size_t shown, seen;               /* bytes that were handed on, and searched for such lines */
    bool within;                      /* what was searched ends inside a line */
    bool held;                        /* waits for others to say the same */
    void (*room)(struct sy_stream *stream, size_t bytes);
    void (*done)(struct sy_stream *stream); /* everything was handed on */
    void *owner;
};

/* room, done and owner are set by the caller; label is taken over. raw: hand on bytes as they come
 * (one PE without labels: nothing can mix, and a prompt without a newline shows at once). */
void sy_stream_open(struct sy_stream *stream, struct sy_out_file *out_file, int source, char *label,
                    bool timestamp, bool raw);

/* Drops the bytes that were not forwarded, and ends. */
void sy_stream_close(struct sy_stream *stream);

/* Continues where the stream waited for the same line of others. */
void sy_stream_resume(struct sy_stream *stream);

/* Bytes; none are the end. */
void sy_stream_put(struct sy_stream *stream, const char *bytes, size_t length);

#endif

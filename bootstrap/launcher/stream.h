/* The stdout or the stderr of one PE, or of a command that starts an agent: takes bytes as they
 * come, hands whole lines to a sink, with a label where one is wanted. Says how much it has handed
 * on, which is as much as may come again. */
#ifndef SY_LAUNCHER_STREAM_H
#define SY_LAUNCHER_STREAM_H

#include "bootstrap/launcher/lines.h"
#include "bootstrap/launcher/sink.h"

struct sy_stream {
    struct sy_writer writer; /* first: a stream is a writer */
    struct sy_sink *sink;
    struct sy_lines lines;
    char *label;    /* put before each line; "" for none */
    bool timestamp; /* and before that the time */
    bool open;
    bool ended;     /* no more will come */
    size_t unacked; /* bytes that came and of which `room` was not told yet */
    void (*room)(struct sy_stream *stream, size_t bytes);
    void (*done)(struct sy_stream *stream); /* everything was handed on */
    void *owner;
};

/* room, done and owner are set by the caller; label is taken over. raw: hand on bytes as they come
 * (one PE without labels: nothing can mix, and a prompt without a newline shows at once). */
void sy_stream_open(struct sy_stream *stream, struct sy_sink *sink, int source, char *label,
                    bool timestamp, bool raw);

/* Bytes; none are the end. */
void sy_stream_put(struct sy_stream *stream, const char *bytes, size_t length);

#endif

/* The stdout or the stderr of one PE: reads its pipe, hands whole lines to a sink, with a label
 * where one is wanted. Reads only while the sink takes what was read. */
#ifndef SY_LAUNCHER_STREAM_H
#define SY_LAUNCHER_STREAM_H

#include "bootstrap/launcher/lines.h"
#include "bootstrap/launcher/sink.h"

struct sy_stream {
    struct sy_writer writer; /* first: a stream is a writer */
    struct ev_loop *loop;
    struct sy_sink *sink;
    int fd; /* read end, non-blocking; -1 when closed */
    ev_io io;
    struct sy_lines lines;
    char label[16]; /* "[3] ", or "" */
    bool last_call; /* nobody is left to write: an empty pipe is a finished one */
    bool ended;     /* the pipe has been read to its end */
    void (*done)(struct sy_stream *stream); /* everything was handed on and the pipe is closed */
    void *owner;
};

/* Starts to read fd, which the stream closes. raw: hand on bytes as they come (one PE without
 * labels: nothing can mix, and a prompt without a newline shows at once). */
void sy_stream_open(struct sy_stream *stream, struct ev_loop *loop, int fd, struct sy_sink *sink,
                    int pe, bool label, bool raw);

/* Takes what is in the pipe still, and then no longer waits for its writers. */
void sy_stream_finish(struct sy_stream *stream);

#endif

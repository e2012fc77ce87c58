/* One output of oshrun, its stdout, its stderr or a file: takes text from many writers, one at a
 * time, and never blocks the loop. It knows nothing of PEs or pipes.
 *
 * A writer claims the output, appends, and keeps it while it is inside a line. When the reader of
 * the output is slow, claims are refused, the writer queues up and reads no more until it is
 * called: that is the back-pressure that keeps memory bounded. A line whose writer says no more for
 * a second is broken where others wait: that writer may wait for one of them. */
#ifndef SY_LAUNCHER_OUT_FILE_H
#define SY_LAUNCHER_OUT_FILE_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct sy_writer {
    int source;                               /* writers of one source may share a line */
    void (*resume)(struct sy_writer *writer); /* called when a claim may succeed again */
    struct sy_writer *next;                   /* in the queue */
    bool queued;
};

struct sy_out_file_buffer {
    char *data;
    size_t start, end, room;
};

struct sy_out_file {
    struct ev_loop *loop;
    int fd;
    enum { SY_OUT_FILE_FILE, SY_OUT_FILE_SOCKET, SY_OUT_FILE_NONBLOCKING, SY_OUT_FILE_POLLED } kind;
    bool reopened; /* fd is the output's own */
    bool dead;     /* nobody reads: everything is dropped */
    ev_io io;
    struct sy_out_file_buffer text;  /* not written yet */
    struct sy_out_file_buffer notes; /* oshrun's own lines, which wait for a line's end */
    struct sy_writer *holder;        /* who is inside a line */
    struct sy_writer *first, **last;
    ev_timer overdue; /* somebody waits for the end of the holder's line */
    int open_line;    /* source of an unfinished line whose writer is done with it; or -1 */

    void (*broken)(struct sy_out_file *out_file, int error); /* a write failed; called once */
    void (*emptied)(struct sy_out_file *out_file);
    void *owner;
};

/* Takes over descriptor fd. broken, emptied and owner are set by the caller. */
void sy_out_file_open(struct sy_out_file *out_file, struct ev_loop *loop, int fd);

/* Whether `writer` may append now. */
bool sy_out_file_claim(struct sy_out_file *out_file, const struct sy_writer *writer);

/* Appends a piece of at most a few hundred KiB, after a claim that was granted. */
void sy_out_file_append(struct sy_out_file *out_file, const struct sy_writer *writer,
                        const char *text, size_t length);

/* After appending: whether the writer is inside a line, and so keeps all others out. */
void sy_out_file_hold(struct sy_out_file *out_file, struct sy_writer *writer, bool inside);

/* The writer is done: lets go, also in the middle of a line. */
void sy_out_file_release(struct sy_out_file *out_file, struct sy_writer *writer, bool inside);

/* Queues a writer whose claim was refused. */
void sy_out_file_wait(struct sy_out_file *out_file, struct sy_writer *writer);

/* Writes what can be written now. */
void sy_out_file_flush(struct sy_out_file *out_file);

/* Calls the queued writers, as far as claims can succeed. */
void sy_out_file_serve(struct sy_out_file *out_file);

/* Adds whole lines of oshrun's own, never in the middle of another's line. */
void sy_out_file_say(struct sy_out_file *out_file, const char *text, size_t length);

bool sy_out_file_empty(const struct sy_out_file *out_file);
void sy_out_file_close(struct sy_out_file *out_file);

#endif

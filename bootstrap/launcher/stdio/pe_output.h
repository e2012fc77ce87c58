/* The reading end of one output of one PE, in its daemon; or of a command's stderr, in the head.
 * Reads the pipe as far as the head has room (`credit`) and hands the bytes to its owner. */
#ifndef SY_LAUNCHER_PE_OUTPUT_H
#define SY_LAUNCHER_PE_OUTPUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct sy_pe_output {
    struct ev_loop *loop;
    int fd;     /* read end, non-blocking; -1 when closed */
    int stream; /* 1: stdout, 2: stderr */
    ev_io io;
    size_t credit;  /* bytes that may be read */
    bool last_call; /* nobody is left to write: an empty pipe is a finished one */

    /* Bytes, or the end if length is 0; the output is closed then. */
    void (*bytes)(struct sy_pe_output *output, const char *bytes, size_t length);
    void *owner;
};

/* Starts to read fd, which the output closes. bytes, owner and stream are set by the caller. */
void sy_pe_output_open(struct sy_pe_output *output, struct ev_loop *loop, int fd, size_t credit);

/* The head has room for so many bytes more. */
void sy_pe_output_credit(struct sy_pe_output *output, size_t bytes);

/* The writers are gone: takes what is still in the pipe, and then ends. */
void sy_pe_output_finish(struct sy_pe_output *output);

/* Takes what is in the pipe now, as far as the head has room. */
void sy_pe_output_drain(struct sy_pe_output *output);

/* Reads no more. */
void sy_pe_output_close(struct sy_pe_output *output);

#endif

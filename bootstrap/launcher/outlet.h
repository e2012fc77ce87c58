/* One output of one PE on its way to the head: reads the pipe, as far as the head has room. */
#ifndef SY_LAUNCHER_OUTLET_H
#define SY_LAUNCHER_OUTLET_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct sy_outlet {
    struct ev_loop *loop;
    int fd;     /* read end, non-blocking; -1 when closed */
    int stream; /* 1: stdout, 2: stderr */
    ev_io io;
    size_t credit;  /* bytes that may be read */
    bool last_call; /* nobody is left to write: an empty pipe is a finished one */

    /* Bytes, or the end if length is 0; the outlet is closed then. */
    void (*bytes)(struct sy_outlet *outlet, const char *bytes, size_t length);
    void *owner;
};

/* Starts to read fd, which the outlet closes. bytes, owner and stream are set by the caller. */
void sy_outlet_open(struct sy_outlet *outlet, struct ev_loop *loop, int fd, size_t credit);

/* The head has room for so many bytes more. */
void sy_outlet_credit(struct sy_outlet *outlet, size_t bytes);

/* Takes what is in the pipe still, and then no longer waits for its writers. */
void sy_outlet_finish(struct sy_outlet *outlet);

/* The same at once, as far as the head has room. */
void sy_outlet_drain(struct sy_outlet *outlet);

/* Reads no more. */
void sy_outlet_close(struct sy_outlet *outlet);

#endif

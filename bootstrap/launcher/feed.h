/* oshrun's stdin, passed on to one PE: what is read goes to a pipe, then the end of file does. */
#ifndef SY_LAUNCHER_FEED_H
#define SY_LAUNCHER_FEED_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct sy_feed {
    struct ev_loop *loop;
    int out; /* write end of the PE's pipe, non-blocking; -1 when closed */
    bool ended;
    ev_io read, write;
    ev_timer background; /* looks whether the terminal has become ours */
    size_t start, end;
    char data[65536];
};

/* Starts; closes `out` when stdin has ended or the PE reads no more. */
void sy_feed_open(struct sy_feed *feed, struct ev_loop *loop, int out);
void sy_feed_close(struct sy_feed *feed);

#endif

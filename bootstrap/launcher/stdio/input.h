/* oshrun's stdin, passed on to those PEs that get one: a piece is read when all of them have the
 * one before it. */
#ifndef SY_LAUNCHER_INPUT_H
#define SY_LAUNCHER_INPUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct sy_input {
    struct ev_loop *loop;
    bool open;
    bool *wants; /* by PE: it gets what comes */
    bool *owes;  /* and has not taken the last piece yet */
    int npes;
    int readers;    /* PEs that want more */
    int unanswered; /* of them, those that owe */
    int fd;         /* what is read: stdin, or its file opened a second time */
    bool socket;    /* that is what stdin is */
    ev_io read;
    ev_timer background; /* looks whether the terminal has become ours */
    /* Sends a piece, or the end (length 0), to all PEs that want it. */
    void (*pass)(struct sy_input *input, const char *bytes, size_t length);
    void *owner;
};

/* Starts. wants, npes, pass and owner are set by the caller; wants (allocated) is taken over. */
void sy_input_open(struct sy_input *input, struct ev_loop *loop);

/* Whether a PE was sent a piece that it has not taken yet. */
bool sy_input_awaits(const struct sy_input *input, int pe);

/* A PE has taken the last piece; closed: it wants no more. */
void sy_input_taken(struct sy_input *input, int pe, bool closed);

void sy_input_close(struct sy_input *input);

#endif

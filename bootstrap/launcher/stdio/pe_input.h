/* Standard input of one PE on its host: what comes from the head goes to a pipe. */
#ifndef SY_LAUNCHER_PE_INPUT_H
#define SY_LAUNCHER_PE_INPUT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct sy_pe_input {
    struct ev_loop *loop;
    int fd; /* write end, non-blocking; -1 when closed */
    ev_io io;
    char *data;
    size_t start, end;

    /* Everything is in the pipe; or closed: the PE reads no more. */
    void (*taken)(struct sy_pe_input *input, bool closed);
    void *owner;
};

/* Takes over fd. taken and owner are set by the caller. */
void sy_pe_input_open(struct sy_pe_input *input, struct ev_loop *loop, int fd);

/* Passes bytes on; 0 of them are the end. No more may be given before `taken`. */
void sy_pe_input_put(struct sy_pe_input *input, const char *bytes, size_t length);

void sy_pe_input_close(struct sy_pe_input *input);

#endif

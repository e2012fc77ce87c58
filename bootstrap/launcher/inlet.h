/* Standard input of one PE on its host: what comes from the head goes to a pipe. */
#ifndef SY_LAUNCHER_INLET_H
#define SY_LAUNCHER_INLET_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct sy_inlet {
    struct ev_loop *loop;
    int fd; /* write end, non-blocking; -1 when closed */
    ev_io io;
    char *data;
    size_t start, end;

    /* Everything is in the pipe; or closed: the PE reads no more. */
    void (*taken)(struct sy_inlet *inlet, bool closed);
    void *owner;
};

/* Takes over fd. taken and owner are set by the caller. */
void sy_inlet_open(struct sy_inlet *inlet, struct ev_loop *loop, int fd);

/* Passes bytes on; 0 of them are the end. No more may be given before `taken`. */
void sy_inlet_put(struct sy_inlet *inlet, const char *bytes, size_t length);

void sy_inlet_close(struct sy_inlet *inlet);

#endif

/* Where the output of PEs goes: to oshrun's own stdout and stderr, or to files. */
#ifndef SY_LAUNCHER_OUTPUT_H
#define SY_LAUNCHER_OUTPUT_H

#include <ev.h>

#include "bootstrap/launcher/stdio/out_file.h"

struct sy_outputs {
    struct ev_loop *loop;
    struct sy_out_file out, err;
    struct sy_out_file *err_out_file; /* &err, or &out: both are the same file, or stderr is full */
    struct sy_file *files;
    void (*broken)(struct sy_out_file *out_file, int error);
    void (*emptied)(struct sy_out_file *out_file);
    void *owner;
};

/* loop, broken, emptied and owner are set by the caller. */
void sy_outputs_open(struct sy_outputs *outputs);

/* The output for a file, which is emptied. Names of the same file share it, also with stdout or
 * stderr where they lead there; then it is not emptied. NULL: it cannot be opened, errno says why;
 * ENXIO also where it is a FIFO that nobody reads. */
struct sy_out_file *sy_outputs_file(struct sy_outputs *outputs, const char *name);

/* "stdout", "stderr", or the name of the file. */
const char *sy_outputs_name(const struct sy_outputs *outputs, const struct sy_out_file *out_file);

bool sy_outputs_empty(const struct sy_outputs *outputs);
void sy_outputs_close(struct sy_outputs *outputs);

/* The pattern with %r replaced by the PE, %h by its host, %% by % (allocated). */
char *sy_outputs_expand(const char *pattern, int pe, const char *host);

#endif

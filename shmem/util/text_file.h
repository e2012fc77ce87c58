/* Reading text that a user names: a file, a terminal, /dev/stdin, or a pipe that a shell made. */
#ifndef SY_UTIL_TEXT_FILE_H
#define SY_UTIL_TEXT_FILE_H

#include "util/error.h"

enum {
    SY_TEXT_FILE_SILENCE = 10, /* seconds that a FIFO's writer may take to come, or be silent */
    SY_TEXT_FILE_LIST = 16     /* MiB of a list of hosts or of programs */
};

/* The whole text, with a NUL behind it and none in it; the caller frees it. path: NULL is the
 * standard input, whose writer may take its time. Returns 0, or -errno with why in err: also where
 * there are more than `most` MiB, as /dev/zero has. */
int sy_text_file_read(const char *path, unsigned most, char **text, struct sy_error *err);

#endif

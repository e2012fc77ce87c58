/* Text of other hosts, of PEs and of files in oshrun's own messages: what a terminal would obey is
 * shown as \x1b. The output of programs does not come here; it is passed on byte for byte. */
#ifndef SY_LAUNCHER_PLAIN_H
#define SY_LAUNCHER_PLAIN_H

#include <stddef.h>

/* Bytes that `length` bytes of text need at most, with a NUL. */
#define SY_PLAIN_ROOM(length) (4 * (size_t)(length) + 1)

/* Writes the text to `out`, which has room for SY_PLAIN_ROOM(length), and returns its length. Tabs
 * stay, and newlines; all other control characters, what changes the direction of writing, and
 * what is no UTF-8 are shown by their bytes. */
size_t sy_plain(char *out, const char *text, size_t length);

/* sy_plain for a string; the result is allocated. */
char *sy_plain_string(const char *text);

#endif

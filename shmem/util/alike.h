/* Groups PEs whose texts are equal, for reports with one line for each group. */
#ifndef SY_UTIL_ALIKE_H
#define SY_UTIL_ALIKE_H

#include <stdbool.h>
#include <stddef.h>

/* Steps through `count` texts, each once however often it is there; NULL: that PE has none. Starts
 * at *at and returns whether there was another: *at is then the first PE that has it, and `who`,
 * with `room` for at least 64 bytes, lists all of them (list.h). */
bool sy_alike_next(char *const *text, int count, int *at, char *who, size_t room);

#endif

/* Which PEs have the same to say, for reports in which one line stands for all of them. */
#ifndef SY_UTIL_ALIKE_H
#define SY_UTIL_ALIKE_H

#include <stdbool.h>
#include <stddef.h>

/* Steps through `count` texts, each once however often it is there; NULL: this PE says nothing.
 * Looks from *at on, and returns whether there was another: *at is then the first PE that says it,
 * and `who`, with `room` for at least 64 bytes, names all (list.h). */
bool sy_alike_next(char *const *text, int count, int *at, char *who, size_t room);

#endif

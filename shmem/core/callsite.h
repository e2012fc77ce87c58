/* Where the program called the library. A report finds it on the calling thread's own stack, so
 * calls cost nothing for it. */
#ifndef SY_CORE_CALLSITE_H
#define SY_CORE_CALLSITE_H

#include <stddef.h>

#include "util/bits.h"

/* The routine of the specification that the program is in, as it wrote it. `otherwise` where the
 * stack does not show it, as in a stripped program with the static library. The text is valid as
 * long as the library is loaded, or `otherwise` is. */
const char *sy_callsite_routine(const char *otherwise) __attribute__((cold));

/* On a thread of the library that works for the program: the routine by which the program asked for
 * it, which is then the answer of sy_callsite_routine. NULL: look at the stack. */
extern _Thread_local const char *sy_callsite_asked SY_HIDDEN;

/* "main (program+0x1234)": the place in the program that called the library, or "" where the stack
 * does not show it. */
void sy_callsite_text(char *text, size_t room) __attribute__((cold));

/* Loads the library that the first search needs, which a fatal signal's handler should not. */
void sy_callsite_prepare(void);

#endif

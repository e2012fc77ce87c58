/* Where the program called the library. A report finds it on the calling thread's own stack, so
 * calls cost nothing for it. */
#ifndef SY_CORE_CALLSITE_H
#define SY_CORE_CALLSITE_H

#include <stddef.h>

/* The routine of the specification that the program is in, as it wrote it. `otherwise` where that
 * cannot be seen, as in a program with the static library that has been stripped. The text is valid
 * as long as the library is loaded, or `otherwise` is. */
const char *sy_callsite_routine(const char *otherwise) __attribute__((cold));

/* "main (program+0x1234)": what in the program called the library, or "" where that cannot be seen.
 */
void sy_callsite_text(char *text, size_t room) __attribute__((cold));

/* The first look loads a library, which a handler of a fatal signal had better not do. */
void sy_callsite_prepare(void);

#endif

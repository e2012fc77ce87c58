/* Where in the program an address is, in words. */
#ifndef SY_UTIL_SYMBOL_H
#define SY_UTIL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

/* Writes "function (file+0x1234)", without a function where none is known; the number is one that
 * addr2line takes. returns: the address is where a call returns to, and the call is meant. False:
 * the address is in no file. Allocates nothing, so handlers of fatal signals may call it. */
bool sy_symbol_text(const void *address, bool returns, char *text, size_t room);

/* The loaded file that has the address; "": the executable. NULL: none. The text stays while the
 * file is loaded. */
const char *sy_symbol_file(const void *address);

/* Whether the address is in the executable itself. */
bool sy_symbol_in_program(const void *address);

/* The function of the executable that has the address, by a name that `fits`; NULL: there is none,
 * or the file is stripped. The text stays. Not for handlers of signals. */
const char *sy_symbol_own(const void *address, bool (*fits)(const char *name));

#endif

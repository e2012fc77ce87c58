/* Where in the program an address is, in words. */
#ifndef SY_UTIL_SYMBOL_H
#define SY_UTIL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>

/* Writes "function (file+0x1234)", without a function where none is known; the number is one that
 * addr2line takes. returns: the address is where a call returns to, and the call is meant. False:
 * the address is in no file. Allocates nothing, so handlers of fatal signals may call it. */
bool sy_symbol_text(const void *address, bool returns, char *text, size_t room);

#endif

/* Every routine is defined under its profiling name, p and its own name, and has its own name as a
 * weak alias, so that a tool or a program can replace it and still call the original (10). */
#ifndef SY_API_ALIAS_H
#define SY_API_ALIAS_H

#include <pshmem.h>

#define SY_ALIAS(name) extern __typeof__(p##name) name __attribute__((weak, alias("p" #name)))

#endif

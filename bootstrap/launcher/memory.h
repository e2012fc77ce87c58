/* Memory for oshrun: what it asks for is small and bounded, so when there is none it says so and
 * leaves; the PEs then die with it. */
#ifndef SY_LAUNCHER_MEMORY_H
#define SY_LAUNCHER_MEMORY_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *sy_memory_check(void *block)
{
    if (!block) {
        fputs("oshrun: out of memory\n", stderr);
        _Exit(1);
    }
    return block;
}

static inline void *sy_memory_zeroed(size_t count, size_t size)
{
    return sy_memory_check(calloc(count ? count : 1, size));
}

static inline void *sy_memory_resize(void *block, size_t bytes)
{
    return sy_memory_check(realloc(block, bytes ? bytes : 1));
}

static inline char *sy_memory_string(const char *text)
{
    return sy_memory_check(strdup(text));
}

#endif

/* Copies of any length. The copy instruction of some processors (AMD, Zen 3 and 4), which memcpy
 * uses for long ones, is slow where the destination is less than 32 bytes ahead of the source
 * within their pages: 2 GB/s instead of 40. Such places are common: a symmetric heap begins with a
 * page, and malloc's large blocks 16 bytes after the beginning of one. */
#ifndef SY_UTIL_COPY_H
#define SY_UTIL_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/bits.h"

#define SY_COPY_PIECE 1024 /* bytes, which memcpy copies without it */

/* Whether it is ahead by less than `bytes`; ahead: the destination's address less the source's. */
static inline bool sy_copy_is_ahead(uintptr_t ahead, unsigned bytes)
{
    return ahead % 4096 - 1 < bytes - 1;
}

__attribute__((unused)) static SY_NOINLINE void sy_copy_long(void *to, const void *from,
                                                             size_t length)
{
    size_t piece = SY_COPY_PIECE, done = 0;

    SY_OPAQUE(piece); /* the compiler may use it where the length is constant */
    if (sy_copy_is_ahead((uintptr_t)to - (uintptr_t)from, 32))
        for (; length - done > piece; done += piece)
            memcpy((char *)to + done, (const char *)from + done, piece);
    memcpy((char *)to + done, (const char *)from + done, length - done);
}

SY_INLINE void sy_copy_bytes(void *to, const void *from, size_t length)
{
    if (length > SY_COPY_PIECE)
        sy_copy_long(to, from, length);
    else
        memcpy(to, from, length);
}

#endif

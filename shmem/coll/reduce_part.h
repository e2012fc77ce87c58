/* How the elements of an array are divided among those that combine them. */
#ifndef SY_COLL_REDUCE_PART_H
#define SY_COLL_REDUCE_PART_H

#include <stddef.h>

#include "util/bits.h"

/* The elements that worker i of `parts` combines: from *first to before *end. Parts begin at whole
 * cache lines from the array's beginning. */
static inline void sy_reduce_part(int parts, size_t size, size_t count, int i, size_t *first,
                                  size_t *end)
{
    size_t all = (size_t)parts, line = SY_LINE / size;
    size_t part = (count / all + (count % all != 0) + line - 1) / line * line;

    *first = (size_t)i * part < count ? (size_t)i * part : count;
    *end = part < count - *first ? *first + part : count;
}

#endif

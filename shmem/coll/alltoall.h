/* All-to-all exchange (9.10.5, 9.10.6). */
#ifndef SY_COLL_ALLTOALL_H
#define SY_COLL_ALLTOALL_H

#include "coll/group.h"

/* Block i of member j's source becomes block j of member i's dest; blocks of `length` bytes. */
void sy_alltoall(const struct sy_group *group, void *dest, const void *source, size_t length);

/* sy_alltoall with blocks of `count` elements of `size` bytes. Each element begins dest_stride or
 * source_stride bytes after the one before, also across blocks. */
void sy_alltoalls(const struct sy_group *group, void *dest, const void *source,
                  ptrdiff_t dest_stride, ptrdiff_t source_stride, size_t size, size_t count);

/* Blocks of `count` elements of `size` bytes; strides in bytes. */
struct sy_blocks {
    size_t size, count;
    ptrdiff_t dest_stride, source_stride;
};

/* Block i of an array whose elements are `stride` bytes apart. */
static inline char *sy_block(const void *array, int i, ptrdiff_t stride, size_t count)
{
    return (char *)array + (ptrdiff_t)((size_t)i * count) * stride;
}

/* Both for a team that is spread over several nodes (alltoall_nodes.c); blocks are not empty. */
void sy_alltoall_nodes(const struct sy_group *group, void *dest, const void *source,
                       const struct sy_blocks *blocks);

#endif

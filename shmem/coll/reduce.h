/* Reductions (9.10.9). */
#ifndef SY_COLL_REDUCE_H
#define SY_COLL_REDUCE_H

#include "coll/group.h"
#include "coll/reduce_kernels.h"

/* An array operation: its kernel and the bytes of an element. */
struct sy_operation {
    sy_kernel *kernel;
    size_t size;
};

/* Combines `count` elements of all members' source into dest of all, which may be source. All get
 * the same bits. */
void sy_reduce(const struct sy_group *group, struct sy_operation op, void *dest, const void *source,
               size_t count);

/* The algorithms that can be asked for by name, on a team of two members or more: along a tree
 * (with a radix of all members: linear), in rounds between pairs, and around a ring. */
void sy_reduce_tree(const struct sy_group *group, struct sy_operation op, char *dest,
                    const char *source, size_t count, long radix);
void sy_reduce_doubling(const struct sy_group *group, struct sy_operation op, char *dest,
                        const char *source, size_t count);
void sy_reduce_ring(const struct sy_group *group, struct sy_operation op, char *dest,
                    const char *source, size_t count);

/* The elements that member i has the work for where each works on a part: from *first to before
 * *end. Parts begin a whole number of cache lines from the array's beginning. */
static inline void sy_reduce_part(const struct sy_group *group, size_t size, size_t count, int i,
                                  size_t *first, size_t *end)
{
    size_t members = (size_t)group->members.size, line = SY_LINE / size;
    size_t part = (count / members + (count % members != 0) + line - 1) / line * line;

    *first = (size_t)i * part < count ? (size_t)i * part : count;
    *end = part < count - *first ? *first + part : count;
}

#endif

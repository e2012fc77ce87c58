/* Data collectives whose arrays are in memory that CPUs cannot load and store, of a device: by gets
 * alone, which copy, and for reductions in memory of the host. Every routine asks
 * sy_coll_is_staged; the answer is the same on all members, since the arrays are symmetric. */
#ifndef SY_COLL_STAGED_H
#define SY_COLL_STAGED_H

#include "coll/reduce.h"
#include "core/memory/staged.h"

static inline bool sy_coll_is_staged(const void *dest, const void *source)
{
    unsigned window;
    uint64_t offset;

    return sy_staged_has(dest, &window, &offset) || sy_staged_has(source, &window, &offset);
}

void sy_staged_broadcast(const struct sy_group *group, void *dest, const void *source,
                         size_t length, int root) SY_COLD;

/* Blocks of `length` bytes: member i's, at `of_source` bytes of its source, comes to block i of
 * dest. */
void sy_staged_gather(const struct sy_group *group, void *dest, const void *source,
                      size_t of_source, size_t length) SY_COLD;

/* Reduces the sources of members 0 to `last` into dest; last -1: dest becomes zeros. */
void sy_staged_reduce(const struct sy_group *group, struct sy_operation op, void *dest,
                      const void *source, size_t count, int last) SY_COLD;

#endif

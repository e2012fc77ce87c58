/* Broadcast (9.10.7). */
#ifndef SY_COLL_BROADCAST_H
#define SY_COLL_BROADCAST_H

#include "coll/data.h"
#include "coll/group.h"

/* Copies `length` bytes of member root's source to dest of all members; on an active set to all but
 * the root. */
void sy_broadcast(const struct sy_group *group, void *dest, const void *source, size_t length,
                  int root);

/* sy_broadcast for a team spread over several nodes (broadcast_nodes.c); length is not 0. */
void sy_broadcast_nodes(const struct sy_group *group, void *dest, const void *source, size_t length,
                        int root);

/* The root's own copy. An active set's root keeps its dest as it is, which still says where that of
 * the other members is. */
static inline void sy_broadcast_own(const struct sy_group *group, void *dest, const void *source,
                                    size_t length)
{
    if (!group->psync)
        sy_data_copy(dest, source, length);
}

#endif

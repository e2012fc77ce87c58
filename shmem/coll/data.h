/* What data collectives share: access to members' memory by pieces, and the order of members. */
#ifndef SY_COLL_DATA_H
#define SY_COLL_DATA_H

#include <string.h>

#include "coll/group.h"
#include "core/rma.h"
#include "core/start/world.h"
#include "util/copy.h"

/* Bytes of a piece: small enough that a piece of each of two operands and the result stay in the
 * first cache; a multiple of every element's size. */
#define SY_PIECE 8192

/* The limits up to which data go through the members' slots. Copying into the slot and transferring
 * its cache lines costs less than another synchronisation only up to a few lines: SY_SMALL bytes
 * where each member reads all slots, twice as many where it reads one slot or a part of each. */
#define SY_SMALL 512

/* The number of members from which small blocks take a path with fewer pairs: where each of many
 * members reads the memory of every other, page tables use up the node's memory, with 8 KiB and a
 * page fault for each pair. */
#define SY_MANY       256
#define SY_MANY_BLOCK 4096

/* `far`: that number for an active set whose members share processors and do not have each other's
 * memory mapped, where each pair costs a connection and gets. */
static inline bool sy_data_many(const struct sy_group *group, size_t length, int far)
{
    int few = !group->team && sy_world.nodes_crowd ? far : SY_MANY;

    return group->members.size > few && length <= SY_MANY_BLOCK;
}

static inline bool sy_data_small(const struct sy_group *group, size_t length, size_t limit)
{
    return length <= limit && length <= sy_group_slot_size(group);
}

/* A buffer on the stack for a piece. */
struct sy_piece {
    _Alignas(SY_LINE) char bytes[SY_PIECE];
};

/* `length` bytes of member i's copy of `source`: where they are mapped, else a copy in `room`. */
static inline const void *sy_data_look(const struct sy_group *group, int i, const void *source,
                                       size_t length, void *room)
{
    const void *here = i == group->members.me ? source : sy_group_map(group, i, source);

    if (SY_LIKELY(here != NULL))
        return here;
    sy_group_pull(group, i, room, source, length);
    return room;
}

/* Copies `length` bytes to member i's copy of `dest`. sy_data_pushed must follow before the
 * synchronisation after which the member may look at them. */
static inline void sy_data_push(const struct sy_group *group, int i, void *dest, const void *source,
                                size_t length)
{
    sy_put(SHMEM_CTX_DEFAULT, dest, source, length, 1, sy_members_pe(&group->members, i), 0);
}

static inline void sy_data_pushed(void)
{
    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
}

/* A copy within this PE, of an array that may already be where it belongs. */
static inline void sy_data_copy(void *dest, const void *source, size_t length)
{
    if (dest != source && length)
        sy_copy_bytes(dest, source, length);
}

/* Member i's slot, copied to dest. */
static inline void sy_data_copy_slot(const struct sy_group *group, int i, size_t offset,
                                     size_t length, void *dest)
{
    sy_data_copy(dest, sy_group_read_slot(group, i, offset, length, dest), length);
}

/* The member `step` places after this one, in a circle. Members that all begin with themselves and
 * go around this way do not all read the same member's memory at once. */
static inline int sy_data_after(const struct sy_group *group, int step)
{
    int left = group->members.size - step; /* no sum that could overflow */

    return group->members.me < left ? group->members.me + step : group->members.me - left;
}

#endif

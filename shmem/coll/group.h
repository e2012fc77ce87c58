/* The PEs that a collective routine is for: a team's members, or a deprecated active set. Member i is PE
 * start + i * stride of the job, or table[start + i * stride] where the numbers are irregular.
 *
 * Everything that the members do together goes through this: who they are, synchronisation, and reading
 * each other's memory. Algorithms (broadcast.c, reduce.c, ...) know nothing of windows or transports. */
#ifndef SY_COLL_GROUP_H
#define SY_COLL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/team.h"

struct sy_group {
    struct sy_members members; /* who, and which of them this PE is */
    struct sy_team *team;      /* NULL for an active set */
    long *psync;               /* an active set's work array; NULL for a team */
};

/* The group of a team, and that of an active set whose PEs synchronise through psync. */
static inline struct sy_group sy_group_of_team(struct sy_team *team)
{
    return (struct sy_group){.members = team->members, .team = team};
}

struct sy_group sy_group_of_set(int start, int log_stride, int size, long *psync);

/* Waits for all members. Stores made before are visible after. On an active set psync is
 * SHMEM_SYNC_VALUE again when all have left; its last word is never used here. */
void sy_group_sync(const struct sy_group *group);

/* One member tells another: sy_group_notify adds 1 to counter `tag` of member i; sy_group_await waits until
 * that counter of this PE has grown by `count` since the last await of the tag. What the notifying member
 * wrote before is visible after (its stores; puts to other memory need sy_fence before). Nothing tells
 * notifications of different members apart, so an algorithm that uses a tag ends with sy_group_sync, or
 * makes sure in another way that no member can be in the next collective while one still awaits. Teams
 * only. */
#define SY_GROUP_TAGS 16 /* for algorithms; those above are sy_group_sync's own */
void sy_group_notify(const struct sy_group *group, int i, unsigned tag);
void sy_group_await(const struct sy_group *group, unsigned tag, uint64_t count);

/* Bytes of a member's slot: room in its control window for small data. 0 for an active set. */
size_t sy_group_slot_size(const struct sy_group *group);

/* The slot of this PE for the collective that is beginning. A collective that uses slots writes its own,
 * synchronises once, and reads the others'. The next use gets the other of two slots, so a member that
 * is one collective ahead does not overwrite what others still read. */
void *sy_group_slot(const struct sy_group *group);

/* After that synchronisation: `length` bytes at `offset` of member i's slot. Returns where they are: in
 * the slot itself where it is mapped, else in `room`, which has `length` bytes. */
const void *sy_group_read_slot(const struct sy_group *group, int i, size_t offset, size_t length,
                               void *room);

/* Ends the use of the slots (each collective that called sy_group_slot calls it once, last). */
void sy_group_slot_done(const struct sy_group *group);

/* Member i's copy of this PE's symmetric address: an address here where it is mapped, else NULL. */
void *sy_group_map(const struct sy_group *group, int i, const void *address);

/* Copies `length` bytes from member i's copy of `source` to dest here; blocking. */
void sy_group_pull(const struct sy_group *group, int i, void *dest, const void *source,
                   size_t length);

/* Collective: whether every member says yes. */
bool sy_group_agree(const struct sy_group *group, bool yes);

#endif

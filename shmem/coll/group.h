/* The PEs that a collective routine is for: a team's members, or a deprecated active set. Member i
 * is PE start + i * stride of the job, or table[start + i * stride] where the numbers are
 * irregular.
 *
 * Everything that the members do together goes through this: who they are, synchronisation, and
 * reading each other's memory. Algorithms (broadcast.c, reduce.c, ...) know nothing of windows or
 * transports. */
#ifndef SY_COLL_GROUP_H
#define SY_COLL_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/team.h"

struct sy_group {
    struct sy_members members; /* the members, and this PE's place among them */
    struct sy_team *team;      /* NULL for an active set, unless it has all PEs of the job */
    long *psync;               /* an active set's work array; NULL for a team */
};

/* The group of a team, and that of an active set whose PEs synchronise through psync; one that is
 * none ends the job, naming the routine. An active set of all PEs does as the world team does,
 * which is faster and leaves psync alone: many a program sets it when others may be in the routine
 * already. (Where threads could be in a collective of the world team at the same time it does not.)
 */
static inline struct sy_group sy_group_of_team(struct sy_team *team)
{
    return (struct sy_group){.members = team->members, .team = team};
}

struct sy_group sy_group_of_set(const char *routine, int start, int log_stride, int size,
                                long *psync);

/* Waits for all members. Stores made before are visible after. On an active set psync is
 * SHMEM_SYNC_VALUE again when all have left; its last word is never used here. */
void sy_group_sync(const struct sy_group *group);

/* Teams may be spread over several nodes, that is, sets of members that have each other's memory
 * mapped (core/start/nodes.h). Algorithms then have a part on each node, among its members, and a
 * part between nodes, where the first member on each node, the leader, or each member with its like
 * on other nodes, sends to others (notify.h). An active set is treated as if it were on one node.
 */
static inline bool sy_group_spans(const struct sy_group *group)
{
    return group->team && SY_UNLIKELY(group->team->nodes.count > 1);
}

static inline const struct sy_nodes *sy_group_nodes(const struct sy_group *group)
{
    return &group->team->nodes;
}

/* This PE's number among the members on its node (the leader is 0), the number of these members,
 * and the member with number k. */
static inline int sy_group_local(const struct sy_group *group)
{
    return group->team ? group->team->own.me : group->members.me;
}

static inline int sy_group_locals(const struct sy_group *group)
{
    return group->team ? group->team->own.size : group->members.size;
}

static inline int sy_group_mate(const struct sy_group *group, int k)
{
    return group->team ? sy_nodes_member(&group->team->nodes, group->team->nodes.mine, k) : k;
}

/* The member with this one's number on node j. Teams only. */
static inline int sy_group_like(const struct sy_group *group, int j)
{
    return sy_nodes_member(sy_group_nodes(group), j, sy_group_local(group));
}

/* Synchronisation on each node, of teams. gather: the leader waits for the other members on its
 * node, which go on. release, the next call after it: these wait for the leader, which goes on.
 * Together they are a synchronisation of the node, and so is sy_group_sync_node. All members of the
 * team make the same calls in the same order, however many are on their node. */
void sy_group_gather(const struct sy_group *group);
void sy_group_release(const struct sy_group *group);
void sy_group_sync_node(const struct sy_group *group);

/* Takes `count` stamps, numbers that rise as long as there are teams in this slot; all members take
 * the same. Returns the last one before them. */
uint64_t sy_group_stamp(const struct sy_group *group, uint64_t count);

/* One member tells another: sy_group_notify adds 1 to counter `tag` of member i; sy_group_await
 * waits until that counter of this PE has grown by `count` since the last await of the tag. What
 * the notifying member wrote before is visible after (its stores; puts to other memory have to be
 * completed before). Nothing tells notifications of different members apart, so an algorithm that
 * uses a tag ends with sy_group_sync, or makes sure in another way that no member can be in the
 * next collective while one still awaits. Teams only. */
#define SY_GROUP_TAGS 16 /* for algorithms; those above are sy_group_sync's own */
void sy_group_notify(const struct sy_group *group, int i, unsigned tag);
void sy_group_await(const struct sy_group *group, unsigned tag, uint64_t count);

/* Bytes of a member's slot: room in its control window for small data. 0 for an active set. */
size_t sy_group_slot_size(const struct sy_group *group);

/* The slot of this PE for the collective that is beginning. A collective that uses slots writes its
 * own, synchronises once (where it reads only those of its own node: that), and reads the others'.
 * The next use gets the other of two slots, so a member that is one collective ahead does not
 * overwrite what others still read. */
void *sy_group_slot(const struct sy_group *group);

/* After that synchronisation: `length` bytes at `offset` of member i's slot. Returns where they
 * are: in the slot itself where it is mapped, else in `room`, which has `length` bytes. */
const void *sy_group_read_slot(const struct sy_group *group, int i, size_t offset, size_t length,
                               void *room);

/* A synchronisation of a team on one node, of more than SY_SYNC_GROUP members, that combines their
 * slots: `join` combines what is at `into` with what is at `from`, which stands to its right, and
 * leaves the result at `into`. The last of a few neighbours to arrive does that for them; the last
 * of all has the result in the first member's slot before it releases the others. */
typedef void sy_group_join(void *into, const void *from, const void *how);
void sy_group_sync_joining(const struct sy_group *group, sy_group_join *join, const void *how);

/* Ends the use of the slots (each collective that called sy_group_slot calls it once, last). */
void sy_group_slot_done(const struct sy_group *group);

/* Member i's copy of this PE's symmetric address: an address here where it is mapped, else NULL. */
void *sy_group_map(const struct sy_group *group, int i, const void *address);

/* Copies `length` bytes from member i's copy of `source` to dest here; blocking. */
void sy_group_pull(const struct sy_group *group, int i, void *dest, const void *source,
                   size_t length);

#endif

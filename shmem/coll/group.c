/* See group.h. docs/architecture.md (Teams, contexts, collectives) says how members synchronise: up
 * to SY_SYNC_GROUP by words of their own, more by counters of groups, one level after the other,
 * and nodes by flags of their leaders.
 *
 * Who may write what:
 *   arrived, base, stamp                  their owner
 *   small buffers                         their owner; in a sync that joins slots, the last of its
 *                                         group to arrive, at each level
 *   gathered, inboxes                     others, by atomic addition
 *   released                              one PE of the node: in a sync the last to arrive, in a
 *                                         release the leader
 *   round                                 one PE for each flag: the one so many places before, or
 *                                         the child at that place, or the parent
 * Release stores and acquire loads make what a PE wrote before its sync visible to all that leave
 * it. */
#include <string.h>

#include "coll/group.h"
#include "coll/tree.h"
#include "core/amo.h"
#include "core/start/config.h"
#include "core/memory/control.h"
#include "core/fatal.h"
#include "core/rma.h"
#include "core/wait/wait.h"
#include "core/start/world.h"

/* Tags of the tree. */
enum { TAG_UP = SY_GROUP_TAGS, TAG_DOWN };
_Static_assert(TAG_DOWN < SY_TAGS, "a tag is missing");

/* Between nodes a message costs less than a wait for one, so a leader sends several in a round, and
 * there are fewer rounds. */
#define RADIX 4
_Static_assert(SY_SYNC_ROUNDS >= 16 * (RADIX - 1),
               "a flag is missing for the rounds of 4^16 nodes");

/* The flag of the way down a tree. Those of the way up are the children's places. */
#define ROUND_DOWN (SY_SYNC_ROUNDS - 1)
_Static_assert(ROUND_DOWN >= SY_TREE_PLACES, "a flag is missing for the tree");

SY_INLINE struct sy_control_team *group_control(const struct sy_group *group, int i)
{
    return sy_control_of(sy_members_pe(&group->members, i), group->team->slot);
}

SY_INLINE struct sy_control_team *group_own_control(const struct sy_group *group)
{
    return sy_control_own(group->team->slot);
}

/* The k-th member on this PE's node. */
SY_INLINE struct sy_control_team *group_mate_control(const struct sy_team *team, int k)
{
    return sy_control_of(sy_members_pe(&team->own, k), team->slot);
}

static void await_word(const _Atomic uint64_t *word, uint64_t value)
{
    SY_WAIT_UNTIL(atomic_load_explicit(word, memory_order_acquire) >= value);
}

static void await_counter(struct sy_counter *counter, uint64_t value)
{
    await_word(&counter->value, value);
}

/* ---- notifications ---- */

void sy_group_notify(const struct sy_group *group, int i, unsigned tag)
{
    struct sy_control_team *there = group_control(group, i);

    if (there) {
        atomic_fetch_add_explicit(&there->inbox[tag].value, 1, memory_order_release);
        return;
    }
    struct sy_control_team *mine = group_own_control(group);
    sy_control_update(sy_members_pe(&group->members, i), SY_AMO_ADD, &mine->inbox[tag].value, 1);
}

void sy_group_await(const struct sy_group *group, unsigned tag, uint64_t count)
{
    struct sy_notify_inbox *mine = &group_own_control(group)->inbox[tag];

    mine->expected += count;
    await_word(&mine->value, mine->expected);
}

/* ---- synchronisation of a node's members ---- */

static void group_sync_few(const struct sy_team *team, uint64_t epoch)
{
    int me = team->own.me;

    atomic_store_explicit(&sy_control_own(team->slot)->arrived.value, epoch, memory_order_release);
    for (int i = 0; i < team->own.size; i++) {
        if (i == me)
            continue;
        const _Atomic uint64_t *word = &group_mate_control(team, i)->arrived.value;
        SY_WAIT_UNTIL(atomic_load_explicit(word, memory_order_acquire) >= epoch);
    }
}

/* How slots are combined on the way up: the slot of a group's first member takes in the others'. */
struct joining {
    sy_group_join *join;
    const void *how;
};

static void group_join_slots(const struct sy_team *team, const struct joining *j, int first,
                             int step, int size)
{
    unsigned turn = team->turn & 1;

    for (int k = 1; k < size; k++)
        j->join(group_mate_control(team, first)->slot[turn],
                group_mate_control(team, first + k * step)->slot[turn], j->how);
}

/* Adds this PE to the counters, up to the first level at which it is not the last of its group.
 * True for the last of all. */
SY_INLINE bool group_climb(const struct sy_team *team, uint64_t epoch,
                           const struct joining *joining)
{
    int members = team->own.size, index = team->own.me, span = SY_SYNC_GROUP;

    /* `arrived` is kept up to date for a later team that takes the slot over. */
    atomic_store_explicit(&group_mate_control(team, index)->arrived.value, epoch,
                          memory_order_relaxed);
    for (int level = 0; members > 1; level++, span *= SY_SYNC_GROUP) {
        int first = index / SY_SYNC_GROUP * SY_SYNC_GROUP;
        int size = members - first < SY_SYNC_GROUP ? members - first : SY_SYNC_GROUP;
        struct sy_counter *gathered =
            &group_mate_control(team, index / SY_SYNC_GROUP * span)->gathered[level];
        uint64_t before = atomic_fetch_add_explicit(&gathered->value, 1, memory_order_acq_rel);
        if (before + 1 - gathered->base != (uint64_t)size * (epoch - team->since))
            return false;
        if (joining)
            group_join_slots(team, joining, first * (span / SY_SYNC_GROUP), span / SY_SYNC_GROUP,
                             size);
        index /= SY_SYNC_GROUP;
        members = (members + SY_SYNC_GROUP - 1) / SY_SYNC_GROUP;
    }
    return true;
}

SY_INLINE void group_sync_many(const struct sy_team *team, uint64_t epoch,
                               const struct joining *joining)
{
    struct sy_counter *released = &group_mate_control(team, 0)->released;

    if (group_climb(team, epoch, joining))
        atomic_store_explicit(&released->value, epoch, memory_order_release);
    else
        await_counter(released, epoch);
}

static SY_NOINLINE void group_sync_crowd(const struct sy_team *team, uint64_t epoch)
{
    group_sync_many(team, epoch, NULL);
}

static void group_sync_own(struct sy_team *team)
{
    uint64_t epoch = ++team->syncs;

    if (team->own.size <= SY_SYNC_GROUP)
        group_sync_few(team, epoch);
    else
        group_sync_crowd(team, epoch);
}

void sy_group_sync_joining(const struct sy_group *group, sy_group_join *join, const void *how)
{
    const struct joining joining = {join, how};

    group_sync_many(group->team, ++group->team->syncs, &joining);
}

void sy_group_sync_node(const struct sy_group *group)
{
    group_sync_own(group->team);
}

/* The leader waits for the counter at the top, which is its own. */
static void group_await_top(const struct sy_team *team, uint64_t epoch)
{
    int members = team->own.size, level = 0;

    for (; members > SY_SYNC_GROUP; level++)
        members = (members + SY_SYNC_GROUP - 1) / SY_SYNC_GROUP;
    struct sy_counter *top = &group_mate_control(team, 0)->gathered[level];
    await_counter(top, top->base + (uint64_t)members * (epoch - team->since));
}

void sy_group_gather(const struct sy_group *group)
{
    struct sy_team *team = group->team;
    uint64_t epoch = ++team->syncs;

    if (team->own.size > SY_SYNC_GROUP) {
        group_climb(team, epoch, NULL);
        if (!team->own.me)
            group_await_top(team, epoch);
        return;
    }
    atomic_store_explicit(&group_mate_control(team, team->own.me)->arrived.value, epoch,
                          memory_order_release);
    for (int i = 1; i < team->own.size && !team->own.me; i++)
        await_counter(&group_mate_control(team, i)->arrived, epoch);
}

void sy_group_release(const struct sy_group *group)
{
    const struct sy_team *team = group->team;
    struct sy_counter *released = &group_mate_control(team, 0)->released;

    if (team->own.me)
        await_counter(released, team->syncs);
    else if (team->own.size > 1)
        atomic_store_explicit(&released->value, team->syncs, memory_order_release);
}

/* ---- synchronisation of a team ---- */

uint64_t sy_group_stamp(const struct sy_group *group, uint64_t count)
{
    struct sy_team *team = group->team;
    uint64_t before = team->stamp;

    team->stamp += count;
    /* For a later team that takes the slot over. */
    atomic_store_explicit(&group_own_control(group)->stamp.value, team->stamp,
                          memory_order_relaxed);
    return before;
}

static void group_set_round(const struct sy_group *group, int i, unsigned flag, uint64_t stamp)
{
    struct sy_control_team *there = group_control(group, i);

    if (there)
        atomic_store_explicit(&there->round[flag], stamp, memory_order_release);
    else
        sy_control_raise(sy_members_pe(&group->members, i), &group_own_control(group)->round[flag],
                         stamp);
}

/* After a round with distance d each party knows of radix * d others. The parties are members, or
 * with `leaders` each node's first one. */
static void group_disseminate(const struct sy_group *group, int count, int me, int radix,
                              bool leaders)
{
    const struct sy_nodes *nodes = &group->team->nodes;
    struct sy_control_team *mine = group_own_control(group);
    uint64_t stamp = group->team->stamp;
    unsigned flag = 0;

    for (long d = 1; d < count; d *= radix, flag += (unsigned)radix - 1) {
        for (int k = 1; k < radix && k * d < count; k++) {
            int to = (int)((me + k * d) % count);
            group_set_round(group, leaders ? sy_nodes_member(nodes, to, 0) : to,
                            flag + (unsigned)k - 1, stamp);
        }
        for (int k = 1; k < radix && k * d < count; k++)
            await_word(&mine->round[flag + (unsigned)k - 1], stamp);
    }
}

/* A leader waits for those below it, and lets them go when its parent has let it go. Those with
 * the most below them are let go first. */
static void group_sync_leaders_in_tree(const struct sy_group *group)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct sy_tree tree = sy_tree_make(nodes->count, nodes->mine, sy_tree_radix(nodes->count));
    struct sy_control_team *mine = group_own_control(group);
    uint64_t stamp = group->team->stamp;
    unsigned children = sy_tree_children(&tree);

    for (unsigned place = 0; place < children; place++)
        await_word(&mine->round[place], stamp);
    if (tree.parent >= 0) {
        group_set_round(group, sy_nodes_member(nodes, tree.parent, 0), tree.place, stamp);
        await_word(&mine->round[ROUND_DOWN], stamp);
    }
    while (children--)
        group_set_round(group, sy_nodes_member(nodes, sy_tree_child(&tree, children), 0),
                        ROUND_DOWN, stamp);
}

static void group_sync_nodes(const struct sy_group *group)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);

    sy_group_gather(group);
    sy_group_stamp(group, 1);
    if (!sy_group_local(group) && sy_tree_fits(nodes))
        group_sync_leaders_in_tree(group);
    else if (!sy_group_local(group))
        group_disseminate(group, nodes->count, nodes->mine, RADIX, true);
    sy_group_release(group);
}

static void sync_dissemination(const struct sy_group *group)
{
    sy_group_stamp(group, 1);
    group_disseminate(group, group->members.size, group->members.me, 2, false);
}

/* Tree: every member notifies its parent when its children have notified it; then the release goes
 * back down. With a radix of size - 1 this is the linear algorithm. */
static void group_sync_tree(const struct sy_group *group, long radix)
{
    long size = group->members.size, me = group->members.me;
    long first = me * radix + 1, last = first + radix < size ? first + radix : size;

    if (first < last)
        sy_group_await(group, TAG_UP, (uint64_t)(last - first));
    if (me) {
        sy_group_notify(group, (int)((me - 1) / radix), TAG_UP);
        sy_group_await(group, TAG_DOWN, 1);
    }
    for (long child = first; child < last; child++)
        sy_group_notify(group, (int)child, TAG_DOWN);
}

static void group_sync_named(const struct sy_group *group)
{
    switch (sy_config.barrier_algorithm) {
    case SY_BARRIER_LINEAR:
        group_sync_tree(group, group->members.size);
        break;
    case SY_BARRIER_TREE:
        group_sync_tree(group, sy_config.coll_radix);
        break;
    default:
        sync_dissemination(group);
    }
}

static void group_sync_team(const struct sy_group *group)
{
    group->team->synced = true;
    if (SY_UNLIKELY(sy_config.barrier_algorithm != SY_BARRIER_AUTO))
        group_sync_named(group);
    else if (SY_UNLIKELY(group->team->nodes.count > 1))
        group_sync_nodes(group);
    else
        group_sync_own(group->team);
}

/* ---- active sets ---- */

struct sy_group sy_group_of_set(const char *routine, int start, int log_stride, int size,
                                long *psync)
{
    if (log_stride < 0 || log_stride > 30)
        sy_fatal("%s: logPE_stride is %d; the PEs of an active set are 1 << logPE_stride apart",
                 routine, log_stride);
    struct sy_group group = {.members = {.start = start, .stride = 1 << log_stride, .size = size},
                             .psync = psync};
    bool outside = start < 0 || start + (size - 1L) * group.members.stride >= sy_world.npes;

    group.members.me = sy_members_find(&group.members, sy_world.pe);
    if (outside || group.members.me < 0)
        sy_fatal("%s: an active set of %d PEs from PE %d, %d apart, was used on PE %d of a job of "
                 "%d PEs: %s",
                 routine, size, start, 1 << log_stride, sy_world.pe, sy_world.npes,
                 outside ? "the job has not all PEs of the set; start more PEs, or use fewer in it"
                         : "this PE is not in the set, and only PEs of the set may call it");
    if (size == sy_world.npes && !sy_world.anyone_multiple) {
        group.members = sy_team_world.members;
        group.team = &sy_team_world;
    }
    return group;
}

/* Dissemination through psync: word r counts the notifications of round r; a PE that has awaited
 * one subtracts it, so all words are back at SHMEM_SYNC_VALUE when no PE is in a sync any more. */
static void group_sync_set(const struct sy_group *group)
{
    int size = group->members.size, me = group->members.me;

    for (int distance = 1, round = 0; distance < size; distance *= 2, round++) {
        int to = sy_members_pe(&group->members, (int)(((long)me + distance) % size));
        long *word = &group->psync[round];
        sy_fence(SHMEM_CTX_DEFAULT);
        sy_amo_update(SHMEM_CTX_DEFAULT, SY_AMO_ADD, word, sizeof *word, 1, to);
        SY_WAIT_UNTIL(__atomic_load_n(word, __ATOMIC_ACQUIRE) > SHMEM_SYNC_VALUE);
        __atomic_fetch_sub(word, 1, __ATOMIC_RELAXED);
    }
}

void sy_group_sync(const struct sy_group *group)
{
    if (SY_LIKELY(group->team != NULL))
        group_sync_team(group);
    else
        group_sync_set(group);
}

/* ---- each other's memory ---- */

size_t sy_group_slot_size(const struct sy_group *group)
{
    return group->team ? SY_SLOT_BYTES : 0;
}

void *sy_group_slot(const struct sy_group *group)
{
    return group_own_control(group)->slot[group->team->turn & 1];
}

static SY_NOINLINE const void *group_fetch_slot(const struct sy_group *group, int i, size_t offset,
                                                size_t length, void *room)
{
    const char *mine = sy_group_slot(group);

    sy_control_get(sy_members_pe(&group->members, i), room, mine + offset, length);
    return room;
}

const void *sy_group_read_slot(const struct sy_group *group, int i, size_t offset, size_t length,
                               void *room)
{
    const struct sy_control_team *there = group_control(group, i);

    if (SY_UNLIKELY(!there))
        return group_fetch_slot(group, i, offset, length, room);
    return there->slot[group->team->turn & 1] + offset;
}

void sy_group_slot_done(const struct sy_group *group)
{
    group->team->turn++;
}

void *sy_group_map(const struct sy_group *group, int i, const void *address)
{
    unsigned window;
    uint64_t offset;

    if (sy_windows_find(address, &window, &offset))
        return NULL;
    return sy_windows_memory(sy_members_pe(&group->members, i), window, offset, 0);
}

void sy_group_pull(const struct sy_group *group, int i, void *dest, const void *source,
                   size_t length)
{
    sy_get(SHMEM_CTX_DEFAULT, dest, source, length, 1, sy_members_pe(&group->members, i),
           SY_BLOCKING);
}

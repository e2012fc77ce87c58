/* See group.h.
 *
 * Synchronisation of a team whose members are all mapped, up to SY_SYNC_GROUP of them: each writes how
 * many syncs it has entered and reads what all others wrote. One cache-line transfer of latency, no
 * leader, and with more PEs than processors the last to arrive passes at once while every other needs to
 * run just once more. More members: groups add to a counter of their first member; the last of a group
 * goes on to add for the group one level up; the last of all writes one word that all read.
 *
 * Other teams, and whoever asks for it, synchronise by notifications: log2(n) rounds of dissemination.
 *
 * Who writes: `arrived` and the small buffers the owner only; `gathered` and inboxes others, by atomic
 * addition; `released` whoever arrives last, which each sync makes one PE. Release stores and acquire
 * loads make what a PE wrote before its sync visible to all that leave it. */
#include <string.h>

#include "coll/group.h"
#include "core/amo.h"
#include "core/config.h"
#include "core/control.h"
#include "core/fatal.h"
#include "core/rma.h"
#include "core/wait.h"
#include "core/world.h"

/* Tags of sy_group_sync: of the tree, and one for each round of dissemination. */
enum { TAG_UP = SY_GROUP_TAGS, TAG_DOWN, TAG_ROUND };
_Static_assert(TAG_ROUND + 32 <= SY_TAGS, "a tag is missing for the rounds of 2^32 members");

static struct sy_control_team *control(const struct sy_group *group, int i)
{
    return sy_control_of(sy_members_pe(&group->members, i), group->team->slot);
}

static void await_counter(struct sy_counter *counter, uint64_t value)
{
    SY_WAIT_UNTIL(atomic_load_explicit(&counter->value, memory_order_acquire) >= value);
}

/* ---- notifications ---- */

void sy_group_notify(const struct sy_group *group, int i, unsigned tag)
{
    struct sy_control_team *there = control(group, i);

    if (there) {
        atomic_fetch_add_explicit(&there->inbox[tag].value, 1, memory_order_release);
        return;
    }
    struct sy_control_team *mine = control(group, group->members.me);
    sy_fence(SHMEM_CTX_DEFAULT);
    sy_control_add(sy_members_pe(&group->members, i), &mine->inbox[tag].value, 1);
}

void sy_group_await(const struct sy_group *group, unsigned tag, uint64_t count)
{
    struct sy_inbox *mine = &control(group, group->members.me)->inbox[tag];
    uint64_t expected = mine->expected += count;

    SY_WAIT_UNTIL(atomic_load_explicit(&mine->value, memory_order_acquire) >= expected);
}

/* ---- synchronisation of a team ---- */

static void sync_small(const struct sy_group *group, uint64_t epoch)
{
    int me = group->members.me;

    atomic_store_explicit(&control(group, me)->arrived.value, epoch, memory_order_release);
    for (int i = 0; i < group->members.size; i++)
        if (i != me)
            await_counter(&control(group, i)->arrived, epoch);
}

static void sync_large(const struct sy_group *group, uint64_t epoch)
{
    const struct sy_team *team = group->team;
    int members = group->members.size, index = group->members.me, span = SY_SYNC_GROUP;
    struct sy_counter *released = &control(group, 0)->released;

    /* `arrived` is kept up to date for a later team that takes the slot over. */
    atomic_store_explicit(&control(group, index)->arrived.value, epoch, memory_order_relaxed);
    for (int level = 0; members > 1; level++, span *= SY_SYNC_GROUP) {
        int first = index / SY_SYNC_GROUP * SY_SYNC_GROUP;
        int size = members - first < SY_SYNC_GROUP ? members - first : SY_SYNC_GROUP;
        struct sy_counter *gathered = &control(group, index / SY_SYNC_GROUP * span)->gathered[level];
        uint64_t before = atomic_fetch_add_explicit(&gathered->value, 1, memory_order_acq_rel);
        uint32_t count = (uint32_t)before + 1 - team->gathered_base[level];
        if (count != (uint32_t)size * (uint32_t)(epoch - team->since)) {
            await_counter(released, epoch);
            return;
        }
        index /= SY_SYNC_GROUP;
        members = (members + SY_SYNC_GROUP - 1) / SY_SYNC_GROUP;
    }
    atomic_store_explicit(&released->value, epoch, memory_order_release);
}

static void sync_dissemination(const struct sy_group *group)
{
    int size = group->members.size, me = group->members.me;

    for (int distance = 1, round = 0; distance < size; distance *= 2, round++) {
        unsigned tag = TAG_ROUND + (unsigned)round;
        sy_group_notify(group, (int)(((long)me + distance) % size), tag);
        sy_group_await(group, tag, 1);
    }
}

/* Everyone tells a parent when its children have told it; then the word goes back down. With a radix of
 * size - 1 this is the linear algorithm. */
static void sync_tree(const struct sy_group *group, long radix)
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

static void sync_team(const struct sy_group *group)
{
    switch (sy_config.barrier_algorithm) {
    case SY_BARRIER_LINEAR:
        sync_tree(group, group->members.size);
        break;
    case SY_BARRIER_TREE:
        sync_tree(group, sy_config.coll_radix);
        break;
    case SY_BARRIER_DISSEM:
        sync_dissemination(group);
        break;
    default:
        if (!group->team->mapped)
            sync_dissemination(group);
        else if (group->members.size <= SY_SYNC_GROUP)
            sync_small(group, ++group->team->syncs);
        else
            sync_large(group, ++group->team->syncs);
    }
}

/* ---- active sets ---- */

struct sy_group sy_group_of_set(int start, int log_stride, int size, long *psync)
{
    struct sy_group group = {
        .members = {.start = start, .stride = 1 << log_stride, .size = size}, .psync = psync};

    group.members.me = sy_members_find(&group.members, sy_world.pe);
    if (group.members.me < 0 || sy_members_pe(&group.members, size - 1) >= sy_world.npes || start < 0)
        sy_fatal("an active set of %d PEs from PE %d, %d apart, was used on PE %d of a job of %d PEs",
                 size, start, 1 << log_stride, sy_world.pe, sy_world.npes);
    return group;
}

/* Dissemination through psync: word r counts the notifications of round r, and what was awaited is taken
 * off again, so all words are back at SHMEM_SYNC_VALUE when nobody is in a sync any more. */
static void sync_set(const struct sy_group *group)
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
        sync_team(group);
    else
        sync_set(group);
}

/* ---- each other's memory ---- */

size_t sy_group_slot_size(const struct sy_group *group)
{
    return group->team ? SY_SLOT_BYTES : 0;
}

void *sy_group_slot(const struct sy_group *group)
{
    return control(group, group->members.me)->slot[group->team->turn & 1];
}

const void *sy_group_read_slot(const struct sy_group *group, int i, size_t offset, size_t length,
                               void *room)
{
    struct sy_control_team *there = control(group, i);
    char *mine = sy_group_slot(group);

    if (there)
        return there->slot[group->team->turn & 1] + offset;
    sy_control_get(sy_members_pe(&group->members, i), room, mine + offset, length);
    return room;
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
    sy_get(SHMEM_CTX_DEFAULT, dest, source, length, sy_members_pe(&group->members, i),
           SY_BLOCKING);
}

bool sy_group_agree(const struct sy_group *group, bool yes)
{
    bool *mine = sy_group_slot(group), all = true, room;

    *mine = yes;
    sy_group_sync(group);
    for (int i = 0; i < group->members.size; i++)
        all = *(const bool *)sy_group_read_slot(group, i, 0, sizeof room, &room) && all;
    sy_group_slot_done(group);
    return all;
}

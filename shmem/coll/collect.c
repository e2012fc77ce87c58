/* See collect.h. Small parts go through the slots, which takes one synchronisation; others are read
 * from where they are, which takes a second before any member may go on. */
#include "coll/collect.h"
#include "coll/check.h"
#include "coll/data.h"
#include "coll/staged.h"
#include "core/callsite.h"
#include "core/fatal.h"

enum { TAG_STEP, TAG_UP, TAG_DOWN };

#define MOST_ROUNDS SY_GROUP_TAGS /* of the algorithm with a tag for each round */
#define MANY_FAR    16            /* members for sy_data_many */

/* ---- fcollect ---- */

static void collect_through_slots(const struct sy_group *group, char *dest, const void *source,
                                  size_t length)
{
    sy_copy_bytes(sy_group_slot(group), source, length);
    sy_group_sync(group);
    for (int step = 0; step < group->members.size; step++) {
        int i = sy_data_after(group, step);
        sy_data_copy_slot(group, i, 0, length, dest + (size_t)i * length);
    }
    sy_group_slot_done(group);
}

static void collect_from_sources(const struct sy_group *group, char *dest, const void *source,
                                 size_t length)
{
    sy_group_sync(group);
    sy_copy_bytes(dest + (size_t)group->members.me * length, source, length);
    for (int step = 1; step < group->members.size; step++) {
        int i = sy_data_after(group, step);
        sy_group_pull(group, i, dest + (size_t)i * length, source, length);
    }
    sy_group_sync(group);
}

/* Linear: the first member reads all parts, the others read the whole from it. */
static void collect_fixed_linear(const struct sy_group *group, char *dest, const void *source,
                                 size_t length)
{
    int size = group->members.size;

    if (group->members.me) {
        sy_group_notify(group, 0, TAG_UP);
        sy_group_await(group, TAG_DOWN, 1);
        sy_group_pull(group, 0, dest, dest, (size_t)size * length);
    } else {
        sy_copy_bytes(dest, source, length);
        sy_group_await(group, TAG_UP, (uint64_t)size - 1);
        for (int i = 1; i < size; i++)
            sy_group_pull(group, i, dest + (size_t)i * length, source, length);
        for (int i = 1; i < size; i++)
            sy_group_notify(group, i, TAG_DOWN);
    }
    sy_group_sync(group);
}

/* Ring: in each of size - 1 steps a member reads one more part from the member before it. */
static void collect_ring(const struct sy_group *group, char *dest, const void *source,
                         size_t length)
{
    int size = group->members.size, before = sy_data_after(group, size - 1);

    sy_copy_bytes(dest + (size_t)group->members.me * length, source, length);
    for (int step = size - 1; step > 0; step--) {
        size_t at = (size_t)sy_data_after(group, step) * length;
        sy_group_notify(group, sy_data_after(group, 1), TAG_STEP);
        sy_group_await(group, TAG_STEP, 1);
        sy_group_pull(group, before, dest + at, dest + at, length);
    }
    sy_group_sync(group);
}

/* A member that has the parts of `have` members from itself on reads as many more from the one that
 * follows these. A round's notifier differs from the next one's, so each round has its tag. An
 * active set has no tags: there all synchronise before each round. */
static void collect_doubling(const struct sy_group *group, char *dest, const void *source,
                             size_t length)
{
    int size = group->members.size;
    unsigned round = 0;

    sy_copy_bytes(dest + (size_t)group->members.me * length, source, length);
    for (int have = 1; have < size; have += have < size - have ? have : size - have, round++) {
        int from = sy_data_after(group, have), count = have < size - have ? have : size - have;
        int straight = count < size - from ? count : size - from;
        size_t at = (size_t)from * length;

        if (group->team) {
            sy_group_notify(group, sy_data_after(group, size - have), round);
            sy_group_await(group, round, 1);
        } else {
            sy_group_sync(group);
        }
        sy_group_pull(group, from, dest + at, dest + at, (size_t)straight * length);
        if (straight < count)
            sy_group_pull(group, from, dest, dest, (size_t)(count - straight) * length);
    }
    sy_group_sync(group);
}

static bool collect_fcollect_named(const struct sy_group *group, char *dest, const void *source,
                                   size_t length)
{
    switch (sy_config.fcollect_algorithm) {
    case SY_COLLECT_LINEAR:
        collect_fixed_linear(group, dest, source, length);
        return true;
    case SY_COLLECT_RING:
        collect_ring(group, dest, source, length);
        return true;
    case SY_COLLECT_RECDBL:
        if (group->members.size > 1 << MOST_ROUNDS)
            return false;
        collect_doubling(group, dest, source, length);
        return true;
    default:
        return false;
    }
}

void sy_fcollect(const struct sy_group *group, void *dest, const void *source, size_t length)
{
    SY_COLL_CHECK(group, .routine = SY_COLL_FCOLLECT, .dest = dest, .source = source,
                  .dest_length = sy_bytes(length, (size_t)group->members.size),
                  .source_length = length, .size = length);
    if (!length)
        sy_group_sync(group);
    else if (sy_coll_is_staged(dest, source))
        sy_staged_gather(group, dest, source, 0, length);
    else if (group->team && collect_fcollect_named(group, dest, source, length))
        return;
    else if (sy_group_spans(group))
        sy_fcollect_nodes(group, dest, source, length);
    else if (sy_data_many(group, length, MANY_FAR) && group->members.size <= 1 << MOST_ROUNDS)
        collect_doubling(group, dest, source, length);
    else if (sy_data_small(group, length, SY_SMALL))
        collect_through_slots(group, dest, source, length);
    else
        collect_from_sources(group, dest, source, length);
}

/* ---- collect ---- */

/* What a member says of itself, at the beginning of its slot. The data are after the length where
 * they have room. */
struct collect_word {
    size_t length;
    uint64_t window, offset; /* of its source */
};

/* Where a member's length is: at the beginning of its slot; on an active set in the last word of
 * pSync. */
static size_t *length_word(const struct sy_group *group)
{
    return group->team ? sy_group_slot(group)
                       : (size_t *)&group->psync[SHMEM_COLLECT_SYNC_SIZE - 1];
}

static size_t collect_length_of(const struct sy_group *group, int i)
{
    size_t room;

    if (group->team)
        return *(const size_t *)sy_group_read_slot(group, i, 0, sizeof room, &room);
    return *(const size_t *)sy_data_look(group, i, length_word(group), sizeof room, &room);
}

static bool in_slot(const struct sy_group *group, size_t length)
{
    return length < SY_SMALL && sy_data_small(group, length + sizeof length, SY_SMALL);
}

/* What others say is in memory that every PE may write, at any time: each length is held against
 * the room that is left when it is used. */

/* Bytes from dest to the end of its memory. */
static size_t collect_room(const void *dest)
{
    unsigned window;
    uint64_t offset;

    return sy_windows_find(dest, &window, &offset) ? SIZE_MAX
                                                   : sy_windows.entry[window].own.length - offset;
}

static SY_COLD void collect_too_long(const void *dest, size_t at, size_t length)
{
    size_t all;

    if (!__builtin_add_overflow(at, length, &all))
        sy_coll_extent(SY_COLL_COLLECT, dest, all);
    sy_fatal("%s: a member says that it gives %zu bytes, for which dest has no room",
             sy_callsite_routine("shmem_collect"), length);
}

/* Where the next part begins, behind one of `length` bytes at `at`. */
static size_t collect_behind(const void *dest, size_t room, size_t at, size_t length)
{
    if (SY_UNLIKELY(length > room - at))
        collect_too_long(dest, at, length);
    return at + length;
}

void sy_collect_tell(const struct sy_group *group, const void *source, size_t length)
{
    struct collect_word *word = sy_group_slot(group);

    word->length = length;
    if (!length)
        return;
    struct sy_target at = sy_rma_target("shmem_collect", source, length, sy_world.pe);
    word->window = at.window;
    word->offset = at.offset;
}

/* On an active set this PE's own source has to tell. */
void sy_collect_pull(const struct sy_group *group, int i, char *dest, const void *source,
                     size_t length, size_t mine)
{
    if (!mine && group->team) {
        struct collect_word word;
        sy_data_copy_slot(group, i, 0, sizeof word, &word);
        source = sy_windows_own(word.window, word.offset, length);
        if (!source)
            sy_fatal("%s: a member names as its source what is no symmetric memory",
                     sy_callsite_routine("shmem_collect"));
    }
    sy_group_pull(group, i, dest, source, length);
}

static void collect_pull(const struct sy_group *group, int i, char *dest, const void *source,
                         size_t length)
{
    sy_collect_pull(group, i, dest, source, length, collect_length_of(group, group->members.me));
}

static void collect_part(const struct sy_group *group, int i, char *dest, const void *source,
                         size_t length)
{
    if (!length)
        return;
    if (i == group->members.me)
        sy_copy_bytes(dest, source, length);
    else if (in_slot(group, length))
        sy_data_copy_slot(group, i, sizeof(size_t), length, dest);
    else
        collect_pull(group, i, dest, source, length);
}

/* Collects all parts into dest. Returns whether a member's source was read, or still is. */
static bool collect_parts(const struct sy_group *group, char *dest, const void *source)
{
    int size = group->members.size, me = group->members.me;
    size_t all = 0, at = 0, room = collect_room(dest);
    bool reads = !group->team; /* then at least the words of pSync */

    for (int i = 0; i < size; i++) {
        size_t length = collect_length_of(group, i);
        at = i == me ? all : at;
        all = collect_behind(dest, room, all, length);
        reads = reads || !in_slot(group, length);
    }
    sy_coll_extent(SY_COLL_COLLECT, dest, all);
    for (int step = 0; step < size; step++) {
        int i = sy_data_after(group, step);
        size_t length = collect_length_of(group, i), begin = i ? at : 0;
        at = collect_behind(dest, room, begin, length);
        collect_part(group, i, dest + begin, source, length);
    }
    return reads;
}

/* Joins the parts, read from where they are: by every member, or (linear) by the first one, from
 * which the others read the whole. */
static void collect_from_members(const struct sy_group *group, char *dest, const void *source,
                                 bool linear)
{
    size_t all = 0, room = collect_room(dest);

    for (int i = 0; i < group->members.size; i++) {
        size_t length = collect_length_of(group, i), begin = all;
        all = collect_behind(dest, room, all, length);
        sy_coll_extent(SY_COLL_COLLECT, dest, all);
        if (length && !(linear && group->members.me))
            collect_pull(group, i, dest + begin, source, length);
    }
    sy_group_sync(group);
    if (!linear)
        return;
    if (group->members.me && all)
        sy_group_pull(group, 0, dest, dest, all);
    sy_group_sync(group);
}

/* Says what this PE gives, before the synchronisation after which others look. from_sources: the
 * others read all data from where they are. */
static void collect_announce(const struct sy_group *group, const void *source, size_t length,
                             bool from_sources)
{
    bool here = length && in_slot(group, length) && !from_sources;

    if (group->team && !here) {
        sy_collect_tell(group, source, length);
        return;
    }
    *length_word(group) = length;
    if (here)
        sy_copy_bytes(length_word(group) + 1, source, length);
}

void sy_collect(const struct sy_group *group, void *dest, const void *source, size_t length)
{
    bool staged = sy_coll_is_staged(dest, source);

    SY_COLL_CHECK(group, .routine = SY_COLL_COLLECT, .source = source, .source_length = length);
    if (!staged && sy_group_spans(group) && sy_config.collect_algorithm == SY_COLLECT_AUTO &&
        sy_collect_nodes(group, dest, source, length))
        return;
    bool linear = group->team && sy_config.collect_algorithm == SY_COLLECT_LINEAR;
    collect_announce(group, source, length, staged || linear);
    sy_group_sync(group);
    if (staged || linear)
        collect_from_members(group, dest, source, !staged);
    else if (collect_parts(group, dest, source))
        sy_group_sync(group);
    if (group->team)
        sy_group_slot_done(group);
    else
        group->psync[SHMEM_COLLECT_SYNC_SIZE - 1] = SHMEM_SYNC_VALUE;
}

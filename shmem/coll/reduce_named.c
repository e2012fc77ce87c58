/* The reductions that can be asked for by name: see reduce.h. Each ends with a synchronisation, so
 * that notifications of two collectives cannot be mixed up. */
#include "coll/data.h"
#include "coll/reduce.h"
#include "coll/reduce_part.h"

/* ---- tree ---- */

enum { TAG_UP, TAG_DOWN };

/* dest = left op member i's array at `right`, by pieces. */
static void reduce_named_combine_with(const struct sy_group *group, struct sy_operation op,
                                      char *dest, const char *left, int i, const char *right,
                                      size_t count)
{
    struct sy_piece room;
    size_t piece = SY_PIECE / op.size;

    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        const void *there = sy_data_look(group, i, right + offset, n * op.size, room.bytes);
        op.kernel(dest + offset, left + offset, there, n);
    }
}

/* What a member and those below it in the tree have becomes its dest, for the parent to read;
 * leaves are read at their source. The result goes the other way. */
void sy_reduce_tree(const struct sy_group *group, struct sy_operation op, char *dest,
                    const char *source, size_t count, long radix)
{
    long me = group->members.me, size = group->members.size;
    long first = me * radix + 1, last = first + radix < size ? first + radix : size;
    const char *left = source;

    if (first < last)
        sy_group_await(group, TAG_UP, (uint64_t)(last - first));
    for (long child = first; child < last; child++, left = dest)
        reduce_named_combine_with(group, op, dest, left, (int)child,
                                  child * radix + 1 >= group->members.size ? source : dest, count);
    if (me) {
        int parent = (int)((me - 1) / radix);
        sy_group_notify(group, parent, TAG_UP);
        sy_group_await(group, TAG_DOWN, 1);
        sy_group_pull(group, parent, dest, dest, count * op.size);
    }
    for (long child = first; child < last; child++)
        sy_group_notify(group, (int)child, TAG_DOWN);
    sy_group_sync(group);
}

/* ---- pairs at distances that double ---- */

enum { TAG_FOLD = SY_GROUP_TAGS - 1 }; /* the tags below are those of the rounds */

/* One piece. The slot has a part for what this member has before each round and one for the result,
 * so that nothing is overwritten that a partner may still read. */
static void reduce_named_doubling_piece(const struct sy_group *group, struct sy_operation op,
                                        const struct sy_pairs *p, size_t part, char *dest,
                                        const char *source, size_t count)
{
    char *slot = sy_group_slot(group);
    int me = group->members.me;
    size_t length = count * op.size;
    struct sy_piece room;

    sy_copy_bytes(slot, source, length);
    if (p->rank < 0) {
        sy_group_notify(group, me + 1, TAG_FOLD);
    } else if (p->rank < p->extra) {
        sy_group_await(group, TAG_FOLD, 1);
        op.kernel(slot, sy_group_read_slot(group, me - 1, 0, length, room.bytes), slot, count);
    }
    for (int round = 0; p->rank >= 0 && round < p->rounds; round++) {
        int partner = p->rank ^ 1 << round, at = sy_pairs_party(p, partner);
        char *mine = slot + (size_t)round * part;
        sy_group_notify(group, at, (unsigned)round);
        sy_group_await(group, (unsigned)round, 1);
        const void *other = sy_group_read_slot(group, at, (size_t)round * part, length, room.bytes);
        op.kernel(mine + part, partner < p->rank ? other : mine, partner < p->rank ? mine : other,
                  count);
    }
    sy_group_sync(group);
    sy_data_copy_slot(group, p->rank < 0 ? me + 1 : me, (size_t)p->rounds * part, length, dest);
    sy_group_slot_done(group);
}

void sy_reduce_doubling(const struct sy_group *group, struct sy_operation op, char *dest,
                        const char *source, size_t count)
{
    struct sy_pairs pairs = sy_pairs_make(group->members.size, group->members.me);
    size_t room = sy_group_slot_size(group) < SY_PIECE ? sy_group_slot_size(group) : SY_PIECE;
    size_t part = room / (size_t)(pairs.rounds + 1) / SY_LINE * SY_LINE, piece = part / op.size;

    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        reduce_named_doubling_piece(group, op, &pairs, part, dest + offset, source + offset, n);
    }
}

/* ---- ring ---- */

enum { TAG_STEP };

/* In step s a member takes part `me - s`, as far as it has been combined, from the member before
 * it, and combines it with its own. After size - 1 steps each has the result of one part, and these
 * go around once more. A part of dest is written again only when its result is known, and that
 * comes after all members have read what they needed of it; so dest may be source. */
void sy_reduce_ring(const struct sy_group *group, struct sy_operation op, char *dest,
                    const char *source, size_t count)
{
    int size = group->members.size;
    int before = sy_data_after(group, size - 1), after = sy_data_after(group, 1);
    size_t first, end;

    for (int step = 1; step < size; step++) {
        const char *from = step == 1 ? source : dest;
        sy_reduce_part(size, op.size, count, sy_data_after(group, size - step), &first, &end);
        size_t offset = first * op.size;
        sy_group_notify(group, after, TAG_STEP);
        sy_group_await(group, TAG_STEP, 1);
        reduce_named_combine_with(group, op, dest + offset, source + offset, before, from + offset,
                                  end - first);
    }
    for (int step = 0; step < size - 1; step++) {
        sy_reduce_part(size, op.size, count, sy_data_after(group, (size - step) % size), &first,
                       &end);
        size_t offset = first * op.size;
        sy_group_notify(group, after, TAG_STEP);
        sy_group_await(group, TAG_STEP, 1);
        sy_group_pull(group, before, dest + offset, dest + offset, (end - first) * op.size);
    }
    sy_group_sync(group);
}

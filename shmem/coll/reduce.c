/* See reduce.h. Operands are combined in the group's order.
 *
 * Small arrays go through the slots: one synchronisation, and every member of a few does all the
 * work. Of many that would be the square of their number, in work and, in the first call, in pages
 * that are mapped; there the synchronisation joins the slots on its way. For larger arrays member i
 * combines part i of all sources and writes the result to all; the synchronisation before says that
 * all sources and dests are ready, the one after that all parts are there. Nobody else touches part
 * i of any array in between, so dest may be source. */
#include "coll/check.h"
#include "coll/data.h"
#include "coll/staged.h"
#include "coll/reduce.h"
#include "coll/reduce_part.h"

/* Bytes of all members' slots together up to which a second synchronisation costs more than reading
 * them all. */
#define SLOTS_TOTAL 16384

/* Members from which slots are joined. */
#define MANY 17

static void reduce_through_slots(const struct sy_group *group, struct sy_operation op, void *dest,
                                 const void *source, size_t count)
{
    size_t length = count * op.size;
    struct sy_piece room[2];

    sy_copy_bytes(sy_group_slot(group), source, length);
    sy_group_sync(group);
    const void *left = sy_group_read_slot(group, 0, 0, length, room[0].bytes);
    for (int i = 1; i < group->members.size; i++) {
        op.kernel(dest, left, sy_group_read_slot(group, i, 0, length, room[1].bytes), count);
        left = dest;
    }
    sy_group_slot_done(group);
}

/* The arrays that sy_group_join combines. */
struct array {
    sy_kernel *kernel;
    size_t count;
};

static void reduce_join(void *into, const void *from, const void *how)
{
    const struct array *array = how;

    array->kernel(into, into, from, array->count);
}

static void reduce_through_joined_slots(const struct sy_group *group, struct sy_operation op,
                                        void *dest, const void *source, size_t count)
{
    const struct array array = {op.kernel, count};

    sy_copy_bytes(sy_group_slot(group), source, count * op.size);
    sy_group_sync_joining(group, reduce_join, &array);
    sy_data_copy_slot(group, 0, 0, count * op.size, dest);
    sy_group_slot_done(group);
}

void sy_reduce_few(const struct sy_group *group, struct sy_operation op, void *dest,
                   const void *source, size_t count)
{
    if (group->members.size == 1)
        sy_data_copy(dest, source, count * op.size);
    else if (sy_group_spans(group))
        sy_reduce_few_nodes(group, op, dest, source, count);
    else if (group->members.size >= MANY)
        reduce_through_joined_slots(group, op, dest, source, count);
    else
        reduce_through_slots(group, op, dest, source, count);
}

static void reduce_by_parts(const struct sy_group *group, struct sy_operation op, char *dest,
                            const char *source, size_t count)
{
    size_t at, end, piece = SY_PIECE / op.size;

    sy_reduce_part(group->members.size, op.size, count, group->members.me, &at, &end);
    sy_group_sync(group);
    for (; at < end; at += piece) {
        size_t n = end - at < piece ? end - at : piece, offset = at * op.size;
        sy_reduce_own(group, op, dest + offset, source + offset, n);
        for (int step = 1; step < group->members.size; step++)
            sy_data_push(group, sy_data_after(group, step), dest + offset, dest + offset,
                         n * op.size);
    }
    sy_data_pushed();
    sy_group_sync(group);
}

static void reduce_auto(const struct sy_group *group, struct sy_operation op, void *dest,
                        const void *source, size_t count)
{
    size_t length = count * op.size;

    if (sy_group_spans(group))
        sy_reduce_nodes(group, op, dest, source, count);
    else if (sy_data_small(group, length, SY_SMALL) && group->members.size >= MANY)
        reduce_through_joined_slots(group, op, dest, source, count);
    else if (sy_data_small(group, length, SY_SMALL) &&
             length * (size_t)group->members.size <= SLOTS_TOTAL)
        reduce_through_slots(group, op, dest, source, count);
    else
        reduce_by_parts(group, op, dest, source, count);
}

void sy_reduce(const struct sy_group *group, struct sy_operation op, void *dest, const void *source,
               size_t count)
{
    size_t length = sy_bytes(count, op.size);

    SY_COLL_CHECK(group, .routine = SY_COLL_REDUCE, .dest = dest, .source = source,
                  .dest_length = length, .source_length = length, .size = length);
    if (!count) {
        sy_group_sync(group);
        return;
    }
    if (sy_coll_is_staged(dest, source)) {
        sy_staged_reduce(group, op, dest, source, count, group->members.size - 1);
        return;
    }
    if (group->members.size == 1) {
        sy_data_copy(dest, source, length);
        return;
    }
    switch (group->team ? sy_config.reduce_algorithm : SY_REDUCE_AUTO) {
    case SY_REDUCE_LINEAR:
        sy_reduce_tree(group, op, dest, source, count, group->members.size);
        break;
    case SY_REDUCE_TREE:
        sy_reduce_tree(group, op, dest, source, count, sy_config.coll_radix);
        break;
    case SY_REDUCE_RECDBL:
        sy_reduce_doubling(group, op, dest, source, count);
        break;
    case SY_REDUCE_RING:
        sy_reduce_ring(group, op, dest, source, count);
        break;
    default:
        reduce_auto(group, op, dest, source, count);
    }
}

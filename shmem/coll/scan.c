/* See scan.h. Operands are combined in the group's order.
 *
 * Small arrays go through the slots: one synchronisation, and each member combines what all before
 * it have. For larger ones member i works on part i of all arrays: it goes from the first member's
 * source to the last and writes what it has so far to each member's dest. Nobody else touches that
 * part of any array in between, so dest may be source. */
#include "coll/check.h"
#include "coll/data.h"
#include "coll/staged.h"
#include "coll/reduce_part.h"
#include "coll/scan.h"

enum { TAG_STEP };

#define SLOTS_TOTAL 32768 /* as in reduce.c; here half of it is read on average */

static void scan_through_slots(const struct sy_group *group, struct sy_operation op, void *dest,
                               const void *source, size_t count, bool inclusive)
{
    int end = group->members.me + inclusive;
    size_t length = count * op.size;
    struct sy_piece room;

    sy_copy_bytes(sy_group_slot(group), source, length);
    sy_group_sync(group);
    if (end)
        sy_data_copy_slot(group, 0, 0, length, dest);
    else
        memset(dest, 0, length);
    for (int i = 1; i < end; i++)
        op.kernel(dest, dest, sy_group_read_slot(group, i, 0, length, room.bytes), count);
    sy_group_slot_done(group);
}

/* Scans a piece of all members' arrays. `before` holds the combination of the members before i. */
static void scan_piece(const struct sy_group *group, struct sy_operation op, char *dest,
                       const char *source, size_t count, bool inclusive)
{
    size_t length = count * op.size;
    struct sy_piece sum[2], room;
    char *before = sum[0].bytes, *with = sum[1].bytes;

    memset(before, 0, length);
    for (int i = 0; i < group->members.size; i++) {
        const void *own = sy_data_look(group, i, source, length, room.bytes);
        if (i)
            op.kernel(with, before, own, count);
        else
            memcpy(with, own, length);
        sy_data_push(group, i, dest, inclusive ? with : before, length);
        if (sy_hot_carries())
            sy_data_pushed(); /* the next member's use of the buffers must not change what is sent
                               */
        char *swap = before;
        before = with;
        with = swap;
    }
}

static void scan_by_parts(const struct sy_group *group, struct sy_operation op, char *dest,
                          const char *source, size_t count, bool inclusive)
{
    size_t at, end, piece = SY_PIECE / op.size;

    sy_reduce_part(group->members.size, op.size, count, group->members.me, &at, &end);
    sy_group_sync(group);
    for (; at < end; at += piece) {
        size_t n = end - at < piece ? end - at : piece, offset = at * op.size;
        scan_piece(group, op, dest + offset, source + offset, n, inclusive);
    }
    sy_group_sync(group);
}

/* Each member waits for what the one before it has in its slot, and puts that and its own into its
 * own slot for the next. */
static void scan_ring_piece(const struct sy_group *group, struct sy_operation op, void *dest,
                            const void *source, size_t count, bool inclusive)
{
    int me = group->members.me;
    size_t length = count * op.size;
    void *slot = sy_group_slot(group);
    struct sy_piece room;

    sy_copy_bytes(slot, source, length);
    if (me) {
        sy_group_await(group, TAG_STEP, 1);
        const void *before = sy_group_read_slot(group, me - 1, 0, length, room.bytes);
        op.kernel(slot, before, slot, count);
        sy_copy_bytes(dest, inclusive ? slot : before, length);
    } else if (inclusive) {
        sy_data_copy(dest, source, length);
    } else {
        memset(dest, 0, length);
    }
    if (me + 1 < group->members.size)
        sy_group_notify(group, me + 1, TAG_STEP);
    sy_group_sync(group);
    sy_group_slot_done(group);
}

void sy_scan(const struct sy_group *group, struct sy_operation op, void *dest, const void *source,
             size_t count, bool inclusive)
{
    size_t length = sy_bytes(count, op.size), slot = sy_group_slot_size(group);
    size_t piece = (slot < SY_PIECE ? slot : SY_PIECE) / op.size;
    int algorithm = sy_config.scan_algorithm;

    SY_COLL_CHECK(group, .routine = inclusive ? SY_COLL_INSCAN : SY_COLL_EXSCAN, .dest = dest,
                  .source = source, .dest_length = length, .source_length = length, .size = length);
    if (!count) {
        sy_group_sync(group);
        return;
    }
    if (sy_coll_is_staged(dest, source)) {
        sy_staged_reduce(group, op, dest, source, count, group->members.me - !inclusive);
        return;
    }
    if (algorithm == SY_SCAN_AUTO && sy_group_spans(group)) {
        sy_scan_nodes(group, op, dest, source, count, inclusive);
        return;
    }
    if (algorithm == SY_SCAN_AUTO && (!sy_data_small(group, length, SY_SMALL) ||
                                      length * (size_t)group->members.size > SLOTS_TOTAL)) {
        scan_by_parts(group, op, dest, source, count, inclusive);
        return;
    }
    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        if (algorithm == SY_SCAN_RING)
            scan_ring_piece(group, op, (char *)dest + offset, (const char *)source + offset, n,
                            inclusive);
        else
            scan_through_slots(group, op, (char *)dest + offset, (const char *)source + offset, n,
                               inclusive);
    }
}

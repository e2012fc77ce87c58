/* Reductions of middling data where nodes share processors: see reduce.h. What all messages and
 * waits cost adds up there, and so does what all members copy; that much is under way at once does
 * not help. So each of as many members as the smallest node has deals with a part along a tree over
 * the nodes (tree.h; of radix 2, as children wait for each other): whole operands go up and results
 * go down, 2 (nodes - 1) messages with data, of which each carries the part. Halves carry as many
 * bytes in all, in 2 nodes x log2(nodes).
 *
 * What comes from below lands in the parent's dest, one child at a time: a child waits until its
 * parent lets it. A parent lets the next one when it has combined the one before in memory of its
 * own. Nobody waits for ever: a leaf waits for its parent alone, a parent lets each child without
 * waiting for anything but the children before, and what these wait for is below them. A result
 * lands in a dest into which nothing comes from below any more, because it contains that. */
#include <stdlib.h>

#include "coll/data.h"
#include "coll/notify.h"
#include "coll/reduce.h"
#include "coll/reduce_part.h"
#include "coll/tree.h"
#include "core/fatal.h"

enum { FLAG_READY = SY_NOTIFY_FLAGS - 2, FLAG_RESULT }; /* those below: of children */
_Static_assert(FLAG_READY >= SY_TREE_PLACES, "a flag is missing for the tree");

#define MOST_AT_ONCE ((size_t)1 << 20) /* bytes of a part: a few of these stay in the caches */

/* One member's part of the arrays. */
struct branch {
    struct sy_notify notify;
    struct sy_operation op;
    struct sy_tree tree;
    char *dest, *own; /* own: memory of its own, or NULL */
    const char *sum;  /* as far as it has been combined */
    size_t count;
};

/* A source that the others' data do not overwrite stays where it is until there is a sum. */
static void reduce_crowd_begin(struct branch *b, const char *source)
{
    const struct sy_group *group = b->notify.group;
    bool alone = sy_group_locals(group) == 1;

    b->sum = source;
    if (alone && !sy_tree_children(&b->tree))
        return;
    if (!(b->own = malloc(b->count * b->op.size)))
        sy_fatal("a reduction: no memory for %zu bytes", b->count * b->op.size);
    if (alone && source != b->dest)
        return;
    sy_reduce_own(group, b->op, b->own, source, b->count);
    b->sum = b->own;
}

/* True: what was sent may be changed only after sy_notify_sent. */
static bool reduce_crowd_up(struct branch *b)
{
    size_t length = b->count * b->op.size;
    int child;

    for (unsigned place = 0; (child = sy_tree_child(&b->tree, place)) >= 0; place++) {
        sy_notify_raise(&b->notify, sy_group_like(b->notify.group, child), FLAG_READY, 1);
        sy_notify_await(&b->notify, place, 1);
        b->op.kernel(b->tree.parent < 0 && sy_tree_child(&b->tree, place + 1) < 0 ? b->dest
                                                                                  : b->own,
                     b->sum, b->dest, b->count);
        b->sum = b->own;
    }
    if (b->tree.parent < 0)
        return false;
    sy_notify_await(&b->notify, FLAG_READY, 1);
    bool stays = sy_notify_dest_start(&b->notify, sy_group_like(b->notify.group, b->tree.parent),
                                      b->dest, b->sum, length, b->tree.place, 1);
    sy_notify_await(&b->notify, FLAG_RESULT, 1);
    return stays;
}

static bool reduce_crowd_down(const struct branch *b)
{
    bool stays = false;

    for (unsigned left = sy_tree_children(&b->tree); left--;)
        stays |= sy_notify_dest_start(&b->notify,
                                      sy_group_like(b->notify.group, sy_tree_child(&b->tree, left)),
                                      b->dest, b->dest, b->count * b->op.size, FLAG_RESULT, 1);
    return stays;
}

static void reduce_crowd_part(struct branch *b, const char *source)
{
    const struct sy_group *group = b->notify.group;

    reduce_crowd_begin(b, source);
    bool stays = reduce_crowd_up(b);
    stays |= reduce_crowd_down(b);
    for (int k = 0; k < sy_group_locals(group); k++)
        if (k != sy_group_local(group))
            sy_data_push(group, sy_group_mate(group, k), b->dest, b->dest, b->count * b->op.size);
    sy_data_pushed();
    if (stays)
        sy_notify_sent();
    free(b->own);
}

static void reduce_crowd_at_once(const struct sy_group *group, struct sy_operation op, char *dest,
                                 const char *source, size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct branch b = {.notify = sy_notify_open(group, 0, 1), .op = op};
    size_t first = 0, end = 0;

    sy_notify_keep(&b.notify, count * op.size);
    if (sy_group_local(group) < nodes->least)
        sy_reduce_part(nodes->least, op.size, count, sy_group_local(group), &first, &end);
    b.tree = sy_tree_make(nodes->count, nodes->mine, 2);
    b.dest = dest + first * op.size;
    b.count = end - first;
    sy_group_sync_node(group);
    if (b.count)
        reduce_crowd_part(&b, source + first * op.size);
    sy_group_sync_node(group);
    sy_notify_met(&b.notify);
}

void sy_reduce_crowd_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                           const char *source, size_t count)
{
    size_t most = MOST_AT_ONCE / op.size * (size_t)sy_group_nodes(group)->least;

    for (size_t at = 0; at < count; at += most) {
        size_t n = count - at < most ? count - at : most, offset = at * op.size;
        reduce_crowd_at_once(group, op, dest + offset, source + offset, n);
    }
}

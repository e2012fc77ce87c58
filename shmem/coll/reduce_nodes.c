/* Reductions on teams that are spread over nodes: see reduce.h. Operands are combined in the order
 * of the members on each node, then in one that the nodes' numbers give; all PEs get copies of the
 * same bits.
 *
 * Small arrays: the leader combines its node's, the leaders exchange theirs in rounds between
 * pairs, or along a tree (tree.h), and each member takes the result from its leader. Large ones:
 * reduce_halves.c. */
#include "coll/data.h"
#include "coll/notify.h"
#include "coll/reduce.h"
#include "coll/tree.h"

/* ---- small ---- */

enum { FLAG_FOLD = SY_NOTIFY_FLAGS - 2, FLAG_RESULT }; /* those below: of rounds, or children */
_Static_assert(FLAG_FOLD >= SY_TREE_PLACES, "a flag is missing for the tree");

/* Parts of the scratch space: MINE: what a member has, on the leader then what its node has; FOLD
 * and RESULT: what comes before and after the rounds; ROUND and those above: what comes in a round,
 * or from a child. */
enum { PART_MINE, PART_FOLD, PART_RESULT, PART_ROUND };

/* What a message costs, in bytes that a line carries meanwhile, as with sockets. */
#define MESSAGE_BYTES ((size_t)40 << 10)

/* A leader's part of one exchange. */
struct exchange {
    struct sy_notify notify;
    struct sy_operation op;
    size_t count, length, part; /* part: bytes from a part to the next */
    int radix;                  /* of the tree */
    char *scratch;
};

static char *reduce_nodes_part(const struct exchange *x, int i)
{
    return x->scratch + (size_t)i * x->part;
}

static void reduce_nodes_send_part(const struct exchange *x, int node, int to, unsigned flag)
{
    int leader = sy_nodes_member(sy_group_nodes(x->notify.group), node, 0);

    sy_notify_scratch_put(&x->notify, leader, (size_t)to * x->part, reduce_nodes_part(x, PART_MINE),
                          x->length, flag, 1);
}

/* mine = mine op what is in another part, the lower node's on the left. */
static void reduce_nodes_combine_part(const struct exchange *x, int other, bool other_first)
{
    char *mine = reduce_nodes_part(x, PART_MINE);

    if (other_first)
        x->op.kernel(mine, reduce_nodes_part(x, other), mine, x->count);
    else
        x->op.kernel(mine, mine, reduce_nodes_part(x, other), x->count);
}

static void reduce_nodes_exchange(const struct exchange *x, const struct sy_pairs *p)
{
    int me = sy_group_nodes(x->notify.group)->mine;

    if (p->rank < 0) {
        reduce_nodes_send_part(x, me + 1, PART_FOLD, FLAG_FOLD);
        sy_notify_await(&x->notify, FLAG_RESULT, 1);
        memcpy(reduce_nodes_part(x, PART_MINE), reduce_nodes_part(x, PART_RESULT), x->length);
        return;
    }
    if (p->rank < p->extra) {
        sy_notify_await(&x->notify, FLAG_FOLD, 1);
        reduce_nodes_combine_part(x, PART_FOLD, true);
    }
    for (int round = 0; round < p->rounds; round++) {
        int partner = p->rank ^ 1 << round;
        reduce_nodes_send_part(x, sy_pairs_party(p, partner), PART_ROUND + round, (unsigned)round);
        sy_notify_await(&x->notify, (unsigned)round, 1);
        reduce_nodes_combine_part(x, PART_ROUND + round, partner < p->rank);
    }
    if (p->rank < p->extra)
        reduce_nodes_send_part(x, me - 1, PART_RESULT, FLAG_RESULT);
}

/* Combines along a tree: up to the first node, then the result down. What is below a child follows
 * what is below the child before. */
static void reduce_nodes_along_tree(const struct exchange *x)
{
    const struct sy_nodes *nodes = sy_group_nodes(x->notify.group);
    struct sy_tree tree = sy_tree_make(nodes->count, nodes->mine, x->radix);
    unsigned children = sy_tree_children(&tree);

    for (unsigned place = 0; place < children; place++) {
        sy_notify_await(&x->notify, place, 1);
        reduce_nodes_combine_part(x, PART_ROUND + (int)place, false);
    }
    if (tree.parent >= 0) {
        reduce_nodes_send_part(x, tree.parent, PART_ROUND + (int)tree.place, tree.place);
        sy_notify_await(&x->notify, FLAG_RESULT, 1);
        memcpy(reduce_nodes_part(x, PART_MINE), reduce_nodes_part(x, PART_RESULT), x->length);
    }
    while (children--)
        reduce_nodes_send_part(x, sy_tree_child(&tree, (unsigned)children), PART_RESULT,
                               FLAG_RESULT);
}

void sy_reduce_scratch(const struct sy_notify *notify, size_t offset, struct sy_operation op,
                       void *to, size_t count)
{
    const char *left = sy_notify_mate(notify, 0) + offset;

    if (sy_group_locals(notify->group) == 1)
        sy_data_copy(to, left, count * op.size);
    for (int k = 1; k < sy_group_locals(notify->group); k++, left = to)
        op.kernel(to, left, sy_notify_mate(notify, k) + offset, count);
}

/* The parts in a leader's scratch space: the same number on all, since all take the same space. */
static size_t reduce_nodes_parts(const struct sy_nodes *nodes, const struct sy_pairs *p, int radix)
{
    const struct sy_tree first = sy_tree_make(nodes->count, 0, radix); /* has the most children */

    return PART_ROUND + (sy_tree_fits(nodes) ? sy_tree_children(&first) : (unsigned)p->rounds);
}

/* The tree's radix for parts of some bytes: of many children not all may have room for theirs. */
static int reduce_nodes_radix(const struct sy_group *group, const struct sy_pairs *p, size_t part)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    int radix = sy_tree_radix(nodes->count);

    return reduce_nodes_parts(nodes, p, radix) * part <= sy_notify_room(group) ? radix
                                                                               : SY_TREE_RADIX;
}

/* Bytes that go through the leaders' scratch space at a time: all parts must fit into it. More
 * would take longer than the ways of larger data. */
static size_t reduce_nodes_piece_bytes(const struct sy_group *group, const struct sy_pairs *p)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    size_t each = sy_notify_room(group) / reduce_nodes_parts(nodes, p, SY_TREE_RADIX);
    size_t most = nodes->count == 2 ? 32768 : 16384;

    return (each < most ? each : most) / SY_LINE * SY_LINE;
}

static void reduce_nodes_few_piece(const struct sy_group *group, struct sy_operation op,
                                   const struct sy_pairs *pairs, char *dest, const char *source,
                                   size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct exchange x = {.op = op, .count = count, .length = count * op.size};

    x.part = sy_round_up(x.length, SY_LINE);
    x.radix = reduce_nodes_radix(group, pairs, x.part);
    x.notify = sy_notify_open(group, reduce_nodes_parts(nodes, pairs, x.radix) * x.part, 1);
    x.scratch = sy_notify_mate(&x.notify, 0);
    sy_copy_bytes(sy_notify_own(&x.notify), source, x.length);
    sy_group_gather(group);
    if (!sy_group_local(group)) {
        sy_reduce_scratch(&x.notify, 0, op, reduce_nodes_part(&x, PART_MINE), count);
        if (sy_tree_fits(nodes))
            reduce_nodes_along_tree(&x);
        else
            reduce_nodes_exchange(&x, pairs);
    }
    sy_group_release(group);
    sy_copy_bytes(dest, reduce_nodes_part(&x, PART_MINE), x.length);
    sy_notify_met(&x.notify);
}

void sy_reduce_few_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                         const char *source, size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct sy_pairs pairs = sy_pairs_make(nodes->count, nodes->mine);
    size_t piece = reduce_nodes_piece_bytes(group, &pairs) / op.size;

    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        reduce_nodes_few_piece(group, op, &pairs, dest + offset, source + offset, n);
    }
}

/* ---- which ---- */

/* Whether pieces in rounds take longer than two times around the ring. */
static bool reduce_nodes_ring_is_faster(const struct sy_group *group, const struct sy_pairs *pairs,
                                        size_t bytes)
{
    size_t piece = reduce_nodes_piece_bytes(group, pairs), pieces = (bytes + piece - 1) / piece;
    size_t rounds = (size_t)pairs->rounds + (pairs->extra ? 2 : 0);
    size_t steps = 2 * (size_t)(sy_group_nodes(group)->count - 1);

    return rounds * (pieces * MESSAGE_BYTES + bytes) > steps * MESSAGE_BYTES + 2 * bytes;
}

void sy_reduce_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                     const char *source, size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct sy_pairs pairs = sy_pairs_make(nodes->count, nodes->mine);

    if (count * op.size <= reduce_nodes_piece_bytes(group, &pairs))
        sy_reduce_few_nodes(group, op, dest, source, count);
    else if (sy_tree_fits(nodes))
        sy_reduce_crowd_nodes(group, op, dest, source, count);
    else if (sy_reduce_halves_fit(nodes, op, count) ||
             reduce_nodes_ring_is_faster(group, &pairs, count * op.size))
        sy_reduce_large_nodes(group, op, dest, source, count);
    else
        sy_reduce_few_nodes(group, op, dest, source, count);
}

/* Reductions on teams that are spread over nodes: see reduce.h. Operands are combined in the order
 * of the members on each node, then in one that the nodes' numbers give; all PEs get copies of the
 * same bits.
 *
 * Small arrays: the leader combines its node's, the leaders exchange theirs in rounds between
 * pairs, or along a tree (tree.h), and each member takes the result from its leader. Large ones:
 * each of as many members as the smallest node has deals with a part, together with its likes on
 * all nodes, around a ring. */
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

#define MOST_PIECE ((size_t)8192) /* more would leave the first cache */

/* A leader's part of one exchange. */
struct exchange {
    struct sy_notify notify;
    struct sy_operation op;
    size_t count, length, part; /* part: bytes from a part to the next */
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
    struct sy_tree tree = sy_tree_make(nodes->count, nodes->mine);
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
static size_t reduce_nodes_parts(const struct sy_nodes *nodes, const struct sy_pairs *p)
{
    const struct sy_tree first = sy_tree_make(nodes->count, 0); /* has the most children */

    return PART_ROUND + (sy_tree_fits(nodes) ? sy_tree_children(&first) : (unsigned)p->rounds);
}

/* Bytes that go through the leaders' scratch space at a time: all parts must fit into it. */
static size_t reduce_nodes_piece_bytes(const struct sy_nodes *nodes, const struct sy_pairs *p)
{
    size_t each = SY_NOTIFY_SMALL / reduce_nodes_parts(nodes, p);

    return (each < MOST_PIECE ? each : MOST_PIECE) / SY_LINE * SY_LINE;
}

static void reduce_nodes_few_piece(const struct sy_group *group, struct sy_operation op,
                                   const struct sy_pairs *pairs, char *dest, const char *source,
                                   size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct exchange x = {.op = op, .count = count, .length = count * op.size};

    x.part = sy_round_up(x.length, SY_LINE);
    x.notify = sy_notify_open(group, reduce_nodes_parts(nodes, pairs) * x.part, 1);
    x.scratch = sy_notify_mate(&x.notify, 0);
    memcpy(sy_notify_own(&x.notify), source, x.length);
    sy_group_gather(group);
    if (!sy_group_local(group)) {
        sy_reduce_scratch(&x.notify, 0, op, reduce_nodes_part(&x, PART_MINE), count);
        if (sy_tree_fits(nodes))
            reduce_nodes_along_tree(&x);
        else
            reduce_nodes_exchange(&x, pairs);
    }
    sy_group_release(group);
    memcpy(dest, reduce_nodes_part(&x, PART_MINE), x.length);
    sy_notify_met(&x.notify);
}

void sy_reduce_few_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                         const char *source, size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct sy_pairs pairs = sy_pairs_make(nodes->count, nodes->mine);
    size_t piece = reduce_nodes_piece_bytes(nodes, &pairs) / op.size;

    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        reduce_nodes_few_piece(group, op, &pairs, dest + offset, source + offset, n);
    }
}

/* ---- large ---- */

enum { FLAG_DATA, FLAG_CREDIT, FLAG_WHOLE };

#define AHEAD       4 /* chunks that may be under way to a member */
#define CHUNK_BYTES (SY_NOTIFY_MOST / AHEAD)
#define WHOLE_BYTES ((size_t)128 << 10) /* sent at a time when nothing is left to combine */

/* One member's part of the array, in the exchange with its likes on other nodes. The array of the
 * part is divided once more, into a share for each node. */
struct ring {
    struct sy_notify notify;
    struct sy_operation op;
    char *part;
    size_t count;         /* elements of the part */
    int before, after;    /* members */
    uint64_t sent, taken; /* chunks that were sent on, and taken from the member before */
    uint64_t coming;      /* chunks that will come from there in all */
};

static size_t chunks(size_t bytes, size_t chunk)
{
    return bytes / chunk + (bytes % chunk != 0);
}

/* The share of the node `back` places before this one. */
static char *reduce_nodes_share(const struct ring *r, int back, size_t *bytes)
{
    const struct sy_nodes *nodes = sy_group_nodes(r->notify.group);
    size_t first, end;

    sy_reduce_part(nodes->count, r->op.size, r->count,
                   sy_nodes_after(nodes, (nodes->count - back) % nodes->count), &first, &end);
    *bytes = (end - first) * r->op.size;
    return r->part + first * r->op.size;
}

static size_t reduce_nodes_rest(size_t bytes, size_t at, size_t chunk)
{
    return bytes - at < chunk ? bytes - at : chunk;
}

static void reduce_nodes_send_chunk(struct ring *r, const char *from, size_t bytes)
{
    if (r->sent >= AHEAD)
        sy_notify_await(&r->notify, FLAG_CREDIT, r->sent - AHEAD + 1);
    sy_notify_scratch_put(&r->notify, r->after, r->sent % AHEAD * CHUNK_BYTES, from, bytes,
                          FLAG_DATA, r->sent + 1);
    r->sent++;
}

/* Takes the next chunk from the member before and combines it with what is here. The sender gets no
 * credit that it will not wait for. */
static void reduce_nodes_take_chunk(struct ring *r, char *to, size_t bytes)
{
    const char *came = sy_notify_scratch(&r->notify, r->notify.group->members.me) +
                       r->taken % AHEAD * CHUNK_BYTES;

    sy_notify_await(&r->notify, FLAG_DATA, r->taken + 1);
    r->op.kernel(to, came, to, bytes / r->op.size);
    r->taken++;
    if (r->taken + AHEAD <= r->coming)
        sy_notify_raise(&r->notify, r->before, FLAG_CREDIT, r->taken);
}

/* In step s the share of the node s - 1 places before, as far as it has been combined, goes on to
 * the next node. After all steps but one this PE has the result of the share of the node after it.
 */
static void reduce_nodes_combine_around(struct ring *r)
{
    int count = sy_group_nodes(r->notify.group)->count;
    size_t out, in;

    for (int step = 1; step < count; step++) {
        reduce_nodes_share(r, step, &in);
        r->coming += chunks(in, CHUNK_BYTES);
    }
    for (int step = 1; step < count; step++) {
        const char *from = reduce_nodes_share(r, step - 1, &out);
        char *to = reduce_nodes_share(r, step, &in);
        for (size_t at = 0; at < out || at < in; at += CHUNK_BYTES) {
            if (at < out)
                reduce_nodes_send_chunk(r, from + at, reduce_nodes_rest(out, at, CHUNK_BYTES));
            if (at < in)
                reduce_nodes_take_chunk(r, to + at, reduce_nodes_rest(in, at, CHUNK_BYTES));
        }
    }
}

/* The results go around once more, straight to where they belong: what was there is not needed any
 * more, because a result contains all nodes' operands. */
static void reduce_nodes_spread_around(struct ring *r)
{
    int count = sy_group_nodes(r->notify.group)->count;
    uint64_t came = 0, sent = 0;
    size_t bytes;

    for (int step = 1; step < count; step++) {
        char *from = reduce_nodes_share(r, (step - 1 + count - 1) % count, &bytes);
        for (size_t at = 0; at < bytes; at += WHOLE_BYTES) {
            if (step > 1)
                sy_notify_await(&r->notify, FLAG_WHOLE, ++came);
            sy_notify_dest_put(&r->notify, r->after, from + at, from + at,
                               reduce_nodes_rest(bytes, at, WHOLE_BYTES), FLAG_WHOLE, ++sent);
        }
    }
    reduce_nodes_share(r, count - 2, &bytes);
    if (bytes)
        sy_notify_await(&r->notify, FLAG_WHOLE, came + chunks(bytes, WHOLE_BYTES));
}

static void reduce_nodes_ring(const struct sy_notify *notify, struct sy_operation op, char *part,
                              size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(notify->group);
    int local = sy_group_local(notify->group), count_nodes = nodes->count;
    struct ring r = {.notify = *notify, .op = op, .part = part, .count = count};

    r.after = sy_nodes_member(nodes, sy_nodes_after(nodes, 1), local);
    r.before = sy_nodes_member(nodes, sy_nodes_after(nodes, count_nodes - 1), local);
    reduce_nodes_combine_around(&r);
    reduce_nodes_spread_around(&r);
}

static void reduce_nodes_deal_with_part(const struct sy_notify *notify, struct sy_operation op,
                                        char *dest, const char *source, size_t count)
{
    const struct sy_group *group = notify->group;
    size_t piece = SY_PIECE / op.size;

    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        sy_reduce_own(group, op, dest + offset, source + offset, n);
    }
    reduce_nodes_ring(notify, op, dest, count);
    for (int k = 0; k < sy_group_locals(group); k++)
        if (k != sy_group_local(group))
            sy_data_push(group, sy_group_mate(group, k), dest, dest, count * op.size);
    sy_data_pushed();
}

static void reduce_nodes_by_parts(const struct sy_group *group, struct sy_operation op, char *dest,
                                  const char *source, size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    size_t first, end, steps = chunks(count * op.size, CHUNK_BYTES) + (size_t)nodes->count;
    struct sy_notify notify = sy_notify_open(group, SY_NOTIFY_MOST, steps);
    int local = sy_group_local(group);

    sy_group_sync_node(group);
    if (local < nodes->least) {
        sy_reduce_part(nodes->least, op.size, count, local, &first, &end);
        if (first < end)
            reduce_nodes_deal_with_part(&notify, op, dest + first * op.size,
                                        source + first * op.size, end - first);
    }
    sy_group_sync_node(group);
    sy_notify_met(&notify);
}

/* ---- which ---- */

/* Whether pieces in rounds take longer than two times around the ring. The time of a message is
 * taken as five times that of a piece's bytes, which is what machines with sockets have. */
static bool reduce_nodes_ring_is_faster(const struct sy_nodes *nodes, const struct sy_pairs *pairs,
                                        size_t bytes)
{
    size_t pieces = chunks(bytes, reduce_nodes_piece_bytes(nodes, pairs));
    size_t rounds = (size_t)pairs->rounds + (pairs->extra ? 2 : 0);

    return pieces * rounds * 6 > 10 * (size_t)(nodes->count - 1) + 2 * pieces;
}

void sy_reduce_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                     const char *source, size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct sy_pairs pairs = sy_pairs_make(nodes->count, nodes->mine);

    if (count * op.size > reduce_nodes_piece_bytes(nodes, &pairs) &&
        sy_reduce_halves_fit(nodes, op, count))
        sy_reduce_halves(group, op, dest, source, count);
    else if (reduce_nodes_ring_is_faster(nodes, &pairs, count * op.size))
        reduce_nodes_by_parts(group, op, dest, source, count);
    else
        sy_reduce_few_nodes(group, op, dest, source, count);
}

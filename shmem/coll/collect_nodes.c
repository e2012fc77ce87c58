/* Collects on teams that are spread over nodes: see collect.h.
 *
 * Small parts: the leader joins its node's parts in its scratch space; the leaders exchange what
 * they have, in rounds after each of which a leader has the parts of four times as many nodes, or
 * along a tree (tree.h); each member then copies all parts from its leader. Large parts: the
 * leaders put them straight into each other's dests (spread.h), from which the other members read
 * them. */
#include "coll/check.h"
#include "coll/collect.h"
#include "coll/data.h"
#include "coll/notify.h"
#include "coll/spread.h"
#include "coll/tree.h"
#include "core/callsite.h"
#include "core/fatal.h"
#include "core/memory/control.h"

#define RADIX 4

/* The members' parts. offset NULL: all have one length; else part i is offset[i] to offset[i + 1]
 * in dest. */
struct parts {
    const struct sy_group *group;
    const struct sy_nodes *nodes;
    size_t length;
    const uint64_t *offset;
};

static size_t collect_nodes_offset_of(const struct parts *p, int i)
{
    return p->offset ? p->offset[i] : (size_t)i * p->length;
}

static size_t collect_nodes_length_of(const struct parts *p, int i)
{
    return p->offset ? p->offset[i + 1] - p->offset[i] : p->length;
}

/* Bytes of `count` nodes' parts, from node j on in a circle. */
static size_t collect_nodes_bytes_of(const struct parts *p, int j, int count)
{
    size_t bytes = 0;

    for (; count > 0; count--, j = j + 1 < p->nodes->count ? j + 1 : 0) {
        int size = sy_nodes_size(p->nodes, j);
        if (!p->offset)
            bytes += (size_t)size * p->length;
        for (int k = 0; p->offset && k < size; k++)
            bytes += collect_nodes_length_of(p, sy_nodes_member(p->nodes, j, k));
    }
    return bytes;
}

/* ---- small parts ---- */

/* The node whose parts come first in a leader's scratch; the others follow in a circle. */
static int collect_nodes_first(const struct parts *p)
{
    return sy_tree_fits(p->nodes) ? 0 : p->nodes->mine;
}

/* Where this node's parts are in the leader's scratch. */
static size_t collect_nodes_own_offset(const struct parts *p)
{
    int first = collect_nodes_first(p);

    return collect_nodes_bytes_of(p, first, p->nodes->mine - first);
}

/* Gathers the nodes' parts between leaders, in rounds. The scratch space begins with this node's
 * parts. */
static void collect_nodes_gather_rounds(const struct parts *p, const struct sy_notify *notify)
{
    int count = p->nodes->count, mine = p->nodes->mine;
    const char *scratch = sy_notify_own(notify);
    unsigned flag = 0;

    for (int have = 1; have < count; have *= RADIX, flag += RADIX - 1) {
        for (int k = 1; k < RADIX && k * have < count; k++) {
            int away = k * have, blocks = have < count - away ? have : count - away;
            int to = sy_nodes_after(p->nodes, count - away);
            sy_notify_scratch_put(
                notify, sy_nodes_member(p->nodes, to, 0), collect_nodes_bytes_of(p, to, away),
                scratch, collect_nodes_bytes_of(p, mine, blocks), flag + (unsigned)k - 1, 1);
        }
        for (int k = 1; k < RADIX && k * have < count; k++)
            sy_notify_await(notify, flag + (unsigned)k - 1, 1);
    }
}

enum { FLAG_DOWN = SY_NOTIFY_FLAGS - 1 }; /* those below: of rounds, or children */
_Static_assert(FLAG_DOWN >= SY_TREE_PLACES, "a flag is missing for the tree");

/* Gathers the nodes' parts along a tree: up to node 0, then down to all. The scratch space begins
 * with node 0's parts. */
static void collect_nodes_gather_along_tree(const struct parts *p, const struct sy_notify *notify)
{
    struct sy_tree tree = sy_tree_make(p->nodes->count, p->nodes->mine,
                                       sy_tree_radix(p->nodes->count));
    const char *scratch = sy_notify_own(notify);
    size_t at = collect_nodes_own_offset(p), all = collect_nodes_bytes_of(p, 0, tree.count);
    unsigned children = sy_tree_children(&tree);

    for (unsigned place = 0; place < children; place++)
        sy_notify_await(notify, place, 1);
    if (tree.parent >= 0) {
        sy_notify_scratch_put(notify, sy_nodes_member(p->nodes, tree.parent, 0), at, scratch + at,
                              collect_nodes_bytes_of(p, tree.me, sy_tree_below(&tree)), tree.place,
                              1);
        sy_notify_await(notify, FLAG_DOWN, 1);
    }
    while (children--)
        sy_notify_scratch_put(notify, sy_nodes_member(p->nodes, sy_tree_child(&tree, children), 0),
                              0, scratch, all, FLAG_DOWN, 1);
}

static void collect_nodes_gather(const struct parts *p, const struct sy_notify *notify)
{
    if (sy_tree_fits(p->nodes))
        collect_nodes_gather_along_tree(p, notify);
    else
        collect_nodes_gather_rounds(p, notify);
}

/* Leaves this member's part in its scratch space: the leader where it belongs, others at the
 * beginning. */
static void collect_nodes_leave_part(const struct parts *p, const struct sy_notify *notify,
                                     const void *source)
{
    size_t at = sy_group_local(p->group) ? 0 : collect_nodes_own_offset(p);

    sy_data_copy(sy_notify_own(notify) + at, source,
                 collect_nodes_length_of(p, p->group->members.me));
}

/* Brings the parts that the members have left in their scratch spaces into the leader's, where they
 * belong. */
static void collect_nodes_join_scratch(const struct parts *p, const struct sy_notify *notify)
{
    char *scratch = sy_notify_own(notify) + collect_nodes_own_offset(p) +
                    collect_nodes_length_of(p, p->group->members.me);

    for (int k = 1; k < sy_group_locals(p->group); k++) {
        size_t length = collect_nodes_length_of(p, sy_group_mate(p->group, k));
        sy_data_copy(scratch, sy_notify_mate(notify, k), length);
        scratch += length;
    }
}

/* Copies all parts from the leader's scratch space to dest. */
static void collect_nodes_take_parts(const struct parts *p, const char *scratch, char *dest)
{
    int j = collect_nodes_first(p);

    for (int step = 0; step < p->nodes->count; step++, j = j + 1 < p->nodes->count ? j + 1 : 0) {
        int size = sy_nodes_size(p->nodes, j), first = sy_nodes_member(p->nodes, j, 0);
        size_t all = p->nodes->ordered ? collect_nodes_bytes_of(p, j, 1) : 0;
        if (p->nodes->ordered)
            sy_data_copy(dest + collect_nodes_offset_of(p, first), scratch, all);
        for (int k = 0; !p->nodes->ordered && k < size; k++) {
            int i = sy_nodes_member(p->nodes, j, k);
            sy_data_copy(dest + collect_nodes_offset_of(p, i), scratch + all,
                         collect_nodes_length_of(p, i));
            all += collect_nodes_length_of(p, i);
        }
        scratch += all;
    }
}

/* Collects small parts, `total` bytes in all. */
static void collect_nodes_join_parts(const struct parts *p, size_t total, char *dest,
                                     const void *source)
{
    struct sy_notify notify = sy_notify_open(p->group, total, 1);

    collect_nodes_leave_part(p, &notify, source);
    sy_group_gather(p->group);
    if (!sy_group_local(p->group)) {
        collect_nodes_join_scratch(p, &notify);
        collect_nodes_gather(p, &notify);
    }
    sy_group_release(p->group);
    collect_nodes_take_parts(p, sy_notify_mate(&notify, 0), dest);
    sy_notify_met(&notify);
}

/* ---- large parts ---- */

static size_t collect_nodes_piece(const void *how, int node, int k, size_t *at)
{
    const struct parts *p = how;

    if (k == sy_nodes_size(p->nodes, node))
        return SY_SPREAD_NONE;
    int i = sy_nodes_member(p->nodes, node, k);
    *at = collect_nodes_offset_of(p, i);
    return collect_nodes_length_of(p, i);
}

/* Reads the parts of this node's members from where they are. */
static void collect_nodes_pull_own(const struct parts *p, char *dest, const void *source)
{
    int local = sy_group_local(p->group), locals = sy_group_locals(p->group);
    size_t mine = collect_nodes_length_of(p, p->group->members.me);

    for (int step = 0; step < locals; step++) {
        int i = sy_group_mate(p->group, (local + step) % locals);
        size_t length = collect_nodes_length_of(p, i);
        if (!step)
            sy_data_copy(dest + collect_nodes_offset_of(p, i), source, length);
        else if (length)
            sy_collect_pull(p->group, i, dest + collect_nodes_offset_of(p, i), source, length,
                            mine);
    }
}

/* Bytes that go up a tree through scratch space, of which there is then room for two such collects:
 * one ends when all have left the one before. */
static size_t collect_nodes_most_staged(const struct parts *p)
{
    return sy_control_scratch_size(p->group->team->slot) / 2;
}

/* Collects large parts, `total` bytes in all. The leader alone sends and receives: each part
 * crosses a node's line once, together with those beside it. The first synchronisation says that
 * all sources of the node are ready, the last that all have been read. entered: whether this is
 * known of all members. */
static void collect_nodes_spread_parts(const struct parts *p, size_t total, bool entered,
                                       char *dest, const void *source)
{
    uint64_t steps = sy_spread_steps((size_t)p->group->members.size, total);
    bool tree = sy_tree_fits(p->nodes), alone = sy_group_locals(p->group) == 1;
    bool staged = tree && !entered && total <= collect_nodes_most_staged(p);
    bool tells = p->offset; /* else all have the same source */
    struct sy_notify notify = sy_notify_open(p->group, staged ? total : 0, steps);

    sy_notify_keep(&notify, total);
    const struct sy_spread spread = {.notify = &notify,
                                     .dest = dest,
                                     .piece = collect_nodes_piece,
                                     .how = p,
                                     .source = alone ? source : NULL,
                                     .total = total,
                                     .guarded = !entered,
                                     .along_tree = tree,
                                     .staged = staged};

    if (!sy_group_local(p->group))
        sy_spread_enter(&spread);
    if (tells)
        sy_collect_tell(p->group, source, collect_nodes_length_of(p, p->group->members.me));
    sy_group_sync_node(p->group);
    if (!alone)
        collect_nodes_pull_own(p, dest, source);
    if (sy_group_local(p->group))
        sy_spread_follow(&spread);
    else
        sy_spread_exchange(&spread);
    sy_group_sync_node(p->group);
    if (tells)
        sy_group_slot_done(p->group);
    if (!entered) /* each has got something of all */
        sy_notify_met(&notify);
}

/* ---- the routines ---- */

void sy_fcollect_nodes(const struct sy_group *group, char *dest, const void *source, size_t length)
{
    const struct parts parts = {.group = group, .nodes = sy_group_nodes(group), .length = length};
    size_t members = (size_t)group->members.size;

    if (length <= SY_NOTIFY_SMALL / members)
        collect_nodes_join_parts(&parts, length * members, dest, source);
    else
        collect_nodes_spread_parts(&parts, length * members, false, dest, source);
}

/* Lengths and sums of all members. The rest of the scratch space is for small parts, twice: they
 * may have to start at its beginning instead of behind the lengths. */
#define MOST_LENGTHS (SY_NOTIFY_SCRATCH / 2)
#define MOST_JOINED  (SY_NOTIFY_SCRATCH / 4)

/* Shares every member's length with all. Returns the sums of those before each member, and before
 * one more; they are in the leader's scratch space. No member returns before all have entered. */
static const uint64_t *collect_nodes_share_lengths(const struct sy_notify *notify, uint64_t length)
{
    const struct sy_group *group = notify->group;
    const struct parts words = {
        .group = group, .nodes = sy_group_nodes(group), .length = sizeof length};
    size_t members = (size_t)group->members.size;
    char *scratch = sy_notify_mate(notify, 0);
    uint64_t *sum = (uint64_t *)(void *)scratch + members;

    collect_nodes_leave_part(&words, notify, &length);
    sy_group_gather(group);
    if (!sy_group_local(group)) {
        collect_nodes_join_scratch(&words, notify);
        collect_nodes_gather(&words, notify);
        sum[0] = 0;
        collect_nodes_take_parts(&words, scratch, (char *)(sum + 1));
        for (size_t i = 1; i <= members; i++)
            sum[i] += sum[i - 1];
    }
    sy_group_release(group);
    return sum;
}

/* Copies the sums, which are in memory that every PE may write, and sees to it that no part lies
 * before the one before it. */
static void collect_nodes_take_sums(uint64_t *own, const uint64_t *sum, size_t members)
{
    memcpy(own, sum, (members + 1) * sizeof *own);
    for (size_t i = 0; i < members; i++)
        if (own[i] > own[i + 1] || own[0])
            sy_fatal("%s: what the members say that they give has no sum",
                     sy_callsite_routine("shmem_collect"));
}

bool sy_collect_nodes(const struct sy_group *group, char *dest, const void *source, size_t length)
{
    uint64_t sum[MOST_LENGTHS / sizeof(uint64_t) / 2 + 1];
    struct parts parts = {.group = group, .nodes = sy_group_nodes(group), .offset = sum};
    size_t members = (size_t)group->members.size, words = (2 * members + 1) * sizeof(uint64_t);

    if (words > MOST_LENGTHS)
        return false;
    struct sy_notify notify = sy_notify_open(group, words, 1);
    collect_nodes_take_sums(sum, collect_nodes_share_lengths(&notify, length), members);
    sy_coll_extent(SY_COLL_COLLECT, dest, parts.offset[members]);
    if (parts.offset[members] <= MOST_JOINED)
        collect_nodes_join_parts(&parts, parts.offset[members], dest, source);
    else
        collect_nodes_spread_parts(&parts, parts.offset[members], true, dest, source);
    sy_notify_met(&notify);
    return true;
}

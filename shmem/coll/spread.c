/* See spread.h. In rounds: in the one with distance d this node sends the blocks of the nodes from
 * itself on to the node d places before it, as many as that one lacks and this one has, d at most.
 * Pieces that follow each other in dest are sent together; what is sent is divided into chunks,
 * which the flag of the round counts, so that others can read some while more are coming. Sender
 * and receiver find the same chunks. Around the ring each chunk goes on as soon as it has come, and
 * one flag counts them all.
 *
 * Along a tree (tree.h) a node that is let sends up what it has from below and its own blocks, and
 * is then sent all others: no byte twice, in 2 (nodes - 1) messages where chunks are large enough.
 * What came up says that its sender takes part, so the way down waits for nobody. A leaf waits for
 * its parent alone, and each parent lets all children before it waits: nobody waits for ever. Where
 * what comes up fits into scratch space it lands there, at its place in dest, and nobody is let.
 *
 * Chunks are sent from where they are and may not be changed before they have left: the blocks
 * never are, as every PE gets the same. A dest is written when its owner has said that it takes
 * part, where that is not known already. */
#include "coll/spread.h"
#include "coll/data.h"
#include "coll/tree.h"
#include "core/memory/control.h"

#define CHUNK_BYTES ((size_t)128 << 10)

/* For each round two flags: chunks that have arrived, and that the other side takes part. */
enum { FLAG_ARRIVED, FLAG_READY, FLAGS };
_Static_assert(20 * FLAGS <= SY_NOTIFY_FLAGS, "a flag is missing for the rounds of 2^20 nodes");

struct round {
    int distance, count; /* count: of blocks */
    int to, from;        /* nodes */
    unsigned flags;
};

static struct round spread_round(const struct sy_spread *s, int number)
{
    const struct sy_nodes *nodes = sy_group_nodes(s->notify->group);
    struct round r = {.distance = 1 << number, .flags = (unsigned)number * FLAGS};

    r.count = r.distance < nodes->count - r.distance ? r.distance : nodes->count - r.distance;
    r.to = sy_nodes_after(nodes, nodes->count - r.distance);
    r.from = sy_nodes_after(nodes, r.distance);
    return r;
}

static int spread_rounds(int nodes)
{
    int rounds = 0;

    while (1L << rounds < nodes)
        rounds++;
    return rounds;
}

uint64_t sy_spread_steps(size_t pieces, size_t bytes)
{
    return (uint64_t)pieces + bytes / CHUNK_BYTES;
}

static int spread_member(const struct sy_spread *s, int node)
{
    return sy_nodes_member(sy_group_nodes(s->notify->group), node, s->local);
}

/* ---- chunks ---- */

/* Walks over the chunks of `count` nodes' blocks, from `node` on in a circle. */
struct walk {
    const struct sy_spread *spread;
    int node, left, piece; /* what comes next: this piece of the node; nodes that are left */
    size_t at, end;        /* of what has been put together and is not yet in a chunk */
};

static struct walk spread_walk(const struct sy_spread *s, int node, int count)
{
    return (struct walk){.spread = s, .node = node, .left = count};
}

/* Lengthens a chunk by the pieces that follow it without a gap. */
static void spread_put_together(struct walk *w)
{
    while (w->left) {
        size_t at, bytes = w->spread->piece(w->spread->how, w->node, w->piece, &at);
        if (bytes == SY_SPREAD_NONE) {
            w->node = w->node + 1 < sy_group_nodes(w->spread->notify->group)->count ? w->node + 1
                                                                                    : 0;
            w->piece = 0;
            w->left--;
            continue;
        }
        if (w->at != w->end && bytes && at != w->end)
            return;
        if (w->at == w->end)
            w->at = w->end = at;
        w->end += bytes;
        w->piece++;
    }
}

/* How many of `length` bytes are sent at a time. Of two members none forwards any: all. */
static size_t spread_chunk(const struct sy_group *group, size_t length)
{
    size_t most = sy_tree_fits(sy_group_nodes(group)) ? SY_CROWD_CHUNK : CHUNK_BYTES;

    return group->members.size == 2 || length < most ? length : most;
}

/* The next chunk; 0: there is none. */
static size_t spread_next(struct walk *w, size_t *at)
{
    if (w->at == w->end)
        spread_put_together(w);
    *at = w->at;
    size_t bytes = spread_chunk(w->spread->notify->group, w->end - w->at);
    w->at += bytes;
    return bytes;
}

/* Where this node's block, of one piece, begins in dest, and its bytes. */
static size_t spread_own(const struct sy_spread *s, size_t *bytes)
{
    size_t at;

    *bytes = s->piece(s->how, sy_group_nodes(s->notify->group)->mine, 0, &at);
    return at;
}

/* The place that bytes of this node's block are sent from. */
static const char *spread_own_source(const struct sy_spread *s, size_t at)
{
    size_t bytes;

    return s->source ? s->source + (at - spread_own(s, &bytes)) : s->dest + at;
}

/* Copies this node's block into dest, once it is under way to the first node. */
static void spread_copy_own(const struct sy_spread *s)
{
    size_t bytes, at = spread_own(s, &bytes);

    if (s->source)
        sy_data_copy(s->dest + at, s->source, bytes);
}

/* ---- rounds ---- */

/* Sends chunks to a node; own: of this node's block, from where it is. True: they may be changed
 * only after sy_notify_sent. */
static bool spread_send(const struct sy_spread *s, struct walk walk, int node, unsigned flag,
                        bool own)
{
    size_t at, bytes;
    uint64_t step = 0;
    bool stays = false;

    while ((bytes = spread_next(&walk, &at)))
        stays |= sy_notify_dest_start(s->notify, spread_member(s, node), s->dest + at,
                                      own ? spread_own_source(s, at) : s->dest + at, bytes, flag,
                                      ++step);
    return stays;
}

static void spread_await(const struct sy_spread *s, struct walk walk, unsigned flag)
{
    uint64_t steps = 0;
    size_t at;

    while (spread_next(&walk, &at))
        steps++;
    if (steps)
        sy_notify_await(s->notify, flag, steps);
}

/* Sends chunks up a tree, into scratch space. */
static void spread_stage(const struct sy_spread *s, struct walk walk, int node, unsigned flag)
{
    size_t at, bytes;
    uint64_t step = 0;

    while ((bytes = spread_next(&walk, &at)))
        sy_notify_scratch_put(s->notify, spread_member(s, node), at, s->dest + at, bytes, flag,
                              ++step);
}

/* Copies chunks that have come into the scratch space of a member on this node into dest. */
static void spread_unstage(const struct sy_spread *s, int here, struct walk walk, unsigned flag)
{
    size_t at, bytes;
    uint64_t step = 0;

    while ((bytes = spread_next(&walk, &at))) {
        sy_notify_watch(s->notify, here, flag, ++step);
        sy_copy_bytes(s->dest + at, sy_notify_scratch(s->notify, here) + at, bytes);
    }
}

/* Another member's: reads from the one that takes part what comes there, as it comes. */
static void spread_follow(const struct sy_spread *s, int here, struct walk walk, unsigned flag)
{
    uint64_t step = 0;
    size_t at, bytes;

    while ((bytes = spread_next(&walk, &at))) {
        sy_notify_watch(s->notify, here, flag, ++step);
        sy_group_pull(s->notify->group, here, s->dest + at, s->dest + at, bytes);
    }
}

static void spread_enter_rounds(const struct sy_spread *s)
{
    int rounds = spread_rounds(sy_group_nodes(s->notify->group)->count);

    for (int i = 0; i < rounds; i++) {
        struct round r = spread_round(s, i);
        sy_notify_raise(s->notify, spread_member(s, r.from), r.flags + FLAG_READY, 1);
    }
}

static bool spread_in_rounds(const struct sy_spread *s)
{
    const struct sy_nodes *nodes = sy_group_nodes(s->notify->group);
    int rounds = spread_rounds(nodes->count), mine = nodes->mine;
    bool stays = false;

    for (int i = 0; i < rounds; i++) {
        struct round r = spread_round(s, i);
        if (s->guarded)
            sy_notify_await(s->notify, r.flags + FLAG_READY, 1);
        stays |= spread_send(s, spread_walk(s, mine, r.count), r.to, r.flags + FLAG_ARRIVED, !i);
        if (!i)
            spread_copy_own(s);
        spread_await(s, spread_walk(s, r.from, r.count), r.flags + FLAG_ARRIVED);
    }
    return stays;
}

static void spread_follow_rounds(const struct sy_spread *s, int here)
{
    int rounds = spread_rounds(sy_group_nodes(s->notify->group)->count);

    for (int i = 0; i < rounds; i++) {
        struct round r = spread_round(s, i);
        spread_follow(s, here, spread_walk(s, r.from, r.count), r.flags + FLAG_ARRIVED);
    }
}

/* ---- along a tree ---- */

/* Those below are of children: chunks that have come up. */
enum { FLAG_LET = SY_NOTIFY_FLAGS - 2, FLAG_DOWN };
_Static_assert(FLAG_LET >= SY_TREE_PLACES, "a flag is missing for the tree");

static struct sy_tree spread_tree(const struct sy_spread *s, int node)
{
    return sy_tree_make(sy_group_nodes(s->notify->group)->count, node, SY_TREE_RADIX);
}

/* What a node sends up: its own block and those of the nodes below it. */
static struct walk spread_up(const struct sy_spread *s, int node)
{
    struct sy_tree tree = spread_tree(s, node);

    return spread_walk(s, node, sy_tree_below(&tree));
}

/* What comes down to it: all others. */
static struct walk spread_down(const struct sy_spread *s, int node)
{
    struct sy_tree tree = spread_tree(s, node);
    int below = sy_tree_below(&tree);

    return spread_walk(s, node + below < tree.count ? node + below : 0, tree.count - below);
}

static void spread_enter_tree(const struct sy_spread *s)
{
    struct sy_tree tree = spread_tree(s, sy_group_nodes(s->notify->group)->mine);
    int child;

    for (unsigned place = 0; (child = sy_tree_child(&tree, place)) >= 0; place++)
        sy_notify_raise(s->notify, spread_member(s, child), FLAG_LET, 1);
}

/* Those with the most below them are sent to first. */
static bool spread_along_tree(const struct sy_spread *s)
{
    int mine = sy_group_nodes(s->notify->group)->mine, child;
    struct sy_tree tree = spread_tree(s, mine);
    unsigned children = 0;
    bool stays = false;

    spread_copy_own(s);
    for (; (child = sy_tree_child(&tree, children)) >= 0; children++)
        if (s->staged)
            spread_unstage(s, s->notify->group->members.me, spread_up(s, child), children);
        else
            spread_await(s, spread_up(s, child), children);
    if (tree.parent >= 0) {
        if (s->guarded && !s->staged)
            sy_notify_await(s->notify, FLAG_LET, 1);
        if (s->staged)
            spread_stage(s, spread_up(s, mine), tree.parent, tree.place);
        else
            stays |= spread_send(s, spread_up(s, mine), tree.parent, tree.place, false);
        spread_await(s, spread_down(s, mine), FLAG_DOWN);
    }
    while (children--) {
        child = sy_tree_child(&tree, children);
        stays |= spread_send(s, spread_down(s, child), child, FLAG_DOWN, false);
    }
    return stays;
}

static void spread_follow_tree(const struct sy_spread *s, int here)
{
    int mine = sy_group_nodes(s->notify->group)->mine, child;
    struct sy_tree tree = spread_tree(s, mine);

    for (unsigned place = 0; (child = sy_tree_child(&tree, place)) >= 0; place++)
        if (s->staged)
            spread_unstage(s, here, spread_up(s, child), place);
        else
            spread_follow(s, here, spread_up(s, child), place);
    spread_follow(s, here, spread_down(s, mine), FLAG_DOWN);
}

/* ---- around a ring ---- */

/* Where there is a tree, its fewer messages cost less than a ring's for four times as much. */
static bool spread_is_ring(const struct sy_spread *s)
{
    size_t each = s->total / (size_t)sy_group_nodes(s->notify->group)->count;

    return each >= (s->along_tree ? 4 * SY_STEADY_BYTES : SY_STEADY_BYTES);
}

static void spread_enter_ring(const struct sy_spread *s)
{
    const struct sy_nodes *nodes = sy_group_nodes(s->notify->group);

    sy_notify_raise(s->notify, spread_member(s, sy_nodes_after(nodes, 1)), FLAG_READY, 1);
}

static bool spread_around(const struct sy_spread *s)
{
    const struct sy_nodes *nodes = sy_group_nodes(s->notify->group);
    int to = spread_member(s, sy_nodes_after(nodes, nodes->count - 1));
    uint64_t sent = 0, came = 0;
    size_t at, bytes;
    bool stays = false;

    if (s->guarded)
        sy_notify_await(s->notify, FLAG_READY, 1);
    for (int i = 0; i < nodes->count; i++) {
        struct walk walk = spread_walk(s, sy_nodes_after(nodes, i), 1);
        while ((bytes = spread_next(&walk, &at))) {
            if (i)
                sy_notify_await(s->notify, FLAG_ARRIVED, ++came);
            if (i < nodes->count - 1)
                stays |= sy_notify_dest_start(s->notify, to, s->dest + at,
                                              i ? s->dest + at : spread_own_source(s, at), bytes,
                                              FLAG_ARRIVED, ++sent);
        }
        if (!i)
            spread_copy_own(s);
    }
    return stays;
}

static void spread_follow_ring(const struct sy_spread *s, int here)
{
    const struct sy_nodes *nodes = sy_group_nodes(s->notify->group);
    uint64_t came = 0;
    size_t at, bytes;

    for (int i = 1; i < nodes->count; i++) {
        struct walk walk = spread_walk(s, sy_nodes_after(nodes, i), 1);
        while ((bytes = spread_next(&walk, &at))) {
            sy_notify_watch(s->notify, here, FLAG_ARRIVED, ++came);
            sy_group_pull(s->notify->group, here, s->dest + at, s->dest + at, bytes);
        }
    }
}

void sy_spread_enter(const struct sy_spread *s)
{
    if (s->guarded && spread_is_ring(s))
        spread_enter_ring(s);
    else if (s->guarded && s->along_tree && !s->staged)
        spread_enter_tree(s);
    else if (s->guarded && !s->along_tree)
        spread_enter_rounds(s);
}

void sy_spread_exchange(const struct sy_spread *s)
{
    if (spread_is_ring(s) ? spread_around(s)
        : s->along_tree   ? spread_along_tree(s)
                          : spread_in_rounds(s))
        sy_notify_sent();
}

void sy_spread_follow(const struct sy_spread *s)
{
    int here = spread_member(s, sy_group_nodes(s->notify->group)->mine);

    if (spread_is_ring(s))
        spread_follow_ring(s, here);
    else if (s->along_tree)
        spread_follow_tree(s, here);
    else
        spread_follow_rounds(s, here);
}

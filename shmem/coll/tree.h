/* A tree over parties in their order, for the fewest messages: on the way up each party but the
 * first sends one, on the way down each but the first gets one. Rounds in which everybody sends to
 * everybody's neighbours are over sooner where each party has a processor; where parties share
 * processors the work of all messages adds up, and a tree has a third of them or less
 * (sy_tree_fits).
 *
 * What is below a party follows it without a gap, so results are combined in the parties' order by
 * combining a party's own with its children's in theirs, and most messages stay on a host where
 * parties follow each other there. */
#ifndef SY_COLL_TREE_H
#define SY_COLL_TREE_H

#include <stdbool.h>

#include "core/start/nodes.h"
#include "core/start/world.h"

#define SY_TREE_RADIX 4

/* Children's places in a tree of 4^12 parties: SY_TREE_RADIX - 1 in each level. */
#define SY_TREE_PLACES (12 * (SY_TREE_RADIX - 1))

struct sy_tree {
    int count, me, radix;
    int parent;     /* the first one's is -1 */
    unsigned place; /* which of its parent's children this one is */
    long span;      /* parties below it are nearer than this */
};

static inline struct sy_tree sy_tree_make(int count, int me, int radix)
{
    struct sy_tree t = {.count = count, .me = me, .radix = radix, .parent = -1, .span = 1};
    unsigned level = 0;

    for (; t.span < count; t.span *= radix, level++) {
        int digit = (int)(me / t.span % radix);
        if (!digit)
            continue;
        t.parent = (int)(me - digit * t.span);
        t.place = level * (unsigned)(radix - 1) + (unsigned)digit - 1;
        break;
    }
    return t;
}

/* The child at a place, or -1. The children follow each other from place 0 on, and so do the
 * parties below them. */
static inline int sy_tree_child(const struct sy_tree *t, unsigned place)
{
    unsigned places = (unsigned)t->radix - 1; /* in a level */
    long step = 1;

    for (; place >= places; place -= places)
        step *= t->radix;
    long child = t->me + (long)(place + 1) * step;
    return step < t->span && child < t->count ? (int)child : -1;
}

static inline unsigned sy_tree_children(const struct sy_tree *t)
{
    unsigned count = 0;

    while (sy_tree_child(t, count) >= 0)
        count++;
    return count;
}

/* A party and those below it. */
static inline int sy_tree_below(const struct sy_tree *t)
{
    return t->span < t->count - t->me ? (int)t->span : t->count - t->me;
}

/* Whether nodes exchange small data along a tree: where processors are short. Of two nodes each
 * sends one message either way. All PEs know the same. */
static inline bool sy_tree_fits(const struct sy_nodes *nodes)
{
    return sy_world.nodes_crowd && nodes->count > 2;
}

/* Bytes sent at a time there: what the work of another message costs is more than what a relay
 * gains by beginning earlier. */
#define SY_CROWD_CHUNK ((size_t)1 << 20)

/* The radix for small data between `count` nodes. Each level of a tree costs a turn of all who
 * share the processors, so where these are two or fewer, of one host, all others are the first
 * one's children: it has their messages handled while others could do little else. With more
 * processors they would wait for it, and with several hosts its line would carry what one message
 * to each host could. */
static inline int sy_tree_radix(int count)
{
    bool flat = sy_world.crowd_processors && sy_world.crowd_processors <= 2 &&
                count <= SY_TREE_PLACES + 1;

    return flat ? SY_TREE_PLACES + 1 : SY_TREE_RADIX;
}

#endif

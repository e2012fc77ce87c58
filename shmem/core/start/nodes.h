/* How the members of a group are spread over nodes, where a node is a set of PEs that have each
 * other's memory mapped. Nodes are counted in the order of their first members, members of a node
 * in the order of the group; the first is the node's leader.
 *
 * Memory: a few numbers where the members fill node after node (blocks) or go around the nodes (in
 * turn), whatever their number; only other placements have a table. */
#ifndef SY_CORE_NODES_H
#define SY_CORE_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "util/bits.h"

struct sy_nodes {
    int count;        /* nodes that have members */
    int mine;         /* this PE's */
    int members;      /* on all nodes */
    int least, most;  /* members on a node */
    int width, shift; /* blocks: member i is on node (i + shift) / width. In turn, where width is 0:
                         on node i % count */
    bool ordered;     /* members of a node follow each other, as the nodes do */
    int *first; /* else: how many members are on the nodes before node j, count + 1 numbers; */
    int *order; /* and the members by node, in the same block of memory */
};

/* Members on the nodes before node j, of which there may be `count`. */
static inline int sy_nodes_before(const struct sy_nodes *n, int j)
{
    if (SY_UNLIKELY(n->first != NULL))
        return n->first[j];
    if (n->width) {
        int before = j * n->width - n->shift;
        return j == 0 ? 0 : before < n->members ? before : n->members;
    }
    int more = n->members % n->count;
    return j * (n->members / n->count) + (j < more ? j : more);
}

/* Members on node j. */
static inline int sy_nodes_size(const struct sy_nodes *n, int j)
{
    return sy_nodes_before(n, j + 1) - sy_nodes_before(n, j);
}

/* The k-th member on node j. */
static inline int sy_nodes_member(const struct sy_nodes *n, int j, int k)
{
    if (SY_UNLIKELY(n->first != NULL))
        return n->order[n->first[j] + k];
    return n->width ? sy_nodes_before(n, j) + k : j + k * n->count;
}

/* The node of member i. */
int sy_nodes_of(const struct sy_nodes *n, int i);

/* The node `step` places after this one, in a circle. */
static inline int sy_nodes_after(const struct sy_nodes *n, int step)
{
    int left = n->count - step; /* no sum that could overflow */

    return n->mine < left ? n->mine + step : n->mine - left;
}

struct sy_members;

/* Finds out about a group that this PE is a member of, and which members are on its own node, in
 * the same way. 0, or -ENOMEM. */
int sy_nodes_open(struct sy_nodes *nodes, const struct sy_members *members, struct sy_members *own);
void sy_nodes_free(struct sy_nodes *nodes);

#endif

/* Every node has a block of an array, and all get all blocks: what collects and reductions of large
 * data do between nodes. Every byte crosses a node's line once, and nobody is sent to by several at
 * once: if all sent to all, many streams would meet on one line. In rounds a node sends what it has
 * to one node and gets as much from another, at distances that double; very large blocks go around
 * a ring (SY_STEADY_BYTES). Where the work of all messages is what counts, blocks that are not very
 * large go along a tree.
 *
 * One member of each node takes part; data go straight into its dest. Others can read from it what
 * has arrived, as it arrives. */
#ifndef SY_COLL_SPREAD_H
#define SY_COLL_SPREAD_H

#include "coll/notify.h"

/* Bytes of piece k of a node's block, and where it begins in dest; SY_SPREAD_NONE: it has no more
 * pieces. They are in the order of their places. */
#define SY_SPREAD_NONE SIZE_MAX
typedef size_t sy_spread_piece(const void *how, int node, int k, size_t *at);

struct sy_spread {
    const struct sy_notify *notify; /* all flags are used */
    int local;                      /* which member of each node takes part; 0: the leader */
    char *dest;
    sy_spread_piece *piece;
    const void *how;
    const char *source; /* this node's block, of one piece, where it is not in dest yet; or NULL */
    size_t total;       /* bytes of all blocks that a node's line carries, other members' too */
    bool guarded;       /* others' dests may be in use until they begin */
    bool along_tree;    /* the fewest messages; no block is empty, or it is not guarded */
    bool staged;        /* along a tree: the scratch space has room for all blocks */
};

/* Bytes for each node, of all its members, from which data go from neighbour to neighbour, in
 * broadcasts too. There are more hops that way, but each connection carries one long stream, and a
 * line one from one node: members that are in different rounds would send to one node at once.
 * Where the congestion control is BBR, streams that start and stop get 60 to 80 % of a line's rate
 * and steady ones 95 %; with others both do. */
#define SY_STEADY_BYTES ((size_t)128 << 10)

/* The steps that flags go up to where all blocks have `bytes` bytes in `pieces` pieces. */
uint64_t sy_spread_steps(size_t pieces, size_t bytes);

/* One that takes part lets its dest be written. */
void sy_spread_enter(const struct sy_spread *spread);

/* The part of one that takes part, after sy_spread_enter. On return all blocks are in its dest. */
void sy_spread_exchange(const struct sy_spread *spread);

/* Another member's: all other nodes' blocks, into this PE's dest. */
void sy_spread_follow(const struct sy_spread *spread);

#endif

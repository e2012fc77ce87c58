/* Reductions (9.10.9). */
#ifndef SY_COLL_REDUCE_H
#define SY_COLL_REDUCE_H

#include "coll/group.h"
#include "coll/reduce_kernels.h"

/* An array operation: its kernel and the bytes of an element. */
struct sy_operation {
    sy_kernel *kernel;
    size_t size;
};

/* Combines `count` elements of all members' source into dest of all, which may be source. All get
 * the same bits. */
void sy_reduce(const struct sy_group *group, struct sy_operation op, void *dest, const void *source,
               size_t count);

/* sy_reduce for at most SY_REDUCE_FEW bytes, which need not be symmetric memory. Teams only. */
#define SY_REDUCE_FEW ((size_t)4096)
void sy_reduce_few(const struct sy_group *group, struct sy_operation op, void *dest,
                   const void *source, size_t count);

/* Both for a team that is spread over several nodes (reduce_nodes.c). */
void sy_reduce_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                     const char *source, size_t count);
void sy_reduce_few_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                         const char *source, size_t count);

/* sy_reduce_nodes of much data (reduce_halves.c): by recursive halving, if that can be done and is
 * faster than a ring, or around a ring. */
void sy_reduce_large_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                           const char *source, size_t count);
/* sy_reduce_nodes for nodes that share processors, where sy_tree_fits (reduce_crowd.c). */
void sy_reduce_crowd_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                           const char *source, size_t count);
bool sy_reduce_halves_fit(const struct sy_nodes *nodes, struct sy_operation op, size_t count);

/* Combines what the members on this node have in their scratch spaces at `offset`, in their order.
 * `to` may be the leader's. */
struct sy_notify;
void sy_reduce_scratch(const struct sy_notify *notify, size_t offset, struct sy_operation op,
                       void *to, size_t count);

/* Combines the sources of all members on this node, in their order, piece by piece. Only the last
 * operation on a piece writes to dest, because dest may be the source of a member that has not had
 * its turn. */
void sy_reduce_own(const struct sy_group *group, struct sy_operation op, char *dest,
                   const char *source, size_t count);

/* The algorithms that can be asked for by name, on a team of two members or more: along a tree
 * (with a radix of all members: linear), in rounds between pairs, and around a ring. */
void sy_reduce_tree(const struct sy_group *group, struct sy_operation op, char *dest,
                    const char *source, size_t count, long radix);
void sy_reduce_doubling(const struct sy_group *group, struct sy_operation op, char *dest,
                        const char *source, size_t count);
void sy_reduce_ring(const struct sy_group *group, struct sy_operation op, char *dest,
                    const char *source, size_t count);

/* Pairs at distances that double, among a power of two of `size` parties. Of the first 2 * extra
 * those with an odd number stand for the one before them too. */
struct sy_pairs {
    int extra, rounds;
    int rank; /* of party `me` among those that take part, or -1 */
};

static inline struct sy_pairs sy_pairs_make(int size, int me)
{
    struct sy_pairs p = {.rounds = 0};

    while (2L << p.rounds <= size)
        p.rounds++;
    p.extra = size - (1 << p.rounds);
    p.rank = me >= 2 * p.extra ? me - p.extra : me % 2 ? me / 2 : -1;
    return p;
}

static inline int sy_pairs_party(const struct sy_pairs *p, int rank)
{
    return rank < p->extra ? 2 * rank + 1 : rank + p->extra;
}

#endif

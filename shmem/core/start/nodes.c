#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/start/nodes.h"
#include "core/team.h"
#include "core/start/world.h"

/* The node of each member, numbered in the order of the first members; NULL where there is no
 * memory. Scratch: freed as soon as a rule is found. */
static int *start_nodes_number(const struct sy_members *members, int *count)
{
    int domains = sy_world_domains(), size = members->size;
    int *node = malloc((size_t)size * sizeof *node);
    int *known = malloc((size_t)domains * sizeof *known);

    *count = 0;
    if (node && known) {
        memset(known, -1, (size_t)domains * sizeof *known);
        for (int i = 0; i < size; i++) {
            int *number = &known[sy_world_domain(sy_members_pe(members, i))];
            if (*number < 0)
                *number = (*count)++;
            node[i] = *number;
        }
    } else {
        free(node);
        node = NULL;
    }
    free(known);
    return node;
}

static bool start_nodes_in_blocks(const struct sy_nodes *n, const int *node)
{
    for (int i = 0; i < n->members; i++)
        if (n->shift < 0 || node[i] != (i + n->shift) / n->width)
            return false;
    return true;
}

static bool start_nodes_in_turn(const struct sy_nodes *n, const int *node)
{
    for (int i = 0; i < n->members; i++)
        if (node[i] != i % n->count)
            return false;
    return true;
}

/* Blocks are as wide as any that is neither the first nor the last, which may be cut off. */
static void start_nodes_guess_blocks(struct sy_nodes *n, const int *node)
{
    int run[2] = {0, 0};

    for (int i = 0; i < n->members && node[i] < 2; i++)
        run[node[i]]++;
    n->width = n->count > 2 || run[1] > run[0] ? run[1] : run[0];
    n->shift = n->width - run[0];
}

/* Makes the table, in one block of memory: first, order, and the PEs of this node. */
static int start_nodes_make_table(struct sy_nodes *n, const int *node)
{
    size_t own = 0;

    for (int i = 0; i < n->members; i++)
        own += node[i] == n->mine;
    n->first = calloc((size_t)n->count + 1 + (size_t)n->members + own, sizeof *n->first);
    if (!n->first)
        return -ENOMEM;
    n->order = n->first + n->count + 1;
    for (int i = 0; i < n->members; i++)
        n->first[node[i] + 1]++;
    for (int j = 0; j < n->count; j++)
        n->first[j + 1] += n->first[j];
    /* first[j] goes up to first[j + 1] while node j is filled, and is put back after. */
    for (int i = 0; i < n->members; i++)
        n->order[n->first[node[i]]++] = i;
    memmove(n->first + 1, n->first, (size_t)n->count * sizeof *n->first);
    n->first[0] = 0;
    n->ordered = true;
    for (int i = 0; i < n->members; i++)
        n->ordered = n->ordered && n->order[i] == i;
    return 0;
}

static int start_nodes_find_rule(struct sy_nodes *n, const int *node)
{
    start_nodes_guess_blocks(n, node);
    if (start_nodes_in_blocks(n, node)) {
        n->ordered = true;
        return 0;
    }
    n->width = n->shift = 0;
    return start_nodes_in_turn(n, node) ? 0 : start_nodes_make_table(n, node);
}

static void start_nodes_measure(struct sy_nodes *n)
{
    n->least = n->members;
    for (int j = 0; j < n->count; j++) {
        int size = sy_nodes_size(n, j);
        n->least = size < n->least ? size : n->least;
        n->most = size > n->most ? size : n->most;
    }
}

int sy_nodes_of(const struct sy_nodes *n, int i)
{
    if (n->width)
        return (i + n->shift) / n->width;
    if (!n->first)
        return i % n->count;
    for (int at = 0, j = 0;; at++) {
        while (at == n->first[j + 1])
            j++;
        if (n->order[at] == i)
            return j;
    }
}

/* The members on this PE's node as a group of their own. */
static struct sy_members start_nodes_own_members(const struct sy_nodes *n,
                                                 const struct sy_members *all)
{
    int size = sy_nodes_size(n, n->mine), lead = sy_nodes_member(n, n->mine, 0);
    int step = size > 1 ? sy_nodes_member(n, n->mine, 1) - lead : 1;
    struct sy_members own = {.table = all->table,
                             .start = all->start + lead * all->stride,
                             .stride = step * all->stride,
                             .size = size};

    for (int k = 0; k < size; k++)
        if (sy_nodes_member(n, n->mine, k) == all->me)
            own.me = k;
    if (n->first) {
        int *pe = n->order + n->members;
        for (int k = 0; k < size; k++)
            pe[k] = sy_members_pe(all, sy_nodes_member(n, n->mine, k));
        own.table = pe;
        own.start = 0;
        own.stride = 1;
    }
    return own;
}

int sy_nodes_open(struct sy_nodes *n, const struct sy_members *members, struct sy_members *own)
{
    *n = (struct sy_nodes){.members = members->size};
    int *node = start_nodes_number(members, &n->count);
    if (!node)
        return -ENOMEM;
    n->mine = node[members->me];
    int rc = start_nodes_find_rule(n, node);
    free(node);
    if (rc)
        return rc;
    start_nodes_measure(n);
    *own = start_nodes_own_members(n, members);
    return 0;
}

void sy_nodes_free(struct sy_nodes *nodes)
{
    free(nodes->first);
    nodes->first = nodes->order = NULL;
}

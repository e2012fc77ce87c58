/* Broadcasts on teams that are spread over nodes, and small ones on one node: see broadcast.h. On
 * each node one member gets the data from another node and sends them on: the root on its own node,
 * the leader on others. The other members read their node's flags and data by themselves.
 *
 * Small data go through the scratch space of these members, and no member waits for later ones.
 * Large data go straight into dest in chunks, once the receiver has reported that it has entered.
 */
#include "coll/broadcast.h"
#include "coll/data.h"
#include "coll/notify.h"

enum { FLAG_DATA, FLAG_READY }; /* READY and those above: one for each child */

#define MOST_SMALL  ((size_t)8192)
#define CHUNK_BYTES ((size_t)64 << 10)

/* The place of this PE's node. Nodes are counted from the root's, which is 0. */
struct place {
    const struct sy_group *group;
    int root, root_node; /* the member; its node */
    int node, count;
    bool chain; /* each node has one child; else a binomial tree */
};

/* The member that communicates with other nodes for its own. */
static int broadcast_nodes_speaker(const struct place *p, int node)
{
    const struct sy_nodes *nodes = sy_group_nodes(p->group);
    int at = (int)(((long)node + p->root_node) % p->count);

    return node ? sy_nodes_member(nodes, at, 0) : p->root;
}

static int parent(const struct place *p)
{
    return p->chain ? p->node - 1 : p->node & (p->node - 1);
}

/* The distance from this node to its child number `i`, or 0. In the binomial tree a node's children
 * are at the powers of two below its lowest bit, and the one with the most nodes below it comes
 * first. */
static int broadcast_nodes_child(const struct place *p, int i)
{
    int distance = 1, found = 0;

    if (p->chain)
        return i == 0 && p->node + 1 < p->count ? 1 : 0;
    while (distance < p->count && !(p->node & distance))
        distance *= 2;
    for (distance /= 2; distance; distance /= 2)
        if (p->node + distance < p->count && found++ == i)
            return distance;
    return 0;
}

/* Which child of its parent this node is. */
static int broadcast_nodes_rank_among_children(const struct place *p)
{
    struct place of_parent = *p;
    int i = 0;

    of_parent.node = parent(p);
    while (of_parent.node + broadcast_nodes_child(&of_parent, i) != p->node)
        i++;
    return i;
}

static struct place broadcast_nodes_make_place(const struct sy_group *group, int root)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct place p = {
        .group = group, .root = root, .root_node = sy_nodes_of(nodes, root), .count = nodes->count};

    p.node = (nodes->mine - p.root_node + p.count) % p.count;
    return p;
}

/* ---- small ---- */

static void broadcast_nodes_through_scratch(const struct place *p, void *dest, const void *source,
                                            size_t length)
{
    struct sy_notify notify = sy_notify_open(p->group, length, 1);
    int me = p->group->members.me, here = broadcast_nodes_speaker(p, p->node), distance;
    const char *scratch = sy_notify_scratch(&notify, here);

    if (me == p->root)
        sy_notify_scratch_put(&notify, me, 0, source, length, FLAG_DATA, 1);
    else
        sy_notify_watch(&notify, here, FLAG_DATA, 1);
    for (int i = 0; me == here && (distance = broadcast_nodes_child(p, i)); i++)
        sy_notify_scratch_put(&notify, broadcast_nodes_speaker(p, p->node + distance), 0, scratch,
                              length, FLAG_DATA, 1);
    memcpy(dest, scratch, length);
}

/* ---- large ---- */

/* Chain or tree: in a chain each node sends the data once, but the last node begins after as many
 * messages as there are nodes; in a tree a node sends them several times. A message takes about the
 * time of a chunk. */
static bool broadcast_nodes_chain_is_faster(int count, size_t chunks)
{
    size_t depth = 0, nodes = (size_t)count;

    while ((size_t)1 << depth < nodes)
        depth++;
    return chunks + 2 * nodes < (chunks + 1) * depth + 3;
}

static void broadcast_nodes_send_on(const struct place *p, const struct sy_notify *notify,
                                    char *dest, const char *from, size_t length)
{
    uint64_t step = 0;
    int distance;

    for (size_t at = 0; at < length; at += CHUNK_BYTES) {
        size_t bytes = length - at < CHUNK_BYTES ? length - at : CHUNK_BYTES;
        step++;
        if (p->node)
            sy_notify_await(notify, FLAG_DATA, step);
        for (int i = 0; (distance = broadcast_nodes_child(p, i)); i++) {
            if (step == 1)
                sy_notify_await(notify, FLAG_READY + (unsigned)i, 1);
            sy_notify_dest_start(notify, broadcast_nodes_speaker(p, p->node + distance), dest + at,
                                 from + at, bytes, FLAG_DATA, step);
        }
    }
    sy_notify_sent();
}

/* A member that exchanges nothing with other nodes reads the data, as they arrive, from the one
 * that does. */
static void broadcast_nodes_follow(const struct place *p, const struct sy_notify *notify,
                                   char *dest, const char *source, size_t length)
{
    int here = broadcast_nodes_speaker(p, p->node);
    const char *from = p->node ? dest : source;
    uint64_t step = 0;

    for (size_t at = 0; at < length; at += CHUNK_BYTES) {
        size_t bytes = length - at < CHUNK_BYTES ? length - at : CHUNK_BYTES;
        sy_notify_watch(notify, here, FLAG_DATA, ++step);
        sy_group_pull(p->group, here, dest + at, from + at, bytes);
    }
}

static void broadcast_nodes_into_dest(struct place *p, char *dest, const char *source,
                                      size_t length)
{
    uint64_t chunks = (length + CHUNK_BYTES - 1) / CHUNK_BYTES;
    struct sy_notify notify = sy_notify_open(p->group, 0, chunks);
    int me = p->group->members.me;

    p->chain = broadcast_nodes_chain_is_faster(p->count, chunks);
    if (me == p->root) {
        sy_notify_raise(&notify, me, FLAG_DATA, chunks); /* for the members on this node */
        broadcast_nodes_send_on(p, &notify, dest, source, length);
        sy_data_copy(dest, source, length);
    } else if (me == broadcast_nodes_speaker(p, p->node)) {
        sy_notify_raise(&notify, broadcast_nodes_speaker(p, parent(p)),
                        FLAG_READY + (unsigned)broadcast_nodes_rank_among_children(p), 1);
        broadcast_nodes_send_on(p, &notify, dest, dest, length);
    } else {
        broadcast_nodes_follow(p, &notify, dest, source, length);
    }
    sy_group_sync_node(p->group);
}

void sy_broadcast_nodes(const struct sy_group *group, void *dest, const void *source, size_t length,
                        int root)
{
    struct place place = broadcast_nodes_make_place(group, root);

    if (length <= MOST_SMALL)
        broadcast_nodes_through_scratch(&place, dest, source, length);
    else
        broadcast_nodes_into_dest(&place, dest, source, length);
}

/* Broadcasts on teams that are spread over nodes: see broadcast.h. On each node one member gets the
 * data from another node and sends them on: the root on its own node, the leader on others. The
 * other members read their node's flags and data by themselves.
 *
 * Small data go through the scratch space of these members, along a binomial tree, or that of
 * tree.h, and no member waits for later ones. Large data go straight into dest in chunks, along two
 * trees (twins.h), once the receiver has reported that it has entered. */
#include "coll/broadcast.h"
#include "coll/notify.h"
#include "coll/spread.h"
#include "coll/tree.h"
#include "coll/twins.h"
#include "core/memory/control.h"

/* Flags. DATA: one for each tree; small data use the first. READY and those above: one for each
 * child. */
enum { FLAG_DATA, FLAG_READY = FLAG_DATA + SY_TWINS };
_Static_assert(FLAG_READY + SY_TREE_PLACES <= SY_NOTIFY_FLAGS, "a flag is missing for a child");

static unsigned flag_ready(int twin, int child)
{
    return (unsigned)(FLAG_READY + twin * SY_TWIN_CHILDREN + child);
}

#define MOST_SMALL     ((size_t)8192)
#define LEAST_CHUNK    ((size_t)8 << 10)
#define MOST_CHUNK     ((size_t)64 << 10)
#define CHUNKS_A_LEVEL 8
#define CHUNKS_A_LINK  16

/* The place of this PE's node. Nodes are counted from the root's, which is 0. */
struct place {
    const struct sy_group *group;
    int root, root_node; /* the member; its node */
    int node, count;
};

/* The member that communicates with other nodes for its own. */
static int broadcast_nodes_speaker(const struct place *p, int node)
{
    const struct sy_nodes *nodes = sy_group_nodes(p->group);
    int at = (int)(((long)node + p->root_node) % p->count);

    return node ? sy_nodes_member(nodes, at, 0) : p->root;
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

/* Copies of more still cost less than word of who has entered, as long as there is room for
 * several. But a line of its own takes longer for it, and the root's carries all data once for each
 * child. */
static size_t broadcast_nodes_most_small(const struct place *p)
{
    bool few = p->count == 2 || sy_tree_fits(sy_group_nodes(p->group));

    return few ? sy_control_scratch_size(p->group->team->slot) / 8 : MOST_SMALL;
}

/* Where nodes have processors of their own the child with the most nodes below it comes first. */
static void broadcast_nodes_pass_on(const struct place *p, const struct sy_notify *notify,
                                    const void *from, size_t length)
{
    bool crowd = sy_tree_fits(sy_group_nodes(p->group));
    struct sy_tree tree = sy_tree_make(p->count, p->node, crowd ? sy_tree_radix(p->count) : 2);
    unsigned children = sy_tree_children(&tree);

    for (unsigned i = 0; i < children; i++) {
        int child = sy_tree_child(&tree, crowd ? i : children - 1 - i);
        sy_notify_scratch_put(notify, broadcast_nodes_speaker(p, child), 0, from, length, FLAG_DATA,
                              1);
    }
}

static void broadcast_nodes_through_scratch(const struct place *p, void *dest, const void *source,
                                            size_t length)
{
    struct sy_notify notify = sy_notify_open_broadcast(p->group, length, 1, p->root);
    int me = p->group->members.me, here = broadcast_nodes_speaker(p, p->node);
    const char *from = me == p->root ? source : sy_notify_scratch(&notify, here);

    if (me != p->root)
        sy_notify_watch(&notify, here, FLAG_DATA, 1);
    else if (sy_group_locals(p->group) > 1) /* for the others on its node */
        sy_notify_scratch_put(&notify, me, 0, source, length, FLAG_DATA, 1);
    if (me == here)
        broadcast_nodes_pass_on(p, &notify, from, length);
    if (me == p->root)
        sy_broadcast_own(p->group, dest, source, length);
    else
        sy_copy_bytes(dest, from, length);
}

/* ---- large ---- */

static size_t broadcast_nodes_part(size_t length, size_t parts)
{
    size_t chunk = sy_round_up(length / parts + 1, SY_LINE);

    return chunk < LEAST_CHUNK ? LEAST_CHUNK : chunk < MOST_CHUNK ? chunk : MOST_CHUNK;
}

/* Bytes of a chunk that the first sends. Each level of the trees adds the time of a chunk, so there
 * are many times as many chunks as levels. A message takes as long as some KiB do; but where the
 * work of messages holds a relay up, it sends on all that has come in one. */
static size_t broadcast_nodes_chunk(const struct place *p, size_t half)
{
    size_t levels = 1;

    while (1 << levels < p->count)
        levels++;
    return broadcast_nodes_part(half, CHUNKS_A_LEVEL * levels);
}

/* Bytes of a chunk along a chain. */
static size_t broadcast_nodes_link(const struct place *p, size_t length)
{
    return p->count == 2 ? length : broadcast_nodes_part(length, CHUNKS_A_LINK * (size_t)p->count);
}

/* The halves of the data, each of which goes along its tree in chunks. */
struct halves {
    struct sy_notify notify;
    struct sy_twin twin[SY_TWINS];
    size_t begin[SY_TWINS + 1];
    size_t chunk;
    bool star; /* the first tree is one of the root and its children, all others */
};

/* Very large data go along a chain, whole: see SY_STEADY_BYTES. Where nodes share processors the
 * work of messages is what counts, so data go along one tree, whole: of two levels, as small data
 * do, as long as they are one chunk. */
static void broadcast_nodes_plan(const struct place *p, struct halves *h, size_t length)
{
    size_t half = sy_round_up((length + SY_TWINS - 1) / SY_TWINS, SY_LINE);
    bool crowd = sy_tree_fits(sy_group_nodes(p->group));
    bool chain = length / (size_t)p->count >= SY_STEADY_BYTES || p->count == 2;

    *h = (struct halves){.begin = {0, crowd || chain ? length : half, length},
                         .chunk = crowd   ? SY_CROWD_CHUNK
                                  : chain ? broadcast_nodes_link(p, length)
                                          : broadcast_nodes_chunk(p, half)};
    h->star = crowd && length <= SY_CROWD_CHUNK && p->count <= sy_tree_radix(p->count);
    for (int twin = 0; twin < SY_TWINS && h->begin[twin] < length; twin++)
        h->twin[twin] = sy_twin_make(p->count, p->node, twin);
    if (h->star)
        h->twin[0] = (struct sy_twin){.parent = p->node ? 0 : -1,
                                      .which = p->node - 1,
                                      .children = p->node ? 0 : p->count - 1};
    else if (chain && !crowd)
        h->twin[0] = (struct sy_twin){
            .parent = p->node - 1, .children = p->node + 1 < p->count, .child = {p->node + 1}};
}

static uint64_t broadcast_nodes_steps(const struct halves *h, int twin)
{
    return (h->begin[twin + 1] - h->begin[twin] + h->chunk - 1) / h->chunk;
}

/* Where chunk `step`, from 1 on, of a half begins, and its bytes: 0 behind the last. */
static size_t broadcast_nodes_chunk_at(const struct halves *h, int twin, uint64_t step,
                                       size_t *bytes)
{
    size_t at = h->begin[twin] + (size_t)(step - 1) * h->chunk, end = h->begin[twin + 1];

    *bytes = at >= end ? 0 : end - at < h->chunk ? end - at : h->chunk;
    return at;
}

/* Sends chunks from `first` to `step` on to this node's children, in one message. True: what is
 * sent may be changed only after sy_notify_sent. */
static bool broadcast_nodes_send_on(const struct place *p, const struct halves *h, int twin,
                                    uint64_t first, uint64_t step, char *dest, const char *from)
{
    size_t bytes, end = broadcast_nodes_chunk_at(h, twin, step, &bytes) + bytes;
    size_t at = broadcast_nodes_chunk_at(h, twin, first, &bytes);
    bool stays = false;

    bytes = end - at;
    for (int i = 0; bytes && i < h->twin[twin].children; i++) {
        if (first == 1)
            sy_notify_await(&h->notify, flag_ready(twin, i), 1);
        int child = h->star ? i + 1 : h->twin[twin].child[i];
        stays |= sy_notify_dest_start(&h->notify, broadcast_nodes_speaker(p, child), dest + at,
                                      from + at, bytes, FLAG_DATA + (unsigned)twin, step);
    }
    return stays;
}

static void broadcast_nodes_feed(const struct place *p, const struct halves *h, char *dest,
                                 const char *source, uint64_t steps)
{
    bool stays = false;

    for (int twin = 0; twin < SY_TWINS; twin++) /* for the members on this node */
        sy_notify_raise(&h->notify, p->group->members.me, FLAG_DATA + (unsigned)twin, steps);
    for (uint64_t step = 1; step <= steps; step++)
        for (int twin = 0; twin < SY_TWINS; twin++)
            stays |= broadcast_nodes_send_on(p, h, twin, step, step, dest, source);
    sy_broadcast_own(p->group, dest, source, h->begin[SY_TWINS]);
    if (stays)
        sy_notify_sent();
}

/* An inner node of one of the two trees: forwards each chunk there when it comes. In the other tree
 * it is a leaf and only waits for the last chunk. */
static void broadcast_nodes_relay(const struct place *p, const struct halves *h, char *dest)
{
    bool stays = false;

    for (int twin = 0; twin < SY_TWINS; twin++)
        if (broadcast_nodes_steps(h, twin))
            sy_notify_raise(&h->notify, broadcast_nodes_speaker(p, h->twin[twin].parent),
                            flag_ready(twin, h->twin[twin].which), 1);
    for (int twin = 0; twin < SY_TWINS; twin++)
        for (uint64_t step = 1, came;
             h->twin[twin].children && step <= broadcast_nodes_steps(h, twin); step = came + 1) {
            came = sy_notify_await(&h->notify, FLAG_DATA + (unsigned)twin, step);
            stays |= broadcast_nodes_send_on(p, h, twin, step, came, dest, dest);
        }
    for (int twin = 0; twin < SY_TWINS; twin++)
        if (broadcast_nodes_steps(h, twin))
            sy_notify_await(&h->notify, FLAG_DATA + (unsigned)twin, broadcast_nodes_steps(h, twin));
    if (stays)
        sy_notify_sent();
}

/* A member that exchanges nothing with other nodes reads the data, as they arrive, from the one
 * that does. */
static void broadcast_nodes_follow(const struct place *p, const struct halves *h, char *dest,
                                   const char *source, uint64_t steps)
{
    int here = broadcast_nodes_speaker(p, p->node);
    const char *from = p->node ? dest : source;

    for (uint64_t step = 1; step <= steps; step++)
        for (int twin = 0; twin < SY_TWINS; twin++) {
            size_t bytes, at = broadcast_nodes_chunk_at(h, twin, step, &bytes);
            if (!bytes)
                continue;
            sy_notify_watch(&h->notify, here, FLAG_DATA + (unsigned)twin, step);
            sy_group_pull(p->group, here, dest + at, from + at, bytes);
        }
}

static void broadcast_nodes_into_dest(const struct place *p, char *dest, const char *source,
                                      size_t length)
{
    struct halves h;
    int me = p->group->members.me;

    broadcast_nodes_plan(p, &h, length);
    uint64_t steps = broadcast_nodes_steps(&h, 0); /* the second half has no more */
    h.notify = sy_notify_open_broadcast(p->group, 0, steps, p->root);
    sy_notify_keep(&h.notify, length);
    if (me == p->root)
        broadcast_nodes_feed(p, &h, dest, source, steps);
    else if (me == broadcast_nodes_speaker(p, p->node))
        broadcast_nodes_relay(p, &h, dest);
    else
        broadcast_nodes_follow(p, &h, dest, source, steps);
    sy_group_sync_node(p->group);
}

void sy_broadcast_nodes(const struct sy_group *group, void *dest, const void *source, size_t length,
                        int root)
{
    const struct place place = broadcast_nodes_make_place(group, root);

    if (length <= broadcast_nodes_most_small(&place))
        broadcast_nodes_through_scratch(&place, dest, source, length);
    else
        broadcast_nodes_into_dest(&place, dest, source, length);
}

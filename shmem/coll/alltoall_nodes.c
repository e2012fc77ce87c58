/* All-to-all exchange on teams that are spread over nodes: see alltoall.h.
 *
 * Small blocks: the leader takes those for another node from the scratch spaces of its node's
 * members and sends them to that node's leader in one message; there each member takes its own.
 * Where many nodes share processors, leaders send in hops what goes the same way. Large blocks:
 * once all have entered, each member sends what its node has for its likes on others, those with
 * its number, or numbers that none has here. So two nodes have as many streams between them as
 * members, not the square: many streams at once lose packets. */
#include <stdlib.h>

#include "coll/alltoall.h"
#include "coll/data.h"
#include "coll/notify.h"
#include "coll/tree.h"
#include "core/fatal.h"
#include "core/memory/control.h"
#include "util/clock.h"

#define HOPS_NODES 8 /* from so many on, blocks go in hops */

/* See struct pace: between two nodes in a step, by each member at least, and ahead of what came. */
#define PORTION_BYTES ((size_t)64 << 10)
#define LEAST_BYTES   ((size_t)16 << 10)
#define AHEAD_BYTES   ((size_t)256 << 10)
#define LINE_BYTES    ((size_t)125) /* each microsecond: 1 Gbit/s */

/* Copies `count` elements from one array to another. */
static void alltoall_nodes_copy_block(char *to, ptrdiff_t to_stride, const char *from,
                                      ptrdiff_t from_stride, const struct sy_blocks *b)
{
    ptrdiff_t size = (ptrdiff_t)b->size;

    if (to_stride == size && from_stride == size) {
        sy_copy_bytes(to, from, b->size * b->count);
        return;
    }
    for (size_t i = 0; i < b->count; i++, to += to_stride, from += from_stride)
        sy_copy(to, from, b->size);
}

/* ---- small blocks ---- */

/* The scratch has three parts: a member's blocks; on a leader, for each member of the team as many
 * blocks as a node has members at most; and what it sends to one node. */
static size_t outgoing(const struct sy_nodes *nodes, size_t length)
{
    return (size_t)nodes->members * (1 + (size_t)nodes->most) * length;
}

static size_t room_for(const struct sy_nodes *nodes, size_t length)
{
    return outgoing(nodes, length) + (size_t)nodes->most * (size_t)nodes->most * length;
}

/* Where what comes from node j is in the scratch space of a node with `size` members: from each
 * member of j a block for each of these. */
static size_t alltoall_nodes_place_of(const struct sy_nodes *nodes, int j, int size, size_t length)
{
    return ((size_t)nodes->members + (size_t)sy_nodes_before(nodes, j) * (size_t)size) * length;
}

/* Copies what this node's members have for those of node j. Returns the end. */
static char *alltoall_nodes_pack(const struct sy_notify *notify, int j, size_t length, char *to)
{
    const struct sy_nodes *nodes = sy_group_nodes(notify->group);

    for (int a = 0; a < sy_group_locals(notify->group); a++) {
        const char *blocks = sy_notify_mate(notify, a);
        for (int b = 0; b < sy_nodes_size(nodes, j); b++, to += length)
            sy_copy_bytes(to, blocks + (size_t)sy_nodes_member(nodes, j, b) * length, length);
    }
    return to;
}

static void alltoall_nodes_send_to_node(const struct sy_notify *notify, int j, size_t length)
{
    const struct sy_nodes *nodes = sy_group_nodes(notify->group);
    char *packed = sy_notify_own(notify) + outgoing(nodes, length);
    char *end = alltoall_nodes_pack(notify, j, length, packed);

    sy_notify_scratch_put(
        notify, sy_nodes_member(nodes, j, 0),
        alltoall_nodes_place_of(nodes, nodes->mine, sy_nodes_size(nodes, j), length), packed,
        (size_t)(end - packed), SY_NOTIFY_COUNTER, 1);
}

static void alltoall_nodes_send_all(const struct sy_notify *notify, size_t length)
{
    const struct sy_nodes *nodes = sy_group_nodes(notify->group);

    for (int step = 1; step < nodes->count; step++)
        alltoall_nodes_send_to_node(notify, sy_nodes_after(nodes, step), length);
    sy_notify_await_count(notify, (uint64_t)nodes->count - 1);
}

/* ---- small blocks in hops ---- */

/* Where nodes share processors all messages add up, and between 512 nodes even connections take a
 * minute. So blocks go in hops, whose distances are the powers of two that a way is the sum of, all
 * blocks that take the same hop together (Bruck et al., 1997): log2(nodes) messages of half of the
 * data, to as many nodes.
 *
 * The scratch has four parts: a member's blocks; on a leader, a parcel for each node by the
 * distance that it goes, later by the distance that it came; for each hop, what arrives; and what
 * is sent. A parcel has room for the blocks between the largest nodes. */
struct parcels {
    const struct sy_nodes *nodes;
    size_t length, bytes; /* of a block, and of a parcel */
    int most;             /* parcels in a hop: at most every other one */
};

static struct parcels alltoall_nodes_parcels(const struct sy_nodes *nodes, size_t length)
{
    return (struct parcels){nodes, length, (size_t)nodes->most * (size_t)nodes->most * length,
                            nodes->count / 2};
}

static unsigned alltoall_nodes_hops(const struct sy_nodes *nodes)
{
    unsigned hops = 0;

    while (1L << hops < nodes->count)
        hops++;
    return hops;
}

static size_t alltoall_nodes_parcel_at(const struct parcels *p, int distance)
{
    return (size_t)p->nodes->members * p->length + (size_t)distance * p->bytes;
}

/* Where what arrives by a hop is; that of the hop behind the last is what this leader sends. */
static size_t alltoall_nodes_hop_at(const struct parcels *p, unsigned hop)
{
    return alltoall_nodes_parcel_at(p, p->nodes->count + (int)hop * p->most);
}

static size_t alltoall_nodes_hops_room(const struct parcels *p)
{
    return alltoall_nodes_hop_at(p, alltoall_nodes_hops(p->nodes) + 1);
}

static bool alltoall_nodes_in_hops(const struct sy_group *group, const struct parcels *p)
{
    return sy_tree_fits(p->nodes) && p->nodes->count >= HOPS_NODES &&
           alltoall_nodes_hops_room(p) <= sy_control_scratch_size(group->team->slot) / 2;
}

/* Copies the parcels of a hop from their places, or to them. Returns their number. */
static int alltoall_nodes_load(const struct parcels *p, char *own, unsigned hop, char *parcels,
                               bool back)
{
    int count = 0;

    for (int distance = 1 << hop; distance < p->nodes->count; distance++) {
        if (!(distance >> hop & 1))
            continue;
        char *here = own + alltoall_nodes_parcel_at(p, distance),
             *there = parcels + (size_t)count++ * p->bytes;
        sy_copy_bytes(back ? here : there, back ? there : here, p->bytes);
    }
    return count;
}

static void alltoall_nodes_hop(const struct sy_notify *notify, const struct parcels *p)
{
    unsigned hops = alltoall_nodes_hops(p->nodes);
    char *own = sy_notify_own(notify), *packed = own + alltoall_nodes_hop_at(p, hops);

    for (int step = 1; step < p->nodes->count; step++)
        alltoall_nodes_pack(notify, sy_nodes_after(p->nodes, step), p->length,
                            own + alltoall_nodes_parcel_at(p, step));
    for (unsigned hop = 0; hop < hops; hop++) {
        size_t at = alltoall_nodes_hop_at(p, hop);
        int to = sy_nodes_after(p->nodes, 1 << hop);
        int count = alltoall_nodes_load(p, own, hop, packed, false);
        sy_notify_scratch_put(notify, sy_nodes_member(p->nodes, to, 0), at, packed,
                              (size_t)count * p->bytes, hop, 1);
        sy_notify_await(notify, hop, 1);
        alltoall_nodes_load(p, own, hop, own + at, true);
    }
}

/* ---- all small blocks ---- */

static void alltoall_nodes_take_blocks(const struct sy_notify *notify, char *dest,
                                       const struct sy_blocks *b, const struct parcels *hops)
{
    const struct sy_group *group = notify->group;
    const struct sy_nodes *nodes = sy_group_nodes(group);
    int local = sy_group_local(group), locals = sy_group_locals(group);
    ptrdiff_t size = (ptrdiff_t)b->size;
    size_t length = b->size * b->count;

    for (int step = 0; step < nodes->count; step++) {
        int j = sy_nodes_after(nodes, step), members = sy_nodes_size(nodes, j);
        const char *came = sy_notify_mate(notify, 0) +
                           (hops ? alltoall_nodes_parcel_at(hops, nodes->count - step)
                                 : alltoall_nodes_place_of(nodes, j, locals, length));
        for (int a = 0; a < members; a++) {
            int i = sy_nodes_member(nodes, j, a);
            const char *one = step ? came + (size_t)(a * locals + local) * length
                                   : sy_notify_mate(notify, a) + (size_t)group->members.me * length;
            alltoall_nodes_copy_block(sy_block(dest, i, b->dest_stride, b->count), b->dest_stride,
                                      one, size, b);
        }
    }
}

static void alltoall_nodes_through_leaders(const struct sy_group *group, char *dest,
                                           const char *source, const struct sy_blocks *b)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    size_t length = b->size * b->count;
    struct parcels parcels = alltoall_nodes_parcels(nodes, length);
    bool hops = alltoall_nodes_in_hops(group, &parcels);
    size_t room = hops ? alltoall_nodes_hops_room(&parcels) : room_for(nodes, length);
    struct sy_notify notify = sy_notify_open(group, room, 1);

    for (int i = 0; i < group->members.size; i++)
        alltoall_nodes_copy_block(sy_notify_own(&notify) + (size_t)i * length, (ptrdiff_t)b->size,
                                  sy_block(source, i, b->source_stride, b->count), b->source_stride,
                                  b);
    sy_group_gather(group);
    if (!sy_group_local(group)) {
        if (hops)
            alltoall_nodes_hop(&notify, &parcels);
        else
            alltoall_nodes_send_all(&notify, length);
    }
    sy_group_release(group);
    alltoall_nodes_take_blocks(&notify, dest, b, hops ? &parcels : NULL);
    sy_notify_met(&notify);
}

/* ---- large blocks ---- */

/* What is sent at a time of each block: `count` elements from number `first` on. */
struct portion {
    size_t first, count;
};

static bool alltoall_nodes_contiguous(const struct sy_blocks *b)
{
    return b->dest_stride == (ptrdiff_t)b->size && b->source_stride == (ptrdiff_t)b->size;
}

/* Sends a portion of the block of a member of this node, from where it is; if that is not mapped, a
 * copy. True: it may be changed only after sy_notify_sent. */
static bool alltoall_nodes_send_portion(const struct sy_notify *notify, int from, int to,
                                        char *dest, const char *source, const struct sy_blocks *b,
                                        const struct portion *p)
{
    const struct sy_group *group = notify->group;
    ptrdiff_t size = (ptrdiff_t)b->size, stride = b->source_stride, first = (ptrdiff_t)p->first;
    size_t bytes = b->size * p->count, unit = alltoall_nodes_contiguous(b) ? bytes : b->size;
    char *there = sy_block(dest, from, b->dest_stride, b->count) + first * b->dest_stride;
    const char *block = sy_block(source, to, stride, b->count) + first * stride, *here = block;
    char *copy = NULL;
    bool stays = false;

    if (from != group->members.me && !(here = sy_group_map(group, from, block))) {
        if (!(here = copy = malloc(bytes)))
            sy_fatal("shmem_alltoall: no memory for %zu bytes", bytes);
        sy_get_strided(SHMEM_CTX_DEFAULT, copy, block, size, stride, unit, bytes / unit,
                       sy_members_pe(&group->members, from), SY_BLOCKING);
        stride = size;
    }
    if (b->dest_stride == size && stride == size) {
        stays = sy_notify_dest_start(notify, to, there, here, bytes, SY_NOTIFY_COUNTER, 1);
    } else {
        sy_put_strided(&sy_ctx_control, there, here, b->dest_stride, stride, b->size, p->count,
                       sy_members_pe(&group->members, to), SY_BLOCKING);
        sy_notify_raise(notify, to, SY_NOTIFY_COUNTER, 1);
    }
    if (copy && stays)
        sy_notify_sent();
    free(copy);
    return stays && !copy;
}

/* How far members are ahead of what they have received, and how blocks are cut. If all sent all
 * that they have at once, many streams would meet on the line of one node while others are idle,
 * and lose packets; if they waited for each block, lines would be idle between blocks. So a node's
 * members send to one node after the other, beginning with the next, a portion of each block, and
 * begin anew with the next portion. They go on to a step when all that others sent them up to so
 * many steps before has arrived. So nobody is ahead of others by more than a few portions, and what
 * meets on a line is short. What is sent leaves from where it is, so nobody waits for a
 * confirmation within a step.
 *
 * Nobody waits for ever: of all members the one that is furthest behind has got all that it waits
 * for, because the others have gone through the steps before. Portions are counted, whoever sent
 * them; that lets a member go on earlier and never later. */
struct pace {
    size_t portion;  /* elements */
    size_t portions; /* of a block */
    size_t ahead;    /* steps */
};

/* Synchronises. Returns the latency of the lines between the members, or more, in microseconds:
 * what the shortest of these synchronisations took. */
static uint32_t alltoall_nodes_sync(const struct sy_group *group)
{
    uint32_t *latency = &group->team->latency;
    uint64_t begin = sy_clock_ns(), took;

    sy_group_sync(group);
    took = (sy_clock_ns() - begin) / 1000 + 1;
    if (!*latency || took < *latency)
        *latency = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    return *latency;
}

/* Where messages are what costs, and between two nodes, blocks stay whole. Else at least as much is
 * under way as a line carries in the latency. */
static struct pace alltoall_nodes_pace(const struct sy_nodes *nodes, const struct sy_blocks *b,
                                       uint32_t latency)
{
    size_t most = (size_t)nodes->most, bytes = PORTION_BYTES / most;
    bool whole = nodes->count == 2 || sy_tree_fits(nodes);
    size_t portion = (bytes < LEAST_BYTES ? LEAST_BYTES : bytes) / b->size;
    size_t line = (size_t)latency * LINE_BYTES, under_way = line < AHEAD_BYTES ? AHEAD_BYTES : line;

    portion = whole || portion > b->count ? b->count : portion ? portion : 1;
    size_t step = most * most * portion * b->size, ahead = under_way / step;
    if (whole)
        ahead = (most == 1 ? 4 : 1) + AHEAD_BYTES / step;
    else if (ahead < 2)
        ahead = 2;
    return (struct pace){portion, (b->count + portion - 1) / portion, ahead};
}

/* Sends a portion of what this member has for its likes on node j, for all of its own node. True:
 * it may be changed only after sy_notify_sent. */
static bool alltoall_nodes_send_step(const struct sy_notify *notify, int j, char *dest,
                                     const char *source, const struct sy_blocks *b,
                                     const struct portion *p)
{
    const struct sy_group *group = notify->group;
    const struct sy_nodes *nodes = sy_group_nodes(group);
    int locals = sy_group_locals(group);
    bool stays = false;

    for (int k = sy_group_local(group); k < sy_nodes_size(nodes, j); k += locals)
        for (int i = 0; i < locals; i++)
            stays |= alltoall_nodes_send_portion(notify, sy_group_mate(group, i),
                                                 sy_nodes_member(nodes, j, k), dest, source, b, p);
    return stays;
}

static void alltoall_nodes_by_members(const struct sy_group *group, char *dest, const char *source,
                                      const struct sy_blocks *b)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    int me = group->members.me, local = sy_group_local(group), locals = sy_group_locals(group);
    size_t steps = 0, others = (size_t)nodes->count - 1;
    struct sy_blocks bytes = {1, b->size * b->count, 1, 1};
    const struct sy_blocks *sent = alltoall_nodes_contiguous(b) ? &bytes : b;
    struct pace pace = alltoall_nodes_pace(nodes, sent, alltoall_nodes_sync(group));
    uint64_t left = pace.portions * (uint64_t)(group->members.size - locals);
    struct sy_notify notify = sy_notify_open(group, 0, 1);
    bool stays = false;

    for (size_t first = 0; first < sent->count; first += pace.portion) {
        size_t count = sent->count - first < pace.portion ? sent->count - first : pace.portion;
        for (int step = 1; step < nodes->count; step++, steps++) {
            if (steps >= pace.ahead) {
                int back = 1 + (int)((steps - pace.ahead) % others);
                int from = sy_nodes_after(nodes, nodes->count - back);
                sy_notify_await_count(&notify, (uint64_t)sy_nodes_size(nodes, from));
                left -= (uint64_t)sy_nodes_size(nodes, from);
            }
            stays |= alltoall_nodes_send_step(&notify, sy_nodes_after(nodes, step), dest, source,
                                              sent, &(struct portion){first, count});
        }
    }
    for (int k = 0; k < locals; k++) {
        int i = sy_group_mate(group, (local + k) % locals);
        sy_get_strided(SHMEM_CTX_DEFAULT, sy_block(dest, i, b->dest_stride, b->count),
                       sy_block(source, me, b->source_stride, b->count), b->dest_stride,
                       b->source_stride, b->size, b->count, sy_members_pe(&group->members, i),
                       SY_BLOCKING);
    }
    sy_notify_await_count(&notify, left);
    if (stays)
        sy_notify_sent();
    sy_group_sync_node(group);
}

void sy_alltoall_nodes(const struct sy_group *group, void *dest, const void *source,
                       const struct sy_blocks *blocks)
{
    size_t length = blocks->size * blocks->count;
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct parcels parcels = alltoall_nodes_parcels(nodes, length);

    if (length <= SY_NOTIFY_SMALL &&
        (room_for(nodes, length) <= SY_NOTIFY_SMALL || alltoall_nodes_in_hops(group, &parcels)))
        alltoall_nodes_through_leaders(group, dest, source, blocks);
    else
        alltoall_nodes_by_members(group, dest, source, blocks);
}

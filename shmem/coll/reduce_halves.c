/* Reductions of much data on teams that are spread over nodes: see reduce.h. Each of as many
 * members as the smallest node has deals with a part, with its likes on all nodes. At the end each
 * of these has the result of one share of the part, and all get all shares (spread.h).
 *
 * By halves, where the nodes are a power of two: in each round two of them, at distances that
 * halve, have the same range left; each sends the half that the other keeps and combines its own:
 * log2(nodes) rounds and less than a part of data. Around a ring: in each of nodes - 1 steps a
 * member sends the share that it has combined last to the next node and combines the one that
 * comes, chunk by chunk. Where that many small messages cost more than the bytes do, as on machines
 * that nodes share, they are the square of the nodes in all.
 *
 * By halves, what comes needs room that the sender can write to. Where it fits it is scratch space.
 * Else it is the receiver's own dest, once that one has said that it takes part. Its first half
 * that comes lands where the result will be, as this PE's operand is elsewhere: in source, or in
 * memory of its own where dest is source or several members were combined. What comes later lands
 * in the half of dest that was not kept in the first round, each round behind the one before, so
 * that no member waits for room after the others have begun. Shares are so long that there is
 * enough. Around a ring each share comes once, to its own place in dest, and the operand is
 * elsewhere. So there is room for all that can be under way, and no sender waits for the receiver
 * once that one has begun: a long line is as full as a short one.
 *
 * What is sent may not be changed before it has been confirmed. The rounds change what is kept
 * alone, and a ring's steps what has not been sent. Only the results overwrite what was sent. With
 * more than two nodes their senders wait for word that the rounds are over (sy_spread's guard),
 * which is sent when all is confirmed. With two there is one round, and each result comes from the
 * member that combined what was sent to it. */
#include <stdlib.h>

#include "coll/data.h"
#include "coll/notify.h"
#include "coll/reduce.h"
#include "coll/reduce_part.h"
#include "coll/spread.h"
#include "core/fatal.h"
#include "core/memory/control.h"

enum { FLAG_ARRIVED, FLAG_READY, FLAGS }; /* of each round */
#define MOST_ROUNDS  (SY_NOTIFY_FLAGS / FLAGS)
#define CHUNK_BYTES  ((size_t)64 << 10) /* around a ring */
#define MOST_AT_ONCE ((size_t)64 << 20) /* bytes of a part: the operand may need as much memory */

/* One member's part of the arrays. */
struct part {
    const struct sy_group *group;
    const struct sy_nodes *nodes;
    struct sy_operation op;
    char *dest;
    const char *operand; /* this node's */
    size_t count;
    char *scratch; /* where what comes lands, or NULL: in dest */
};

/* Where the share of node j begins, in bytes; j is the number of nodes: the end of all. */
static size_t reduce_halves_begin(const struct part *p, int j)
{
    size_t first, end;

    if (j == p->nodes->count)
        return p->count * p->op.size;
    sy_reduce_part(p->nodes->count, p->op.size, p->count, j, &first, &end);
    return first * p->op.size;
}

/* A round: shares from `keep` on, `half` of them, are kept and as many from `give` on are sent. */
struct round {
    int half, partner, keep, give;
};

static struct round reduce_halves_round(const struct part *p, int me, int number)
{
    struct round r = {.half = p->nodes->count >> (number + 1)};

    r.partner = me ^ r.half;
    r.keep = me & ~(r.half - 1);
    r.give = r.partner & ~(r.half - 1);
    return r;
}

static size_t reduce_halves_bytes(const struct part *p, int from, int shares)
{
    return reduce_halves_begin(p, from + shares) - reduce_halves_begin(p, from);
}

/* Where what node `me` gets in a round lands in its scratch, or its dest. */
static size_t reduce_halves_landing(const struct part *p, int me, int number)
{
    struct round first = reduce_halves_round(p, me, 0);
    size_t at = p->scratch ? 0 : reduce_halves_begin(p, first.give);

    if (!p->scratch && !number)
        return reduce_halves_begin(p, first.keep);
    for (int i = p->scratch ? 0 : 1; i < number; i++) {
        struct round r = reduce_halves_round(p, me, i);
        at += reduce_halves_bytes(p, r.keep, r.half);
    }
    return at;
}

/* dest = what came and what is here, the lower node's on the left. */
static void reduce_halves_combine(const struct part *p, int number, const struct round *r)
{
    size_t at = reduce_halves_begin(p, r->keep);
    size_t count = reduce_halves_bytes(p, r->keep, r->half) / p->op.size;
    const char *came = (p->scratch ? p->scratch : p->dest) +
                       reduce_halves_landing(p, p->nodes->mine, number);
    const char *mine = (number ? p->dest : p->operand) + at;

    if (r->partner < p->nodes->mine)
        p->op.kernel(p->dest + at, came, mine, count);
    else
        p->op.kernel(p->dest + at, mine, came, count);
}

/* Sends the half that this node gives away in a round. True: it may be changed only after
 * sy_notify_sent. */
static bool reduce_halves_send(const struct part *p, const struct sy_notify *notify, int number,
                               const struct round *r)
{
    size_t to = reduce_halves_landing(p, r->partner, number);
    size_t bytes = reduce_halves_bytes(p, r->give, r->half);
    const char *from = (number ? p->dest : p->operand) + reduce_halves_begin(p, r->give);
    unsigned flag = (unsigned)number * FLAGS;
    int like = sy_group_like(p->group, r->partner);

    if (p->scratch) {
        sy_notify_scratch_put(notify, like, to, from, bytes, flag + FLAG_ARRIVED, 1);
        return false;
    }
    sy_notify_await(notify, flag + FLAG_READY, 1);
    return sy_notify_dest_start(notify, like, p->dest + to, from, bytes, flag + FLAG_ARRIVED, 1);
}

/* Goes through all rounds. True: what was sent may be changed only after sy_notify_sent. */
static bool reduce_halves_exchange(const struct part *p, const struct sy_notify *notify)
{
    int me = p->nodes->mine;
    bool stays = false;

    for (int i = 0; !p->scratch && 1 << i < p->nodes->count; i++)
        sy_notify_raise(notify, sy_group_like(p->group, reduce_halves_round(p, me, i).partner),
                        (unsigned)i * FLAGS + FLAG_READY, 1);
    for (int i = 0; 1 << i < p->nodes->count; i++) {
        struct round r = reduce_halves_round(p, me, i);
        stays |= reduce_halves_send(p, notify, i, &r);
        sy_notify_await(notify, (unsigned)i * FLAGS + FLAG_ARRIVED, 1);
        reduce_halves_combine(p, i, &r);
    }
    return stays;
}

/* ---- around a ring ---- */

/* Chunk k of what goes around, `each` of each share, from that of the node `back` places before
 * this one on: where it begins; 0: a share that is shorter has none. */
static size_t reduce_halves_chunk(const struct part *p, uint64_t back, uint64_t each, uint64_t k,
                                  size_t *at)
{
    int j = sy_nodes_after(p->nodes, p->nodes->count - (int)(back + k / each));
    size_t from = (size_t)(k % each) * CHUNK_BYTES, bytes = reduce_halves_bytes(p, j, 1);

    *at = reduce_halves_begin(p, j) + from;
    return from >= bytes ? 0 : bytes - from < CHUNK_BYTES ? bytes - from : CHUNK_BYTES;
}

/* In step s the share of the node s places before goes on to the next node, as far as it has been
 * combined; so the share of this node comes last. While a chunk is awaited others are sent, up to a
 * share ahead. True: what was sent may be changed only after sy_notify_sent. */
static bool reduce_halves_around(const struct part *p, const struct sy_notify *notify)
{
    int after = sy_group_like(p->group, sy_nodes_after(p->nodes, 1)), count = p->nodes->count;
    uint64_t each = (reduce_halves_bytes(p, 0, 1) + CHUNK_BYTES - 1) / CHUNK_BYTES;
    uint64_t all = each * (uint64_t)(count - 1), out = 0, in = 0;
    size_t at, bytes;
    bool stays = false;

    sy_notify_raise(notify, sy_group_like(p->group, sy_nodes_after(p->nodes, count - 1)),
                    FLAG_READY, 1);
    sy_notify_await(notify, FLAG_READY, 1);
    while (out < all || in < all)
        if (out < all && out < each + in && !sy_notify_arrived(notify, FLAG_ARRIVED, in + 1)) {
            bytes = reduce_halves_chunk(p, 1, each, out++, &at);
            if (bytes)
                stays |= sy_notify_dest_start(notify, after, p->dest + at,
                                              (out <= each ? p->operand : p->dest) + at, bytes,
                                              FLAG_ARRIVED, out);
        } else if ((bytes = reduce_halves_chunk(p, 2, each, in++, &at))) {
            sy_notify_await(notify, FLAG_ARRIVED, in);
            p->op.kernel(p->dest + at, p->dest + at, p->operand + at, bytes / p->op.size);
        }
    return stays;
}

/* ---- the results ---- */

static size_t reduce_halves_piece(const void *how, int node, int k, size_t *at)
{
    const struct part *p = how;

    *at = reduce_halves_begin(p, node);
    return k ? SY_SPREAD_NONE : reduce_halves_bytes(p, node, 1);
}

static void reduce_halves_spread(const struct part *p, const struct sy_notify *notify)
{
    const struct sy_spread spread = {.notify = notify,
                                     .local = sy_group_local(p->group),
                                     .dest = p->dest,
                                     .piece = reduce_halves_piece,
                                     .how = p,
                                     .total = p->count * p->op.size * (size_t)p->nodes->least,
                                     .guarded = p->nodes->count > 2};

    sy_spread_enter(&spread);
    sy_spread_exchange(&spread);
    for (int k = 0; k < sy_group_locals(p->group); k++)
        if (k != sy_group_local(p->group))
            sy_data_push(p->group, sy_group_mate(p->group, k), p->dest, p->dest,
                         p->count * p->op.size);
    sy_data_pushed();
}

/* Combines the members' operands of this node, in memory of their own where source cannot stay. */
static char *reduce_halves_make_operand(struct part *p, const char *source)
{
    size_t length = p->count * p->op.size;

    p->operand = source;
    if (!p->count || (sy_group_locals(p->group) == 1 && (source != p->dest || p->scratch)))
        return NULL;
    char *own = malloc(length);
    if (!own)
        sy_fatal("a reduction: no memory for %zu bytes", length);
    sy_reduce_own(p->group, p->op, own, source, p->count);
    p->operand = own;
    return own;
}

/* Bytes of scratch that what comes to any member needs; 0: it lands in dest. */
static size_t reduce_halves_room(const struct part *p, size_t count)
{
    struct part longest = *p;
    size_t first, end, bytes;

    sy_reduce_part(p->nodes->least, p->op.size, count, 0, &first, &end);
    longest.count = end - first;
    bytes = (size_t)(p->nodes->count - 1) * reduce_halves_bytes(&longest, 0, 1);
    return bytes <= SY_NOTIFY_SMALL ? bytes : 0;
}

/* Between the synchronisations of the node: sources are ready; results are where they belong. The
 * spread is a collective of its own, for its flags; nobody ends the first before all have begun it.
 */
static void reduce_halves_at_once(const struct sy_group *group, struct sy_operation op, char *dest,
                                  const char *source, size_t count, bool around)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct part p = {.group = group, .nodes = nodes, .op = op};
    size_t room = around ? 0 : reduce_halves_room(&p, count);
    uint64_t steps = 2 * (uint64_t)nodes->count + count * op.size / CHUNK_BYTES;
    struct sy_notify halves = sy_notify_open(group, room, steps), whole;
    int local = sy_group_local(group);
    size_t first = 0, end = 0;
    bool stays = false;

    if (local < nodes->least)
        sy_reduce_part(nodes->least, op.size, count, local, &first, &end);
    p.dest = dest + first * op.size;
    p.count = end - first;
    p.scratch = room ? sy_notify_own(&halves) : NULL;
    sy_group_sync_node(group);
    char *own = reduce_halves_make_operand(&p, source + first * op.size);
    if (p.count)
        stays = around ? reduce_halves_around(&p, &halves) : reduce_halves_exchange(&p, &halves);
    if (stays && nodes->count > 2)
        sy_notify_sent();
    whole = sy_notify_open(group, 0, sy_spread_steps((size_t)nodes->count, count * op.size));
    if (p.count)
        reduce_halves_spread(&p, &whole);
    if (stays && nodes->count == 2)
        sy_notify_sent();
    free(own);
    sy_group_sync_node(group);
    sy_notify_met(&halves);
}

void sy_reduce_large_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                           const char *source, size_t count)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    size_t most = MOST_AT_ONCE / op.size * (size_t)nodes->least;

    for (size_t at = 0; at < count; at += most) {
        size_t n = count - at < most ? count - at : most, offset = at * op.size;
        reduce_halves_at_once(group, op, dest + offset, source + offset, n,
                              !sy_reduce_halves_fit(nodes, op, n));
    }
}

bool sy_reduce_halves_fit(const struct sy_nodes *nodes, struct sy_operation op, size_t count)
{
    size_t all = (size_t)nodes->count, first, end;

    if ((all & (all - 1)) || all >> MOST_ROUNDS)
        return false;
    if (all > 2 && count * op.size / all >= SY_STEADY_BYTES)
        return false;
    sy_reduce_part(nodes->least, op.size, count, nodes->least - 1, &first, &end); /* the shortest */
    return (end - first) * op.size >= all * all * SY_LINE;
}

/* Scans on teams that are spread over nodes: see scan.h. Arrays are scanned piece by piece.
 *
 * Where the team's order is that of the nodes, the leaders combine the operands of all nodes before
 * theirs, in rounds whose distance doubles. Each member then adds the operands of the members
 * before it on its node, which it reads from their scratch spaces. In other teams each member acts
 * as a leader, as if it were alone on its node. */
#include "coll/data.h"
#include "coll/notify.h"
#include "coll/scan.h"

/* Parts of the scratch space: a member's operand; the combination over this party and some before
 * it; the combination over all parties before it; and one part for each round, for what arrives. */
enum { PART_OWN, PART_WITH, PART_BEFORE, PART_ROUND };

#define MOST_PIECE ((size_t)16384)

/* The parties of the rounds: the nodes' leaders, or all members. */
struct parties {
    int count, me;
    int rounds;
    bool nodes;
};

static struct parties scan_nodes_make_parties(const struct sy_group *group)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct parties p = {.nodes = nodes->ordered,
                        .count = nodes->ordered ? nodes->count : group->members.size,
                        .me = nodes->ordered ? nodes->mine : group->members.me};

    while (1L << p.rounds < p.count)
        p.rounds++;
    return p;
}

/* One piece of the arrays, as it is scanned. */
struct piece {
    struct sy_notify notify;
    struct sy_operation op;
    size_t count, length, part;
    char *scratch; /* of this PE's node's leader, or its own */
};

static char *scan_nodes_part(const struct piece *p, int i)
{
    return p->scratch + (size_t)i * p->part;
}

static void scan_nodes_send_with(const struct piece *p, const struct parties *parties, int to,
                                 int round)
{
    int member = parties->nodes ? sy_nodes_member(sy_group_nodes(p->notify.group), to, 0) : to;

    sy_notify_scratch_put(&p->notify, member, (size_t)(PART_ROUND + round) * p->part,
                          scan_nodes_part(p, PART_WITH), p->length, (unsigned)round, 1);
}

static void scan_nodes_exchange(const struct piece *p, const struct parties *parties)
{
    for (int round = 0; round < parties->rounds; round++) {
        long distance = 1L << round;
        const char *came = scan_nodes_part(p, PART_ROUND + round);
        if (parties->me + distance < parties->count)
            scan_nodes_send_with(p, parties, (int)(parties->me + distance), round);
        if (parties->me < distance)
            continue;
        sy_notify_await(&p->notify, (unsigned)round, 1);
        if (round)
            p->op.kernel(scan_nodes_part(p, PART_BEFORE), came, scan_nodes_part(p, PART_BEFORE),
                         p->count);
        else
            memcpy(scan_nodes_part(p, PART_BEFORE), came, p->length);
        p->op.kernel(scan_nodes_part(p, PART_WITH), came, scan_nodes_part(p, PART_WITH), p->count);
    }
}

/* Adds an operand to dest, or copies it there where `some` is false: dest has no value yet. */
static bool scan_nodes_add(const struct piece *p, char *dest, bool some, const void *operand)
{
    if (some)
        p->op.kernel(dest, dest, operand, p->count);
    else
        sy_copy_bytes(dest, operand, p->length);
    return true;
}

static void scan_nodes_finish(const struct piece *p, const struct parties *parties, char *dest,
                              bool inclusive)
{
    const struct sy_group *group = p->notify.group;
    int end = sy_group_local(group) + inclusive;
    bool some = parties->me && scan_nodes_add(p, dest, false, scan_nodes_part(p, PART_BEFORE));

    for (int k = 0; k < end; k++)
        some = scan_nodes_add(p, dest, some, sy_notify_mate(&p->notify, k) + PART_OWN * p->part);
    if (!some)
        memset(dest, 0, p->length);
}

/* Scans one piece, on a team in the nodes' order. */
static void scan_nodes(const struct piece *p, const struct parties *parties, char *dest,
                       const char *source, bool inclusive)
{
    const struct sy_group *group = p->notify.group;

    sy_copy_bytes(sy_notify_own(&p->notify) + PART_OWN * p->part, source, p->length);
    sy_group_gather(group);
    if (!sy_group_local(group)) {
        sy_reduce_scratch(&p->notify, PART_OWN * p->part, p->op, scan_nodes_part(p, PART_WITH),
                          p->count);
        scan_nodes_exchange(p, parties);
    }
    sy_group_release(group);
    scan_nodes_finish(p, parties, dest, inclusive);
}

/* Scans one piece, on any other team. */
static void scan_members(const struct piece *p, const struct parties *parties, char *dest,
                         const char *source, bool inclusive)
{
    sy_copy_bytes(scan_nodes_part(p, PART_WITH), source, p->length);
    scan_nodes_exchange(p, parties);
    if (inclusive)
        sy_copy_bytes(dest, scan_nodes_part(p, PART_WITH), p->length);
    else if (parties->me)
        sy_copy_bytes(dest, scan_nodes_part(p, PART_BEFORE), p->length);
    else
        memset(dest, 0, p->length);
}

static void scan_nodes_piece(const struct sy_group *group, const struct parties *parties,
                             struct sy_operation op, char *dest, const char *source, size_t count,
                             bool inclusive)
{
    struct piece p = {.op = op, .count = count, .length = count * op.size};

    p.part = sy_round_up(p.length, SY_LINE);
    p.notify = sy_notify_open(group, (size_t)(PART_ROUND + parties->rounds) * p.part, 1);
    p.scratch = parties->nodes ? sy_notify_mate(&p.notify, 0) : sy_notify_own(&p.notify);
    if (parties->nodes)
        scan_nodes(&p, parties, dest, source, inclusive);
    else
        scan_members(&p, parties, dest, source, inclusive);
}

void sy_scan_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                   const char *source, size_t count, bool inclusive)
{
    struct parties parties = scan_nodes_make_parties(group);
    size_t most = sy_notify_room(group) / (size_t)(PART_ROUND + parties.rounds);

    most = most < MOST_PIECE ? most : MOST_PIECE;
    size_t piece = most / SY_LINE * SY_LINE / op.size;
    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        scan_nodes_piece(group, &parties, op, dest + offset, source + offset, n, inclusive);
    }
}

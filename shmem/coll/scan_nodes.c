/* Scans on teams that are spread over nodes: see scan.h. Arrays go in pieces.
 *
 * Where the team's order is that of the nodes, the leaders find out, in rounds with distances that
 * double, what all nodes before theirs have together; each member adds what it finds in the rooms
 * of those before it on its node. In other teams all members do what leaders do, as if each were on
 * a node of its own. */
#include "coll/data.h"
#include "coll/post.h"
#include "coll/scan.h"

/* In the room: a member's operand; the combination over the parties from some before on, with this
 * one; that over the parties before it; and what comes in the rounds. */
enum { BOX_OWN, BOX_WITH, BOX_BEFORE, BOX_ROUND };

#define MOST_PIECE ((size_t)8192) /* more would leave the first cache */

/* Who takes part in the rounds: a node's leader, or a member. */
struct parties {
    int count, me;
    int rounds;
    bool nodes;
};

static struct parties make_parties(const struct sy_group *group)
{
    const struct sy_nodes *nodes = sy_group_nodes(group);
    struct parties p = {.nodes = nodes->ordered,
                        .count = nodes->ordered ? nodes->count : group->members.size,
                        .me = nodes->ordered ? nodes->mine : group->members.me};

    while (1L << p.rounds < p.count)
        p.rounds++;
    return p;
}

/* One piece. */
struct piece {
    struct sy_post post;
    struct sy_operation op;
    size_t count, length, box;
    char *room; /* of this PE's node's leader, or its own */
};

static char *box(const struct piece *p, int i)
{
    return p->room + (size_t)i * p->box;
}

static void send_with(const struct piece *p, const struct parties *parties, int to, int round)
{
    int member = parties->nodes ? sy_nodes_member(sy_group_nodes(p->post.group), to, 0) : to;

    sy_post_room_put(&p->post, member, (size_t)(BOX_ROUND + round) * p->box, box(p, BOX_WITH),
                     p->length, (unsigned)round, 1);
}

static void exchange(const struct piece *p, const struct parties *parties)
{
    for (int round = 0; round < parties->rounds; round++) {
        long distance = 1L << round;
        const char *came = box(p, BOX_ROUND + round);
        if (parties->me + distance < parties->count)
            send_with(p, parties, (int)(parties->me + distance), round);
        if (parties->me < distance)
            continue;
        sy_post_await(&p->post, (unsigned)round, 1);
        if (round)
            p->op.kernel(box(p, BOX_BEFORE), came, box(p, BOX_BEFORE), p->count);
        else
            memcpy(box(p, BOX_BEFORE), came, p->length);
        p->op.kernel(box(p, BOX_WITH), came, box(p, BOX_WITH), p->count);
    }
}

/* Adds an operand to what dest has, if it has something. */
static bool add(const struct piece *p, char *dest, bool some, const void *operand)
{
    if (some)
        p->op.kernel(dest, dest, operand, p->count);
    else
        memcpy(dest, operand, p->length);
    return true;
}

static void finish(const struct piece *p, const struct parties *parties, char *dest, bool inclusive)
{
    const struct sy_group *group = p->post.group;
    int end = sy_group_local(group) + inclusive;
    bool some = parties->me && add(p, dest, false, box(p, BOX_BEFORE));

    for (int k = 0; k < end; k++)
        some = add(p, dest, some, sy_post_mate(&p->post, k) + BOX_OWN * p->box);
    if (!some)
        memset(dest, 0, p->length);
}

/* Of a team in the nodes' order. */
static void scan_nodes(const struct piece *p, const struct parties *parties, char *dest,
                       const char *source, bool inclusive)
{
    const struct sy_group *group = p->post.group;

    memcpy(sy_post_own(&p->post) + BOX_OWN * p->box, source, p->length);
    sy_group_gather(group);
    if (!sy_group_local(group)) {
        sy_reduce_rooms(&p->post, BOX_OWN * p->box, p->op, box(p, BOX_WITH), p->count);
        exchange(p, parties);
    }
    sy_group_release(group);
    finish(p, parties, dest, inclusive);
}

/* Of any other. */
static void scan_members(const struct piece *p, const struct parties *parties, char *dest,
                         const char *source, bool inclusive)
{
    memcpy(box(p, BOX_WITH), source, p->length);
    exchange(p, parties);
    if (inclusive)
        memcpy(dest, box(p, BOX_WITH), p->length);
    else if (parties->me)
        memcpy(dest, box(p, BOX_BEFORE), p->length);
    else
        memset(dest, 0, p->length);
}

static void scan_piece(const struct sy_group *group, const struct parties *parties,
                       struct sy_operation op, char *dest, const char *source, size_t count,
                       bool inclusive)
{
    struct piece p = {.op = op, .count = count, .length = count * op.size};

    p.box = sy_round_up(p.length, SY_LINE);
    p.post = sy_post_open(group, (size_t)(BOX_ROUND + parties->rounds) * p.box, 1);
    p.room = parties->nodes ? sy_post_mate(&p.post, 0) : sy_post_own(&p.post);
    if (parties->nodes)
        scan_nodes(&p, parties, dest, source, inclusive);
    else
        scan_members(&p, parties, dest, source, inclusive);
}

void sy_scan_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                   const char *source, size_t count, bool inclusive)
{
    struct parties parties = make_parties(group);
    size_t most = SY_POST_SMALL / (size_t)(BOX_ROUND + parties.rounds);

    most = most < MOST_PIECE ? most : MOST_PIECE;
    size_t piece = most / SY_LINE * SY_LINE / op.size;
    for (size_t at = 0; at < count; at += piece) {
        size_t n = count - at < piece ? count - at : piece, offset = at * op.size;
        scan_piece(group, &parties, op, dest + offset, source + offset, n, inclusive);
    }
}

/* See team.h. Two reductions over the parent: which slots are free on each PE, of which all take
 * the same; then, with that slot, from which values its counters go on, whether every PE has got
 * memory, and whether the slot was still free.
 *
 * It may not be: threads may make teams of different parents at once, and on different PEs
 * different ones may be first to claim a slot. Then all members of the parent try again with
 * another one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/reduce.h"
#include "coll/team.h"
#include "core/ctx.h"
#include "core/start/world.h"

/* A PE's state of its part of the chosen slot, and, as maxima, the state of all PEs. In a part that
 * this PE has claimed no PE writes now: the team that had it before was ended by all its members,
 * and a member ends a team after its last store there. */
struct standing {
    uint64_t not_ready;   /* has no memory for the team */
    uint64_t not_claimed; /* has not got the slot for it, which only members need */
    uint64_t syncs;       /* the most that `arrived` or `released` is */
    uint64_t stamp;
};

#define MOST_ATTEMPTS 100

/* The first slot of a bit map from `from` on, in a circle, or -1. */
static int coll_team_next_slot(const uint64_t *map, unsigned words, unsigned from)
{
    for (unsigned i = 0; i < words * 64; i++) {
        unsigned slot = (from + i) % (words * 64);
        if (map[slot / 64] >> slot % 64 & 1)
            return (int)slot;
    }
    return -1;
}

/* First reduction: a slot that is free on all members of the parent, or -1. The lowest, so that
 * little memory is in use; after a vain attempt one from somewhere else, where those that were in
 * the way are not likely to look: their parents, whose teams exist at the same time, have other
 * slots. */
static int coll_team_choose_slot(const struct sy_group *parent, unsigned attempt)
{
    const struct sy_operation all = {SY_BITWISE_KERNEL(and, uint64_t), sizeof(uint64_t)};
    const uint64_t trial[] = {parent->team->slot, attempt};
    unsigned words = sy_team_slot_words();
    uint64_t map[SY_TEAM_WORDS_MAX];

    sy_team_free_slots(map);
    sy_reduce_few(parent, all, map, map, words);
    uint64_t from = attempt ? sy_hash(trial, sizeof trial, 0) : 0;
    return coll_team_next_slot(map, words, (unsigned)(from % (words * 64)));
}

/* This PE's part of a slot. Where it has claimed it, it also says where its groups' counters stand,
 * which others of its node read once they have the team. */
static struct standing coll_team_stand(unsigned slot, bool claimed)
{
    struct sy_control_team *mine = sy_control_of(sy_world.pe, slot);
    struct standing s = {.syncs = mine->arrived.value, .stamp = mine->stamp.value};

    if (s.syncs < mine->released.value)
        s.syncs = mine->released.value;
    for (int level = 0; claimed && level < SY_SYNC_LEVELS; level++)
        mine->gathered[level].base = mine->gathered[level].value;
    return s;
}

/* Second reduction: what all PEs together say. */
static struct standing coll_team_settle(const struct sy_group *parent, struct standing mine)
{
    const struct sy_operation most = {SY_COMPARE_KERNEL(max, uint64_t), sizeof(uint64_t)};

    sy_reduce_few(parent, most, &mine, &mine, sizeof mine / sizeof(uint64_t));
    return mine;
}

/* Finds a slot for the team, which is NULL where there is no memory for it. Returns the same on all
 * PEs. */
static int coll_team_take_slot(const struct sy_group *parent, struct sy_team *team)
{
    bool member = team && team->members.me >= 0;

    for (unsigned attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        int slot = coll_team_choose_slot(parent, attempt);
        if (slot < 0)
            return -ENOSPC;
        bool claimed = member && sy_team_claim((unsigned)slot);
        struct standing my = coll_team_stand((unsigned)slot, claimed);
        my.not_ready = team == NULL;
        my.not_claimed = member && !claimed;
        struct standing all = coll_team_settle(parent, my);
        if (!all.not_ready && !all.not_claimed) {
            team->slot = (unsigned)slot;
            team->syncs = team->since = all.syncs;
            team->stamp = all.stamp;
            return 0;
        }
        if (claimed)
            sy_team_disclaim((unsigned)slot);
        if (all.not_ready)
            return -ENOMEM;
    }
    return -ENOSPC;
}

int sy_team_create(struct sy_team *parent, int start, int stride, int size, int num_contexts,
                   struct sy_team **made)
{
    struct sy_group group = sy_group_of_team(parent);
    const struct sy_members *from = &parent->members;
    struct sy_team *team = calloc(1, sizeof *team);

    *made = NULL;
    if (team) {
        team->members = (struct sy_members){.table = from->table,
                                            .start = from->start + start * from->stride,
                                            .stride = from->stride * stride,
                                            .size = size};
        team->num_contexts = num_contexts;
        if (sy_team_settle(team)) {
            sy_team_free(team);
            team = NULL;
        }
    }
    int rc = coll_team_take_slot(&group, team);
    if (rc || team->members.me < 0) {
        sy_team_free(team);
        return rc;
    }
    sy_team_enter(team);
    *made = team;
    return 0;
}

void sy_team_destroy(struct sy_team *team)
{
    struct sy_group group = sy_group_of_team(team);

    sy_ctx_destroy_all(team);
    sy_group_sync(&group);
    sy_team_leave(team);
}

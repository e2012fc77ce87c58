/* See team.h. Two exchanges through the parent's small buffers: which slots are free on each PE, of
 * which all take the same; then, with that slot, from which values its counters go on, whether
 * every PE has got memory, and whether the slot was still free.
 *
 * It may not be: threads may make teams of different parents at once, and on different PEs
 * different ones may be first to claim a slot. Then all members of the parent try again with
 * another one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/group.h"
#include "coll/team.h"
#include "core/ctx.h"
#include "core/world.h"

/* What a PE says of its part of the chosen slot. Where it is claimed nobody writes there now: the
 * team that had it before was ended by all its members, and a member ends a team after its last
 * word in it. */
struct standing {
    uint64_t syncs; /* the most that `arrived` or `released` is */
    uint32_t gathered[SY_SYNC_LEVELS];
    bool ready;   /* has memory for the team */
    bool claimed; /* has the slot for it, or needs none since it is no member */
};

#define MOST_ATTEMPTS 100

/* The first slot of a bit map from `from` on, in a circle, or -1. */
static int next_slot(const uint64_t *map, unsigned words, unsigned from)
{
    for (unsigned i = 0; i < words * 64; i++) {
        unsigned slot = (from + i) % (words * 64);
        if (map[slot / 64] >> slot % 64 & 1)
            return (int)slot;
    }
    return -1;
}

/* First exchange: a slot that is free on all members of the parent, or -1. The lowest, so that
 * little memory is in use; after a vain attempt one from somewhere else, where those that were in
 * the way are not likely to look: their parents, whose teams exist at the same time, have other
 * slots. */
static int choose_slot(const struct sy_group *parent, unsigned attempt)
{
    const uint64_t trial[] = {parent->team->slot, attempt};
    unsigned words = sy_team_slot_words();
    uint64_t *mine = sy_group_slot(parent), common[SY_TEAM_WORDS_MAX], room[SY_TEAM_WORDS_MAX];

    sy_team_free_slots(mine);
    sy_group_sync(parent);
    memset(common, 0xff, sizeof common);
    for (int i = 0; i < parent->members.size; i++) {
        const uint64_t *theirs = sy_group_read_slot(parent, i, 0, words * sizeof *room, room);
        for (unsigned w = 0; w < words; w++)
            common[w] &= theirs[w];
    }
    sy_group_slot_done(parent);
    uint64_t from = attempt ? sy_hash(trial, sizeof trial, 0) : 0;
    return next_slot(common, words, (unsigned)(from % (words * 64)));
}

/* This PE's part of a slot as it stands. */
static struct standing stand(unsigned slot)
{
    const struct sy_control_team *mine = sy_control_of(sy_world.pe, slot);
    struct standing s = {.syncs = mine->arrived.value};

    if (s.syncs < mine->released.value)
        s.syncs = mine->released.value;
    for (int level = 0; level < SY_SYNC_LEVELS; level++)
        s.gathered[level] = (uint32_t)mine->gathered[level].value;
    return s;
}

/* Takes from a member's standing what concerns the new team: its groups' counters are with the
 * first member of each group. */
static void adopt(struct sy_team *team, int pe, const struct standing *s)
{
    int index = sy_members_find(&team->members, pe), me = team->members.me;

    if (index < 0 || me < 0)
        return;
    for (int level = 0, span = SY_SYNC_GROUP; level < SY_SYNC_LEVELS;
         level++, span *= SY_SYNC_GROUP)
        if (index == me / span * span)
            team->gathered_base[level] = s->gathered[level];
}

/* Second exchange. Says what all PEs together are: ready, and in possession of the slot; fills in
 * the team's beginnings. */
static struct standing settle(const struct sy_group *parent, struct standing my,
                              struct sy_team *team)
{
    struct standing *mine = sy_group_slot(parent), room;
    struct standing all = {.ready = true, .claimed = true};

    *mine = my;
    sy_group_sync(parent);
    for (int i = 0; i < parent->members.size; i++) {
        const struct standing *s = sy_group_read_slot(parent, i, 0, sizeof room, &room);
        all.ready = all.ready && s->ready;
        all.claimed = all.claimed && s->claimed;
        if (all.syncs < s->syncs)
            all.syncs = s->syncs;
        if (team)
            adopt(team, sy_members_pe(&parent->members, i), s);
    }
    sy_group_slot_done(parent);
    if (team)
        team->syncs = team->since = all.syncs;
    return all;
}

/* Finds a slot for the team, which is NULL where there is no memory for it. Returns the same on all
 * PEs. */
static int take_slot(const struct sy_group *parent, struct sy_team *team)
{
    bool member = team && team->members.me >= 0;

    for (unsigned attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        int slot = choose_slot(parent, attempt);
        if (slot < 0)
            return -ENOSPC;
        bool claimed = member && sy_team_claim((unsigned)slot);
        struct standing my = stand((unsigned)slot);
        my.ready = team != NULL;
        my.claimed = claimed || !member;
        struct standing all = settle(parent, my, team);
        if (all.ready && all.claimed) {
            team->slot = (unsigned)slot;
            return 0;
        }
        if (claimed)
            sy_team_disclaim((unsigned)slot);
        if (!all.ready)
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
        sy_team_settle(team);
    }
    int rc = take_slot(&group, team);
    if (rc || team->members.me < 0) {
        free(team);
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

/* See team.h. Two exchanges through the parent's small buffers: which slots are free on each PE, of which
 * all take the lowest that is free everywhere; then, with that slot, from which values its counters go on
 * and whether every PE has got memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/group.h"
#include "coll/team.h"
#include "core/ctx.h"
#include "core/world.h"

/* What a PE says of its part of the chosen slot. Nobody writes there now: the team that had it before was
 * ended by all its members, and a member ends a team after its last word in it. */
struct standing {
    uint64_t syncs; /* the most that `arrived` or `released` is */
    uint32_t gathered[SY_SYNC_LEVELS];
    uint32_t ready; /* has memory for the team */
};

/* First exchange: the lowest slot that is free on all members of the parent, or -1. */
static int choose_slot(const struct sy_group *parent)
{
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
    for (unsigned w = 0; w < words; w++)
        if (common[w])
            return (int)(w * 64) + __builtin_ctzll(common[w]);
    return -1;
}

/* This PE's part of a slot as it stands. */
static struct standing stand(unsigned slot, bool ready)
{
    const struct sy_control_team *mine = sy_control_of(sy_world.pe, slot);
    struct standing s = {.syncs = mine->arrived.value, .ready = ready};

    if (s.syncs < mine->released.value)
        s.syncs = mine->released.value;
    for (int level = 0; level < SY_SYNC_LEVELS; level++)
        s.gathered[level] = (uint32_t)mine->gathered[level].value;
    return s;
}

/* Takes from a member's standing what concerns the new team: its groups' counters are with the first
 * member of each group. */
static void adopt(struct sy_team *team, int pe, const struct standing *s)
{
    int index = sy_members_find(&team->members, pe), me = team->members.me;

    if (index < 0 || me < 0)
        return;
    for (int level = 0, span = SY_SYNC_GROUP; level < SY_SYNC_LEVELS; level++, span *= SY_SYNC_GROUP)
        if (index == me / span * span)
            team->gathered_base[level] = s->gathered[level];
}

/* Second exchange. Returns whether all are ready; fills in the team's beginnings. */
static bool settle(const struct sy_group *parent, unsigned slot, struct sy_team *team)
{
    struct standing *mine = sy_group_slot(parent), room;
    uint64_t syncs = 0;
    bool ready = true;

    *mine = stand(slot, team != NULL);
    sy_group_sync(parent);
    for (int i = 0; i < parent->members.size; i++) {
        const struct standing *s = sy_group_read_slot(parent, i, 0, sizeof room, &room);
        ready = ready && s->ready;
        if (syncs < s->syncs)
            syncs = s->syncs;
        if (team)
            adopt(team, sy_members_pe(&parent->members, i), s);
    }
    sy_group_slot_done(parent);
    if (team)
        team->syncs = team->since = syncs;
    return ready;
}

int sy_team_create(struct sy_team *parent, int start, int stride, int size, int num_contexts,
                   struct sy_team **made)
{
    struct sy_group group = sy_group_of_team(parent);
    const struct sy_members *from = &parent->members;

    *made = NULL;
    int slot = choose_slot(&group);
    if (slot < 0)
        return -ENOSPC;
    struct sy_team *team = calloc(1, sizeof *team);
    if (team) {
        team->members = (struct sy_members){.table = from->table,
                                            .start = from->start + start * from->stride,
                                            .stride = from->stride * stride,
                                            .size = size};
        team->num_contexts = num_contexts;
        team->slot = (unsigned)slot;
        sy_team_settle(team);
    }
    if (!settle(&group, (unsigned)slot, team)) {
        free(team);
        return -ENOMEM;
    }
    if (team->members.me < 0) {
        free(team);
        return 0;
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

/* See team.h. Two reductions over the parent, or over the PEs that make the team: which slots are
 * free on each PE, of which all take the same; then, with that slot, from which values its counters
 * go on, whether every PE has got memory, and whether the slot was still free. It may not be:
 * threads may make teams of different parents at once, and on different PEs different ones may be
 * first to claim a slot. Then all members of the parent try again with another one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/check.h"
#include "coll/notify.h"
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

/* First reduction: a slot that is free on all who agree, or -1. The lowest, so that little memory
 * is in use; after a vain attempt one from somewhere else, where those that were in the way are not
 * likely to look: their parents, whose teams exist at the same time, have other slots. */
static int coll_team_choose_slot(const struct sy_agreement *agreement, unsigned attempt)
{
    const uint64_t trial[] = {agreement->salt, attempt};
    unsigned words = sy_team_slot_words();
    uint64_t map[SY_TEAM_WORDS_MAX];

    sy_team_free_slots(map);
    agreement->all(agreement->who, map, words);
    uint64_t from = attempt ? sy_hash(trial, sizeof trial, 0) : 0;
    return coll_team_next_slot(map, words, (unsigned)(from % (words * 64)));
}

/* What this PE says of its part of a slot. If it has claimed the slot it also notes where its
 * groups' counters stand, which others of its node read once they have the team. */
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

/* Finds a slot for the team, which is NULL where there is no memory for it. Returns the same on all
 * PEs. */
static int coll_team_take_slot(const struct sy_agreement *agreement, struct sy_team *team)
{
    bool member = team && team->members.me >= 0;

    for (unsigned attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
        int slot = coll_team_choose_slot(agreement, attempt);
        if (slot < 0)
            return -ENOSPC;
        bool claimed = member && sy_team_claim((unsigned)slot);
        struct standing all = coll_team_stand((unsigned)slot, claimed);
        all.not_ready = team == NULL;
        all.not_claimed = member && !claimed;
        agreement->most(agreement->who, (uint64_t *)&all, sizeof all / sizeof(uint64_t));
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

/* ---- agreement over a team ---- */

static void coll_team_all(void *who, uint64_t *words, unsigned count)
{
    struct sy_group group = sy_group_of_team(who);

    sy_reduce_few(&group, (struct sy_operation){SY_BITWISE_KERNEL(and, uint64_t), sizeof *words},
                  words, words, count);
}

static void coll_team_most(void *who, uint64_t *words, unsigned count)
{
    struct sy_group group = sy_group_of_team(who);

    sy_reduce_few(&group, (struct sy_operation){SY_COMPARE_KERNEL(max, uint64_t), sizeof *words},
                  words, words, count);
}

struct sy_agreement sy_agreement_of_team(struct sy_team *team)
{
    return (struct sy_agreement){coll_team_all, coll_team_most, team, team->slot};
}

/* ---- making and ending ---- */

/* Describes members by a rule, or by a table that the team gets. */
static int coll_team_list(struct sy_team *team, const int *pe, int size)
{
    struct sy_members even = {.start = pe[0], .stride = size > 1 ? pe[1] - pe[0] : 1, .size = size};

    team->members = even;
    for (int i = 0; i < size; i++)
        if (pe[i] != sy_members_pe(&even, i)) {
            team->list = malloc((size_t)size * sizeof *pe);
            if (!team->list)
                return -ENOMEM;
            memcpy(team->list, pe, (size_t)size * sizeof *pe);
            team->members = (struct sy_members){.table = team->list, .stride = 1, .size = size};
            return 0;
        }
    return 0;
}

/* Describes the members that a parent's triplet names. A table is shared only where it is the
 * node's, since the parent may end first. */
static int coll_team_part(struct sy_team *team, const struct sy_team *parent, int start, int stride,
                          int size)
{
    const struct sy_members *from = &parent->members;
    struct sy_members part = {.table = from->table,
                              .start = from->start + start * from->stride,
                              .stride = from->stride * stride,
                              .size = size};
    int *pe = NULL, rc = 0;

    team->members = part;
    if (!parent->list)
        return 0;
    pe = malloc((size_t)size * sizeof *pe);
    for (int i = 0; pe && i < size; i++)
        pe[i] = sy_members_pe(&part, i);
    rc = pe ? coll_team_list(team, pe, size) : -ENOMEM;
    free(pe);
    return rc;
}

/* Takes a slot for the team and enters it; `rc` says whether it has its members. */
static int coll_team_finish(const struct sy_agreement *agreement, struct sy_team *team, int rc,
                            struct sy_team **made)
{
    if (team && (rc || sy_team_settle(team))) {
        sy_team_free(team);
        team = NULL;
    }
    *made = NULL;
    rc = coll_team_take_slot(agreement, team);
    if (rc || team->members.me < 0) {
        sy_team_free(team);
        return rc;
    }
    sy_team_enter(team);
    *made = team;
    return 0;
}

int sy_team_create(struct sy_team *parent, int start, int stride, int size, int num_contexts,
                   struct sy_team **made)
{
    struct sy_agreement agreement = sy_agreement_of_team(parent);
    struct sy_group group = sy_group_of_team(parent);
    struct sy_team *team = calloc(1, sizeof *team);
    int rc = team ? coll_team_part(team, parent, start, stride, size) : 0;

    if (SY_UNLIKELY(sy_config.check))
        sy_coll_check(&group, (struct sy_coll_call){.routine = SY_COLL_SPLIT});
    if (team) {
        team->num_contexts = num_contexts;
        team->origin = parent->origin;
    }
    return coll_team_finish(&agreement, team, rc, made);
}

int sy_team_create_list(const struct sy_agreement *agreement, const int *pe, int size,
                        unsigned origin, struct sy_team **made)
{
    struct sy_team *team = calloc(1, sizeof *team);
    int rc = team ? coll_team_list(team, pe, size) : 0;

    if (team) {
        team->origin = origin;
        team->first = origin != 0;
    }
    return coll_team_finish(agreement, team, rc, made);
}

void sy_team_end(struct sy_team *team)
{
    struct sy_group group = sy_group_of_team(team);

    sy_notify_settle(&group);
}

void sy_team_destroy(struct sy_team *team)
{
    struct sy_group group = sy_group_of_team(team);

    sy_ctx_destroy_all(team);
    sy_group_sync(&group);
    sy_team_end(team);
    sy_team_leave(team);
}

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/callsite.h"
#include "core/fatal.h"
#include "core/start/config.h"
#include "core/team.h"
#include "core/start/world.h"
#include "util/error.h"

#define PREDEFINED 2

_Static_assert(SY_TEAMS_MOST + PREDEFINED <= SY_CONTROL_TEAMS_MAX, "no room for so many teams");

struct sy_team sy_team_world, sy_team_shared;

/* The teams by slot, and a bit for each slot that is free. Threads may make teams of different
 * parents at once. */
static struct {
    pthread_mutex_t lock;
    struct sy_team **team;
    uint64_t free[SY_TEAM_WORDS_MAX];
    unsigned count, words;
} slots = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- members ---- */

/* The number of a PE among members in no order, or -1. */
static int core_team_find_in_list(const struct sy_members *m, int pe)
{
    for (int i = 0; i < m->size; i++)
        if (sy_members_pe(m, i) == pe)
            return i;
    return -1;
}

int sy_members_find(const struct sy_members *m, int pe)
{
    int at = pe;

    if (m->table && m->table != sy_world.node_pe)
        return core_team_find_in_list(m, pe);
    if (m->table) { /* this node's list of PEs */
        struct sy_place place = sy_world_place(pe);
        at = place.node == sy_world.node ? place.local : -1;
    }
    if (at < 0)
        return -1;
    if (m->stride == 0 || m->size == 1)
        return at == m->start ? 0 : -1;
    int distance = at - m->start;
    if (distance % m->stride || distance / m->stride < 0 || distance / m->stride >= m->size)
        return -1;
    return distance / m->stride;
}

int sy_team_settle(struct sy_team *team)
{
    team->members.me = sy_members_find(&team->members, sy_world.pe);
    return team->members.me < 0 ? 0 : sy_nodes_open(&team->nodes, &team->members, &team->own);
}

void sy_team_free(struct sy_team *team)
{
    if (team) {
        sy_nodes_free(&team->nodes);
        free(team->list);
        free(team->notify.roots);
    }
    free(team);
}

/* ---- slots ---- */

unsigned sy_team_slot_words(void)
{
    return slots.words;
}

void sy_team_free_slots(uint64_t *words)
{
    pthread_mutex_lock(&slots.lock);
    memcpy(words, slots.free, slots.words * sizeof *words);
    pthread_mutex_unlock(&slots.lock);
}

bool sy_team_claim(unsigned slot)
{
    uint64_t bit = UINT64_C(1) << slot % 64;

    pthread_mutex_lock(&slots.lock);
    bool was_free = slots.free[slot / 64] & bit;
    slots.free[slot / 64] &= ~bit;
    pthread_mutex_unlock(&slots.lock);
    return was_free;
}

void sy_team_disclaim(unsigned slot)
{
    pthread_mutex_lock(&slots.lock);
    slots.free[slot / 64] |= UINT64_C(1) << slot % 64;
    pthread_mutex_unlock(&slots.lock);
}

void sy_team_enter(struct sy_team *team)
{
    pthread_mutex_lock(&slots.lock);
    slots.team[team->slot] = team;
    pthread_mutex_unlock(&slots.lock);
}

void sy_team_leave(struct sy_team *team)
{
    pthread_mutex_lock(&slots.lock);
    slots.free[team->slot / 64] |= UINT64_C(1) << team->slot % 64;
    slots.team[team->slot] = NULL;
    pthread_mutex_unlock(&slots.lock);
    sy_team_free(team);
}

int sy_team_descendants(unsigned origin, struct sy_team **first)
{
    int count = 0;

    *first = NULL;
    pthread_mutex_lock(&slots.lock);
    for (unsigned i = PREDEFINED; i < slots.count; i++)
        if (slots.team[i] && slots.team[i]->origin == origin) {
            count++;
            if (slots.team[i]->first)
                *first = slots.team[i];
        }
    pthread_mutex_unlock(&slots.lock);
    return count;
}

struct sy_team *sy_team_checked(shmem_team_t handle)
{
    struct sy_team *team = (struct sy_team *)handle;
    bool known = false;

    if (!team)
        return NULL;
    pthread_mutex_lock(&slots.lock);
    for (unsigned i = PREDEFINED; i < slots.count && !known; i++)
        known = slots.team[i] == team;
    pthread_mutex_unlock(&slots.lock);
    if (!known)
        sy_fatal("%s was given the team %p, which does not exist: it was never made, or has been "
                 "destroyed",
                 sy_callsite_routine("a routine on a team"), (void *)handle);
    return team;
}

/* ---- predefined teams ---- */

/* A predefined team keeps its counters through a re-initialisation: every PE has been a member all
 * the time, so all counters agree. */
static int core_team_predefine(struct sy_team *team, unsigned slot, struct sy_members members)
{
    team->members = members;
    team->slot = slot;
    return sy_team_settle(team);
}

static void core_team_undo(struct sy_team *team)
{
    sy_nodes_free(&team->nodes);
    free(team->notify.roots);
    team->notify.roots = NULL;
}

/* The PEs of this node, as start and stride where they are spaced evenly. */
static struct sy_members core_team_shared_members(void)
{
    const int *pe = sy_world.node_pe;
    int size = sy_world.node_size, stride = size > 1 ? pe[1] - pe[0] : 1;
    struct sy_members even = {.start = pe[0], .stride = stride, .size = size};

    for (int i = 0; i < size; i++)
        if (sy_config.shared_only_self || !sy_windows_has(SY_WINDOW_CONTROL, pe[i]))
            return (struct sy_members){.start = sy_world.pe, .stride = 1, .size = 1};
    for (int i = 1; i < size; i++)
        if (pe[i] != pe[0] + i * stride)
            return (struct sy_members){.table = pe, .start = 0, .stride = 1, .size = size};
    return even;
}

int sy_teams_open(long teams, struct sy_error *err)
{
    unsigned count = (unsigned)teams + PREDEFINED;

    memset(slots.free, 0, sizeof slots.free);
    slots.count = count;
    slots.words = (count + 63) / 64;
    slots.team = calloc(count, sizeof(struct sy_team *));
    if (!slots.team)
        return sy_fail(err, ENOMEM, "no memory for %u teams", count);
    for (unsigned slot = PREDEFINED; slot < count; slot++)
        slots.free[slot / 64] |= UINT64_C(1) << slot % 64;
    struct sy_members all = {.start = 0, .stride = 1, .size = sy_world.npes};
    if (core_team_predefine(&sy_team_world, 0, all) ||
        core_team_predefine(&sy_team_shared, 1, core_team_shared_members()))
        return sy_fail(err, ENOMEM, "no memory for the nodes of %d PEs", sy_world.npes);
    return 0;
}

void sy_teams_each(void (*call)(struct sy_team *))
{
    call(&sy_team_world);
    call(&sy_team_shared);
    for (unsigned slot = 0; slot < slots.count; slot++)
        if (slots.team[slot])
            call(slots.team[slot]);
}

void sy_teams_close(void)
{
    for (unsigned slot = 0; slot < slots.count; slot++)
        sy_team_free(slots.team[slot]);
    core_team_undo(&sy_team_world);
    core_team_undo(&sy_team_shared);
    free(slots.team);
    slots.team = NULL;
    slots.count = slots.words = 0;
}

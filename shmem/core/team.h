/* Teams (9.4): the members, their order, and the slot of control memory through which they
 * synchronise. All of it is local; making and ending teams together is coll/team.c.
 *
 * Memory: a team of regularly spaced PEs is three numbers whatever its size. A team of the PEs of
 * one node, where those are numbered irregularly, shares that node's one table; so do teams made
 * from it. Only a team that is spread irregularly over nodes (nodes.h), or that was made from a
 * list without a rule, has a table of its own. */
#ifndef SY_CORE_TEAM_H
#define SY_CORE_TEAM_H

#include <shmem.h>
#include <stdbool.h>
#include <stdint.h>
#include <switchyard/error.h>

#include "core/memory/control.h"
#include "core/start/config.h"
#include "core/start/nodes.h"
#include "core/start/world.h"
#include "util/bits.h"

struct sy_members {
    const int *table; /* NULL: arithmetic */
    int start, stride, size;
    int me; /* this PE's number among them, or -1 */
};

struct sy_team {
    struct sy_members members, own; /* own: those on this PE's node */
    struct sy_nodes nodes;          /* one: all members are mapped here */
    int *list;                      /* the members' table, where it is the team's own */
    int num_contexts;               /* as asked for at creation */
    unsigned origin;                /* a number that the teams made from it have too; 0: none */
    bool first;                     /* the first of its origin, which all others come from */
    bool synced;                    /* all members, since the last collective in `notify` */
    unsigned slot;                  /* of the control windows */
    uint32_t turn;                  /* uses of the small buffers; its parity says which is next */
    uint32_t latency;               /* microseconds (coll/alltoall_nodes.c); 0: not known */
    uint64_t syncs;                 /* of the node: what `arrived` is after this PE's latest */
    uint64_t since;                 /* syncs when the team was made */
    uint64_t votes;                 /* of the members (coll/agree.h) */
    uint64_t stamp;                 /* the highest that was given to a flag between nodes */
    struct {
        uint64_t count, scratch; /* collectives that sent messages; the scratch space they took */
        uint64_t free_count, free_scratch; /* those of them that all members have left */
        struct sy_notify_roots *roots;     /* of coll/notify.c, or NULL; freed with the team */
    } notify;
};

_Static_assert(sizeof(struct sy_team) <= 200, "a team is to take at most 200 bytes");

#define SY_TEAM_WORDS_MAX ((SY_CONTROL_TEAMS_MAX + 63) / 64)

extern struct sy_team sy_team_world SY_HIDDEN, sy_team_shared SY_HIDDEN;

/* The PE in the job of member i. */
static inline int sy_members_pe(const struct sy_members *m, int i)
{
    int at = m->start + i * m->stride;
    return SY_UNLIKELY(m->table != NULL) ? m->table[at] : at;
}

/* The number of PE pe of the job among the members, or -1. */
int sy_members_find(const struct sy_members *m, int pe);

/* For SHMEM_CHECK: ends the job where the handle is neither SHMEM_TEAM_INVALID nor a team that a
 * program has made. */
struct sy_team *sy_team_checked(shmem_team_t handle) __attribute__((cold));

/* The team of a handle; NULL for SHMEM_TEAM_INVALID. */
static inline struct sy_team *sy_team_of(shmem_team_t handle)
{
    if (SY_LIKELY(handle == SHMEM_TEAM_WORLD))
        return &sy_team_world;
    if (handle == SHMEM_TEAM_SHARED)
        return &sy_team_shared;
    return SY_UNLIKELY(sy_config.check) ? sy_team_checked(handle) : (struct sy_team *)handle;
}

/* The same for a routine, which ends the job where the library is not started. */
static inline struct sy_team *sy_team_need(shmem_team_t handle, const char *routine)
{
    sy_world_need(routine);
    return sy_team_of(handle);
}

static inline shmem_team_t sy_team_handle(struct sy_team *team)
{
    return team == &sy_team_world    ? SHMEM_TEAM_WORLD
           : team == &sy_team_shared ? SHMEM_TEAM_SHARED
                                     : (shmem_team_t)team;
}

/* Makes the predefined teams, with room for `teams` more at a time. */
int sy_teams_open(long teams, struct sy_error *err);

/* Calls a function with each team of this PE, the predefined ones too. */
void sy_teams_each(void (*call)(struct sy_team *));

/* Ends all teams, also those that a program has left alive. */
void sy_teams_close(void);

/* The slots that this PE's teams leave free, as a bit map of sy_team_slot_words() words. */
unsigned sy_team_slot_words(void);
void sy_team_free_slots(uint64_t *words);

/* Claims a slot for a team that is being made: false if it is not free any more. The second gives
 * it back. */
bool sy_team_claim(unsigned slot);
void sy_team_disclaim(unsigned slot);

/* Enters a team under its slot, which has been claimed; removes it and frees team and slot. */
void sy_team_enter(struct sy_team *team);
void sy_team_leave(struct sy_team *team);

/* The teams of an origin that is not 0: how many there are, and *first, the one that the others
 * were made from, or NULL where it has ended. */
int sy_team_descendants(unsigned origin, struct sy_team **first);

/* Fills in what follows from `members`: this PE's number and, if it is a member, the nodes. 0 or
 * -ENOMEM. sy_team_free frees a team that was settled, or is NULL. */
int sy_team_settle(struct sy_team *team);
void sy_team_free(struct sy_team *team);

#endif

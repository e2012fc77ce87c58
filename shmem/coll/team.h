/* Making and ending teams: collective over the parent, and over the team. */
#ifndef SY_COLL_TEAM_H
#define SY_COLL_TEAM_H

#include "core/team.h"

/* Makes a team of members start + i * stride of the parent. Every PE of the parent calls; different
 * calls may name different, disjoint sets of members (as rows and columns do). A PE that is not
 * among the members it names gets *made NULL. Returns the same on all PEs: 0; or -ENOSPC where no
 * slot is free on all, -ENOMEM where a PE lacks memory, with *made NULL. */
int sy_team_create(struct sy_team *parent, int start, int stride, int size, int num_contexts,
                   struct sy_team **made);

/* What those who make a team of a list of PEs agree by: replaces each of `count` words, on all of
 * them, by the conjunction, or by the greatest, of all of theirs. */
struct sy_agreement {
    void (*all)(void *who, uint64_t *words, unsigned count);
    void (*most)(void *who, uint64_t *words, unsigned count);
    void *who;
    uint64_t salt; /* the same on all; another one for another `who`, if possible */
};

/* Agreement over a team, some of whose members may be in no list. */
struct sy_agreement sy_agreement_of_team(struct sy_team *team);

/* Makes a team of `size` different PEs of the job, which are its members in this order; the list is
 * copied. Each of those who agree calls, with a list of its own or another's; all PEs of a list are
 * among them. Otherwise as sy_team_create; `origin` as in struct sy_team. */
int sy_team_create_list(const struct sy_agreement *agreement, const int *pe, int size,
                        unsigned origin, struct sy_team **made);

/* Processes that another library has brought together, in its order. allgather brings `length`
 * bytes of each to all, in that order, and returns 0. */
struct sy_processes {
    int size;
    int (*allgather)(void *arg, const void *mine, void *all, size_t length);
    void *arg;
};

/* Makes a team of them, in their order; each of them calls, whether it is a PE or not. Returns the
 * same on all: 0; -EINVAL, where one of them is no PE of this job, and the first says so; -EIO
 * where allgather has failed; or as sy_team_create. */
int sy_team_from_group(const struct sy_processes *of, struct sy_team **made);

/* Brings `length` bytes of each member to all, in their order. */
void sy_team_gather(struct sy_team *team, const void *mine, void *all, size_t length);

/* When all members have entered what comes after the team's last collective: takes what of that may
 * still be on its way to this PE. Counters outlive the team, and the library's end. */
void sy_team_end(struct sy_team *team);

/* Ends a team and its contexts. */
void sy_team_destroy(struct sy_team *team);

#endif

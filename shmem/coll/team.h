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

/* Ends a team and its contexts. */
void sy_team_destroy(struct sy_team *team);

#endif

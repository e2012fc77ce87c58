/* Joining the members' arrays (9.10.8). */
#ifndef SY_COLL_COLLECT_H
#define SY_COLL_COLLECT_H

#include "coll/group.h"

/* Joins `length` bytes of each member in the group's order into dest of all. The same length on
 * all for fcollect; collect allows each member its own. */
void sy_fcollect(const struct sy_group *group, void *dest, const void *source, size_t length);
void sy_collect(const struct sy_group *group, void *dest, const void *source, size_t length);

/* Both for a team that is spread over several nodes (collect_nodes.c). sy_collect_nodes answers
 * false where the team has too many members for it; then nothing has been done. */
void sy_fcollect_nodes(const struct sy_group *group, char *dest, const void *source, size_t length);
bool sy_collect_nodes(const struct sy_group *group, char *dest, const void *source, size_t length);

/* A member that gives nothing may have passed anything as its source, so it has to be told where
 * the others' are. sy_collect_tell writes into this PE's slot of a team what it gives: the length,
 * and the place where that is not 0. sy_collect_pull reads `length` bytes of member i's source;
 * mine: what this PE gives. */
void sy_collect_tell(const struct sy_group *group, const void *source, size_t length);
void sy_collect_pull(const struct sy_group *group, int i, char *dest, const void *source,
                     size_t length, size_t mine);

#endif

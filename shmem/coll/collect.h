/* Joining the members' arrays (9.10.8). */
#ifndef SY_COLL_COLLECT_H
#define SY_COLL_COLLECT_H

#include "coll/group.h"

/* Joins `length` bytes of each member in the group's order into dest of all. The same length on
 * all for fcollect; collect allows each member its own. */
void sy_fcollect(const struct sy_group *group, void *dest, const void *source, size_t length);
void sy_collect(const struct sy_group *group, void *dest, const void *source, size_t length);

#endif

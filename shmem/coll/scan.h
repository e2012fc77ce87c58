/* Scans (9.10.10). */
#ifndef SY_COLL_SCAN_H
#define SY_COLL_SCAN_H

#include "coll/reduce.h"

/* Element i of dest becomes the combination of element i of source over the members up to this one,
 * with it if inclusive; zero bytes where there are none. dest may be source. Teams only. */
void sy_scan(const struct sy_group *group, struct sy_operation op, void *dest, const void *source,
             size_t count, bool inclusive);

/* sy_scan for a team that is spread over several nodes (scan_nodes.c). */
void sy_scan_nodes(const struct sy_group *group, struct sy_operation op, char *dest,
                   const char *source, size_t count, bool inclusive);

#endif

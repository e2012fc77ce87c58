/* The processors that this PE may use, and which PEs use them too. Launchers bind PEs to some of a
 * machine's: a PE with one processor for itself need not give way to any other PE. */
#ifndef SY_CORE_PROCESSORS_H
#define SY_CORE_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/* By affinity, or fewer where a cgroup's quota allows less; 1 or more. */
int sy_processors_count(void);

/* Equal on PEs that share their processors, which are those with the same set of them on the same
 * `machine` (any number that tells machines apart). Sets that overlap without being equal are taken
 * for separate ones. */
uint64_t sy_processors_identity(uint64_t machine);

#endif

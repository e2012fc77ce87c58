/* The processors that this PE may use, and the PEs that share them. Launchers bind PEs to some of a
 * machine's processors: a PE with one for itself need not yield to any other PE. */
#ifndef SY_CORE_PROCESSORS_H
#define SY_CORE_PROCESSORS_H

#include <stdint.h>

/* Two things limit a PE: the set of processors that it may run on, and a cgroup's quota. It shares
 * each with the PEs that have the same identity there; sets that overlap without being equal are
 * taken for separate ones. */
struct sy_processors {
    uint64_t set, quota;  /* identities; quota 0: there is none */
    int in_set, in_quota; /* processors, 1 or more */
};

/* machine: any number that tells machines apart. */
struct sy_processors sy_processors_find(uint64_t machine);

#endif

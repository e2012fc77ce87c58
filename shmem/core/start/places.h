/* Where every PE of the job is: its node and its index there, the sets of PEs that have each
 * other's memory mapped, and whether such sets outnumber their processors. Computed from what the
 * exchange has gathered, alike on all PEs; kept until sy_places_close for the functions of world.h
 * (sy_world_place, sy_world_domain). */
#ifndef SY_CORE_PLACES_H
#define SY_CORE_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include <switchyard/error.h>

/* The processors that a PE may use, and the PEs that share them. Launchers bind PEs to some of a
 * machine's processors: a PE with one for itself need not yield to any other PE.
 *
 * Two things limit a PE: the set of processors that it may run on, and a cgroup's quota. It shares
 * each with the PEs that have the same identity there; sets that overlap without being equal are
 * taken for separate ones. */
struct sy_processors {
    uint64_t set, quota;  /* identities; quota 0: there is none */
    int in_set, in_quota; /* processors, 1 or more */
};

/* What each PE says of where it is. */
struct sy_location {
    uint64_t node; /* equal on PEs that can map each other's memory */
    uint64_t host; /* equal on PEs of a machine's network namespace */
    struct sy_processors processors;
};

/* The processors of this PE. machine: any number that tells machines apart. */
struct sy_processors sy_processors_find(uint64_t machine);

typedef const struct sy_location *sy_location_of(int pe);

/* Numbers nodes, and sets the node fields of sy_world; a second call does nothing. host: where the
 * host name of PE 0 is; those of the others follow at a distance of `stride` bytes. */
int sy_places_make(sy_location_of *of, const char *host, size_t stride, struct sy_error *err);

/* Finds out which nodes have all their memory mapped, after the routes are known. Collective:
 * gathers unless all pairs of PEs are alike. */
int sy_places_map(double seconds, struct sy_error *err);

/* Sets sy_world.nodes_crowd, after sy_places_map. */
int sy_places_find_crowd(sy_location_of *of, struct sy_error *err);

void sy_places_close(void);

#endif

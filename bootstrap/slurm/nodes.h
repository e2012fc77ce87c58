/* Slurm's short forms of lists. Text comes from the environment: anything may be in it. */
#ifndef SLURM_NODES_H
#define SLURM_NODES_H

#include <stdbool.h>
#include <stddef.h>

/* Host number `index` of "a[01-03,7]b,c": false where the list ends before it or is malformed. */
bool sy_slurm_host(const char *list, long index, char *host, size_t room);

/* On which node task `task` is if nodes are filled one after the other; tasks: "2(x3),1". -1:
 * nowhere. */
long sy_slurm_node_of(const char *tasks, long task);

#endif

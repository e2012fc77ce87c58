/* Which processors each PE of this host gets, by the machine's topology as hwloc knows it. */
#ifndef SY_LAUNCHER_BIND_H
#define SY_LAUNCHER_BIND_H

#include <sched.h>

struct sy_bind {
    int units;       /* cores, sockets, ... that there are for us */
    cpu_set_t *unit; /* each as a set of processors */
};

/* Finds the units of this kind (enum sy_binding, SY_BIND_HWTHREAD or larger) among the processors
 * that this process may use. Returns NULL or, allocated, why it cannot. */
char *sy_bind_find(struct sy_bind *bind, int binding);

/* Divides the processors that this process may use among `pes` PEs, who get disjoint sets whose
 * sizes differ by one at most; hardware threads of a core follow each other. All are given away: so
 * two jobs of a machine that do not know each other meet on whole sets, within which the kernel
 * keeps their PEs apart, and never on one processor while others are idle. No units where there are
 * fewer than `least` processors for each. Needs no hwloc. */
void sy_bind_share(struct sy_bind *bind, int pes, int least);

/* "core", "socket": what --bind-to calls it. */
const char *sy_bind_name(int binding);

/* "0-3,8", for messages; `text` has room for `room` characters. */
const char *sy_bind_text(const cpu_set_t *set, char *text, size_t room);

void sy_bind_free(struct sy_bind *bind);

#endif

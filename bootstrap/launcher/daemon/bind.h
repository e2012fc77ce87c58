/* Which processors each PE of this host gets, by the machine's topology as hwloc knows it. */
#ifndef SY_LAUNCHER_BIND_H
#define SY_LAUNCHER_BIND_H

#include <sched.h>
#include <stdbool.h>

struct sy_bind {
    int units;       /* cores, sockets, ... that there are for us */
    cpu_set_t *unit; /* each as a set of processors */
};

/* Finds the units of this kind (enum sy_binding, not SY_BIND_NONE) among the processors that this
 * process may use. Returns NULL or, allocated, why it cannot. */
char *sy_bind_find(struct sy_bind *bind, int binding);

/* "core", "socket": what --bind-to calls it. */
const char *sy_bind_name(int binding);

/* "0-3,8", for messages; `text` has room for `room` characters. */
const char *sy_bind_text(const cpu_set_t *set, char *text, size_t room);

void sy_bind_free(struct sy_bind *bind);

#endif

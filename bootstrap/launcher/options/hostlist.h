/* Lists of hosts: as words of a command line (a,b:4,n[01-08]), as files, or as a batch system hands
 * them over. */
#ifndef SY_LAUNCHER_HOSTLIST_H
#define SY_LAUNCHER_HOSTLIST_H

#include <stdbool.h>

struct sy_listed {
    char *name;
    int slots; /* PEs that it is meant for; 0: nothing was said */
    int most;  /* PEs that it may have at most; 0: nothing was said */
};

enum {
    SY_HOSTS_MAX = 65536,     /* of a job */
    SY_HOSTS_NAMED = 1 << 20, /* names in all, repeated ones included: a host for each slot */
    SY_HOST_NAME_MAX = 255,   /* characters of a name, with a user before it */
    SY_HOST_SLOTS_MAX = 1 << 20
};

struct sy_hostlist {
    struct sy_listed *host;
    int count;
    int named;  /* how often a host was added */
    int *table; /* hosts by name: numbers + 1, in a power of two of places */
    unsigned places;
};

/* Adds the hosts of a text such as "a,b:4,n[01-03,7]:2". Returns NULL or, allocated, what is wrong
 * with it. */
char *sy_hostlist_add(struct sy_hostlist *list, const char *text);

/* Adds the hosts of a file: on each line a name, or a text as above, and what may follow: slots=N,
 * max-slots=N, or a number of slots. # begins a comment. */
char *sy_hostlist_read(struct sy_hostlist *list, const char *path);

/* Adds so many slots of one host; a host that is there already gets more. Returns as
 * sy_hostlist_add. */
char *sy_hostlist_put(struct sy_hostlist *list, const char *name, int slots, int most);

/* Removes a host. */
void sy_hostlist_remove(struct sy_hostlist *list, int index);

/* Adds the hosts of the batch job that this process runs in, if it does. *source: what they were
 * found in, or NULL. */
char *sy_hostlist_of_allocation(struct sy_hostlist *list, const char **source);

/* Whether a name means the machine that this process runs on. */
bool sy_hostlist_is_here(const char *name);

void sy_hostlist_free(struct sy_hostlist *list);

#endif

/* Which PE runs on which host. */
#ifndef SY_LAUNCHER_PLACEMENT_H
#define SY_LAUNCHER_PLACEMENT_H

#include <stdbool.h>

#include "bootstrap/launcher/options/hostlist.h"

struct sy_placement {
    int npes;
    int *host_of; /* by PE: index in the list of hosts */
};

struct sy_placement_wish {
    int npes;     /* 0: as many as fit */
    int per_host; /* 0: as slots say */
    int most;     /* on any host; 0: no limit but that of the list */
    bool cyclic;  /* one on each host, then again, instead of filling a host first */
    bool oversubscribe;
};

/* Returns NULL or, allocated, why it cannot be done. */
char *sy_placement_make(struct sy_placement *placement, const struct sy_hostlist *hosts,
                        const struct sy_placement_wish *wish);

void sy_placement_free(struct sy_placement *placement);

#endif

/* See processors.h. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/start/processors.h"
#include "core/start/world.h"
#include "util/bits.h"

/* The quota of processor time, in processors; 0: none. */
static int processors_quota(void)
{
    double allowed, period;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");
    int count = 0;

    if (file) {
        if (fscanf(file, "%lf %lf", &allowed, &period) == 2 && period > 0 && allowed > 0)
            count = allowed < 2 * period ? 1 : (int)(allowed / period);
        fclose(file);
    }
    return count;
}

struct sy_processors sy_processors_find(uint64_t machine)
{
    struct sy_processors found = {.in_quota = processors_quota()};
    cpu_set_t set;

    CPU_ZERO(&set);
    found.in_set = sched_getaffinity(0, sizeof set, &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
                                                          : CPU_COUNT(&set);
    found.set = sy_hash(&set, sizeof set, machine);
    /* A quota is the container's own, and so is its host name. */
    if (found.in_quota)
        found.quota = sy_hash(sy_world.host, strlen(sy_world.host), machine);
    return found;
}

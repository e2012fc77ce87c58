/* See processors.h. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/start/processors.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/proc.h"

/* The quota of processor time, in processors; 0: none. */
static int processors_quota(void)
{
    char text[SY_PROC_TEXT];
    double allowed, period;

    if (sscanf(sy_proc_read("/sys/fs/cgroup/cpu.max", text), "%lf %lf", &allowed, &period) != 2 ||
        period <= 0 || allowed <= 0)
        return 0;
    return allowed < 2 * period ? 1 : (int)(allowed / period);
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

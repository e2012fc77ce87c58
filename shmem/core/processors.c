/* See processors.h. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/processors.h"
#include "core/world.h"
#include "util/bits.h"

static int affinity(cpu_set_t *set)
{
    CPU_ZERO(set);
    return sched_getaffinity(0, sizeof *set, set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
                                                  : CPU_COUNT(set);
}

/* What a cgroup allows of `count` processors. */
static int within_quota(int count)
{
    double quota, period;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");

    if (file) {
        if (fscanf(file, "%lf %lf", &quota, &period) == 2 && period > 0 && quota / period < count)
            count = (int)(quota / period);
        fclose(file);
    }
    return count > 0 ? count : 1;
}

int sy_processors_count(void)
{
    cpu_set_t set;

    return within_quota(affinity(&set));
}

/* A quota is the container's own, and so is its host name. */
uint64_t sy_processors_identity(uint64_t machine)
{
    cpu_set_t set;
    int count = affinity(&set);
    uint64_t identity = sy_hash(&set, sizeof set, machine);

    return within_quota(count) < count ? sy_hash(sy_world.host, strlen(sy_world.host), identity)
                                       : identity;
}

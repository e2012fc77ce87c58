/* See wait.h. */
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "core/progress.h"
#include "core/wait.h"
#include "core/windows.h"
#include "util/log.h"

#define LOOKS_ALONE 20000 /* about 50 us: longer than anything a running peer makes one wait for   \
                           */
#define LOOKS_CROWDED    100
#define LOOKS_AFTER_REST 10
#define YIELDING_NS      UINT64_C(1000000)
#define LONGEST_NAP_NS   UINT64_C(1000000)

uint32_t sy_wait_looks = LOOKS_ALONE;

static bool crowded;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* Processors by affinity, or fewer where a cgroup's quota allows less. */
static int processors(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN)
                                                       : CPU_COUNT(&set);
    double quota, period;
    FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");

    if (file) {
        if (fscanf(file, "%lf %lf", &quota, &period) == 2 && period > 0 && quota / period < count)
            count = (int)(quota / period);
        fclose(file);
    }
    return count > 0 ? count : 1;
}

void sy_wait_open(int node_pes)
{
    int cpus = processors();

    crowded = node_pes > cpus;
    /* Where data arrive through transports, a waiting thread helps them along early. */
    sy_wait_looks = crowded || sy_hot.carries ? LOOKS_CROWDED : LOOKS_ALONE;
    sy_log(SY_LOG_DEBUG, "boot", "%d PEs on this node, %d processors: waiting PEs %s", node_pes,
           cpus, crowded ? "give way early" : "look for long before they give way");
}

/* The nap is a sixteenth of the wait so far, so that it never adds more than that to the wait; it
 * is taken only where others need the processor. */
static void nap(uint64_t waited)
{
    uint64_t length = waited / 16 < LONGEST_NAP_NS ? waited / 16 : LONGEST_NAP_NS;
    struct timespec t = {.tv_nsec = (long)length};
    nanosleep(&t, NULL);
}

uint32_t sy_wait_rest(uint64_t *since)
{
    if (sy_hot.carries)
        sy_progress_poll();
    if (!*since)
        *since = now();
    uint64_t waited = crowded ? now() - *since : 0;
    if (waited > YIELDING_NS)
        nap(waited);
    else
        sched_yield();
    return LOOKS_AFTER_REST;
}

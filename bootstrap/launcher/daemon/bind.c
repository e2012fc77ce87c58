/* Processors for PEs: see bind.h. hwloc is loaded only where the user asks for units, because
 * loading it takes longer than starting all PEs. */
#include "bootstrap/launcher/daemon/bind.h"

#include <stddef.h>
#include <stdio.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/spec.h"
#include "config.h"
#include "util/file.h"

const char *sy_bind_name(int binding)
{
    static const char *const NAMES[SY_BINDINGS] = {"share", "none", "hwthread",
                                                   "core",  "numa", "socket"};

    return NAMES[binding];
}

const char *sy_bind_text(const cpu_set_t *set, char *text, size_t room)
{
    size_t used = 0;

    *text = '\0';
    for (int cpu = 0; cpu < CPU_SETSIZE && used < room; cpu++) {
        int last = cpu;

        if (!CPU_ISSET(cpu, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        used += (size_t)snprintf(text + used, room - used, last > cpu ? "%s%d-%d" : "%s%d",
                                 used ? "," : "", cpu, last);
        cpu = last;
    }
    return text;
}

/* Adds to *order a processor that is left, and the others of its core. */
static void bind_add_core(int cpu, cpu_set_t *left, int *order, int *count)
{
    cpu_set_t core;
    char path[80];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    sy_file_set(path, (unsigned long *)&core, CPU_SETSIZE);
    CPU_SET(cpu, &core);
    for (; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &core) && CPU_ISSET(cpu, left)) {
            order[(*count)++] = cpu;
            CPU_CLR(cpu, left);
        }
}

/* The processors of `allowed`, core by core. */
static void bind_order(const cpu_set_t *allowed, int *order)
{
    cpu_set_t left = *allowed;

    for (int cpu = 0, count = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &left))
            bind_add_core(cpu, &left, order, &count);
}

void sy_bind_share(struct sy_bind *bind, int pes, int least)
{
    int order[CPU_SETSIZE], count = 0;
    cpu_set_t allowed;

    memset(bind, 0, sizeof *bind);
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        count = CPU_COUNT(&allowed);
    if (pes < 2 || count / pes < (least > 1 ? least : 1))
        return;
    bind_order(&allowed, order);
    bind->unit = sy_memory_zeroed((size_t)pes, sizeof *bind->unit);
    bind->units = pes;
    for (long pe = 0; pe < pes; pe++)
        for (long i = pe * count / pes; i < (pe + 1) * count / pes; i++)
            CPU_SET(order[i], &bind->unit[pe]);
}

void sy_bind_free(struct sy_bind *bind)
{
    free(bind->unit);
    bind->unit = NULL;
    bind->units = 0;
}

#ifdef HAVE_HWLOC
#include <dlfcn.h>
#include <hwloc.h>

#include "util/bits.h"
#include "util/stays.h"

static struct {
    int (*init)(hwloc_topology_t *topology);
    int (*load)(hwloc_topology_t topology);
    void (*destroy)(hwloc_topology_t topology);
    int (*depth)(hwloc_topology_t topology, hwloc_obj_type_t type);
    unsigned (*count)(hwloc_topology_t topology, int depth);
    hwloc_obj_t (*object)(hwloc_topology_t topology, int depth, unsigned index);
    int (*next)(hwloc_const_bitmap_t bitmap, int previous);
} hwloc;

static const char *bind_load_hwloc(void)
{
    static const struct sy_stays_function SYMBOLS[] = {
        {"hwloc_topology_init", &hwloc.init},        {"hwloc_topology_load", &hwloc.load},
        {"hwloc_topology_destroy", &hwloc.destroy},  {"hwloc_get_type_depth", &hwloc.depth},
        {"hwloc_get_nbobjs_by_depth", &hwloc.count}, {"hwloc_get_obj_by_depth", &hwloc.object},
        {"hwloc_bitmap_next", &hwloc.next},
    };
    void *library = dlopen(SY_HWLOC_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    return library && !sy_stays_find(library, SYMBOLS, SY_COUNT(SYMBOLS)) ? NULL : dlerror();
}

static hwloc_obj_type_t bind_type_of(int binding)
{
    switch (binding) {
    case SY_BIND_HWTHREAD:
        return HWLOC_OBJ_PU;
    case SY_BIND_CORE:
        return HWLOC_OBJ_CORE;
    case SY_BIND_NUMA:
        return HWLOC_OBJ_NUMANODE;
    default:
        return HWLOC_OBJ_PACKAGE;
    }
}

/* The units of which this process may use at least one processor. */
static void bind_collect_units(struct sy_bind *bind, hwloc_topology_t topology, int depth,
                               const cpu_set_t *allowed)
{
    unsigned count = hwloc.count(topology, depth);

    bind->unit = sy_memory_zeroed(count, sizeof *bind->unit);
    for (unsigned i = 0; i < count; i++) {
        hwloc_obj_t object = hwloc.object(topology, depth, i);
        cpu_set_t *unit = &bind->unit[bind->units];

        CPU_ZERO(unit);
        for (int cpu = hwloc.next(object->cpuset, -1); cpu >= 0 && cpu < CPU_SETSIZE;
             cpu = hwloc.next(object->cpuset, cpu))
            CPU_SET(cpu, unit);
        CPU_AND(unit, unit, allowed);
        if (CPU_COUNT(unit))
            bind->units++;
    }
}

#endif

char *sy_bind_find(struct sy_bind *bind, int binding)
{
    memset(bind, 0, sizeof *bind);
#ifdef HAVE_HWLOC
    const char *fault = bind_load_hwloc();
    hwloc_topology_t topology;
    cpu_set_t allowed;
    int depth;

    if (fault)
        return sy_memory_text("hwloc cannot be loaded (%s); install it, or leave --bind-to out",
                              fault);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || hwloc.init(&topology) != 0)
        return sy_memory_string("the processors of this machine cannot be found out");
    if (hwloc.load(topology) == 0) {
        depth = hwloc.depth(topology, bind_type_of(binding));
        if (depth != HWLOC_TYPE_DEPTH_UNKNOWN && depth != HWLOC_TYPE_DEPTH_MULTIPLE)
            bind_collect_units(bind, topology, depth, &allowed);
    }
    hwloc.destroy(topology);
    if (bind->units)
        return NULL;
    sy_bind_free(bind);
    return sy_memory_text("this machine has no %s that hwloc knows", sy_bind_name(binding));
#else
    (void)binding;
    return sy_memory_string("oshrun was built without hwloc; leave --bind-to out");
#endif
}

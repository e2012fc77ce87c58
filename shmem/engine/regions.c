#include <errno.h>
#include <stdlib.h>

#include "engine/regions.h"

_Static_assert(SY_RECORD_REGIONS == SY_REGIONS, "a header can name every region");

int sy_regions_open(struct sy_regions *regions, const struct sy_host *host, bool node,
                    struct sy_error *err)
{
    *regions = (struct sy_regions){.host = host, .filling = PTHREAD_MUTEX_INITIALIZER};
    int here = host->place(host->pe).node;
    for (int pe = 0; pe < host->npes && node; pe++)
        regions->targets += host->place(pe).node == here;
    size_t entries = (regions->targets + 1) * (size_t)SY_RECORD_REGIONS;
    regions->found = calloc(entries, sizeof *regions->found);
    regions->span = calloc(entries, sizeof *regions->span);
    return regions->found && regions->span
               ? 0
               : host->fail(err, ENOMEM, "no memory for %u PEs of this node", regions->targets);
}

void sy_regions_close(struct sy_regions *regions)
{
    free(regions->found);
    free(regions->span);
    *regions = (struct sy_regions){.host = NULL};
}

int sy_regions_check(const struct sy_host *host, const struct sy_region *region,
                     struct sy_error *err)
{
    const uint64_t most = UINT64_C(1) << SY_RECORD_OFFSET_BITS;

    if (region->kind == SY_REGION_DEVICE && !SY_HOST_HAS_DEVICES(host))
        return host->fail(err, EOPNOTSUPP, "memory of a device, which no CPU here can serve");
    if (region->length > most)
        return host->fail(
            err, E2BIG,
            "%zu GiB of symmetric memory in one piece, where messages address at most %u GiB",
            region->length >> 30, (unsigned)(most >> 30));
    return 0;
}

/* ---- filling; with the lock ---- */

/* Enters a PE's region in its row; whether it is mapped here. */
static bool regions_enter(struct sy_regions *regions, unsigned row, int pe, unsigned index,
                          uint64_t length)
{
    size_t entry = row * (size_t)SY_RECORD_REGIONS + index;
    struct sy_regions_span span = {regions->host->memory(pe, index, 0, length), length};

    if (!span.base || atomic_load_explicit(&regions->found[entry], memory_order_relaxed))
        return span.base;
    regions->span[entry] = span;
    atomic_store_explicit(&regions->found[entry], &regions->span[entry], memory_order_release);
    return true;
}

/* Enters a region in all rows; true: it is mapped here for all PEs, or no PE has it. */
static bool regions_enter_all(struct sy_regions *regions, unsigned index)
{
    const struct sy_host *host = regions->host;
    int here = host->place(host->pe).node;
    struct sy_region region;

    if (host->window(index, &region) || !region.length)
        return true;
    atomic_store(&regions->device[index], region.kind == SY_REGION_DEVICE);
    bool all = regions_enter(regions, regions->targets, host->pe, index, region.length);
    for (int pe = 0; pe < host->npes && regions->targets; pe++) {
        struct sy_place place = host->place(pe);
        if (place.node == here)
            all = regions_enter(regions, (unsigned)place.local, pe, index, region.length) && all;
    }
    return all;
}

/* A thread that sends its first message and one that receives may both be the first. Meanwhile
 * another thread may be making a window that is not attached yet, or be ending one that no longer
 * is. */
void sy_regions_fill(struct sy_regions *regions)
{
    pthread_mutex_lock(&regions->filling);
    if (!atomic_load_explicit(&regions->filled, memory_order_relaxed)) {
        regions->serves_node = true;
        for (unsigned i = 0; i < SY_RECORD_REGIONS; i++)
            if (regions->attached[i])
                regions->serves_node = regions_enter_all(regions, i) && regions->serves_node;
        atomic_store_explicit(&regions->filled, true, memory_order_release);
    }
    pthread_mutex_unlock(&regions->filling);
}

/* Before the first request nothing is to be done: it will be found by then. */
void sy_regions_attach(struct sy_regions *regions, unsigned index)
{
    pthread_mutex_lock(&regions->filling);
    regions->attached[index] = true;
    if (atomic_load_explicit(&regions->filled, memory_order_relaxed))
        regions_enter_all(regions, index);
    pthread_mutex_unlock(&regions->filling);
}

void sy_regions_detach(struct sy_regions *regions, unsigned index)
{
    pthread_mutex_lock(&regions->filling);
    regions->attached[index] = false;
    atomic_store(&regions->device[index], false);
    for (unsigned row = 0; row <= regions->targets && regions->found; row++)
        atomic_store_explicit(&regions->found[row * SY_RECORD_REGIONS + index], NULL,
                              memory_order_release);
    pthread_mutex_unlock(&regions->filling);
}

bool sy_regions_serves_node(struct sy_regions *regions)
{
    sy_regions_ensure(regions);
    return regions->serves_node;
}

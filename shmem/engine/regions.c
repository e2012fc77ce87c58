/* See regions.h. */
#include <errno.h>
#include <stdlib.h>

#include "engine/regions.h"

static unsigned regions_count(const struct sy_host *host)
{
    struct sy_window window;
    unsigned count = 0;

    while (count < SY_RECORD_REGIONS && !host->window(count, &window))
        count++;
    return count;
}

int sy_regions_open(struct sy_regions *regions, const struct sy_host *host, bool node,
                    struct sy_error *err)
{
    *regions = (struct sy_regions){
        .host = host, .count = regions_count(host), .filling = PTHREAD_MUTEX_INITIALIZER};
    int here = host->place(host->pe).node;
    for (int pe = 0; pe < host->npes && node; pe++)
        regions->targets += host->place(pe).node == here;
    regions->span = calloc((regions->targets + 1) * (size_t)(regions->count + 1),
                           sizeof *regions->span);
    return regions->span
               ? 0
               : host->fail(err, ENOMEM, "no memory for %u PEs of this node", regions->targets);
}

void sy_regions_close(struct sy_regions *regions)
{
    free(regions->span);
    *regions = (struct sy_regions){.span = NULL};
}

/* Whether all of the PE's memory is mapped here. */
static bool regions_fill_row(const struct sy_regions *regions, unsigned row, int pe)
{
    struct sy_regions_span *span = &regions->span[row * (size_t)regions->count];
    struct sy_window window;
    bool all = true;

    for (unsigned i = 0; i < regions->count && !regions->host->window(i, &window); i++) {
        span[i].base = regions->host->memory(pe, i, 0, window.length);
        span[i].length = span[i].base ? window.length : 0;
        all = all && (span[i].base || !window.length);
    }
    return all;
}

static bool regions_fill_all(const struct sy_regions *regions)
{
    const struct sy_host *host = regions->host;
    int here = host->place(host->pe).node;
    bool all = regions_fill_row(regions, regions->targets, host->pe);

    for (int pe = 0; pe < host->npes && regions->targets; pe++) {
        struct sy_place place = host->place(pe);
        if (place.node == here)
            all = regions_fill_row(regions, (unsigned)place.local, pe) && all;
    }
    return all;
}

/* A thread that sends its first message and one that receives may both be the first. */
void sy_regions_fill(struct sy_regions *regions)
{
    pthread_mutex_lock(&regions->filling);
    if (!atomic_load_explicit(&regions->filled, memory_order_relaxed)) {
        regions->serves_node = regions_fill_all(regions);
        atomic_store_explicit(&regions->filled, true, memory_order_release);
    }
    pthread_mutex_unlock(&regions->filling);
}

bool sy_regions_serves_node(struct sy_regions *regions)
{
    sy_regions_ensure(regions);
    return regions->serves_node;
}

int sy_regions_fits(const struct sy_regions *regions, struct sy_error *err)
{
    const uint64_t most = UINT64_C(1) << SY_RECORD_OFFSET_BITS;
    struct sy_window window;

    for (unsigned i = 0; i < regions->count && !regions->host->window(i, &window); i++)
        if (window.length > most)
            return regions->host->fail(
                err, E2BIG, "%zu GiB of symmetric memory in one piece: messages reach %u",
                window.length >> 30, (unsigned)(most >> 30));
    return 0;
}

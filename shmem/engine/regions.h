/* Where requests find their memory: what is mapped here of the PEs of this node. Every request
 * comes from another process, so sy_regions_find is the only way from its header to an address. */
#ifndef SY_ENGINE_REGIONS_H
#define SY_ENGINE_REGIONS_H

#include <pthread.h>
#include <stdatomic.h>
#include <switchyard/transport.h>

#include "engine/record.h"
#include "util/bits.h"

struct sy_regions_span {
    char *base;
    uint64_t length;
};

struct sy_regions {
    const struct sy_host *host;
    struct sy_regions_span *span; /* [target][region]: the node's PEs, then this PE */
    unsigned targets, count;
    pthread_mutex_t filling;
    _Atomic bool filled;
    bool serves_node;
};

/* A row for each PE of this node, or for this PE alone. They are filled at the first request, when
 * all transports are connected. 0 or -ENOMEM with err. */
int sy_regions_open(struct sy_regions *regions, const struct sy_host *host, bool node,
                    struct sy_error *err);
void sy_regions_close(struct sy_regions *regions);

/* To be called before the first sy_regions_find of a request. Any thread. */
void sy_regions_fill(struct sy_regions *regions) SY_COLD;

static inline void sy_regions_ensure(struct sy_regions *regions)
{
    if (SY_UNLIKELY(!atomic_load_explicit(&regions->filled, memory_order_acquire)))
        sy_regions_fill(regions);
}

/* Whether all memory of all PEs of this node is mapped here. */
bool sy_regions_serves_node(struct sy_regions *regions);

/* Whether a header can name all of this PE's memory; if not, -E2BIG with err. */
int sy_regions_fits(const struct sy_regions *regions, struct sy_error *err);

/* The address of `length` bytes at `offset` of the region of a header, or NULL. */
SY_INLINE char *sy_regions_find(const struct sy_regions *regions, uint64_t header, uint64_t offset,
                                uint64_t length)
{
    unsigned target = sy_record_target(header), region = sy_record_region(header);
    unsigned row = target == SY_RECORD_TARGET_SELF ? regions->targets : target;

    if (SY_UNLIKELY(row > regions->targets || region >= regions->count))
        return NULL;
    const struct sy_regions_span *span = &regions->span[row * regions->count + region];
    if (SY_UNLIKELY(offset > span->length || length > span->length - offset))
        return NULL;
    return span->base ? span->base + offset : NULL;
}

#endif

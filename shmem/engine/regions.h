/* Where requests find their memory: what is mapped here of the PEs of this node. Every request
 * comes from another process, so sy_regions_find is the only way from its header to an address.
 *
 * Regions come and go while requests are applied. An entry is published by one pointer, to a place
 * of its own that is written before and never while it is published; so a reader sees a base and
 * the length that belongs to it. sy_regions_detach takes an entry back; its caller then waits until
 * all that may have found it before are done. Only the transport can: it takes the lock under which
 * it applies requests. The place is written anew only after that. */
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
    /* [target][region]: the node's PEs, then this PE. Pages that are never written cost nothing. */
    const struct sy_regions_span *_Atomic *found; /* NULL: not there */
    struct sy_regions_span *span;                 /* what `found` points to; with `filling` */
    unsigned targets;
    pthread_mutex_t filling;
    _Atomic bool filled;
    bool serves_node;
    bool attached[SY_RECORD_REGIONS];       /* with `filling` */
    _Atomic bool device[SY_RECORD_REGIONS]; /* this PE's is a device's: device.c */
};

/* A row for each PE of this node, or for this PE alone. They are filled at the first request, when
 * all transports are connected. 0 or -ENOMEM with err. */
int sy_regions_open(struct sy_regions *regions, const struct sy_host *host, bool node,
                    struct sy_error *err);
void sy_regions_close(struct sy_regions *regions);

/* Whether a header can name all of a region; if not, -E2BIG with err, or -EOPNOTSUPP where it is a
 * device's and the core has no copies. */
int sy_regions_check(const struct sy_host *host, const struct sy_region *region,
                     struct sy_error *err);

/* A region is there (region_connect), as host->window and host->memory have it. Any thread. */
void sy_regions_attach(struct sy_regions *regions, unsigned index);

/* The region is not found any more from now on. The caller waits for those who have found it. */
void sy_regions_detach(struct sy_regions *regions, unsigned index);

/* To be called before the first sy_regions_find of a request. Any thread. */
void sy_regions_fill(struct sy_regions *regions) SY_COLD;

static inline void sy_regions_ensure(struct sy_regions *regions)
{
    if (SY_UNLIKELY(!atomic_load_explicit(&regions->filled, memory_order_acquire)))
        sy_regions_fill(regions);
}

/* Whether all memory of this node's PEs is mapped here, as far as it was there at the start. */
bool sy_regions_serves_node(struct sy_regions *regions);

/* Whether a region of the PE with this number on the node is mapped here. */
static inline bool sy_regions_has(const struct sy_regions *regions, unsigned local, unsigned index)
{
    return local < regions->targets &&
           atomic_load_explicit(&regions->found[local * SY_RECORD_REGIONS + index],
                                memory_order_acquire);
}

/* The address of `length` bytes at `offset` of the region of a header, or NULL. */
SY_INLINE char *sy_regions_find(const struct sy_regions *regions, uint64_t header, uint64_t offset,
                                uint64_t length)
{
    unsigned target = sy_record_target(header), region = sy_record_region(header);
    unsigned row = target == SY_RECORD_TARGET_SELF ? regions->targets : target;

    if (SY_UNLIKELY(row > regions->targets))
        return NULL;
    const struct sy_regions_span *span = atomic_load_explicit(
        &regions->found[row * SY_RECORD_REGIONS + region], memory_order_acquire);
    if (SY_UNLIKELY(!span || offset > span->length || length > span->length - offset))
        return NULL;
    return span->base + offset;
}

#endif

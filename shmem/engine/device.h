/* Requests for memory of this PE that CPUs cannot load and store: by the copies of the core. It is
 * where a request's memory is looked for when sy_regions_find has found none, so other requests do
 * not pay for it. All that they say is checked, by the core last. */
#ifndef SY_ENGINE_DEVICE_H
#define SY_ENGINE_DEVICE_H

#include "engine/regions.h"

/* Whether a header names a region of a device of this PE. */
bool sy_device_is(const struct sy_regions *regions, uint64_t header) SY_COLD;

/* All of them: false where there is no such memory. */
bool sy_device_put(const struct sy_regions *regions, uint64_t header, const char *from,
                   size_t length) SY_COLD;
bool sy_device_get(const struct sy_regions *regions, uint64_t header, char *to,
                   size_t length) SY_COLD;

/* Whether copies with it go on by themselves; begins one, which others copy on the spot, and waits
 * for its end. */
bool sy_device_is_ahead(const struct sy_regions *regions, uint64_t header) SY_COLD;
bool sy_device_begin(const struct sy_regions *regions, uint64_t header, bool in, char *local,
                     size_t length, struct sy_device_copying *copying) SY_COLD;
void sy_device_end(const struct sy_regions *regions, struct sy_device_copying *copying) SY_COLD;

/* The address of memory that is read until sy_device_unmap; NULL: it has to be copied, or is not
 * there. */
const char *sy_device_map(const struct sy_regions *regions, uint64_t header, size_t length) SY_COLD;
void sy_device_unmap(const struct sy_regions *regions, uint64_t header,
                     const char *address) SY_COLD;

/* The atomic operation of a header; old: where the result goes, or NULL. */
bool sy_device_amo(const struct sy_regions *regions, uint64_t header, uint64_t operand,
                   uint64_t compare, uint64_t *old) SY_COLD;

#endif

#include "engine/device.h"

/* A PE that serves its node has no copies of others' devices. */
bool sy_device_is(const struct sy_regions *regions, uint64_t header)
{
    const struct sy_host *host = regions->host;
    unsigned target = sy_record_target(header);

    if (target != SY_RECORD_TARGET_SELF &&
        (!regions->targets || target != (unsigned)host->place(host->pe).local))
        return false;
    return atomic_load_explicit(&regions->device[sy_record_region(header)], memory_order_acquire);
}

bool sy_device_put(const struct sy_regions *regions, uint64_t header, const char *from,
                   size_t length)
{
    return sy_device_is(regions, header) &&
           !regions->host->device_copy(sy_record_region(header), true, sy_record_offset(header),
                                       (char *)from, length);
}

bool sy_device_get(const struct sy_regions *regions, uint64_t header, char *to, size_t length)
{
    return sy_device_is(regions, header) &&
           !regions->host->device_copy(sy_record_region(header), false, sy_record_offset(header),
                                       to, length);
}

/* ---- copies that go on by themselves ---- */

static bool device_goes_ahead(const struct sy_host *host)
{
    return SY_HOST_HAS(host, device_end) && host->device_ahead && host->device_begin &&
           host->device_end;
}

bool sy_device_is_ahead(const struct sy_regions *regions, uint64_t header)
{
    return sy_device_is(regions, header) && device_goes_ahead(regions->host) &&
           regions->host->device_ahead(sy_record_region(header));
}

bool sy_device_begin(const struct sy_regions *regions, uint64_t header, bool in, char *local,
                     size_t length, struct sy_device_copying *copying)
{
    unsigned region = sy_record_region(header);
    uint64_t offset = sy_record_offset(header);

    copying->ticket = NULL;
    if (!sy_device_is(regions, header))
        return false;
    return !(device_goes_ahead(regions->host)
                 ? regions->host->device_begin(region, in, offset, local, length, copying)
                 : regions->host->device_copy(region, in, offset, local, length));
}

void sy_device_end(const struct sy_regions *regions, struct sy_device_copying *copying)
{
    while (copying->ticket && !regions->host->device_end(copying, regions->host->crowded))
        ; /* what is left is short; a sleep takes as long as that where it is not */
}

/* ---- mapping ---- */

const char *sy_device_map(const struct sy_regions *regions, uint64_t header, size_t length)
{
    const struct sy_host *host = regions->host;

    if (!SY_HOST_HAS(host, device_unmap) || !host->device_map || !host->device_unmap ||
        !sy_device_is(regions, header))
        return NULL;
    return host->device_map(sy_record_region(header), false, sy_record_offset(header), length);
}

void sy_device_unmap(const struct sy_regions *regions, uint64_t header, const char *address)
{
    regions->host->device_unmap(sy_record_region(header), (char *)address);
}

bool sy_device_amo(const struct sy_regions *regions, uint64_t header, uint64_t operand,
                   uint64_t compare, uint64_t *old)
{
    unsigned width = 1u << sy_record_code(header);

    return width >= 4 && sy_record_offset(header) % width == 0 && sy_device_is(regions, header) &&
           !regions->host->device_amo(sy_record_region(header),
                                      (enum sy_amo_op)(sy_record_op(header) & 7),
                                      sy_record_offset(header), width, operand, compare, old);
}

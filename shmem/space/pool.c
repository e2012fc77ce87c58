/* The pool of a space on this PE: see space.h. A device's plugin makes it and may be anybody's, so
 * what it answers is judged here, before anybody relies on it. */
#include <errno.h>
#include <sys/stat.h>

#include "core/memory/windows.h"
#include "core/start/world.h"
#include "space/space.h"
#include "util/bits.h"
#include "util/error.h"

static struct sy_pool_config pool_config(const shmemx_space_config_t *config)
{
    return (struct sy_pool_config){.size = sizeof(struct sy_pool_config),
                                   .length = config->size,
                                   .flags = config->flags,
                                   .index = config->device - 1,
                                   .local = sy_world.local,
                                   .locals = sy_world.node_size,
                                   .numa = config->numa_nodes,
                                   .name = config->name ? config->name : "",
                                   .base = config->base,
                                   .pe = sy_world.pe,
                                   .npes = sy_world.npes};
}

static int pool_check_config(const shmemx_space_config_t *config, struct sy_error *err)
{
    if (!config->size || config->size > PTRDIFF_MAX)
        return sy_fail(err, EINVAL, "a space cannot have %zu bytes for each PE", config->size);
    if (config->device < 0)
        return sy_fail(err, EINVAL, "device %d; the first is 1, and 0 is any", config->device);
    if (config->device_type == SHMEMX_DEVICE_USER && config->base &&
        sy_windows_overlap(config->base, config->size))
        return sy_fail(err, EINVAL, "of %zu bytes at %p some are symmetric memory already",
                       config->size, config->base);
    return 0;
}

/* Whether a region's file, which other PEs map, is shorter than it. Only those of file systems have
 * a length. */
static bool pool_file_is_short(const struct sy_region *region)
{
    struct stat file;

    if (region->fd < 0 || region->kind == SY_REGION_DEVICE)
        return false;
    return fstat(region->fd, &file) ||
           (S_ISREG(file.st_mode) && ((uint64_t)file.st_size < region->fd_offset ||
                                      (uint64_t)file.st_size - region->fd_offset < region->length));
}

/* Judges what a plugin has made. */
static int pool_check_made(const struct sy_space *space, size_t asked, struct sy_error *err)
{
    const struct sy_region *region = &space->info.region;
    uintptr_t base = (uintptr_t)region->base;
    const char *why = (unsigned)region->kind > SY_REGION_DEVICE ? "is of no kind there is"
                      : region->length < asked                  ? "is smaller than was asked for"
                      : !base || base % SY_LINE                 ? "does not begin at a line"
                      : region->length > PTRDIFF_MAX || region->length > UINTPTR_MAX - base
                          ? "ends beyond all addresses"
                      : sy_windows_overlap(region->base, region->length)
                          ? "is symmetric memory already"
                      : region->kind == SY_REGION_DEVICE && region->fd >= 0
                          ? "is memory of a device and names a file (fd is not -1)"
                      : pool_file_is_short(region) ? "is longer than its file"
                                                   : NULL;

    return why ? sy_fail(err, EPROTO,
                         "a defect of the plugin of device %s: its pool of %zu bytes at %p, where "
                         "%zu were asked for, %s",
                         space->device->table->name, region->length, (void *)region->base, asked,
                         why)
               : 0;
}

int sy_space_make_pool(struct sy_space *space, const shmemx_space_config_t *config,
                       struct sy_error *err)
{
    int rc = pool_check_config(config, err);

    if (rc)
        return rc;
    const struct sy_pool_config wanted = pool_config(config);
    space->device = sy_device_open((int)config->device_type, err);
    if (!space->device)
        return -ENODEV;
    space->info = (struct sy_pool_info){.size = sizeof space->info};
    rc = space->device->table->pool_create(space->device->self, &wanted, &space->pool, &space->info,
                                           err);
    rc = sy_device_answer(space->device->table, rc, err);
    space->has_pool = !rc;
    space->info.got[sizeof space->info.got - 1] = '\0';
    return rc ? rc : pool_check_made(space, config->size, err);
}

void sy_space_end_pool(struct sy_space *space)
{
    if (space->has_pool)
        space->device->table->pool_destroy(space->device->self, space->pool);
    space->has_pool = false;
}

/* The host's own memory: a pool is a sealed file without a name, which the PEs of the node map.
 * Pages and nodes of memory: util/pages.h. An instance is the host's table itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include <switchyard/device.h>

#include "util/pages.h"

static int host_describe(void *self, char *text, size_t room)
{
    (void)self;
    return sy_pages_describe(text, room);
}

/* More than there is at all would be set aside, and end the job when it is used, or be locked page
 * by page until nothing is left for others. */
static int host_check_length(const struct sy_host *host, size_t length, struct sy_error *err)
{
    struct sysinfo machine;

    if (sysinfo(&machine))
        return 0;
    uint64_t all = ((uint64_t)machine.totalram + machine.totalswap) * machine.mem_unit;
    return length <= all ? 0
                         : host->fail(err, ENOMEM,
                                      "%zu MiB, but this machine has %" PRIu64
                                      " MiB of memory and swap space; SHMEMX_DEVICE_FILE has more",
                                      length >> 20, all >> 20);
}

/* Nodes of memory are chosen by their bits. */
static int host_check(const struct sy_host *host, const struct sy_pool_config *config,
                      struct sy_error *err)
{
    if (config->index > 0)
        return host->fail(err, ENODEV, "the host is one device; there is no device %d",
                          config->index + 1);
    if (config->base)
        return host->fail(err, EINVAL, "memory of the program; that is of another type of device");
    if (config->name && *config->name)
        return host->fail(err, EINVAL,
                          "a name (\"%.60s\"), but a host keeps nothing beyond the job",
                          config->name);
    return host_check_length(host, config->length, err);
}

static int host_pool_create(void *self, const struct sy_pool_config *config, void **pool,
                            struct sy_pool_info *info, struct sy_error *err)
{
    const struct sy_host *host = self;
    const struct sy_pages_wish wish = {
        .length = config->length, .flags = config->flags, .numa = config->numa};
    struct sy_pages *pages = malloc(sizeof *pages);
    int rc = pages ? host_check(host, config, err) : host->fail(err, ENOMEM, "no memory");

    if (!rc)
        rc = sy_pages_open("openshmem-space", &wish, NULL, pages, err);
    if (rc) {
        free(pages);
        return rc;
    }
    if (pages->failed && !config->local)
        host->log(SY_LOG_WARN, "host", "a space of %zu bytes: %s", pages->length, pages->got);
    info->region = (struct sy_region){
        .kind = config->flags & (SY_WISH_NUMA_BIND | SY_WISH_NUMA_INTERLEAVE | SY_WISH_NUMA_LOCAL)
                    ? SY_REGION_NUMA
                    : SY_REGION_CPU,
        .base = pages->base,
        .length = pages->length,
        .fd = pages->fd};
    snprintf(info->got, sizeof info->got, "%s", pages->got);
    *pool = pages;
    return 0;
}

static void host_pool_destroy(void *self, void *pool)
{
    (void)self;
    sy_pages_close(pool);
    free(pool);
}

SY_DEVICE_PLUGIN(host) = {
    .size = sizeof(struct sy_device),
    .name = "host",
    .type = SY_DEVICE_CPU,
    .describe = host_describe,
    .pool_create = host_pool_create,
    .pool_destroy = host_pool_destroy,
};

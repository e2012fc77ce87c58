/* Memory that the program has already, and what is in it: a pool is config->base, on each member
 * its own. It is in no file of the library's, so the PEs of a node do not map it; its owner serves
 * them. An instance is the host's table itself, a pool nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <switchyard/device.h>

#include "util/own_memory.h"

/* Blocks of an allocator that begins here have the alignment of any type. */
#define ALIGNMENT 64

/* The end of what is mapped from `at` on, to be read and written; `at` where that begins elsewhere.
 * *mapped: something is mapped there. */
static uintptr_t user_usable_upto(FILE *maps, uintptr_t at, uintptr_t end, bool *mapped)
{
    struct sy_mapping mapping;

    *mapped = false;
    while (at < end && sy_mapping_next(maps, &mapping)) {
        if (mapping.end <= at)
            continue;
        *mapped = mapping.begin <= at;
        if (!*mapped || !mapping.usable)
            break;
        at = mapping.end;
    }
    return at;
}

/* 0 if `length` bytes are mapped here, to be read and written by what the kernel says of them. */
static int user_check_mapped(const struct sy_host *host, const char *base, size_t length,
                             struct sy_error *err)
{
    uintptr_t end = (uintptr_t)base + length;
    FILE *maps = fopen(SY_OWN_MAPPINGS, "re");
    bool mapped;

    if (!maps)
        return host->fail(err, errno, SY_OWN_MAPPINGS ", to see what is mapped: %s",
                          strerror(errno));
    uintptr_t upto = user_usable_upto(maps, (uintptr_t)base, end, &mapped);
    fclose(maps);
    if (upto >= end)
        return 0;
    return host->fail(err, EFAULT, "%zu bytes at %p %s at %p", length, (const void *)base,
                      mapped ? "cannot be read and written" : "are not all mapped", (void *)upto);
}

/* Whether a page can be read and written, by the kernel's word: a pipe takes a byte from it and
 * gives it back. */
static int user_is_writable(char *at)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
        return -errno;
    int rc = write(ends[1], at, 1) == 1 && read(ends[0], at, 1) == 1 ? 0 : -errno;
    close(ends[0]);
    close(ends[1]);
    return rc;
}

static int user_check(const struct sy_host *host, const struct sy_pool_config *config,
                      struct sy_error *err)
{
    char *base = config->base;

    if (!base)
        return host->fail(err, EINVAL, "no memory is given (base is NULL)");
    if ((uintptr_t)base % ALIGNMENT)
        return host->fail(err, EINVAL, "memory at %p, which is not aligned to %d bytes",
                          (void *)base, ALIGNMENT);
    if (!config->length || config->length > UINTPTR_MAX - (uintptr_t)base)
        return host->fail(err, EINVAL, "%zu bytes at %p, which end beyond all addresses",
                          config->length, (void *)base);
    if (config->flags || config->numa || config->index > 0 || (config->name && *config->name))
        return host->fail(err, EINVAL,
                          "memory of the program is as it is: flags, nodes of memory, a device's "
                          "number and a name have no effect on it");
    int rc = user_check_mapped(host, base, config->length, err);
    if (rc)
        return rc;
    rc = user_is_writable(base);
    if (!rc)
        rc = user_is_writable(base + config->length - 1);
    if (!rc)
        return 0;
    if (rc == -EFAULT)
        return host->fail(err, EFAULT, "%zu bytes at %p cannot be read and written: %s",
                          config->length, (void *)base, strerror(EFAULT));
    return host->fail(err, -rc, "a pipe, to see whether memory can be written: %s", strerror(-rc));
}

static int user_pool_create(void *self, const struct sy_pool_config *config, void **pool,
                            struct sy_pool_info *info, struct sy_error *err)
{
    int rc = user_check(self, config, err);

    if (rc)
        return rc;
    info->region = (struct sy_region){
        .kind = SY_REGION_CPU, .base = config->base, .length = config->length, .fd = -1};
    *pool = config->base;
    return 0;
}

SY_DEVICE_PLUGIN(user) = {
    .size = sizeof(struct sy_device),
    .name = "user",
    .type = SY_DEVICE_USER,
    .pool_create = user_pool_create,
};

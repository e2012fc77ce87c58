/* Memory that the program has already, and what is in it: a pool is config->base, on each member
 * its own. It is in no file of the library's, so the PEs of a node do not map it; its owner serves
 * them. An instance is the host's table itself, a pool nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <switchyard/device.h>

/* Blocks of an allocator that begins here have the alignment of any type. */
#define ALIGNMENT 64

static int user_open(const struct sy_host *host, const void *settings, void **self,
                     struct sy_error *err)
{
    (void)settings, (void)err;
    *self = (void *)host;
    return 0;
}

/* 0 if `length` bytes are mapped here, else -errno at the first hole. */
static int user_is_mapped(const char *base, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)base & ~(uintptr_t)(page - 1);
    unsigned char in[4096];

    for (uintptr_t at = first; at < (uintptr_t)base + length; at += page * sizeof in) {
        size_t left = (uintptr_t)base + length - at, most = page * sizeof in;
        if (mincore((void *)at, left < most ? left : most, in))
            return -errno;
    }
    return 0;
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
    int rc = user_is_mapped(base, config->length);
    if (rc)
        return host->fail(err, EFAULT, "%zu bytes at %p are not all mapped: %s", config->length,
                          (void *)base, strerror(-rc));
    rc = user_is_writable(base);
    if (!rc)
        rc = user_is_writable(base + config->length - 1);
    return rc ? host->fail(err, EFAULT, "%zu bytes at %p cannot be read and written: %s",
                           config->length, (void *)base, strerror(-rc))
              : 0;
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
    .open = user_open,
    .pool_create = user_pool_create,
};

/* A device plugin that is complete and short: docs/devices.md goes through it. Its memory is a
 * block of the process that nobody uses but by the plugin's copies, as that of an accelerator would
 * be; the addresses that stand for it can neither be loaded nor stored.
 *
 *     cc -shared -fPIC $(oshcc -showme:compile) -o shmem_device_far.so far.c
 *     SHMEM_PLUGIN_PATH=$PWD oshrun -n 2 ./program
 *
 * where the program makes a space of SHMEMX_DEVICE_GPU. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <switchyard/device.h>

/* ---- settings ---- */

struct settings {
    size_t memory;
    bool atomics;
};

static const struct sy_option options[] = {
    {"far.memory", SY_OPTION_SIZE, 0, offsetof(struct settings, memory), "256m", NULL, 0, 0, NULL,
     "The most bytes of a memory space on this device"},
    {"far.atomics", SY_OPTION_BOOL, 0, offsetof(struct settings, atomics), "on", NULL, 0, 0, NULL,
     "Whether the device has atomic operations"},
    {.name = NULL}};

/* ---- the device ---- */

struct device {
    const struct sy_host *host;
    struct settings settings;
};

static int far_open(const struct sy_host *host, const void *settings, void **self,
                    struct sy_error *err)
{
    struct device *device = malloc(sizeof *device);

    if (!device)
        return host->fail(err, ENOMEM, "no memory for the device");
    /* Here a real one looks for its hardware: return host->fail(err, ENODEV, "no card is there").
     */
    *device = (struct device){host, *(const struct settings *)settings};
    *self = device;
    return 0;
}

static void far_close(void *self)
{
    free(self);
}

static int far_describe(void *self, char *text, size_t room)
{
    const struct device *device = self;

    return snprintf(text, room, "memory of the process, as if it were far away: %zu bytes a space",
                    device->settings.memory);
}

/* ---- pools: the memory of a space on this PE ---- */

struct pool {
    char *addresses; /* what the program has */
    char *bytes;     /* what they stand for */
    size_t length;
};

static void far_pool_destroy(void *self, void *of)
{
    struct pool *pool = of;

    (void)self;
    if (pool->addresses != MAP_FAILED)
        munmap(pool->addresses, pool->length);
    free(pool->bytes);
    free(pool);
}

static int far_pool_create(void *self, const struct sy_pool_config *config, void **made,
                           struct sy_pool_info *info, struct sy_error *err)
{
    const struct device *device = self;

    if (config->flags & ~SY_WISH_BUFFER)
        return device->host->fail(err, EINVAL, "flags %#x are not for this device", config->flags);
    if (config->length > device->settings.memory)
        return device->host->fail(err, ENOMEM, "%zu bytes; far.memory allows %zu", config->length,
                                  device->settings.memory);
    struct pool *pool = malloc(sizeof *pool);
    if (!pool)
        return device->host->fail(err, ENOMEM, "no memory for a pool");
    pool->length = config->length;
    pool->bytes = calloc(1, pool->length); /* a pool reads as zeros */
    pool->addresses = mmap(NULL, pool->length, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!pool->bytes || pool->addresses == MAP_FAILED) {
        far_pool_destroy(self, pool);
        return device->host->fail(err, ENOMEM, "no memory for %zu bytes", config->length);
    }
    info->region = (struct sy_region){
        .kind = SY_REGION_DEVICE, .base = pool->addresses, .length = pool->length, .fd = -1};
    info->capabilities = device->settings.atomics ? SY_POOL_AMO : 0;
    snprintf(info->got, sizeof info->got, "%zu bytes far away", pool->length);
    *made = pool;
    return 0;
}

/* ---- what CPUs cannot do there ---- */

static int far_copy(void *self, void *of, enum sy_device_way way, uint64_t offset, void *local,
                    size_t length, struct sy_error *err)
{
    char *at = ((struct pool *)of)->bytes + offset;

    (void)self, (void)err;
    if (way == SY_DEVICE_IN)
        memcpy(at, local, length);
    else
        memcpy(local, at, length);
    return 0;
}

/* host->amo is atomic towards all who use it; a real device has its own. */
static int far_amo(void *self, void *of, enum sy_amo_op op, uint64_t offset, size_t width,
                   uint64_t operand, uint64_t compare, uint64_t *result, struct sy_error *err)
{
    (void)err;
    ((struct device *)self)
        ->host->amo(op, ((struct pool *)of)->bytes + offset, width, operand, compare, result);
    return 0;
}

SY_DEVICE_PLUGIN(far) = {
    .size = sizeof(struct sy_device),
    .name = "far",
    .type = SY_DEVICE_GPU,
    .options = options,
    .settings_size = sizeof(struct settings),
    .open = far_open,
    .close = far_close,
    .describe = far_describe,
    .pool_create = far_pool_create,
    .pool_destroy = far_pool_destroy,
    .copy = far_copy,
    .amo = far_amo,
};

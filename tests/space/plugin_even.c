/* A device that PEs with an even number have. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <switchyard/device.h>

static int even_open(const struct sy_host *host, const void *settings, void **self,
                     struct sy_error *err)
{
    (void)settings;
    *self = NULL;
    return host->pe % 2 ? host->fail(err, ENODEV, "an odd PE has no such device") : 0;
}

static int even_pool_create(void *self, const struct sy_pool_config *config, void **pool,
                            struct sy_pool_info *info, struct sy_error *err)
{
    struct sy_region *region = malloc(sizeof *region);
    int fd = memfd_create("even", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    (void)self, (void)err;
    if (!region || fd < 0 || ftruncate(fd, (off_t)config->length) ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
        return -ENOMEM;
    *region = (struct sy_region){.length = config->length, .fd = fd};
    region->base = mmap(NULL, region->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    info->region = *region;
    *pool = region;
    return 0;
}

static void even_pool_destroy(void *self, void *pool)
{
    const struct sy_region *region = pool;

    (void)self;
    munmap(region->base, region->length);
    close(region->fd);
    free(pool);
}

SY_DEVICE_PLUGIN(even) = {
    .size = sizeof(struct sy_device),
    .name = "even",
    .type = 17,
    .open = even_open,
    .pool_create = even_pool_create,
    .pool_destroy = even_pool_destroy,
};

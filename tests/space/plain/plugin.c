/* A device that copies: its pools have addresses that nobody can use, and bytes elsewhere. A call
 * for one of them at a time; atomic operations but where the space has SY_WISH_LOCKED. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <switchyard/device.h>

struct pool {
    char *base, *bytes;
    size_t length;
};

static int plain_open(const struct sy_host *host, const void *settings, void **self,
                      struct sy_error *err)
{
    (void)settings, (void)err;
    *self = (void *)host;
    return 0;
}

static int plain_pool_create(void *self, const struct sy_pool_config *config, void **made,
                             struct sy_pool_info *info, struct sy_error *err)
{
    struct pool *pool = malloc(sizeof *pool);

    (void)self, (void)err;
    pool->length = config->length;
    pool->bytes = calloc(1, config->length);
    pool->base = mmap(NULL, config->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    info->region = (struct sy_region){
        .kind = SY_REGION_DEVICE, .base = pool->base, .length = pool->length, .fd = -1};
    info->capabilities = config->flags & SY_WISH_LOCKED ? 0 : SY_POOL_AMO;
    *made = pool;
    return 0;
}

static void plain_pool_destroy(void *self, void *made)
{
    struct pool *pool = made;

    (void)self;
    munmap(pool->base, pool->length);
    free(pool->bytes);
    free(pool);
}

static int plain_copy(void *self, void *made, enum sy_device_way way, uint64_t offset, void *local,
                      size_t length, struct sy_error *err)
{
    char *at = ((struct pool *)made)->bytes + offset;

    (void)self, (void)err;
    memcpy(way == SY_DEVICE_IN ? at : local, way == SY_DEVICE_IN ? local : at, length);
    return 0;
}

static int plain_amo(void *self, void *made, enum sy_amo_op op, uint64_t offset, size_t width,
                     uint64_t operand, uint64_t compare, uint64_t *result, struct sy_error *err)
{
    (void)err;
    ((const struct sy_host *)self)
        ->amo(op, ((struct pool *)made)->bytes + offset, width, operand, compare, result);
    return 0;
}

SY_DEVICE_PLUGIN(plain) = {
    .size = sizeof(struct sy_device),
    .name = "plain",
    .type = SY_DEVICE_GPU,
    .open = plain_open,
    .pool_create = plain_pool_create,
    .pool_destroy = plain_pool_destroy,
    .copy = plain_copy,
    .amo = plain_amo,
};

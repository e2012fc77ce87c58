/* A device with an engine of its own: copies take the time that they would take there, and are done
 * at their very end, so that whoever reads what is copied too early, or changes its source, is
 * found out. What is mapped is a copy that is written back when the mapping ends. Any call may be
 * made to fail, now and then. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <switchyard/device.h>

struct settings {
    size_t rate, fail;
    bool map, dry;
};

static const struct sy_option options[] = {
    {"engine.rate", SY_OPTION_SIZE, 0, offsetof(struct settings, rate), "4g", NULL, 0, 0, NULL,
     "Bytes a second of copies"},
    {"engine.fail", SY_OPTION_SIZE, 0, offsetof(struct settings, fail), "0", NULL, 0, 0, NULL,
     "One call of so many fails; 0: none"},
    {"engine.map", SY_OPTION_BOOL, 0, offsetof(struct settings, map), "off", NULL, 0, 0, NULL,
     "Whether memory can be mapped"},
    {"engine.dry", SY_OPTION_BOOL, 0, offsetof(struct settings, dry), "off", NULL, 0, 0, NULL,
     "Whether nothing is copied: for the time that it takes alone"},
    {.name = NULL}};

struct engine {
    const struct sy_host *host;
    struct settings settings;
    _Atomic uint64_t calls;
};

struct pool {
    char *addresses, *bytes;
    size_t length;
    _Atomic uint64_t busy; /* until then it is at copies */
};

struct job {
    enum sy_device_way way;
    uint64_t offset, over; /* ns */
    char *local;
    size_t length;
};

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Every other failure has no words. */
static int engine_fails(struct engine *engine, const char *call, struct sy_error *err)
{
    uint64_t number = atomic_fetch_add(&engine->calls, 1) + 1, mixed = number * 0x9E3779B97F4A7C15u;

    mixed = (mixed ^ (uint64_t)engine->host->pe << 20) * 0xBF58476D1CE4E5B9u >> 33;
    if (!engine->settings.fail || mixed % engine->settings.fail)
        return 0;
    return number % 2 ? engine->host->fail(err, EIO, "%s: the engine has failed", call) : -EIO;
}

static int engine_open(const struct sy_host *host, const void *settings, void **self,
                       struct sy_error *err)
{
    struct engine *engine = calloc(1, sizeof *engine);

    if (!engine)
        return host->fail(err, ENOMEM, "no memory for the device");
    engine->host = host;
    engine->settings = *(const struct settings *)settings;
    *self = engine;
    return 0;
}

static void engine_close(void *self)
{
    free(self);
}

static void engine_pool_destroy(void *self, void *of)
{
    struct pool *pool = of;

    (void)self;
    munmap(pool->addresses, pool->length);
    free(pool->bytes);
    free(pool);
}

static int engine_pool_create(void *self, const struct sy_pool_config *config, void **made,
                              struct sy_pool_info *info, struct sy_error *err)
{
    struct engine *engine = self;
    int rc = engine_fails(engine, "pool_create", err);
    struct pool *pool = rc ? NULL : calloc(1, sizeof *pool);

    if (rc)
        return rc;
    if (pool)
        pool->bytes = calloc(1, config->length);
    if (!pool || !pool->bytes)
        return engine->host->fail(err, ENOMEM, "no memory for a pool");
    pool->length = config->length;
    pool->addresses = mmap(NULL, pool->length, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    info->region = (struct sy_region){
        .kind = SY_REGION_DEVICE, .base = pool->addresses, .length = pool->length, .fd = -1};
    info->capabilities = SY_POOL_COPY | SY_POOL_AMO | SY_POOL_AHEAD |
                         (engine->settings.map ? SY_POOL_MAP : 0u);
    *made = pool;
    return 0;
}

/* ---- copies ---- */

static int engine_copy_begin(void *self, void *of, enum sy_device_way way, uint64_t offset,
                             void *local, size_t length, void **ticket, struct sy_error *err)
{
    struct engine *engine = self;
    struct pool *pool = of;
    int rc = engine_fails(engine, "copy_begin", err);
    struct job *job = rc ? NULL : malloc(sizeof *job);

    if (rc)
        return rc;
    if (!job)
        return engine->host->fail(err, ENOMEM, "no memory for a copy");
    uint64_t takes = length * 1000 / (engine->settings.rate / 1000000 + 1), busy = pool->busy, over;
    do {
        over = (busy > now() ? busy : now()) + takes;
    } while (!atomic_compare_exchange_weak(&pool->busy, &busy, over));
    *job = (struct job){way, offset, over, local, length};
    if (way == SY_DEVICE_OUT && !engine->settings.dry)
        memset(local, 0xA5, length);
    *ticket = job;
    return 0;
}

static int engine_copy_end(void *self, void *of, void *ticket, bool wait, struct sy_error *err)
{
    struct engine *engine = self;
    struct job *job = ticket;
    uint64_t at = now();

    if (at < job->over && !wait)
        return -EAGAIN;
    if (at < job->over) {
        const struct timespec left = {.tv_nsec = (long)((job->over - at) % 1000000000)};
        nanosleep(&left, NULL);
    }
    char *there = ((struct pool *)of)->bytes + job->offset;
    if (!engine->settings.dry || job->length < 4096) {
        if (job->way == SY_DEVICE_IN)
            memcpy(there, job->local, job->length);
        else
            memcpy(job->local, there, job->length);
    }
    free(job);
    return engine_fails(engine, "copy_end", err);
}

static int engine_copy(void *self, void *of, enum sy_device_way way, uint64_t offset, void *local,
                       size_t length, struct sy_error *err)
{
    void *ticket;
    int rc = engine_copy_begin(self, of, way, offset, local, length, &ticket, err);

    return rc ? rc : engine_copy_end(self, of, ticket, true, err);
}

/* ---- mapping ---- */

struct mapping {
    size_t offset, length;
    enum sy_device_way way;
    char bytes[];
};

static int engine_map(void *self, void *of, enum sy_device_way way, uint64_t offset, size_t length,
                      void **address, struct sy_error *err)
{
    int rc = engine_fails(self, "map", err);
    struct mapping *mapping = rc ? NULL : malloc(sizeof *mapping + length);

    if (!mapping)
        return rc ? rc : -ENOMEM;
    *mapping = (struct mapping){offset, length, way};
    if (way == SY_DEVICE_OUT)
        memcpy(mapping->bytes, ((struct pool *)of)->bytes + offset, length);
    else
        memset(mapping->bytes, 0xA5, length);
    *address = mapping->bytes;
    return 0;
}

static int engine_unmap(void *self, void *of, void *address, struct sy_error *err)
{
    struct mapping *mapping = (void *)((char *)address - offsetof(struct mapping, bytes));

    if (mapping->way == SY_DEVICE_IN)
        memcpy(((struct pool *)of)->bytes + mapping->offset, mapping->bytes, mapping->length);
    memset(mapping->bytes, 0x5A, mapping->length);
    free(mapping);
    return engine_fails(self, "unmap", err);
}

static int engine_amo(void *self, void *of, enum sy_amo_op op, uint64_t offset, size_t width,
                      uint64_t operand, uint64_t compare, uint64_t *result, struct sy_error *err)
{
    struct engine *engine = self;

    engine->host->amo(op, ((struct pool *)of)->bytes + offset, width, operand, compare, result);
    return engine_fails(engine, "amo", err);
}

SY_DEVICE_PLUGIN(engine) = {
    .size = sizeof(struct sy_device),
    .name = "engine",
    .type = SY_DEVICE_GPU,
    .options = options,
    .settings_size = sizeof(struct settings),
    .open = engine_open,
    .close = engine_close,
    .pool_create = engine_pool_create,
    .pool_destroy = engine_pool_destroy,
    .copy = engine_copy,
    .amo = engine_amo,
    .copy_begin = engine_copy_begin,
    .copy_end = engine_copy_end,
    .map = engine_map,
    .unmap = engine_unmap,
};

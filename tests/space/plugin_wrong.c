/* A device whose pools are not as the rules say: wrong.how tells in which way. Called from one
 * thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <switchyard/device.h>

struct settings {
    const char *how;
};

static const struct sy_option options[] = {{"wrong.how", SY_OPTION_STRING, 0,
                                            offsetof(struct settings, how), "", NULL, 0, 0, NULL,
                                            "What is wrong"},
                                           {.name = NULL}};

struct wrong {
    const struct sy_host *host;
    const char *how;
    char *base;
    size_t length;
    int fd;
};

static int wrong_open(const struct sy_host *host, const void *settings, void **self,
                      struct sy_error *err)
{
    struct wrong *wrong = calloc(1, sizeof *wrong);

    (void)err;
    if (!wrong)
        return -ENOMEM;
    wrong->host = host;
    wrong->how = ((const struct settings *)settings)->how;
    *self = wrong;
    return strcmp(wrong->how, "open") ? 0 : EIO;
}

static void wrong_pool_destroy(void *self, void *pool)
{
    struct wrong *wrong = self;

    munmap(wrong->base, wrong->length);
    close(wrong->fd);
    wrong->host->log(SY_LOG_ERROR, "wrong", "destroyed a pool of %zu bytes, %s", wrong->length,
                     pool ? "by its handle" : "without a handle");
}

/* What a plugin says of a pool that is as it should be. */
static void wrong_say(const struct wrong *wrong, void **pool, struct sy_pool_info *info)
{
    struct sy_region *region = &info->region;
    const char *how = wrong->how;

    *pool = strcmp(how, "no handle") ? region : NULL;
    *region = (struct sy_region){.base = wrong->base, .length = wrong->length, .fd = wrong->fd};
    if (!strcmp(how, "empty"))
        region->length = 0;
    if (!strcmp(how, "nowhere"))
        region->base = NULL;
    if (!strcmp(how, "odd"))
        region->base++;
    if (!strcmp(how, "endless"))
        region->length = SIZE_MAX;
    if (!strcmp(how, "file"))
        region->length *= 4;
    if (!strcmp(how, "kind"))
        region->kind = (enum sy_region_kind)77;
    if (!strcmp(how, "device file") || !strcmp(how, "copy"))
        region->kind = SY_REGION_DEVICE;
    if (!strcmp(how, "copy"))
        region->fd = -1;
    if (!strcmp(how, "text"))
        memset(info->got, 'x', sizeof info->got);
}

static int wrong_pool_create(void *self, const struct sy_pool_config *config, void **pool,
                             struct sy_pool_info *info, struct sy_error *err)
{
    struct wrong *wrong = self;

    (void)err;
    wrong->length = strcmp(wrong->how, "short") ? config->length : config->length / 2;
    wrong->fd = memfd_create("wrong", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (wrong->fd < 0 || ftruncate(wrong->fd, (off_t)wrong->length) ||
        fcntl(wrong->fd, F_ADD_SEALS, F_SEAL_SHRINK))
        return -ENOMEM;
    wrong->base = mmap(NULL, wrong->length, PROT_READ | PROT_WRITE, MAP_SHARED, wrong->fd, 0);
    wrong_say(wrong, pool, info);
    return !strcmp(wrong->how, "error")      ? -EIO
           : !strcmp(wrong->how, "positive") ? EIO
           : !strcmp(wrong->how, "none")     ? -ENODEV
                                             : 0;
}

/* Answers as read() does. */
static int wrong_copy(void *self, void *pool, enum sy_device_way way, uint64_t offset, void *local,
                      size_t length, struct sy_error *err)
{
    (void)self, (void)pool, (void)way, (void)offset, (void)local, (void)err;
    return (int)length;
}

SY_DEVICE_PLUGIN(wrong) = {
    .size = sizeof(struct sy_device),
    .name = "wrong",
    .type = 18,
    .options = options,
    .settings_size = sizeof(struct settings),
    .open = wrong_open,
    .close = free,
    .pool_create = wrong_pool_create,
    .pool_destroy = wrong_pool_destroy,
    .copy = wrong_copy,
};

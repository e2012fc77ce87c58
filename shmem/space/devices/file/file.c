/* The plugin's table, and its pools: see file.h. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "space/devices/file/file.h"
#include "util/bits.h"
#include "util/memfd.h"
#include "util/nameless.h"

/* An instance. */
struct file_device {
    const struct sy_host *host;
    const struct file_settings *settings;
};

static const struct sy_option file_options[] = {
    {"file.directory", SY_OPTION_STRING, 0, offsetof(struct file_settings, directory), ".", NULL, 0,
     0, NULL, "The directory of the files that memory spaces of type SHMEMX_DEVICE_FILE are in"},
    {.name = NULL}};

static int file_open(const struct sy_host *host, const void *settings, void **self,
                     struct sy_error *err)
{
    struct file_device *device = malloc(sizeof *device);

    if (!device)
        return host->fail(err, ENOMEM, "no memory");
    *device = (struct file_device){.host = host, .settings = settings};
    *self = device;
    return 0;
}

static int file_describe(void *self, char *text, size_t room)
{
    const struct file_device *device = self;
    const char *directory = device->settings->directory;
    struct statvfs there;

    if (statvfs(directory, &there))
        return snprintf(text, room, "directory (SHMEM_FILE_DIRECTORY): %s: %s", directory,
                        strerror(errno));
    return snprintf(text, room, "directory (SHMEM_FILE_DIRECTORY): %s, %llu MB free", directory,
                    (unsigned long long)there.f_bavail * there.f_frsize >> 20);
}

static int file_check(const struct sy_host *host, const struct sy_pool_config *config,
                      struct sy_error *err)
{
    bool named = config->name && *config->name;

    if (!config->length || config->length > (size_t)INT64_MAX / 2)
        return host->fail(err, EINVAL, "a file of %zu bytes", config->length);
    if (config->flags & ~SY_WISH_RESTART || config->numa)
        return host->fail(err, EINVAL,
                          "flags 0x%x and nodes of memory 0x%lx; a file knows restart (0x%x) alone",
                          (unsigned)config->flags, config->numa, SY_WISH_RESTART);
    if (config->flags & SY_WISH_RESTART && !named)
        return host->fail(err, EINVAL,
                          "to go on from what was kept, the space needs the name that "
                          "it was kept by");
    if (config->base || config->index > 0)
        return host->fail(err, EINVAL,
                          "memory of the program, or a device's number: a file has no "
                          "use for these");
    return 0;
}

/* Makes the working file and maps it. */
static int file_make(struct file_pool *pool, const char *directory, bool *reserved,
                     struct sy_error *err)
{
    pool->fd = sy_nameless_open(directory, pool->length, reserved, err);
    if (pool->fd < 0)
        return pool->fd;
    pool->base = mmap(NULL, pool->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      pool->fd, 0);
    if (pool->base != MAP_FAILED)
        return 0;
    int code = errno;
    close(pool->fd);
    return pool->host->fail(err, code, "mapping a file of %zu bytes in %.200s: %s", pool->length,
                            directory, strerror(code));
}

static void file_fill_info(const struct file_pool *pool, const char *directory, bool reserved,
                           struct sy_pool_info *info)
{
    bool safe = sy_memfd_is_safe(pool->fd, pool->length);

    info->region = (struct sy_region){.kind = SY_REGION_FILE,
                                      .base = pool->base,
                                      .length = pool->length,
                                      .fd = safe ? pool->fd : -1};
    info->capabilities = pool->directory >= 0 ? SY_POOL_DURABLE : 0;
    info->generation = pool->last;
    info->committed = pool->committed;
    snprintf(info->got, sizeof info->got, "%s %.90s%s%s",
             pool->directory < 0 ? "not kept, in" : "kept in",
             pool->directory < 0 ? directory : pool->path,
             reserved ? "" : "; its blocks are not set aside, a full disk is SIGBUS",
             safe ? "" : "; served by its owner, since others could shorten the file");
}

static int file_pool_create(void *self, const struct sy_pool_config *config, void **made,
                            struct sy_pool_info *info, struct sy_error *err)
{
    const struct file_device *device = self;
    const char *directory = device->settings->directory;
    int rc = file_check(device->host, config, err);
    bool reserved = false;

    if (rc)
        return rc;
    struct file_pool *pool = malloc(sizeof *pool);
    if (!pool)
        return device->host->fail(err, ENOMEM, "no memory");
    *pool = (struct file_pool){
        .host = device->host,
        .length = sy_round_up(config->length, (uint64_t)sysconf(_SC_PAGESIZE)),
        .restart = config->flags & SY_WISH_RESTART,
        .pe = config->pe,
        .npes = config->npes,
        .directory = -1,
        .lock = -1,
    };
    if (config->name && *config->name)
        rc = sy_file_keep_open(pool, directory, config->name, err);
    if (!rc && pool->directory >= 0)
        rc = sy_file_keep_check(pool, err);
    if (!rc)
        rc = file_make(pool, directory, &reserved, err);
    if (rc) {
        sy_file_keep_close(pool);
        free(pool);
        return rc;
    }
    file_fill_info(pool, directory, reserved, info);
    *made = pool;
    return 0;
}

static void file_pool_destroy(void *self, void *arg)
{
    struct file_pool *pool = arg;

    (void)self;
    munmap(pool->base, pool->length);
    close(pool->fd);
    sy_file_keep_close(pool);
    free(pool);
}

SY_DEVICE_PLUGIN(file) = {
    .size = sizeof(struct sy_device),
    .name = "file",
    .type = SY_DEVICE_FILE,
    .options = file_options,
    .settings_size = sizeof(struct file_settings),
    .open = file_open,
    .close = free,
    .describe = file_describe,
    .pool_create = file_pool_create,
    .pool_destroy = file_pool_destroy,
    .sync = sy_file_sync,
    .commit = sy_file_commit,
    .restore = sy_file_restore,
};

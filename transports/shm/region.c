/* Regions: those that are there before the exchange are handed round by it, in one file for each
 * PE. Of those that come later the key says where their file is, by process and descriptor: the PEs
 * of the node open it under /proc, which the kernel grants to who might trace the process, and
 * check that it is that file, and sealed. What is in no file, or not to be mapped, is reached
 * through the mailbox that its owner has had since the start (service.c). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transports/shm/exchange.h"
#include "util/memfd.h"

/* What a PE tells of a region's file. */
struct region_key {
    int32_t process, fd; /* process 0: the region is not to be mapped */
    uint64_t device, inode;
    uint64_t offset, length;
};

_Static_assert(sizeof(struct region_key) <= SY_REGION_KEY, "a key has room for it");

static bool region_is_mappable(const struct shm_state *shm, const struct sy_region *region)
{
    return region->length && region->fd >= 0 && shm->settings->map;
}

/* Before the exchange. */
static int region_attach_early(struct shm_state *shm, unsigned index, struct sy_error *err)
{
    if (index >= SHM_WINDOWS)
        return shm->host->fail(err, E2BIG, "more than %d windows", SHM_WINDOWS);
    shm->windows = index + 1;
    shm->region[index].early = true;
    if (shm->region[index].own.length && !shm->mailbox &&
        !region_is_mappable(shm, &shm->region[index].own))
        return sy_shm_service_open(shm, err);
    return 0;
}

static int shm_region_write_key(struct shm_state *shm, const struct sy_region *region, void *key,
                                struct sy_error *err)
{
    struct region_key where = {.process = getpid(),
                               .fd = region->fd,
                               .offset = region->fd_offset,
                               .length = region->length};
    struct stat file;

    if (fstat(region->fd, &file))
        return shm->host->fail(err, errno, "the file of a region: %s", strerror(errno));
    where.device = file.st_dev;
    where.inode = file.st_ino;
    memcpy(key, &where, sizeof where);
    return sizeof where;
}

int sy_shm_region_attach(void *self, unsigned index, const struct sy_region *region, void *key,
                         size_t room, struct sy_error *err)
{
    struct shm_state *shm = self;
    int rc = sy_regions_check(shm->host, region, err);

    if (rc)
        return rc;
    if (index >= SY_REGIONS || room < sizeof(struct region_key))
        return shm->host->fail(err, E2BIG, "there is no region %u", index);
    shm->region[index] = (struct shm_region){.own = *region, .attached = true};
    if (!shm->peer)
        return region_attach_early(shm, index, err);
    if (region_is_mappable(shm, region))
        return shm_region_write_key(shm, region, key, err);
    if (!region->length || shm->mailbox)
        return 0;
    shm->region[index].attached = false;
    return shm->host->fail(err, EOPNOTSUPP,
                           "memory that is in no file, and this PE has been started without a "
                           "mailbox (SHMEM_SHM_MAP=0 gives it one)");
}

/* What is wrong with the file, or NULL. */
static const char *region_judge(const struct region_key *key, int fd)
{
    struct stat file;

    if (fstat(fd, &file))
        return strerror(errno);
    if (file.st_dev != key->device || file.st_ino != key->inode)
        return "it is another one; do the PEs see each other's processes?";
    if (key->offset + key->length < key->length || !sy_memfd_is_safe(fd, key->offset + key->length))
        return "it is not sealed against being shortened, or too short";
    return NULL;
}

/* The region of a PE, or NULL with err. */
static char *region_map(struct shm_state *shm, const struct region_key *key, int pe,
                        struct sy_error *err)
{
    char path[64];
    void *map = MAP_FAILED;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", key->process, key->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    const char *why = fd < 0 ? strerror(errno) : region_judge(key, fd);
    if (!why) {
        map = mmap(NULL, key->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                   (off_t)key->offset);
        why = map == MAP_FAILED ? strerror(errno) : NULL;
    }
    if (fd >= 0)
        close(fd);
    if (why) {
        shm->host->fail(err, EACCES, "the file of %llu bytes of PE %d, %s: %s",
                        (unsigned long long)key->length, pe, path, why);
        return NULL;
    }
    madvise(map, key->length, MADV_DONTDUMP);
    return map;
}

int sy_shm_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                          struct sy_error *err)
{
    struct shm_state *shm = self;
    struct shm_region *region = &shm->region[index];

    sy_regions_attach(&shm->regions, index);
    if (region->early || !keys)
        return 0;
    region->map = calloc((size_t)shm->node_size, sizeof *region->map);
    if (!region->map)
        return shm->host->fail(err, ENOMEM, "no memory for %d PEs of this node", shm->node_size);
    for (int i = 0; i < shm->node_size; i++) {
        struct region_key key;
        const struct shm_peer *peer = &shm->peer[i];
        memcpy(&key, (const char *)keys + (size_t)peer->pe * stride, sizeof key);
        if (peer->pe == shm->host->pe || !peer->known || !key.process ||
            key.length != region->own.length)
            continue;
        region->map[i] = region_map(shm, &key, peer->pe, err);
        if (!region->map[i])
            return -EACCES;
    }
    return 0;
}

/* Any thread applies requests of the mailbox, but one at a time. */
void sy_shm_region_detach(void *self, unsigned index)
{
    struct shm_state *shm = self;
    struct shm_region *region = &shm->region[index];

    sy_regions_detach(&shm->regions, index);
    pthread_mutex_lock(&shm->serving);
    pthread_mutex_unlock(&shm->serving);
    for (int i = 0; region->map && i < shm->node_size; i++)
        if (region->map[i])
            munmap(region->map[i], region->own.length);
    free(region->map);
    *region = (struct shm_region){.attached = false};
}

void sy_shm_regions_close(struct shm_state *shm)
{
    for (unsigned i = 0; i < SY_REGIONS && shm->regions.found; i++)
        if (shm->region[i].attached && !shm->region[i].early)
            sy_shm_region_detach(shm, i);
}

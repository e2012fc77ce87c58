/* Regions: those that are there before the exchange are handed round by it, in one file for each
 * PE. Of those that come later, or are in another file, the key says where their file is, by
 * process and descriptor: the PEs of the node open it under /proc, which the kernel grants to who
 * might trace the process, and check that it is that file, and sealed. What is in no file, or not
 * to be mapped, is reached through its owner's mailbox (service.c), of which the key says the same
 * where there was none at the start (late.c). */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transports/shm/exchange.h"
#include "util/memfd.h"

static bool region_is_mappable(const struct shm_state *shm, const struct sy_region *region)
{
    return region->length && region->fd >= 0 && shm->settings->map;
}

static int shm_region_write_key(struct shm_state *shm, const struct sy_region *region, void *key,
                                struct sy_error *err)
{
    struct shm_key where = {.process = getpid(),
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

/* Attaches a region before the exchange, which will hand it round. */
static int region_attach_early(struct shm_state *shm, unsigned index, void *key,
                               struct sy_error *err)
{
    const struct sy_region *region = &shm->region[index].own;

    if (index >= SHM_WINDOWS)
        return shm->host->fail(err, E2BIG, "more than %d windows", SHM_WINDOWS);
    shm->windows = index < shm->windows ? shm->windows : index + 1;
    shm->region[index].early = true;
    shm->file = shm->file < 0 ? region->fd : shm->file;
    if (region_is_mappable(shm, region))
        return region->fd == shm->file ? 0 : shm_region_write_key(shm, region, key, err);
    return region->length && !shm->mailbox ? sy_shm_service_open(shm, -1, err) : 0;
}

/* Writes the row of a region: threads that use others read all rows meanwhile. */
static void shm_region_set(struct shm_state *shm, unsigned index, const struct shm_region *row)
{
    pthread_mutex_lock(&shm->attaching);
    shm->region[index] = *row;
    pthread_mutex_unlock(&shm->attaching);
}

int sy_shm_region_attach(void *self, unsigned index, const struct sy_region *region, void *key,
                         size_t room, struct sy_error *err)
{
    const struct shm_region row = {.own = *region, .attached = true};
    struct shm_state *shm = self;
    int rc = sy_regions_check(shm->host, region, err);

    if (rc)
        return rc;
    if (index >= SY_REGIONS || room < sizeof(struct shm_key))
        return shm->host->fail(err, E2BIG, "there is no region %u", index);
    shm_region_set(shm, index, &row);
    shm->devices += region->kind == SY_REGION_DEVICE;
    if (!shm->peer)
        return region_attach_early(shm, index, key, err);
    if (region_is_mappable(shm, region))
        return shm_region_write_key(shm, region, key, err);
    if (!region->length || (shm->mailbox && shm->late.bell < 0))
        return 0;
    rc = shm->mailbox ? 0 : sy_shm_late_open(shm, err);
    if (!rc)
        rc = sy_shm_late_key(shm, key, err);
    if (rc <= 0)
        shm_region_set(shm, index, &(struct shm_region){.own = *region});
    shm->devices -= rc < 0 && region->kind == SY_REGION_DEVICE;
    return rc;
}

int sy_shm_open_there(struct shm_state *shm, const struct shm_key *key, int fd, int flags, int pe,
                      struct sy_error *err)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/fd/%d", key->process, fd);
    int here = open(path, flags | O_CLOEXEC);
    if (here >= 0)
        return here;
    const char *advice = errno == EMFILE                      ? "; raise ulimit -n"
                         : errno == ENFILE || errno == ENOMEM ? ""
                                                              : "; do the PEs see each other's "
                                                                "processes, in one namespace of "
                                                                "processes and of users?";
    return shm->host->fail(err, errno, "%s, which is to be PE %d's: %s%s", path, pe,
                           strerror(errno), advice);
}

/* What is wrong with the file, or NULL. */
static const char *region_judge(const struct shm_key *key, int fd)
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

/* The region of a PE. */
static int region_map(struct shm_state *shm, const struct shm_key *key, int pe, char **at,
                      struct sy_error *err)
{
    void *map = MAP_FAILED;
    int fd = sy_shm_open_there(shm, key, key->fd, O_RDWR, pe, err), code = EACCES;

    if (fd < 0)
        return fd;
    const char *why = region_judge(key, fd);
    if (!why) {
        map = mmap(NULL, key->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                   (off_t)key->offset);
        code = errno;
        why = map == MAP_FAILED ? strerror(code) : NULL;
    }
    close(fd);
    if (why)
        return shm->host->fail(err, code, "the file of %llu bytes of PE %d: %s",
                               (unsigned long long)key->length, pe, why);
    madvise(map, key->length, MADV_DONTDUMP);
    *at = map;
    return 0;
}

int sy_shm_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                          struct sy_error *err)
{
    struct shm_state *shm = self;
    struct shm_region *region = &shm->region[index];

    sy_regions_attach(&shm->regions, index);
    if (!keys)
        return 0;
    region->map = calloc((size_t)shm->node_size, sizeof *region->map);
    if (!region->map)
        return shm->host->fail(err, ENOMEM, "no memory for %d PEs of this node", shm->node_size);
    for (int i = 0; i < shm->node_size; i++) {
        struct shm_key key;
        struct shm_peer *peer = &shm->peer[i];
        memcpy(&key, (const char *)keys + (size_t)peer->pe * stride, sizeof key);
        if (peer->pe == shm->host->pe || !peer->known || !key.process ||
            (!key.bell_inode && key.length != region->own.length))
            continue;
        int rc = key.bell_inode ? sy_shm_late_meet(shm, peer, &key, err)
                                : region_map(shm, &key, peer->pe, &region->map[i], err);
        if (rc)
            return rc;
    }
    return 0;
}

/* Waits for requests that are being applied, by whatever thread: each finds the region under
 * `serving`, and counts its copy there where that goes on. */
void sy_shm_region_detach(void *self, unsigned index)
{
    struct shm_state *shm = self;
    struct shm_region *region = &shm->region[index];

    sy_regions_detach(&shm->regions, index);
    pthread_mutex_lock(&shm->serving);
    pthread_mutex_unlock(&shm->serving);
    while (atomic_load(&shm->copying))
        sched_yield();
    for (int i = 0; region->map && i < shm->node_size; i++)
        if (region->map[i])
            munmap(region->map[i], region->own.length);
    free(region->map);
    shm->devices -= region->attached && region->own.kind == SY_REGION_DEVICE;
    shm_region_set(shm, index, &(struct shm_region){.attached = false});
}

int sy_shm_region_of_device(struct shm_state *shm, const void *address)
{
    int found = -1;

    if (!shm->devices)
        return -1;
    pthread_mutex_lock(&shm->attaching);
    for (int i = 0; i < SY_REGIONS && found < 0; i++) {
        const struct shm_region *region = &shm->region[i];
        if (region->attached && region->own.kind == SY_REGION_DEVICE &&
            (uintptr_t)address - (uintptr_t)region->own.base < region->own.length)
            found = i;
    }
    pthread_mutex_unlock(&shm->attaching);
    return found;
}

void sy_shm_regions_close(struct shm_state *shm)
{
    for (unsigned i = 0; i < SY_REGIONS && shm->regions.found; i++)
        if (shm->region[i].attached && (!shm->region[i].early || shm->region[i].map))
            sy_shm_region_detach(shm, i);
}

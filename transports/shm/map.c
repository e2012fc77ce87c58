/* The mapping of other PEs' files, at once or when they are first used. Knows nothing of how they
 * came here. A file is checked before: that it is sealed against being shortened, and as long as it
 * is said to be. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transports/shm/exchange.h"
#include "util/bits.h"
#include "util/file.h"
#include "util/memfd.h"

#define LARGE_PAGE (UINT64_C(2) << 20)

/* On a node with more PEs than that a file is mapped when it is first used: most PEs talk to few
 * others, and a mapping for each pair is memory and time that grow with the square. Until then the
 * file's descriptor is kept, from a number on that programs with select() have no use for. */
#define MAPPED_AT_ONCE 64
#define HIGH_FILE      1024

struct shm_peer *sy_shm_peer_of(const struct shm_state *shm, int pe)
{
    if (pe < 0 || pe >= shm->host->npes || !shm->peer)
        return NULL;
    struct sy_place place = shm->host->place(pe);
    return place.node == shm->node ? &shm->peer[place.local] : NULL;
}

/* What helps where a file of `length` bytes has no room. In such a file the heap is behind all
 * else, which is the library's own and the program's variables. */
static const char *map_advice(const struct shm_state *shm, uint64_t length)
{
    uint64_t last = 0;

    for (unsigned i = 0; i < shm->windows; i++) {
        const struct sy_region *w = &shm->region[i].own;
        if (w->fd == shm->file && w->length && w->fd_offset > last)
            last = w->fd_offset;
    }
    return length > 2 * last ? "set SHMEM_SYMMETRIC_SIZE to less, or raise ulimit -v"
                             : "most of that is the library's own; raise ulimit -v";
}

/* Reserves addresses for all files side by side: there is one mapping to give back, and smaller
 * files share page tables. */
int sy_shm_reserve(struct shm_state *shm, uint64_t longest, struct sy_error *err)
{
    uint64_t nodes = (uint64_t)shm->node_size, total;

    if (shm->files || !shm->settings->map)
        return 0;
    shm->stride = sy_round_up(longest, LARGE_PAGE);
    if (longest > (uint64_t)INT64_MAX / 2 || __builtin_mul_overflow(nodes, shm->stride, &total) ||
        total > SIZE_MAX / 2)
        return shm->host->fail(err, ENOMEM, "%d PEs of up to %llu bytes are too much to map",
                               shm->node_size, (unsigned long long)longest);
    void *room = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return shm->host->fail(
            err, ENOMEM, "no addresses for the memory of %d PEs of up to %llu bytes: %s; %s",
            shm->node_size, (unsigned long long)longest, strerror(errno), map_advice(shm, longest));
    shm->files = room;
    shm->files_length = total;
    return 0;
}

/* Maps a file that another PE handed over, at `at` or anywhere (NULL), and closes its descriptor;
 * NULL with err on failure. */
static void *map_file(const struct shm_state *shm, int fd, void *at, uint64_t length, int pe,
                      struct sy_error *err)
{
    bool safe = sy_memfd_is_safe(fd, length);
    void *map = safe ? mmap(at, length, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED : 0), fd, 0)
                     : MAP_FAILED;
    int code = errno;

    close(fd);
    if (map != MAP_FAILED)
        return map;
    if (!safe)
        shm->host->fail(err, EPROTO,
                        "what PE %d hands over is not a sealed file of %llu bytes; it is not "
                        "mapped, since it could be shortened",
                        pe, (unsigned long long)length);
    else
        shm->host->fail(err, code,
                        "mapping the %llu bytes of PE %d, of %d PEs: %s; %s, or have more than %ld "
                        "mappings (vm.max_map_count), of which each PE takes one",
                        (unsigned long long)length, pe, shm->node_size, strerror(code),
                        map_advice(shm, length),
                        sy_file_number("/proc/sys/vm/max_map_count", 65530));
    return NULL;
}

/* Whether all windows lie within the file. */
static bool map_makes_sense(const struct shm_state *shm, const struct shm_record *r, int fds)
{
    bool good = r->windows <= SHM_WINDOWS && fds == (r->has_service ? FDS_EACH : 1);

    for (unsigned i = 0; good && i < r->windows; i++)
        good = r->offset[i] < 0 || (r->length[i] <= r->file_length &&
                                    (uint64_t)r->offset[i] <= r->file_length - r->length[i]);
    return good && (!shm->files || r->file_length <= shm->stride);
}

/* Whether a file can be mapped later. */
static bool map_can_wait(const struct shm_state *shm, const struct shm_record *r)
{
    bool can = shm->settings->map && !r->has_service && shm->node_size > MAPPED_AT_ONCE &&
               r->windows == shm->windows;

    for (unsigned i = 0; can && i < r->windows; i++)
        can = !r->length[i] || r->offset[i] >= 0;
    return can;
}

static bool map_keep_for_later(struct shm_peer *peer, int fd)
{
    peer->file = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FILE);
    peer->late = peer->file >= 0;
    if (peer->late)
        close(fd);
    return peer->late;
}

static char *map_place_of(const struct shm_state *shm, const struct shm_peer *peer)
{
    return shm->files + (size_t)(peer - shm->peer) * shm->stride;
}

void sy_shm_map_late(struct shm_state *shm, struct shm_peer *peer)
{
    struct sy_error why = {""};
    int fd = peer->file;

    peer->file = -1;
    sy_count_shared(&shm->mapped_late, 1);
    peer->map = map_file(shm, fd, map_place_of(shm, peer), peer->record.file_length, peer->pe,
                         &why);
    if (peer->map)
        madvise(peer->map, peer->record.file_length, MADV_DONTDUMP);
    else
        shm->host->log(SY_LOG_ERROR, "shm", "%s", why.text);
}

int sy_shm_map(struct shm_state *shm, struct shm_holding *h, struct sy_error *err)
{
    struct shm_peer *peer = sy_shm_peer_of(shm, h->record.pe);

    if (!peer || peer->known || !map_makes_sense(shm, &h->record, h->fds)) {
        sy_shm_close_all(h->fd, h->fds);
        return shm->host->fail(err, EPROTO, "a record of PE %d does not make sense", h->record.pe);
    }
    peer->record = h->record;
    if (h->record.has_service) {
        peer->doorbell = h->fd[2];
        peer->mailbox = map_file(shm, h->fd[1], NULL, sy_shm_mailbox_size(), peer->pe, err);
    }
    if (h->record.has_service && !peer->mailbox)
        close(h->fd[0]);
    else if (!shm->settings->map)
        peer->known = !close(h->fd[0]);
    else if (map_can_wait(shm, &h->record) && map_keep_for_later(peer, h->fd[0]))
        peer->known = true;
    else
        peer->known = (peer->map = map_file(shm, h->fd[0], map_place_of(shm, peer),
                                            h->record.file_length, peer->pe, err)) != NULL;
    return peer->known ? 0 : -ENOMEM;
}

void sy_shm_unmap(struct shm_state *shm)
{
    for (int i = 0; i < shm->node_size && shm->peer; i++) {
        struct shm_peer *peer = &shm->peer[i];
        if (peer->mailbox)
            munmap(peer->mailbox, sy_shm_mailbox_size());
        sy_file_close(&peer->doorbell);
        sy_file_close(&peer->file);
    }
    if (shm->files)
        munmap(shm->files, shm->files_length);
    free(shm->peer);
}

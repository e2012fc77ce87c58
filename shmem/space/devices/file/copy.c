/* Copies between a working file and one that is kept: see file.h. The kernel copies, or shares the
 * blocks where the file system can (copy_file_range); where it cannot, bytes go through the mapping
 * of the working file. Parts that have never been written are left out. */
#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "space/devices/file/file.h"

/* Copies one part between the mapping and the file that is kept. */
static int copy_mapped(const struct file_pool *pool, int file, bool out, uint64_t at, uint64_t end)
{
    while (at < end) {
        ssize_t moved = out ? pwrite(file, pool->base + at, end - at, (off_t)at)
                            : pread(file, pool->base + at, end - at, (off_t)at);
        if (moved < 0 && errno != EINTR)
            return -errno;
        if (!moved)
            return -EIO; /* the file is shorter than it was */
        at += moved > 0 ? (uint64_t)moved : 0;
    }
    return 0;
}

static int copy_part(const struct file_pool *pool, int file, bool out, uint64_t at, uint64_t end)
{
    off_t from = (off_t)at, to = (off_t)at;

    while ((uint64_t)from < end) {
        ssize_t moved = copy_file_range(out ? pool->fd : file, &from, out ? file : pool->fd, &to,
                                        end - (uint64_t)from, 0);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0 && (errno == ENOSPC || errno == EIO || errno == EDQUOT || errno == EFBIG))
            return -errno;
        if (moved <= 0)
            return copy_mapped(pool, file, out, (uint64_t)from, end);
    }
    return 0;
}

struct copy_extent {
    uint64_t at, end;
};

/* The next part in which `from` has data, from `at` on; false: there is none before `length`. */
static bool copy_find(int from, uint64_t at, uint64_t length, struct copy_extent *found)
{
    off_t data = lseek(from, (off_t)at, SEEK_DATA), hole;

    if (data < 0 && errno == ENXIO)
        return false;
    found->at = data < 0 ? at : (uint64_t)data; /* some file systems do not tell */
    hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
    found->end = hole < 0 || (uint64_t)hole > length ? length : (uint64_t)hole;
    return found->at < length;
}

/* Copies the parts in which `from` has data. They are found before they are copied, as far as there
 * is memory: what is read ahead of a copy is data to ext4, though nobody has written there. */
static int copy_data(const struct file_pool *pool, int from, int file, bool out)
{
    enum { MOST = 65536 };
    struct copy_extent one, *many = malloc(MOST * sizeof *many), *extent = many ? many : &one;
    unsigned room = many ? MOST : 1, count;
    uint64_t at = 0;
    int rc = 0;

    do {
        for (count = 0; count < room && copy_find(from, at, pool->length, &extent[count]); count++)
            at = extent[count].end;
        for (unsigned i = 0; i < count && !rc; i++)
            rc = copy_part(pool, file, out, extent[i].at, extent[i].end);
    } while (count == room && !rc);
    free(many);
    return rc;
}

/* In a file system of a process (FUSE, virtiofs) that process is asked where data are, and does not
 * know of pages that the kernel has not handed over. */
static bool copy_is_served(const struct file_pool *pool)
{
    struct statfs system;

    return !fstatfs(pool->fd, &system) && system.f_type == FUSE_SUPER_MAGIC;
}

int sy_file_copy_out(const struct file_pool *pool, int file)
{
    if (copy_is_served(pool) && msync(pool->base, pool->length, MS_SYNC))
        return -errno;
    return copy_data(pool, pool->fd, file, true);
}

int sy_file_copy_in(const struct file_pool *pool, int file)
{
    return copy_data(pool, file, file, false);
}

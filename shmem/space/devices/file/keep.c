/* What is kept of a pool: see file.h. All names are relative to the directory of this PE, which is
 * of this user alone and locked, so nobody else changes what is in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "space/devices/file/file.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/siphash.h"

/* A job that has just been killed may hold its lock for a moment. */
#define PATIENCE 5

#define WRITING  "writing"
#define PREPARED ".prepared"

/* What follows the data of a generation, in a page of its own. */
struct trailer {
    char magic[16];
    uint64_t length, generation, origin;
    int32_t pe, npes;
};
#define TRAILER_ROOM 4096
static const char magic[16] = "openshmem-file1";

static void keep_name(char name[static 40], uint64_t generation, bool prepared)
{
    snprintf(name, 40, "%" PRIu64 "%s", generation, prepared ? PREPARED : "");
}

/* Whether a name is that of a generation. */
static bool keep_parse(const char *name, uint64_t *generation, bool *prepared)
{
    char *end, again[40];

    *generation = strtoull(name, &end, 10);
    *prepared = !strcmp(end, PREPARED);
    keep_name(again, *generation, *prepared);
    return *generation && !strcmp(name, again);
}

static int keep_failed(const struct file_pool *pool, int code, const char *what,
                       struct sy_error *err)
{
    return pool->host->fail(err, code, "%s in %.200s: %s", what, pool->path, strerror(code));
}

/* Calls `each` for all generations that are there; the sum of what it returns, or -errno. */
static int keep_visit(struct file_pool *pool,
                      int (*each)(struct file_pool *pool, const char *name, uint64_t generation,
                                  bool prepared, uint64_t arg),
                      uint64_t arg)
{
    int copy = openat(pool->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), sum = 0;
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    uint64_t generation;
    bool prepared;

    if (!list) {
        int code = errno;
        sy_file_close(&copy);
        return -code;
    }
    for (struct dirent *entry; (entry = readdir(list));)
        if (keep_parse(entry->d_name, &generation, &prepared))
            sum += each(pool, entry->d_name, generation, prepared, arg);
    closedir(list);
    return sum;
}

static int keep_note(struct file_pool *pool, const char *name, uint64_t generation, bool prepared,
                     uint64_t arg)
{
    (void)name, (void)arg;
    if (pool->last < generation)
        pool->last = generation;
    if (!prepared && pool->committed < generation)
        pool->committed = generation;
    return 1;
}

static int keep_look(struct file_pool *pool, struct sy_error *err)
{
    pool->last = pool->committed = 0;
    int rc = keep_visit(pool, keep_note, 0);
    return rc < 0 ? keep_failed(pool, -rc, "looking for generations", err) : 0;
}

/* ---- the directory ---- */

/* Whether what has been opened is of this user alone. */
static int keep_is_own(const struct file_pool *pool, int fd, const char *what, struct sy_error *err)
{
    struct stat info;

    if (fstat(fd, &info))
        return keep_failed(pool, errno, what, err);
    if (info.st_uid != geteuid())
        return pool->host->fail(err, EPERM, "%s %.200s belongs to user %u, this PE is user %u",
                                what, pool->path, (unsigned)info.st_uid, (unsigned)geteuid());
    if (info.st_mode & 022)
        return pool->host->fail(err, EPERM,
                                "%s %.200s may be written by other users (mode %03o); chmod go-w",
                                what, pool->path, (unsigned)info.st_mode & 0777);
    return 0;
}

static int keep_lock(struct file_pool *pool, struct sy_error *err)
{
    double end = sy_clock() + PATIENCE;
    struct stat info;

    pool->lock = openat(pool->directory, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (pool->lock < 0)
        return keep_failed(pool, errno, "the file \"lock\"", err);
    while (flock(pool->lock, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return keep_failed(pool, errno, "locking the file \"lock\"", err);
        if (sy_clock() > end)
            return pool->host->fail(err, EBUSY,
                                    "%.200s is in use: by another space of this name, or by a job "
                                    "that is still running",
                                    pool->path);
        sy_clock_sleep(20000000);
    }
    if (!fstat(pool->lock, &info) && !info.st_nlink)
        return pool->host->fail(err, EBUSY,
                                "%.200s was in use by another space of this name until now, and "
                                "has been removed",
                                pool->path);
    return 0;
}

/* Makes the directory if need be, and opens it. */
static int keep_enter(struct file_pool *pool, const char *directory, const char *name,
                      struct sy_error *err)
{
    int parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = parent < 0 ? -errno : 0;

    snprintf(pool->path, sizeof pool->path, "%s/%s.%d", directory, name, pool->pe);
    if (rc)
        return pool->host->fail(err, -rc, "the directory %.200s: %s", directory, strerror(-rc));
    const char *last = pool->path + strlen(directory) + 1;
    pool->made = !mkdirat(parent, last, 0700);
    if (pool->made ? fsync(parent) : errno != EEXIST)
        rc = -errno;
    if (!rc)
        pool->directory = openat(parent, last, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!rc && pool->directory < 0)
        rc = -errno;
    close(parent);
    return rc ? pool->host->fail(err, -rc, "the directory %.200s: %s", pool->path, strerror(-rc))
              : 0;
}

static bool keep_name_is_good(const struct file_pool *pool, const char *directory, const char *name)
{
    const char *good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

    return strspn(name, good) == strlen(name) && strlen(name) <= 64 &&
           strlen(directory) + strlen(name) + 16 < sizeof pool->path;
}

int sy_file_keep_open(struct file_pool *pool, const char *directory, const char *name,
                      struct sy_error *err)
{
    if (!keep_name_is_good(pool, directory, name))
        return pool->host->fail(err, EINVAL,
                                "the name \"%.80s\", which must be of letters, digits, - and _, at "
                                "most 64, in a directory of at most 170",
                                name);
    int rc = keep_enter(pool, directory, name, err);
    if (!rc)
        rc = keep_is_own(pool, pool->directory, "the directory", err);
    if (!rc)
        rc = keep_lock(pool, err);
    if (!rc) {
        /* What a killed job has left takes room that the working file may need. */
        unlinkat(pool->directory, WRITING, 0);
        rc = keep_look(pool, err);
    }
    if (rc)
        sy_file_keep_close(pool);
    return rc;
}

/* Removes a directory that was made for this pool and has no generation, unless another process has
 * the lock. One that waits for the lock meanwhile finds it without a name. */
static void keep_remove(const struct file_pool *pool)
{
    char name[sizeof pool->path + 4];

    if (!pool->made || pool->last || flock(pool->lock, LOCK_EX | LOCK_NB))
        return;
    snprintf(name, sizeof name, "..%s", strrchr(pool->path, '/'));
    unlinkat(pool->directory, "lock", 0);
    unlinkat(pool->directory, name, AT_REMOVEDIR);
}

void sy_file_keep_close(struct file_pool *pool)
{
    keep_remove(pool);
    if (pool->lock >= 0) {
        flock(pool->lock, LOCK_UN); /* a child of fork() has the descriptor too */
        close(pool->lock);
    }
    sy_file_close(&pool->directory);
    pool->lock = -1;
}

/* ---- writing a generation ---- */

/* The mark of a generation: equal on all PEs of the job, different in other jobs and for other
 * generations. It reveals nothing of the job's key. */
static uint64_t keep_origin(const struct file_pool *pool, uint64_t generation)
{
    uint64_t key[2] = {0, 0};

    if (pool->host->job_key)
        memcpy(key, pool->host->job_key, sizeof key);
    return sy_siphash(key, &generation, 1) | 1;
}

/* Whether somebody has shortened the working file, for which the kernel lets its owner. What is not
 * there any more reads as zero. */
static bool keep_is_cut(const struct file_pool *pool)
{
    struct stat now;

    return fstat(pool->fd, &now) || (uint64_t)now.st_size < pool->length;
}

static int keep_write(const struct file_pool *pool, int file, uint64_t generation)
{
    struct trailer trailer = {.length = pool->length,
                              .generation = generation,
                              .origin = keep_origin(pool, generation),
                              .pe = pool->pe,
                              .npes = pool->npes};
    int rc = sy_file_set_length(file, pool->length + TRAILER_ROOM);

    memcpy(trailer.magic, magic, sizeof magic);
    if (!rc)
        rc = sy_file_copy_out(pool, file);
    if (!rc && keep_is_cut(pool))
        rc = -EIO;
    if (!rc && pwrite(file, &trailer, sizeof trailer, (off_t)pool->length) != sizeof trailer)
        rc = errno ? -errno : -EIO;
    return rc ? rc : fsync(file) ? -errno : 0;
}

int sy_file_sync(void *self, void *arg, uint64_t generation, struct sy_error *err)
{
    struct file_pool *pool = arg;
    char name[40], what[120];

    (void)self;
    if (pool->directory < 0 || generation <= pool->committed)
        return pool->host->fail(err, EINVAL, "generation %" PRIu64 " behind %" PRIu64, generation,
                                pool->committed);
    int file = openat(pool->directory, WRITING, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      0600);
    int rc = file < 0 ? -errno : keep_write(pool, file, generation);
    sy_file_close(&file);
    keep_name(name, generation, true);
    if (!rc && renameat(pool->directory, WRITING, pool->directory, name))
        rc = -errno;
    if (!rc && fsync(pool->directory))
        rc = -errno;
    if (!rc) {
        pool->last = generation;
        return 0;
    }
    unlinkat(pool->directory, WRITING, 0);
    unlinkat(pool->directory, name, 0);
    snprintf(what, sizeof what, "writing generation %" PRIu64 "%s", generation,
             keep_is_cut(pool) ? ", whose working file has been shortened," : "");
    return keep_failed(pool, -rc, what, err);
}

/* ---- the second step ---- */

static int keep_remove_behind(struct file_pool *pool, const char *name, uint64_t generation,
                              bool prepared, uint64_t last)
{
    (void)prepared;
    return generation > last && !unlinkat(pool->directory, name, 0);
}

static int keep_remove_before(struct file_pool *pool, const char *name, uint64_t generation,
                              bool prepared, uint64_t first)
{
    (void)prepared;
    return generation < first && !unlinkat(pool->directory, name, 0);
}

/* Gives a prepared generation its name, on the disk; 0 where it has it already. -errno. */
static int keep_confirm(struct file_pool *pool, uint64_t generation)
{
    char from[40], to[40];

    keep_name(from, generation, true);
    keep_name(to, generation, false);
    if (renameat(pool->directory, from, pool->directory, to) &&
        (errno != ENOENT || faccessat(pool->directory, to, F_OK, 0)))
        return -errno;
    return fsync(pool->directory) ? -errno : 0;
}

int sy_file_commit(void *self, void *arg, uint64_t generation, bool keep, struct sy_error *err)
{
    struct file_pool *pool = arg;
    int rc = keep ? keep_confirm(pool, generation) : 0;

    (void)self;
    if (rc)
        return keep_failed(pool, -rc, "committing a generation", err);
    /* What this leaves behind, should the host end now, does no harm: the next job removes it. */
    rc = keep ? keep_visit(pool, keep_remove_before, generation)
              : keep_visit(pool, keep_remove_behind, generation - 1);
    if (rc >= 0 && !keep && fsync(pool->directory))
        rc = -errno;
    return rc < 0 ? keep_failed(pool, -rc, "removing a generation", err) : keep_look(pool, err);
}

/* ---- reading one ---- */

static int keep_judge(const struct file_pool *pool, int file, uint64_t generation, uint64_t *origin,
                      struct sy_error *err)
{
    struct trailer t;
    struct stat info;

    if (fstat(file, &info))
        return keep_failed(pool, errno, "a generation", err);
    off_t at = info.st_size - TRAILER_ROOM;
    if (!S_ISREG(info.st_mode) || at < 0 || pread(file, &t, sizeof t, at) != sizeof t ||
        memcmp(t.magic, magic, sizeof magic) || t.generation != generation ||
        t.length != (uint64_t)at)
        return pool->host->fail(err, EBADMSG,
                                "%.200s/%" PRIu64 " is no generation %" PRIu64 " of a space: it "
                                "has been cut, or is another file",
                                pool->path, generation, generation);
    if (t.length != pool->length)
        return pool->host->fail(err, EINVAL,
                                "generation %" PRIu64 " in %.160s is of %" PRIu64
                                " bytes, the space is to be of %zu; create it with the same size",
                                generation, pool->path, t.length, pool->length);
    if (t.pe != pool->pe || t.npes != pool->npes)
        return pool->host->fail(err, EINVAL,
                                "generation %" PRIu64 " in %.160s is of PE %d of %d, this is PE %d "
                                "of %d; %s",
                                generation, pool->path, t.pe, t.npes, pool->pe, pool->npes,
                                t.npes != pool->npes ? "run as many PEs" : "it was another PE's");
    *origin = t.origin;
    return 0;
}

/* Opens a generation by the name that it has. */
static int keep_open(const struct file_pool *pool, uint64_t generation)
{
    char name[40];
    int file = -1;

    for (int prepared = 0; prepared < 2 && file < 0; prepared++) {
        keep_name(name, generation, prepared);
        file = openat(pool->directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (file < 0 && errno != ENOENT)
            return -errno;
    }
    return file < 0 ? -ENOENT : file;
}

static int keep_read(const struct file_pool *pool, uint64_t generation, uint64_t *origin,
                     struct sy_error *err)
{
    int file = keep_open(pool, generation);

    if (file == -ENOENT)
        return pool->host->fail(err, ENOENT,
                                "generation %" PRIu64 ", which other PEs have, is not in %.200s",
                                generation, pool->path);
    if (file < 0)
        return keep_failed(pool, -file, "opening a generation", err);
    int rc = keep_judge(pool, file, generation, origin, err);
    if (!rc && (rc = sy_file_copy_in(pool, file)))
        rc = keep_failed(pool, -rc, "reading a generation", err);
    close(file);
    return rc;
}

int sy_file_keep_check(const struct file_pool *pool, struct sy_error *err)
{
    uint64_t origin;
    int file = pool->restart && pool->committed && pool->committed == pool->last
                   ? keep_open(pool, pool->committed)
                   : -ENOENT;

    if (file < 0)
        return 0;
    int rc = keep_judge(pool, file, pool->committed, &origin, err);
    close(file);
    return rc;
}

/* Nothing that is kept changes before it has been judged: a job with fewer PEs, which cannot go on
 * from a generation that others lack, must not commit it. */
int sy_file_restore(void *self, void *arg, uint64_t generation, uint64_t *origin,
                    struct sy_error *err)
{
    struct file_pool *pool = arg;
    bool read = pool->restart && generation;

    (void)self;
    *origin = 0;
    int rc = read ? keep_read(pool, generation, origin, err) : 0;
    if (rc)
        return rc;
    rc = keep_visit(pool, keep_remove_behind, generation);
    if (rc >= 0)
        rc = read ? keep_confirm(pool, generation) : fsync(pool->directory) ? -errno : 0;
    return rc ? keep_failed(pool, -rc, "going back to a generation", err) : keep_look(pool, err);
}

/* Files as memory: each PE's pool is a working file without a name that the PEs of the node map,
 * and of a space with a name what is kept of it, in generations.
 *
 * file.c   the plugin's table; pools
 * keep.c   the directory of a PE: its lock, and the generations in it
 * copy.c   copies between a working file and one that is kept
 *
 * The working file has no name, so nobody can put another in its place or shorten it
 * (util/memfd.h), it is gone with its last process, and what half a job has left in it is never
 * taken for a generation. The directory of PE 3 of the space "mesh" is mesh.3, of this user alone.
 * In it are
 *
 *   lock        held with flock by the process that has the pool
 *   writing     a generation that is being written; of no worth to anybody else
 *   7.prepared  generation 7: complete and on the disk, but other members may not have theirs
 *   7           the same, and all members have it
 *
 * Each of these names comes about by one rename behind an fsync of the file and before one of the
 * directory. So whenever a process or a host ends, there is the last generation that all members
 * have: before the agreement it is the one without .prepared, which is removed only behind it. */
#ifndef SY_DEVICES_FILE_H
#define SY_DEVICES_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <switchyard/device.h>

struct file_settings {
    const char *directory; /* SHMEM_FILE_DIRECTORY */
};

/* A pool. */
struct file_pool {
    const struct sy_host *host;
    int fd; /* the working file */
    char *base;
    size_t length;
    bool restart;
    int pe, npes;
    /* what is kept, where the space has a name; directory -1: it has none */
    int directory, lock;
    bool made;                /* the directory, for this pool */
    char path[256];           /* of the directory, for the user */
    uint64_t last, committed; /* generations that are there; 0: none */
};

/* keep.c. Opens the directory of this PE, locks it and looks what is there: pool->last and
 * committed. 0; -EBUSY: another space or job has it; -EPERM: it is not this user's alone. */
int sy_file_keep_open(struct file_pool *pool, const char *directory, const char *name,
                      struct sy_error *err);
void sy_file_keep_close(struct file_pool *pool);

/* Judges the generation that the pool can go on from, where that is known without the other
 * members: the last one, if it is committed. A job with more PEs than have kept it hears so. */
int sy_file_keep_check(const struct file_pool *pool, struct sy_error *err);

/* The members of the plugin's table, on a pool. */
int sy_file_sync(void *self, void *pool, uint64_t generation, struct sy_error *err);
int sy_file_commit(void *self, void *pool, uint64_t generation, bool keep, struct sy_error *err);
int sy_file_restore(void *self, void *pool, uint64_t generation, uint64_t *origin,
                    struct sy_error *err);

/* copy.c. The first pool->length bytes of `file` become those of the working file, or the other way
 * round; holes stay holes, and blocks are shared where the file system can. 0 or -errno. */
int sy_file_copy_out(const struct file_pool *pool, int file);
int sy_file_copy_in(const struct file_pool *pool, int file);

#endif

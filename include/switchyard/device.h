/* The device plugin ABI. A device is a kind of memory for memory spaces (shmemx.h): it makes pools,
 * one for each space on each member, and copies to and from those that CPUs cannot load and store.
 *
 * A plugin is a file shmem_device_<name>.so; it exports shmem_device_2, a struct sy_device. The
 * rules of transport.h hold: the number in the symbol is the version of this ABI, members are only
 * ever added at the end, `size` tells whether a plugin has them, and a plugin has no variables of
 * its own but constants. A plugin is opened when a space of its type is first asked for, and stays
 * open until the library ends.
 *
 * Order of calls: open; pool_create .. pool_destroy for any number of pools; close. Calls for
 * different pools may come from different threads at once; of one pool, pool_create and
 * pool_destroy come alone, all others may come from any thread at any time between. */
#ifndef SWITCHYARD_DEVICE_H
#define SWITCHYARD_DEVICE_H

#include <switchyard/host.h>

#define SY_DEVICE_ABI 2

/* Kinds of devices: SHMEMX_DEVICE_CPU .. _USER have these values. */
enum sy_device_type { SY_DEVICE_CPU, SY_DEVICE_FILE, SY_DEVICE_GPU, SY_DEVICE_USER };

/* Wishes for a pool: SHMEMX_SPACE_FLAG_HUGE_2M .. _BUFFER have these values. */
enum {
    SY_WISH_HUGE_2M = 1,
    SY_WISH_HUGE_1G = 2,
    SY_WISH_NUMA_BIND = 4,
    SY_WISH_NUMA_INTERLEAVE = 8,
    SY_WISH_NUMA_LOCAL = 16,
    SY_WISH_LOCKED = 32,
    SY_WISH_RESTART = 64,
    SY_WISH_BUFFER = 128
};

/* What a pool can do, or-ed. What CPUs can do with it follows from its region: PEs of the node map
 * one that has a file, and plain memory takes every operation. */
enum {
    SY_POOL_AMO = 1,     /* SY_REGION_DEVICE: the pool has amo() */
    SY_POOL_DURABLE = 2, /* what sync() has written is there in a later job */
    SY_POOL_COPY = 4,  /* SY_REGION_DEVICE: copy(), amo() and what stands for them may be called by
                          several threads at once; otherwise they are called one at a time */
    SY_POOL_MAP = 8,   /* SY_REGION_DEVICE: the pool has map() and unmap() */
    SY_POOL_AHEAD = 16 /* SY_REGION_DEVICE: the pool has copy_begin() and copy_end() */
};

/* What a pool is to be. */
struct sy_pool_config {
    size_t size;   /* sizeof(struct sy_pool_config) as the core was compiled */
    size_t length; /* bytes that are asked for; the pool may be larger */
    int flags;     /* SY_WISH_ */
    int index;     /* which device of this type, from 0; -1: the plugin chooses by `local` */
    int local;     /* this PE's number among those of its node, and how many these are */
    int locals;
    unsigned long numa; /* bits of the NUMA nodes to use; 0: none named */
    const char *name;   /* of what is kept beyond the job; "": none */
    void *base;         /* memory that the program has; NULL: none */
    int pe, npes;
};

/* What pool_create() has made. */
struct sy_pool_info {
    size_t size;             /* sizeof(struct sy_pool_info) as the core was compiled */
    struct sy_region region; /* kind DEVICE: base is the beginning of reserved addresses */
    unsigned capabilities;   /* SY_POOL_ */
    uint64_t generation;     /* DURABLE: the last one that is kept here; 0: none */
    uint64_t committed;      /* DURABLE: the last one that has been committed; 0: none */
    char got[224];           /* for the user: what is not as asked for, or worth knowing */
};

enum sy_device_way { SY_DEVICE_IN, SY_DEVICE_OUT };

struct sy_device {
    size_t size; /* sizeof(struct sy_device) as the plugin was compiled */
    const char *name;
    int type;                        /* enum sy_device_type */
    const struct sy_option *options; /* ended by a row whose name is NULL; or NULL */
    size_t settings_size;            /* of the structure that the options' offsets are of */

    /* Looks for the device; left out, *self is `host`. -ENODEV: this PE has none, err says why in
     * words. Local work, bounded time. On failure nothing is left behind. */
    int (*open)(const struct sy_host *host, const void *settings, void **self,
                struct sy_error *err);
    void (*close)(void *self);

    /* Describes the device for the user, in lines divided by newlines. Returns the length of the
     * whole text, as snprintf does. */
    int (*describe)(void *self, char *text, size_t room);

    /* Makes a pool, whose memory reads as zero unless it is memory of the program (config->base) or
     * restore() fills it. *pool is the argument of all calls for it. -ENOMEM: more than the device
     * has; -EINVAL: a flag or a member of config that this device has no use for; err says which.
     */
    int (*pool_create)(void *self, const struct sy_pool_config *config, void **pool,
                       struct sy_pool_info *info, struct sy_error *err);
    void (*pool_destroy)(void *self, void *pool);

    /* SY_REGION_DEVICE: copies `length` bytes between `offset` of the pool and `local`, memory of
     * this process: IN into the pool, OUT of it. On return the bytes are there, also for kernels
     * that begin afterwards. 0 or -errno. */
    int (*copy)(void *self, void *pool, enum sy_device_way way, uint64_t offset, void *local,
                size_t length, struct sy_error *err);

    /* SY_POOL_AMO: as host->amo, on the word at `offset`, atomic towards kernels too. */
    int (*amo)(void *self, void *pool, enum sy_amo_op op, uint64_t offset, size_t width,
               uint64_t operand, uint64_t compare, uint64_t *result, struct sy_error *err);

    /* SY_POOL_DURABLE. What is kept is a generation, with a number from 1 upwards. A new one
     * replaces the last one in two steps, between which all members agree that all have done the
     * first:
     *   sync    writes the pool's contents as `generation`, beside the last one
     *   commit  keep: makes it the last one and deletes those before; else deletes it
     * A process that ends between the two finds both at its next pool_create. Upon an error
     * (-ENOSPC) the pool and what is kept are as before.
     *
     * restore is called once after every pool_create, before anybody uses the pool. `generation`
     * is the last one that all members have, or 0; later ones are deleted. With SY_WISH_RESTART the
     * pool then reads as that generation (-ENOENT: it is not here); without it as zero, and what is
     * kept stays until the next commit. *origin: a number that stands for the sync that has written
     * the generation. Members with different numbers have generations that do not belong together.
     */
    int (*sync)(void *self, void *pool, uint64_t generation, struct sy_error *err);
    int (*commit)(void *self, void *pool, uint64_t generation, bool keep, struct sy_error *err);
    int (*restore)(void *self, void *pool, uint64_t generation, uint64_t *origin,
                   struct sy_error *err);

    /* Writes the device's own handle of the pool, for a routine of shmemx for this device: at most
     * `room` bytes; returns how many, or -errno. */
    int (*handle)(void *self, void *pool, void *buffer, size_t room);

    /* SY_POOL_AHEAD: copies by an engine of the device, while the caller does something else. Not
     * for devices whose copies take a processor of the host, which the transfer needs too.
     *   copy_begin  as copy(), but the device uses `local` until the copy is over. *ticket stands
     *               for the copy; NULL: it is over on return
     *   copy_end    0: the copy is over, as copy() says, and the ticket is gone. -EAGAIN: not yet;
     *               never with `wait`. Other -errno: it has failed, and the ticket is gone
     * Each ticket is asked for until it is gone, by one thread at a time, before pool_destroy.
     * Copies of the same bytes are never under way at once; others may overtake each other. */
    int (*copy_begin)(void *self, void *pool, enum sy_device_way way, uint64_t offset, void *local,
                      size_t length, void **ticket, struct sy_error *err);
    int (*copy_end)(void *self, void *pool, void *ticket, bool wait, struct sy_error *err);

    /* SY_POOL_MAP: gives `length` bytes at `offset` an address that CPUs can use until unmap(), if
     * that costs less than copying them. OUT: they are read. IN: all of them are written, and none
     * is read before. When unmap() returns 0, what was written is there as copy() says. Several
     * ranges may be mapped at once; ranges that overlap are all mapped OUT, but where a program
     * writes what is read at the same time. -errno: not now; the caller copies. */
    int (*map)(void *self, void *pool, enum sy_device_way way, uint64_t offset, size_t length,
               void **address, struct sy_error *err);
    int (*unmap)(void *self, void *pool, void *address, struct sy_error *err);
};

/* What handle() of an OpenCL device writes: a cl_context, a cl_device_id, and a cl_mem or NULL. */
struct sy_opencl_handle {
    void *context, *device, *buffer;
};

/* Names the exported symbol. A plugin that is linked into the static library has its name appended.
 */
#ifdef SY_BUILTIN_PLUGIN
#define SY_DEVICE_SYMBOL(name) shmem_device_2_##name
#else
#define SY_DEVICE_SYMBOL(name) shmem_device_2
#endif
#define SY_DEVICE_PLUGIN(name)                                                                     \
    extern __attribute__((visibility("default"))) const struct sy_device SY_DEVICE_SYMBOL(name);   \
    const struct sy_device SY_DEVICE_SYMBOL(name)

#endif

/* The device plugin ABI. A device is a kind of memory for memory spaces (shmemx.h): it makes pools,
 * one for each space on each member, and copies to and from those that CPUs cannot load and store.
 *
 * A plugin is a file shmem_device_<name>.so; it exports shmem_device_1, a struct sy_device. The
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

#define SY_DEVICE_ABI 1

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

/* What a pool can, or-ed. What the CPUs of all members' nodes can do follows from its region: one
 * with a file is mapped by the PEs of the node, plain memory takes every operation. */
enum {
    SY_POOL_AMO = 1,     /* SY_REGION_DEVICE: the pool has amo() */
    SY_POOL_DURABLE = 2, /* what sync() has written is there in a later job */
    SY_POOL_COPY = 4,  /* SY_REGION_DEVICE: copy(), and what stands for it, may be called by several
                          threads at once */
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

/* What became of it. */
struct sy_pool_info {
    size_t size;             /* sizeof(struct sy_pool_info) as the core was compiled */
    struct sy_region region; /* kind DEVICE: base is the beginning of reserved addresses */
    unsigned capabilities;   /* SY_POOL_ */
    uint64_t generation;     /* DURABLE: the last one that is kept here; 0: none */
    uint64_t committed;      /* DURABLE: the last one that has been committed; 0: none */
    char got[224];           /* what is not as asked for, or worth to be known; for the user */
};

enum sy_device_way { SY_DEVICE_IN, SY_DEVICE_OUT };

struct sy_device {
    size_t size; /* sizeof(struct sy_device) as the plugin was compiled */
    const char *name;
    int type;                              /* enum sy_device_type */
    const struct sy_option *options;       /* ended by a row whose name is NULL; or NULL */
    size_t settings_size;                  /* of the structure that the options' offsets are of */
    const struct sy_counter_row *counters; /* the same: what an instance counts; or NULL */

    /* Looks for the device. -ENODEV: this PE has none, err says why in words. Local work, bounded
     * time. On failure nothing is left behind. */
    int (*open)(const struct sy_host *host, const void *settings, void **self,
                struct sy_error *err);
    void (*close)(void *self);

    /* Writes what is there, for the user: lines divided by newlines. Returns the length that it
     * would have, as snprintf. */
    int (*describe)(void *self, char *text, size_t room);

    /* Makes a pool whose memory reads as zero (but see restore, and memory that the program has
     * keeps what is in it). *pool is handed to all calls for it.
     * -ENOMEM: more than the device has; -EINVAL: a flag or a member of config that this device has
     * no use for; err says which. */
    int (*pool_create)(void *self, const struct sy_pool_config *config, void **pool,
                       struct sy_pool_info *info, struct sy_error *err);
    void (*pool_destroy)(void *self, void *pool);

    /* SY_REGION_DEVICE: copies `length` bytes between `offset` of the pool and memory of this
     * process: IN from it, OUT to it. When it returns the bytes are there, for kernels that begin
     * after it too. 0 or -errno. */
    int (*copy)(void *self, void *pool, enum sy_device_way way, uint64_t offset, void *local,
                size_t length, struct sy_error *err);

    /* SY_POOL_AMO: as host->amo, on the word at `offset`, atomic towards kernels too. */
    int (*amo)(void *self, void *pool, enum sy_amo_op op, uint64_t offset, size_t width,
               uint64_t operand, uint64_t compare, uint64_t *result, struct sy_error *err);

    /* SY_POOL_DURABLE. What is kept has numbers, generations, that grow from 1; a new one replaces
     * the last one in two steps, between which all members agree that all have done the first:
     * sync writes what the pool has now beside the last generation, as `generation`; commit makes
     * it the last one and forgets those before, or (keep false) forgets it. A process that ends in
     * between has both at the next pool_create. -ENOSPC and the like: the pool and what is kept
     * are as before.
     *
     * restore comes once behind every pool_create, before anybody uses the pool: `generation` is
     * the last one that all members have, or 0, and those behind it are forgotten. With
     * SY_WISH_RESTART the pool now reads as that; else as zero, it need not be here, and what is
     * kept stays until the next commit. *origin: a number that stands for the sync which wrote it.
     * Not the same on all members: what they have does not belong together. -ENOENT: it is not
     * here. */
    int (*sync)(void *self, void *pool, uint64_t generation, struct sy_error *err);
    int (*commit)(void *self, void *pool, uint64_t generation, bool keep, struct sy_error *err);
    int (*restore)(void *self, void *pool, uint64_t generation, uint64_t *origin,
                   struct sy_error *err);

    /* The device's own handle of the pool, for a routine of shmemx that is for this device: writes
     * at most `room` bytes, returns how many; or -errno. */
    int (*handle)(void *self, void *pool, void *buffer, size_t room);

    /* SY_POOL_AHEAD: copies that go on while the caller does something else, by an engine of the
     * device; not where a processor of the host does the work, which is then the transfer's too.
     * copy_begin: as copy, but `local` is the device's until the copy is over; *ticket stands for
     * it, and is NULL where it is over on return. copy_end: 0, it is over, and the bytes are there
     * as copy says; -EAGAIN: not yet, only where not `wait`; any other -errno: it has failed. But
     * for -EAGAIN the ticket is gone. Each is asked until then, by one thread at a time, and all of
     * a pool before pool_destroy. Copies of the same bytes are not under way at once, others are in
     * any order. */
    int (*copy_begin)(void *self, void *pool, enum sy_device_way way, uint64_t offset, void *local,
                      size_t length, void **ticket, struct sy_error *err);
    int (*copy_end)(void *self, void *pool, void *ticket, bool wait, struct sy_error *err);

    /* SY_POOL_MAP: gives `length` bytes at `offset` an address that CPUs can use until unmap, where
     * that costs less than to copy them: OUT to be read; IN to be written, all of them, and not
     * read before. When unmap returns 0 what was written is there as copy says. Several ranges may
     * be mapped at once, those that overlap only to be read. -errno: not now, and the caller
     * copies. */
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
#define SY_DEVICE_SYMBOL(name) shmem_device_1_##name
#else
#define SY_DEVICE_SYMBOL(name) shmem_device_1
#endif
#define SY_DEVICE_PLUGIN(name)                                                                     \
    extern __attribute__((visibility("default"))) const struct sy_device SY_DEVICE_SYMBOL(name);   \
    const struct sy_device SY_DEVICE_SYMBOL(name)

#endif

/* What the core offers to a plugin, handed over at open() and valid until close() returns. A plugin
 * uses this table and nothing else of the library (other libraries as it likes): it never prints,
 * never exits, never reads settings from the environment, never sees another plugin. All members
 * may be called from any thread. */
#ifndef SWITCHYARD_HOST_H
#define SWITCHYARD_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/error.h>
#include <switchyard/option.h>

enum sy_log_level { SY_LOG_ERROR, SY_LOG_WARN, SY_LOG_INFO, SY_LOG_DEBUG, SY_LOG_TRACE };

/* Operations of an atomic memory operation (specification 9.7). Those that do not fetch are the
 * same operations with a NULL result. FETCH reads only. */
enum sy_amo_op {
    SY_AMO_FETCH,
    SY_AMO_SET,
    SY_AMO_SWAP,
    SY_AMO_CSWAP, /* stores operand where the old value equals compare */
    SY_AMO_ADD,
    SY_AMO_AND,
    SY_AMO_OR,
    SY_AMO_XOR
};

/* Where a PE is. Two PEs with the same node index can map each other's memory. */
struct sy_place {
    int node;         /* index of the PE's node, 0 .. nodes-1, in order of the lowest PE on it */
    int local;        /* index of the PE on its node, 0 .. node size-1, in order of PE number */
    const char *host; /* host name, for messages */
};

/* Regions of memory have numbers below this one, the same on all PEs. */
#define SY_REGIONS 256

enum sy_region_kind {
    SY_REGION_CPU,   /* plain memory */
    SY_REGION_NUMA,  /* the same, placed on chosen nodes of memory */
    SY_REGION_FILE,  /* a file of a file system, mapped */
    SY_REGION_DEVICE /* of a device: CPUs cannot load and store it */
};

/* Memory of this PE that others may address: a symmetric window, as data calls name it. */
struct sy_region {
    enum sy_region_kind kind;
    char *base;         /* address in this process; of the device, where it is a device's */
    size_t length;      /* bytes; the same on every PE that runs the same executable */
    int fd;             /* a file that holds the region, to be mapped by other processes, sealed so
                           that none of them can shorten it; or -1 */
    uint64_t fd_offset; /* where in that file the region begins, at a page */
};

/* A copy that device_begin() has started. */
struct sy_device_copying {
    unsigned window;
    bool in;
    void *ticket; /* of the device; NULL: it is over */
};

struct sy_host {
    size_t size; /* sizeof(struct sy_host) as the core was compiled */
    int pe;      /* this PE, 0 .. npes-1 */
    int npes;
    const unsigned char *job_key; /* 32 random bytes, which only the PEs of the job know */

    /* Writes one log line; the core adds PE, host, level and the category (the plugin's name). */
    void (*log)(enum sy_log_level level, const char *category, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

    /* Formats a failure into err (which may be NULL) and returns -code, for `return
     * host->fail(...)`. */
    int (*fail)(struct sy_error *err, int code, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));

    /* Where PE pe is. Usable from connect() on. */
    struct sy_place (*place)(int pe);

    /* Fills *region for an attached region of this PE: 0, or -ENOENT. */
    int (*window)(unsigned index, struct sy_region *region);

    /* The address, in this process, of `length` bytes at `offset` of a window of PE pe (this PE or
     * one whose memory is mapped here); NULL where that is not mapped or the range leaves the
     * window. The check is the only thing between a malformed message and foreign memory: always
     * ask. */
    void *(*memory)(int pe, unsigned window, uint64_t offset, size_t length);

    /* Applies an atomic operation with this CPU's atomics, the ones that PEs of the node use on the
     * same word: that is what makes it one atomicity domain. width: 4 or 8 bytes, address aligned
     * to it. result: where the old value goes, zero-extended, or NULL. */
    void (*amo)(enum sy_amo_op op, void *address, size_t width, uint64_t operand, uint64_t compare,
                uint64_t *result);

    /* Reports that PE pe can no longer be reached: an errno value (EHOSTUNREACH: it has never been
     * reached; EMFILE: this PE has no file descriptor left for it) and words. To be called at once,
     * from any thread. The job ends with this text, unless the launcher says within a second that a
     * PE has failed: others notice that first, by closed connections. May return, but not to a
     * usable job. */
    void (*lost)(int pe, int code, const char *why);

    /* Several threads of the program may be in data calls at once (SHMEM_THREAD_MULTIPLE). False:
     * at most one is, beside the core's progress thread, which calls progress(), arm(), disarm()
     * and outstanding(). May become true while a transport is open; threads() tells it. */
    bool threads;

    /* For a data call that waits for an answer, between its own polls. Lets all transports
     * progress, this one too, and gives the processor away as the machine's load asks for. It may
     * sleep until something arrives, so look for the answer after a poll that has moved something,
     * before calling this. *since is 0 when the wait begins, and belongs to the core from then on.
     */
    void (*rest)(uint64_t *since);

    /* Asks that the progress thread call progress() about `microseconds` from now, whatever the
     * application does; within four times as long if it looks by itself until then, because the
     * application has polled of late. Costs little where that has been asked for already: an
     * earlier request stands for all, so a transport whose time has not come when it is called asks
     * again. */
    void (*soon)(unsigned microseconds);

    const struct sy_start *start; /* for bootstraps, and limits of the start: see bootstrap.h */

    /* A thread that waits soon sleeps: there are more PEs than processors for them, or SHMEM_WAIT
     * says so. Not known yet in open() of a transport with SY_NODE_ONLY. */
    bool crowded;

    /* SHMEM_PROGRESS=polling: progress() is called by threads of the program that wait, and after
     * soon(); they alone sleep on wait_fd(), after an arm(). Set before open(). */
    bool unattended;

    /* PEs for each processor that this PE may use, rounded up; known as soon as `crowded` is. */
    int load;

    /* Copies `length` bytes between `local` and `offset` of a region of this PE that is a device's
     * (SY_REGION_DEVICE: memory() answers NULL for it); `in`: into the region. Complete on return,
     * aligned elements whole. 0, or -EFAULT: there is no such region, or the range leaves it. NULL,
     * with device_amo: there are no such regions. */
    int (*device_copy)(unsigned window, bool in, uint64_t offset, void *local, size_t length);

    /* amo() on a word of such a region. 0; -EFAULT as above; -EOPNOTSUPP: the device cannot. */
    int (*device_amo)(unsigned window, enum sy_amo_op op, uint64_t offset, size_t width,
                      uint64_t operand, uint64_t compare, uint64_t *result);

    /* device_copy() in two steps, for a device that copies by itself while the CPU goes on;
     * device_ahead() says whether it does. All three or none. device_begin() starts the copy, which
     * uses `local` until device_end() answers true; with `wait` that waits for it. Other devices
     * have copied when device_begin() returns. */
    bool (*device_ahead)(unsigned window);
    int (*device_begin)(unsigned window, bool in, uint64_t offset, void *local, size_t length,
                        struct sy_device_copying *copying);
    bool (*device_end)(struct sy_device_copying *copying, bool wait);

    /* An address of `length` bytes at `offset` of such a region, to be read or (in) to be written
     * whole, until device_unmap(). NULL: they have to be copied, or are not there. Both or none. */
    void *(*device_map)(unsigned window, bool in, uint64_t offset, size_t length);
    void (*device_unmap)(unsigned window, void *address);

    /* Whether operations for PE pe go through this instance of a transport. From wait_fd() on. */
    bool (*routes)(const void *self, int pe);
};

/* Whether the core that has made a host knows of a member. */
#define SY_HOST_HAS(host, member)                                                                  \
    ((host)->size >= offsetof(struct sy_host, member) + sizeof((host)->member))

/* Whether the core offers regions of devices. */
#define SY_HOST_HAS_DEVICES(host)                                                                  \
    (SY_HOST_HAS(host, device_amo) && (host)->device_copy && (host)->device_amo)

#endif

/* The shm transport: makes the memory of the PEs of one node visible to each other.
 *
 * shm.c      the plugin's table
 * exchange.c hands the PEs' files round over a UNIX socket
 * lead.c     the part of the PE that gathers them
 * map.c      maps them, at once or when they are first used
 * region.c   regions that come and go after the exchange
 * service.c  reaches windows that cannot be mapped through a mailbox that their owner serves
 * late.c     a mailbox that is first needed after the exchange
 */
#ifndef SY_TRANSPORTS_SHM_H
#define SY_TRANSPORTS_SHM_H

#include <stdbool.h>
#include <switchyard/transport.h>

#include "engine/regions.h"
#include "util/count.h"
#include "util/net/unix_name.h"

#define SHM_WINDOWS 8

/* What one PE tells the others of its node; descriptors travel beside it. */
struct shm_record {
    int32_t pe;
    uint32_t windows;
    uint64_t length[SHM_WINDOWS];
    int64_t offset[SHM_WINDOWS]; /* in the file, or -1: not in it */
    uint64_t file_length;        /* bytes of the file that are in use */
    uint32_t has_service;        /* a mailbox and a doorbell follow the file */
};

/* What a PE publishes of itself. */
struct shm_address {
    struct sy_unix_name name; /* of its listener */
    uint32_t user;            /* whom it runs as */
};

/* A PE of this node. */
struct shm_peer {
    int pe;
    bool expected; /* it has a socket, and is of this PE's user: it takes part in the exchange */
    bool known;    /* its record has come, and its memory is reached */
    char *map;     /* its file, or NULL: not mapped, or not yet */
    bool late;     /* its file is mapped when it is first used, by sy_shm_map_late */
    int file;      /* its file until then; or -1 */
    struct shm_record record;
    struct shm_mailbox *mailbox; /* where its unmapped windows are reached, or NULL */
    int doorbell;                /* eventfd that wakes it, or -1 */
};

struct shm_settings {
    bool map; /* SHMEM_SHM_MAP */
};

/* A region that is attached, and where those of the node's PEs are. */
struct shm_region {
    struct sy_region own;
    bool attached, early; /* early: it was there before the exchange */
    char **map; /* node_size mappings by key, or NULLs, those handed round by the exchange;
                   NULL: none yet */
};

/* An instance. */
struct shm_state {
    const struct sy_host *host;
    const struct shm_settings *settings;
    struct shm_region region[SY_REGIONS];
    int file; /* that the exchange hands round: that of the first region which has one; or -1 */
    _Atomic unsigned devices; /* regions of this PE that are a device's */
    unsigned windows;         /* of them, the first ones, are handed round by the exchange */
    int listener;             /* before connect */
    struct shm_address address;
    struct shm_peer *peer; /* node_size of them, by index on the node */
    int node, node_size;
    char *files; /* where all PEs' files are mapped, one every `stride` bytes; or NULL */
    uint64_t stride, files_length;
    /* this PE's own service, when some window of it is in no file */
    int mailbox_fd, doorbell;
    struct shm_mailbox *_Atomic mailbox;
    struct {
        pthread_t thread;
        int bell; /* the doorbell's other end; -1: the mailbox, if any, is of the exchange */
        _Atomic bool ending;
    } late;
    struct sy_regions regions;
    pthread_mutex_t attaching; /* held while a row of `region` is written, or all are read */
    pthread_mutex_t serving;   /* held while a request is applied, or its copy begun */
    _Atomic unsigned copying;  /* copies that go on; it grows under `serving` */
    _Atomic uint64_t asked, moved, served, mapped_late; /* shm.c has the rows; by any thread */
};

/* exchange.c */
int sy_shm_listen(struct shm_state *shm, struct sy_error *err);
int sy_shm_exchange(struct shm_state *shm, const char *addresses, size_t stride, double seconds,
                    struct sy_error *err);

/* map.c */
void sy_shm_unmap(struct shm_state *shm);

/* Maps the file of a PE that has not been used before, which the core asks for once; where that
 * fails peer->map stays NULL, and a line says why. */
void sy_shm_map_late(struct shm_state *shm, struct shm_peer *peer);

/* What a PE tells of a region: where its file is, or the mailbox by which it is reached. */
struct shm_key {
    int32_t process, fd; /* process 0: the region is not to be mapped */
    uint64_t device, inode;
    uint64_t offset, length;
    uint64_t bell_inode; /* `fd` is a mailbox; 0: it is the region's file */
    int32_t bell, unused;
};

_Static_assert(sizeof(struct shm_key) <= SY_REGION_KEY, "a key has room for it");

/* Opens what a key says PE pe has open as `fd`, for reading and writing or as `flags` say: a
 * descriptor or -errno. */
int sy_shm_open_there(struct shm_state *shm, const struct shm_key *key, int fd, int flags, int pe,
                      struct sy_error *err);

/* late.c: the mailbox and who serves it. key: what others need to find it. */
int sy_shm_late_open(struct shm_state *shm, struct sy_error *err);
int sy_shm_late_key(struct shm_state *shm, struct shm_key *key, struct sy_error *err);
int sy_shm_late_meet(struct shm_state *shm, struct shm_peer *peer, const struct shm_key *key,
                     struct sy_error *err);
void sy_shm_late_stop(struct shm_state *shm);

/* region.c: the members of the table */
int sy_shm_region_attach(void *self, unsigned index, const struct sy_region *region, void *key,
                         size_t room, struct sy_error *err);
int sy_shm_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                          struct sy_error *err);
void sy_shm_region_detach(void *self, unsigned index);
void sy_shm_regions_close(struct shm_state *shm);

/* This PE's region of a device that an address lies in, or -1. */
int sy_shm_region_of_device(struct shm_state *shm, const void *address);

/* service.c */
size_t sy_shm_mailbox_size(void);

/* bell: its read end, or -1: a new one. */
int sy_shm_service_open(struct shm_state *shm, int bell, struct sy_error *err);
void sy_shm_service_close(struct shm_state *shm);
int sy_shm_service_progress(struct shm_state *shm);
void sy_shm_service_ring(int bell); /* one that is full has rung already */
int sy_shm_service_transfer(struct shm_state *shm, struct shm_peer *peer,
                            const struct sy_transfer *t, bool put);
int sy_shm_service_strided(struct shm_state *shm, struct shm_peer *peer, const struct sy_strided *s,
                           bool put);
int sy_shm_service_amo(struct shm_state *shm, struct shm_peer *peer, const struct sy_amo *a);

/* Data calls for a PE whose file is mapped late: the first ones, and what they are parts of. The
 * core maps the file meanwhile. */
int sy_shm_first_transfer(struct shm_state *shm, const struct sy_transfer *t, bool put);
int sy_shm_first_amo(struct shm_state *shm, const struct sy_amo *a);

#endif

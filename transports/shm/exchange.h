/* What the leader (lead.c) and the other PEs (exchange.c) of the exchange share: messages on
 * sockets that keep messages apart, each with descriptors, and the mapping of what came (map.c). */
#ifndef SY_TRANSPORTS_SHM_EXCHANGE_H
#define SY_TRANSPORTS_SHM_EXCHANGE_H

#include <stddef.h>
#include <sys/types.h>

#include "transports/shm/shm.h"

#define FDS_EACH 3  /* file, mailbox, doorbell */
#define BATCH    64 /* records a message at most; the kernel takes 253 descriptors in one */

/* From a PE to the leader, with its descriptors. */
struct shm_hello {
    unsigned char key[32];
    int32_t failure; /* errno value: why there are no descriptors; else 0 */
    uint32_t batch;  /* records it has descriptors for at a time, 1 to BATCH */
    struct shm_record record;
};

/* From the leader to a PE: records, with their descriptors; or why there will be none. */
struct shm_batch {
    int32_t failure; /* errno value, or 0 */
    uint32_t count;
    uint64_t longest; /* file of all */
    union {
        struct shm_record record[BATCH];
        char why[400];
    };
};

/* A PE's record, and descriptors that this process holds for it. */
struct shm_holding {
    struct shm_record record;
    int fd[FDS_EACH];
    int fds;
};

/* Fills in what this PE hands over; its descriptors stay its own. */
void sy_shm_describe(const struct shm_state *shm, struct shm_holding *mine);

/* Sends a message without waiting; 0 or -errno. ETOOMANYREFS: the kernel bounds the descriptors
 * that are under way, and some have to be received first. */
int sy_shm_send(int socket, const void *bytes, size_t length, const int *fds, int count);

/* Receives a message of at most `room` bytes without waiting; its length, or -errno. All
 * descriptors that came are in fds, which has room for BATCH * FDS_EACH, *count of them; fewer than
 * were sent if *cut. */
ssize_t sy_shm_receive(int socket, void *bytes, size_t room, int *fds, int *count, bool *cut);

void sy_shm_close_all(const int *fds, int count);

/* Out of descriptors: says so, and how many a node of this size needs. */
int sy_shm_too_few_files(const struct shm_state *shm, int code, struct sy_error *err);

/* ---- map.c ---- */

/* The PE's record here; NULL if it is none of this node's. */
struct shm_peer *sy_shm_peer_of(const struct shm_state *shm, int pe);

/* Takes addresses for the files of all PEs of the node, of which the longest has so many bytes. */
int sy_shm_reserve(struct shm_state *shm, uint64_t longest, struct sy_error *err);

/* Takes over what a PE has handed over: memory, mailbox, doorbell. Its descriptors are used up, or
 * closed where that fails. */
int sy_shm_map(struct shm_state *shm, struct shm_holding *h, struct sy_error *err);

/* ---- lead.c ---- */

/* The leader's part of the exchange. patience: seconds without news of any PE. */
int sy_shm_lead(struct shm_state *shm, double seconds, double patience, struct sy_error *err);

#endif

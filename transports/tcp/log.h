/* One direction of one channel: the bytes that this side has to say, kept until the other side has
 * applied them. It outlives connections: after one has broken, the next goes on from where the
 * other side has got to.
 *
 * Small records lie in the ring. The payload of a large one stays where it is and is entered as a
 * *piece*. Positions count all bytes, those of pieces included.
 *
 * Who may write what:
 *   producer   tail, ring_tail, pieces at piece_tail      one thread at a time (lane.h)
 *   sender     sent                                       the holder of the lane's send lock
 *   acks       acked, pieces' removal                     the holder of the poll lock
 * The producer publishes with a release store of tail; the sender reads no further than an acquire
 * load of it. The space behind acked is the producer's again after an acquire load of acked. When
 * all of it is, the producer begins at the front of the ring again (`shift`, which nobody reads
 * while nothing is in the log): so a log that never has much to hold touches few pages. Those of a
 * log that has been empty for a while go back to the kernel (idle.c). */
#ifndef TCP_LOG_H
#define TCP_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "transports/tcp/ring.h"

#define TCP_PIECES 256 /* of a log, a power of two */

struct tcp_piece {
    uint64_t at; /* position of its first byte */
    const char *data;
    size_t length; /* without padding */
    void *copy;    /* to be freed when it has been applied, or NULL */
};

/* A place in the log, in all three measures. */
struct tcp_cursor {
    _Atomic uint64_t at;    /* position */
    _Atomic uint64_t ring;  /* how many of these bytes are in the ring */
    _Atomic uint64_t piece; /* how many pieces end before it */
};

struct tcp_log {
    struct tcp_ring ring;
    struct tcp_piece *piece; /* TCP_PIECES, made with the first */
    /* producer */
    _Alignas(64) _Atomic uint64_t tail;
    uint64_t ring_tail;
    uint64_t shift; /* added to a place counted in ring bytes, for where it is in the ring */
    _Atomic uint64_t piece_tail;
    /* sender */
    _Alignas(64) struct tcp_cursor sent;
    /* acks */
    _Alignas(64) struct tcp_cursor acked;
};

int sy_tcp_log_open(struct tcp_log *log, size_t size);
void sy_tcp_log_close(struct tcp_log *log);

static inline char *sy_tcp_log_at(const struct tcp_log *log, uint64_t ring)
{
    return sy_tcp_ring_at(&log->ring, ring + log->shift);
}

/* Room for `bytes` contiguous bytes in the ring, at most its size; NULL: none now. */
static inline char *sy_tcp_log_reserve(struct tcp_log *log, size_t bytes)
{
    uint64_t used = log->ring_tail - atomic_load_explicit(&log->acked.ring, memory_order_acquire);

    if (!used)
        log->shift = -log->ring_tail;
    return used + bytes <= log->ring.size ? sy_tcp_log_at(log, log->ring_tail) : NULL;
}

/* Publishes `bytes` written at sy_tcp_log_reserve's address; returns the new tail. */
static inline uint64_t sy_tcp_log_commit(struct tcp_log *log, size_t bytes)
{
    uint64_t tail = atomic_load_explicit(&log->tail, memory_order_relaxed) + bytes;

    log->ring_tail += bytes;
    atomic_store_explicit(&log->tail, tail, memory_order_release);
    return tail;
}

/* Whether a piece can be entered now. */
bool sy_tcp_log_has_piece(struct tcp_log *log);

/* Publishes `bytes` of ring, then a piece with padding to 8 bytes. The data stay as they are until
 * the piece has been applied. Returns the new tail. */
uint64_t sy_tcp_log_commit_piece(struct tcp_log *log, size_t bytes, const char *data, size_t length,
                                 void *copy);

/* Fills iov with what follows `sent`, whole records, up to about `most` bytes, moves `sent` behind
 * it, and returns the length; *count: entries used, at most `room` (which is 4 or more). */
size_t sy_tcp_log_take(struct tcp_log *log, struct iovec *iov, int room, int *count, size_t most);

/* The position whose low 32 bits the other side has given as applied. */
static inline uint64_t sy_tcp_log_position(const struct tcp_log *log, uint32_t low)
{
    uint64_t acked = atomic_load_explicit(&log->acked.at, memory_order_relaxed);

    return acked + (uint32_t)(low - (uint32_t)acked);
}

/* The other side has applied everything below a position, which has been sent: frees it. False: no
 * record can end there. */
bool sy_tcp_log_applied(struct tcp_log *log, uint64_t position);

/* A new connection: the other side has applied everything below `position`; sending goes on there.
 * False: that cannot be. Under both locks. */
bool sy_tcp_log_resume(struct tcp_log *log, uint64_t position);

/* Copies the pieces that lie in [data, data + length) and have not been applied: 0 or -ENOMEM.
 * Under both locks; no frame may be half sent from them, or its entries must be mended by the
 * caller. */
int sy_tcp_log_keep(struct tcp_log *log, const char *data, size_t length);

/* Gives back the pages of a log that is empty, and whose producer is this thread or kept out. Under
 * the poll lock. */
void sy_tcp_log_trim(struct tcp_log *log);

static inline uint64_t sy_tcp_log_tail(const struct tcp_log *log)
{
    return atomic_load_explicit(&log->tail, memory_order_acquire);
}

static inline uint64_t sy_tcp_log_sent(const struct tcp_log *log)
{
    return atomic_load_explicit(&log->sent.at, memory_order_relaxed);
}

static inline uint64_t sy_tcp_log_acked(const struct tcp_log *log)
{
    return atomic_load_explicit(&log->acked.at, memory_order_acquire);
}

#endif

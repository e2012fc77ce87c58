/* One direction of one channel: the bytes that this side has to say, kept until the other side has
 * applied them. It outlives connections: after one has broken, the next goes on from where the
 * other side has got to.
 *
 * Small records lie in the ring. The payload of a large one stays where it is and is entered as a
 * *segment*. Positions count all bytes, those of segments included.
 *
 * Who may write what:
 *   producer   tail, ring_tail, segments at segment_tail      one thread at a time (stream.h)
 *   sender     sent                                       the holder of the stream's send lock
 *   acks       acked, segments' removal                     the holder of the poll lock
 * The producer publishes with a release store of tail; the sender reads no further than an acquire
 * load of it. The space behind acked is the producer's again after an acquire load of acked. When
 * all of it is, the producer begins at the front of the ring again (`shift`, which nobody reads
 * while nothing is in the queue): so a queue that never has much to hold touches few pages. Those
 * of a queue that has been empty for a while go back to the kernel (idle.c). */
#ifndef TCP_QUEUE_H
#define TCP_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/uio.h>

#include "transports/tcp/ring.h"

#define TCP_SEGMENTS 256 /* of a queue, a power of two */

struct tcp_segment {
    uint64_t at; /* position of its first byte */
    const char *data;
    size_t length; /* without padding */
    void *copy;    /* to be freed when it has been applied, or NULL */
};

/* A place in the queue, in all three measures. */
struct tcp_cursor {
    _Atomic uint64_t at;      /* position */
    _Atomic uint64_t ring;    /* how many of these bytes are in the ring */
    _Atomic uint64_t segment; /* how many segments end before it */
};

struct tcp_queue {
    struct tcp_ring ring;
    struct tcp_segment *segment; /* TCP_SEGMENTS, made with the first */
    /* producer */
    _Alignas(64) _Atomic uint64_t tail;
    uint64_t ring_tail;
    uint64_t shift; /* added to a place counted in ring bytes, for where it is in the ring */
    _Atomic uint64_t segment_tail;
    /* sender */
    _Alignas(64) struct tcp_cursor sent;
    /* acks */
    _Alignas(64) struct tcp_cursor acked;
};

int sy_tcp_queue_open(struct tcp_queue *queue, size_t size);
void sy_tcp_queue_close(struct tcp_queue *queue);

static inline char *sy_tcp_queue_at(const struct tcp_queue *queue, uint64_t ring)
{
    return sy_tcp_ring_at(&queue->ring, ring + queue->shift);
}

/* Room for `bytes` contiguous bytes in the ring, at most its size; NULL: none now. */
static inline char *sy_tcp_queue_reserve(struct tcp_queue *queue, size_t bytes)
{
    uint64_t used = queue->ring_tail -
                    atomic_load_explicit(&queue->acked.ring, memory_order_acquire);

    if (!used)
        queue->shift = -queue->ring_tail;
    return used + bytes <= queue->ring.size ? sy_tcp_queue_at(queue, queue->ring_tail) : NULL;
}

/* Publishes `bytes` written at sy_tcp_queue_reserve's address; returns the new tail. */
static inline uint64_t sy_tcp_queue_commit(struct tcp_queue *queue, size_t bytes)
{
    uint64_t tail = atomic_load_explicit(&queue->tail, memory_order_relaxed) + bytes;

    queue->ring_tail += bytes;
    atomic_store_explicit(&queue->tail, tail, memory_order_release);
    return tail;
}

/* Whether a segment can be entered now. */
bool sy_tcp_queue_has_segment(struct tcp_queue *queue);

/* Publishes `bytes` of ring, then a segment with padding to 8 bytes. The data stay as they are
 * until the segment has been applied. Returns the new tail. */
uint64_t sy_tcp_queue_commit_segment(struct tcp_queue *queue, size_t bytes, const char *data,
                                     size_t length, void *copy);

/* Fills iov with what follows `sent`, whole records, up to about `most` bytes, moves `sent` behind
 * it, and returns the length; *count: entries used, at most `room` (which is 4 or more). */
size_t sy_tcp_queue_take(struct tcp_queue *queue, struct iovec *iov, int room, int *count,
                         size_t most);

/* The position whose low 32 bits the other side has given as applied. */
static inline uint64_t sy_tcp_queue_position(const struct tcp_queue *queue, uint32_t low)
{
    uint64_t acked = atomic_load_explicit(&queue->acked.at, memory_order_relaxed);

    return acked + (uint32_t)(low - (uint32_t)acked);
}

/* The other side has applied everything below a position, which has been sent: frees it. False: no
 * record can end there. */
bool sy_tcp_queue_applied(struct tcp_queue *queue, uint64_t position);

/* A new connection: the other side has applied everything below `position`; sending goes on there.
 * False: that cannot be. Under both locks. */
bool sy_tcp_queue_resume(struct tcp_queue *queue, uint64_t position);

/* Copies the segments that lie in [data, data + length) and have not been applied: 0 or -ENOMEM.
 * Under both locks; no frame may be half sent from them, or its entries must be mended by the
 * caller. */
int sy_tcp_queue_keep(struct tcp_queue *queue, const char *data, size_t length);

/* Gives back the pages of a queue that is empty, and whose producer is this thread or kept out.
 * Under the poll lock. */
void sy_tcp_queue_trim(struct tcp_queue *queue);

static inline uint64_t sy_tcp_queue_tail(const struct tcp_queue *queue)
{
    return atomic_load_explicit(&queue->tail, memory_order_acquire);
}

static inline uint64_t sy_tcp_queue_sent(const struct tcp_queue *queue)
{
    return atomic_load_explicit(&queue->sent.at, memory_order_relaxed);
}

static inline uint64_t sy_tcp_queue_acked(const struct tcp_queue *queue)
{
    return atomic_load_explicit(&queue->acked.at, memory_order_acquire);
}

#endif

/* One direction of one channel: the bytes that this side has to say, kept until the other side has
 * applied them. It outlives connections: after one has broken, the next goes on from where the
 * other side has got to.
 *
 * Small records lie in the ring. The payload of a large one stays where it is and is entered as a
 * *segment*. Positions count all bytes, those of segments included.
 *
 * Who may write what:
 *   producer   tx: at, end, tail; in_segments, segments at segment_tail   one thread at a time
 *   sender     tx.sent, sent                                the holder of the stream's send lock
 *   acks       tx.applied, applied, segments' removal       the holder of the poll lock
 * The producer publishes with a release store of tail; the sender reads no further than an acquire
 * load of it. The space behind `applied` is the producer's again after an acquire load of that: the
 * sender no longer reads it, since a call that sends has copied all that it takes before the other
 * side can confirm it, and `applied` moves by such confirmations alone, which come through the
 * kernel too, or under both locks. The producer takes that space a window at a time. When all of
 * the ring is free, it begins at the front again (`shift`, which nobody reads while nothing is in
 * the queue): so a queue that never has much to hold touches few pages. One that always has
 * something to hold goes round in its ring, which therefore is small at first: when it has been
 * full, and then is empty, there is a larger one in its place. Pages of a queue that has been empty
 * for a while go back to the kernel (idle.c). */
#ifndef TCP_QUEUE_H
#define TCP_QUEUE_H

#include <sys/uio.h>

#include "engine/tx.h"
#include "transports/tcp/ring.h"

#define TCP_SEGMENTS 256 /* of a queue, a power of two */

struct tcp_segment {
    uint64_t at;      /* position of its first byte */
    const char *data; /* NULL: the kernel has them; who sends them again makes them of `source` */
    size_t length;    /* without padding */
    uint64_t source;
    void *copy; /* of sy_tcp_queue_copy, to be freed when it has been applied, or NULL */
};

/* A position of tx in the two other measures. */
struct tcp_cursor {
    _Atomic uint64_t ring;    /* how many of these bytes are in the ring */
    _Atomic uint64_t segment; /* how many segments end before it */
};

struct tcp_queue {
    struct tcp_ring ring;
    struct tcp_segment *segment; /* TCP_SEGMENTS, made with the first */
    struct sy_tx *tx;            /* what is in it, for the writer of records */
    /* producer */
    _Alignas(64) uint64_t in_segments; /* bytes of segments, ever */
    uint64_t shift; /* added to a place counted in ring bytes, for where it is in the ring */
    size_t most;    /* bytes of the ring, once it is a larger one */
    bool full;      /* it waits to be empty, and for that ring */
    _Atomic uint64_t segment_tail;
    /* sender */
    _Alignas(64) struct tcp_cursor sent;
    /* acks */
    _Alignas(64) struct tcp_cursor applied;
    void *spare; /* copies that have been freed, a list: new pages cost as much as filling them */
    unsigned spares;
};

/* tx: zeros, and there for as long as the queue. size: of its ring at first; most: later. */
int sy_tcp_queue_open(struct tcp_queue *queue, struct sy_tx *tx, size_t size, size_t most);
void sy_tcp_queue_close(struct tcp_queue *queue);

/* Moves tx.at and tx.end on, to where `bytes` have room, at most the size of the first ring. False:
 * none now. */
bool sy_tcp_queue_room(struct tcp_queue *queue, size_t bytes);

/* Room for `bytes` contiguous bytes in the ring; NULL: none now. */
static inline char *sy_tcp_queue_reserve(struct tcp_queue *queue, size_t bytes)
{
    return sy_tx_fits(queue->tx, bytes) || sy_tcp_queue_room(queue, bytes) ? queue->tx->at : NULL;
}

/* Whether a segment can be entered now. */
bool sy_tcp_queue_has_segment(struct tcp_queue *queue);

/* Memory for a segment's copy of so many bytes, at most SY_RECORD_CHUNK; NULL: there is none. Under
 * the poll lock, as what frees it. */
void *sy_tcp_queue_copy(struct tcp_queue *queue, size_t length);
void sy_tcp_queue_uncopy(struct tcp_queue *queue, void *copy, size_t length);

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
    uint64_t applied = atomic_load_explicit(&queue->tx->applied, memory_order_relaxed);

    return applied + (uint32_t)(low - (uint32_t)applied);
}

/* The other side has applied everything below a position, which has been sent: frees it. False: no
 * record can end there. */
bool sy_tcp_queue_release(struct tcp_queue *queue, uint64_t position);

/* A new connection: the other side has applied everything below `position`; sending goes on there.
 * False: that cannot be. Under both locks. */
bool sy_tcp_queue_resume(struct tcp_queue *queue, uint64_t position);

/* Copies the segments that lie in [data, data + length) and have not been applied: 0 or -ENOMEM.
 * Under both locks; no frame may be half sent from them, or its entries must be mended by the
 * caller. */
int sy_tcp_queue_keep(struct tcp_queue *queue, const char *data, size_t length);

/* The data of the last segment are used no more from where they were: they are in `copy`, or (NULL)
 * the kernel has them, and a new connection, should it need them, has them made again, of what
 * `source` stands for. Under both locks. */
void sy_tcp_queue_let_go(struct tcp_queue *queue, void *copy, uint64_t source);

/* A segment that has not been applied and whose data have to be made again; NULL: none. Under both
 * locks. */
struct tcp_segment *sy_tcp_queue_lacking(const struct tcp_queue *queue);

/* Gives back the pages of a queue that is empty, and whose producer is this thread or kept out.
 * Under the poll lock. */
void sy_tcp_queue_trim(struct tcp_queue *queue);

#endif

/* When the requests to a peer leave: the policy. State, events and decisions; it reads no clock and
 * sends nothing, so tests/unit/test_flush.c holds it against recorded sequences.
 *
 * An operation that waits for an answer leaves at once, and so does one that finds its peer idle,
 * unless it is one of many in a row, each to another peer. Others are gathered until there are
 * as many bytes as sy_flush_limit() says, until a thread of this PE waits for anything, or until
 * the transport's delay is over. The numbers are in flush.c.
 *
 * All of it decides only *when* something leaves. So accesses are relaxed, and threads that issue
 * at once may spoil each other's counts. */
#ifndef SY_ENGINE_FLUSH_H
#define SY_ENGINE_FLUSH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/bits.h"

/* The policy's state for one peer; all zeros at the beginning, and sy_flush_start(). Times are in
 * nanoseconds, positions in bytes of the stream of requests. */
struct sy_flush {
    size_t most;                  /* how many gathered bytes leave at once; constant */
    _Atomic size_t limit;         /* the same for those that wait now */
    _Atomic uint64_t sent_at;     /* the last time that anything left */
    _Atomic uint64_t gathered_at; /* when the oldest request that waits was appended */
    _Atomic uint64_t burst_end;   /* where the operation ended that last found the peer idle */
    _Atomic uint64_t first;       /* bytes of the request that waited first, or left for `leaves` */
    _Atomic int bursts;           /* how often others followed such an operation at once, of late */
    _Atomic int kept;             /* how often the program sent what it had gathered, of late */
    _Atomic int quiets;           /* how often a quiet has followed an operation that left alone */
    _Atomic int leaves;           /* how often it left a few requests to the progress thread; where
                                     that is a habit, more: one for each that is to leave for it */
    _Atomic int together;         /* how many of these have left in a row */
    _Atomic uint64_t leader;      /* bytes of one that others followed before they were left */
    _Atomic uint64_t followers;   /* their bytes */
    _Atomic bool alone;           /* an operation has left alone, and no quiet has followed yet */
    _Atomic bool left;            /* by the program, until the progress thread sent it */
};

/* Operations of one context in a row, each of which found its peer idle; all zeros at the
 * beginning. A program that turns from peer to peer finds each idle, because sending to the others
 * takes so long. */
struct sy_flush_row {
    _Atomic uint64_t ended; /* when the last one had left or was gathered */
    _Atomic int count;      /* of them, up to a bound */
};

enum sy_flush_when {
    SY_FLUSH_GATHER,    /* later, with others, for which all has been arranged */
    SY_FLUSH_NOW,       /* somebody waits for it */
    SY_FLUSH_FULL,      /* now, unless the stream is blocked */
    SY_FLUSH_FIRST,     /* it is the first that waits: sy_flush_first says */
    SY_FLUSH_ALONE,     /* now, by itself */
    SY_FLUSH_ALONE_ACK, /* the same, and the acknowledgement is to be asked for */
    SY_FLUSH_SOON,      /* when the delay is over, at the latest */
    SY_FLUSH_LATE       /* the same with a longer delay: the program is relied on */
};

/* How many gathered bytes leave at once, with a buffer of so many. */
size_t sy_flush_limit(size_t buffer);

/* The delay in use: that of the option, or the longer one. In the option's unit. */
unsigned sy_flush_delay(unsigned option, bool late);

/* Begins. most: by sy_flush_limit(). */
static inline void sy_flush_start(struct sy_flush *flush, size_t most)
{
    flush->most = most;
    atomic_init(&flush->limit, most);
}

/* `bytes` have been appended, and `waiting` in all have not been sent. prompt: somebody waits. */
static inline enum sy_flush_when sy_flush_appended(const struct sy_flush *flush, uint64_t waiting,
                                                   size_t bytes, bool prompt)
{
    if (SY_UNLIKELY(prompt))
        return SY_FLUSH_NOW;
    if (SY_UNLIKELY(waiting >= atomic_load_explicit(&flush->limit, memory_order_relaxed)))
        return SY_FLUSH_FULL;
    return SY_UNLIKELY(waiting == bytes) ? SY_FLUSH_FIRST : SY_FLUSH_GATHER;
}

/* The request [begin, end) is the first that waits: ALONE, ALONE_ACK, SOON or LATE. batch: the
 * program has announced more. */
enum sy_flush_when sy_flush_first(struct sy_flush *flush, struct sy_flush_row *row, uint64_t now,
                                  uint64_t begin, uint64_t end, bool batch);

/* After ALONE and ALONE_ACK, when the request has been sent. */
static inline void sy_flush_left(const struct sy_flush *flush, struct sy_flush_row *row)
{
    uint64_t sent = atomic_load_explicit(&flush->sent_at, memory_order_relaxed);

    atomic_store_explicit(&row->ended, sent, memory_order_relaxed);
}

/* After FULL: what comes next is not what was waited for. */
static inline void sy_flush_filled(struct sy_flush *flush)
{
    atomic_store_explicit(&flush->limit, flush->most, memory_order_relaxed);
}

/* Something has left. */
static inline void sy_flush_sent(struct sy_flush *flush, uint64_t now)
{
    atomic_store_explicit(&flush->sent_at, now, memory_order_relaxed);
}

/* A quiet waits for what has been sent. */
void sy_flush_quiet(struct sy_flush *flush);

/* A thread that is not the producer has sent `bytes` that were gathered. delay: nanoseconds.
 * crowded: PEs outnumber processors, where messages are dearer than their delay. */
void sy_flush_taken(struct sy_flush *flush, uint64_t bytes, uint64_t delay, bool crowded);

/* Whether the oldest request that waits has waited for the delay. */
bool sy_flush_is_due(const struct sy_flush *flush, uint64_t now, uint64_t delay);

/* Whether nothing has left for so long that threads which polled for this peer sleep. */
bool sy_flush_has_rested(const struct sy_flush *flush, uint64_t now);

#endif

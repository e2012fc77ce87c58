/* A stream of bytes to one process. The transport owns it; the engine writes records into it, which
 * the other side applies in this order. Positions count all bytes since the start. A record stays
 * in the transport's memory until it has been applied, or copied.
 *
 * Who may write what:
 *   producer (one thread at a time)              at, end, tail
 *   any thread, by sy_tx_ask()                   ask
 *   the transport's thread that sends            sent, blocked
 *   the transport's thread that receives acks    applied */
#ifndef SY_ENGINE_TX_H
#define SY_ENGINE_TX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/bits.h"

struct sy_tx {
    char *at;              /* where the next record goes, */
    char *end;             /* and the end of the room there; zeros: none is known of yet */
    _Atomic uint64_t tail; /* published: what is before it has been written */
    _Alignas(SY_LINE) _Atomic uint64_t sent; /* on its way; not more than tail */
    _Atomic uint64_t ask; /* the other side is to say when it has applied up to here */
    _Atomic bool blocked; /* sending would be in vain just now; once it is not, it is sent */
    _Alignas(SY_LINE) _Atomic uint64_t applied; /* by the other side; not more than sent */
};

/* Whether `bytes` can be written at `at`. If not, the transport is asked for more room. */
SY_INLINE bool sy_tx_fits(const struct sy_tx *tx, size_t bytes)
{
    return (size_t)(tx->end - tx->at) >= bytes;
}

/* Publishes `bytes` that have been written; returns the new tail. */
SY_INLINE uint64_t sy_tx_commit(struct sy_tx *tx, size_t bytes)
{
    uint64_t tail = atomic_load_explicit(&tx->tail, memory_order_relaxed) + bytes;

    tx->at += bytes;
    atomic_store_explicit(&tx->tail, tail, memory_order_release);
    return tail;
}

static inline uint64_t sy_tx_tail(const struct sy_tx *tx)
{
    return atomic_load_explicit(&tx->tail, memory_order_acquire);
}

/* Whether to send what has been committed. Who ends `blocked` then sends all, behind a fence: it
 * sees the tail, or this thread that the stream is free. */
static inline bool sy_tx_is_free(const struct sy_tx *tx)
{
    if (atomic_load_explicit(&tx->blocked, memory_order_relaxed))
        atomic_thread_fence(memory_order_seq_cst);
    return !atomic_load_explicit(&tx->blocked, memory_order_relaxed);
}

static inline uint64_t sy_tx_sent(const struct sy_tx *tx)
{
    return atomic_load_explicit(&tx->sent, memory_order_relaxed);
}

static inline uint64_t sy_tx_applied(const struct sy_tx *tx)
{
    return atomic_load_explicit(&tx->applied, memory_order_acquire);
}

/* Asks that the other side acknowledge what has been appended up to `position`. Sends nothing. */
static inline void sy_tx_ask(struct sy_tx *tx, uint64_t position)
{
    uint64_t before = atomic_load_explicit(&tx->ask, memory_order_relaxed);

    while (before < position &&
           !atomic_compare_exchange_weak_explicit(&tx->ask, &before, position, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}

#endif

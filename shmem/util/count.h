/* Counters that any thread may read at any time. They order nothing. */
#ifndef SY_UTIL_COUNT_H
#define SY_UTIL_COUNT_H

#include <stdatomic.h>
#include <stdint.h>

/* Adds to a counter that several threads write. */
static inline void sy_count_shared(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* Adds to a counter that one thread at a time writes, as under a lock: no locked instruction. */
static inline void sy_count(_Atomic uint64_t *counter, uint64_t more)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

/* Keeps the largest value that has been seen; one thread at a time. */
static inline void sy_count_most(_Atomic uint64_t *counter, uint64_t value)
{
    if (value > atomic_load_explicit(counter, memory_order_relaxed))
        atomic_store_explicit(counter, value, memory_order_relaxed);
}

#endif

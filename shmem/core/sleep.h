/* Sleep of a waiting thread on the descriptors of the transports, and the word that ends it.
 *
 * The kernel wakes a thread that sleeps on a descriptor, but lets it sleep on if another thread has
 * taken meanwhile what came. So the progress thread counts what it has moved and, where somebody
 * sleeps, writes to a descriptor of this process. Neither misses the other: the sleeper says that
 * it sleeps and then looks at the count, the progress thread counts and then looks for a sleeper.
 * The sleeper compares with the count as it was before it last looked at what it waits for.
 *
 * Several threads may sleep. One of them takes the word away, perhaps before another has seen it:
 * with SHMEM_THREAD_MULTIPLE nobody sleeps for long (wait.c). */
#ifndef SY_CORE_SLEEP_H
#define SY_CORE_SLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/bits.h"

struct sy_sleep {
    _Atomic uint32_t moved;  /* times that the progress thread has moved something */
    _Atomic uint32_t asleep; /* threads that sleep, or are about to */
} __attribute__((aligned(SY_LINE)));

extern struct sy_sleep sy_sleep SY_HIDDEN;

/* After sy_routes_connect. Whether there is a descriptor to sleep on. */
bool sy_sleep_open(void);
void sy_sleep_close(void);

/* To be asked before a look at what is waited for, and given to sy_sleep_until_arrival after it. */
static inline uint32_t sy_sleep_count(void)
{
    return atomic_load_explicit(&sy_sleep.moved, memory_order_acquire);
}

/* Sleeps until something arrives, the progress thread has moved something since sy_sleep_count
 * returned `count`, or `nanoseconds` have passed. Returns true if there may be something to poll
 * for or to see. */
bool sy_sleep_until_arrival(uint32_t count, uint64_t nanoseconds);

static inline bool sy_sleep_anybody(void)
{
    return atomic_load(&sy_sleep.asleep) != 0;
}

/* The progress thread has moved something. */
void sy_sleep_word(void);

#endif

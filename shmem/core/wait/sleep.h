/* Sleep of a waiting thread on the descriptors of the transports, and the eventfd that ends it.
 *
 * The kernel wakes a thread that sleeps on a descriptor, but lets it sleep on if another thread has
 * meanwhile read what arrived. So the progress thread counts what it moves, and where somebody
 * sleeps writes to an eventfd of this process. Neither misses the other: the sleeper says that it
 * sleeps and then reads the count; the other one counts and then looks for a sleeper. The sleeper
 * compares with the count from before its last look at what it waits for.
 *
 * Several threads may sleep. One of them reads the eventfd, perhaps before another has seen it:
 * with SHMEM_THREAD_MULTIPLE nobody sleeps for longer than a millisecond, or 50 us for each PE of
 * the node (wait.c).
 *
 * One thread, the listener, sleeps without the descriptors and leaves them to the others: it is
 * told once by whoever has polled a transport. The same argument: it enters itself and then looks;
 * the others move and then look for it.
 *
 * Or the only thread that waits sleeps on a futex, the word it waits for, where PEs that have the
 * word mapped wake it. It enters the word, leaves the transports to the progress thread, and
 * then looks at the word as it sets the bit that asks for waking; that thread moves and then looks
 * for a word whose bits have come. Who reads the word is counted before it looks for one; the
 * sleeper removes it and then waits for the readers, as its memory may be given back after that. */
#ifndef SY_CORE_SLEEP_H
#define SY_CORE_SLEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <switchyard/error.h>

#include "util/bits.h"

struct sy_sleep {
    _Atomic uint32_t moved;  /* calls of sy_sleep_moved */
    _Atomic uint32_t asleep; /* threads that sleep, or are about to */
    _Atomic bool listened;   /* there has been a listener */
    void (*_Atomic listener)(void);
    uint32_t *_Atomic word; /* a thread sleeps until this has one of `bits`; or NULL */
    _Atomic uint32_t bits;
    _Atomic uint32_t readers; /* of the word */
} __attribute__((aligned(SY_LINE)));

extern struct sy_sleep sy_sleep SY_HIDDEN;

int sy_sleep_open(struct sy_error *err);
void sy_sleep_close(void);

/* The count to take before a look at what is waited for, and to give to sy_sleep_until_arrival
 * after it. */
static inline uint32_t sy_sleep_count(void)
{
    return atomic_load_explicit(&sy_sleep.moved, memory_order_acquire);
}

/* Sleeps until something arrives, sy_sleep_moved has been called since sy_sleep_count returned
 * `count`, or `nanoseconds` have passed. False: only the last. */
bool sy_sleep_until_arrival(uint32_t count, uint64_t nanoseconds);

static inline bool sy_sleep_anybody(void)
{
    return atomic_load(&sy_sleep.asleep) != 0;
}

/* Something has been moved that another thread may wait for. */
void sy_sleep_moved(void);

/* Enters the listener, before its last look: `wake` is called once, by any thread that may hold no
 * lock of `wake`. NULL: it listens no more. */
void sy_sleep_listen(void (*wake)(void));

/* Something may have been moved, by a thread that looks for nobody else. */
void sy_sleep_tell(void) __attribute__((cold));
static inline void sy_sleep_polled(void)
{
    if (SY_UNLIKELY(atomic_load_explicit(&sy_sleep.listened, memory_order_relaxed)))
        sy_sleep_tell();
}

#endif

/* How a thread waits for a word in memory to change: it looks again at once while the wait is
 * young, then gives the processor away, then sleeps. When, and until what, is in
 * docs/architecture.md (Waiting and progress). */
#ifndef SY_CORE_WAIT_H
#define SY_CORE_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/memory/windows.h"
#include "util/bits.h"

/* Waits until `condition` holds, which only the library on this and other PEs can bring about, by
 * what it writes into words of its own. Between the calls of sy_wait_rest the loop is the mere
 * condition. */
#define SY_WAIT_UNTIL(condition) SY_WAIT_UNTIL_IN(sy_wait_inside, condition)

extern const char sy_wait_inside[] SY_HIDDEN;

/* SY_WAIT_UNTIL for a condition that the program may bring about. where: the routine that waits,
 * for reports. */
#define SY_WAIT_UNTIL_IN(where, condition)                                                         \
    do {                                                                                           \
        uint64_t sy_since = 0;                                                                     \
        uint32_t sy_looks = sy_wait_looks;                                                         \
        while (!(condition))                                                                       \
            if (SY_UNLIKELY(!--sy_looks))                                                          \
                sy_looks = sy_wait_rest(&sy_since, where);                                         \
        sy_wait_over(sy_since);                                                                    \
    } while (0)

/* SY_WAIT_UNTIL for `bits` of a word in this PE's memory. A thread that sleeps without descriptors
 * sets `asleep` in it before: who sets the bits, and finds that in a word that it has mapped, calls
 * sy_wait_wake, so that nobody has to look at memory at short intervals. */
void sy_wait_for_bits(uint32_t *word, uint32_t bits, uint32_t asleep);
void sy_wait_wake(const uint32_t *word);

/* Looks before a waiting thread begins to yield. Set by sy_wait_open. */
extern uint32_t sy_wait_looks SY_HIDDEN;

/* mode: enum sy_wait_mode (config.h). crowded: there are more PEs than processors for them, or
 * waiting threads are to sleep as if there were. alone: no other thread of this PE ends what
 * one waits for, and transports are asked to tell of what arrives. After sy_routes_connect. */
int sy_wait_open(int mode, bool crowded, bool alone, struct sy_error *err);
void sy_wait_close(void);

/* Other threads of this PE may end what one waits for from now on. */
void sy_wait_threads(void);

/* As sy_wait_open was told. */
bool sy_wait_crowded(void);

/* Whether the listener (sleep.h) is told of all that other PEs write here. */
bool sy_wait_told(void);

/* Polls transports, yields or sleeps, once. *since: when this wait began to rest, 0 before. where:
 * what waits, for reports. Returns the number of looks until the next rest. */
uint32_t sy_wait_rest(uint64_t *since, const char *where) __attribute__((cold));

/* The end of a wait in which sy_wait_rest was called. */
void sy_wait_rested(void) __attribute__((cold));

/* A transport gathers what others may wait for, and has asked to be polled soon. For the wait that
 * is over at its first look and polls nothing: the program goes on then, perhaps to compute for
 * long. */
extern _Atomic bool sy_wait_gathered SY_HIDDEN;

/* The end of such a wait. Polls, now and then. */
void sy_wait_passed(void) __attribute__((cold));

/* The end of every wait. since: as sy_wait_rest left it. */
static inline void sy_wait_over(uint64_t since)
{
    if (SY_UNLIKELY(since != 0))
        sy_wait_rested();
    else if (SY_UNLIKELY(atomic_load_explicit(&sy_wait_gathered, memory_order_relaxed)))
        sy_wait_passed();
}

/* sy_wait_rest for a wait inside a transport, which polls by itself and does not call sy_wait_over:
 * struct sy_host's member. */
void sy_wait_rest_inside(uint64_t *since);

/* To be called after a test that failed: programs test in loops of their own. */
void sy_wait_missed(void);

/* Polls transports once in so many calls. */
void sy_wait_poll_sometimes(void) __attribute__((cold));

/* To be called after a look at mapped memory, which may be in such a loop (SY_LOOKS_). own: it was
 * this PE's memory. */
static inline void sy_wait_looked(bool own)
{
    if (SY_UNLIKELY(sy_hot.looks > (own ? SY_LOOKS_MERELY : SY_LOOKS_POLL_OWN)))
        sy_wait_poll_sometimes();
}

#endif

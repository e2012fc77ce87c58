/* How a thread waits for a word in memory to change: look again at once while the wait is young,
 * then give the processor away, then sleep for a small part of the time waited so far. With more
 * PEs than processors the first phase is short, because the PE that is waited for may need this
 * processor. */
#ifndef SY_CORE_WAIT_H
#define SY_CORE_WAIT_H

#include <stdint.h>

#include "util/bits.h"

/* Waits until `condition` holds. Between the calls of sy_wait_rest the loop is the mere condition.
 */
#define SY_WAIT_UNTIL(condition)                                                                   \
    do {                                                                                           \
        uint64_t sy_since = 0;                                                                     \
        uint32_t sy_looks = sy_wait_looks;                                                         \
        while (!(condition))                                                                       \
            if (SY_UNLIKELY(!--sy_looks))                                                          \
                sy_looks = sy_wait_rest(&sy_since);                                                \
    } while (0)

/* Looks before a waiting thread begins to give way. Set by sy_wait_open. */
extern uint32_t sy_wait_looks SY_HIDDEN;

/* Chooses by the number of PEs on this node and the processors they may use. */
void sy_wait_open(int node_pes);

/* Polls transports, yields or sleeps, once. *since: when this wait began to rest, 0 before. Returns
 * the number of looks until the next rest. */
uint32_t sy_wait_rest(uint64_t *since) __attribute__((cold));

#endif

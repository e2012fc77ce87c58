/* Whether a thread that waits should yield or sleep, by how long its yields last: see
 * docs/architecture.md (Waiting and progress). Among PEs that only exchange messages a sleeper that
 * is woken displaces who has woken it, at every message, and a yield costs a third of a sleep.
 *
 * After two long yields of a few milliseconds with hardly a short one between them the thread
 * sleeps for a while. Then it tries a yield. If that is long too, others still compute, and it
 * sleeps for twice as long. So a long yield when a job starts, or behind the burst of a PE, is soon
 * forgotten, and beside a process that computes for long few yields are lost. */
#ifndef SY_CORE_DISPLACED_H
#define SY_CORE_DISPLACED_H

#include <stdbool.h>
#include <stdint.h>

/* Of one thread; begins as all zeros. Times are in nanoseconds. */
struct sy_displaced {
    uint64_t ended; /* the last long yield */
    uint64_t until; /* then the thread sleeps where it would yield */
    unsigned times; /* for so many times as long as the last long yield took */
    unsigned brief; /* yields since the last long one */
    uint64_t began; /* a long yield of which it is not known yet what came of it */
    uint64_t back;  /* and its end; 0: there is none */
};

#define SY_DISPLACED_NS UINT64_C(1000000) /* a yield as long is a long one */

/* A yield began and ended then. */
void sy_displaced_yielded(struct sy_displaced *displaced, uint64_t began, uint64_t ended);

/* Whether something has arrived since the last yield began. */
void sy_displaced_judge(struct sy_displaced *displaced, bool arrived);

#endif

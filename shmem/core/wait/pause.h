/* How long a thread sleeps between two looks at memory that changes without a wake-up, where every
 * PE has a processor: as short as its share of a processor allows. What a sleep takes of one is
 * measured, since it is 2 us on bare metal and ten times as much on a virtual machine. */
#ifndef SY_CORE_PAUSE_H
#define SY_CORE_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

/* Of one thread. */
struct sy_pause {
    uint64_t cost; /* processor time of a sleep, with the looks before it: a running mean */
    uint64_t ended, ended_cost; /* the time and the processor time at the end of the last one */
};

/* Before the first sleep. */
#define SY_PAUSE_START {.cost = 10000}

/* Enclose a sleep of this thread. */
void sy_pause_begin(struct sy_pause *pause);
void sy_pause_end(struct sy_pause *pause);

/* The length of the next sleep, in nanoseconds. */
uint64_t sy_pause_length(const struct sy_pause *pause);

#define SY_PAUSE_RARE_SHORTEST_NS UINT64_C(20000)

/* The same of a thread that has waited for so long, and looks the more rarely the longer it does.
 * crowded: PEs outnumber processors, where a sleep takes longer than its cost tells. */
uint64_t sy_pause_rare(const struct sy_pause *pause, uint64_t waited, bool crowded);

#endif

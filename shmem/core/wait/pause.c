#include "core/wait/pause.h"
#include "util/clock.h"

/* A sleep is so many times as long as what it costs. */
#define SLEEPS_TO_COST 24
#define SHORTEST_NS    UINT64_C(50000)
#define FOLLOWS_NS     UINT64_C(500000) /* between two sleeps of one wait */

/* Of a thread that looks ever more rarely. */
#define RARE_CROWDED_NS UINT64_C(1000000)
#define RARE_AT_FIRST   16
#define RARE_LATER      256

void sy_pause_begin(struct sy_pause *pause)
{
    if (sy_clock_ns() - pause->ended >= FOLLOWS_NS)
        pause->ended_cost = sy_clock_of(CLOCK_THREAD_CPUTIME_ID);
}

void sy_pause_end(struct sy_pause *pause)
{
    uint64_t before = pause->ended_cost;

    pause->ended = sy_clock_ns();
    pause->ended_cost = sy_clock_of(CLOCK_THREAD_CPUTIME_ID);
    pause->cost = (3 * pause->cost + pause->ended_cost - before) / 4;
}

uint64_t sy_pause_length(const struct sy_pause *pause)
{
    uint64_t length = SLEEPS_TO_COST * pause->cost;

    return length > SHORTEST_NS ? length : SHORTEST_NS;
}

/* A sixteenth of the wait while that is short, then what the thread's share of a processor asks
 * for, then a small part of the wait again. */
uint64_t sy_pause_rare(const struct sy_pause *pause, uint64_t waited, bool crowded)
{
    uint64_t length = waited / RARE_AT_FIRST, share = sy_pause_length(pause);
    uint64_t longest = waited / RARE_LATER;

    if (crowded)
        longest += RARE_CROWDED_NS;
    else if (longest < share)
        longest = share;
    if (length > longest)
        length = longest;
    return length > SY_PAUSE_RARE_SHORTEST_NS ? length : SY_PAUSE_RARE_SHORTEST_NS;
}

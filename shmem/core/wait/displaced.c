/* See displaced.h. */
#include <stdbool.h>

#include "core/wait/displaced.h"

#define APART_NS UINT64_C(20000000) /* between two long yields, or after the sleeps */

/* Between two long yields: beside a process that computes there were up to 7 others, on a processor
 * that PEs alone share thousands. */
#define BRIEF 15

#define LEAST      8
#define MOST       64
#define LONGEST_NS UINT64_C(50000000) /* more is not a slice: all of the job was stopped */

void sy_displaced_note(struct sy_displaced *displaced, uint64_t began, uint64_t ended)
{
    uint64_t last = displaced->ended, took = ended - began;
    bool row = displaced->brief <= BRIEF;

    displaced->ended = ended;
    displaced->brief = 0;
    if (row && displaced->times && began < displaced->until + APART_NS)
        displaced->times = displaced->times < MOST ? 2 * displaced->times : MOST;
    else if (row && last && began < last + APART_NS)
        displaced->times = LEAST;
    else
        return;
    displaced->until = ended + (took < LONGEST_NS ? took : LONGEST_NS) * displaced->times;
}

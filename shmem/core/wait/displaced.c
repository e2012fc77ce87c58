/* See displaced.h. */
#include "core/wait/displaced.h"

#define APART_NS   UINT64_C(20000000) /* between two long yields, or after the sleeps */
#define LEAST      8
#define MOST       64
#define LONGEST_NS UINT64_C(50000000) /* more is not a slice: all of the job was stopped */

void sy_displaced_note(struct sy_displaced *displaced, uint64_t began, uint64_t ended)
{
    uint64_t last = displaced->ended, took = ended - began;

    displaced->ended = ended;
    if (displaced->times && began < displaced->until + APART_NS)
        displaced->times = displaced->times < MOST ? 2 * displaced->times : MOST;
    else if (last && began < last + APART_NS)
        displaced->times = LEAST;
    else
        return;
    displaced->until = ended + (took < LONGEST_NS ? took : LONGEST_NS) * displaced->times;
}

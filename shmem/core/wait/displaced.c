#include "core/wait/displaced.h"

#define APART_NS UINT64_C(20000000) /* between two long yields, or after the sleeps */

/* Between two long yields: beside a process that computes there were up to 7 others, on a processor
 * that PEs alone share thousands. */
#define BRIEF 15

#define LEAST      8
#define MOST       64
#define LONGEST_NS UINT64_C(50000000) /* more is not a slice: all of the job was stopped */

static void displaced_note(struct sy_displaced *displaced, uint64_t began, uint64_t ended)
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

void sy_displaced_yielded(struct sy_displaced *displaced, uint64_t began, uint64_t ended)
{
    if (ended - began < SY_DISPLACED_NS) {
        displaced->brief++;
        return;
    }
    displaced->began = began;
    displaced->back = ended;
}

/* Where something has arrived the others did not compute but send, each for as long as it could. */
void sy_displaced_judge(struct sy_displaced *displaced, bool arrived)
{
    uint64_t back = displaced->back;

    displaced->back = 0;
    if (back && arrived)
        displaced->brief++;
    else if (back)
        displaced_note(displaced, displaced->began, back);
}

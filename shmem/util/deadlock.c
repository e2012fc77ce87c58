#include "util/deadlock.h"

bool sy_deadlock_all_blocked(const struct sy_deadlock_pe *pes, int count)
{
    bool gone = false, finalizing = false, waits = false, outside = false, ending = false;
    bool awaited = false;
    unsigned of_all = SY_BLOCKED_LONG | SY_BLOCKED_INSIDE;

    for (int i = 0; i < count; i++) {
        unsigned flags = pes[i].flags;
        gone = gone || pes[i].gone;
        if (pes[i].gone)
            continue;
        if (!pes[i].wait)
            return false;
        finalizing = finalizing || flags & SY_BLOCKED_FINALIZING;
        waits = waits || !(flags & SY_BLOCKED_FINALIZING) || flags & SY_BLOCKED_STREAM;
        outside = outside || flags & SY_BLOCKED_OUTSIDE;
        ending = ending || flags & SY_BLOCKED_ENDING;
        awaited = awaited || flags & SY_BLOCKED_MPI;
        of_all &= flags;
    }
    if (outside && !(of_all & SY_BLOCKED_INSIDE))
        return false;
    if (ending)
        return awaited;
    if (!waits) /* all that are left are at the end of shmem_finalize, to which no PE is missing
                   unless one has gone */
        return gone && finalizing;
    return gone || finalizing || of_all;
}

void sy_deadlock_ask(struct sy_deadlock_pe *pes, int count)
{
    for (int i = 0; i < count; i++) {
        pes[i].before = pes[i].wait;
        pes[i].wait = 0;
    }
}

bool sy_deadlock_confirmed(const struct sy_deadlock_pe *pes, int count)
{
    for (int i = 0; i < count; i++)
        if (!pes[i].gone && (!pes[i].wait || pes[i].wait != pes[i].before))
            return false;
    return sy_deadlock_all_blocked(pes, count);
}

/* See rest.h. */
#include "util/rest.h"

bool sy_rest_all(const struct sy_rest *rest, int count)
{
    bool gone = false, finalizing = false, waits = false, outside = false;
    unsigned of_all = SY_REST_LONG | SY_REST_INSIDE;

    for (int i = 0; i < count; i++) {
        unsigned flags = rest[i].flags;
        gone = gone || rest[i].gone;
        if (rest[i].gone)
            continue;
        if (!rest[i].wait)
            return false;
        finalizing = finalizing || flags & SY_REST_FINALIZING;
        waits = waits || !(flags & SY_REST_FINALIZING);
        outside = outside || flags & SY_REST_OUTSIDE;
        of_all &= flags;
    }
    if (outside && !(of_all & SY_REST_INSIDE))
        return false;
    if (!waits) /* all that are left are in shmem_finalize, which ends unless one is missing */
        return gone && finalizing;
    return gone || finalizing || of_all;
}

void sy_rest_ask(struct sy_rest *rest, int count)
{
    for (int i = 0; i < count; i++) {
        rest[i].before = rest[i].wait;
        rest[i].wait = 0;
    }
}

bool sy_rest_confirmed(const struct sy_rest *rest, int count)
{
    for (int i = 0; i < count; i++)
        if (!rest[i].gone && (!rest[i].wait || rest[i].wait != rest[i].before))
            return false;
    return sy_rest_all(rest, count);
}

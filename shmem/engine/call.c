/* See call.h. */
#include "engine/call.h"

struct sy_call sy_calls[SY_CALL_THREADS];

int sy_call_thread(void)
{
    static atomic_int threads;
    static _Thread_local int own; /* counted from 1 */

    if (!own) {
        int index = atomic_fetch_add(&threads, 1);
        own = (index < SY_CALL_THREADS ? index : SY_CALL_THREADS - 1) + 1;
    }
    return own - 1;
}

struct sy_call *sy_call_own(void)
{
    return &sy_calls[sy_call_thread()];
}

#include "engine/call.h"

struct sy_plugin_call sy_plugin_calls[SY_CALL_THREADS];

int sy_plugin_call_thread(void)
{
    static atomic_int threads;
    static _Thread_local int own; /* counted from 1 */

    if (!own) {
        int index = atomic_fetch_add(&threads, 1);
        own = (index < SY_CALL_THREADS ? index : SY_CALL_THREADS - 1) + 1;
    }
    return own - 1;
}

struct sy_plugin_call *sy_plugin_call_own(void)
{
    return &sy_plugin_calls[sy_plugin_call_thread()];
}

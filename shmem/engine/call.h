/* The call of a plugin that each thread is in, for reports of a job that is stuck
 * (core/wait/stall.h). */
#ifndef SY_ENGINE_CALL_H
#define SY_ENGINE_CALL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "util/bits.h"

enum {
    SY_CALL_THREADS = 16, /* that have an entry of their own; others share the last one */
    SY_CALL_PROGRESS = -1 /* for the PE: the call is progress() */
};

/* A thread is in progress() or message_send() of a transport. Each call has another number, so a
 * thread that is in the same one at two looks is stuck there. */
struct sy_plugin_call {
    const char *_Atomic transport; /* NULL: it is in none */
    _Atomic int pe;                /* that it sends to */
    _Atomic uint32_t number;
} __attribute__((aligned(SY_LINE)));

extern struct sy_plugin_call sy_plugin_calls[SY_CALL_THREADS] SY_HIDDEN;

/* Index of this thread's entry, and the entry. */
int sy_plugin_call_thread(void);
struct sy_plugin_call *sy_plugin_call_own(void);

/* transport: a text that stays until the end. message_send() of a transport follows its progress(),
 * so nothing is to be gone on with at the end. */
static inline void sy_plugin_call_begin(struct sy_plugin_call *call, const char *transport, int pe)
{
    uint32_t number = atomic_load_explicit(&call->number, memory_order_relaxed);

    atomic_store_explicit(&call->number, number + 1, memory_order_relaxed);
    atomic_store_explicit(&call->pe, pe, memory_order_relaxed);
    atomic_store_explicit(&call->transport, transport, memory_order_relaxed);
}

static inline void sy_plugin_call_end(struct sy_plugin_call *call)
{
    atomic_store_explicit(&call->transport, NULL, memory_order_relaxed);
}

#endif

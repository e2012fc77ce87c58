/* The producer of the streams to a process: the one thread that may append to them now. It appends
 * tens of millions of operations a second, so becoming the producer must cost next to nothing.
 * Another thread wants the streams seldom, and that may cost a system call.
 *
 * Two rules. If several threads of the program may call, or the kernel lacks membarrier, `append`
 * is a lock like others. Otherwise the program's thread sets `producing` and reads `append`,
 * without a fence between the two. A thread that wants to keep it out sets `append`, has the kernel
 * put a fence into all threads of the process (membarrier), and then reads `producing`. Either it
 * finds the producer at work and goes away, or the producer finds `append` set and waits.
 *
 * The second rule gives way to the first when a second thread of the program comes. The producer is
 * not at work then, and whoever keeps it out has set `append` by either rule. */
#ifndef SY_ENGINE_PRODUCER_H
#define SY_ENGINE_PRODUCER_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "util/bits.h"

struct sy_producer {
    _Atomic bool append;      /* the lock is taken, or the producer is kept out */
    _Atomic bool producing;   /* the producer is at work, without the lock; it writes this */
    _Atomic bool locked;      /* the first rule holds; set while no producer is at work */
    _Atomic bool starved;     /* a thread has waited for the lock for long, and is the next one */
    _Atomic pthread_t thread; /* which last began to gather; it writes this */
};

/* Registers for membarrier. While the process has one thread this takes no time; later the kernel
 * waits until each processor has passed by, for milliseconds. */
void sy_producer_prepare(void);

/* Whether producers take locks. threads: several of the program may call at once. */
bool sy_producer_takes_locks(bool threads);

/* The producer finds itself kept out: waits until it may try again. */
void sy_producer_wait(struct sy_producer *producer) SY_COLD;

/* Waits for the lock. Who finds it free takes it, as handing it over costs a switch of threads for
 * each operation; but a thread that issues without end leaves it to one that has waited for long.
 */
void sy_producer_contend(struct sy_producer *producer);

/* Keeps the producer out until sy_producer_go. False: the producer is at work (it may be this
 * thread, which polls meanwhile), or another thread keeps it out. Never waits, so it may be called
 * under any lock. */
bool sy_producer_stop(struct sy_producer *producer);
void sy_producer_go(struct sy_producer *producer);

static inline bool sy_producer_is_locked(const struct sy_producer *producer)
{
    return atomic_load_explicit(&producer->locked, memory_order_relaxed);
}

/* Makes this thread the producer. */
SY_INLINE void sy_producer_lock(struct sy_producer *producer)
{
    if (SY_UNLIKELY(sy_producer_is_locked(producer))) {
        if (atomic_load_explicit(&producer->starved, memory_order_relaxed) ||
            atomic_exchange_explicit(&producer->append, true, memory_order_acquire))
            sy_producer_contend(producer);
        return;
    }
    for (;;) {
        atomic_store_explicit(&producer->producing, true, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst); /* producer.c makes it one for the processor */
        if (SY_LIKELY(!atomic_load_explicit(&producer->append, memory_order_acquire)))
            return;
        sy_producer_wait(producer);
    }
}

/* A sender that does not get its lock relies on the fence: it sees the tail, or this thread its
 * `sent`. */
SY_INLINE void sy_producer_unlock(struct sy_producer *producer)
{
    if (SY_UNLIKELY(sy_producer_is_locked(producer))) {
        atomic_store_explicit(&producer->append, false, memory_order_release);
        atomic_thread_fence(memory_order_seq_cst);
        return;
    }
    atomic_store_explicit(&producer->producing, false, memory_order_release);
}

/* This thread begins to gather. */
static inline void sy_producer_gathers(struct sy_producer *producer)
{
    atomic_store_explicit(&producer->thread, pthread_self(), memory_order_relaxed);
}

/* Whether this thread was the last one to begin to gather. */
static inline bool sy_producer_is_me(const struct sy_producer *producer)
{
    return pthread_equal(atomic_load_explicit(&producer->thread, memory_order_relaxed),
                         pthread_self());
}

#endif

/* The producer of the streams to a process: the one thread that may append to them now. It appends
 * tens of millions of operations a second, so that it is the producer must cost it next to nothing;
 * that somebody else wants to be, once in a while, may cost a system call.
 *
 * Where several threads of the program may call, and where the kernel lacks membarrier, `append` is
 * a lock like others, from the start or from when a second thread comes: the first one is not at
 * work then, and a thread that keeps it out by either rule has set `append`. Otherwise the
 * program's thread sets `producing` and reads `append`, without a fence between the two. A thread
 * that wants to keep it out sets `append`, has the kernel put a fence into all threads of the
 * process (membarrier), and then reads `producing`. Either it finds the producer at work and goes
 * away, or the producer finds `append` set and waits. */
#ifndef SY_ENGINE_PRODUCER_H
#define SY_ENGINE_PRODUCER_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "util/bits.h"

struct sy_producer {
    _Atomic bool append;      /* its lock, or somebody keeps it out */
    _Atomic bool producing;   /* it is at work, without the lock; its own */
    _Atomic bool locked;      /* sy_producer_takes_locks; set while it is not at work */
    _Atomic pthread_t thread; /* that last began to gather; its own */
};

/* Called while the process has one thread, saves the function below milliseconds: once there are
 * more, the kernel waits until each processor has passed by. */
void sy_producer_prepare(void);

/* Whether producers take locks. threads: several of the program may call at once. */
bool sy_producer_takes_locks(bool threads);

/* The producer finds itself kept out: waits until it may try again. */
void sy_producer_wait(struct sy_producer *producer) SY_COLD;

/* Keeps the producer out; false: it is at work (be it this thread, which polls meanwhile), or
 * another thread does. Never waits, so that it may be called under any lock. */
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
        while (atomic_exchange_explicit(&producer->append, true, memory_order_acquire))
            sched_yield();
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

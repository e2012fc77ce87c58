#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/producer.h"

#define PATIENCE 50 /* yields, after which a thread is the next one */

static bool producer_fence(int command)
{
    return !syscall(SYS_membarrier, command, 0, 0);
}

void sy_producer_prepare(void)
{
    producer_fence(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool sy_producer_takes_locks(bool threads)
{
    return threads || !producer_fence(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

void sy_producer_wait(struct sy_producer *producer)
{
    atomic_store_explicit(&producer->producing, false, memory_order_release);
    while (atomic_load_explicit(&producer->append, memory_order_acquire))
        sched_yield();
}

void sy_producer_contend(struct sy_producer *producer)
{
    bool next = false;

    for (unsigned yields = 0;; yields++) {
        if ((next || !atomic_load_explicit(&producer->starved, memory_order_relaxed)) &&
            !atomic_exchange_explicit(&producer->append, true, memory_order_acquire))
            break;
        sched_yield();
        if (yields >= PATIENCE && !next)
            next = !atomic_exchange_explicit(&producer->starved, true, memory_order_relaxed);
    }
    if (next)
        atomic_store_explicit(&producer->starved, false, memory_order_relaxed);
}

bool sy_producer_stop(struct sy_producer *producer)
{
    if (atomic_exchange_explicit(&producer->append, true, memory_order_acquire))
        return false;
    if (sy_producer_is_locked(producer))
        return true;
    if (producer_fence(MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
        !atomic_load_explicit(&producer->producing, memory_order_acquire))
        return true;
    sy_producer_go(producer);
    return false;
}

void sy_producer_go(struct sy_producer *producer)
{
    atomic_store_explicit(&producer->append, false, memory_order_release);
}

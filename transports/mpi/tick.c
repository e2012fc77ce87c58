/* When MPI is looked at. MPI has no descriptor that tells of messages, so a sleeping thread is
 * woken by a timer: soon after something has come, then less and less often. */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "transports/mpi/state.h"
#include "util/clock.h"

#define SHORTEST_NS UINT64_C(20000)
#define AT_ONCE_NS  1

/* Where PEs outnumber processors each of them wakes less often. */
int mpi_tick_open(struct mpi_tick *tick, const struct sy_host *host, long microseconds)
{
    uint64_t longest = (uint64_t)microseconds * 1000 * (unsigned)(host->load > 1 ? host->load : 1);

    tick->longest = longest < 999999999 ? longest : 999999999;
    tick->shortest = SHORTEST_NS < tick->longest ? SHORTEST_NS : tick->longest;
    tick->interval = tick->longest;
    tick->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return tick->fd < 0 ? -errno : 0;
}

void mpi_tick_close(struct mpi_tick *tick)
{
    if (tick->fd >= 0)
        close(tick->fd);
    tick->fd = -1;
}

static void mpi_tick_next(struct mpi_tick *tick)
{
    uint64_t interval = atomic_load_explicit(&tick->interval, memory_order_relaxed);

    atomic_store_explicit(&tick->due, sy_clock_ns() + interval, memory_order_relaxed);
    sy_clock_set_timer(tick->fd, interval);
}

void mpi_tick_arm(struct mpi_tick *tick)
{
    if (!atomic_exchange(&tick->armed, true))
        mpi_tick_next(tick);
}

/* A thread that arms it at the same time sets the timer behind the flag, perhaps before this one
 * stops it; so this one looks again. */
void mpi_tick_disarm(struct mpi_tick *tick)
{
    atomic_store(&tick->armed, false);
    sy_clock_set_timer(tick->fd, 0);
    if (atomic_load(&tick->armed))
        mpi_tick_next(tick);
}

/* To set the timer clears its expiry, so the descriptor is not readable until the next one. */
void mpi_tick_looked(struct mpi_tick *tick, bool moved, bool woken, bool moves)
{
    uint64_t interval = atomic_load_explicit(&tick->interval, memory_order_relaxed);

    if (!atomic_load_explicit(&tick->armed, memory_order_relaxed))
        return;
    if (!woken && sy_clock_ns() < atomic_load_explicit(&tick->due, memory_order_relaxed))
        return;
    interval += interval / 2;
    if (moved || interval < tick->shortest)
        interval = tick->shortest;
    if (interval > tick->longest)
        interval = tick->longest;
    if (moves && woken)
        interval = AT_ONCE_NS;
    atomic_store_explicit(&tick->interval, interval, memory_order_relaxed);
    mpi_tick_next(tick);
}

/* When MPI is looked at. MPI has no descriptor that tells of messages, so a sleeping thread is
 * woken by a timer: soon after something has come, then less and less often. Each time takes a part
 * of a processor from a program that computes or waits in MPI, and on two processors more from two
 * that wait for each other; so after a long silence it comes later by a small part of that, where
 * others can end the silence (wakeup.c). */
#include <errno.h>
#include <sys/timerfd.h>

#include "transports/mpi/state.h"
#include "util/clock.h"
#include "util/file.h"

#define SHORTEST_NS UINT64_C(20000)
#define SILENT_NS   UINT64_C(4000000) /* the longest interval, where the option's is shorter */
#define SILENT_PART 32                /* of a silence: by how much its end may be noticed later */
#define AT_ONCE_NS  1

/* Where PEs outnumber processors each of them wakes less often. */
int mpi_tick_open(struct mpi_tick *tick, const struct sy_host *host, long microseconds)
{
    uint64_t load = host->load > 1 ? (unsigned)host->load : 1;
    uint64_t longest = (uint64_t)microseconds * 1000 * load;

    tick->longest = longest < 999999999 ? longest : 999999999;
    tick->silent = SILENT_NS * load < 999999999 ? SILENT_NS * load : 999999999;
    tick->shortest = SHORTEST_NS < tick->longest ? SHORTEST_NS : tick->longest;
    tick->interval = tick->longest;
    tick->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return tick->fd < 0 ? -errno : 0;
}

void mpi_tick_never_silent(struct mpi_tick *tick)
{
    tick->silent = 0;
}

void mpi_tick_close(struct mpi_tick *tick)
{
    sy_file_close(&tick->fd);
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

/* The longest interval after a silence. */
static uint64_t mpi_tick_longest(const struct mpi_tick *tick, uint64_t silence)
{
    uint64_t part = silence / SILENT_PART;

    part = part < tick->silent ? part : tick->silent;
    return part < tick->longest ? tick->longest : part;
}

bool mpi_tick_is_armed(const struct mpi_tick *tick)
{
    return atomic_load_explicit(&tick->armed, memory_order_relaxed);
}

bool mpi_tick_is_slow(const struct mpi_tick *tick)
{
    return atomic_load_explicit(&tick->interval, memory_order_relaxed) > tick->longest;
}

bool mpi_tick_is_long(const struct mpi_tick *tick)
{
    return atomic_load_explicit(&tick->interval, memory_order_relaxed) >= tick->longest;
}

void mpi_tick_hurry(struct mpi_tick *tick)
{
    atomic_store_explicit(&tick->silence, 0, memory_order_relaxed);
    atomic_store_explicit(&tick->interval, tick->shortest, memory_order_relaxed);
    atomic_store_explicit(&tick->due, 0, memory_order_relaxed);
}

/* Something has come. What comes next is not to wait for the end of a long interval. */
static void mpi_tick_end_silence(struct mpi_tick *tick)
{
    if (mpi_tick_is_slow(tick))
        mpi_tick_hurry(tick);
    else if (atomic_load_explicit(&tick->silence, memory_order_relaxed))
        atomic_store_explicit(&tick->silence, 0, memory_order_relaxed);
}

/* To set the timer clears its expiry, so the descriptor is not readable until the next one. */
void mpi_tick_looked(struct mpi_tick *tick, bool moved, bool woken, bool moves)
{
    if (moved)
        mpi_tick_end_silence(tick);
    if (!mpi_tick_is_armed(tick))
        return;
    if (!woken && sy_clock_ns() < atomic_load_explicit(&tick->due, memory_order_relaxed))
        return;
    uint64_t interval = atomic_load_explicit(&tick->interval, memory_order_relaxed),
             silence = atomic_load_explicit(&tick->silence, memory_order_relaxed);
    if (!moved)
        atomic_store_explicit(&tick->silence, silence += interval, memory_order_relaxed);
    uint64_t longest = mpi_tick_longest(tick, silence);
    interval += interval / 2;
    if (moved || interval < tick->shortest)
        interval = tick->shortest;
    if (interval > longest)
        interval = longest;
    if (moves && woken)
        interval = AT_ONCE_NS;
    atomic_store_explicit(&tick->interval, interval, memory_order_relaxed);
    mpi_tick_next(tick);
}

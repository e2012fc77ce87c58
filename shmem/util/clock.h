/* A clock that is never set: for time limits and for how long something takes; and timers by it. */
#ifndef SY_UTIL_CLOCK_H
#define SY_UTIL_CLOCK_H

#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

/* Nanoseconds by any clock; UINT64_MAX: it is that of a thread that is gone. */
static inline uint64_t sy_clock_of(clockid_t clock)
{
    struct timespec time;

    if (clock_gettime(clock, &time))
        return UINT64_MAX;
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static inline uint64_t sy_clock_ns(void)
{
    return sy_clock_of(CLOCK_MONOTONIC);
}

/* Sleeps for less than a second, or until a signal comes. */
static inline void sy_clock_sleep(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Seconds. */
static inline double sy_clock(void)
{
    return (double)sy_clock_ns() / 1e9;
}

/* A moment of sy_clock, for what waits until then. */
static inline struct timespec sy_clock_moment(double seconds)
{
    time_t whole = (time_t)seconds;

    return (struct timespec){whole, (long)((seconds - (double)whole) * 1e9)};
}

/* Has a timer descriptor expire once, after so many nanoseconds; 0: not at all. */
static inline void sy_clock_set_timer(int fd, uint64_t ns)
{
    struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};

    timerfd_settime(fd, 0, &when, NULL);
}

#endif

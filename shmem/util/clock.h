/* A clock that is never set: for time limits and for how long something takes; and timers by it. */
#ifndef SY_UTIL_CLOCK_H
#define SY_UTIL_CLOCK_H

#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>

/* Nanoseconds. */
static inline uint64_t sy_clock_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* Seconds. */
static inline double sy_clock(void)
{
    return (double)sy_clock_ns() / 1e9;
}

/* Has a timer descriptor expire once, after so many nanoseconds; 0: not at all. */
static inline void sy_clock_set_timer(int fd, uint64_t ns)
{
    struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};

    timerfd_settime(fd, 0, &when, NULL);
}

#endif

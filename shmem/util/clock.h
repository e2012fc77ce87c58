/* A clock that is never set: for time limits and for how long something takes. */
#ifndef SY_UTIL_CLOCK_H
#define SY_UTIL_CLOCK_H

#include <stdint.h>
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

#endif

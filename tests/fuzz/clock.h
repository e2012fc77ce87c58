/* For fuzz targets: a clock that jumps forward. A wait for events that have not come moves the
 * clock on; a wait without an end is an error, because nothing more will come. */
#ifndef TESTS_FUZZ_CLOCK_H
#define TESTS_FUZZ_CLOCK_H

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Nanoseconds by which the clock is ahead: 0 between inputs, since libFuzzer looks at it. */
static long long ahead;

/* Around each input. Otherwise libFuzzer's own alarm, which may come as soon as it is let through,
 * would take the clock for a slow input. */
static void let_time_fly(bool on)
{
    sigset_t alarms;

    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    ahead = 0;
    sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &alarms, NULL);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    long rc = syscall(SYS_clock_gettime, clock, now);
    long long all = now->tv_nsec + ahead;

    now->tv_sec += (time_t)(all / 1000000000);
    now->tv_nsec = (long)(all % 1000000000);
    return (int)rc;
}

int epoll_wait(int fd, struct epoll_event *events, int most, int milliseconds)
{
    long n = syscall(SYS_epoll_pwait, fd, events, most, 0, NULL, 8);

    if (n == 0 && milliseconds < 0)
        abort();
    if (n == 0)
        ahead += milliseconds * 1000000ll;
    return (int)n;
}

#endif

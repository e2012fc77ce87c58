/* Signals are for the program's threads: its handlers run there and nowhere else. */
#ifndef SY_UTIL_SIGNALS_H
#define SY_UTIL_SIGNALS_H

#include <pthread.h>
#include <signal.h>

#include "util/bits.h"

/* What a crash raises: never blocked, since then the kernel ends the process without a report. */
static const int sy_crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* Blocks all other signals in this thread, until sy_signals_restore(). */
static inline sigset_t sy_signals_block(void)
{
    sigset_t set, before;

    sigfillset(&set);
    for (size_t i = 0; i < SY_COUNT(sy_crash_signals); i++)
        sigdelset(&set, sy_crash_signals[i]);
    pthread_sigmask(SIG_SETMASK, &set, &before);
    return before;
}

static inline void sy_signals_restore(sigset_t before)
{
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Starts a thread of the library's own, which takes no signals: 0 or an error number. */
static inline int sy_thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
    sigset_t before = sy_signals_block();
    int rc = pthread_create(thread, NULL, run, argument);

    sy_signals_restore(before);
    return rc;
}

#endif

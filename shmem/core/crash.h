/* What is said when the program crashes: which PE, by which signal, and a short backtrace. How the
 * process ends, its status and its core file are what they would be without it. */
#ifndef SY_CORE_CRASH_H
#define SY_CORE_CRASH_H

#include <signal.h>

/* Watches the signals that programs crash by, but for those that the program handles or ignores;
 * one that it handles from later on is its own from then on. Once in the life of a process. */
void sy_crash_watch(void);

/* The library is about to abort: whoever caused that has said why. */
void sy_crash_silence(void);

/* Takes these signals out of a set that a thread of the library blocks: a crash there is told as
 * well. */
void sy_crash_let_through(sigset_t *set);

#endif

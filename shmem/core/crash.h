/* The report of a crash: the PE, the signal, and a short backtrace. The process ends as it would
 * without it, with the same status and core file. */
#ifndef SY_CORE_CRASH_H
#define SY_CORE_CRASH_H

/* Installs handlers for the signals that programs crash by, but for those that the program handles
 * or ignores. A handler that the program installs later replaces this one. Once in the life of a
 * process. */
void sy_crash_watch(void);

/* The library is about to abort: the cause has been reported already. */
void sy_crash_silence(void);

#endif

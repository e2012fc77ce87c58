/* What this PE is waiting for: notes that waiting threads leave, and the reports made of them when
 * somebody asks (SIGUSR1, the launcher) or a wait has lasted for SHMEM_STALL_REPORT seconds. See
 * docs/architecture.md (Reports of a stuck job). */
#ifndef SY_CORE_STALL_H
#define SY_CORE_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SY_STALL_NOTED_NS UINT64_C(100000000)

/* This thread waits since `since` (nanoseconds, CLOCK_MONOTONIC) in `where`, and it is now `now`;
 * at least SY_STALL_NOTED_NS have gone by. To be called again and again while the wait lasts. */
void sy_stall_note(uint64_t since, uint64_t now, const char *where) __attribute__((cold));

/* This thread waits since `since` in `where`, and has looked in vain for some microseconds; NULL:
 * its wait is over. A thread that then gets no processor leaves no other note. */
void sy_stall_opened(uint64_t since, const char *where);

/* The thread that starts or ends the library is about to make a call of a plugin that may take
 * long, or has returned from it. transport: a text that stays until then. */
void sy_stall_enter(const char *transport, const char *call);
void sy_stall_leave(void);

/* What the threads of this PE wait for, in words. Returns for how many seconds the one that has
 * waited longest has done so; 0: none waits. */
double sy_stall_text(char *text, size_t room);

/* A number for the wait that this PE is in, which no other wait has; 0: none. inside: all threads
 * that wait do so for words that only the library writes (SY_WAIT_UNTIL). seconds: how long the
 * shortest of these waits has lasted. */
uint64_t sy_stall_waits(bool *inside, double *seconds);

/* Whether this thread waits. Where threads are so many that they share notes, some count as not
 * waiting. */
bool sy_stall_is_waiting(pid_t task);

/* Writes to the log what the transports have under way, a line for each PE that it goes to, and
 * what they have counted. By the progress thread. */
void sy_stall_tell_outstanding(void);

/* Whether the longest wait is to be reported: when it has lasted for `limit` seconds, and each time
 * that has doubled. To be asked every so many seconds; where a thread asks later, this PE was
 * stopped for as long, which does not count. */
bool sy_stall_due(double limit, double every);

#endif

/* What this PE tells of itself: the launcher, of its own accord and when it is asked, and the log,
 * at SIGUSR1. By the progress thread, where no other is named. */
#ifndef SY_CORE_TELL_H
#define SY_CORE_TELL_H

/* Hears what the launcher has sent, and tells it what this PE waits for where it has asked. */
void sy_tell_asked(void);

/* Tells the launcher of a wait that has lasted for long (SHMEM_STALL_REPORT). To be called every so
 * many seconds. */
void sy_tell_stalled(double every);

/* Tells it that this PE is blocked (SHMEM_DEADLOCK_TIMEOUT), again each time the wait has doubled,
 * and after it has asked: in vain, since the job goes on. For how many seconds this PE has waited.
 */
double sy_tell_blocked(void);

/* Gives the launcher a second to end the job itself, before this PE does so because it cannot reach
 * another one: a PE that fails closes its connections before the launcher knows its status and can
 * say why. Does not return where the launcher ends the job. Any thread. */
void sy_tell_hear_out(void) __attribute__((cold));

/* Writes to the log what this PE waits for and what it has under way. */
void sy_tell_log(void);

/* SIGUSR1 calls `wake`, which has sy_tell_log called, unless the program has a use for the signal.
 * By the thread that starts and stops the progress thread. */
void sy_tell_usr1_begin(void (*wake)(void));
void sy_tell_usr1_end(void);

/* The handler. That of an MPI is called by it. */
void sy_tell_on_usr1(int number);

#endif

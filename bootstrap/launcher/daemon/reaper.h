/* Processes do not outlive their job. PEs die with oshrun by themselves (child.h); processes that
 * they have started do not. While oshrun lives, such orphans become its children and are killed at
 * the end; if oshrun is killed, a reaper, which does nothing else, kills the PEs' process groups,
 * and what has left these lives on. */
#ifndef SY_LAUNCHER_REAPER_H
#define SY_LAUNCHER_REAPER_H

#include <stdbool.h>
#include <sys/types.h>

enum { SY_REAPER_OLDER = 64 };

struct sy_reaper {
    pid_t pid;
    int pipe;               /* the reaper acts when this end is closed */
    volatile pid_t *groups; /* shared with it: a PE's process group, or 0 */
    int npes;
    int restarts;
    pid_t older[SY_REAPER_OLDER]; /* children of the program that has become oshrun: no part of the
                                     job */
    int olders;
};

/* Starts the reaper and makes oshrun the parent of orphans. Returns 0 or -errno. */
int sy_reaper_start(struct sy_reaper *reaper, int npes);

/* Whether the child `pid`, which has ended, is the reaper, because somebody has killed it. Another
 * one takes its place, if a process can be started. */
bool sy_reaper_restart(struct sy_reaper *reaper, pid_t pid);

/* PE `pe` has started as process `pid`, which leads its own group. */
void sy_reaper_add(struct sy_reaper *reaper, int pe, pid_t pid);

/* PE `pe` is gone: forgets its group once no process is left in it, because the number may be
 * reused by another user's process. To be repeated whenever an orphan was reaped. */
void sy_reaper_review(struct sy_reaper *reaper, int pe);

/* All PEs are gone: ends the reaper, then kills and reaps all children that are left, whatever
 * group or session they have gone to, but those that were there before the job. A second call finds
 * nothing to do. */
void sy_reaper_end(struct sy_reaper *reaper);

#endif

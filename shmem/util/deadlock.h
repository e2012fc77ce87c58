/* Whether a job can ever go on. Each PE says that it is blocked: all its threads that could do
 * something wait in the library, nothing that it has sent is under way, and which wait it is. If
 * all PEs are blocked, and a while later each still is in the same wait, there was a moment when
 * all were in these waits at once, with nothing under way: then no PE can end another's wait any
 * more.
 *
 * Used by the process that hears all PEs. It keeps no time. */
#ifndef SY_UTIL_DEADLOCK_H
#define SY_UTIL_DEADLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <switchyard/bootstrap.h>

struct sy_deadlock_pe {
    uint64_t wait;   /* what the PE has said last; 0: it is not blocked, or has not answered */
    uint64_t before; /* what it had said when all were asked */
    unsigned flags;  /* SY_BLOCKED_ */
    bool gone;       /* it has finalised or ended, in good order, and will do nothing more */
};

/* Whether all PEs are blocked, so that asking them all is worth while: one of them waits for the
 * end of the job or has left; or all wait for words that only the library writes; or all have been
 * waiting for long. Where what is outside of the library may write to the variables of a program,
 * all have to wait for words of the library. A PE in MPI_Finalize is blocked if another one that
 * has to come there waits in this library. */
bool sy_deadlock_all_blocked(const struct sy_deadlock_pe *pes, int count);

/* All are about to be asked. */
void sy_deadlock_ask(struct sy_deadlock_pe *pes, int count);

/* All have answered, or have had their time: whether each PE still is in the same wait. */
bool sy_deadlock_confirmed(const struct sy_deadlock_pe *pes, int count);

#endif

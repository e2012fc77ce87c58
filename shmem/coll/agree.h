/* Votes of a team, under the routines that manage symmetric memory and under shmem_finalize. A vote
 * carries the routine and its arguments, so that PEs in different calls, or in the same call
 * with different arguments, end the job with an explanation. */
#ifndef SY_COLL_AGREE_H
#define SY_COLL_AGREE_H

#include <stdbool.h>
#include <stddef.h>

/* A call that all PEs make alike. Numbers that are 0 are not mentioned in messages. */
struct sy_call {
    char routine[40]; /* padded with NULs, at least one */
    size_t bytes;     /* asked for */
    size_t alignment;
    long hints;
    size_t offset; /* of a block in the heap, plus 1 */
    size_t more;   /* stands for what else there is to the call */
};

/* Collective over a team: returns whether all vote yes. Ends the job where they are not in the same
 * call. All have entered when it returns; it completes no communication. */
struct sy_team;
bool sy_agree(struct sy_team *team, const struct sy_call *call, bool yes);

#endif

/* What collective routines are called with. Always: whether their arrays end where their memory
 * does. With SHMEM_CHECK all of their arguments, and whether all members call the same routine with
 * the same size and root; routines that only move data are the same for all types of one size. */
#ifndef SY_COLL_CHECK_H
#define SY_COLL_CHECK_H

#include "coll/group.h"
#include "core/memory/windows.h"
#include "core/start/config.h"

enum sy_coll_routine {
    SY_COLL_SYNC = 1,
    SY_COLL_VOTE,  /* of what allocates, and of shmem_finalize: coll/agree.h */
    SY_COLL_SPLIT, /* what makes teams */
    SY_COLL_GATHER,
    SY_COLL_BROADCAST,
    SY_COLL_COLLECT,
    SY_COLL_FCOLLECT,
    SY_COLL_ALLTOALL,
    SY_COLL_ALLTOALLS,
    SY_COLL_REDUCE,
    SY_COLL_INSCAN,
    SY_COLL_EXSCAN
};

/* One call, as far as it is checked. */
struct sy_coll_call {
    enum sy_coll_routine routine;
    const void *dest, *source;         /* with length 0 they are not looked at */
    size_t dest_length, source_length; /* bytes from the first to the last that is touched */
    size_t size;                       /* bytes that must be the same on all members */
    int root;                          /* of a broadcast; of a barrier 1; else 0 */
};

/* Collective over a team; on an active set only the arguments of this PE are checked. Ends the job,
 * naming what is wrong. */
void sy_coll_check(const struct sy_group *group, struct sy_coll_call call) __attribute__((cold));

/* Set by the streams, which are above this room, while other threads may be in a check; atomic.
 * What this thread carries out a collective of the team for: true, a stream; else false, and
 * *routine is one that streams of this PE have not completed, or NULL. */
extern bool (*sy_coll_of_stream)(const struct sy_team *team, const char **routine) SY_HIDDEN;

/* Ends the job where the program itself comes to a collective routine of a team while one is left
 * on a stream. For votes, and what makes and ends teams, too. Whether it is a stream's. */
bool sy_coll_check_streams(const struct sy_team *team, const char *name) __attribute__((cold));

/* Ends the job where `length` bytes at `address`, an array of the routine, begin in the heap, in a
 * memory space or in the executable's data, and reach past its end. With SHMEM_CHECK also where
 * they begin in none of them. */
void sy_coll_check_extent(enum sy_coll_routine routine, const void *address, size_t length)
    __attribute__((cold));

/* The same; what is whole in the heap or in the largest range of data takes two compares. */
SY_INLINE void sy_coll_extent(enum sy_coll_routine routine, const void *address, size_t length)
{
    size_t heap = (uintptr_t)address - sy_hot.heap.base;
    size_t data = (uintptr_t)address - sy_hot.data.base;

    if (SY_LIKELY(heap < sy_hot.heap.length && length <= sy_hot.heap.length - heap))
        return;
    if (SY_UNLIKELY(data >= sy_hot.data.length || length > sy_hot.data.length - data))
        sy_coll_check_extent(routine, address, length);
}

SY_INLINE void sy_coll_begin(const struct sy_group *group, struct sy_coll_call call)
{
    if (SY_UNLIKELY(sy_config.check)) {
        sy_coll_check(group, call);
        return;
    }
    if (call.dest_length)
        sy_coll_extent(call.routine, call.dest, call.dest_length);
    if (call.source_length)
        sy_coll_extent(call.routine, call.source, call.source_length);
}

/* Every collective routine begins with it. */
#define SY_COLL_CHECK(GROUP, ...) sy_coll_begin(GROUP, (struct sy_coll_call){__VA_ARGS__})

#endif

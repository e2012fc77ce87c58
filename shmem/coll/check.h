/* SHMEM_CHECK of collective routines: arguments, and whether all members call the same routine with
 * the same size and root. */
#ifndef SY_COLL_CHECK_H
#define SY_COLL_CHECK_H

#include "coll/group.h"
#include "core/start/config.h"

enum sy_coll_routine {
    SY_COLL_SYNC = 1,
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
    int root;                          /* of a broadcast; else 0 */
};

/* Collective over a team; on an active set only the arguments of this PE are checked. Ends the job,
 * naming what is wrong. */
void sy_coll_check(const struct sy_group *group, struct sy_coll_call call) __attribute__((cold));

/* Set by the streams, which are above this room. What this thread carries out a collective of the
 * team for: true, a stream; else false, and *routine is one that streams of this PE have not
 * completed, or NULL. */
extern bool (*sy_coll_of_stream)(const struct sy_team *team, const char **routine) SY_HIDDEN;

/* Ends the job where the program itself comes to a collective routine of a team while one is left
 * on a stream. For votes too. Whether it is a stream's. */
bool sy_coll_check_streams(const struct sy_team *team, const char *name) __attribute__((cold));

/* Every collective routine begins with it. */
#define SY_COLL_CHECK(GROUP, ...)                                                                  \
    do {                                                                                           \
        if (SY_UNLIKELY(sy_config.check))                                                          \
            sy_coll_check(GROUP, (struct sy_coll_call){__VA_ARGS__});                              \
    } while (0)

#endif

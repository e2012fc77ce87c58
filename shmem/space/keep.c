/* Spaces that outlive the job: how their members make a new generation. Each member writes its part
 * beside the last one; when all have, each makes its own the last. A job that ends in between
 * leaves the new one whole on all members, and some may have committed it: then it is the one to go
 * on from. See space.h. */
#include <errno.h>

#include "coll/reduce.h"
#include "space/space.h"
#include "util/log.h"

/* Collective over a team: how a step has gone on all members, of which each says whether it has
 * failed, and writes why. 0; or the same on all, the code with the greatest errno value. */
static int keep_vote(struct sy_team *team, int rc, const struct sy_error *err)
{
    const struct sy_operation greatest = {SY_COMPARE_KERNEL(max, uint64_t), sizeof(uint64_t)};
    const struct sy_group group = sy_group_of_team(team);
    uint64_t code = (uint64_t)-rc;

    if (rc)
        sy_log(SY_LOG_WARN, "space", "shmemx_space_sync: %s", err->text);
    sy_reduce_few(&group, greatest, &code, &code, 1);
    return -(int)code;
}

int sy_space_sync(struct sy_space *space, uint64_t *generation)
{
    static const struct sy_call entry = {.routine = "shmemx_space_sync"};
    const struct sy_device *table = space->device->table;
    struct sy_team *team = space->arena.team;
    void *self = space->device->self;
    uint64_t next = space->generation + 1;
    struct sy_error err = {""};

    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    if (!sy_agree(team, &entry, (space->info.capabilities & SY_POOL_DURABLE) != 0))
        return -EOPNOTSUPP;
    int mine = table->sync(self, space->pool, next, &err);
    int rc = keep_vote(team, mine, &err);
    /* A member that has failed has nothing to take back. */
    int done = mine ? 0 : table->commit(self, space->pool, next, !rc, &err);
    int last = keep_vote(team, done, &err);
    if (rc)
        return rc;
    /* Whole on all members, it is the one to go on from even where one could not name it so. */
    space->generation = next;
    if (generation && !last)
        *generation = next;
    return last;
}

/* Spaces that outlive the job: how their members make a new generation. Each member writes its part
 * beside the last one; when all have, each makes its own the last. A job that ends in between
 * leaves the new one whole on all members, and some may have committed it: then it is the one to go
 * on from. See space.h. */
#include <errno.h>

#include "space/device.h"
#include "space/space.h"
#include "util/error.h"
#include "util/log.h"

static void keep_tell(const struct sy_error *err, int rc)
{
    if (rc)
        sy_log(SY_LOG_WARN, "space", "shmemx_space_sync: %s", err->text);
}

int sy_space_sync(struct sy_space *space, uint64_t *generation)
{
    static const struct sy_call entry = {.routine = "shmemx_space_sync"},
                                wrote = {.routine = "shmemx_space_sync, its end"};
    const struct sy_device *table = space->device->table;
    void *self = space->device->self;
    uint64_t next = space->generation + 1;
    struct sy_error err = {""};

    sy_quiet(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    if (!sy_agree(space->arena.team, &entry, (space->info.capabilities & SY_POOL_DURABLE) != 0))
        return -EOPNOTSUPP;
    int rc = table->sync(self, space->pool, next, &err);
    keep_tell(&err, rc);
    bool all = sy_agree(space->arena.team, &wrote, !rc);
    int done = rc && !all ? 0 : table->commit(self, space->pool, next, all, &err);
    keep_tell(&err, done);
    bool named = sy_agree(space->arena.team, &wrote, all && !done);
    /* Whole on all members, it is the one to go on from even where one could not name it so. */
    if (all)
        space->generation = next;
    if (!named)
        return rc ? rc : -EIO;
    if (generation)
        *generation = next;
    return 0;
}

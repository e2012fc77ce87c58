/* Collective routines of streams, and functions of the program: what workers carry out. See ops.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "coll/alltoall.h"
#include "coll/broadcast.h"
#include "coll/check.h"
#include "coll/collect.h"
#include "coll/reduce.h"
#include "coll/scan.h"
#include "core/fatal.h"
#include "stream/ops.h"

static void together_sync(struct sy_stream_op *op)
{
    struct sy_group group = sy_group_of_team(op->team);

    SY_COLL_CHECK(&group, .routine = SY_COLL_SYNC);
    sy_group_sync(&group);
}

static void together_alltoall(struct sy_stream_op *op)
{
    struct sy_group group = sy_group_of_team(op->team);

    sy_alltoall(&group, op->to.together.dest, op->to.together.source,
                op->to.together.count * op->to.together.size);
}

static void together_alltoalls(struct sy_stream_op *op)
{
    struct sy_group group = sy_group_of_team(op->team);
    ptrdiff_t size = (ptrdiff_t)op->to.together.size;

    sy_alltoalls(&group, op->to.together.dest, op->to.together.source, op->to.together.dst * size,
                 op->to.together.sst * size, op->to.together.size, op->to.together.count);
}

static void together_broadcast(struct sy_stream_op *op)
{
    struct sy_group group = sy_group_of_team(op->team);

    sy_broadcast(&group, op->to.together.dest, op->to.together.source,
                 op->to.together.count * op->to.together.size, op->to.together.root);
}

static void together_collect(struct sy_stream_op *op)
{
    struct sy_group group = sy_group_of_team(op->team);

    sy_collect(&group, op->to.together.dest, op->to.together.source,
               op->to.together.count * op->to.together.size);
}

static void together_fcollect(struct sy_stream_op *op)
{
    struct sy_group group = sy_group_of_team(op->team);

    sy_fcollect(&group, op->to.together.dest, op->to.together.source,
                op->to.together.count * op->to.together.size);
}

static struct sy_operation together_operation(const struct sy_stream_op *op)
{
    return (struct sy_operation){op->to.together.kernel, op->to.together.size};
}

static void together_reduce(struct sy_stream_op *op)
{
    struct sy_group group = sy_group_of_team(op->team);

    sy_reduce(&group, together_operation(op), op->to.together.dest, op->to.together.source,
              op->to.together.count);
}

static void together_scan(struct sy_stream_op *op)
{
    struct sy_group group = sy_group_of_team(op->team);

    sy_scan(&group, together_operation(op), op->to.together.dest, op->to.together.source,
            op->to.together.count, op->to.together.inclusive);
}

static void together_call(struct sy_stream_op *op)
{
    op->to.call.fn(op->to.call.arg);
}

static const struct sy_stream_kind kinds[] = {
    [SY_STREAM_SYNC] = {.work = together_sync},
    [SY_STREAM_ALLTOALL] = {.work = together_alltoall},
    [SY_STREAM_ALLTOALLS] = {.work = together_alltoalls},
    [SY_STREAM_BROADCAST] = {.work = together_broadcast},
    [SY_STREAM_COLLECT] = {.work = together_collect},
    [SY_STREAM_FCOLLECT] = {.work = together_fcollect},
    [SY_STREAM_REDUCE] = {.work = together_reduce},
    [SY_STREAM_SCAN] = {.work = together_scan},
};

static const struct sy_stream_kind call = {.work = together_call};

int sy_stream_together(struct sy_stream *stream, const char *routine, shmem_team_t team,
                       enum sy_stream_together what, struct sy_stream_data data)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, &kinds[what]);
    struct sy_team *of = sy_team_of(team);

    if (op && of) {
        op->team = of;
        op->to.together = data;
        sy_stream_add(op);
        return 0;
    }
    if (!of)
        sy_stream_failed(stream, routine, EINVAL);
    free(op);
    return -1;
}

int sy_stream_call(struct sy_stream *stream, const char *routine, void (*fn)(void *), void *arg)
{
    if (!fn)
        sy_fatal("%s was given no function", routine);
    struct sy_stream_op *op = sy_stream_new(stream, routine, &call);
    if (!op)
        return -1;
    op->to.call.fn = fn;
    op->to.call.arg = arg;
    sy_stream_add(op);
    return 0;
}

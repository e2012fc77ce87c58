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

static void together_carry_out(struct sy_stream_op *op)
{
    const struct sy_stream_data *d = &op->to.together;
    const struct sy_operation operation = {d->kernel, d->size};
    const size_t length = sy_bytes(d->count, d->size);
    struct sy_group group = sy_group_of_team(op->team);

    switch (d->what) {
    case SY_STREAM_SYNC:
        SY_COLL_CHECK(&group, .routine = SY_COLL_SYNC);
        sy_group_sync(&group);
        break;
    case SY_STREAM_ALLTOALL:
        sy_alltoall(&group, d->dest, d->source, length);
        break;
    case SY_STREAM_ALLTOALLS:
        sy_alltoalls(&group, d->dest, d->source, sy_stride(d->dst, d->size),
                     sy_stride(d->sst, d->size), d->size, d->count);
        break;
    case SY_STREAM_BROADCAST:
        sy_broadcast(&group, d->dest, d->source, length, d->root);
        break;
    case SY_STREAM_COLLECT:
        sy_collect(&group, d->dest, d->source, length);
        break;
    case SY_STREAM_FCOLLECT:
        sy_fcollect(&group, d->dest, d->source, length);
        break;
    case SY_STREAM_REDUCE:
        sy_reduce(&group, operation, d->dest, d->source, d->count);
        break;
    case SY_STREAM_SCAN:
        sy_scan(&group, operation, d->dest, d->source, d->count, d->inclusive);
        break;
    }
}

static void together_call(struct sy_stream_op *op)
{
    op->to.call.fn(op->to.call.arg);
}

static const struct sy_stream_kind together = {.work = together_carry_out},
                                   call = {.work = together_call};

int sy_stream_together(struct sy_stream *stream, const char *routine, shmem_team_t team,
                       struct sy_stream_data data)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, &together);
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

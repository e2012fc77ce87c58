/* Waits of streams for variables of this PE: see ops.h. The proxy looks at them; one look at a set
 * is a step. */
#include <string.h>

#include "stream/ops.h"

/* A variable whose comparison has been true once is not looked at again. */
static enum sy_step wait_all(struct sy_stream_op *op)
{
    op->to.wait.at = sy_set_against(&op->to.wait.set, op->to.wait.at);
    return op->to.wait.at == op->to.wait.set.nelems ? SY_STEP_DONE : SY_STEP_AGAIN;
}

/* Each wait begins to look one further than the one before, so that each variable has its turn. */
static enum sy_step wait_any(struct sy_stream_op *op)
{
    static size_t turn; /* the proxy's */
    const struct sy_set *set = &op->to.wait.set;
    size_t found = sy_set_any(set, set->nelems ? turn % set->nelems : 0);

    if (found == SY_SET_NONE && !sy_set_is_empty(set))
        return SY_STEP_AGAIN;
    *op->to.wait.result = found;
    turn = found + 1;
    return SY_STEP_DONE;
}

static enum sy_step wait_some(struct sy_stream_op *op)
{
    size_t found = sy_set_some(&op->to.wait.set, op->to.wait.indices);

    if (!found && !sy_set_is_empty(&op->to.wait.set))
        return SY_STEP_AGAIN;
    *op->to.wait.result = found;
    return SY_STEP_DONE;
}

static const struct sy_stream_kind kinds[] = {
    [SY_STREAM_WAIT_ALL] = {.step = wait_all},
    [SY_STREAM_WAIT_ANY] = {.step = wait_any},
    [SY_STREAM_WAIT_SOME] = {.step = wait_some},
};

/* One value for all is copied. */
void sy_stream_wait(struct sy_stream *stream, const char *routine, enum sy_stream_wait what,
                    struct sy_set set, size_t size, size_t *indices, size_t *result)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, &kinds[what]);

    if (!op)
        return;
    if (set.cmp < 0 || set.cmp > SHMEM_CMP_GE)
        sy_set_bad_comparison(routine, set.cmp);
    if (!set.step)
        set.values = memcpy(&op->to.wait.value, set.values, size);
    op->to.wait.set = set;
    op->to.wait.indices = indices;
    op->to.wait.result = result;
    op->to.wait.at = 0;
    sy_stream_add(op);
}

/* Waits of streams for variables of this PE: see ops.h. The proxy looks at them; one look at a set
 * is a step. */
#include <shmem/constants.h>
#include <string.h>

#include "core/fatal.h"
#include "stream/ops.h"

/* How a variable stands to its value. */
enum { LESS = 1, EQUAL = 2, GREATER = 4 };

static unsigned wait_orders(const char *routine, int cmp)
{
    static const unsigned char orders[] = {
        [SHMEM_CMP_EQ] = EQUAL,   [SHMEM_CMP_NE] = LESS | GREATER,
        [SHMEM_CMP_LT] = LESS,    [SHMEM_CMP_LE] = LESS | EQUAL,
        [SHMEM_CMP_GT] = GREATER, [SHMEM_CMP_GE] = GREATER | EQUAL};

    if (cmp < 0 || cmp >= (int)SY_COUNT(orders))
        sy_fatal("%s: %d is not one of the comparisons SHMEM_CMP_EQ, NE, LT, LE, GT, GE", routine,
                 cmp);
    return orders[cmp];
}

/* Loads an element, sign-extended to 64 bits where its type is signed. The acquire load makes
 * visible what its writer ordered before it. */
static uint64_t wait_load(const void *array, size_t i, int type)
{
    switch (type) {
    case -2:
        return (uint64_t)(int64_t)__atomic_load_n((const int16_t *)array + i, __ATOMIC_ACQUIRE);
    case 2:
        return __atomic_load_n((const uint16_t *)array + i, __ATOMIC_ACQUIRE);
    case -4:
        return (uint64_t)(int64_t)__atomic_load_n((const int32_t *)array + i, __ATOMIC_ACQUIRE);
    case 4:
        return __atomic_load_n((const uint32_t *)array + i, __ATOMIC_ACQUIRE);
    default:
        return __atomic_load_n((const uint64_t *)array + i, __ATOMIC_ACQUIRE);
    }
}

static unsigned wait_order(uint64_t left, uint64_t right, int type)
{
    const uint64_t sign = type < 0 ? UINT64_C(1) << 63 : 0;

    left ^= sign;
    right ^= sign;
    return left < right ? LESS : left > right ? GREATER : EQUAL;
}

static bool wait_included(const struct sy_stream_op *op, size_t i)
{
    return !op->to.wait.set.status || !op->to.wait.set.status[i];
}

static bool wait_holds(const struct sy_stream_op *op, size_t i)
{
    const struct sy_stream_set *set = &op->to.wait.set;
    uint64_t value = set->values ? wait_load(set->values, i, set->type) : set->value;

    return wait_order(wait_load(set->ivars, i, set->type), value, set->type) & op->to.wait.orders;
}

/* A variable whose comparison has been true once is not looked at again. */
static enum sy_step wait_all(struct sy_stream_op *op)
{
    for (; op->to.wait.at < op->to.wait.set.count; op->to.wait.at++)
        if (wait_included(op, op->to.wait.at) && !wait_holds(op, op->to.wait.at))
            return SY_STEP_AGAIN;
    return SY_STEP_DONE;
}

/* Each wait begins to look one further than the one before, so that each variable has its turn. */
static enum sy_step wait_any(struct sy_stream_op *op)
{
    static size_t turn; /* the proxy's */
    size_t count = op->to.wait.set.count;
    bool empty = true;

    *op->to.wait.result = SIZE_MAX;
    for (size_t k = 0; k < count; k++) {
        size_t i = (turn % count + k) % count;
        if (!wait_included(op, i))
            continue;
        empty = false;
        if (!wait_holds(op, i))
            continue;
        *op->to.wait.result = i;
        turn = i + 1;
        return SY_STEP_DONE;
    }
    return empty ? SY_STEP_DONE : SY_STEP_AGAIN;
}

static enum sy_step wait_some(struct sy_stream_op *op)
{
    size_t found = 0;
    bool empty = true;

    for (size_t i = 0; i < op->to.wait.set.count; i++) {
        if (!wait_included(op, i))
            continue;
        empty = false;
        if (wait_holds(op, i))
            op->to.wait.indices[found++] = i;
    }
    if (!found && !empty)
        return SY_STEP_AGAIN;
    *op->to.wait.result = found;
    return SY_STEP_DONE;
}

static const struct sy_stream_kind all = {.step = wait_all}, any = {.step = wait_any},
                                   some = {.step = wait_some};

static void wait_add(struct sy_stream *stream, const char *routine,
                     const struct sy_stream_kind *kind, const struct sy_stream_set *set,
                     size_t *indices, size_t *result)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, kind);

    if (!op)
        return;
    op->to.wait.orders = wait_orders(routine, set->cmp);
    op->to.wait.set = *set;
    op->to.wait.indices = indices;
    op->to.wait.result = result;
    op->to.wait.at = 0;
    sy_stream_add(op);
}

void sy_stream_wait_all(struct sy_stream *stream, const char *routine, struct sy_stream_set set)
{
    wait_add(stream, routine, &all, &set, NULL, NULL);
}

void sy_stream_wait_any(struct sy_stream *stream, const char *routine, struct sy_stream_set set,
                        size_t *index)
{
    wait_add(stream, routine, &any, &set, NULL, index);
}

void sy_stream_wait_some(struct sy_stream *stream, const char *routine, struct sy_stream_set set,
                         size_t *indices, size_t *count)
{
    wait_add(stream, routine, &some, &set, indices, count);
}

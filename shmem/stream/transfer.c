/* Transfers of streams: see ops.h. The proxy starts them on the stream's context, and does not wait
 * but for room. Strided ones are one message where the transport has that, for which it is waited.
 */
#include <shmem/constants.h>
#include <string.h>

#include "core/amo.h"
#include "core/rma.h"
#include "core/signal.h"
#include "stream/ops.h"

static enum sy_step transfer_put(struct sy_stream_op *op)
{
    sy_put(op->stream->ctx, op->to.rma.dest, op->to.rma.source, op->to.rma.length, op->pe, 0);
    return SY_STEP_DONE;
}

static enum sy_step transfer_p(struct sy_stream_op *op)
{
    sy_put(op->stream->ctx, op->to.rma.dest, op->to.rma.value, op->to.rma.length, op->pe,
           SY_BLOCKING);
    return SY_STEP_DONE;
}

static enum sy_step transfer_get(struct sy_stream_op *op)
{
    sy_get(op->stream->ctx, op->to.rma.dest, op->to.rma.source, op->to.rma.length, op->pe, 0);
    return SY_STEP_DONE;
}

static enum sy_step transfer_iput(struct sy_stream_op *op)
{
    const struct sy_stream_strided *s = &op->to.strided;

    sy_put_strided(op->stream->ctx, s->dest, s->source, s->dest_stride, s->source_stride, s->block,
                   s->blocks, op->pe);
    return SY_STEP_DONE;
}

static enum sy_step transfer_iget(struct sy_stream_op *op)
{
    const struct sy_stream_strided *s = &op->to.strided;

    sy_get_strided(op->stream->ctx, s->dest, s->source, s->dest_stride, s->source_stride, s->block,
                   s->blocks, op->pe);
    return SY_STEP_DONE;
}

static enum sy_step transfer_put_signal(struct sy_stream_op *op)
{
    const struct sy_stream_signal *signal = &op->to.rma.signal;

    sy_put_signal(op->stream->ctx, op->to.rma.dest, op->to.rma.source, op->to.rma.length,
                  signal->word, signal->value, signal->op, op->pe, 0);
    return SY_STEP_DONE;
}

static enum sy_step transfer_amo(struct sy_stream_op *op)
{
    const struct sy_stream_amo *a = &op->to.amo;

    if (a->result)
        sy_amo_start(op->stream->ctx, a->op, a->dest, a->width, a->operand, a->compare, a->result,
                     op->pe);
    else
        sy_amo_update(op->stream->ctx, a->op, a->dest, a->width, a->operand, op->pe);
    return SY_STEP_DONE;
}

static enum sy_step transfer_fence(struct sy_stream_op *op)
{
    sy_fence(op->stream->ctx);
    return SY_STEP_DONE;
}

static enum sy_step transfer_quiet(struct sy_stream_op *op)
{
    (void)op; /* it does not join, so all is complete */
    return SY_STEP_DONE;
}

/* Nothing is under way to any PE when this operation begins; it checks that the PEs it names exist.
 */
static enum sy_step transfer_pe_quiet(struct sy_stream_op *op)
{
    const int *pes = op->to.rma.source;

    for (size_t i = 0; i < op->to.rma.length; i++)
        sy_rma_check_pe(op->routine, sy_ctx_pe(op->stream->ctx, pes[i]));
    return SY_STEP_DONE;
}

/* What writes to this PE's memory, and what reads another's, begins when all before it is complete:
 * it may want what that has brought. What comes behind it begins when it is complete: it may send
 * what that has brought, or write where that reads. */
static const struct sy_stream_kind put = {.step = transfer_put, .issues = true, .joins = true},
                                   p = {.step = transfer_p, .issues = true, .joins = true},
                                   iput = {.step = transfer_iput, .issues = true, .joins = true},
                                   put_signal = {.step = transfer_put_signal,
                                                 .issues = true,
                                                 .joins = true},
                                   update = {.step = transfer_amo, .issues = true, .joins = true},
                                   fence = {.step = transfer_fence, .issues = true, .joins = true},
                                   get = {.step = transfer_get, .issues = true},
                                   iget = {.step = transfer_iget, .issues = true},
                                   fetch = {.step = transfer_amo, .issues = true},
                                   quiet = {.step = transfer_quiet},
                                   pe_quiet = {.step = transfer_pe_quiet};

static void transfer_add(struct sy_stream *stream, const char *routine,
                         const struct sy_stream_kind *kind, void *dest, const void *source,
                         size_t length, int pe)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, kind);

    if (!op)
        return;
    op->to.rma.dest = dest;
    op->to.rma.source = source;
    op->to.rma.length = length;
    op->pe = pe;
    sy_stream_add(op);
}

void sy_stream_add_put(struct sy_stream *stream, const char *routine, void *dest,
                       const void *source, size_t length, int pe)
{
    transfer_add(stream, routine, &put, dest, source, length, pe);
}

void sy_stream_add_get(struct sy_stream *stream, const char *routine, void *dest,
                       const void *source, size_t length, int pe)
{
    transfer_add(stream, routine, &get, dest, source, length, pe);
}

void sy_stream_add_p(struct sy_stream *stream, const char *routine, void *dest, const void *value,
                     size_t length, int pe)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, &p);

    if (!op)
        return;
    op->to.rma.dest = dest;
    op->to.rma.length = length;
    op->pe = pe;
    memcpy(op->to.rma.value, value, length);
    sy_stream_add(op);
}

static void transfer_add_strided(struct sy_stream *stream, const char *routine,
                                 const struct sy_stream_kind *kind,
                                 const struct sy_stream_strided *blocks, int pe)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, kind);

    if (!op)
        return;
    op->to.strided = *blocks;
    op->pe = pe;
    sy_stream_add(op);
}

void sy_stream_add_iput(struct sy_stream *stream, const char *routine,
                        const struct sy_stream_strided *blocks, int pe)
{
    transfer_add_strided(stream, routine, &iput, blocks, pe);
}

void sy_stream_add_iget(struct sy_stream *stream, const char *routine,
                        const struct sy_stream_strided *blocks, int pe)
{
    transfer_add_strided(stream, routine, &iget, blocks, pe);
}

void sy_stream_add_put_signal(struct sy_stream *stream, const char *routine, void *dest,
                              const void *source, size_t length, struct sy_stream_signal signal,
                              int pe)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, &put_signal);

    if (!op)
        return;
    op->to.rma.dest = dest;
    op->to.rma.source = source;
    op->to.rma.length = length;
    op->to.rma.signal = signal;
    op->pe = pe;
    sy_stream_add(op);
}

void sy_stream_add_amo(struct sy_stream *stream, const char *routine, struct sy_stream_amo amo,
                       int pe)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, amo.result ? &fetch : &update);

    if (!op)
        return;
    op->to.amo = amo;
    op->pe = pe;
    sy_stream_add(op);
}

static void transfer_add_order(struct sy_stream *stream, const char *routine,
                               const struct sy_stream_kind *kind)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, kind);

    if (op)
        sy_stream_add(op);
}

void sy_stream_fence(struct sy_stream *stream, const char *routine)
{
    transfer_add_order(stream, routine, &fence);
}

void sy_stream_quiet(struct sy_stream *stream, const char *routine)
{
    transfer_add_order(stream, routine, &quiet);
}

void sy_stream_pe_quiet(struct sy_stream *stream, const char *routine, const int *pes, size_t count)
{
    transfer_add(stream, routine, &pe_quiet, NULL, pes, count, 0);
}

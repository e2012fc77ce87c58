/* Transfers of streams: see ops.h. The proxy starts them on the stream's context, and does not wait
 * but for room. A worker carries out long ones with memory of a device, which the library copies
 * piece by piece, at the speed of the other PE, and those that fill it with another PE's data. */
#include "core/amo.h"
#include "core/memory/pipeline.h"
#include "core/rma.h"
#include "core/signal.h"
#include "stream/ops.h"

static enum sy_step transfer_put(struct sy_stream_op *op)
{
    sy_put(op->stream->ctx, op->to.rma.dest, op->to.rma.source, op->to.rma.length, 1, op->pe, 0);
    return SY_STEP_DONE;
}

static enum sy_step transfer_p(struct sy_stream_op *op)
{
    sy_put(op->stream->ctx, op->to.p.dest, op->to.p.value, op->to.p.length, 1, op->pe, SY_BLOCKING);
    return SY_STEP_DONE;
}

static enum sy_step transfer_get(struct sy_stream_op *op)
{
    sy_get(op->stream->ctx, op->to.rma.dest, op->to.rma.source, op->to.rma.length, 1, op->pe, 0);
    return SY_STEP_DONE;
}

static enum sy_step transfer_iput(struct sy_stream_op *op)
{
    const struct sy_stream_strided *s = &op->to.strided;

    sy_put_strided(op->stream->ctx, s->dest, s->source, s->dest_stride, s->source_stride, s->block,
                   s->blocks, op->pe, 0);
    return SY_STEP_DONE;
}

static enum sy_step transfer_iget(struct sy_stream_op *op)
{
    const struct sy_stream_strided *s = &op->to.strided;

    sy_get_strided(op->stream->ctx, s->dest, s->source, s->dest_stride, s->source_stride, s->block,
                   s->blocks, op->pe, 0);
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

/* Nothing is under way to any PE when this begins; it checks that the PEs it names exist. */
static enum sy_step transfer_pe_quiet(struct sy_stream_op *op)
{
    const int *pes = op->to.rma.source;

    for (size_t i = 0; i < op->to.rma.length; i++)
        sy_rma_check_pe(op->routine, sy_ctx_pe(op->stream->ctx, pes[i]));
    return SY_STEP_DONE;
}

static void transfer_work(struct sy_stream_op *op)
{
    op->kind->step(op);
    sy_quiet(op->stream->ctx, SY_ALL_PES);
}

/* What writes to this PE's memory, and what reads another's, begins when all before it is complete:
 * it may want what that has brought. What comes behind it begins when it is complete: it may send
 * what that has brought, or write where that reads. */
static const struct sy_stream_kind kinds[] = {
    [SY_STREAM_PUT] = {.step = transfer_put, .issues = true, .joins = true},
    [SY_STREAM_PUT_SIGNAL] = {.step = transfer_put_signal, .issues = true, .joins = true},
    [SY_STREAM_GET] = {.step = transfer_get, .issues = true},
    [SY_STREAM_IPUT] = {.step = transfer_iput, .issues = true, .joins = true},
    [SY_STREAM_IGET] = {.step = transfer_iget, .issues = true},
    [SY_STREAM_P] = {.step = transfer_p, .issues = true, .joins = true},
    [SY_STREAM_UPDATE] = {.step = transfer_amo, .issues = true, .joins = true},
    [SY_STREAM_FETCH] = {.step = transfer_amo, .issues = true},
    [SY_STREAM_FENCE] = {.step = transfer_fence, .issues = true, .joins = true},
    [SY_STREAM_QUIET] = {.step = transfer_quiet},
    [SY_STREAM_PE_QUIET] = {.step = transfer_pe_quiet},
};

#define OF_DEVICE(STEP)                                                                            \
    {                                                                                              \
        .step = STEP, .work = transfer_work, .issues = true                                        \
    }
static const struct sy_stream_kind kinds_of_device[] = {
    [SY_STREAM_PUT] = OF_DEVICE(transfer_put),
    [SY_STREAM_PUT_SIGNAL] = OF_DEVICE(transfer_put_signal),
    [SY_STREAM_GET] = OF_DEVICE(transfer_get),
    [SY_STREAM_IPUT] = OF_DEVICE(transfer_iput),
    [SY_STREAM_IGET] = OF_DEVICE(transfer_iget),
};
#undef OF_DEVICE

static size_t transfer_bytes(enum sy_stream_transfer what, const union sy_stream_to *to)
{
    bool strided = what == SY_STREAM_IPUT || what == SY_STREAM_IGET;

    return strided ? to->strided.block * to->strided.blocks : to->rma.length;
}

/* All PEs of a space have the same windows, so a symmetric address tells of the other PE's memory
 * too. A short put waits for nothing but room, a short get for what it brings to a device. */
static const struct sy_stream_kind *transfer_kind(enum sy_stream_transfer what,
                                                  const union sy_stream_to *to)
{
    unsigned window;
    uint64_t offset;

    if (what >= SY_COUNT(kinds_of_device))
        return &kinds[what];
    bool to_device = sy_staged_has(to->rma.dest, &window, &offset);
    if (!to_device && !sy_staged_has(to->rma.source, &window, &offset))
        return &kinds[what];
    bool fills_device = to_device && (what == SY_STREAM_GET || what == SY_STREAM_IGET);
    bool waits = fills_device || transfer_bytes(what, to) >= SY_PIPELINE_LEAST;
    return waits ? &kinds_of_device[what] : &kinds[what];
}

void sy_stream_transfer(struct sy_stream *stream, const char *routine, enum sy_stream_transfer what,
                        const union sy_stream_to *to, int pe)
{
    struct sy_stream_op *op = sy_stream_new(stream, routine, transfer_kind(what, to));

    if (!op)
        return;
    op->to = *to;
    op->pe = pe;
    sy_stream_add(op);
}

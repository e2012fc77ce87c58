#include <stdlib.h>

#include "core/amo.h"
#include "core/callsite.h"
#include "core/fatal.h"
#include "core/memory/heap.h"
#include "core/memory/pipeline.h"
#include "core/rma_staged.h"
#include "core/start/world.h"

#define MAP_LEAST ((size_t)256 << 10) /* to map less costs as much as to copy it */

/* Ends the job where `length` bytes of this PE's side reach past the end of its space. */
static void rma_staged_check(const char *what, unsigned window, uint64_t offset, size_t length)
{
    const struct sy_window_entry *entry = &sy_windows.entry[window];

    if (!sy_staged_has_room(window, offset, length))
        sy_fatal("%s, on this PE's side: %zu bytes at %p reach past the end of the %s",
                 sy_callsite_routine(what), length, (void *)(entry->own.base + offset),
                 entry->heap ? entry->heap->name : "memory space");
}

static struct sy_staged_side rma_staged_local(const char *what, const void *local, size_t length)
{
    struct sy_staged_side side = {.here = (char *)local};

    side.staged = sy_staged_has(local, &side.window, &side.offset);
    if (side.staged)
        rma_staged_check(what, side.window, side.offset, length);
    return side;
}

/* Finds the other side where it is this PE's or mapped. False: the transport moves the data. */
static bool rma_staged_near(const struct sy_target *target, int pe, struct sy_staged_side *side)
{
    *side = (struct sy_staged_side){.window = target->window,
                                    .offset = target->offset,
                                    .here = target->here,
                                    .staged = !target->here && pe == sy_world.pe &&
                                              sy_staged_is(target->window)};
    return side->here || side->staged;
}

bool sy_rma_staged(const struct sy_target *target, const void *local, size_t length, int pe)
{
    const struct sy_pipeline m = {.target = target, .length = length, .pe = pe};
    struct sy_staged_side other;

    return sy_staged_has(local, &other.window, &other.offset) ||
           (rma_staged_near(target, pe, &other) ? other.staged : sy_pipeline_bounces(&m));
}

/* Copies between two sides that are this PE's or mapped. */
static void rma_staged_copy(const char *what, const struct sy_staged_side *to,
                            const struct sy_staged_side *from, size_t length)
{
    if (!to->staged) {
        sy_staged_copy(from->window, false, from->offset, to->here, length);
        return;
    }
    if (!from->staged) {
        sy_staged_copy(to->window, true, to->offset, from->here, length);
        return;
    }
    char *room = sy_pipeline_room(what, length);
    for (size_t done = 0; done < length; done += SY_PIPELINE_PIECE) {
        size_t part = length - done < SY_PIPELINE_PIECE ? length - done : SY_PIPELINE_PIECE;
        sy_staged_copy(from->window, false, from->offset + done, room, part);
        sy_staged_copy(to->window, true, to->offset + done, room, part);
    }
    sy_pipeline_give(room, length);
}

/* ---- by a transport ---- */

/* Leaves a transfer to a transport that stages (SY_STAGES), whose local side is where the program
 * has it. False: this one does not. */
static bool rma_staged_by_transport(const struct sy_pipeline *m)
{
    if (!(sy_route_to(m->pe)->table->capabilities & SY_STAGES))
        return false;
    char *base = sy_windows.entry[m->side->window].own.base;
    sy_pipeline_issue(m, 0, base + m->side->offset, m->length, SY_BLOCKING);
    return true;
}

/* A long get from another PE's device into memory of the host: in pieces too, so that that PE
 * copies one while another travels, through few buffers, which stay in its cache. A device has the
 * same windows on all PEs. */
static bool rma_staged_in_turns(const struct sy_pipeline *m)
{
    return m->length > SY_PIPELINE_PIECE && sy_staged_is(m->target->window) &&
           !(sy_route_to(m->pe)->table->capabilities & SY_STAGES);
}

static void rma_staged_all(const struct sy_pipeline *m)
{
    if (m->side->staged && rma_staged_by_transport(m))
        return;
    if (m->side->staged || sy_pipeline_bounces(m) || (!m->put && rma_staged_in_turns(m)))
        sy_pipeline_move(m);
    else
        sy_pipeline_issue(m, 0, m->side->here, m->length, SY_BLOCKING);
}

/* Transfers with this PE's side mapped, so that nothing is copied. False: the device does not map
 * it. */
static bool rma_staged_mapped(const struct sy_pipeline *m)
{
    struct sy_staged_side side = {.here = NULL};
    struct sy_pipeline mapped = *m;

    if (m->side->staged && m->length >= MAP_LEAST)
        side.here = sy_staged_map(m->side->window, !m->put, m->side->offset, m->length);
    if (!side.here)
        return false;
    mapped.side = &side;
    rma_staged_all(&mapped);
    sy_staged_unmap(m->side->window, side.here);
    return true;
}

/* Whether this PE has to do more for a transfer than to hand it to a transport. */
static bool rma_staged_concerns(const struct sy_pipeline *m, const struct sy_staged_side *other,
                                bool near)
{
    if (m->side->staged || near)
        return m->side->staged || other->staged;
    return sy_pipeline_bounces(m) || (!m->put && rma_staged_in_turns(m));
}

bool sy_rma_staged_transfer(const char *what, shmem_ctx_t ctx, const struct sy_target *target,
                            void *local, size_t length, int pe, bool put)
{
    struct sy_staged_side side = rma_staged_local(what, local, length), other;
    const struct sy_pipeline m = {what, ctx, target, &side, length, pe, put};
    bool near = rma_staged_near(target, pe, &other);

    if (!rma_staged_concerns(&m, &other, near))
        return false;
    if (near)
        rma_staged_copy(what, put ? &other : &side, put ? &side : &other, length);
    else if (!rma_staged_mapped(&m))
        rma_staged_all(&m);
    return true;
}

/* ---- strided ---- */

/* Between memory of a device of this PE and another PE: the blocks are packed in memory of the
 * host, as many at a time as fit, and the transport moves them from there, or to there, in few
 * messages. */

#define ROOM  ((size_t)48 << 10) /* for what is packed, and for what it is taken out of */
#define APART ((size_t)32 << 10) /* blocks that are further apart are copied one by one */

struct packing {
    const struct sy_strided *s;
    unsigned window; /* of this PE's side */
    uint64_t offset;
    size_t apart; /* bytes from one block to the next, whichever comes first */
    size_t most;  /* blocks at a time */
    char *packed, *span;
};

static uint64_t rma_staged_pack_at(const struct packing *p, size_t block)
{
    return p->offset + (uint64_t)((ptrdiff_t)block * p->s->local_stride);
}

/* False: the blocks are not in memory of a device, or so long that nothing is gained. */
static bool rma_staged_pack_begin(struct packing *p, const char *what, const struct sy_strided *s)
{
    *p = (struct packing){.s = s, .apart = (size_t)labs(s->local_stride)};
    if (!sy_staged_has(s->first.local, &p->window, &p->offset) || s->block > ROOM / 2)
        return false;
    rma_staged_check(what, p->window, p->offset, s->block);
    rma_staged_check(what, p->window, rma_staged_pack_at(p, s->blocks - 1), s->block);
    p->most = ROOM / s->block;
    if (p->apart > s->block && p->apart <= APART)
        p->most = 1 + (ROOM - s->block) / p->apart;
    p->packed = malloc(2 * ROOM);
    if (!p->packed)
        sy_fatal("%s: no memory to copy blocks of a device", sy_callsite_routine(what));
    p->span = p->packed + ROOM;
    return true;
}

/* Packs blocks from the device. Those that are close together by one copy, which reads what is
 * between them too. */
static void rma_staged_pack_out(const struct packing *p, size_t first, size_t blocks)
{
    size_t block = p->s->block;
    bool down = p->s->local_stride < 0;

    if (p->s->local_stride == (ptrdiff_t)block) {
        sy_staged_copy(p->window, false, rma_staged_pack_at(p, first), p->packed, blocks * block);
    } else if (p->apart > block && p->apart <= APART) {
        sy_staged_copy(p->window, false, rma_staged_pack_at(p, down ? first + blocks - 1 : first),
                       p->span, (blocks - 1) * p->apart + block);
        for (size_t i = 0; i < blocks; i++)
            memcpy(p->packed + i * block, p->span + (down ? blocks - 1 - i : i) * p->apart, block);
    } else {
        for (size_t i = 0; i < blocks; i++)
            sy_staged_copy(p->window, false, rma_staged_pack_at(p, first + i),
                           p->packed + i * block, block);
    }
}

/* Unpacks blocks to the device. What is between them is not written: others may write it. */
static void rma_staged_pack_in(const struct packing *p, size_t first, size_t blocks)
{
    size_t block = p->s->block;

    if (p->s->local_stride == (ptrdiff_t)block) {
        sy_staged_copy(p->window, true, rma_staged_pack_at(p, first), p->packed, blocks * block);
        return;
    }
    for (size_t i = 0; i < blocks; i++)
        sy_staged_copy(p->window, true, rma_staged_pack_at(p, first + i), p->packed + i * block,
                       block);
}

/* Moves packed blocks from or to the other PE. */
static void rma_staged_pack_move(const struct packing *p, const char *what, shmem_ctx_t ctx,
                                 size_t first, size_t blocks, bool put)
{
    struct sy_strided part = *p->s;

    part.first.offset += (uint64_t)((ptrdiff_t)first * part.remote_stride);
    part.first.local = p->packed;
    part.first.length = part.block;
    part.blocks = blocks;
    part.local_stride = (ptrdiff_t)part.block;
    if (sy_issue_strided(what, ctx, &part, SY_BLOCKING, put))
        return;
    for (; blocks; blocks--) {
        (put ? sy_issue_put : sy_issue_get)(what, ctx, &part.first, SY_BLOCKING);
        part.first.offset += (uint64_t)part.remote_stride;
        part.first.local = (char *)part.first.local + part.block;
    }
}

bool sy_rma_staged_strided(const char *what, shmem_ctx_t ctx, const struct sy_strided *s, bool put)
{
    struct packing p;
    size_t count;

    if (!rma_staged_pack_begin(&p, what, s))
        return false;
    for (size_t done = 0; done < s->blocks; done += count) {
        count = s->blocks - done < p.most ? s->blocks - done : p.most;
        if (put)
            rma_staged_pack_out(&p, done, count);
        rma_staged_pack_move(&p, what, ctx, done, count, put);
        if (!put)
            rma_staged_pack_in(&p, done, count);
    }
    free(p.packed);
    return true;
}

/* ---- atomic operations ---- */

bool sy_rma_staged_amo(const char *what, const struct sy_amo *amo)
{
    uint64_t old = 0;

    if (!sy_staged_is(amo->window))
        return false;
    if (!sy_staged_has_amo(amo->window))
        sy_fatal("%s with PE %d: the memory space is of a device that has no atomic operations; "
                 "shmemx_space_get_caps tells (SHMEMX_SPACE_CAP_ATOMICS)",
                 sy_callsite_routine(what), amo->pe);
    if (amo->pe != sy_world.pe)
        return false;
    sy_staged_amo(amo->window, amo->op, amo->offset, amo->width, amo->operand, amo->compare, &old);
    if (amo->result)
        sy_amo_unbits(amo->result, amo->width, old);
    return true;
}

/* Strided transfers between memory of a device of this PE and another PE: see rma_staged.h. The
 * blocks are packed in memory of the host, as many at a time as fit, and the transport moves them
 * from there, or to there, in few messages. */
#include <stdlib.h>
#include <string.h>

#include "core/callsite.h"
#include "core/fatal.h"
#include "core/rma_staged.h"

#define ROOM  ((size_t)48 << 10)  /* for what is packed, and for what it is taken out of */
#define APART ((size_t)32 << 10)  /* blocks that are further apart are copied one by one */

struct packing {
    const struct sy_strided *s;
    unsigned window; /* of this PE's side */
    uint64_t offset;
    size_t apart; /* bytes from one block to the next, whichever comes first */
    size_t most;  /* blocks at a time */
    char *packed, *span;
};

static uint64_t packing_at(const struct packing *p, size_t block)
{
    return p->offset + (uint64_t)((ptrdiff_t)block * p->s->local_stride);
}

/* False: the blocks are not in memory of a device, or so long that nothing is gained. */
static bool packing_open(struct packing *p, const char *what, const struct sy_strided *s)
{
    *p = (struct packing){.s = s, .apart = (size_t)labs(s->local_stride)};
    if (!sy_staged_has(s->first.local, &p->window, &p->offset) || s->block > ROOM / 2)
        return false;
    sy_rma_staged_check(what, p->window, p->offset, s->block);
    sy_rma_staged_check(what, p->window, packing_at(p, s->blocks - 1), s->block);
    p->most = ROOM / s->block;
    if (p->apart > s->block && p->apart <= APART)
        p->most = 1 + (ROOM - s->block) / p->apart;
    p->packed = malloc(2 * ROOM);
    if (!p->packed)
        sy_fatal("%s: no memory to copy blocks of a device", sy_callsite_routine(what));
    p->span = p->packed + ROOM;
    return true;
}

/* Blocks that are close together by one copy, which reads what is between them too. */
static void packing_out(const struct packing *p, size_t first, size_t blocks)
{
    size_t block = p->s->block;
    bool down = p->s->local_stride < 0;

    if (p->s->local_stride == (ptrdiff_t)block) {
        sy_staged_copy(p->window, false, packing_at(p, first), p->packed, blocks * block);
    } else if (p->apart > block && p->apart <= APART) {
        sy_staged_copy(p->window, false, packing_at(p, down ? first + blocks - 1 : first), p->span,
                       (blocks - 1) * p->apart + block);
        for (size_t i = 0; i < blocks; i++)
            memcpy(p->packed + i * block, p->span + (down ? blocks - 1 - i : i) * p->apart, block);
    } else {
        for (size_t i = 0; i < blocks; i++)
            sy_staged_copy(p->window, false, packing_at(p, first + i), p->packed + i * block,
                           block);
    }
}

/* What is between the blocks is not written: somebody else may do so. */
static void packing_in(const struct packing *p, size_t first, size_t blocks)
{
    size_t block = p->s->block;

    if (p->s->local_stride == (ptrdiff_t)block) {
        sy_staged_copy(p->window, true, packing_at(p, first), p->packed, blocks * block);
        return;
    }
    for (size_t i = 0; i < blocks; i++)
        sy_staged_copy(p->window, true, packing_at(p, first + i), p->packed + i * block, block);
}

/* Between what is packed and the other PE. */
static void packing_move(const struct packing *p, const char *what, shmem_ctx_t ctx, size_t first,
                         size_t blocks, bool put)
{
    struct sy_strided part = *p->s;

    part.first.offset += (uint64_t)((ptrdiff_t)first * part.remote_stride);
    part.first.local = p->packed;
    part.first.length = part.block;
    part.blocks = blocks;
    part.local_stride = (ptrdiff_t)part.block;
    if (put ? sy_issue_put_strided(what, ctx, &part) : sy_issue_get_strided(what, ctx, &part))
        return;
    for (; blocks; blocks--) {
        if (put)
            sy_issue_put(what, ctx, &part.first, SY_BLOCKING);
        else
            sy_issue_get(what, ctx, &part.first, SY_BLOCKING);
        part.first.offset += (uint64_t)part.remote_stride;
        part.first.local = (char *)part.first.local + part.block;
    }
}

static bool packing_all(const char *what, shmem_ctx_t ctx, const struct sy_strided *s, bool put)
{
    struct packing p;
    size_t count;

    if (!packing_open(&p, what, s))
        return false;
    for (size_t done = 0; done < s->blocks; done += count) {
        count = s->blocks - done < p.most ? s->blocks - done : p.most;
        if (put)
            packing_out(&p, done, count);
        packing_move(&p, what, ctx, done, count, put);
        if (!put)
            packing_in(&p, done, count);
    }
    free(p.packed);
    return true;
}

bool sy_rma_staged_put_strided(const char *what, shmem_ctx_t ctx, const struct sy_strided *s)
{
    return packing_all(what, ctx, s, true);
}

bool sy_rma_staged_get_strided(const char *what, shmem_ctx_t ctx, const struct sy_strided *s)
{
    return packing_all(what, ctx, s, false);
}

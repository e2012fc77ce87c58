#include <stdlib.h>

#include "engine/apply.h"
#include "engine/pending.h"

void sy_pending_give_other(const struct sy_pending_reply *reply, const char *from)
{
    if (reply->kind == SY_PENDING_STRIDED) {
        struct sy_pending_blocks *b = reply->dest;
        sy_apply_blocks(b->dest, b->stride, from, (ptrdiff_t)b->block, b->block, b->blocks);
        free(b);
    } else {
        const struct sy_pending_beside *beside = reply->dest;
        atomic_fetch_add_explicit(beside->over, 1, memory_order_release);
    }
}

void sy_pending_took(struct sy_pending_replies *pending, uint64_t bytes, _Atomic uint64_t *got)
{
    sy_pending_add(got, bytes);
    sy_pending_add(&pending->answered_long, 1);
    sy_pending_add(&pending->answered, 1);
}

void sy_pending_drop(struct sy_pending_replies *pending)
{
    uint64_t next = sy_pending_answered(pending);

    for (; next != atomic_load_explicit(&pending->asked, memory_order_acquire); next++)
        if (sy_pending_at(pending, next)->kind == SY_PENDING_STRIDED)
            free(sy_pending_at(pending, next)->dest);
}

/* See pending.h. */
#include <stdlib.h>

#include "engine/apply.h"
#include "engine/pending.h"

static bool pending_is_there(const struct sy_pending_reply *reply)
{
    const struct sy_pending_beside *beside = reply->dest;

    return atomic_load_explicit(&beside->done, memory_order_acquire);
}

static void pending_give(const struct sy_pending_reply *reply, const char *from)
{
    if (SY_UNLIKELY(reply->kind == SY_PENDING_STRIDED)) {
        struct sy_pending_blocks *b = reply->dest;
        sy_apply_blocks(b->dest, b->stride, from, (ptrdiff_t)b->block, b->block, b->blocks);
        free(b);
    } else if (SY_UNLIKELY(reply->kind == SY_PENDING_BESIDE)) {
        const struct sy_pending_beside *beside = reply->dest;
        atomic_fetch_add_explicit(beside->over, 1, memory_order_release);
    } else if (reply->length == 8) {
        memcpy(reply->dest, from, 8);
    } else {
        memcpy(reply->dest, from, reply->length);
    }
}

/* There is one writer. */
static void pending_add(_Atomic uint64_t *word, uint64_t more)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more,
                          memory_order_release);
}

size_t sy_pending_take(struct sy_pending_replies *pending, const char *from, size_t length,
                       _Atomic uint64_t *got, const struct sy_pending_reply **part,
                       const char **why)
{
    uint64_t asked = atomic_load_explicit(&pending->asked, memory_order_acquire);
    uint64_t next = atomic_load_explicit(&pending->answered, memory_order_relaxed), first = next;
    size_t used = 0, bytes = 0, longs = 0;

    *part = NULL;
    for (; used < length; next++) {
        if (next == asked) {
            *why = "a reply comes that nobody asked for";
            break;
        }
        const struct sy_pending_reply *reply = sy_pending_at(pending, next);
        size_t size = sy_record_padded(reply->length);
        bool is_long = reply->length > SY_RECORD_LONG;
        if (size > length - used) {
            *part = is_long && reply->kind == SY_PENDING_PLAIN ? reply : NULL;
            break;
        }
        if (SY_UNLIKELY(reply->kind == SY_PENDING_BESIDE) && !pending_is_there(reply))
            break;
        pending_give(reply, from + used);
        used += size;
        bytes += is_long ? 0 : size;
        longs += is_long;
    }
    if (!used)
        return 0;
    pending_add(got, used);
    pending_add(&pending->answered_bytes, bytes);
    pending_add(&pending->answered_long, longs);
    pending_add(&pending->answered, next - first);
    return used;
}

void sy_pending_took(struct sy_pending_replies *pending, uint64_t bytes, _Atomic uint64_t *got)
{
    pending_add(got, bytes);
    pending_add(&pending->answered_long, 1);
    pending_add(&pending->answered, 1);
}

void sy_pending_drop(struct sy_pending_replies *pending)
{
    uint64_t next = sy_pending_answered(pending);

    for (; next != atomic_load_explicit(&pending->asked, memory_order_acquire); next++)
        if (sy_pending_at(pending, next)->kind == SY_PENDING_STRIDED)
            free(sy_pending_at(pending, next)->dest);
}

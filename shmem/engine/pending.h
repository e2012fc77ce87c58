/* Requests to one peer whose replies are awaited. The peer answers in order.
 *
 * The producer enters them, no more than the other side has room to answer; the thread that
 * receives, one at a time, hands out the replies. `asked` and `answered` count all replies since
 * the start; their difference is the number of entries in the table. */
#ifndef SY_ENGINE_PENDING_H
#define SY_ENGINE_PENDING_H

#include <stdatomic.h>
#include <string.h>

#include "engine/record.h"
#include "util/bits.h"
#include "util/copy.h"

#define SY_PENDING_MOST 4096 /* replies awaited at a time, a power of two */
#define SY_PENDING_LONG 248  /* of them longer than SY_RECORD_LONG */

enum sy_pending_kind {
    SY_PENDING_PLAIN,
    SY_PENDING_STRIDED, /* dest is a struct sy_pending_blocks, freed afterwards */
    SY_PENDING_BESIDE   /* dest is a struct sy_pending_beside */
};

/* Where a reply goes. */
struct sy_pending_reply {
    void *dest;
    uint32_t length; /* of the reply, without padding */
    enum sy_pending_kind kind;
};

/* A reply whose data come beside the stream. It is not taken before they are there, and neither are
 * the replies after it. */
struct sy_pending_beside {
    _Atomic bool done;      /* the data are there */
    _Atomic uint64_t *over; /* counts such replies that have been taken */
};

struct sy_pending_blocks {
    char *dest;
    size_t block, blocks;
    ptrdiff_t stride;
};

struct sy_pending_replies {
    /* producer */
    struct sy_pending_reply *table; /* lent by the transport: SY_PENDING_MOST, zeros at first */
    size_t room;                    /* constant: bytes of short replies under way at a time */
    uint64_t base; /* number of the reply in table[0]; moved when none is awaited */
    _Atomic uint64_t asked;
    uint64_t asked_bytes; /* of short replies, since the start */
    uint64_t asked_long;  /* long replies, since the start */
    /* receiver */
    _Alignas(SY_LINE) _Atomic uint64_t answered;
    _Atomic uint64_t answered_bytes, answered_long;
};

#define SY_PENDING_BYTES (SY_PENDING_MOST * sizeof(struct sy_pending_reply))

static inline struct sy_pending_reply *sy_pending_at(const struct sy_pending_replies *pending,
                                                     uint64_t number)
{
    return &pending->table[(number - pending->base) & (SY_PENDING_MOST - 1)];
}

static inline uint64_t sy_pending_answered(const struct sy_pending_replies *pending)
{
    return atomic_load_explicit(&pending->answered, memory_order_acquire);
}

/* How many are awaited. */
static inline uint64_t sy_pending_count(const struct sy_pending_replies *pending)
{
    return atomic_load_explicit(&pending->asked, memory_order_acquire) -
           sy_pending_answered(pending);
}

/* Enters where a reply goes. Returns its number, from 1; 0: too many are under way. */
static inline uint64_t sy_pending_enter(struct sy_pending_replies *pending, void *dest,
                                        size_t length, enum sy_pending_kind kind)
{
    uint64_t asked = atomic_load_explicit(&pending->asked, memory_order_relaxed);
    uint64_t answered = sy_pending_answered(pending);
    bool is_long = length > SY_RECORD_LONG;
    size_t bytes = is_long ? 0 : sy_record_padded(length);
    bool full = asked - answered >= SY_PENDING_MOST ||
                pending->asked_bytes + bytes -
                        atomic_load_explicit(&pending->answered_bytes, memory_order_acquire) >
                    pending->room ||
                pending->asked_long -
                        atomic_load_explicit(&pending->answered_long, memory_order_acquire) >=
                    SY_PENDING_LONG;

    if (SY_UNLIKELY(full))
        return 0;
    if (asked == answered)
        pending->base = asked;
    *sy_pending_at(pending, asked) = (struct sy_pending_reply){
        .dest = dest, .length = (uint32_t)length, .kind = kind};
    pending->asked_bytes += bytes;
    pending->asked_long += is_long;
    atomic_store_explicit(&pending->asked, asked + 1, memory_order_release);
    return asked + 1;
}

/* Bytes of the reply that comes next, with its padding; 0: none is awaited. The receiver. */
static inline size_t sy_pending_next(const struct sy_pending_replies *pending)
{
    uint64_t next = atomic_load_explicit(&pending->answered, memory_order_relaxed);

    if (next == atomic_load_explicit(&pending->asked, memory_order_acquire))
        return 0;
    return sy_record_padded(sy_pending_at(pending, next)->length);
}

/* Whether the reply is not to be taken yet: its data have not come. */
static inline bool sy_pending_awaits_data(const struct sy_pending_reply *reply)
{
    return reply->kind == SY_PENDING_BESIDE &&
           !atomic_load_explicit(&((struct sy_pending_beside *)reply->dest)->done,
                                 memory_order_acquire);
}

/* Whether the next reply is not to be taken yet. The receiver. */
static inline bool sy_pending_is_held(const struct sy_pending_replies *pending)
{
    uint64_t next = atomic_load_explicit(&pending->answered, memory_order_relaxed);

    if (next == atomic_load_explicit(&pending->asked, memory_order_acquire))
        return false;
    return sy_pending_awaits_data(sy_pending_at(pending, next));
}

/* A reply that has come whole goes where it is to go. */
void sy_pending_give_other(const struct sy_pending_reply *reply, const char *from);

SY_INLINE void sy_pending_give(const struct sy_pending_reply *reply, const char *from)
{
    if (SY_UNLIKELY(reply->kind != SY_PENDING_PLAIN))
        sy_pending_give_other(reply, from);
    else if (reply->length == 8)
        memcpy(reply->dest, from, 8);
    else
        sy_copy_bytes(reply->dest, from, reply->length);
}

/* There is one writer. */
static inline void sy_pending_add(_Atomic uint64_t *word, uint64_t more)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more,
                          memory_order_release);
}

/* Hands out the whole replies at `from`: the bytes used. They are added to *got before the replies
 * count as answered: who finds room for another one says too that these have come. *part: a long
 * one has come in part, or NULL. *why: nobody has asked for one. Inline: with one reply at a time
 * the call would cost as much as the rest. */
SY_INLINE size_t sy_pending_take(struct sy_pending_replies *pending, const char *from,
                                 size_t length, _Atomic uint64_t *got,
                                 const struct sy_pending_reply **part, const char **why)
{
    uint64_t asked = atomic_load_explicit(&pending->asked, memory_order_acquire);
    uint64_t next = atomic_load_explicit(&pending->answered, memory_order_relaxed), first = next;
    size_t used = 0, bytes = 0, longs = 0;

    *part = NULL;
    for (; used < length; next++) {
        if (SY_UNLIKELY(next == asked)) {
            *why = "a reply comes that nobody asked for";
            break;
        }
        const struct sy_pending_reply *reply = sy_pending_at(pending, next);
        size_t size = sy_record_padded(reply->length);
        bool is_long = reply->length > SY_RECORD_LONG;
        if (SY_UNLIKELY(size > length - used)) {
            *part = is_long && reply->kind == SY_PENDING_PLAIN ? reply : NULL;
            break;
        }
        if (SY_UNLIKELY(sy_pending_awaits_data(reply)))
            break;
        sy_pending_give(reply, from + used);
        used += size;
        bytes += is_long ? 0 : size;
        longs += is_long;
    }
    if (!used)
        return 0;
    sy_pending_add(got, used);
    sy_pending_add(&pending->answered_bytes, bytes);
    if (longs)
        sy_pending_add(&pending->answered_long, longs);
    sy_pending_add(&pending->answered, next - first);
    return used;
}

/* Frees what belongs to replies that will not come any more. */
void sy_pending_drop(struct sy_pending_replies *pending);

/* The long reply that sy_pending_take has left to its caller has come, `bytes` in all. */
void sy_pending_took(struct sy_pending_replies *pending, uint64_t bytes, _Atomic uint64_t *got);

#endif

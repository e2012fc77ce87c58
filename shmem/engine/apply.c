#include <stdlib.h>

#include "engine/apply.h"

#define APPLY_SPAN (3 * SY_RECORD_PACKED) /* most bytes that are copied for blocks among them */

const char sy_apply_outside[] = "a request names memory that is not symmetric, or not mapped here";

/* Whole elements, by loops: memcpy may be interrupted, or copy by bytes, within an aligned word. */

#define STORE_NEXT(TYPE)                                                                           \
    do {                                                                                           \
        TYPE value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        __atomic_store_n((TYPE *)(void *)to, value, __ATOMIC_RELEASE);                             \
        to += sizeof(TYPE);                                                                        \
        from += sizeof(TYPE);                                                                      \
        length -= sizeof(TYPE);                                                                    \
    } while (0)

#define LOAD_NEXT(TYPE)                                                                            \
    do {                                                                                           \
        TYPE value = __atomic_load_n((const TYPE *)(const void *)from, __ATOMIC_ACQUIRE);          \
        memcpy(to, &value, sizeof value);                                                          \
        to += sizeof(TYPE);                                                                        \
        from += sizeof(TYPE);                                                                      \
        length -= sizeof(TYPE);                                                                    \
    } while (0)

/* All, where `at` is the side whose elements are to stay whole: each step is aligned there by those
 * before it. */
#define MOVE_ALL(NEXT, at)                                                                         \
    do {                                                                                           \
        if ((uintptr_t)(at)&1 && length >= 1)                                                      \
            NEXT(uint8_t);                                                                         \
        if ((uintptr_t)(at)&2 && length >= 2)                                                      \
            NEXT(uint16_t);                                                                        \
        if ((uintptr_t)(at)&4 && length >= 4)                                                      \
            NEXT(uint32_t);                                                                        \
        while (length >= 32) {                                                                     \
            NEXT(uint64_t);                                                                        \
            NEXT(uint64_t);                                                                        \
            NEXT(uint64_t);                                                                        \
            NEXT(uint64_t);                                                                        \
        }                                                                                          \
        while (length >= 8)                                                                        \
            NEXT(uint64_t);                                                                        \
        if (length & 4)                                                                            \
            NEXT(uint32_t);                                                                        \
        if (length & 2)                                                                            \
            NEXT(uint16_t);                                                                        \
        if (length & 1)                                                                            \
            NEXT(uint8_t);                                                                         \
    } while (0)

SY_ORDERED_ELSEWHERE void sy_apply_store(char *to, const char *from, size_t length)
{
    MOVE_ALL(STORE_NEXT, to);
}

SY_ORDERED_ELSEWHERE void sy_apply_load(char *to, const char *from, size_t length)
{
    MOVE_ALL(LOAD_NEXT, from);
}

void sy_apply_blocks(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
                     size_t block, size_t blocks)
{
    bool element = sy_record_is_element(block);
    unsigned code = (unsigned)__builtin_ctzl(block);

    for (;;) {
        if (element)
            sy_apply_store_element(to, from, code);
        else
            sy_apply_store(to, from, block);
        if (!--blocks)
            break; /* there need be no address beyond the last block */
        to += to_stride;
        from += from_stride;
    }
}

SY_ORDERED_ELSEWHERE int sy_apply_raise(struct sy_regions *regions, uint64_t header, uint64_t value)
{
    sy_regions_ensure(regions);
    char *at = sy_regions_find(regions, header, sy_record_offset(header), sizeof value);

    if (!at || (uintptr_t)at % sizeof value || sy_record_code(header) != 3)
        return -1;
    uint64_t *word = (uint64_t *)(void *)at, before = __atomic_load_n(word, __ATOMIC_RELAXED);
    SY_TELL_RELEASE(word);
    while (before < value)
        if (__atomic_compare_exchange_n(word, &before, value, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return 1;
    return 0;
}

/* ---- strided ---- */

struct strided {
    char *first; /* NULL: in memory of a device */
    uint64_t block, blocks;
    int64_t stride;
};

/* Finds the blocks of a strided record. All memory from the first to the last must belong to the
 * region. */
static bool apply_find_blocks(const struct sy_regions *regions, const char *words,
                              struct strided *s)
{
    uint64_t header = sy_record_word(words), offset = sy_record_offset(header);
    int64_t reach;

    s->block = sy_record_word(words + 8) & 0xffffffff;
    s->blocks = sy_record_word(words + 8) >> 32;
    s->stride = (int64_t)sy_record_word(words + 16);
    if (!s->block || !s->blocks || s->block * s->blocks > SY_RECORD_PACKED ||
        __builtin_mul_overflow(s->stride, (int64_t)(s->blocks - 1), &reach))
        return false;
    uint64_t span = reach < 0 ? -(uint64_t)reach : (uint64_t)reach;
    uint64_t before = reach < 0 ? span : 0;
    if (before > offset)
        return false;
    char *lowest = sy_regions_find(regions, header, offset - before, span + s->block);
    s->first = lowest ? lowest + before : NULL;
    return lowest || sy_device_is(regions, header);
}

/* The distance of block i from the first. */
static uint64_t apply_reach(const struct strided *s, uint64_t i)
{
    return i * (uint64_t)s->stride;
}

static bool apply_put_strided(const struct sy_regions *regions, const char *words,
                              const char *payload)
{
    struct strided s;

    if (!apply_find_blocks(regions, words, &s))
        return false;
    for (uint64_t i = 0; i < s.blocks && !s.first; i++)
        if (!sy_device_put(regions, sy_record_behind(sy_record_word(words), apply_reach(&s, i)),
                           payload + i * s.block, s.block))
            return false;
    if (s.first)
        sy_apply_blocks(s.first, s.stride, payload, (ptrdiff_t)s.block, s.block, s.blocks);
    return true;
}

/* Gets blocks that are close together in memory of a device, by one copy of all from the first to
 * the last. False: they are not close together. */
static bool apply_get_span(const struct sy_regions *regions, const char *words,
                           const struct strided *s, char *reply)
{
    uint64_t reach = apply_reach(s, s->blocks - 1), before = s->stride < 0 ? -reach : 0;
    uint64_t span = (s->stride < 0 ? before : reach) + s->block;
    uint64_t lowest = sy_record_behind(sy_record_word(words), -before);
    char *room = s->blocks > 1 && span <= APPLY_SPAN ? malloc((size_t)span) : NULL;
    bool done = room && sy_device_get(regions, lowest, room, (size_t)span);

    if (done)
        sy_apply_blocks(reply, (ptrdiff_t)s->block, room + before, s->stride, s->block, s->blocks);
    free(room);
    return done;
}

static bool apply_get_strided(const struct sy_regions *regions, const char *words, char *reply)
{
    struct strided s;

    if (!apply_find_blocks(regions, words, &s))
        return false;
    memset(reply + sy_record_padded(s.block * s.blocks) - 8, 0, 8);
    if (!s.first && apply_get_span(regions, words, &s, reply))
        return true;
    for (uint64_t i = 0; i < s.blocks && !s.first; i++)
        if (!sy_device_get(regions, sy_record_behind(sy_record_word(words), apply_reach(&s, i)),
                           reply + i * s.block, s.block))
            return false;
    if (s.first)
        sy_apply_blocks(reply, (ptrdiff_t)s.block, s.first, s.stride, s.block, s.blocks);
    return true;
}

/* ---- all ---- */

bool sy_apply_put_long(const struct sy_regions *regions, const char *words, const char *payload)
{
    uint64_t header = sy_record_word(words), length = sy_record_data(words);
    char *to = sy_regions_find(regions, header, sy_record_offset(header), length);

    if (!to)
        return sy_device_put(regions, header, payload, (size_t)length);
    sy_apply_store(to, payload, (size_t)length);
    return true;
}

static bool apply_get_long(const struct sy_regions *regions, const char *words, char *reply)
{
    uint64_t header = sy_record_word(words), length = sy_record_data(words);
    const char *from = sy_regions_find(regions, header, sy_record_offset(header), length);

    if (!from && !sy_device_is(regions, header))
        return false;
    memset(reply + sy_record_padded((size_t)length) - 8, 0, 8);
    if (!from)
        return sy_device_get(regions, header, reply, (size_t)length);
    sy_apply_load(reply, from, (size_t)length);
    return true;
}

static bool apply_amo(const struct sy_regions *regions, const char *words, char *reply)
{
    uint64_t header = sy_record_word(words);
    unsigned op = sy_record_op(header);
    uint64_t compare = (op & 7) == SY_AMO_CSWAP ? sy_record_word(words + 16) : 0;

    return sy_apply_amo(regions, header, sy_record_word(words + 8), compare,
                        op >= SY_RECORD_AMO_FETCH ? reply : NULL);
}

const char *sy_apply(const struct sy_regions *regions, const char *words, const char *payload,
                     char *reply)
{
    bool done;

    switch (sy_record_op(sy_record_word(words))) {
    case SY_RECORD_PUT:
        done = sy_apply_put(regions, sy_record_word(words), words + 8);
        break;
    case SY_RECORD_PUT_LONG:
        done = sy_apply_put_long(regions, words, payload);
        break;
    case SY_RECORD_GET:
        done = sy_apply_get(regions, sy_record_word(words), reply);
        break;
    case SY_RECORD_GET_LONG:
        done = apply_get_long(regions, words, reply);
        break;
    case SY_RECORD_PUT_STRIDED:
        done = apply_put_strided(regions, words, payload);
        break;
    case SY_RECORD_GET_STRIDED:
        done = apply_get_strided(regions, words, reply);
        break;
    case SY_RECORD_AMO ... SY_RECORD_AMO_FETCH + SY_AMO_XOR:
        done = apply_amo(regions, words, reply);
        break;
    default:
        return "a record is of no known kind";
    }
    return done ? NULL : sy_apply_outside;
}

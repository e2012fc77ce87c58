/* What requests do to memory. All that they say is checked, since they come from other processes.
 *
 * Elements of 1, 2, 4 and 8 bytes are stored whole and with release order, so that a thread which
 * waits for one sees all that came before it. */
#ifndef SY_ENGINE_APPLY_H
#define SY_ENGINE_APPLY_H

#include "engine/device.h"
#include "engine/regions.h"

#define SY_APPLY_STORE(TYPE)                                                                       \
    do {                                                                                           \
        TYPE value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        if ((uintptr_t)to % sizeof value)                                                          \
            memcpy(to, &value, sizeof value);                                                      \
        else                                                                                       \
            __atomic_store_n((TYPE *)(void *)to, value, __ATOMIC_RELEASE);                         \
    } while (0)

#define SY_APPLY_LOAD(TYPE)                                                                        \
    do {                                                                                           \
        TYPE value;                                                                                \
        if ((uintptr_t)from % sizeof value)                                                        \
            memcpy(&value, from, sizeof value);                                                    \
        else                                                                                       \
            value = __atomic_load_n((const TYPE *)(const void *)from, __ATOMIC_ACQUIRE);           \
        memcpy(to, &value, sizeof value);                                                          \
    } while (0)

/* One element of 1 << code bytes. */
SY_ORDERED_ELSEWHERE static inline void sy_apply_store_element(char *to, const char *from,
                                                               unsigned code)
{
    SY_TELL_RELEASE(to);
    switch (code) {
    case 0:
        SY_APPLY_STORE(uint8_t);
        break;
    case 1:
        SY_APPLY_STORE(uint16_t);
        break;
    case 2:
        SY_APPLY_STORE(uint32_t);
        break;
    default:
        SY_APPLY_STORE(uint64_t);
    }
}

/* Loads an element of 1 << code bytes whole, with acquire order. */
SY_ORDERED_ELSEWHERE static inline void sy_apply_load_element(char *to, const char *from,
                                                              unsigned code)
{
    switch (code) {
    case 0:
        SY_APPLY_LOAD(uint8_t);
        break;
    case 1:
        SY_APPLY_LOAD(uint16_t);
        break;
    case 2:
        SY_APPLY_LOAD(uint32_t);
        break;
    default:
        SY_APPLY_LOAD(uint64_t);
    }
}

/* An element put, the most frequent request; false: there is no such memory. */
SY_INLINE bool sy_apply_put(const struct sy_regions *regions, uint64_t header, const char *from)
{
    unsigned code = sy_record_code(header);
    char *to = sy_regions_find(regions, header, sy_record_offset(header), UINT64_C(1) << code);

    if (SY_UNLIKELY(!to))
        return sy_device_put(regions, header, from, (size_t)1 << code);
    sy_apply_store_element(to, from, code);
    return true;
}

/* A get of an element: the word at `reply` begins with it. False: there is no such memory. */
SY_INLINE bool sy_apply_get(const struct sy_regions *regions, uint64_t header, char *reply)
{
    unsigned code = sy_record_code(header);
    const char *from = sy_regions_find(regions, header, sy_record_offset(header),
                                       UINT64_C(1) << code);

    memset(reply, 0, 8);
    if (SY_UNLIKELY(!from))
        return sy_device_get(regions, header, reply, (size_t)1 << code);
    sy_apply_load_element(reply, from, code);
    return true;
}

/* An atomic operation; the word at `reply` begins with its result. reply: NULL where it has none.
 * False: there is no such word. */
SY_INLINE bool sy_apply_amo(const struct sy_regions *regions, uint64_t header, uint64_t operand,
                            uint64_t compare, char *reply)
{
    unsigned width = 1u << sy_record_code(header);
    char *at = sy_regions_find(regions, header, sy_record_offset(header), width);
    uint64_t old, *result = reply ? &old : NULL;

    if (SY_LIKELY(at && width >= 4 && (uintptr_t)at % width == 0))
        regions->host->amo((enum sy_amo_op)(sy_record_op(header) & 7), at, width, operand, compare,
                           result);
    else if (!sy_device_amo(regions, header, operand, compare, result))
        return false;
    if (reply) {
        uint32_t half[2] = {(uint32_t)old, 0};
        memcpy(reply, width == 4 ? (void *)half : (void *)&old, 8);
    }
    return true;
}

/* Whether a request is an atomic operation with neither a result nor a second operand. */
static inline bool sy_apply_is_update(uint64_t header)
{
    unsigned op = sy_record_op(header);

    return op - SY_RECORD_AMO < 8 && op != SY_RECORD_AMO + SY_AMO_CSWAP;
}

/* Any put that is no element. */
bool sy_apply_put_long(const struct sy_regions *regions, const char *words, const char *payload);

/* The two most frequent kinds, which have two words: 1. 0: it is another request; -1: there is no
 * such memory. */
SY_INLINE int sy_apply_frequent(const struct sy_regions *regions, uint64_t header, const char *from)
{
    if (SY_LIKELY(sy_record_op(header) == SY_RECORD_PUT))
        return sy_apply_put(regions, header, from) ? 1 : -1;
    if (sy_apply_is_update(header))
        return sy_apply_amo(regions, header, sy_record_word(from), 0, NULL) ? 1 : -1;
    return 0;
}

/* The two most frequent kinds with a reply, which is one word: the record's size. 0: it is another
 * one, or not all of the `have` bytes that are there. */
SY_INLINE size_t sy_apply_asks_word(uint64_t header, size_t have)
{
    unsigned op = sy_record_op(header);

    if (op == SY_RECORD_GET)
        return 8;
    return op >= SY_RECORD_AMO_FETCH && op != SY_RECORD_AMO_FETCH + SY_AMO_CSWAP && have >= 16 ? 16
                                                                                               : 0;
}

/* Such a one; false: there is no such memory. */
SY_INLINE bool sy_apply_word(const struct sy_regions *regions, const char *words, char *reply)
{
    uint64_t header = sy_record_word(words);

    return sy_record_op(header) == SY_RECORD_GET
               ? sy_apply_get(regions, header, reply)
               : sy_apply_amo(regions, header, sy_record_word(words + 8), 0, reply);
}

/* Any other request but SY_RECORD_AWAIT. words, payload: of a whole record, of which nobody else
 * writes the words now. reply: room for the padded length by sy_record_reply; it may be `payload`.
 * NULL, or how the request breaks the rules. sy_regions_ensure has been called. */
const char *sy_apply(const struct sy_regions *regions, const char *words, const char *payload,
                     char *reply);

/* What sy_apply answers where there is no such memory. */
extern const char sy_apply_outside[] SY_HIDDEN;

/* RAISE: 1 where the word was less before, 0 where not; -1: that cannot be. */
int sy_apply_raise(struct sy_regions *regions, uint64_t header, uint64_t value);

/* Bytes that may be several elements: none is torn. Stored in ascending order, since data may be
 * followed by the flag that was put after them. */
void sy_apply_store(char *to, const char *from, size_t length);
void sy_apply_load(char *to, const char *from, size_t length);

/* Blocks that begin to_stride and from_stride bytes apart; elements whole. */
void sy_apply_blocks(char *to, ptrdiff_t to_stride, const char *from, ptrdiff_t from_stride,
                     size_t block, size_t blocks);

#endif

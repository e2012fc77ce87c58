/* Writing the records of requests. place: a header without its operation (sy_engine_place). room:
 * where the record is written; the functions *_size say how many bytes that takes. */
#ifndef SY_ENGINE_REQUEST_H
#define SY_ENGINE_REQUEST_H

#include "engine/record.h"
#include "util/bits.h"
#include "util/copy.h"

static inline uint64_t sy_request_at(uint64_t place, unsigned op, unsigned code)
{
    return place | op | (uint64_t)code << 5;
}

/* The header of `op` for one element of `length` bytes, else that of `op_long`. */
static inline uint64_t sy_request_header(uint64_t place, unsigned op, unsigned op_long,
                                         size_t length)
{
    return sy_record_is_element(length) ? sy_request_at(place, op, (unsigned)__builtin_ctzl(length))
                                        : sy_request_at(place, op_long, 0);
}

/* ---- put ---- */

static inline size_t sy_request_put_size(size_t length)
{
    return sy_record_is_element(length) ? 16 : 16 + sy_record_padded(length);
}

SY_INLINE void sy_request_write_element(char *room, uint64_t header, const void *from,
                                        unsigned code)
{
    uint64_t word[2] = {header, 0};

    memcpy(&word[1], from, (size_t)1 << code);
    memcpy(room, word, sizeof word);
}

/* Header and length of a record whose payload follows, or is asked for. */
static inline void sy_request_write_long(char *room, uint64_t place, unsigned op, size_t length)
{
    uint64_t word[2] = {sy_request_at(place, op, 0), length};

    memcpy(room, word, sizeof word);
}

static inline void sy_request_write_put(char *room, uint64_t place, const void *from, size_t length)
{
    if (sy_record_is_element(length)) {
        unsigned code = (unsigned)__builtin_ctzl(length);
        sy_request_write_element(room, sy_request_at(place, SY_RECORD_PUT, code), from, code);
        return;
    }
    memset(room + 8 + sy_record_padded(length), 0, 8);
    sy_request_write_long(room, place, SY_RECORD_PUT_LONG, length);
    sy_copy_bytes(room + 16, from, length);
}

/* ---- get ---- */

static inline size_t sy_request_get_size(size_t length)
{
    return sy_record_is_element(length) ? 8 : 16;
}

static inline void sy_request_write_get(char *room, uint64_t place, size_t length)
{
    uint64_t word[2] = {sy_request_header(place, SY_RECORD_GET, SY_RECORD_GET_LONG, length),
                        length};

    memcpy(room, word, sy_request_get_size(length));
}

/* ---- strided: `blocks` of the transfer's blocks ---- */

/* Header, shape and stride. */
static inline void sy_request_write_strided(char *room, uint64_t place, unsigned op,
                                            const struct sy_strided *s, size_t blocks)
{
    uint64_t word[3] = {sy_request_at(place, op, 0), s->block | (uint64_t)blocks << 32,
                        (uint64_t)s->remote_stride};

    memcpy(room, word, sizeof word);
}

/* All of a put: that, and the blocks packed, of which the first is at `from`. */
static inline void sy_request_write_blocks(char *room, uint64_t place, const struct sy_strided *s,
                                           const char *from, size_t blocks)
{
    char *to = room + 24;

    memset(room + 16 + sy_record_padded(blocks * s->block), 0, 8);
    sy_request_write_strided(room, place, SY_RECORD_PUT_STRIDED, s, blocks);
    for (size_t i = 0; i < blocks; i++, to += s->block, from += s->local_stride) {
        if (s->block == 8)
            memcpy(to, from, 8);
        else
            sy_copy_bytes(to, from, s->block);
    }
}

/* ---- atomic operations ---- */

static inline size_t sy_request_amo_size(const struct sy_amo *a)
{
    return a->op == SY_AMO_CSWAP ? 24 : 16;
}

SY_INLINE void sy_request_write_amo(char *room, uint64_t place, const struct sy_amo *a, bool fetch)
{
    unsigned op = (fetch ? SY_RECORD_AMO_FETCH : SY_RECORD_AMO) + (unsigned)a->op;
    uint64_t word[3] = {sy_request_at(place, op, a->width == 4 ? 2 : 3), a->operand, a->compare};

    memcpy(room, word, 16);
    if (a->op == SY_AMO_CSWAP)
        memcpy(room + 16, &word[2], 8);
}

#endif

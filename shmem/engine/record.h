/* Records: what remote memory access is on a stream of messages. A header of 8 bytes, then the
 * operation's words, then payload, padded to a multiple of 8 bytes; in the byte order of the
 * machines, which the transport compares.
 *
 * Header: bits 0-4 operation; 5-6 size code (1 << code bytes); 7-16 the target's index on its node;
 * 17-24 region; 25-63 offset in the region. docs/tcp-wire.md has the table of operations. */
#ifndef SY_ENGINE_RECORD_H
#define SY_ENGINE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <switchyard/transport.h>

#define SY_RECORD_CHUNK  (1u << 20)  /* most payload of a record */
#define SY_RECORD_PACKED (32u << 10) /* most payload of a strided record */
#define SY_RECORD_LONG   4096        /* longer payloads go from and to memory without a copy */
#define SY_RECORD_WORDS  3           /* most words before the payload, the header included */

#define SY_RECORD_TARGET_SELF 1023 /* the process that receives the record */
#define SY_RECORD_REGIONS     256
#define SY_RECORD_OFFSET_BITS 39

enum sy_record_op {
    SY_RECORD_PUT = 1,         /* one element of 1 << code bytes; a word that begins with it */
    SY_RECORD_PUT_LONG = 2,    /* word: length; payload */
    SY_RECORD_GET = 3,         /* one element; the reply is a word that begins with it */
    SY_RECORD_GET_LONG = 4,    /* word: length; the reply is that many bytes, padded */
    SY_RECORD_PUT_STRIDED = 5, /* words: block | blocks << 32, stride; payload: the blocks packed */
    SY_RECORD_GET_STRIDED = 6, /* words: the same; the reply is the blocks packed, padded */
    SY_RECORD_AWAIT = 7,       /* the transport's own; a word */
    SY_RECORD_RAISE = 8,       /* code 3; word: the word there becomes at least this */
    SY_RECORD_REPEAT = 9,      /* the same, said before in a way that may not have been heard */
    SY_RECORD_PUT_LARGE = 10,  /* words: length of data beside the stream, and how many bytes follow
                                  these (bits 56-63, 0 to 8); a word that begins with them */
    SY_RECORD_GET_LARGE = 11,  /* word: length; the data come beside the stream, the reply is 0 */
    SY_RECORD_AMO = 16,        /* + enum sy_amo_op; code 2 or 3; word: operand; CSWAP: compare */
    SY_RECORD_AMO_FETCH = 24   /* the same; the reply is a word: the old value */
};

static inline uint64_t sy_record(unsigned op, unsigned code, unsigned target, unsigned region,
                                 uint64_t offset)
{
    return op | (uint64_t)code << 5 | (uint64_t)target << 7 | (uint64_t)region << 17 | offset << 25;
}

/* A place in a region of the process that receives the record. */
static inline uint64_t sy_record_own(unsigned region, uint64_t offset)
{
    return sy_record(0, 0, SY_RECORD_TARGET_SELF, region, offset);
}

static inline unsigned sy_record_op(uint64_t header)
{
    return header & 31;
}

static inline unsigned sy_record_code(uint64_t header)
{
    return header >> 5 & 3;
}

static inline unsigned sy_record_target(uint64_t header)
{
    return header >> 7 & 1023;
}

static inline unsigned sy_record_region(uint64_t header)
{
    return header >> 17 & 255;
}

static inline uint64_t sy_record_offset(uint64_t header)
{
    return header >> 25;
}

/* The header of the same operation `bytes` bytes further on in the region. */
static inline uint64_t sy_record_behind(uint64_t header, uint64_t bytes)
{
    return header + (bytes << 25);
}

/* The header of another operation at the same place. */
static inline uint64_t sy_record_as(uint64_t header, unsigned op, unsigned code)
{
    return (header & ~UINT64_C(127)) | op | (uint64_t)code << 5;
}

static inline size_t sy_record_padded(size_t length)
{
    return (length + 7) & ~(size_t)7;
}

static inline uint64_t sy_record_word(const char *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof value);
    return value;
}

static inline bool sy_record_is_element(size_t length)
{
    return length == 8 || length == 4 || length == 2 || length == 1;
}

/* Bytes of the words before a record's payload, or the whole record. */
static inline size_t sy_record_head(uint64_t header)
{
    switch (sy_record_op(header)) {
    case SY_RECORD_GET:
        return 8;
    case SY_RECORD_PUT_STRIDED:
    case SY_RECORD_GET_STRIDED:
    case SY_RECORD_PUT_LARGE:
    case SY_RECORD_AMO + SY_AMO_CSWAP:
    case SY_RECORD_AMO_FETCH + SY_AMO_CSWAP:
        return 24;
    default:
        return 16;
    }
}

/* Bytes of the data that a record carries or asks for. `words`: sy_record_head(header) bytes. */
static inline uint64_t sy_record_data(const char *words)
{
    uint64_t header = sy_record_word(words);

    switch (sy_record_op(header)) {
    case SY_RECORD_PUT_LONG:
    case SY_RECORD_GET_LONG:
    case SY_RECORD_GET_LARGE:
        return sy_record_word(words + 8);
    case SY_RECORD_PUT_STRIDED:
    case SY_RECORD_GET_STRIDED:
        return (sy_record_word(words + 8) & 0xffffffff) * (sy_record_word(words + 8) >> 32);
    default:
        return UINT64_C(1) << sy_record_code(header);
    }
}

/* The two lengths in a PUT_LARGE: bytes beside the stream, and bytes in the record, which follow
 * them in memory. */
static inline uint64_t sy_record_beside(const char *words)
{
    return sy_record_word(words + 8) & (UINT64_MAX >> 8);
}

static inline unsigned sy_record_last(const char *words)
{
    return (unsigned)(sy_record_word(words + 8) >> 56);
}

/* The size of a record of which `have` bytes are there; 0: its words are not all there, or *why. */
size_t sy_record_size(const char *from, size_t have, const char **why);

/* Bytes of the reply that a request has, without padding; 0: none; -1: it asks for too much. */
long sy_record_reply(const char *words);

#endif

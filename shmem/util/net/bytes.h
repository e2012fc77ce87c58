/* Numbers in records that travel: unsigned, the highest byte first. */
#ifndef SY_UTIL_NET_BYTES_H
#define SY_UTIL_NET_BYTES_H

#include <stdint.h>

/* Writes `number` in so many bytes, at most 8; returns what follows them. */
static inline unsigned char *sy_bytes_put(unsigned char *at, uint64_t number, unsigned bytes)
{
    while (bytes--)
        *at++ = (unsigned char)(number >> 8 * bytes);
    return at;
}

static inline uint64_t sy_bytes_get(const unsigned char *at, unsigned bytes)
{
    uint64_t number = 0;

    while (bytes--)
        number = number << 8 | *at++;
    return number;
}

#endif

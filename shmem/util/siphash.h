/* SipHash-2-4: a short authenticator for short messages, at some tens of nanoseconds. */
#ifndef SY_UTIL_SIPHASH_H
#define SY_UTIL_SIPHASH_H

#include <stdint.h>

static inline uint64_t sy_siphash_turned(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void sy_siphash_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = sy_siphash_turned(v[1], 13) ^ v[0];
    v[3] = sy_siphash_turned(v[3], 16) ^ v[2];
    v[0] = sy_siphash_turned(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = sy_siphash_turned(v[1], 17) ^ v[2];
    v[3] = sy_siphash_turned(v[3], 21) ^ v[0];
    v[2] = sy_siphash_turned(v[2], 32);
}

/* The authenticator of `count` words, at most 31. */
static inline uint64_t sy_siphash(const uint64_t key[2], const uint64_t *words, unsigned count)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du,
                     key[0] ^ 0x6c7967656e657261u, key[1] ^ 0x7465646279746573u};

    for (unsigned i = 0; i <= count; i++) {
        uint64_t word = i < count ? words[i] : (uint64_t)count * 8 << 56;
        v[3] ^= word;
        sy_siphash_round(v);
        sy_siphash_round(v);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sy_siphash_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#endif

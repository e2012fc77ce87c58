/* Keyed authentication of the peers of a job: HMAC-SHA256 over messages, comparison in constant
 * time, random nonces. */
#ifndef SY_UTIL_AUTH_H
#define SY_UTIL_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#define SY_AUTH_KEY 32 /* bytes of a job's key */
#define SY_AUTH_MAC 32 /* bytes of an authenticator */

/* A part of a message; the authenticator is that of the parts one after the other. */
struct sy_auth_part {
    const void *bytes;
    size_t length;
};

/* Writes the authenticator of `count` parts under a key. */
void sy_auth_mac(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                 size_t count, unsigned char mac[SY_AUTH_MAC]);

/* Whether `mac` is the authenticator of the parts; takes the same time whatever differs. */
bool sy_auth_valid(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                   size_t count, const unsigned char mac[SY_AUTH_MAC]);

/* Fills a buffer of at most 256 bytes with the kernel's random bytes: 0 or -errno. */
int sy_auth_random(void *buffer, size_t length);

#endif

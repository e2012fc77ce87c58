/* See auth.h. Nettle has the hash. libcrypto has it too, but takes a millisecond to load, in every
 * PE of a job: as long as all that a process does before its main. */
#include <errno.h>
#include <nettle/hmac.h>
#include <string.h>
#include <sys/random.h>

#include "util/auth.h"

_Static_assert(SY_AUTH_MAC == SHA256_DIGEST_SIZE, "an authenticator is a digest of SHA-256");

void sy_auth_mac(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                 size_t count, unsigned char mac[SY_AUTH_MAC])
{
    struct hmac_sha256_ctx hash;

    hmac_sha256_set_key(&hash, SY_AUTH_KEY, key);
    for (size_t i = 0; i < count; i++)
        hmac_sha256_update(&hash, parts[i].length, parts[i].bytes);
    hmac_sha256_digest(&hash, SY_AUTH_MAC, mac);
    explicit_bzero(&hash, sizeof hash);
}

bool sy_auth_valid(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                   size_t count, const unsigned char mac[SY_AUTH_MAC])
{
    unsigned char right[SY_AUTH_MAC];
    unsigned difference = 0;

    sy_auth_mac(key, parts, count, right);
    /* The empty statement keeps the compiler from leaving the loop early. */
    for (size_t i = 0; i < SY_AUTH_MAC; i++) {
        difference |= (unsigned)right[i] ^ mac[i];
        __asm__ volatile("" : "+r"(difference));
    }
    return !difference;
}

int sy_auth_random(void *buffer, size_t length)
{
    ssize_t got;

    do
        got = getrandom(buffer, length, 0);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : (size_t)got == length ? 0 : -EIO;
}

/* See auth.h. */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <sys/random.h>

#include "util/auth.h"

int sy_auth_mac(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                size_t count, unsigned char mac[SY_AUTH_MAC])
{
    /* Its own cleaning up at exit would come before ours, which may still connect. */
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);

    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_utf8_string("digest", digest, sizeof digest - 1),
                           OSSL_PARAM_END};
    EVP_MAC *algorithm = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = algorithm ? EVP_MAC_CTX_new(algorithm) : NULL;
    size_t length = 0;
    bool good = context && EVP_MAC_init(context, key, SY_AUTH_KEY, params);

    for (size_t i = 0; i < count && good; i++)
        good = EVP_MAC_update(context, parts[i].bytes, parts[i].length);
    good = good && EVP_MAC_final(context, mac, &length, SY_AUTH_MAC) && length == SY_AUTH_MAC;
    EVP_MAC_CTX_free(context);
    EVP_MAC_free(algorithm);
    return good ? 0 : -EIO;
}

bool sy_auth_valid(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                   size_t count, const unsigned char mac[SY_AUTH_MAC])
{
    unsigned char right[SY_AUTH_MAC];

    return !sy_auth_mac(key, parts, count, right) && !CRYPTO_memcmp(right, mac, SY_AUTH_MAC);
}

int sy_auth_random(void *buffer, size_t length)
{
    ssize_t got;

    do
        got = getrandom(buffer, length, 0);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : (size_t)got == length ? 0 : -EIO;
}

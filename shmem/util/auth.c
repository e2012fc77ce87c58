/* See auth.h. libcrypto is loaded when an authenticator is needed for the first time: to load it
 * takes longer than all the rest of a start on one host, where none is needed. A static executable
 * has it linked in. */
#include <dlfcn.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <sys/random.h>

#include "util/auth.h"

#define FUNCTIONS(X)                                                                               \
    X(OPENSSL_init_crypto)                                                                         \
    X(EVP_MAC_fetch)                                                                               \
    X(EVP_MAC_free)                                                                                \
    X(EVP_MAC_CTX_new)                                                                             \
    X(EVP_MAC_CTX_free)                                                                            \
    X(EVP_MAC_init)                                                                                \
    X(EVP_MAC_update)                                                                              \
    X(EVP_MAC_final)

#define MEMBER(name) __typeof__(name) *name;
static struct {
    FUNCTIONS(MEMBER)
} crypto;
#undef MEMBER

static bool loaded;

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

static void auth_load(void)
{
#ifdef SY_BUILTIN_PLUGIN
#define FIND(name) crypto.name = name;
#else
    void *handle = dlopen("libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION), RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        return;
#define FIND(name)                                                                                 \
    if (!(crypto.name = (__typeof__(name) *)dlsym(handle, #name)))                                 \
        return;
#endif
    FUNCTIONS(FIND)
#undef FIND
    loaded = true;
}

static bool auth_is_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, auth_load);
    return loaded;
}

int sy_auth_mac(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                size_t count, unsigned char mac[SY_AUTH_MAC])
{
    if (!auth_is_there())
        return -ENOENT;
    /* Its own cleaning up at exit would come before ours, which may still connect. */
    crypto.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);

    char digest[] = "SHA256";
    OSSL_PARAM params[] = {OSSL_PARAM_utf8_string("digest", digest, sizeof digest - 1),
                           OSSL_PARAM_END};
    EVP_MAC *algorithm = crypto.EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_MAC_CTX *context = algorithm ? crypto.EVP_MAC_CTX_new(algorithm) : NULL;
    size_t length = 0;
    bool good = context && crypto.EVP_MAC_init(context, key, SY_AUTH_KEY, params);

    for (size_t i = 0; i < count && good; i++)
        good = crypto.EVP_MAC_update(context, parts[i].bytes, parts[i].length);
    good = good && crypto.EVP_MAC_final(context, mac, &length, SY_AUTH_MAC) &&
           length == SY_AUTH_MAC;
    crypto.EVP_MAC_CTX_free(context);
    crypto.EVP_MAC_free(algorithm);
    return good ? 0 : -EIO;
}

bool sy_auth_valid(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                   size_t count, const unsigned char mac[SY_AUTH_MAC])
{
    unsigned char right[SY_AUTH_MAC];
    unsigned difference = 0;

    if (sy_auth_mac(key, parts, count, right))
        return false;
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

/* See auth.h. libcrypto is loaded when an authenticator is needed for the first time: to load it
 * takes longer than all the rest of a start on one host, where none is needed. A static executable
 * has it linked in. Of libcrypto it takes the hash alone, by the old interface: HMAC by its new one
 * reads configuration and registers providers, as long again as the loading, in every PE. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <dlfcn.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#include "util/auth.h"

#define FUNCTIONS(X)                                                                               \
    X(SHA256_Init)                                                                                 \
    X(SHA256_Update)                                                                               \
    X(SHA256_Final)                                                                                \
    X(OPENSSL_cleanse)

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

/* Begins one of HMAC's two hashes (RFC 2104): with the key, which is shorter than a block, under a
 * byte. */
static bool auth_begin(SHA256_CTX *hash, const unsigned char key[SY_AUTH_KEY], unsigned char under)
{
    unsigned char block[SHA256_CBLOCK];

    memset(block, under, sizeof block);
    for (size_t i = 0; i < SY_AUTH_KEY; i++)
        block[i] ^= key[i];
    bool good = crypto.SHA256_Init(hash) && crypto.SHA256_Update(hash, block, sizeof block);
    crypto.OPENSSL_cleanse(block, sizeof block);
    return good;
}

int sy_auth_mac(const unsigned char key[SY_AUTH_KEY], const struct sy_auth_part *parts,
                size_t count, unsigned char mac[SY_AUTH_MAC])
{
    SHA256_CTX hash;

    if (!auth_is_there())
        return -ENOENT;
    bool good = auth_begin(&hash, key, 0x36);
    for (size_t i = 0; i < count && good; i++)
        good = crypto.SHA256_Update(&hash, parts[i].bytes, parts[i].length);
    good = good && crypto.SHA256_Final(mac, &hash) && auth_begin(&hash, key, 0x5c) &&
           crypto.SHA256_Update(&hash, mac, SY_AUTH_MAC) && crypto.SHA256_Final(mac, &hash);
    crypto.OPENSSL_cleanse(&hash, sizeof hash);
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

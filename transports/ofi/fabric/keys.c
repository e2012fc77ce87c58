/* What only PEs of this job can know: the keys of registered memory, and the keys of the pairs of
 * PEs, under which headers of messages and wake-ups are authenticated. All are derived from the
 * job's key, the instance's name and a nonce of each PE that holds them, which travels in its
 * address; so what was heard of an earlier initialisation is worth nothing in this one. None
 * travels by itself, but for the key of memory in each native transfer. */
#include <errno.h>
#include <string.h>

#include "transports/ofi/ofi.h"
#include "util/auth.h"
#include "util/bits.h"
#include "util/denied.h"

#define PURPOSE 8 /* bytes; no other authenticator under the job's key is of what begins so */

static const char for_memory[PURPOSE] = "SWYDOFIM", for_pair[PURPOSE] = "SWYDOFIP";

int sy_ofi_keys_open(struct ofi_state *ofi, struct sy_error *err)
{
    static const unsigned char none[SY_AUTH_KEY];
    uint64_t local = 0;

    if (!memcmp(ofi->host->job_key, none, sizeof none))
        return ofi->host->fail(err, EINVAL,
                               "the job has no key, so whoever reaches this PE's port could "
                               "read and write its memory; the bootstrap plugin must give one");
    int rc = sy_auth_random(ofi->nonce, sizeof ofi->nonce);
    if (!rc)
        rc = sy_auth_random(&local, sizeof local);
    ofi->local_key = local;
    if (rc)
        return ofi->host->fail(err, -rc, "random numbers: %s%s", strerror(-rc), sy_denied_hint(rc));
    return 0;
}

static void keys_derive(struct ofi_state *ofi, const char *purpose,
                        const struct sy_auth_part part[2], void *out, size_t length)
{
    const struct sy_auth_part parts[] = {
        {purpose, PURPOSE}, part[0], part[1], {ofi->name, strlen(ofi->name)}};
    unsigned char mac[SY_AUTH_MAC];

    sy_auth_mac(ofi->host->job_key, parts, SY_COUNT(parts), mac);
    memcpy(out, mac, length);
    explicit_bzero(mac, sizeof mac);
}

/* Keys of regions are even and those of memory for this process alone are odd. */
static uint64_t keys_key_mask(struct ofi_state *ofi)
{
    size_t bytes = ofi->info->domain_attr->mr_key_size;

    return bytes >= sizeof(uint64_t) || !bytes ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
}

uint64_t sy_ofi_local_key(struct ofi_state *ofi)
{
    return (atomic_fetch_add_explicit(&ofi->local_key, 2, memory_order_relaxed) | 1) &
           keys_key_mask(ofi);
}

/* Where the provider's keys are short two regions of a PE could have the same, so that the region's
 * number takes the place of some bits. */
uint64_t sy_ofi_region_key(struct ofi_state *ofi, int pe, const unsigned char nonce[OFI_NONCE],
                           unsigned index)
{
    const uint32_t number[2] = {(uint32_t)pe, index};
    const struct sy_auth_part part[2] = {{nonce, OFI_NONCE}, {number, sizeof number}};
    uint64_t mask = keys_key_mask(ofi), numbers = mask < UINT64_MAX ? 2 * SY_REGIONS - 1 : 1;
    uint64_t key;

    keys_derive(ofi, for_memory, part, &key, sizeof key);
    return ((key & ~numbers) | (index * 2 & numbers & ~UINT64_C(1))) & mask;
}

/* Derives the key of a pair of PEs, equal on both sides: the lower PE's number and nonce lead. */
void sy_ofi_pair_key(struct ofi_peer *peer, const unsigned char nonce[OFI_NONCE])
{
    struct ofi_state *ofi = peer->ofi;
    bool lower = ofi->host->pe < peer->pe;
    uint32_t pe[2] = {(uint32_t)ofi->host->pe, (uint32_t)peer->pe};
    unsigned char nonces[2][OFI_NONCE];

    if (!lower) {
        pe[1] = pe[0];
        pe[0] = (uint32_t)peer->pe;
    }
    memcpy(nonces[!lower], ofi->nonce, OFI_NONCE);
    memcpy(nonces[lower], nonce, OFI_NONCE);
    const struct sy_auth_part part[2] = {{pe, sizeof pe}, {nonces, sizeof nonces}};
    keys_derive(ofi, for_pair, part, peer->secret, sizeof peer->secret);
}

/* What a PE tells the others about its endpoint, and how it takes what they tell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transports/ofi/ofi.h"
#include "util/bits.h"
#include "util/net/interfaces.h"
#include "util/net/way.h"

/* The beginning of what a PE tells the others; the endpoint's name follows. */
struct address_head {
    uint32_t provider; /* hash: PEs with another provider cannot be reached */
    uint8_t name;      /* bytes of the endpoint's name */
    uint8_t parts;     /* of keys of regions: sy_ofi_key_parts */
    uint8_t protocol;  /* of messages */
    uint8_t sleeps;    /* not 0: until it is woken */
    uint16_t wakeup;   /* port, in the network's order; 0: none */
    unsigned char nonce[OFI_NONCE];
};

enum { PROTOCOL = 6 };

const char *sy_ofi_advice(const union ofi_ip *at, int code, char text[OFI_ADVICE])
{
    struct sy_ip ip = sy_socket_ip(at);
    unsigned seen = ip.family ? sy_way_to(&ip, sy_way_seen(code)) : 0;

    return sy_way_text(seen & (SY_WAY_OWN | SY_WAY_ABSENT | SY_WAY_FILES), "", "", text,
                       OFI_ADVICE);
}

static uint32_t address_provider_hash(struct ofi_state *ofi)
{
    const char *name = ofi->info->fabric_attr->prov_name;
    uint32_t format = ofi->info->addr_format;

    return (uint32_t)sy_hash(name, strlen(name), format);
}

size_t sy_ofi_address(void *self, void *buffer, size_t room)
{
    struct ofi_state *ofi = self;
    struct address_head head = {.provider = address_provider_hash(ofi), .protocol = PROTOCOL};
    char *at = (char *)buffer + sizeof head, name[UINT8_MAX];
    size_t length = sizeof name;

    if (fi_getname(&ofi->endpoint[0].ep->fid, name, &length) || length + sizeof head > room) {
        ofi->host->log(SY_LOG_WARN, ofi->name,
                       "not used: the endpoint's name, of %zu bytes, is not given or does not fit",
                       length);
        ofi->mute = true;
        return 0;
    }
    head.wakeup = ofi->wakeup.port;
    head.sleeps = ofi->traits.wakeup;
    head.name = (uint8_t)length;
    memcpy(head.nonce, ofi->nonce, sizeof head.nonce);
    head.parts = (uint8_t)sy_ofi_key_parts(ofi);
    memcpy(at, name, length);
    memcpy(buffer, &head, sizeof head);
    return (size_t)(at + length - (char *)buffer);
}

/* Whether a PE's messages are those of another build. The first such PE is reported. */
static bool address_is_foreign(struct ofi_state *ofi, int pe, unsigned protocol)
{
    if (protocol == PROTOCOL)
        return false;
    if (!ofi->foreign)
        ofi->host->log(SY_LOG_WARN, ofi->name,
                       "PE %d on host %s has another build of this library, whose messages are of "
                       "version %u, here %u: it is not reached by this transport",
                       pe, ofi->host->place(pe).host, protocol, (unsigned)PROTOCOL);
    ofi->foreign = true;
    return true;
}

/* Reads PE pe's address. One of zeros is that of a PE without this transport. */
static int address_meet(struct ofi_state *ofi, int pe, const char *address, size_t stride)
{
    struct ofi_peer *peer = &ofi->peer[pe];
    struct address_head head;

    memcpy(&head, address, sizeof head);
    if (ofi->mute || head.provider != address_provider_hash(ofi) || !head.name ||
        address_is_foreign(ofi, pe, head.protocol) || sizeof head + head.name > stride)
        return 0;
    const char *at = address + sizeof head;
    sy_ofi_pair_key(peer, head.nonce);
    peer->parts = head.parts;
    memcpy(peer->nonce, head.nonce, sizeof peer->nonce);
    char name[256] = {0};
    memcpy(name, at, head.name);
    int count = fi_av_insert(ofi->av, name, 1, &peer->address, 0, NULL);
    peer->known = count == 1;
    if (!peer->known)
        return count < 0 ? count : -FI_EINVAL;
    sy_ofi_probes_meet(peer, name);
    peer->sleeps = head.sleeps != 0;
    return sy_ofi_wakeup_meet(peer, name, head.wakeup);
}

int sy_ofi_connect(void *self, const void *addresses, size_t stride, double seconds,
                   struct sy_error *err)
{
    struct ofi_state *ofi = self;
    int npes = ofi->host->npes;

    int rc = sy_regions_open(&ofi->regions, ofi->host, false, err);
    if (rc)
        return rc;
    ofi->peer = calloc((size_t)npes, sizeof *ofi->peer);
    if (!ofi->peer)
        return ofi->host->fail(err, ENOMEM, "no memory for %d PEs", npes);
    for (int pe = 0; pe < npes; pe++) {
        ofi->peer[pe].ofi = ofi;
        ofi->peer[pe].pe = pe;
        rc = address_meet(ofi, pe, (const char *)addresses + (size_t)pe * stride, stride);
        if (rc) {
            char what[64];
            snprintf(what, sizeof what, "getting ready to reach PE %d", pe);
            return sy_ofi_fail(ofi, err, rc, what);
        }
    }
    double most = ofi->settings->contact_timeout;
    ofi->probes.watching = true; /* first contact has a limit of its own */
    rc = most > 0 ? sy_ofi_contact(ofi, most < seconds ? most : seconds, err) : 0;
    ofi->probes.watching = !ofi->traits.tcp;
    return rc;
}

void sy_ofi_disconnect(struct ofi_state *ofi)
{
    size_t npes = ofi->peer ? (size_t)ofi->host->npes : 0;

    for (size_t pe = 0; pe < npes; pe++)
        sy_ofi_answers_close(&ofi->peer[pe]);
    if (npes)
        explicit_bzero(ofi->peer, npes * sizeof *ofi->peer);
    free(ofi->peer);
    ofi->peer = NULL;
    sy_regions_close(&ofi->regions);
}

/* Fabric, domain, address vector, endpoints, registered memory; and the few bytes by which other
 * PEs find them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transports/ofi/ofi.h"
#include "util/bits.h"

/* Begins what a PE tells the others; then, for each of `native` windows, key and base as far as the
 * provider wants them; then the endpoint's name. */
struct card {
    uint32_t provider; /* hash: PEs with another provider cannot be reached */
    uint8_t native;    /* windows from 0 on that can be reached natively */
    uint8_t name;      /* bytes of the endpoint's name */
    uint8_t parts;     /* what there is for each window: PART_ bits */
    uint8_t protocol;  /* of messages */
    uint16_t bell;     /* port, in the network's order; 0: not needed */
    unsigned char nonce[OFI_NONCE];
};

enum { PROTOCOL = 3, PART_KEY = 1, PART_BASE = 2 };

static void close_fid(struct fid *fid)
{
    if (fid)
        fi_close(fid);
}

/* ---- endpoints ---- */

static int endpoint_open_queue(struct ofi_lane *lane, struct sy_error *err)
{
    struct ofi_state *ofi = lane->ofi;
    struct fi_cq_attr attr = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD};
    bool main_lane = lane == &ofi->lane[0];

    attr.size = OFI_OPERATIONS + (main_lane ? OFI_REQUESTS + OFI_REPLIES + OFI_RECEIVES : 0);
    if (!main_lane || ofi->traits.bell || ofi->host->unattended)
        attr.wait_obj = FI_WAIT_NONE;
    int rc = fi_cq_open(ofi->fid_domain, &attr, &lane->cq, NULL);
    if (rc && main_lane) {
        attr.wait_obj = FI_WAIT_NONE;
        rc = fi_cq_open(ofi->fid_domain, &attr, &lane->cq, NULL);
    }
    return rc ? sy_ofi_fail(ofi, err, rc, "a completion queue") : 0;
}

static int endpoint_open_operations(struct ofi_lane *lane, struct sy_error *err)
{
    struct ofi_state *ofi = lane->ofi;

    lane->operations = calloc(OFI_OPERATIONS, sizeof *lane->operations);
    if (!lane->operations)
        return ofi->host->fail(err, ENOMEM, "no memory for an endpoint's operations");
    lane->free = NULL;
    for (int i = OFI_OPERATIONS; i--;) {
        lane->operations[i].pe = -1;
        lane->operations[i].next = lane->free;
        lane->free = &lane->operations[i];
    }
    return 0;
}

static void endpoint_lane_close(struct ofi_lane *lane)
{
    close_fid(lane->ep ? &lane->ep->fid : NULL);
    close_fid(lane->cq ? &lane->cq->fid : NULL);
    free(lane->operations);
    lane->ep = NULL;
    lane->cq = NULL;
    lane->operations = lane->free = NULL;
    lane->users = 0;
}

int sy_ofi_lane_open(struct ofi_lane *lane, struct sy_error *err)
{
    struct ofi_state *ofi = lane->ofi;
    int rc = endpoint_open_operations(lane, err);

    if (!rc)
        rc = endpoint_open_queue(lane, err);
    if (rc)
        goto failed;
    if ((rc = fi_endpoint(ofi->fid_domain, ofi->info, &lane->ep, NULL)) ||
        (rc = fi_ep_bind(lane->ep, &ofi->av->fid, 0)) ||
        (rc = fi_ep_bind(lane->ep, &lane->cq->fid, FI_TRANSMIT | FI_RECV)) ||
        (rc = fi_enable(lane->ep))) {
        rc = sy_ofi_fail(ofi, err, rc, "an endpoint");
        goto failed;
    }
    return 0;

failed:
    endpoint_lane_close(lane);
    return rc;
}

/* Where it is of use and can be had. */
static void endpoint_open_bell(struct ofi_state *ofi)
{
    struct ofi_traits *traits = &ofi->traits;
    int rc;

    traits->bell = traits->bell && ofi->host->npes > 1 && !ofi->host->crowded;
    if (!traits->bell || !(rc = sy_ofi_bell_open(ofi)))
        return;
    traits->bell = false;
    ofi->host->log(SY_LOG_DEBUG, "ofi", "no bell: %s", strerror(rc));
}

int sy_ofi_open_endpoint(struct ofi_state *ofi, struct sy_error *err)
{
    struct fi_av_attr attr = {.type = ofi->info->domain_attr->av_type,
                              .count = (size_t)ofi->host->npes};
    int rc;

    /* Sends and writes ask for the completion that they need; a common default would make every
     * message wait for the target. */
    ofi->info->tx_attr->op_flags = 0;
    if ((rc = sy_ofi_library.fabric(ofi->info->fabric_attr, &ofi->fabric, NULL)))
        return sy_ofi_fail(ofi, err, rc, "a fabric");
    if ((rc = fi_domain(ofi->fabric, ofi->info, &ofi->fid_domain, NULL)))
        return sy_ofi_fail(ofi, err, rc, "a domain");
    if ((rc = fi_av_open(ofi->fid_domain, &attr, &ofi->av, NULL)))
        return sy_ofi_fail(ofi, err, rc, "an address vector");
    endpoint_open_bell(ofi);
    return sy_ofi_lane_open(&ofi->lane[0], err);
}

void sy_ofi_close_endpoint(struct ofi_state *ofi)
{
    /* Registered memory may be bound to an endpoint, which then must outlive it. */
    for (unsigned w = 0; w < OFI_WINDOWS; w++) {
        close_fid(ofi->mr[w] ? &ofi->mr[w]->fid : NULL);
        ofi->mr[w] = NULL;
    }
    for (unsigned i = ofi->lanes; i-- > 0;)
        endpoint_lane_close(&ofi->lane[i]);
    sy_ofi_bell_close(ofi);
}

/* Comes after everything that was made in the domain. */
void sy_ofi_close_domain(struct ofi_state *ofi)
{
    close_fid(ofi->av ? &ofi->av->fid : NULL);
    close_fid(ofi->fid_domain ? &ofi->fid_domain->fid : NULL);
    close_fid(ofi->fabric ? &ofi->fabric->fid : NULL);
    ofi->av = NULL;
    ofi->fid_domain = NULL;
    ofi->fabric = NULL;
    if (ofi->info)
        sy_ofi_library.freeinfo(ofi->info);
    ofi->info = NULL;
}

/* ---- memory ---- */

int sy_ofi_register(void *self, unsigned index, const struct sy_window *window,
                    struct sy_error *err)
{
    struct ofi_state *ofi = self;
    uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
    struct fid_mr *mr;

    if (index >= OFI_WINDOWS)
        return ofi->host->fail(err, E2BIG, "more than %d windows", OFI_WINDOWS);
    ofi->window[index] = *window;
    ofi->windows = index + 1;
    if (!window->length || !ofi->traits.rma)
        return 0;
    if (ofi->traits.local_mr)
        access |= FI_READ | FI_WRITE | FI_SEND;
    int rc = sy_ofi_window_key(ofi, ofi->host->pe, ofi->nonce, index, ofi->key);
    if (rc)
        return ofi->host->fail(err, -rc, "a key of memory: %s", strerror(-rc));
    rc = fi_mr_reg(ofi->fid_domain, window->base, window->length, access, 0, ofi->key[index], 0,
                   &mr, NULL);
    if (!rc) {
        ofi->mr[index] = mr;
        if (ofi->traits.enable_mr && !(rc = fi_mr_bind(mr, &ofi->lane[0].ep->fid, 0)))
            rc = fi_mr_enable(mr);
    }
    if (!rc)
        return 0;
    char what[128];
    snprintf(what, sizeof what,
             "registering %zu bytes of symmetric memory (less of it: SHMEM_SYMMETRIC_SIZE)",
             window->length);
    return sy_ofi_fail(ofi, err, rc, what);
}

void *sy_ofi_descriptor(struct ofi_state *ofi, const void *address, size_t length)
{
    for (unsigned w = 0; w < ofi->windows; w++) {
        size_t offset = (uintptr_t)address - (uintptr_t)ofi->window[w].base;
        if (ofi->mr[w] && offset < ofi->window[w].length &&
            length <= ofi->window[w].length - offset)
            return fi_mr_desc(ofi->mr[w]);
    }
    return NULL;
}

/* ---- addresses ---- */

static uint32_t endpoint_provider_hash(struct ofi_state *ofi)
{
    const char *name = ofi->info->fabric_attr->prov_name;
    uint32_t format = ofi->info->addr_format;

    return (uint32_t)sy_hash(name, strlen(name), format);
}

/* Bytes that a card spends on each window. */
static size_t window_bytes(unsigned parts)
{
    return (parts & PART_KEY ? sizeof(uint64_t) : 0) + (parts & PART_BASE ? sizeof(uint64_t) : 0);
}

static bool endpoint_usable(struct ofi_state *ofi, unsigned window)
{
    return ofi->mr[window] && fi_mr_key(ofi->mr[window]) != FI_KEY_NOTAVAIL;
}

size_t sy_ofi_address(void *self, void *buffer, size_t room)
{
    struct ofi_state *ofi = self;
    struct card card = {.provider = endpoint_provider_hash(ofi), .protocol = PROTOCOL};
    const struct ofi_traits *traits = &ofi->traits;
    char *at = (char *)buffer + sizeof card, name[256];
    size_t length = sizeof name;

    if (fi_getname(&ofi->lane[0].ep->fid, name, &length) || length + sizeof card > room) {
        ofi->host->log(SY_LOG_WARN, "ofi", "not used: the endpoint's name has %zu bytes", length);
        ofi->mute = true;
        return 0;
    }
    card.bell = traits->bell ? sy_ofi_bell_port(ofi) : 0;
    card.name = (uint8_t)length;
    memcpy(card.nonce, ofi->nonce, sizeof card.nonce);
    card.parts = (uint8_t)((traits->prov_key ? PART_KEY : 0) | (traits->virt_addr ? PART_BASE : 0));
    room -= sizeof card + length;
    /* Windows for which there is no place left are reached by messages. */
    for (unsigned w = 0;
         w < ofi->windows && endpoint_usable(ofi, w) && window_bytes(card.parts) <= room; w++) {
        uint64_t key = fi_mr_key(ofi->mr[w]), base = (uintptr_t)ofi->window[w].base;
        if (traits->prov_key)
            memcpy(at, &key, sizeof key), at += sizeof key;
        if (traits->virt_addr)
            memcpy(at, &base, sizeof base), at += sizeof base;
        room -= window_bytes(card.parts);
        card.native++;
    }
    memcpy(at, name, length);
    memcpy(buffer, &card, sizeof card);
    return (size_t)(at + length - (char *)buffer);
}

/* Reads PE pe's card. A card of zeros is that of a PE without this transport. */
static int endpoint_meet(struct ofi_state *ofi, int pe, const char *address, size_t stride)
{
    struct ofi_peer *peer = &ofi->peer[pe];
    struct card card;

    memcpy(&card, address, sizeof card);
    size_t windows = card.native * window_bytes(card.parts);
    if (ofi->mute || card.provider != endpoint_provider_hash(ofi) || card.protocol != PROTOCOL ||
        !card.name || card.native > OFI_WINDOWS || sizeof card + windows + card.name > stride)
        return 0;
    const char *at = address + sizeof card;
    int rc = sy_ofi_pair_key(peer, card.nonce);
    for (unsigned w = 0; w < card.native && !rc; w++) {
        if (card.parts & PART_KEY)
            memcpy(&peer->key[w], at, sizeof peer->key[w]), at += sizeof peer->key[w];
        else
            rc = sy_ofi_window_key(ofi, pe, card.nonce, w, peer->key);
        if (card.parts & PART_BASE)
            memcpy(&peer->base[w], at, sizeof peer->base[w]), at += sizeof peer->base[w];
        peer->native |= 1u << w;
    }
    if (rc)
        return rc;
    char name[256] = {0};
    memcpy(name, at, card.name);
    int count = fi_av_insert(ofi->av, name, 1, &peer->address, 0, NULL);
    peer->known = count == 1;
    if (!peer->known)
        return count < 0 ? count : -FI_EINVAL;
    sy_ofi_probes_meet(peer, name);
    return sy_ofi_bell_meet(peer, name, card.bell);
}

int sy_ofi_connect(void *self, const void *addresses, size_t stride, double seconds,
                   struct sy_error *err)
{
    struct ofi_state *ofi = self;
    int npes = ofi->host->npes;

    ofi->peer = calloc((size_t)npes, sizeof *ofi->peer);
    if (!ofi->peer)
        return ofi->host->fail(err, ENOMEM, "no memory for %d PEs", npes);
    for (int pe = 0; pe < npes; pe++) {
        ofi->peer[pe].ofi = ofi;
        ofi->peer[pe].pe = pe;
        int rc = endpoint_meet(ofi, pe, (const char *)addresses + (size_t)pe * stride, stride);
        if (rc) {
            char what[64];
            snprintf(what, sizeof what, "getting ready to reach PE %d", pe);
            return sy_ofi_fail(ofi, err, rc, what);
        }
    }
    double most = ofi->settings->contact_timeout;
    ofi->probes.watching = true; /* first contact has a limit of its own */
    int rc = most > 0 ? sy_ofi_contact(ofi, most < seconds ? most : seconds, err) : 0;
    ofi->probes.watching = !ofi->traits.tcp;
    return rc;
}

/* Regions: this PE's, which are registered where the provider moves data itself, and how others'
 * are reached. What is not registered is reached by messages. A region's table of others is written
 * before any call names it and given back after the last. The registrations of this PE, which any
 * native transfer looks through for its buffer under the lock of its endpoint, change under the
 * locks of all endpoints; the provider changes its own tables then too, which it does not lock
 * under FI_THREAD_DOMAIN. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transports/ofi/ofi.h"

/* What a region's key contains, as far as the provider needs it. */
enum { PART_KEY = 1, PART_BASE = 2 };

/* The key of a device's memory, to which no provider moves data. Its last byte is not 0. */
static const char by_message[2 * sizeof(uint64_t) + 1] = {[2 * sizeof(uint64_t)] = 1};

unsigned sy_ofi_key_parts(const struct ofi_state *ofi)
{
    return (ofi->traits.prov_key ? PART_KEY : 0u) | (ofi->traits.virt_addr ? PART_BASE : 0u);
}

/* ---- this PE's ---- */

static void region_lock(struct ofi_state *ofi)
{
    for (int i = 0; i < OFI_ENDPOINTS; i++)
        sy_ofi_lock(&ofi->endpoint[i]);
}

static void region_unlock(struct ofi_state *ofi)
{
    for (int i = OFI_ENDPOINTS; i-- > 0;)
        sy_ofi_unlock(&ofi->endpoint[i]);
}

static int region_register(struct ofi_state *ofi, unsigned index, const struct sy_region *region,
                           struct sy_error *err)
{
    uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE, key;
    struct fid_mr *mr = NULL;
    char what[128];

    if (ofi->traits.local_mr)
        access |= FI_READ | FI_WRITE | FI_SEND;
    key = sy_ofi_region_key(ofi, ofi->host->pe, ofi->nonce, index);
    region_lock(ofi);
    int rc = fi_mr_reg(ofi->fid_domain, region->base, region->length, access, 0, key, 0, &mr, NULL);
    explicit_bzero(&key, sizeof key);
    if (!rc && ofi->traits.enable_mr && !(rc = fi_mr_bind(mr, &ofi->endpoint[0].ep->fid, 0)))
        rc = fi_mr_enable(mr);
    ofi->region[index] = (struct ofi_region){.own = *region, .mr = mr};
    if (ofi->region_count <= index)
        ofi->region_count = index + 1;
    region_unlock(ofi);
    if (!rc)
        return 0;
    snprintf(what, sizeof what,
             "registering %zu bytes of symmetric memory (less of it: SHMEM_SYMMETRIC_SIZE)",
             region->length);
    return sy_ofi_fail(ofi, err, rc, what);
}

static int region_write_key(const struct ofi_state *ofi, unsigned index, char *at)
{
    const struct ofi_region *region = &ofi->region[index];
    uint64_t key = fi_mr_key(region->mr), base = (uintptr_t)region->own.base;
    unsigned parts = sy_ofi_key_parts(ofi);
    const char *begin = at;

    if (key == FI_KEY_NOTAVAIL)
        return 0;
    if (parts & PART_KEY)
        at = mempcpy(at, &key, sizeof key);
    if (parts & PART_BASE)
        at = mempcpy(at, &base, sizeof base);
    return (int)(at - begin);
}

int sy_ofi_region_attach(void *self, unsigned index, const struct sy_region *region, void *key,
                         size_t room, struct sy_error *err)
{
    struct ofi_state *ofi = self;
    int rc = sy_regions_check(ofi->host, region, err);
    if (rc)
        return rc;
    if (index >= SY_REGIONS || room < 2 * sizeof(uint64_t))
        return ofi->host->fail(err, E2BIG, "there is no region %u", index);
    if (!region->length || !ofi->traits.rma)
        return 0;
    if (region->kind == SY_REGION_DEVICE && room < sizeof by_message)
        return ofi->host->fail(err, E2BIG, "a key of %zu bytes has no room", sizeof by_message);
    if (region->kind == SY_REGION_DEVICE)
        return (int)((char *)mempcpy(key, by_message, sizeof by_message) - (char *)key);
    rc = region_register(ofi, index, region, err);
    return rc ? rc : region_write_key(ofi, index, key);
}

/* Messages are served with the main endpoint's lock. It is held here too, so no message is at the
 * region any more after that. */
void sy_ofi_region_detach(void *self, unsigned index)
{
    struct ofi_state *ofi = self;
    const struct ofi_region was = ofi->region[index];

    sy_regions_detach(&ofi->regions, index);
    region_lock(ofi);
    ofi->region[index] = (struct ofi_region){.mr = NULL};
    if (was.mr)
        fi_close(&was.mr->fid);
    region_unlock(ofi);
    if (was.remote)
        explicit_bzero(was.remote, (size_t)ofi->host->npes * sizeof *was.remote);
    free(was.remote);
}

/* Registered memory may be bound to an endpoint, which then must outlive it. */
void sy_ofi_regions_close(struct ofi_state *ofi)
{
    for (unsigned i = 0; i < SY_REGIONS; i++)
        if (ofi->region[i].mr || ofi->region[i].remote)
            sy_ofi_region_detach(ofi, i);
}

/* Called with an endpoint locked. */
void *sy_ofi_descriptor(struct ofi_state *ofi, const void *address, size_t length)
{
    for (unsigned i = 0; i < ofi->region_count; i++) {
        const struct ofi_region *region = &ofi->region[i];
        size_t offset = (uintptr_t)address - (uintptr_t)region->own.base;
        if (region->mr && offset < region->own.length && length <= region->own.length - offset)
            return fi_mr_desc(region->mr);
    }
    return NULL;
}

/* ---- others' ---- */

/* Fills in how PE pe's region is addressed: by what its key says, or by a key that is derived. */
static void region_meet(struct ofi_state *ofi, int pe, unsigned index, const char *key,
                        struct ofi_remote *remote)
{
    const struct ofi_peer *peer = &ofi->peer[pe];

    if (peer->parts & PART_KEY) {
        memcpy(&remote->key, key, sizeof remote->key);
        key += sizeof remote->key;
    } else {
        remote->key = sy_ofi_region_key(ofi, pe, peer->nonce, index);
    }
    if (peer->parts & PART_BASE)
        memcpy(&remote->base, key, sizeof remote->base);
    remote->native = true;
}

int sy_ofi_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                          struct sy_error *err)
{
    static const char none[2 * sizeof(uint64_t)];
    struct ofi_state *ofi = self;
    size_t npes = (size_t)ofi->host->npes;

    sy_regions_attach(&ofi->regions, index);
    if (!ofi->region[index].mr)
        return 0;
    struct ofi_remote *remote = calloc(npes, sizeof *remote);
    if (!remote)
        return ofi->host->fail(err, ENOMEM, "no memory for %zu keys of memory", npes);
    for (size_t pe = 0; pe < npes; pe++) {
        char key[sizeof by_message] = "";
        if (keys)
            memcpy(key, (const char *)keys + pe * stride,
                   stride < sizeof key ? stride : sizeof key);
        if (!ofi->peer[pe].known || key[sizeof none] ||
            (ofi->peer[pe].parts && !memcmp(key, none, sizeof none)))
            continue;
        region_meet(ofi, (int)pe, index, key, &remote[pe]);
    }
    ofi->region[index].remote = remote;
    return 0;
}

bool sy_ofi_region_registered(void *self, int pe, unsigned index)
{
    const struct ofi_remote *remote = ((struct ofi_state *)self)->region[index].remote;

    return remote && remote[pe].native;
}

/* The shm plugin's table. The core loads and stores through the mappings by itself; data calls come
 * only for windows that their owner could not put into a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transports/shm/exchange.h"
#include "util/file.h"
#include "util/limits.h"

static const struct sy_option options[] = {
    {"shm.map", SY_OPTION_BOOL, SY_OPTION_JOB, offsetof(struct shm_settings, map), "on", NULL, 0, 0,
     NULL,
     "Map other PEs' memory; off: reach all of it through its owner's progress thread, slowly, to "
     "try what happens between machines"},
    {.name = NULL},
};

#define ROW(name, unit, member, help)                                                              \
    {                                                                                              \
        name, unit, SY_COUNTER_SUM, offsetof(struct shm_state, member), help                       \
    }
/* Loads and stores of mapped memory are not counted: nothing of this plugin sees them. */
static const struct sy_counter_row counters[] = {
    ROW("requests", "requests", asked, "Requests put into the mailboxes of others"),
    ROW("request_bytes", "bytes", moved, "What transfers by mailbox have moved"),
    ROW("requests_served", "requests", served, "Requests of others"),
    ROW("files_mapped_late", "files", mapped_late, "PEs whose memory was mapped at first use"),
    {.name = NULL},
};
#undef ROW

static int shm_open_plugin(const struct sy_host *host, const struct sy_instance *instance,
                           void **self, struct sy_error *err)
{
    struct shm_state *shm = malloc(sizeof *shm);

    if (!shm)
        return host->fail(err, ENOMEM, "no memory for an instance");
    *shm = (struct shm_state){.host = host,
                              .settings = instance->settings,
                              .attaching = PTHREAD_MUTEX_INITIALIZER,
                              .serving = PTHREAD_MUTEX_INITIALIZER,
                              .file = -1,
                              .listener = -1,
                              .mailbox_fd = -1,
                              .late.bell = -1,
                              .doorbell = -1};
    int rc = sy_shm_listen(shm, err);
    if (rc)
        free(shm);
    else
        *self = shm;
    return rc;
}

static void shm_close(void *self)
{
    struct shm_state *shm = self;

    sy_shm_late_stop(shm);
    sy_shm_regions_close(shm);
    sy_shm_unmap(shm);
    sy_shm_service_close(shm);
    sy_regions_close(&shm->regions);
    sy_file_close(&shm->listener);
    free(shm);
}

static size_t shm_address(void *self, void *buffer, size_t room)
{
    struct shm_state *shm = self;

    if (sizeof shm->address > room)
        return 0;
    memcpy(buffer, &shm->address, sizeof shm->address);
    return sizeof shm->address;
}

static int shm_connect(void *self, const void *addresses, size_t stride, double seconds,
                       struct sy_error *err)
{
    struct shm_state *shm = self;
    const struct sy_host *host = shm->host;
    struct sy_place mine = host->place(host->pe);

    shm->node = mine.node;
    shm->node_size = 0;
    for (int pe = 0; pe < host->npes; pe++)
        shm->node_size += host->place(pe).node == mine.node;
    shm->peer = calloc((size_t)shm->node_size, sizeof *shm->peer);
    if (!shm->peer)
        return host->fail(err, ENOMEM, "no memory for %d PEs of this node", shm->node_size);
    for (int pe = 0; pe < host->npes; pe++)
        if (host->place(pe).node == mine.node)
            shm->peer[host->place(pe).local] = (struct shm_peer){
                .pe = pe, .file = -1, .doorbell = -1};
    /* For each PE its file, and what is reserved behind it. */
    struct sy_limits needed = {.maps = 2ul * (unsigned long)shm->node_size};
    sy_limits_check(host, "shm", &needed);
    int rc = sy_regions_open(&shm->regions, host, false, err);
    if (!rc)
        rc = sy_shm_exchange(shm, addresses, stride, seconds, err);
    sy_file_close(&shm->listener);
    return rc;
}

static unsigned shm_reach(void *self, int pe)
{
    struct shm_state *shm = self;
    struct shm_peer *peer = sy_shm_peer_of(shm, pe);

    if (!peer || !peer->known)
        return 0;
    return (peer->map ? SY_REACH_MAP : 0u) | (peer->late ? SY_REACH_MAP | SY_REACH_LATE : 0u) |
           SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO;
}

static void *shm_pointer(void *self, int pe, unsigned window)
{
    struct shm_state *shm = self;
    struct shm_peer *peer = sy_shm_peer_of(shm, pe);
    const struct shm_region *region = &shm->region[window % SY_REGIONS];

    if (!peer || window >= SY_REGIONS || !region->attached)
        return NULL;
    if (region->map && region->map[peer - shm->peer])
        return region->map[peer - shm->peer];
    if (!region->early)
        return NULL;
    if (peer->file >= 0)
        sy_shm_map_late(shm, peer);
    if (!peer->map || window >= peer->record.windows || peer->record.offset[window] < 0 ||
        peer->record.length[window] != region->own.length || !region->own.length)
        return NULL;
    return peer->map + peer->record.offset[window];
}

/* Whether a window is in the files of the exchange. */
static bool shm_is_early(const struct shm_state *shm, unsigned window)
{
    return window < SY_REGIONS && shm->region[window].early;
}

static int shm_transfer(struct shm_state *shm, const struct sy_transfer *t, bool put)
{
    struct shm_peer *peer = sy_shm_peer_of(shm, t->pe);

    if (peer && peer->late && shm_is_early(shm, t->window))
        return sy_shm_first_transfer(shm, t, put);
    return peer && peer->mailbox ? sy_shm_service_transfer(shm, peer, t, put) : -EOPNOTSUPP;
}

static int shm_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                   unsigned flags)
{
    (void)ctx, (void)flags;
    return shm_transfer(self, t, true);
}

static int shm_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                   unsigned flags)
{
    (void)ctx, (void)flags;
    return shm_transfer(self, t, false);
}

/* What is mapped at first use the core moves block by block. */
static int shm_strided(struct shm_state *shm, const struct sy_strided *s, bool put)
{
    struct shm_peer *peer = sy_shm_peer_of(shm, s->first.pe);

    return peer && peer->mailbox ? sy_shm_service_strided(shm, peer, s, put) : -EOPNOTSUPP;
}

static int shm_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                           unsigned flags)
{
    (void)ctx, (void)flags;
    return shm_strided(self, s, true);
}

static int shm_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                           unsigned flags)
{
    (void)ctx, (void)flags;
    return shm_strided(self, s, false);
}

static int shm_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags)
{
    struct shm_state *shm = self;
    struct shm_peer *peer = sy_shm_peer_of(shm, a->pe);

    (void)ctx, (void)flags;
    if (peer && peer->late && shm_is_early(shm, a->window))
        return sy_shm_first_amo(shm, a);
    return peer && peer->mailbox ? sy_shm_service_amo(shm, peer, a) : -EOPNOTSUPP;
}

static int shm_wait_fd(void *self)
{
    const struct shm_state *shm = self;

    return shm->late.bell < 0 ? shm->doorbell : -1;
}

static int shm_progress(void *self, unsigned flags)
{
    (void)flags;
    return sy_shm_service_progress(self);
}

/* The doorbell tells of requests of others, not of answers to this PE's. */
static int shm_arm(void *self)
{
    (void)self;
    return 0;
}

/* fence and quiet are left out: every data call returns only when its owner has answered. */
SY_TRANSPORT_PLUGIN(shm) = {
    .size = sizeof(struct sy_transport),
    .name = "shm",
    .priority = 100,
    .capabilities = SY_NODE_ONLY | SY_ORDERED | SY_STAGES | SY_SERVES,
    .options = options,
    .settings_size = sizeof(struct shm_settings),
    .counters = counters,
    .open = shm_open_plugin,
    .close = shm_close,
    .address = shm_address,
    .connect = shm_connect,
    .reach = shm_reach,
    .mem_pointer = shm_pointer,
    .region_attach = sy_shm_region_attach,
    .region_connect = sy_shm_region_connect,
    .region_detach = sy_shm_region_detach,
    .put = shm_put,
    .get = shm_get,
    .put_strided = shm_put_strided,
    .get_strided = shm_get_strided,
    .amo = shm_amo,
    .progress = shm_progress,
    .wait_fd = shm_wait_fd,
    .arm = shm_arm,
    .threads = sy_transport_threads,
    .protection = "memory is handed to processes of the same user that know the job's key",
};

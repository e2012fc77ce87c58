/* The shm plugin's table. The core loads and stores through the mappings by itself; data calls come
 * only for windows that their owner could not put into a file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transports/shm/shm.h"
#include "util/limits.h"

struct shm_state sy_shm = {.listener = -1, .mailbox_fd = -1, .doorbell = -1};

struct shm_settings sy_shm_settings;

static const struct sy_option options[] = {
    {"shm.map", SY_OPTION_BOOL, SY_OPTION_JOB, offsetof(struct shm_settings, map), "on", NULL, 0, 0,
     NULL,
     "Map other PEs' memory; off: reach all of it through its owner's progress thread, slowly, to "
     "try what happens between machines"},
    {.name = NULL},
};

static int shm_open_plugin(const struct sy_host *host, const struct sy_instance *instance,
                           void **self, struct sy_error *err)
{
    sy_shm_settings = *(const struct shm_settings *)instance->settings;
    *self = NULL;
    sy_shm.host = host;
    sy_shm.windows = 0;
    return sy_shm_listen(err);
}

static void shm_close(void *self)
{
    (void)self;
    sy_shm_unmap();
    sy_shm_service_close();
    if (sy_shm.listener >= 0)
        close(sy_shm.listener);
    sy_shm.listener = -1;
}

static int shm_register(void *self, unsigned index, const struct sy_window *window,
                        struct sy_error *err)
{
    (void)self;
    if (index >= SHM_WINDOWS)
        return sy_shm.host->fail(err, E2BIG, "more than %d windows", SHM_WINDOWS);
    sy_shm.window[index] = *window;
    sy_shm.windows = index + 1;
    if ((window->fd < 0 || !sy_shm_settings.map) && window->length && !sy_shm.mailbox)
        return sy_shm_service_open(err);
    return 0;
}

static size_t shm_address(void *self, void *buffer, size_t room)
{
    (void)self;
    if (sy_shm.name_length > room || sy_shm.listener < 0)
        return 0;
    memcpy(buffer, sy_shm.name, sy_shm.name_length);
    return sy_shm.name_length;
}

/* The record of a PE of this node, or NULL. */
static struct shm_peer *shm_find(int pe)
{
    struct sy_place place = sy_shm.host->place(pe);

    if (place.node != sy_shm.node || !sy_shm.peer)
        return NULL;
    return &sy_shm.peer[place.local];
}

static int shm_connect(void *self, const void *addresses, size_t stride, double seconds,
                       struct sy_error *err)
{
    (void)self;
    const struct sy_host *host = sy_shm.host;
    struct sy_place mine = host->place(host->pe);

    sy_shm.node = mine.node;
    sy_shm.local = mine.local;
    sy_shm.node_size = 0;
    for (int pe = 0; pe < host->npes; pe++)
        sy_shm.node_size += host->place(pe).node == mine.node;
    sy_shm.peer = calloc((size_t)sy_shm.node_size, sizeof *sy_shm.peer);
    if (!sy_shm.peer)
        return host->fail(err, ENOMEM, "no memory for %d PEs of this node", sy_shm.node_size);
    for (int pe = 0; pe < host->npes; pe++)
        if (host->place(pe).node == mine.node)
            sy_shm.peer[host->place(pe).local] = (struct shm_peer){
                .pe = pe, .file = -1, .doorbell = -1};
    /* For each PE its file, and what is reserved behind it. */
    struct sy_limits needed = {.maps = 2ul * (unsigned long)sy_shm.node_size};
    sy_limits_check(host, "shm", &needed);
    int rc = sy_shm_exchange(addresses, stride, seconds, err);
    if (sy_shm.listener >= 0)
        close(sy_shm.listener);
    sy_shm.listener = -1;
    return rc;
}

static unsigned shm_reach(void *self, int pe)
{
    (void)self;
    struct shm_peer *peer = shm_find(pe);

    if (!peer || !peer->known)
        return 0;
    return (peer->map ? SY_REACH_MAP : 0u) | (peer->file >= 0 ? SY_REACH_MAP | SY_REACH_LATE : 0u) |
           SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO;
}

static void *shm_pointer(void *self, int pe, unsigned window)
{
    (void)self;
    struct shm_peer *peer = shm_find(pe);

    if (peer && peer->file >= 0)
        sy_shm_map_late(peer);
    if (!peer || !peer->map || window >= peer->record.windows || peer->record.offset[window] < 0 ||
        peer->record.length[window] != sy_shm.window[window].length || !peer->record.length[window])
        return NULL;
    return peer->map + peer->record.offset[window];
}

static int shm_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                   unsigned flags)
{
    (void)self;
    struct shm_peer *peer = shm_find(t->pe);

    (void)ctx, (void)flags;
    if (peer && peer->file >= 0)
        return sy_shm_first_put(t);
    return peer && peer->mailbox ? sy_shm_service_put(peer, t) : -EOPNOTSUPP;
}

static int shm_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                   unsigned flags)
{
    (void)self;
    struct shm_peer *peer = shm_find(t->pe);

    (void)ctx, (void)flags;
    if (peer && peer->file >= 0)
        return sy_shm_first_get(t);
    return peer && peer->mailbox ? sy_shm_service_get(peer, t) : -EOPNOTSUPP;
}

static int shm_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags)
{
    (void)self;
    struct shm_peer *peer = shm_find(a->pe);

    (void)ctx, (void)flags;
    if (peer && peer->file >= 0)
        return sy_shm_first_amo(a);
    return peer && peer->mailbox ? sy_shm_service_amo(peer, a) : -EOPNOTSUPP;
}

static int shm_wait_fd(void *self)
{
    (void)self;
    return sy_shm.doorbell;
}

static int shm_progress(void *self, unsigned flags)
{
    (void)self, (void)flags;
    return sy_shm_service_progress();
}

/* Threads that wait for the answers to requests of theirs do not sleep on the doorbell. */
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
    .capabilities = SY_NODE_ONLY | SY_ORDERED,
    .options = options,
    .settings_size = sizeof(struct shm_settings),
    .open = shm_open_plugin,
    .close = shm_close,
    .address = shm_address,
    .connect = shm_connect,
    .reach = shm_reach,
    .mem_pointer = shm_pointer,
    .mem_register = shm_register,
    .put = shm_put,
    .get = shm_get,
    .amo = shm_amo,
    .progress = shm_progress,
    .wait_fd = shm_wait_fd,
    .arm = shm_arm,
    .protection = "memory is handed to processes of the same user that know the job's key",
};

/* The ofi plugin's table, its options, and contexts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/ofi/ofi.h"
#include "util/bits.h"
#include "util/secure.h"

#define DRAIN_SECONDS 5.0

struct ofi_state sy_ofi = {.epoll = -1, .timer = -1, .cq_fd = -1};

struct ofi_settings sy_ofi_settings;

#define INERT(key, why)                                                                            \
    {                                                                                              \
        "ofi." key, SY_OPTION_STRING, SY_OPTION_INERT, 0, "", NULL, 0, 0, NULL, why                \
    }

static const struct sy_option options[] = {
    {"ofi.provider", SY_OPTION_STRING, 0, offsetof(struct ofi_settings, provider), "auto", NULL, 0,
     0, "SHMEM_OFI_USE_PROV_NAME",
     "libfabric provider to use: its name, with or without the layer on it (tcp;ofi_rxm, tcp), * "
     "and "
     "? match anything; auto: the first that fits, in libfabric's order"},
    {"ofi.fabric", SY_OPTION_STRING, 0, offsetof(struct ofi_settings, fabric), "auto", NULL, 0, 0,
     "SHMEM_OFI_USE_FABRIC_NAME",
     "Fabric to use: a name as fi_info shows it, * and ? match anything"},
    {"ofi.domain", SY_OPTION_STRING, 0, offsetof(struct ofi_settings, domain), "auto", NULL, 0, 0,
     "SHMEM_OFI_USE_DOMAIN_NAME",
     "Domain (device, interface) to use: a name as fi_info shows it, * and ? match anything"},
    {"ofi.contexts", SY_OPTION_CHOICE, 0, offsetof(struct ofi_settings, contexts), "auto",
     "auto|shared|own", 0, 0, NULL,
     "Whether contexts share one endpoint or have their own; auto: their own where a device does "
     "the "
     "work"},
    {"ofi.without", SY_OPTION_STRING, 0, offsetof(struct ofi_settings, without), "", NULL, 0, 0,
     NULL,
     "Abilities of the provider to do without, with commas: rma, delivery, waw, saw, small, "
     "lone, unregistered, bell"},
    {"ofi.contact_timeout", SY_OPTION_SECONDS, 0, offsetof(struct ofi_settings, contact_timeout),
     "5", NULL, 0, 0, NULL,
     "Seconds for another host to answer when the job starts, after which another transport is "
     "used "
     "to it; 0: it is not asked"},
    INERT("atomic_checks_warn", "atomic operations need nothing of the provider"),
    INERT("tx_poll_limit", "completions are polled, never waited for in the provider"),
    INERT("rx_poll_limit", "completions are polled, never waited for in the provider"),
    INERT("stx_max", "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("stx_auto", "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("stx_threshold", "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("stx_allocator", "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("stx_disable_private",
          "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("disable_multirail", "a PE uses one domain, see SHMEM_OFI_DOMAIN"),
    INERT("disable_single_ep", "messages and transfers of the default context share an endpoint"),
    {.name = NULL},
};
#undef INERT

static void ofi_close(void *self)
{
    (void)self;
    if (sy_ofi.peer && !sy_ofi_drain(DRAIN_SECONDS))
        sy_ofi.host->log(SY_LOG_INFO, "ofi", "left without the last acknowledgements");
    sy_ofi_progress_close();
    sy_ofi_probes_close();
    sy_ofi_close_endpoint();
    sy_ofi_pools_close();
    sy_ofi_close_domain();
    sy_ofi_serve_close();
    if (sy_ofi.peer)
        explicit_bzero(sy_ofi.peer, (size_t)sy_ofi.host->npes * sizeof *sy_ofi.peer);
    explicit_bzero(sy_ofi.key, sizeof sy_ofi.key);
    free(sy_ofi.peer);
    sy_ofi.peer = NULL;
}

void sy_ofi_reset(const struct sy_host *host)
{
    memset(&sy_ofi, 0, sizeof sy_ofi);
    sy_ofi.host = host;
    sy_ofi.epoll = sy_ofi.timer = sy_ofi.cq_fd = -1;
    sy_ofi.deferred_end = &sy_ofi.deferred;
    pthread_mutex_init(&sy_ofi.contexts, NULL);
    for (int i = 0; i < OFI_LANES; i++)
        pthread_mutex_init(&sy_ofi.lane[i].lock, NULL);
    for (int i = OFI_FETCHES; i-- > 0;) {
        sy_ofi.fetch[i].next = sy_ofi.fetch_free;
        sy_ofi.fetch_free = &sy_ofi.fetch[i];
    }
    sy_ofi.lanes = 1;
}

/* Opens the best of the chosen provider's offers that can be. Where none can be, what is told is
 * why the first one could not. */
static int ofi_open_offer(struct sy_error *err)
{
    int rc = sy_ofi_open_endpoint(err), again = rc;
    struct sy_error why = *err;

    while (again) {
        sy_ofi.host->log(SY_LOG_INFO, "ofi", "fabric %s, domain %s is not used: %s",
                         sy_ofi.info->fabric_attr->name, sy_ofi.info->domain_attr->name, why.text);
        if (sy_ofi_choose_next())
            return rc;
        again = sy_ofi_open_endpoint(&why);
    }
    return 0;
}

static int ofi_open(const struct sy_host *host, const struct sy_instance *instance, void **self,
                    struct sy_error *err)
{
    sy_ofi_settings = *(const struct ofi_settings *)instance->settings;
    *self = NULL;
    sy_ofi_reset(host);
    if (sy_secure())
        return host->fail(err, ENODEV,
                          "libfabric takes orders from the environment (FI_PROVIDER_PATH loads "
                          "code), which a program with other rights than its user's does not do");
    int rc = sy_ofi_choose(err);
    if (!rc)
        rc = sy_ofi_keys_open(err);
    if (!rc)
        rc = ofi_open_offer(err);
    sy_ofi_offers_close();
    if (!rc)
        rc = sy_ofi_pools_open(err);
    if (!rc)
        rc = sy_ofi_progress_open(err);
    if (rc)
        ofi_close(NULL);
    return rc;
}

static unsigned ofi_reach(void *self, int pe)
{
    (void)self;
    return sy_ofi.peer && sy_ofi.peer[pe].known ? SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO : 0;
}

/* ---- contexts ---- */

/* Whether a new context gets an endpoint of its own: its completions then need nobody else's lock.
 * Only where delivery can be asked for, because messages are ordered behind the main endpoint's
 * writes alone; and not the default context, which opens before the PEs are connected. */
static bool wants_lane(void)
{
    return sy_ofi.peer && sy_ofi.traits.own_contexts && sy_ofi.traits.rma && sy_ofi.traits.delivery;
}

/* A free lane, opened; the shared one when there is none or the provider has no more. */
static struct ofi_lane *ofi_take_lane(void)
{
    struct ofi_lane *found = NULL;
    struct sy_error why = {""};

    pthread_mutex_lock(&sy_ofi.contexts);
    for (unsigned i = 1; i < OFI_LANES && !found; i++)
        if (!sy_ofi.lane[i].users)
            found = &sy_ofi.lane[i];
    if (found) {
        sy_ofi_lock(found);
        if (found->ep || !sy_ofi_lane_open(found, &why))
            found->users = 1;
        sy_ofi_unlock(found);
        if (!found->users) {
            sy_ofi.host->log(SY_LOG_DEBUG, "ofi", "a context shares the endpoint: %s", why.text);
            found = NULL;
        } else if (sy_ofi.lanes <= (unsigned)(found - sy_ofi.lane)) {
            sy_ofi.lanes = (unsigned)(found - sy_ofi.lane) + 1;
        }
    }
    pthread_mutex_unlock(&sy_ofi.contexts);
    return found ? found : &sy_ofi.lane[0];
}

static void ofi_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
    (void)self;
    if (!ctx)
        return;
    if (ctx->lane != &sy_ofi.lane[0]) {
        pthread_mutex_lock(&sy_ofi.contexts);
        ctx->lane->users = 0;
        pthread_mutex_unlock(&sy_ofi.contexts);
    }
    free(ctx->last);
    free(ctx->fenced);
    free(ctx->dirty);
    free(ctx->listed);
    free(ctx);
}

static int ofi_ctx_open(void *self, long ctx_options, struct sy_transport_ctx **out,
                        struct sy_error *err)
{
    (void)self;
    size_t npes = (size_t)sy_ofi.host->npes;
    struct sy_transport_ctx *ctx = calloc(1, sizeof *ctx);

    if (ctx) {
        ctx->lane = &sy_ofi.lane[0];
        ctx->last = calloc(npes, sizeof *ctx->last);
        ctx->fenced = calloc(npes, sizeof *ctx->fenced);
        ctx->dirty = calloc(npes, sizeof *ctx->dirty);
        ctx->listed = calloc(npes, sizeof *ctx->listed);
    }
    if (!ctx || !ctx->last || !ctx->fenced || !ctx->dirty || !ctx->listed) {
        ofi_ctx_close(self, ctx);
        return sy_ofi.host->fail(err, ENOMEM, "no memory for a context over %zu PEs", npes);
    }
    (void)ctx_options;
    if (wants_lane())
        ctx->lane = ofi_take_lane();
    *out = ctx;
    return 0;
}

/* Messages of records, and native writes that are not known to have arrived. At rest nobody may
 * have asked whether they have, so that is done here. */
static int ofi_pending(void *self, struct sy_pending *list, int room)
{
    (void)self;
    int count = 0;

    if (pthread_mutex_trylock(&sy_ofi.lane[0].lock))
        return -EAGAIN;
    for (int pe = 0; pe < sy_ofi.host->npes && count < room; pe++) {
        uint32_t messages = sy_ofi.peer[pe].sent - sy_ofi.peer[pe].acked;
        size_t native = sy_ofi.peer[pe].unproved + sy_ofi.peer[pe].delivering;
        if (messages)
            sy_ofi_ask(&sy_ofi.peer[pe], sy_ofi.peer[pe].sent);
        else if (sy_ofi.peer[pe].unproved)
            sy_ofi_prove(&sy_ofi.peer[pe]);
        if (messages || native)
            list[count++] = (struct sy_pending){.pe = pe,
                                                .operations = messages + native,
                                                .seconds = -1,
                                                .state = "in messages of several, and by itself"};
    }
    sy_ofi_unlock(&sy_ofi.lane[0]);
    return count;
}

static int ofi_progress(void *self, unsigned flags)
{
    (void)self;
    return flags & SY_PROGRESS_EVENT ? sy_ofi_event() : sy_ofi_progress();
}

SY_TRANSPORT_PLUGIN(ofi) = {
    .size = sizeof(struct sy_transport),
    .name = "ofi",
    .priority = 70, /* where it is asked for, it comes before sockets */
    .options = options,
    .settings_size = sizeof(struct ofi_settings),
    .open = ofi_open,
    .close = ofi_close,
    .address = sy_ofi_address,
    .connect = sy_ofi_connect,
    .reach = ofi_reach,
    .mem_register = sy_ofi_register,
    .ctx_open = ofi_ctx_open,
    .ctx_close = ofi_ctx_close,
    .put = sy_ofi_put,
    .get = sy_ofi_get,
    .put_strided = sy_ofi_put_strided,
    .get_strided = sy_ofi_get_strided,
    .amo = sy_ofi_amo,
    .put_signal = sy_ofi_put_signal,
    .fence = sy_ofi_fence,
    .quiet = sy_ofi_quiet,
    .progress = ofi_progress,
    .wait_fd = sy_ofi_wait_fd,
    .arm = sy_ofi_arm,
    .pending = ofi_pending,
    .protection =
        "messages are authenticated by the job's key; nothing is encrypted; see docs/ofi.md\n"
        "tcp, tcp;ofi_rxm: memory has secret keys of 64 bits; a user of a PE's host can take its "
        "place in a connection\n"
        "sockets, udp;ofi_rxd: memory has secret keys of 64 bits; addresses of senders are "
        "believed: for tests\n"
        "udp;ofi_rxd: a lost path is not noticed for minutes\n"
        "shm: files of the user alone\n"
        "verbs, efa: the provider chooses keys of memory, which can be guessed: only on a network "
        "of the job's own\n"
        "cxi, psm3, opx: memory has secret keys as long as the provider's are",
};

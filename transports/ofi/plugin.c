/* The ofi plugin's table, its options, and contexts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "util/file.h"
#include "util/secure.h"

#define DRAIN_SECONDS 5.0

#define INERT(key, why)                                                                            \
    {                                                                                              \
        "ofi." key, SY_OPTION_STRING, SY_OPTION_INERT, 0, "", NULL, 0, 0, NULL, why                \
    }

#define AT(member) offsetof(struct ofi_settings, member)
static const struct sy_option options[] = {
    {"ofi.provider", SY_OPTION_STRING, 0, AT(provider), "auto", NULL, 0, 0,
     "SHMEM_OFI_USE_PROV_NAME",
     "libfabric provider to use: its name, with or without the layer on it (tcp;ofi_rxm, tcp), * "
     "and ? match anything; auto: the first that fits, in libfabric's order"},
    {"ofi.fabric", SY_OPTION_STRING, 0, AT(fabric), "auto", NULL, 0, 0, "SHMEM_OFI_USE_FABRIC_NAME",
     "Fabric to use: a name as fi_info shows it, * and ? match anything"},
    {"ofi.domain", SY_OPTION_STRING, 0, AT(domain), "auto", NULL, 0, 0, "SHMEM_OFI_USE_DOMAIN_NAME",
     "Domain (device, interface) to use: a name as fi_info shows it, * and ? match anything"},
    {"ofi.contexts", SY_OPTION_CHOICE, 0, AT(contexts), "auto", "auto|shared|own", 0, 0, NULL,
     "Whether contexts share one endpoint or have their own; auto: their own where a device does "
     "the work"},
    {"ofi.without", SY_OPTION_STRING, 0, AT(without), "", NULL, 0, 0, NULL,
     "Abilities of the provider to do without, with commas: rma, delivery, waw, saw, small, "
     "lone, unregistered, wakeup"},
    {"ofi.contact_timeout", SY_OPTION_SECONDS, 0, AT(contact_timeout), "5", NULL, 0, 0, NULL,
     "Seconds for another host to answer when the job starts, after which another transport is "
     "used to it; 0: it is not asked"},
    INERT("atomic_checks_warn", "atomic operations need nothing of the provider"),
    INERT("tx_poll_limit", "completions are polled, never waited for in the provider"),
    INERT("rx_poll_limit", "completions are polled, never waited for in the provider"),
    INERT("stx_max", "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("stx_auto", "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("stx_threshold", "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("stx_allocator", "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("stx_disable_private",
          "contexts share an endpoint or have their own, see SHMEM_OFI_CONTEXTS"),
    INERT("disable_multirail",
          "an instance has one domain; SHMEM_TRANSPORTS=ofi@a,ofi@b makes two"),
    INERT("disable_single_ep", "messages and transfers of the default context share an endpoint"),
    {.name = NULL},
};
#undef AT
#undef INERT

#define ROW(name, unit, member, help)                                                              \
    {                                                                                              \
        name, unit, SY_COUNTER_SUM, offsetof(struct ofi_state, counters.member), help              \
    }
static const struct sy_counter_row counters[] = {
    ROW("puts", "transfers", native_puts, "Native writes that the provider has taken"),
    ROW("put_bytes", "bytes", native_put_bytes, "What they carried"),
    ROW("gets", "transfers", native_gets, "Native reads that the provider has taken"),
    ROW("get_bytes", "bytes", native_get_bytes, "What they asked for"),
    ROW("transfers_refused", "attempts", native_refused,
        "Native transfers that the provider had no room for, to be tried again"),
    ROW("messages_sent", "messages", messages_sent, "Messages of requests and replies"),
    ROW("message_bytes_sent", "bytes", message_bytes_sent, "Their bytes, headers included"),
    ROW("messages_received", "messages", messages_received, "Messages of PEs of this job"),
    ROW("message_bytes_received", "bytes", message_bytes_received, "Their bytes"),
    ROW("messages_refused", "attempts", refused, "Messages that the provider had no room for"),
    ROW("messages_deferred", "messages", deferred,
        "Those that could not be served when they came, for want of room for replies"),
    ROW("acknowledgements", "messages", acknowledgements,
        "Messages sent for nothing but to acknowledge others"),
    ROW("wakeups_sent", "datagrams", wakeups_sent, "Wake-ups for PEs that may compute"),
    ROW("wakeups_heard", "datagrams", wakeups_heard, "Those of PEs of this job"),
    ROW("strangers", "messages", strangers, "Messages and wake-ups that no PE of the job has sent"),
    {.name = NULL},
};
#undef ROW

static void plugin_close(void *self)
{
    struct ofi_state *ofi = self;

    if (ofi->peer && !sy_ofi_drain(ofi, DRAIN_SECONDS))
        ofi->host->log(SY_LOG_INFO, ofi->name, "left without the last acknowledgements");
    sy_ofi_sleep_close(ofi);
    sy_ofi_probes_close(ofi);
    sy_ofi_endpoints_close(ofi);
    sy_ofi_pools_close(ofi);
    sy_ofi_domain_close(ofi);
    if (ofi->info)
        sy_ofi_library.freeinfo(ofi->info);
    sy_ofi_serve_close(ofi);
    sy_ofi_disconnect(ofi);
    free(ofi);
}

void sy_ofi_reset(struct ofi_state *ofi, const struct sy_host *host)
{
    memset(ofi, 0, sizeof *ofi);
    ofi->host = host;
    ofi->epoll = ofi->timer = ofi->cq_fd = ofi->wakeup.fd = -1;
    ofi->deferred_end = &ofi->deferred;
    pthread_mutex_init(&ofi->contexts, NULL);
    for (int i = 0; i < OFI_ENDPOINTS; i++)
        ofi->endpoint[i].ofi = ofi, pthread_mutex_init(&ofi->endpoint[i].lock, NULL);
    ofi->endpoints = 1;
}

/* Opens the best of the chosen provider's offers that can be. Where none can be, what is told is
 * why the first one could not. */
static int plugin_open_offer(struct ofi_state *ofi, struct sy_error *err)
{
    int rc = sy_ofi_domain_open(ofi, err), again = rc;
    struct sy_error why = *err;

    while (again) {
        ofi->host->log(SY_LOG_INFO, ofi->name, "fabric %s, domain %s is not used: %s",
                       ofi->info->fabric_attr->name, ofi->info->domain_attr->name, why.text);
        sy_ofi_endpoints_close(ofi);
        sy_ofi_domain_close(ofi);
        if (sy_ofi_choose_next(ofi))
            return rc;
        again = sy_ofi_domain_open(ofi, &why);
    }
    return 0;
}

/* Bytes of address space that libfabric and the threads may still need: 3 PEs over tcp;ofi_rxm took
 * 30 MB each. */
#define SPARE_BYTES (UINT64_C(64) << 20)

/* Where libfabric cannot allocate while it connects, it wants the operation again, for ever (see
 * progress/probe.c). So what may be the cause is said before. */
static void plugin_check_address_space(const struct ofi_state *ofi)
{
    uint64_t pages = (uint64_t)sy_file_number("/proc/self/statm", 0),
             used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit;

    if (pages && !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur < used + SPARE_BYTES)
        ofi->host->log(SY_LOG_WARN, ofi->name,
                       "%llu of %llu MB of address space (ulimit -v) are in use; if libfabric "
                       "lacks some for a connection, the job ends after 20 s; raise the limit then",
                       (unsigned long long)used >> 20, (unsigned long long)limit.rlim_cur >> 20);
}

static int plugin_open(const struct sy_host *host, const struct sy_instance *instance, void **self,
                       struct sy_error *err)
{
    if (sy_secure())
        return host->fail(err, ENODEV,
                          "not in a program with other rights than its user's (setuid): libfabric "
                          "loads code that the environment names (FI_PROVIDER_PATH)");
    struct ofi_state *ofi = malloc(sizeof *ofi);
    if (!ofi)
        return host->fail(err, ENOMEM, "no memory for the state of a transport");
    sy_ofi_reset(ofi, host);
    ofi->settings = instance->settings;
    ofi->name = instance->name;
    ofi->named = instance->named;
    int rc = sy_ofi_choose(ofi, err);
    if (!rc)
        rc = sy_ofi_keys_open(ofi, err);
    if (!rc)
        rc = plugin_open_offer(ofi, err);
    sy_ofi_offers_close(ofi);
    if (!rc)
        rc = sy_ofi_pools_open(ofi, err);
    if (!rc)
        rc = sy_ofi_sleep_open(ofi, err);
    if (!rc) {
        sy_ofi_poll(ofi); /* posts the buffers to receive into */
        plugin_check_address_space(ofi);
    }
    if (rc)
        plugin_close(ofi);
    else
        *self = ofi;
    return rc;
}

static unsigned plugin_reach(void *self, int pe)
{
    struct ofi_state *ofi = self;

    return ofi->peer && ofi->peer[pe].known ? SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO : 0;
}

/* ---- contexts ---- */

/* Whether a new context gets an endpoint of its own: its completions then need nobody else's lock.
 * Only where delivery can be asked for, because messages are ordered behind the main endpoint's
 * writes alone; and not the default context, which opens before the PEs are connected. */
static bool wants_endpoint(struct ofi_state *ofi)
{
    return ofi->peer && ofi->traits.own_contexts && ofi->traits.rma && ofi->traits.delivery;
}

/* A free endpoint, opened; the shared one when there is none or the provider has no more. */
static struct ofi_endpoint *plugin_take_endpoint(struct ofi_state *ofi)
{
    struct ofi_endpoint *found = NULL;
    struct sy_error why = {""};

    pthread_mutex_lock(&ofi->contexts);
    for (unsigned i = 1; i < OFI_ENDPOINTS && !found; i++)
        if (!ofi->endpoint[i].users)
            found = &ofi->endpoint[i];
    if (found) {
        sy_ofi_lock(found);
        if (found->ep || !sy_ofi_endpoint_open(found, &why))
            found->users = 1;
        sy_ofi_unlock(found);
        if (!found->users) {
            ofi->host->log(SY_LOG_DEBUG, ofi->name, "a context shares the endpoint: %s", why.text);
            found = NULL;
        } else if (ofi->endpoints <= (unsigned)(found - ofi->endpoint)) {
            ofi->endpoints = (unsigned)(found - ofi->endpoint) + 1;
        }
    }
    pthread_mutex_unlock(&ofi->contexts);
    return found ? found : &ofi->endpoint[0];
}

static void plugin_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
    struct ofi_state *ofi = self;

    if (!ctx)
        return;
    if (ctx->endpoint != &ofi->endpoint[0]) {
        pthread_mutex_lock(&ofi->contexts);
        ctx->endpoint->users = 0;
        pthread_mutex_unlock(&ofi->contexts);
    }
    free(ctx->last);
    free(ctx->fenced);
    free(ctx->dirty);
    free(ctx->listed);
    free(ctx);
}

static int plugin_ctx_open(void *self, long ctx_options, struct sy_transport_ctx **out,
                           struct sy_error *err)
{
    struct ofi_state *ofi = self;
    size_t npes = (size_t)ofi->host->npes;
    struct sy_transport_ctx *ctx = calloc(1, sizeof *ctx);

    if (ctx) {
        ctx->ofi = ofi;
        ctx->endpoint = &ofi->endpoint[0];
        ctx->last = calloc(npes, sizeof *ctx->last);
        ctx->fenced = calloc(npes, sizeof *ctx->fenced);
        ctx->dirty = calloc(npes, sizeof *ctx->dirty);
        ctx->listed = calloc(npes, sizeof *ctx->listed);
    }
    if (!ctx || !ctx->last || !ctx->fenced || !ctx->dirty || !ctx->listed) {
        plugin_ctx_close(ofi, ctx);
        return ofi->host->fail(err, ENOMEM, "no memory for a context over %zu PEs", npes);
    }
    (void)ctx_options;
    if (wants_endpoint(ofi))
        ctx->endpoint = plugin_take_endpoint(ofi);
    *out = ctx;
    return 0;
}

/* Messages of records that are not acknowledged, and bytes that are not known to have arrived. At
 * rest nobody may have asked whether they have, so that is done here. */
static int plugin_outstanding(void *self, struct sy_outstanding *list, int room)
{
    struct ofi_state *ofi = self;
    int count = 0;

    if (pthread_mutex_trylock(&ofi->endpoint[0].lock))
        return -EAGAIN;
    for (int pe = 0; pe < ofi->host->npes && count < room; pe++) {
        uint64_t messages = ofi->peer[pe].sent - ofi->peer[pe].acked;
        size_t native = ofi->peer[pe].unproved + ofi->peer[pe].delivering;
        if (messages)
            sy_ofi_ask(&ofi->peer[pe], ofi->peer[pe].sent);
        else if (ofi->peer[pe].unproved)
            sy_ofi_prove(&ofi->peer[pe]);
        if (messages || native)
            list[count++] = (struct sy_outstanding){
                .pe = pe, .operations = messages, .bytes = native, .seconds = -1};
    }
    sy_ofi_unlock(&ofi->endpoint[0]);
    return count;
}

static int plugin_progress(void *self, unsigned flags)
{
    return flags & SY_PROGRESS_EVENT ? sy_ofi_event(self) : sy_ofi_progress(self);
}

/* threads: this transport takes its locks whatever their number. */
SY_TRANSPORT_PLUGIN(ofi) = {
    .size = sizeof(struct sy_transport),
    .name = "ofi",
    .priority = 70, /* where it is asked for, it comes before sockets */
    .options = options,
    .settings_size = sizeof(struct ofi_settings),
    .counters = counters,
    .open = plugin_open,
    .close = plugin_close,
    .address = sy_ofi_address,
    .connect = sy_ofi_connect,
    .reach = plugin_reach,
    .region_attach = sy_ofi_region_attach,
    .region_connect = sy_ofi_region_connect,
    .region_detach = sy_ofi_region_detach,
    .ctx_open = plugin_ctx_open,
    .ctx_close = plugin_ctx_close,
    .put = sy_ofi_put,
    .get = sy_ofi_get,
    .put_strided = sy_ofi_put_strided,
    .get_strided = sy_ofi_get_strided,
    .amo = sy_ofi_amo,
    .put_signal = sy_ofi_put_signal,
    .fence = sy_ofi_fence,
    .quiet = sy_ofi_quiet,
    .mark = sy_ofi_ticket,
    .reached = sy_ofi_reached_ticket,
    .progress = plugin_progress,
    .wait_fd = sy_ofi_wait_fd,
    .arm = sy_ofi_arm,
    .outstanding = plugin_outstanding,
    .registered = sy_ofi_region_registered,
    .threads = sy_transport_threads,
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

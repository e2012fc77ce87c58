/* The ofi transport: moves data through libfabric. Nothing is decided by configure; a provider is
 * asked what it offers when the job starts, and `struct ofi_traits` says what came of it.
 *
 * plugin.c     the plugin's table, its options, contexts
 * address.c    what PEs tell each other about their endpoints
 * contact.c    whether other hosts can be reached, before routes are chosen
 * request.c    the data calls: put, get, atomics and strided transfers as records of messages
 * rma.c        put and get by the provider's own remote memory access; fence and quiet
 * progress.c   polls completion queues; when the core's progress thread sleeps and wakes
 * serve.c      the target's side: applies records, sends replies
 * endpoint.c   fabric, domain, address vector, endpoints
 * region.c     registered memory, and how that of others is reached
 * wakeup.c     what wakes a PE that computes where the main queue cannot
 * probe.c      whether the hosts of PEs that owe something still answer
 * message.c    requests to other PEs: messages, their records, credit and acknowledgement
 * sleep.c      the descriptors on which threads sleep
 * provider.c   which of libfabric's providers, and what it was asked for and refused
 * offers.c     which of its addresses
 * keys.c       what is derived from the job's key: keys of memory, of pairs of PEs
 * library.c    loads libfabric
 *
 * All that changes belongs to an instance, struct ofi_state.
 *
 * Locks: that of the main endpoint covers peers, messages, contexts and all else that has no other
 * word beside it; that of another endpoint covers this endpoint and `issued`, `wait_issued` of the
 * contexts that use it. The main one is taken first where both are; `contexts` before either. What
 * is set before connect() returns is constant from then on. */
#ifndef SY_TRANSPORTS_OFI_H
#define SY_TRANSPORTS_OFI_H

#include <netinet/in.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <switchyard/transport.h>

#include "engine/pending.h"
#include "engine/regions.h"
#include "util/count.h"
#include "util/siphash.h"

#define OFI_MESSAGE 8192 /* bytes of a message, header included */
#define OFI_SMALL                                                                                  \
    4096 /* puts up to this length travel as messages where CPUs do the work anyway                \
          */
#define OFI_REQUESTS   64      /* messages of requests under way, all PEs together */
#define OFI_REPLIES    64      /* messages of replies under way */
#define OFI_RECEIVES   64      /* posted receive buffers */
#define OFI_OPERATIONS 512     /* native transfers under way on an endpoint */
#define OFI_LITTLE     8192    /* bytes; with no more than that under way a PE counts as idle */
#define OFI_TICK_NS    250000L /* between looks where nothing is sure to wake who sleeps */
#define OFI_ENDPOINTS  16      /* endpoints: one for messages, others for contexts */
#define OFI_NONCE      6       /* bytes */

/* What the chosen provider was found to do. */
struct ofi_traits {
    bool rma; /* native put and get, with completion that means delivery, by one of two ways: */
    bool delivery;     /* FI_DELIVERY_COMPLETE */
    bool flushed;      /* a message behind the writes, which the provider keeps in order */
    bool waw;          /* writes arrive in the order in which they were issued */
    bool saw;          /* a message arrives after the writes issued before it */
    bool software;     /* the CPUs do the work */
    bool own_contexts; /* contexts may have endpoints of their own */
    bool local_mr;     /* buffers of this process must be registered */
    bool virt_addr;    /* remote memory is named by address, not by offset */
    bool prov_key;     /* the provider chooses keys */
    bool enable_mr;    /* registered memory is bound to the endpoint */
    bool deaf;         /* neither the queue's descriptor nor a completion tells all (sockets) */
    bool ticks;        /* must be polled now and then while something is under way */
    bool tcp;          /* goes over TCP connections, and addresses are those of their ports */
    bool lone;         /* small transfers that have a PE for themselves are native too */
    bool wakeup;       /* this PE takes wake-ups, and its main queue wakes nobody */
    uint32_t window;   /* unacknowledged messages of requests to one PE */
    uint32_t at_once;  /* so many of them leave at once; beyond that small requests gather */
    size_t inject, max_write;
    size_t small; /* puts up to this length travel as messages */
};

struct ofi_settings {
    const char *provider, *fabric, *domain;
    int contexts;        /* index into "auto|shared|own" */
    const char *without; /* abilities of the provider */
    double contact_timeout;
};

enum { OFI_CONTEXTS_AUTO, OFI_CONTEXTS_SHARED, OFI_CONTEXTS_OWN };

/* What a completion belongs to; stands first in what was given to libfabric as context. */
enum ofi_kind { OFI_OPERATION, OFI_SENT, OFI_RECEIVED };

struct ofi_slot {
    struct fi_context2 context; /* the provider's while the operation is under way */
    enum ofi_kind kind;
};

/* ---- messages: a header, and records (engine/record.h) or replies ---- */

enum {
    OFI_ACK_ME = 1,
    OFI_WANTS_REPLY = 2,
    OFI_REQUEST = 4,
    OFI_AWAITED = 8 /* the sender is likely to do nothing before it is acknowledged */
};

/* The authenticator is that of the rest of the header, under the key of the two PEs. Nothing of a
 * message is used before it has been checked. */
struct ofi_header {
    uint64_t mac;
    uint32_t source; /* the sender's PE */
    uint16_t length; /* of the message */
    uint16_t flags;
    uint32_t sequence; /* of requests, and apart from them of replies with records, from 1 */
    uint32_t ack;      /* messages of requests from the receiver that the sender has applied */
};

_Static_assert(sizeof(struct ofi_header) == 24 && offsetof(struct ofi_header, source) == 8,
               "the header has holes");
_Static_assert(OFI_MESSAGE <= UINT16_MAX, "the length of a message fits its field");

struct ofi_message {
    struct ofi_slot slot;
    struct ofi_message *next;
    struct ofi_peer *peer;
    struct ofi_pool *pool;     /* that it comes from */
    uint32_t reply;            /* bytes of what its requests ask for */
    struct ofi_header *header; /* OFI_MESSAGE bytes in a slab */
};

struct ofi_pool {
    struct ofi_message *all, *free;
    char *slab;
    struct fid_mr *mr;
    unsigned count, taken;
    bool replies;
};

/* Where the replies of a peer go; they come in the order of the requests. */
struct ofi_answers {
    struct sy_pending_replies pending;
    _Atomic uint64_t bytes; /* of replies that have come */
    struct sy_pending_reply table[SY_PENDING_MOST];
};

union ofi_ip {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

/* With the main endpoint's lock, but for what is constant since connect() has returned: the first
 * part. */
struct ofi_peer {
    struct ofi_state *ofi;
    fi_addr_t address;
    union ofi_ip at; /* the same for probe.c, or no family */
    /* Or sockaddr_in; no family: what comes to its main endpoint wakes it. */
    struct sockaddr_in6 wakeup;
    bool known;
    int pe;
    unsigned parts; /* of its keys of regions: see region.c */
    unsigned char nonce[OFI_NONCE];
    uint64_t secret[2]; /* the key of this pair */
    unsigned patience;  /* see wakeup.c */

    uint32_t sent, acked, asked; /* requests: sent, acknowledged, acknowledgement asked for up to */
    uint32_t received;           /* requests of that PE: come; */
    uint32_t applied, told;      /* applied, acknowledged to it */
    uint32_t replied, heard;     /* replies to that PE; of it */
    struct ofi_message *open;    /* requests that gather */
    uint64_t next;               /* the header of an element put that continues the last record, */
    char *last;                  /* which is there; 0: the last one is no such put */
    struct ofi_answers *answers; /* NULL: nothing has been asked of it yet */
    /* Bytes under way: those before message `proof`, whose acknowledgement tells that they have
     * arrived (0: it has); those since; and those that the provider tells about. */
    size_t proving, unproved, delivering;
    uint32_t proof;
    bool trailing;                   /* a write since the last message */
    uint32_t content;                /* the last message with a record in it */
    struct ofi_message *head, *tail; /* messages that the provider did not take yet */
    struct ofi_peer *next_waiting, *next_owed;
    bool waiting, owed;
    /* See wakeup.c; what counts polls is compared with `looks`. */
    struct ofi_peer *next_expected;
    bool expected, stale, told_of;
    unsigned gap, wake_at;
    bool proved; /* it has acknowledged something */
    bool lone;   /* the last wait was for a single message */
    int refused; /* before routes are chosen: why a message to it could not be sent, or 0 */

    /* With any lock or none. */
    _Atomic unsigned transfers; /* native transfers under way that the provider tells about */
    _Atomic bool wanted;        /* the provider was not ready for one, connecting perhaps */

    uint64_t owes_since, signs; /* the progress thread's, see probe.c */
};

struct ofi_operation {
    struct ofi_slot slot;
    struct ofi_operation *next;
    struct sy_transport_ctx *ctx;
    _Atomic int *left; /* the blocked caller's count, or NULL */
    struct fid_mr *mr; /* registration of the caller's buffer, or NULL */
    int pe;            /* -1: free */
    bool get;
    size_t delivering; /* its share of the peer's */
};

/* An endpoint with its completion queue. The first one, the main endpoint, carries messages and the
 * transfers of contexts that share it. */
struct ofi_endpoint {
    struct ofi_state *ofi;
    pthread_mutex_t lock;
    struct fid_ep *ep;
    struct fid_cq *cq;
    struct ofi_operation *operations, *free; /* with `lock` */
    unsigned users;                          /* with `contexts` */
};

/* With the main endpoint's lock, but for the first part. */
struct sy_transport_ctx {
    struct ofi_state *ofi;
    struct ofi_endpoint *endpoint;
    unsigned issued;  /* native transfers under way; with the lock of `endpoint` */
    bool wait_issued; /* a fence wants them to end before the next operation; the same */

    uint32_t *last;   /* by PE: the last message that carries something of this context */
    uint32_t *fenced; /* by PE: `last` at the last fence since it stands in dirty, or what was acked
                         before */
    int *dirty;       /* PEs whose `last` may be unacknowledged */
    int dirties;
    bool *listed; /* by PE: stands in dirty */

    /* Hints: a lost count does no harm. */
    unsigned puts;   /* since the last quiet */
    unsigned polls;  /* ofi->polls at the last of them */
    bool one_by_one; /* that quiet was for a single put */
    bool behind;     /* the last put that could have been native found a message before it */
};

/* A wait inside a call; zeros when it begins. */
struct ofi_wait {
    uint64_t since; /* the core's */
    int idle;       /* looks in a row that found nothing */
};

/* Interfaces in the order of preference, and offers that could not be opened; see offers.c. */
struct ofi_offers {
    struct sy_interface *all;
    const struct sy_interface **preferred;
    size_t count;
    struct fi_info *tried;
};

/* How a region of another PE is reached natively. */
struct ofi_remote {
    uint64_t key, base;
    bool native;
};

/* A region that is attached (region.c). */
struct ofi_region {
    struct sy_region own; /* length 0: nothing to be found here */
    struct fid_mr *mr;
    struct ofi_remote *remote; /* npes of them; NULL: no PE's is reached natively */
};

/* See wakeup.c. */
struct ofi_wakeup {
    int fd;        /* -1: neither this PE nor another takes any */
    uint16_t port; /* in the network's order */
    bool from_far; /* PEs on other hosts may send some */
};

/* See probe.c. */
struct ofi_probes {
    struct ofi_probe *first;
    uint64_t looked;          /* the last look; 0: none since something is owed */
    _Atomic uint64_t look_at; /* the next one */
    _Atomic bool watching;    /* without effect where nothing is probed */
};

/* A message that could not be served when it came. */
struct ofi_deferred {
    struct ofi_deferred *next;
    struct ofi_header header; /* and the records behind it */
};

/* plugin.c has the rows that say what they are. */
struct ofi_counters {
    /* With the main endpoint's lock: sy_count. */
    _Atomic uint64_t messages_sent, message_bytes_sent, messages_received, message_bytes_received;
    _Atomic uint64_t acknowledgements, refused, deferred, wakeups_sent, wakeups_heard, strangers;
    /* By any thread: sy_count_shared. */
    _Atomic uint64_t native_puts, native_put_bytes, native_gets, native_get_bytes, native_refused;
};

/* An instance of the transport. */
struct ofi_state {
    /* Constant since connect() has returned, and written by one thread before. */
    const struct sy_host *host;
    const char *name; /* of the instance */
    const struct ofi_settings *settings;
    struct fi_info *info;
    struct ofi_traits traits;
    struct fid_fabric *fabric;
    struct fid_domain *fid_domain;
    struct fid_av *av;
    struct sy_regions regions;            /* for the requests of others */
    struct ofi_region region[SY_REGIONS]; /* see region.c */
    unsigned region_count;                /* no number from here on has been attached */
    unsigned char nonce[OFI_NONCE];
    struct ofi_peer *peer; /* npes */
    struct ofi_offers offers;
    struct ofi_wakeup wakeup;
    bool mute;    /* this PE's address fits nowhere: it takes no part */
    bool foreign; /* a PE of another build has been told of */
    int epoll;    /* of the two below, see sleep.c */
    int timer;
    int cq_fd; /* that for wake-ups if there is one, else the main queue's, or -1 */

    struct ofi_endpoint endpoint[OFI_ENDPOINTS];
    pthread_mutex_t contexts;   /* for the number of endpoints and their users */
    _Atomic unsigned endpoints; /* read without it */

    /* With the main endpoint's lock. */
    struct ofi_peer *waiting, *owed, *expected;
    struct ofi_pool requests, replies, receives;
    struct ofi_deferred *deferred, **deferred_end;
    bool awaited; /* some of `owed` */
    bool closing;
    bool contacting;         /* see contact.c */
    unsigned looks, wake_at; /* polls of the main endpoint; before which nobody needs a wake-up */
    bool ticking;            /* the timer has been set by who armed */
    long tick_ns;

    /* With any lock or none. */
    _Atomic bool armed; /* who sleeps is woken by the descriptor; written with the main lock */
    _Atomic unsigned polls;
    _Atomic unsigned idle; /* polls that found nothing, in a row */
    _Atomic uint64_t local_key;

    struct ofi_counters counters;
    struct ofi_probes probes; /* the progress thread's, but for what is atomic */
    unsigned polls_before;    /* the progress thread's */
    _Atomic long beat_ns;     /* the same, and who has just disarmed sets it */
};

/* The functions of libfabric that its headers do not define inline. */
struct ofi_library {
    __typeof__(fi_getinfo) *getinfo;
    __typeof__(fi_freeinfo) *freeinfo;
    __typeof__(fi_dupinfo) *dupinfo;
    __typeof__(fi_fabric) *fabric;
    __typeof__(fi_strerror) *strerror;
    __typeof__(fi_version) *version;
};

extern struct ofi_library sy_ofi_library;

static inline void sy_ofi_lock(struct ofi_endpoint *endpoint)
{
    pthread_mutex_lock(&endpoint->lock);
}

static inline void sy_ofi_unlock(struct ofi_endpoint *endpoint)
{
    pthread_mutex_unlock(&endpoint->lock);
}

/* For below, with the main endpoint locked: sleep.c, probe.c. */
void sy_ofi_look_after(struct ofi_state *ofi);
void sy_ofi_probes_begin(struct ofi_state *ofi);

/* Whether number a, of a message or a poll, is not behind b; numbers wrap. */
static inline bool sy_ofi_reached(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) >= 0;
}

/* Until now all is well with a peer. */
static inline void sy_ofi_be_patient(struct ofi_peer *peer)
{
    struct ofi_state *ofi = peer->ofi;

    peer->stale = false;
    peer->gap = peer->patience;
    peer->wake_at = ofi->looks + peer->gap;
    if (!sy_ofi_reached(peer->wake_at, ofi->wake_at))
        ofi->wake_at = peer->wake_at;
}

/* Something is under way to the peer, or was and is not known to have arrived. */
static inline bool sy_ofi_is_unanswered(const struct ofi_peer *peer)
{
    return peer->sent != peer->acked || peer->unproved || peer->proving || peer->head ||
           atomic_load_explicit(&peer->transfers, memory_order_relaxed) ||
           atomic_load_explicit(&peer->wanted, memory_order_relaxed);
}

/* Something is to leave for a peer, at once or later: it is looked after until it is known to have
 * arrived. Where nobody takes wake-ups the queue's descriptor does. Main endpoint locked. */
static inline void sy_ofi_expect(struct ofi_peer *peer)
{
    struct ofi_state *ofi = peer->ofi;

    if (!atomic_load_explicit(&ofi->probes.watching, memory_order_relaxed))
        sy_ofi_probes_begin(ofi);
    if (ofi->wakeup.fd < 0)
        return;
    if (!peer->expected) {
        peer->expected = true;
        sy_ofi_be_patient(peer);
        peer->next_expected = ofi->expected;
        ofi->expected = peer;
    }
    sy_ofi_look_after(ofi);
}

/* The authenticator of a header. */
static inline uint64_t sy_ofi_header_mac(const struct ofi_peer *peer,
                                         const struct ofi_header *header)
{
    uint64_t words[2];

    memcpy(words, &header->source, sizeof words);
    return sy_siphash(peer->secret, words, 2);
}

/* A put has been issued. */
static inline void sy_ofi_put_noted(struct sy_transport_ctx *ctx)
{
    ctx->puts++;
    ctx->polls = atomic_load_explicit(&ctx->ofi->polls, memory_order_relaxed);
}

/* plugin.c */
void sy_ofi_reset(struct ofi_state *ofi, const struct sy_host *host);

/* library.c */
int sy_ofi_load(struct ofi_state *ofi, struct sy_error *err);

/* provider.c */
int sy_ofi_choose(struct ofi_state *ofi, struct sy_error *err);
int sy_ofi_choose_next(struct ofi_state *ofi);
int sy_ofi_fail(struct ofi_state *ofi, struct sy_error *err, ssize_t code, const char *what);

/* offers.c */
void sy_ofi_offers_open(struct ofi_state *ofi);
void sy_ofi_offers_close(struct ofi_state *ofi);
unsigned sy_ofi_offer_rank(struct ofi_state *ofi, const struct fi_info *info);
bool sy_ofi_offer_is_tried(struct ofi_state *ofi, const struct fi_info *info);
bool sy_ofi_offer_failed(struct ofi_state *ofi, const struct fi_info *info);

/* endpoint.c */
int sy_ofi_domain_open(struct ofi_state *ofi, struct sy_error *err);
void sy_ofi_endpoints_close(struct ofi_state *ofi);
void sy_ofi_domain_close(struct ofi_state *ofi);
int sy_ofi_endpoint_open(struct ofi_endpoint *endpoint, struct sy_error *err);

/* region.c */
int sy_ofi_region_attach(void *self, unsigned index, const struct sy_region *region, void *key,
                         size_t room, struct sy_error *err);
int sy_ofi_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                          struct sy_error *err);
void sy_ofi_region_detach(void *self, unsigned index);
void sy_ofi_regions_close(struct ofi_state *ofi);
unsigned sy_ofi_key_parts(const struct ofi_state *ofi);
void *sy_ofi_descriptor(struct ofi_state *ofi, const void *address, size_t length);

/* address.c */
size_t sy_ofi_address(void *self, void *buffer, size_t room);
int sy_ofi_connect(void *self, const void *addresses, size_t stride, double seconds,
                   struct sy_error *err);
void sy_ofi_disconnect(struct ofi_state *ofi);

/* keys.c */
int sy_ofi_keys_open(struct ofi_state *ofi, struct sy_error *err);
uint64_t sy_ofi_local_key(struct ofi_state *ofi);
int sy_ofi_region_key(struct ofi_state *ofi, int pe, const unsigned char nonce[OFI_NONCE],
                      unsigned index, uint64_t *key);
int sy_ofi_pair_key(struct ofi_peer *peer, const unsigned char nonce[OFI_NONCE]);

/* contact.c */
int sy_ofi_contact(struct ofi_state *ofi, double seconds, struct sy_error *err);

/* rma.c */
int sy_ofi_put_native(struct sy_transport_ctx *ctx, const struct sy_transfer *t, unsigned flags);
int sy_ofi_get_native(struct sy_transport_ctx *ctx, const struct sy_transfer *t, unsigned flags);
void sy_ofi_operation_done(struct ofi_endpoint *endpoint, struct ofi_operation *op);
bool sy_ofi_lone_put(struct sy_transport_ctx *ctx, const struct ofi_peer *peer, unsigned *flags);
bool sy_ofi_lone_get(const struct sy_transport_ctx *ctx, const struct ofi_peer *peer);
int sy_ofi_fence(void *self, struct sy_transport_ctx *ctx);
int sy_ofi_quiet(void *self, struct sy_transport_ctx *ctx, int pe);
int sy_ofi_ticket(void *self, struct sy_transport_ctx *ctx, int pe,
                  struct sy_transport_ticket **ticket);
int sy_ofi_reached_ticket(void *self, struct sy_transport_ticket *ticket);

/* message.c; all with the main endpoint locked */
int sy_ofi_pools_open(struct ofi_state *ofi, struct sy_error *err);
void sy_ofi_pools_close(struct ofi_state *ofi);
char *sy_ofi_room(struct ofi_peer *peer, size_t bytes);
void sy_ofi_appended(struct ofi_peer *peer, struct sy_transport_ctx *ctx, size_t bytes,
                     unsigned flags);
void sy_ofi_mark(struct sy_transport_ctx *ctx, int pe, uint32_t sequence);
int sy_ofi_push(struct ofi_peer *peer, bool ack);
int sy_ofi_ask(struct ofi_peer *peer, uint32_t sequence);
void sy_ofi_acknowledged(struct ofi_peer *peer, uint32_t ack);
void sy_ofi_prove(struct ofi_peer *peer);
void sy_ofi_owe(struct ofi_peer *peer);
void sy_ofi_pay(struct ofi_state *ofi);
void sy_ofi_retry(struct ofi_state *ofi);
void sy_ofi_failed(struct ofi_peer *peer, int code, const char *why);
void sy_ofi_forget(struct ofi_peer *peer);
struct ofi_message *sy_ofi_take(struct ofi_pool *pool);
void sy_ofi_give(struct ofi_message *message);
void sy_ofi_send(struct ofi_message *message);

/* request.c */
void sy_ofi_answers_close(struct ofi_peer *peer);
int sy_ofi_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);
int sy_ofi_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags);
int sy_ofi_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags);
int sy_ofi_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *t,
                       unsigned flags);
int sy_ofi_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags);
int sy_ofi_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags);

/* serve.c; with the main endpoint locked */
void sy_ofi_serve(struct ofi_state *ofi, const struct ofi_header *header, size_t length);
void sy_ofi_stranger(struct ofi_state *ofi, const char *what);
void sy_ofi_serve_deferred(struct ofi_state *ofi);
void sy_ofi_serve_close(struct ofi_state *ofi);

/* progress.c */
int sy_ofi_progress(struct ofi_state *ofi);
int sy_ofi_poll(struct ofi_state *ofi); /* with the main endpoint locked */
int sy_ofi_event(struct ofi_state *ofi);
int sy_ofi_arm(void *self);
void sy_ofi_wait(struct ofi_state *ofi, _Atomic int *left);
void sy_ofi_wait_step(struct ofi_state *ofi, struct ofi_wait *wait);
bool sy_ofi_drain(struct ofi_state *ofi, double seconds);

/* sleep.c */
uint64_t sy_ofi_now(void); /* nanoseconds, CLOCK_MONOTONIC */
int sy_ofi_sleep_open(struct ofi_state *ofi, struct sy_error *err);
void sy_ofi_sleep_close(struct ofi_state *ofi);
int sy_ofi_wait_fd(void *self);
void sy_ofi_beat_timer(struct ofi_state *ofi, long ns);
void sy_ofi_set_timer(struct ofi_state *ofi, long ns); /* with the main endpoint locked */
void sy_ofi_watch_queue(struct ofi_state *ofi, bool on);

/* wakeup.c */
int sy_ofi_wakeup_open(struct ofi_state *ofi);
void sy_ofi_wakeup_close(struct ofi_state *ofi);
int sy_ofi_wakeup_meet(struct ofi_peer *peer, const void *address, uint16_t its_port);
bool sy_ofi_wakeup_sure(struct ofi_state *ofi);
bool sy_ofi_wakeup_taken(struct ofi_state *ofi);
void sy_ofi_wakeup_due(struct ofi_state *ofi);
bool sy_ofi_wakeup_inquire(struct ofi_state *ofi, bool now);

/* probe.c */
void sy_ofi_probes_meet(struct ofi_peer *peer, const void *address);
void sy_ofi_probes_look(struct ofi_state *ofi);
void sy_ofi_probes_close(struct ofi_state *ofi);

#endif

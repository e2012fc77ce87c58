/* The ofi transport: moves data through libfabric. Nothing is decided by configure: the provider is
 * asked what it offers when the job starts, and `struct ofi_traits` holds the answer.
 *
 * plugin.c    the plugin's table, its options, counters and contexts
 * address.c   what PEs tell each other about their endpoints; connecting
 * contact.c   whether other hosts can be reached, before routes are chosen
 * libfabric: provider, domain, endpoints, memory: fabric/fabric.h
 * messages between PEs: message/message.h
 * data calls, fence, quiet: calls/calls.h
 * polling, sleeping, waking, probing: progress/progress.h
 *
 * All that changes belongs to an instance, struct ofi_state. The functions of libfabric, which is
 * one for all of them, are in fabric/library.c.
 *
 * Locks, in the order in which they are taken: `contexts`, for the number of endpoints and their
 * users; the main endpoint's, for peers, messages, contexts and all that is not marked otherwise;
 * another endpoint's, for that endpoint and for `issued` and `wait_issued` of the contexts that use
 * it. */
#ifndef SY_TRANSPORTS_OFI_H
#define SY_TRANSPORTS_OFI_H

#include "engine/regions.h"
#include "transports/ofi/calls/calls.h"
#include "transports/ofi/fabric/fabric.h"
#include "transports/ofi/message/message.h"
#include "transports/ofi/progress/progress.h"
#include "util/count.h"

/* plugin.c has the rows that say what they are. */
struct ofi_counters {
    /* main endpoint's lock: sy_count */
    _Atomic uint64_t messages_sent, message_bytes_sent, messages_received, message_bytes_received;
    _Atomic uint64_t acknowledgements, refused, deferred, wakeups_sent, wakeups_heard, strangers;
    /* any thread: sy_count_shared */
    _Atomic uint64_t native_puts, native_put_bytes, native_gets, native_get_bytes, native_refused;
};

/* An instance of the transport. */
struct ofi_state {
    /* constant since connect() has returned, and written by one thread before */
    const struct sy_host *host;
    const char *name; /* of the instance */
    bool named;       /* as the instance */
    const struct ofi_settings *settings;
    struct ofi_peer *peer;     /* npes */
    struct sy_regions regions; /* for the requests of others */
    bool mute;                 /* this PE's address fits nowhere: it takes no part */
    bool foreign;              /* a PE of another build has been reported */

    /* fabric/; the same */
    struct fi_info *info;
    struct ofi_traits traits;
    struct ofi_offers offers;
    struct fid_fabric *fabric;
    struct fid_domain *fid_domain;
    struct fid_av *av;
    struct ofi_region region[SY_REGIONS]; /* see region.c */
    unsigned region_count;                /* no number from here on has been attached */
    unsigned char nonce[OFI_NONCE];
    /* any thread */
    _Atomic uint64_t local_key; /* of the last memory registered for this process alone */

    /* endpoints; each has its own lock */
    struct ofi_endpoint endpoint[OFI_ENDPOINTS];
    pthread_mutex_t contexts;
    _Atomic unsigned endpoints; /* `contexts` for writing, none for reading */

    /* message/; main endpoint's lock */
    struct ofi_pool requests, replies, receives;
    struct ofi_peer *waiting; /* list: those with messages that the provider has not taken */
    struct ofi_peer *owed;    /* list: those that an acknowledgement is owed to */
    bool awaited;             /* some of these wait for it */
    struct ofi_deferred *deferred, **deferred_end;
    bool contacting; /* see contact.c */
    bool closing;

    /* progress/; constant */
    int epoll, timer; /* see sleep.c */
    int cq_fd;        /* that for wake-ups if there is one, else the main queue's, or -1 */
    struct ofi_wakeup wakeup;
    /* main endpoint's lock */
    struct ofi_peer *expected; /* list: those that something is expected of */
    unsigned looks;            /* polls of the main endpoint */
    unsigned wake_at;          /* no peer needs a wake-up before `looks` is this */
    bool ticking;              /* the timer has been set, by the thread that armed */
    long unheard_ns;           /* until those that owe an answer are looked after */
    long tick_ns;              /* what it was set to */
    _Atomic bool armed;        /* sleepers are woken by the descriptor; any thread for reading */
    /* any thread */
    _Atomic unsigned polls;
    _Atomic unsigned idle;      /* polls that found nothing, in a row */
    _Atomic bool timed;         /* how long a poll takes counts: a thread has waited for long */
    _Atomic uint64_t long_poll; /* the end of the last long one */
    _Atomic long beat_ns;       /* set by the progress thread, or by the thread that has disarmed */
    /* progress thread */
    unsigned polls_before;
    struct ofi_probes probes;

    struct ofi_counters counters;
};

/* For the functions below, with the main endpoint locked: sleep.c, probe.c. */
void sy_ofi_look_after(struct ofi_state *ofi);
void sy_ofi_probes_begin(struct ofi_state *ofi);

/* Polls without a sign of a peer before it gets a wake-up. One that last moved after a wake-up
 * computes, as it seems, and gets the next one sooner; once in so many times it is waited for as
 * before, as it may need none any more. */
#define OFI_PATIENCE_PART  4
#define OFI_ASLEEP_AT_MOST 16
static inline unsigned sy_ofi_patience(const struct ofi_peer *peer)
{
    return peer->asleep ? peer->patience / OFI_PATIENCE_PART : peer->patience;
}

/* Something more is sent to the peer: patience with it begins anew. Whether it has been awake shows
 * where there were polls since the last time. */
static inline void sy_ofi_be_patient(struct ofi_peer *peer)
{
    struct ofi_state *ofi = peer->ofi;

    if (peer->gap > sy_ofi_patience(peer))
        peer->asleep = (peer->asleep + 1) % OFI_ASLEEP_AT_MOST;
    else if (ofi->looks - (peer->wake_at - peer->gap) > OFI_PATIENCE_PART)
        peer->asleep = 0;
    peer->stale = false;
    peer->gap = sy_ofi_patience(peer);
    peer->wake_at = ofi->looks + peer->gap;
    if (!sy_ofi_reached(peer->wake_at, ofi->wake_at))
        ofi->wake_at = peer->wake_at;
}

/* Whether something was sent to the peer that is not known to have arrived. */
static inline bool sy_ofi_is_unanswered(const struct ofi_peer *peer)
{
    return peer->sent != peer->acked || peer->unproved || peer->proving || peer->head ||
           atomic_load_explicit(&peer->transfers, memory_order_relaxed) ||
           atomic_load_explicit(&peer->transfer_taken, memory_order_relaxed) != OFI_TAKEN;
}

/* Something will be sent to a peer: the peer is looked after until that is known to have arrived.
 * Without a socket for wake-ups the queue's descriptor does that. Main endpoint locked. */
static inline void sy_ofi_expect(struct ofi_peer *peer)
{
    struct ofi_state *ofi = peer->ofi;

    if (!atomic_load_explicit(&ofi->probes.watching, memory_order_relaxed))
        sy_ofi_probes_begin(ofi);
    if (!ofi->wakeup.wanted)
        return;
    if (!peer->expected) {
        peer->expected = true;
        sy_ofi_be_patient(peer);
        peer->next_expected = ofi->expected;
        ofi->expected = peer;
    }
    sy_ofi_look_after(ofi);
}

/* Whether a context's transfers go through the main endpoint. */
static inline bool sy_ofi_shares(const struct sy_transport_ctx *ctx)
{
    return ctx->endpoint == &ctx->ofi->endpoint[0];
}

/* The lock of a context's endpoint, with the main endpoint locked. */
static inline void sy_ofi_lock_own(const struct sy_transport_ctx *ctx)
{
    if (!sy_ofi_shares(ctx))
        sy_ofi_lock(ctx->endpoint);
}

static inline void sy_ofi_unlock_own(const struct sy_transport_ctx *ctx)
{
    if (!sy_ofi_shares(ctx))
        sy_ofi_unlock(ctx->endpoint);
}

/* Counts a put that has been issued. */
static inline void sy_ofi_put_noted(struct sy_transport_ctx *ctx)
{
    ctx->puts++;
    ctx->polls = atomic_load_explicit(&ctx->ofi->polls, memory_order_relaxed);
}

/* plugin.c */
void sy_ofi_reset(struct ofi_state *ofi, const struct sy_host *host);

/* address.c */
size_t sy_ofi_address(void *self, void *buffer, size_t room);
int sy_ofi_connect(void *self, const void *addresses, size_t stride, double seconds,
                   struct sy_error *err);
void sy_ofi_disconnect(struct ofi_state *ofi);

/* What an attempt at this address that has failed with `code` means, in words, or "". Returns text.
 */
enum { OFI_ADVICE = 240 };
const char *sy_ofi_advice(const union ofi_ip *at, int code, char text[OFI_ADVICE]);

/* contact.c: tries for `seconds` at most to reach the nodes near this one. 0, with a text in err
 * where some were not reached; -EHOSTUNREACH: none was; or -ENOMEM. */
int sy_ofi_contact(struct ofi_state *ofi, double seconds, struct sy_error *err);

#endif

/* Messages between two PEs: a header, which is authenticated, and behind it the message engine's
 * records (engine/record.h), or the replies to those.
 *
 * message.c   sending: how requests gather, leave and are acknowledged
 * serve.c     receiving: checks messages, has the engine apply requests and hand out replies
 *
 * Everything here has the main endpoint locked, but for opening and closing. */
#ifndef SY_TRANSPORTS_OFI_MESSAGE_H
#define SY_TRANSPORTS_OFI_MESSAGE_H

#include <string.h>

#include "engine/pending.h"
#include "transports/ofi/fabric/fabric.h"
#include "util/siphash.h"

#define OFI_MESSAGE  8192 /* bytes, header included */
#define OFI_REQUESTS 64   /* messages of requests under way, all PEs together */
#define OFI_REPLIES  64   /* messages of replies under way */
#define OFI_RECEIVES 64   /* posted receive buffers */
#define OFI_LITTLE   8192 /* bytes; with no more than that under way a PE counts as idle */

/* Flags of a message. */
enum {
    OFI_ACK_ME = 1,      /* it is to be acknowledged */
    OFI_WANTS_REPLY = 2, /* some of its records have replies */
    OFI_REQUEST = 4,     /* it has request records; else replies, or nothing */
    OFI_AWAITED = 8,     /* the sender probably waits for the acknowledgement */
    OFI_WAKEUP = 16      /* it is a wake-up, which comes by another way: see wakeup.c */
};

/* The authenticator covers the rest of the header, under the key of the two PEs. Nothing of a
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
    struct ofi_pool *pool;     /* which the message belongs to */
    uint32_t reply;            /* bytes of the replies to its requests */
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

/* What the provider has done with what it was last given for a PE. Where it refuses, it may be
 * connecting, or have no room. */
enum ofi_taken {
    OFI_TAKEN,
    OFI_REFUSED,
    OFI_REFUSED_SEEN /* it has taken nothing since probe.c has looked */
};

static inline void sy_ofi_note_taken(_Atomic unsigned char *taken, bool refused)
{
    if (!refused)
        atomic_store_explicit(taken, OFI_TAKEN, memory_order_relaxed);
    else if (atomic_load_explicit(taken, memory_order_relaxed) == OFI_TAKEN)
        atomic_store_explicit(taken, OFI_REFUSED, memory_order_relaxed);
}

/* Another PE, "the peer", and what is under way between it and this PE. */
struct ofi_peer {
    /* constant since connect() has returned */
    struct ofi_state *ofi;
    int pe;
    bool known;                 /* this transport can reach the peer */
    fi_addr_t address;          /* of its endpoint */
    union ofi_ip at;            /* the same as an IP address, for probe.c; or no family */
    struct sockaddr_in6 wakeup; /* or sockaddr_in; no family: the peer takes no wake-ups */
    bool sleeps;                /* until it is woken */
    unsigned parts;             /* what the keys of its regions contain: region.c */
    unsigned char nonce[OFI_NONCE];
    uint64_t secret[2]; /* the key of the pair */
    unsigned patience;  /* see wakeup.c */

    /* main endpoint's lock: */
    /* numbers of messages: requests to the peer; a context may refer to one for days */
    uint64_t sent, acked;
    uint64_t asked;            /* the last one sent with OFI_ACK_ME */
    uint64_t content, wanting; /* the last one with a record in it, and with one that has a reply */
    /* requests of the peer; these and the next numbers wrap */
    uint32_t received, applied;
    uint32_t told; /* the last one that this PE has acknowledged */
    /* replies to the peer, replies of the peer */
    uint32_t replied, heard;

    /* sending */
    struct ofi_message *open; /* requests that gather */
    uint64_t next; /* the header of an element put that continues the last record; 0: none does */
    char *last;    /* that record */
    struct ofi_answers *answers;     /* NULL: nothing has been asked of the peer yet */
    struct ofi_message *head, *tail; /* messages that the provider has not taken */

    /* bytes under way that are not known to have arrived */
    size_t proving;  /* sent before message `proof`, whose acknowledgement tells of their arrival */
    size_t unproved; /* sent since then */
    size_t delivering; /* in native writes whose arrival the provider tells */
    uint64_t proof;
    bool trailing; /* a native write has followed the last message */
    bool proved;   /* the peer has acknowledged a message, ever */
    bool lone;     /* the last quiet waited for a single message */

    /* lists of ofi_state */
    struct ofi_peer *next_waiting, *next_owed, *next_expected;
    bool waiting, owed, expected;
    /* wake-ups, see wakeup.c; counted in `looks` of ofi_state */
    unsigned gap, wake_at;
    unsigned asleep; /* how often in a row it has moved only after a wake-up */
    bool stale;      /* nothing has been sent to the peer since the last look at it */
    bool told_of;    /* the user knows that the peer cannot be woken */
    int refused;     /* before routes are chosen: why a message could not be sent to it, or 0 */

    /* any thread */
    _Atomic unsigned transfers; /* native transfers under way whose end the provider tells */
    _Atomic unsigned char message_taken, transfer_taken; /* enum ofi_taken */

    /* progress thread, see probe.c */
    uint64_t owes_since, signs, message_refused_at, transfer_refused_at;
    unsigned silent; /* looks without a sign of it; with the main endpoint's lock */
    uint64_t doubt;  /* a message to it that has not been acknowledged since */
    unsigned doubts; /* so many looks ago, not counting those before which it said nothing */

    /* main endpoint's lock */
    bool doubted; /* it has said since the last look that it runs, and still `doubt` is missing */
};

/* A message that could not be served when it came. */
struct ofi_deferred {
    struct ofi_deferred *next;
    struct ofi_header header; /* and the records behind it */
};

/* Whether number a, of a message or a poll, is not behind b; numbers wrap. */
static inline bool sy_ofi_reached(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) >= 0;
}

/* The authenticator of a header. */
static inline uint64_t sy_ofi_header_mac(const struct ofi_peer *peer,
                                         const struct ofi_header *header)
{
    uint64_t words[2];

    memcpy(words, &header->source, sizeof words);
    return sy_siphash(peer->secret, words, 2);
}

/* message.c */
int sy_ofi_pools_open(struct ofi_state *ofi, struct sy_error *err);
void sy_ofi_pools_close(struct ofi_state *ofi);

/* Takes a buffer with an empty message out of a pool, or NULL; sy_ofi_give puts it back. */
struct ofi_message *sy_ofi_take(struct ofi_pool *pool);
void sy_ofi_give(struct ofi_message *message);

/* Appending a request: room for `bytes`, a multiple of 8, in the open message (NULL: none now);
 * then the word that it has been written, for ctx. */
char *sy_ofi_room(struct ofi_peer *peer, size_t bytes);
void sy_ofi_appended(struct ofi_peer *peer, struct sy_transport_ctx *ctx, size_t bytes,
                     unsigned flags);

/* Something of ctx will be complete when message `sequence` has been acknowledged. */
void sy_ofi_mark(struct sy_transport_ctx *ctx, int pe, uint64_t sequence);

/* Sends the open message. ack: it is to be acknowledged. */
void sy_ofi_push(struct ofi_peer *peer, bool ack);
void sy_ofi_send(struct ofi_message *message);

/* 0 if message `sequence` has been acknowledged; else sees to it that it will be: -EAGAIN. */
int sy_ofi_ask(struct ofi_peer *peer, uint64_t sequence);

/* Has the peer tell, without haste, when all that has been sent so far has arrived. */
void sy_ofi_prove(struct ofi_peer *peer);

/* The peer has acknowledged all messages up to a number, of which it gives the low bits. */
void sy_ofi_acknowledged(struct ofi_peer *peer, uint32_t low);

/* This PE owes the peer an acknowledgement; sends those that no other message has carried. */
void sy_ofi_owe(struct ofi_peer *peer);
void sy_ofi_pay(struct ofi_state *ofi);

/* Offers the provider again what it had no room for. */
void sy_ofi_retry(struct ofi_state *ofi);

/* A message or transfer for the peer has failed: it is lost, if this PE has routes to it. */
void sy_ofi_failed(struct ofi_peer *peer, int code, const char *why);

/* Ends all that is under way with the peer, and forgets what is known of it. */
void sy_ofi_forget(struct ofi_peer *peer);

/* serve.c */
void sy_ofi_serve(struct ofi_state *ofi, const struct ofi_header *header, size_t length);

/* The PE that has sent a message or, with kind OFI_WAKEUP instead of 0, a wake-up; NULL: none of
 * this job has. */
struct ofi_peer *sy_ofi_sender(struct ofi_state *ofi, const struct ofi_header *header,
                               size_t length, unsigned kind);

/* Messages between the peer and this PE have been lost: so is the peer. */
void sy_ofi_missing(struct ofi_peer *peer);

/* Serves what came while there was no buffer for its reply. */
void sy_ofi_serve_deferred(struct ofi_state *ofi);

/* Something has come that no PE of this job has sent. */
void sy_ofi_stranger(struct ofi_state *ofi, const char *what);
void sy_ofi_serve_close(struct ofi_state *ofi);

#endif

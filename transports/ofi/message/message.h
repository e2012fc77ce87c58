/* Messages between two PEs: a header, which is authenticated, and behind it the message engine's
 * records (engine/record.h), or the replies to those.
 *
 * message.c   sending: how requests gather, leave and are acknowledged
 * serve.c     receiving: checks messages, has the engine apply requests and hand out replies
 *
 * All with the main endpoint's lock. */
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

/* serve.c; with the main endpoint locked */
void sy_ofi_serve(struct ofi_state *ofi, const struct ofi_header *header, size_t length);
void sy_ofi_stranger(struct ofi_state *ofi, const char *what);
void sy_ofi_serve_deferred(struct ofi_state *ofi);
void sy_ofi_serve_close(struct ofi_state *ofi);

#endif

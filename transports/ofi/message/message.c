/* Messages of requests: how they gather, leave and are acknowledged.
 *
 * Requests to a PE are appended to its open message as records. The open message leaves at once
 * while few messages to that PE are unacknowledged. Otherwise it gathers until an acknowledgement
 * comes, it is full, or somebody waits for it. So one put is as fast as a message, and many share
 * one. Messages that are unacknowledged are limited by a window, which bounds what piles up at the
 * other end. An acknowledgement says how many messages have been applied. It travels in every
 * header, and in a message of its own if no other leaves soon. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/ofi/ofi.h"

/* ---- buffers ---- */

static int message_open_pool(struct ofi_state *ofi, struct ofi_pool *pool, unsigned count,
                             bool replies, enum ofi_kind kind, struct sy_error *err)
{
    pool->all = calloc(count, sizeof *pool->all);
    pool->slab = aligned_alloc(4096, (size_t)count * OFI_MESSAGE);
    pool->count = count;
    pool->replies = replies;
    if (!pool->all || !pool->slab)
        return ofi->host->fail(err, ENOMEM, "no memory for %u messages", count);
    if (ofi->traits.local_mr) {
        int rc = fi_mr_reg(ofi->fid_domain, pool->slab, (size_t)count * OFI_MESSAGE,
                           FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0, sy_ofi_local_key(ofi), 0,
                           &pool->mr, NULL);
        if (rc)
            return sy_ofi_fail(ofi, err, rc, "registering message buffers");
    }
    for (unsigned i = count; i-- > 0;) {
        struct ofi_message *m = &pool->all[i];
        m->slot.kind = kind;
        m->pool = pool;
        m->header = (struct ofi_header *)(pool->slab + (size_t)i * OFI_MESSAGE);
        m->next = pool->free;
        pool->free = m;
    }
    return 0;
}

static void message_close_pool(struct ofi_pool *pool)
{
    if (pool->mr)
        fi_close(&pool->mr->fid);
    free(pool->all);
    free(pool->slab);
    memset(pool, 0, sizeof *pool);
}

int sy_ofi_pools_open(struct ofi_state *ofi, struct sy_error *err)
{
    int rc = message_open_pool(ofi, &ofi->requests, OFI_REQUESTS, false, OFI_SENT, err);

    if (!rc)
        rc = message_open_pool(ofi, &ofi->replies, OFI_REPLIES, true, OFI_SENT, err);
    if (!rc)
        rc = message_open_pool(ofi, &ofi->receives, OFI_RECEIVES, false, OFI_RECEIVED, err);
    return rc;
}

void sy_ofi_pools_close(struct ofi_state *ofi)
{
    message_close_pool(&ofi->requests);
    message_close_pool(&ofi->replies);
    message_close_pool(&ofi->receives);
}

struct ofi_message *sy_ofi_take(struct ofi_pool *pool)
{
    struct ofi_message *message = pool->free;

    if (message) {
        pool->free = message->next;
        pool->taken++;
        message->next = NULL;
        message->reply = 0;
        message->header->length = sizeof *message->header;
        message->header->flags = 0;
        message->header->sequence = 0; /* also of one that has none */
    }
    return message;
}

void sy_ofi_give(struct ofi_message *message)
{
    struct ofi_pool *pool = message->pool;

    message->next = pool->free;
    pool->free = message;
    pool->taken--;
}

/* ---- sending ---- */

/* While routes are being chosen contact.c finds out that a PE is not reached. */
void sy_ofi_failed(struct ofi_peer *peer, int code, const char *why)
{
    struct ofi_state *ofi = peer->ofi;
    char advice[OFI_ADVICE];

    if (ofi->contacting)
        peer->refused = code;
    else if (peer->known && !ofi->closing)
        ofi->host->lost(peer->pe, code < FI_ERRNO_OFFSET ? code : EIO,
                        *sy_ofi_advice(&peer->at, code, advice) ? advice + strlen(". ") : why);
}

/* The provider has refused a message. A reply is for a PE that has left; a request that cannot be
 * sent is this PE's failure. */
static void message_refused(struct ofi_peer *peer, bool reply, ssize_t code)
{
    struct ofi_state *ofi = peer->ofi;
    const char *why = sy_ofi_library.strerror((int)-code);

    if (reply)
        ofi->host->log(SY_LOG_DEBUG, ofi->name, "no reply to PE %d: %s", peer->pe, why);
    else
        sy_ofi_failed(peer, (int)-code, why);
}

/* Gives a message to the provider. The completion only has to tell that the buffer is free, so the
 * provider need not ask the target: later messages say whether this one has been applied. */
static ssize_t message_send_buffer(struct ofi_message *message)
{
    const struct iovec iov = {.iov_base = message->header, .iov_len = message->header->length};
    struct fid_mr *mr = message->pool->mr;
    void *local = mr ? fi_mr_desc(mr) : NULL;
    const struct fi_msg msg = {.msg_iov = &iov,
                               .desc = &local,
                               .iov_count = 1,
                               .addr = message->peer->address,
                               .context = &message->slot.context};

    return fi_sendmsg(message->peer->ofi->endpoint[0].ep, &msg, FI_COMPLETION);
}

/* Hands a message to the provider; false if that has no room now. */
static bool message_try_send(struct ofi_message *message)
{
    struct ofi_state *ofi = message->peer->ofi;
    struct ofi_peer *peer = message->peer;
    struct ofi_header *header = message->header;
    struct fid_ep *ep = ofi->endpoint[0].ep;
    size_t bytes = header->length; /* the buffer may be free again when it has been sent */
    bool inject = bytes <= ofi->traits.inject;

    ssize_t rc = inject ? fi_inject(ep, header, header->length, peer->address)
                        : message_send_buffer(message);
    sy_ofi_note_taken(&peer->message_taken, rc == -FI_EAGAIN);
    if (rc == -FI_EAGAIN) {
        sy_count(&ofi->counters.refused, 1);
        return false;
    }
    sy_count(&ofi->counters.messages_sent, 1);
    sy_count(&ofi->counters.message_bytes_sent, bytes);
    if (rc)
        message_refused(peer, message->pool->replies, rc);
    if (rc || inject)
        sy_ofi_give(message);
    return true;
}

static void message_enqueue(struct ofi_message *message)
{
    struct ofi_state *ofi = message->peer->ofi;
    struct ofi_peer *peer = message->peer;

    message->next = NULL;
    if (peer->head)
        peer->tail->next = message;
    else
        peer->head = message;
    peer->tail = message;
    if (peer->waiting)
        return;
    peer->waiting = true;
    peer->next_waiting = ofi->waiting;
    ofi->waiting = peer;
}

static void message_complete_header(const struct ofi_message *message)
{
    struct ofi_peer *peer = message->peer;
    struct ofi_header *header = message->header;

    header->source = (uint32_t)message->peer->ofi->host->pe;
    header->ack = peer->told = peer->applied;
    header->mac = sy_ofi_header_mac(peer, header);
}

/* Sends; what the provider does not take now waits in the peer's queue. */
void sy_ofi_send(struct ofi_message *message)
{
    struct ofi_state *ofi = message->peer->ofi;
    struct ofi_peer *peer = message->peer;

    if (message->pool->replies && message->header->length > sizeof *message->header)
        message->header->sequence = ++peer->replied;
    message_complete_header(message);
    if (!message->pool->replies) {
        sy_ofi_expect(peer);
        sy_ofi_be_patient(peer);
    }
    bool queued = peer->head || !message_try_send(message);
    if (queued)
        message_enqueue(message);
    if (queued || ofi->traits.ticks)
        sy_ofi_look_after(ofi);
}

void sy_ofi_retry(struct ofi_state *ofi)
{
    struct ofi_peer **link = &ofi->waiting;

    while (*link) {
        struct ofi_peer *peer = *link;
        struct ofi_message *message;
        while ((message = peer->head)) {
            struct ofi_message *next = message->next;
            if (!message_try_send(message))
                break;
            peer->head = next;
        }
        if (peer->head) {
            link = &peer->next_waiting;
        } else {
            peer->waiting = false;
            *link = peer->next_waiting;
        }
    }
}

/* Buffers that the provider has come back with their completions. */
void sy_ofi_forget(struct ofi_peer *peer)
{
    struct ofi_message *message;
    struct ofi_peer **link = &peer->ofi->waiting;

    while ((message = peer->head)) {
        peer->head = message->next;
        sy_ofi_give(message);
    }
    while (*link && *link != peer)
        link = &(*link)->next_waiting;
    if (*link)
        *link = peer->next_waiting;
    peer->message_taken = peer->transfer_taken = OFI_TAKEN;
    peer->waiting = peer->known = peer->proved = false;
    peer->sent = peer->acked = peer->asked = peer->content = peer->wanting = 0;
    peer->proving = peer->unproved = 0;
    peer->told = peer->applied;
}

/* ---- requests ---- */

char *sy_ofi_room(struct ofi_peer *peer, size_t bytes)
{
    struct ofi_state *ofi = peer->ofi;

    if (peer->open && peer->open->header->length + bytes > OFI_MESSAGE)
        sy_ofi_push(peer, false);
    if (!peer->open) {
        if (peer->sent - peer->acked >= ofi->traits.window + (peer->silent > 0))
            return NULL; /* a silent peer gets one more: all in its window may have got lost */
        peer->open = sy_ofi_take(&ofi->requests);
        if (!peer->open)
            return NULL;
        peer->open->peer = peer;
        peer->open->header->flags = OFI_REQUEST;
    }
    return (char *)peer->open->header + peer->open->header->length;
}

/* Whether the open message should leave: few are unacknowledged, or no acknowledgement is to come
 * that would be another occasion. */
static bool message_due(const struct ofi_peer *peer)
{
    return peer->sent - peer->acked < peer->ofi->traits.at_once || peer->acked >= peer->asked;
}

/* Notes that the open message has grown by `bytes` for ctx, and lets it leave if it should. */
void sy_ofi_appended(struct ofi_peer *peer, struct sy_transport_ctx *ctx, size_t bytes,
                     unsigned flags)
{
    peer->open->header->length = (uint16_t)(peer->open->header->length + bytes);
    peer->open->header->flags |= (uint16_t)flags;
    peer->next = 0;
    sy_ofi_mark(ctx, peer->pe, peer->sent + 1);
    if (message_due(peer))
        sy_ofi_push(peer, true);
}

/* Counts a message that is about to leave as under way. */
static void message_count(struct ofi_peer *peer, const struct ofi_header *header)
{
    if (header->length > sizeof *header)
        peer->content = peer->sent;
    peer->unproved += header->length;
    peer->trailing = false;
    if (!(header->flags & OFI_ACK_ME) || peer->proving)
        return;
    peer->proving = peer->unproved;
    peer->unproved = 0;
    peer->proof = peer->sent;
}

void sy_ofi_push(struct ofi_peer *peer, bool ack)
{
    struct ofi_message *message = peer->open;

    if (!message)
        return;
    peer->open = NULL;
    peer->next = 0;
    message->header->sequence = (uint32_t)++peer->sent;
    if (message->reply) {
        message->header->flags |= OFI_WANTS_REPLY;
        peer->wanting = peer->sent;
    }
    if (ack || peer->sent - peer->asked >= peer->ofi->traits.window / 4) {
        message->header->flags |= OFI_ACK_ME;
        peer->asked = peer->sent;
    }
    message_count(peer, message->header);
    /* What is waited for one by one is acknowledged at once, anything else when there is time. */
    peer->lone = peer->lone && peer->sent - peer->acked == 1;
    if (peer->lone && ack)
        message->header->flags |= OFI_AWAITED;
    sy_ofi_send(message);
}

void sy_ofi_mark(struct sy_transport_ctx *ctx, int pe, uint64_t sequence)
{
    ctx->last[pe] = sequence;
    if (ctx->listed[pe])
        return;
    ctx->listed[pe] = true;
    ctx->fenced[pe] = ctx->ofi->peer[pe].acked;
    ctx->dirty[ctx->dirties++] = pe;
}

int sy_ofi_ask(struct ofi_peer *peer, uint64_t sequence)
{
    if (peer->acked >= sequence)
        return 0;
    peer->lone = sequence == peer->acked + 1 && sequence == peer->sent + (peer->open != NULL);
    if (peer->asked >= sequence)
        return -EAGAIN;
    /* Either the open message is the one, or one behind it asks. */
    if (peer->open || sy_ofi_room(peer, 0))
        sy_ofi_push(peer, true);
    return -EAGAIN;
}

void sy_ofi_prove(struct ofi_peer *peer)
{
    peer->lone = false;
    if (!peer->proving && sy_ofi_room(peer, 0))
        sy_ofi_push(peer, true);
}

void sy_ofi_acknowledged(struct ofi_peer *peer, uint32_t low)
{
    uint64_t ack = peer->acked + (uint32_t)(low - (uint32_t)peer->acked);

    if (ack > peer->sent) /* an older one is far ahead by its low bits */
        return;
    peer->acked = ack;
    peer->proved = peer->proved || ack;
    if (ack >= peer->proof)
        peer->proving = 0;
    if (ack == peer->sent && !peer->trailing)
        peer->unproved = 0;
    if (peer->open && message_due(peer))
        sy_ofi_push(peer, true);
}

/* ---- acknowledgements ---- */

void sy_ofi_owe(struct ofi_peer *peer)
{
    struct ofi_state *ofi = peer->ofi;

    if (peer->owed)
        return;
    peer->owed = true;
    peer->next_owed = ofi->owed;
    ofi->owed = peer;
}

void sy_ofi_pay(struct ofi_state *ofi)
{
    struct ofi_peer *peer;

    ofi->awaited = false;
    while ((peer = ofi->owed)) {
        if (peer->told != peer->applied) {
            struct ofi_message *message = sy_ofi_take(&ofi->replies);
            if (!message)
                return;
            message->peer = peer;
            sy_count(&ofi->counters.acknowledgements, 1);
            sy_ofi_send(message);
        }
        peer->owed = false;
        ofi->owed = peer->next_owed;
    }
}

/* Messages that have come. Anybody who reaches the port can send one. So the header's authenticator
 * is checked first, then its number, which drops messages that were recorded and are sent again.
 * What is left comes from a PE of this job, and each record is checked all the same: a PE that has
 * been taken over reaches symmetric memory and nothing else. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/apply.h"
#include "transports/ofi/ofi.h"

/* ---- requests ---- */

static const char crosses[] = "a record crosses the end of its message";

/* Applies the record at `at`, of which and what follows it there are `have` bytes; what it asks for
 * goes to the end of `reply`. NULL, or how it breaks the rules. */
static const char *serve_record(const struct sy_regions *regions, const char *at, size_t have,
                                struct ofi_header *reply, size_t *size)
{
    const char *why = NULL;

    *size = sy_record_size(at, have, &why);
    if (why || !*size || *size > have)
        return why ? why : crosses;
    long length = sy_record_reply(at);
    if (length < 0)
        return sy_apply_outside;
    size_t bytes = sy_record_padded((size_t)length);
    if (bytes && (!reply || bytes > OFI_MESSAGE - (size_t)reply->length))
        return "it asks for more than a message holds";
    why = sy_apply(regions, at, at + sy_record_head(sy_record_word(at)),
                   bytes ? (char *)reply + reply->length : NULL);
    if (bytes && !why)
        reply->length = (uint16_t)(reply->length + bytes);
    return why;
}

/* Serves a record of the kinds that come most often, else leaves it to serve_record. `have` is a
 * multiple of 8. */
static const char *serve_usual(const struct sy_regions *regions, const char *at, size_t have,
                               struct ofi_header *reply, size_t *size)
{
    uint64_t record = sy_record_word(at);
    int done = have >= 16 ? sy_apply_frequent(regions, record, at + 8) : 0;

    *size = 16;
    if (!done && have >= 16 && sy_record_op(record) == SY_RECORD_PUT_LONG &&
        sy_record_data(at) <= have - 16) {
        *size += sy_record_padded((size_t)sy_record_data(at));
        done = sy_apply_put_long(regions, at, at + 16) ? 1 : -1;
    }
    if (!done)
        return serve_record(regions, at, have, reply, size);
    return done > 0 ? NULL : sy_apply_outside;
}

static const char *serve_records(struct ofi_state *ofi, const struct ofi_header *header,
                                 struct ofi_header *reply)
{
    const struct sy_regions *regions = &ofi->regions;
    const char *at = (const char *)(header + 1), *why;
    size_t left = header->length - sizeof *header, size;

    if (left % 8)
        return crosses;
    sy_regions_ensure(&ofi->regions);
    for (; left; at += size, left -= size) {
        why = serve_usual(regions, at, left, reply, &size);
        if (SY_UNLIKELY(why != NULL))
            return why;
    }
    return NULL;
}

/* Applies a message of requests and answers it. False if it wants a reply and there is no buffer.
 */
static bool serve_requests(struct ofi_peer *peer, const struct ofi_header *header)
{
    struct ofi_state *ofi = peer->ofi;
    struct ofi_message *reply = NULL;

    if (header->flags & OFI_WANTS_REPLY) {
        reply = sy_ofi_take(&ofi->replies);
        if (!reply)
            return false;
        reply->peer = peer;
    }
    const char *why = serve_records(ofi, header, reply ? reply->header : NULL);
    if (why) {
        if (reply)
            sy_ofi_give(reply);
        ofi->host->lost(peer->pe, EPROTO, why);
        return true;
    }
    /* What was stored is visible before anybody hears that it is. */
    atomic_thread_fence(memory_order_release);
    peer->applied = header->sequence;
    if (header->flags & OFI_ACK_ME || peer->applied - peer->told >= ofi->traits.window / 2)
        sy_ofi_owe(peer);
    ofi->awaited = ofi->awaited || header->flags & OFI_AWAITED;
    if (reply)
        sy_ofi_send(reply);
    return true;
}

/* ---- messages that must wait; the senders' windows limit them ---- */

static void serve_defer(struct ofi_peer *peer, const struct ofi_header *header)
{
    struct ofi_state *ofi = peer->ofi;
    struct ofi_deferred *copy;

    if (peer->received - peer->told > ofi->traits.window + 1) { /* see sy_ofi_room */
        ofi->host->lost(peer->pe, EPROTO, "it does not wait for answers");
        return;
    }
    copy = malloc(offsetof(struct ofi_deferred, header) + header->length);
    if (!copy) {
        ofi->host->lost(peer->pe, ENOMEM, "no memory to keep its requests");
        return;
    }
    memcpy(&copy->header, header, header->length);
    copy->next = NULL;
    sy_count(&ofi->counters.deferred, 1);
    *ofi->deferred_end = copy;
    ofi->deferred_end = &copy->next;
}

void sy_ofi_serve_deferred(struct ofi_state *ofi)
{
    struct ofi_deferred *first;

    while ((first = ofi->deferred)) {
        if (!serve_requests(&ofi->peer[first->header.source], &first->header))
            return;
        ofi->deferred = first->next;
        if (!ofi->deferred)
            ofi->deferred_end = &ofi->deferred;
        free(first);
    }
}

void sy_ofi_serve_close(struct ofi_state *ofi)
{
    while (ofi->deferred) {
        struct ofi_deferred *first = ofi->deferred;
        ofi->deferred = first->next;
        free(first);
    }
    ofi->deferred_end = &ofi->deferred;
}

/* ---- who sends ---- */

/* Counts and logs a stranger's message; ever more seldom, so that a flood does not fill the log. */
void sy_ofi_stranger(struct ofi_state *ofi, const char *what)
{
    sy_count(&ofi->counters.strangers, 1);
    uint64_t count = ofi->counters.strangers;

    if (!(count & (count - 1)))
        ofi->host->log(SY_LOG_INFO, ofi->name,
                       "%s that no PE of this job has sent is ignored; %llu until now", what,
                       (unsigned long long)count);
}

struct ofi_peer *sy_ofi_sender(struct ofi_state *ofi, const struct ofi_header *header,
                               size_t length, unsigned kind)
{
    if (length < sizeof *header || header->length < sizeof *header || header->length > length ||
        !ofi->peer || header->source >= (uint32_t)ofi->host->npes ||
        (header->flags & OFI_WAKEUP) != kind)
        return NULL;
    struct ofi_peer *peer = &ofi->peer[header->source];
    return peer->known && header->mac == sy_ofi_header_mac(peer, header) ? peer : NULL;
}

void sy_ofi_missing(struct ofi_peer *peer)
{
    peer->ofi->host->lost(
        peer->pe, EPROTO,
        "messages between it and this PE are missing: a connection was reset, most likely, and "
        "libfabric does not send again what was under way; the tcp transport does "
        "(SHMEM_TRANSPORTS=shm,tcp)");
}

/* Whether a number is the one after *last, as a PE skips none; then it is the last one. An old one
 * is of a recording that a stranger sends again. */
static bool serve_is_next(struct ofi_peer *peer, uint32_t *last, uint32_t number)
{
    bool next = number == *last + 1;

    if (next)
        *last = number;
    else if (sy_ofi_reached(*last, number))
        sy_ofi_stranger(peer->ofi, "a replayed message");
    else
        sy_ofi_missing(peer);
    return next;
}

/* Takes a reply. Replies come in the order of the requests. */
static void serve_reply(struct ofi_peer *peer, const struct ofi_header *header)
{
    struct ofi_answers *answers = peer->answers;
    const struct sy_pending_reply *part;
    const char *why = "a reply is not whole";
    size_t length = header->length - sizeof *header;

    if (!length || !serve_is_next(peer, &peer->heard, header->sequence))
        return;
    if (!answers || sy_pending_take(&answers->pending, (const char *)(header + 1), length,
                                    &answers->bytes, &part, &why) != length)
        peer->ofi->host->lost(peer->pe, EPROTO, why);
}

/* A PE acknowledges a request with its reply or later. So a reply that is awaited when all requests
 * are acknowledged was lost with a connection, and no other one may come whose number says so. */
static void serve_miss_reply(struct ofi_peer *peer)
{
    bool asks = peer->open && peer->open->reply;

    if (peer->answers && !asks && peer->acked >= peer->wanting &&
        sy_pending_count(&peer->answers->pending) && peer->ofi->traits.tcp)
        sy_ofi_missing(peer);
}

void sy_ofi_serve(struct ofi_state *ofi, const struct ofi_header *header, size_t length)
{
    struct ofi_peer *peer = sy_ofi_sender(ofi, header, length, 0);

    if (!peer) {
        sy_ofi_stranger(ofi, "a message");
        return;
    }
    sy_count(&ofi->counters.messages_received, 1);
    sy_count(&ofi->counters.message_bytes_received, header->length);
    sy_ofi_acknowledged(peer, header->ack);
    if (!(header->flags & OFI_REQUEST))
        serve_reply(peer, header);
    else if (serve_is_next(peer, &peer->received, header->sequence) &&
             (ofi->deferred || !serve_requests(peer, header)))
        serve_defer(peer, header);
    serve_miss_reply(peer);
}

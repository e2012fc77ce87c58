/* The target's side of messages. Whoever reaches the port can send one: the header's authenticator
 * is checked before anything else is believed, and its number, so that what was recorded and is
 * sent again is dropped. What is then left is the word of a PE of this job, and is checked before
 * it is used all the same: a PE that has been taken over writes into symmetric memory and nowhere
 * else. Main endpoint locked throughout. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/ofi/ofi.h"
#include "util/bits.h"

#define STORE_WHOLE(TYPE)                                                                          \
    case sizeof(TYPE): {                                                                           \
        TYPE value;                                                                                \
        memcpy(&value, from, sizeof value);                                                        \
        __atomic_store_n((TYPE *)to, value, __ATOMIC_RELAXED);                                     \
        return;                                                                                    \
    }

/* One element that is aligned is stored by one instruction: another thread may be looking at it.
 * Longer data are moved by memcpy, which does not divide aligned words. */
SY_ORDERED_ELSEWHERE static void serve_store(char *to, const char *from, size_t length)
{
    if ((uintptr_t)to % 8 % (length ? length : 1) == 0) {
        switch (length) {
            STORE_WHOLE(uint8_t)
            STORE_WHOLE(uint16_t)
            STORE_WHOLE(uint32_t)
            STORE_WHOLE(uint64_t)
        }
    }
    memcpy(to, from, length);
}
#undef STORE_WHOLE

static void *serve_find(struct ofi_state *ofi, const struct ofi_record *record, uint64_t offset,
                        size_t length)
{
    return ofi->host->memory(ofi->host->pe, record->window, offset, length);
}

/* ---- replies ---- */

/* Appends a reply of `length` bytes and returns where they go, or NULL if it does not fit. */
static void *serve_reply_room(struct ofi_message *reply, uint64_t number, size_t length)
{
    struct ofi_header *header = reply ? reply->header : NULL;
    size_t bytes = sizeof(struct ofi_record) + sy_round_up(length, 8);

    if (!header || header->length + bytes > OFI_MESSAGE)
        return NULL;
    struct ofi_record *record = (struct ofi_record *)((char *)header + header->length);
    *record = (struct ofi_record){.kind = OFI_REPLY, .length = (uint32_t)length, .offset = number};
    header->length += (uint32_t)bytes;
    return record + 1;
}

static bool serve_take_reply(struct ofi_state *ofi, int pe, const struct ofi_record *record,
                             const char *data)
{
    struct ofi_fetch *fetch = record->offset < OFI_FETCHES ? &ofi->fetch[record->offset] : NULL;

    if (!fetch || !fetch->busy || fetch->pe != pe || fetch->length != record->length)
        return false;
    if (fetch->block) {
        char *to = fetch->result;
        for (size_t done = 0; done < fetch->length; done += fetch->block, to += fetch->stride)
            serve_store(to, data + done, fetch->block);
    } else {
        memcpy(fetch->result, data, fetch->length);
    }
    _Atomic int *left = fetch->left;
    if (!left)
        fetch->ctx->fetches--;
    fetch->busy = false;
    fetch->next = ofi->fetch_free;
    ofi->fetch_free = fetch;
    if (left)
        atomic_fetch_sub_explicit(left, 1, memory_order_release);
    return true;
}

/* ---- requests ---- */

static bool serve_apply_amo(struct ofi_state *ofi, const struct ofi_record *record,
                            const void *data, struct ofi_message *reply)
{
    struct ofi_amo_part part = {0};
    uint64_t old = 0;
    void *word = serve_find(ofi, record, record->offset, record->length), *to = NULL;

    memcpy(&part, data, sy_ofi_amo_part(record->op, record->kind == OFI_FETCH));
    if (!word || (record->length != 4 && record->length != 8) || record->offset % record->length ||
        record->op > SY_AMO_XOR)
        return false;
    if (record->kind == OFI_FETCH && !(to = serve_reply_room(reply, part.number, record->length)))
        return false;
    ofi->host->amo((enum sy_amo_op)record->op, word, record->length, part.operand, part.compare,
                   to ? &old : NULL);
    uint32_t narrow = (uint32_t)old;
    if (to)
        memcpy(to, record->length == 4 ? (void *)&narrow : (void *)&old, record->length);
    return true;
}

/* The blocks of a strided transfer lie between two ends; both must be in the window. */
static char *serve_blocks_here(struct ofi_state *ofi, const struct ofi_record *record,
                               const struct ofi_blocks_part *part)
{
    int64_t reach;

    if (!part->block || record->length % part->block || !record->length ||
        __builtin_mul_overflow(part->stride, (int64_t)(record->length / part->block - 1), &reach))
        return NULL;
    uint64_t lowest = reach < 0 ? record->offset + (uint64_t)reach : record->offset;
    uint64_t span = (reach < 0 ? -(uint64_t)reach : (uint64_t)reach) + part->block;
    char *base = serve_find(ofi, record, lowest, span);
    return base ? base + (record->offset - lowest) : NULL;
}

static bool serve_apply_blocks(struct ofi_state *ofi, const struct ofi_record *record,
                               const char *data, struct ofi_message *reply)
{
    struct ofi_blocks_part part;
    memcpy(&part, data, sizeof part);
    char *at = serve_blocks_here(ofi, record, &part);

    if (!at)
        return false;
    size_t blocks = record->length / part.block;
    if (record->kind == OFI_PUT_BLOCKS) {
        data += sizeof part;
        for (size_t i = 0; i < blocks; i++)
            serve_store(at + (ptrdiff_t)i * part.stride, data + i * part.block, part.block);
        return true;
    }
    char *to = serve_reply_room(reply, part.number, record->length);
    for (size_t i = 0; to && i < blocks; i++)
        memcpy(to + i * part.block, at + (ptrdiff_t)i * part.stride, part.block);
    return to;
}

static bool serve_apply_get(struct ofi_state *ofi, const struct ofi_record *record,
                            const void *data, struct ofi_message *reply)
{
    uint64_t number;
    memcpy(&number, data, sizeof number);
    void *from = serve_find(ofi, record, record->offset, record->length);
    void *to = from ? serve_reply_room(reply, number, record->length) : NULL;

    if (to)
        memcpy(to, from, record->length);
    return to;
}

static bool serve_apply_put(struct ofi_state *ofi, const struct ofi_record *record,
                            const char *data)
{
    char *to = serve_find(ofi, record, record->offset, record->length);

    if (to)
        serve_store(to, data, record->length);
    return to;
}

/* Bytes that follow a record. */
static size_t serve_behind(const struct ofi_record *record)
{
    size_t data = sy_round_up(record->length, 8);

    switch (record->kind) {
    case OFI_PUT:
    case OFI_REPLY:
        return data;
    case OFI_GET:
        return sizeof(uint64_t);
    case OFI_AMO:
    case OFI_FETCH:
        return sy_ofi_amo_part(record->op, record->kind == OFI_FETCH);
    case OFI_PUT_BLOCKS:
        return sizeof(struct ofi_blocks_part) + data;
    case OFI_GET_BLOCKS:
        return sizeof(struct ofi_blocks_part);
    default:
        return SIZE_MAX / 2;
    }
}

static bool serve_apply(struct ofi_state *ofi, const struct ofi_record *record, const char *data,
                        struct ofi_message *reply)
{
    switch (record->kind) {
    case OFI_PUT:
        return serve_apply_put(ofi, record, data);
    case OFI_GET:
        return serve_apply_get(ofi, record, data, reply);
    case OFI_AMO:
    case OFI_FETCH:
        return serve_apply_amo(ofi, record, data, reply);
    case OFI_PUT_BLOCKS:
    case OFI_GET_BLOCKS:
        return serve_apply_blocks(ofi, record, data, reply);
    default:
        return false;
    }
}

static bool serve_apply_all(struct ofi_state *ofi, const struct ofi_header *header,
                            struct ofi_message *reply)
{
    bool requests = header->flags & OFI_REQUEST;
    const char *at = (const char *)(header + 1), *end = (const char *)header + header->length;

    while (at < end) {
        const struct ofi_record *record = (const struct ofi_record *)at;
        size_t left = (size_t)(end - at);
        if (left < sizeof *record || left - sizeof *record < serve_behind(record))
            return false;
        if (requests ? !serve_apply(ofi, record, at + sizeof *record, reply)
                     : record->kind != OFI_REPLY ||
                           !serve_take_reply(ofi, (int)header->source, record, at + sizeof *record))
            return false;
        at += sizeof *record + serve_behind(record);
    }
    return true;
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
    if (!serve_apply_all(ofi, header, reply)) {
        if (reply)
            sy_ofi_give(reply);
        ofi->host->lost(peer->pe, EPROTO, "it sent a request that makes no sense");
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

/* ---- messages that must wait; no more than the senders' windows allow ---- */

static void serve_defer(struct ofi_peer *peer, const struct ofi_header *header)
{
    struct ofi_state *ofi = peer->ofi;
    struct ofi_deferred *copy = malloc(offsetof(struct ofi_deferred, header) + header->length);

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

/* Says so seldom enough that a flood of strangers does not fill the log. */
void sy_ofi_stranger(struct ofi_state *ofi, const char *what)
{
    sy_count(&ofi->counters.strangers, 1);
    uint64_t count = ofi->counters.strangers;

    if (!(count & (count - 1)))
        ofi->host->log(SY_LOG_INFO, "ofi",
                       "%s that no PE of this job has sent is ignored; %llu until now", what,
                       (unsigned long long)count);
}

/* The PE that has sent a message, or NULL if none of this job has. */
static struct ofi_peer *serve_sender(struct ofi_state *ofi, const struct ofi_header *header,
                                     size_t length)
{
    if (length < sizeof *header || header->length < sizeof *header || header->length > length ||
        header->source >= (uint32_t)ofi->host->npes)
        return NULL;
    struct ofi_peer *peer = &ofi->peer[header->source];
    return peer->known && header->mac == sy_ofi_header_mac(peer, header) ? peer : NULL;
}

/* Whether a message of requests is the next one of its PE. What has come before has been recorded
 * by somebody; what comes too early, or when no more may be under way, that PE would not send. */
static bool serve_is_next(struct ofi_peer *peer, uint32_t number)
{
    struct ofi_state *ofi = peer->ofi;

    if (sy_ofi_reached(peer->received, number)) {
        sy_ofi_stranger(ofi, "a message of old");
        return false;
    }
    if (number != peer->received + 1 || number - peer->told > ofi->traits.window) {
        ofi->host->lost(peer->pe, EPROTO, "its requests do not come in their order");
        return false;
    }
    peer->received = number;
    return true;
}

/* Those that the provider refused are missing from the row. */
static void serve_replies(struct ofi_peer *peer, const struct ofi_header *header)
{
    struct ofi_state *ofi = peer->ofi;

    if (header->length == sizeof *header)
        return;
    if (sy_ofi_reached(peer->heard, header->sequence)) {
        sy_ofi_stranger(ofi, "a reply of old");
        return;
    }
    peer->heard = header->sequence;
    if (!serve_apply_all(ofi, header, NULL))
        ofi->host->lost(peer->pe, EPROTO, "it sent a reply that makes no sense");
}

void sy_ofi_serve(struct ofi_state *ofi, const struct ofi_header *header, size_t length)
{
    struct ofi_peer *peer = ofi->peer ? serve_sender(ofi, header, length) : NULL;

    if (!peer) {
        sy_ofi_stranger(ofi, "a message");
        return;
    }
    sy_count(&ofi->counters.messages_received, 1);
    sy_count(&ofi->counters.message_bytes_received, header->length);
    sy_ofi_acknowledged(peer, header->ack);
    if (!(header->flags & OFI_REQUEST))
        serve_replies(peer, header);
    else if (serve_is_next(peer, header->sequence) &&
             (ofi->deferred || !serve_requests(peer, header)))
        serve_defer(peer, header);
}

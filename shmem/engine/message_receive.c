/* Messages that have come: see message.h. All that they say is checked, since it comes from other
 * processes. By the receiver. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/message.h"

/* Bytes of replies that the other side may have asked for and not been sent: what sy_pending_enter
 * grants; and a message that it has got before this side has taken note of having sent it. */
#define REPLIES_MOST(MESSAGE_SIZE)                                                                 \
    (SY_MESSAGE_REPLIES + SY_PENDING_LONG * (size_t)SY_MESSAGE_RECORD + (MESSAGE_SIZE))

/* Most bytes of requests that are kept: the beginning of a record, or what waits for a piece
 * (message_send_room). Of replies all may have to wait. */
#define PARTIAL_MOST (SY_MESSAGE_BEHIND + 3 * (size_t)SY_MESSAGE_BUFFER)

static const char no_memory[] = "there is no memory for what it sends";

/* Makes room for `more` bytes behind those that are there. False: no memory. */
static bool message_receive_reserve(struct sy_message_bytes *bytes, size_t more)
{
    if (!bytes->at)
        bytes->begin = bytes->end = SY_MESSAGE_HEAD;
    if (bytes->room - bytes->end >= more && bytes->at)
        return true;
    size_t room = (bytes->end + more) * 2;
    char *at = realloc(bytes->at, room);
    if (!at)
        return false;
    bytes->at = at;
    bytes->room = room;
    return true;
}

/* ---- requests ---- */

/* Writes a reply where the sender will find it; it counts when it is there. The reply to the record
 * of a piece has no content. */
static const char *message_receive_answer(struct sy_message_peer *peer, const char *at,
                                          size_t length)
{
    struct sy_message_bytes *answers = &peer->answers;
    size_t bytes = sy_record_padded(length);
    const char *why = no_memory;

    if (atomic_load(&peer->owed) + bytes > REPLIES_MOST(peer->messages->inner->message_size))
        return "it asks for more replies at a time than agreed";
    pthread_mutex_lock(&peer->answering);
    if (message_receive_reserve(answers, bytes)) {
        char *reply = answers->at + answers->end;
        bool plain = !sy_message_large_is(sy_record_word(at));
        memset(reply, 0, plain ? 0 : bytes);
        why = plain ? sy_apply(&peer->messages->regions, at, NULL, reply) : NULL;
    }
    if (!why) {
        answers->end += bytes;
        atomic_fetch_add(&peer->owed, bytes);
    }
    pthread_mutex_unlock(&peer->answering);
    return why;
}

/* Applies a whole record. */
static const char *message_receive_apply(struct sy_message_peer *peer, const char *at)
{
    struct sy_regions *regions = &peer->messages->regions;
    uint64_t header = sy_record_word(at);
    long reply = sy_record_reply(at);

    if (sy_record_op(header) == SY_RECORD_RAISE)
        return sy_apply_raise(regions, header, sy_record_word(at + 8)) < 0 ? sy_apply_outside
                                                                           : NULL;
    if (reply < 0 || reply > (long)SY_MESSAGE_RECORD)
        return sy_apply_outside;
    return reply ? message_receive_answer(peer, at, (size_t)reply)
                 : sy_apply(regions, at, at + sy_record_head(header), NULL);
}

/* Applies whole records up to the next piece's: bytes used. */
static size_t message_receive_plain(struct sy_message_peer *peer, const char *from, size_t length,
                                    const char **why)
{
    const struct sy_regions *regions = &peer->messages->regions;
    size_t used = 0, size;

    while (length - used >= 8 && !*why) {
        const char *at = from + used;
        uint64_t header = sy_record_word(at);
        int frequent = length - used >= 16 ? sy_apply_frequent(regions, header, at + 8) : 0;
        size = 16;
        if (SY_UNLIKELY(frequent < 0)) {
            *why = sy_apply_outside;
        } else if (!frequent) {
            if (sy_message_large_is(header))
                break;
            size = sy_record_size(at, length - used, why);
            if (!size || size > length - used)
                break;
            *why = message_receive_apply(peer, at);
        }
        used += *why ? 0 : size;
    }
    return used;
}

/* Takes the record of a piece, if there is one: bytes used. */
static size_t message_receive_piece(struct sy_message_peer *peer, const char *from, size_t length,
                                    const char **why)
{
    if (*why || length < 16 || !sy_message_large_is(sy_record_word(from)) ||
        sy_message_large_holds(peer) == SY_MESSAGE_HELD)
        return 0;
    size_t size = sy_record_head(sy_record_word(from));
    if (length < size || (peer->large && sy_message_large_collides(peer, from, length)))
        return 0;
    *why = sy_message_large_announced(peer, from, peer->used);
    if (!*why && sy_record_op(sy_record_word(from)) == SY_RECORD_GET_LARGE)
        *why = message_receive_answer(peer, from, 8);
    return *why ? 0 : size;
}

/* Applies whole records, as far as they may be applied: bytes used. */
static size_t message_receive_requests(struct sy_message_peer *peer, const char *from,
                                       size_t length, const char **why)
{
    size_t used = 0, more = 1;

    while (more && !*why) {
        more = sy_message_large_holds(peer) == SY_MESSAGE_FREE
                   ? message_receive_plain(peer, from + used, length - used, why)
                   : 0;
        peer->used += more;
        used += more;
        more = message_receive_piece(peer, from + used, length - used, why);
        peer->used += more;
        used += more;
    }
    return used;
}

/* Publishes how far requests have been applied; by the receiver. */
static void message_receive_publish(struct sy_message_peer *peer)
{
    atomic_store_explicit(&peer->applied, sy_message_large_applied(peer, peer->used),
                          memory_order_release);
}

/* ---- both channels ---- */

/* Whether the `have` bytes at `at`, with which a record or reply begins, are to be kept. */
static bool message_receive_is_held(const struct sy_message_peer *peer,
                                    enum sy_message_channel channel, const char *at, size_t have)
{
    if (channel == SY_MESSAGE_ANSWERS)
        return sy_pending_is_held(&peer->engine.pending);
    enum sy_message_hold hold = sy_message_large_holds(peer);
    return SY_UNLIKELY(hold != SY_MESSAGE_FREE) && have >= 8 &&
           (hold == SY_MESSAGE_HELD || !sy_message_large_is(sy_record_word(at)) ||
            sy_message_large_collides(peer, at, have));
}

/* Uses whole records, or replies, from the beginning of `from` on: bytes used. */
static size_t message_receive_use(struct sy_message_peer *peer, enum sy_message_channel channel,
                                  const char *from, size_t length, const char **why)
{
    const struct sy_pending_reply *part; /* which is kept with the rest */

    if (channel == SY_MESSAGE_ANSWERS)
        return sy_pending_take(&peer->engine.pending, from, length, &peer->arrived, &part, why);
    size_t used = message_receive_requests(peer, from, length, why);
    message_receive_publish(peer);
    return used;
}

/* The bytes to have before a record can be used, of which `have` are here: its whole length, if
 * they tell it. */
static size_t message_receive_want(const struct sy_message_peer *peer,
                                   enum sy_message_channel channel, const char *at, size_t have,
                                   const char **why)
{
    if (channel == SY_MESSAGE_ANSWERS)
        return sy_pending_next(&peer->engine.pending);
    if (have < 8)
        return 8;
    size_t head = sy_record_head(sy_record_word(at));
    return have < head ? head : sy_record_size(at, have, why);
}

static void message_receive_keep(struct sy_message_peer *peer, enum sy_message_channel channel,
                                 const char *from, size_t length, const char **why)
{
    struct sy_message_bytes *partial = &peer->partial[channel];
    size_t most = channel == SY_MESSAGE_REQUESTS
                      ? PARTIAL_MOST
                      : REPLIES_MOST(peer->messages->inner->message_size);

    if (partial->end - partial->begin + length > most) {
        *why = "it sends more behind large data than agreed";
        return;
    }
    if (partial->begin > SY_MESSAGE_HEAD && partial->room - partial->end < length) {
        memmove(partial->at + SY_MESSAGE_HEAD, partial->at + partial->begin,
                partial->end - partial->begin);
        partial->end -= partial->begin - SY_MESSAGE_HEAD;
        partial->begin = SY_MESSAGE_HEAD;
    }
    if (!message_receive_reserve(partial, length)) {
        *why = no_memory;
        return;
    }
    sy_copy_bytes(partial->at + partial->end, from, length);
    partial->end += length;
}

/* Takes the bytes of a message: completes a record of which the last message had the beginning, or
 * joins what had to wait; then goes on in place, and keeps what is left. */
static void message_receive_bytes(struct sy_message_peer *peer, enum sy_message_channel channel,
                                  const char *from, size_t length, const char **why)
{
    struct sy_message_bytes *partial = &peer->partial[channel];
    size_t have, want, used;

    while ((have = partial->end - partial->begin) && !*why &&
           !message_receive_is_held(peer, channel, partial->at + partial->begin, have)) {
        want = message_receive_want(peer, channel, partial->at + partial->begin, have, why);
        if (*why || (want > have && !length))
            return;
        if (want > have) {
            size_t more = want - have < length ? want - have : length;
            message_receive_keep(peer, channel, from, more, why);
            from += more;
            length -= more;
        } else {
            partial->begin += message_receive_use(peer, channel, partial->at + partial->begin, have,
                                                  why);
            if (partial->begin == partial->end)
                partial->begin = partial->end = SY_MESSAGE_HEAD;
        }
    }
    if (!length)
        return;
    used = *why ? length : have ? 0 : message_receive_use(peer, channel, from, length, why);
    if (!*why && used < length)
        message_receive_keep(peer, channel, from + used, length - used, why);
}

/* Takes a head. What the other side says it has applied has been written here, though perhaps not
 * counted as sent yet. */
static const char *message_receive_head(struct sy_message_peer *peer,
                                        const struct sy_message_head *head, size_t length)
{
    struct sy_tx *tx = &peer->engine.tx;

    if (head->length != length - sizeof *head)
        return "a message is not as long as it says";
    if (head->channel >= SY_MESSAGE_CHANNELS || head->flags & ~SY_MESSAGE_ASKS)
        return "a message is of no known kind";
    if (head->applied < sy_tx_applied(tx) || head->applied > sy_tx_tail(tx))
        return "it has applied what was not sent";
    atomic_store_explicit(&tx->applied, head->applied, memory_order_release);
    return NULL;
}

/* The other side waits to hear how far its requests have been applied: now, and again when pieces
 * that are missing have come. */
static void message_receive_asked(struct sy_message_peer *peer)
{
    bool waits = sy_message_large_holds(peer) != SY_MESSAGE_FREE;

    if (waits)
        peer->large->asked = true;
    if (!waits || atomic_load(&peer->applied) != atomic_load(&peer->told))
        atomic_store(&peer->due, true);
}

static const char *message_receive_one(struct sy_message_peer *peer, const char *bytes,
                                       size_t length)
{
    struct sy_message_head head;
    const char *why = NULL;

    if (length < sizeof head)
        return "a message is too short";
    memcpy(&head, bytes, sizeof head);
    why = message_receive_head(peer, &head, length);
    if (!why && head.length)
        message_receive_bytes(peer, head.channel, bytes + sizeof head, head.length, &why);
    if (head.flags & SY_MESSAGE_ASKS)
        message_receive_asked(peer);
    if (head.flags & SY_MESSAGE_ASKS || atomic_load(&peer->owed))
        sy_message_owe(peer);
    return why;
}

/* Reports who breaks the rules, once. */
static void message_receive_judge(struct sy_messages *messages, struct sy_message_peer *peer,
                                  int pe, const char *why)
{
    if (!why)
        return;
    if (peer)
        peer->over = true;
    sy_message_lost(messages, pe, why == no_memory ? -ENOMEM : -EPROTO, why);
}

/* The message is missing where it belongs, so the job cannot go on. */
static void message_receive_from_nobody(const struct sy_messages *messages, int pe)
{
    char why[80];

    snprintf(why, sizeof why, "a message of PE %d is handed up to PE %d of %d", pe,
             messages->host->pe, messages->host->npes);
    sy_message_lost(messages, messages->host->pe, -EPROTO, why);
}

/* ---- pieces beside the messages ---- */

/* Goes on with what has waited for pieces that are there now. Whoever asked is told about each of
 * them, until there is nothing more to wait for. */
static const char *message_receive_look(struct sy_message_peer *peer, bool *any)
{
    const char *why = NULL;
    bool went = sy_message_large_retire(peer);

    if (went)
        message_receive_publish(peer);
    for (int channel = 0; channel < SY_MESSAGE_CHANNELS && !why; channel++) {
        struct sy_message_bytes *partial = &peer->partial[channel];
        uint64_t before = partial->begin;
        message_receive_bytes(peer, (enum sy_message_channel)channel, NULL, 0, &why);
        went |= partial->begin != before;
    }
    bool waits = sy_message_large_holds(peer) != SY_MESSAGE_FREE,
         busy = sy_message_large_busy(peer);
    if (peer->large->asked && (went || !waits))
        atomic_store(&peer->due, true);
    peer->large->asked &= waits;
    if (atomic_load(&peer->due) || atomic_load(&peer->owed))
        sy_message_owe(peer);
    if (busy)
        sy_message_large_look_later(peer);
    *any |= went;
    return why;
}

static bool message_receive_look_at(struct sy_messages *messages, unsigned slot)
{
    struct sy_message_peer *peer = (struct sy_message_peer *)messages->engine.peer[slot];
    bool any = false;

    if (peer->over)
        return false;
    if (pthread_mutex_trylock(&messages->receiving)) {
        sy_message_large_look_later(peer);
        return false;
    }
    const char *why = message_receive_look(peer, &any);
    pthread_mutex_unlock(&messages->receiving);
    message_receive_judge(messages, peer, peer->engine.pe, why);
    return any;
}

bool sy_message_receive_pieces(struct sy_messages *messages)
{
    unsigned count = sy_engine_peers(&messages->engine);
    bool any = false;

    if (!atomic_exchange(&messages->any_moving, false))
        return false;
    sy_regions_ensure(&messages->regions);
    for (unsigned word = 0; word * 64 < count; word++) {
        uint64_t bits = atomic_exchange(&messages->moving[word], 0);
        for (; bits; bits &= bits - 1)
            any = message_receive_look_at(messages, word * 64 + (unsigned)__builtin_ctzll(bits)) ||
                  any;
    }
    return any;
}

/* ---- messages ---- */

void sy_message_received(void *receiver, int pe, const void *bytes, size_t length)
{
    struct sy_messages *messages = receiver;

    if (pe < 0 || pe >= messages->host->npes || pe == messages->host->pe) {
        message_receive_from_nobody(messages, pe);
        return;
    }
    sy_regions_ensure(&messages->regions);
    struct sy_message_peer *peer = sy_message_peer(messages, pe);
    if (peer && peer->over)
        return;
    pthread_mutex_lock(&messages->receiving);
    const char *why = peer ? message_receive_one(peer, bytes, length) : no_memory;
    pthread_mutex_unlock(&messages->receiving);
    message_receive_judge(messages, peer, pe, why);
}

/* Pieces beside the messages: see large.h. */
#include <errno.h>

#include "engine/issue.h"
#include "engine/message.h"
#include "engine/parts.h"

#define WORD      8
#define PUT_BYTES (3 * (size_t)WORD) /* of the record */
#define SOON      10                 /* microseconds */

enum { PUTS, GETS }; /* the two kinds of pieces, which have numbers of their own */

static uint64_t message_large_get(const _Atomic uint64_t *count)
{
    return atomic_load_explicit(count, memory_order_acquire);
}

static void message_large_set(_Atomic uint64_t *count, uint64_t value)
{
    atomic_store_explicit(count, value, memory_order_release);
}

static struct sy_message_piece *message_large_at(struct sy_message_pieces *pieces, uint64_t index)
{
    return &pieces->piece[index % SY_MESSAGE_PIECES];
}

static bool message_large_is_done(const struct sy_message_pieces *pieces, uint64_t index)
{
    return atomic_load_explicit(&pieces->piece[index % SY_MESSAGE_PIECES].beside.done,
                                memory_order_acquire);
}

static bool message_large_is_full(const struct sy_message_pieces *pieces)
{
    return message_large_get(&pieces->begun) - message_large_get(&pieces->over) ==
           SY_MESSAGE_PIECES;
}

static bool message_large_is_empty(const struct sy_message_pieces *pieces)
{
    return message_large_get(&pieces->begun) == message_large_get(&pieces->over);
}

/* The number of a piece. Both sides count a direction's pieces, in the order of their records. */
static uint64_t message_large_number(uint64_t index, unsigned kind)
{
    return index * 2 + kind;
}

void sy_message_large_done(void *receiver, void *ticket)
{
    struct sy_message_piece *piece = ticket;

    (void)receiver;
    atomic_store_explicit(&piece->beside.done, true, memory_order_release);
}

/* Fills the next place of a ring that is not full. */
static struct sy_message_piece *message_large_fill(struct sy_message_pieces *pieces, char *bytes,
                                                   size_t length, unsigned region,
                                                   uint64_t position)
{
    struct sy_message_piece *piece = message_large_at(pieces, message_large_get(&pieces->begun));

    atomic_store_explicit(&piece->beside.done, false, memory_order_relaxed);
    piece->beside.over = &pieces->over;
    piece->bytes = bytes;
    piece->length = length;
    piece->region = region;
    piece->position = position;
    piece->lasts = 0;
    return piece;
}

static void message_large_enter(struct sy_message_pieces *pieces)
{
    message_large_set(&pieces->begun, message_large_get(&pieces->begun) + 1);
}

/* ---- the transport ---- */

/* Hands a piece to the transport to be sent. False: there is no room. */
static bool message_large_send(struct sy_message_peer *peer, uint64_t index, unsigned kind,
                               struct sy_message_piece *piece)
{
    const struct sy_messages *messages = peer->messages;
    int rc = messages->inner->large_send(messages->self, peer->engine.pe,
                                         message_large_number(index, kind), piece->bytes,
                                         piece->length, piece);

    if (rc && rc != -EAGAIN) {
        sy_message_large_done(NULL, piece);
        sy_message_lost(messages, peer->engine.pe, rc, "data for it could not be sent");
    }
    return rc != -EAGAIN;
}

static void message_large_receive(struct sy_message_peer *peer, uint64_t index, unsigned kind,
                                  struct sy_message_piece *piece)
{
    const struct sy_messages *messages = peer->messages;
    int rc = messages->inner->large_receive(messages->self, peer->engine.pe,
                                            message_large_number(index, kind), piece->bytes,
                                            piece->length, piece);

    if (rc)
        sy_message_lost(messages, peer->engine.pe, rc, "data of it cannot be received");
}

/* ---- calls of this PE ---- */

/* Frees places of puts whose bytes have left and have reached the target: then the target has a
 * place too. By the producer. */
static void message_large_retire_puts(struct sy_message_peer *peer)
{
    struct sy_message_pieces *puts = &peer->large->puts;
    uint64_t applied = sy_tx_applied(&peer->engine.tx);

    for (uint64_t i = message_large_get(&puts->over); i != message_large_get(&puts->begun); i++) {
        if (!message_large_is_done(puts, i) || message_large_at(puts, i)->position > applied)
            break;
        message_large_set(&puts->over, i + 1);
    }
}

static void message_large_write_put(char *room, const struct sy_parts *parts, size_t done,
                                    size_t part)
{
    const struct sy_transfer *t = parts->transfer;
    size_t lasts = done + part < parts->length ? 0 : t->length - parts->length;
    uint64_t word[3] = {sy_request_at(sy_parts_place(parts, done), SY_RECORD_PUT_LARGE, 0),
                        part | (uint64_t)lasts << 56, 0};

    memcpy(&word[2], (const char *)t->local + parts->length, lasts);
    memcpy(room, word, sizeof word);
}

/* Issues one piece of a put. The data are given to the transport first, since only that may be
 * refused. The other side is asked to tell when it has them. */
static bool message_large_issue_put(const struct sy_parts *parts, size_t done, size_t part,
                                    uint64_t *wanted)
{
    const struct sy_transfer *t = parts->transfer;
    struct sy_engine_peer *engine = sy_engine_begin(parts->engine, parts->ctx, t->pe);
    struct sy_message_peer *peer = (struct sy_message_peer *)engine;
    char *room;

    if (!engine || !(room = sy_engine_room(engine, PUT_BYTES)))
        return false;
    struct sy_message_pieces *puts = &peer->large->puts;
    uint64_t index = message_large_get(&puts->begun),
             position = sy_tx_tail(&engine->tx) + PUT_BYTES;
    message_large_retire_puts(peer);
    if (message_large_is_full(puts) ||
        !message_large_send(
            peer, index, PUTS,
            message_large_fill(puts, (char *)t->local + done, part, t->window, position))) {
        sy_engine_end(engine);
        return false;
    }
    message_large_write_put(room, parts, done, part);
    message_large_enter(puts);
    *wanted = index + 1;
    sy_tx_ask(&engine->tx, position);
    sy_engine_commit(parts->ctx, engine, PUT_BYTES, true);
    return true;
}

/* Whether the sources of all pieces before `end` may be changed. A place that is used again
 * meanwhile belongs to one that came after those that are asked for. */
static bool message_large_has_left(const struct sy_message_pieces *puts, uint64_t end)
{
    for (uint64_t i = message_large_get(&puts->over); i < end; i++)
        if (!message_large_is_done(puts, i) && message_large_get(&puts->over) <= i)
            return false;
    return true;
}

static void message_large_wait_left(const struct sy_engine *engine, int pe, uint64_t end)
{
    struct sy_message_peer *peer = (struct sy_message_peer *)atomic_load(&engine->routes[pe].peer);
    uint64_t since = 0;

    while (!message_large_has_left(&peer->large->puts, end))
        sy_engine_pass_time(&peer->engine, &since);
}

/* Whether a transfer goes by pieces, if it has `least` bytes; others go in parts, by messages. */
static bool message_large_is_fit(const struct sy_engine *engine, const struct sy_transfer *t,
                                 size_t least)
{
    const struct sy_messages *messages = (const struct sy_messages *)engine;

    return messages->inner->large_size && t->length >= least &&
           !atomic_load(&messages->regions.device[t->window]);
}

int sy_message_large_put(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                         const struct sy_transfer *t, unsigned flags)
{
    const struct sy_messages *messages = (const struct sy_messages *)engine;
    size_t lasts = (size_t)((t->offset + t->length - 1) % WORD + 1); /* bytes of the last word */
    uint64_t end = 0;

    if (!message_large_is_fit(engine, t, SY_MESSAGE_PUT))
        return sy_parts_put(engine, ctx, t);
    const struct sy_parts parts = {engine,
                                   ctx,
                                   t->pe,
                                   t->length - lasts,
                                   messages->inner->large_size,
                                   t,
                                   message_large_issue_put};
    int rc = sy_parts_issue_all(&parts, &end);
    if (!rc && flags & SY_BLOCKING)
        message_large_wait_left(engine, t->pe, end);
    return rc;
}

static bool message_large_issue_get(const struct sy_parts *parts, size_t done, size_t part,
                                    uint64_t *wanted)
{
    const struct sy_transfer *t = parts->transfer;
    struct sy_engine_peer *engine = sy_engine_begin(parts->engine, parts->ctx, t->pe);
    struct sy_message_peer *peer = (struct sy_message_peer *)engine;
    uint64_t number;

    if (!engine)
        return false;
    struct sy_message_pieces *gets = &peer->large->gets;
    if (message_large_is_full(gets)) {
        sy_engine_end(engine);
        return false;
    }
    uint64_t index = message_large_get(&gets->begun);
    struct sy_message_piece *piece = message_large_fill(
        gets, (char *)t->local + done, part, t->window,
        sy_tx_tail(&engine->tx) + 2 * (uint64_t)WORD);
    char *room = sy_engine_asking_room(parts->ctx, engine, 2 * WORD, &piece->beside, WORD,
                                       SY_PENDING_BESIDE, &number);
    if (!room)
        return false;
    message_large_enter(gets);
    message_large_receive(peer, index, GETS, piece);
    sy_message_large_look_later(peer);
    sy_request_write_long(room, sy_parts_place(parts, done), SY_RECORD_GET_LARGE, part);
    *wanted = number;
    sy_engine_commit(parts->ctx, engine, 2 * WORD, true);
    return true;
}

int sy_message_large_get(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                         const struct sy_transfer *t, unsigned flags)
{
    const struct sy_messages *messages = (const struct sy_messages *)engine;

    if (!message_large_is_fit(engine, t, SY_MESSAGE_GET))
        return sy_parts_get(engine, ctx, t, flags);
    const struct sy_parts parts = {
        engine, ctx, t->pe, t->length, messages->inner->large_size, t, message_large_issue_get};
    return sy_parts_issue(&parts, flags & SY_BLOCKING);
}

/* The position in the stream of the first piece that the other side has not applied, or the
 * stream's end. By the producer, which alone enters pieces. */
static uint64_t message_large_first(const struct sy_message_pieces *pieces, const struct sy_tx *tx)
{
    uint64_t applied = sy_tx_applied(tx), end = message_large_get(&pieces->begun);

    for (uint64_t i = message_large_get(&pieces->over); i != end; i++)
        if (pieces->piece[i % SY_MESSAGE_PIECES].position > applied)
            return pieces->piece[i % SY_MESSAGE_PIECES].position;
    return sy_tx_tail(tx);
}

bool sy_message_large_full(struct sy_message_peer *peer)
{
    const struct sy_tx *tx = &peer->engine.tx;

    if (!peer->large)
        return false;
    uint64_t puts = message_large_first(&peer->large->puts, tx),
             gets = message_large_first(&peer->large->gets, tx);
    return sy_tx_tail(tx) - (puts < gets ? puts : gets) >= SY_MESSAGE_BEHIND;
}

/* ---- what the other side asks for; the receiver ---- */

enum sy_message_hold sy_message_large_holds(const struct sy_message_peer *peer)
{
    const struct sy_message_large *large = peer->large;

    if (!large)
        return SY_MESSAGE_FREE;
    if (message_large_is_full(&large->coming) || message_large_is_full(&large->going))
        return SY_MESSAGE_HELD;
    return message_large_is_empty(&large->coming) ? SY_MESSAGE_FREE : SY_MESSAGE_PIECES_ALONE;
}

bool sy_message_large_collides(const struct sy_message_peer *peer, const char *at, size_t have)
{
    const struct sy_message_pieces *coming = &peer->large->coming;
    uint64_t header = sy_record_word(at), end = message_large_get(&coming->begun);

    if (sy_record_op(header) != SY_RECORD_PUT_LARGE || have < PUT_BYTES)
        return false;
    size_t length = (size_t)sy_record_beside(at) + sy_record_last(at);
    const char *bytes = sy_regions_find(&peer->messages->regions, header, sy_record_offset(header),
                                        length);
    for (uint64_t i = message_large_get(&coming->over); bytes && i != end; i++) {
        const struct sy_message_piece *piece = &coming->piece[i % SY_MESSAGE_PIECES];
        if (bytes < piece->bytes + piece->length + piece->lasts && piece->bytes < bytes + length)
            return true;
    }
    return false;
}

const char *sy_message_large_announced(struct sy_message_peer *peer, const char *at,
                                       uint64_t position)
{
    struct sy_regions *regions = &peer->messages->regions;
    uint64_t header = sy_record_word(at);
    bool puts = sy_record_op(header) == SY_RECORD_PUT_LARGE;
    uint64_t length = puts ? sy_record_beside(at) : sy_record_data(at);
    unsigned lasts = puts ? sy_record_last(at) : 0;
    char *bytes;

    if (!peer->large)
        return "a record is of no known kind";
    if (!length || length > peer->messages->inner->large_size || lasts > WORD)
        return "a record is longer than agreed";
    if (!(bytes = sy_regions_find(regions, header, sy_record_offset(header), length + lasts)))
        return sy_apply_outside;
    struct sy_message_pieces *pieces = puts ? &peer->large->coming : &peer->large->going;
    struct sy_message_piece *piece = message_large_fill(pieces, bytes, (size_t)length,
                                                        sy_record_region(header), position);
    piece->lasts = lasts;
    piece->last = puts ? sy_record_word(at + 16) : 0;
    message_large_enter(pieces);
    sy_message_owe(peer);
    sy_message_large_look_later(peer);
    return NULL;
}

uint64_t sy_message_large_applied(const struct sy_message_peer *peer, uint64_t used)
{
    if (!peer->large || message_large_is_empty(&peer->large->coming))
        return used;
    return message_large_at(&peer->large->coming, message_large_get(&peer->large->coming.over))
        ->position;
}

/* Retires complete pieces from the first on: they are told of in the order of the stream. */
static bool message_large_retire(struct sy_message_pieces *pieces)
{
    uint64_t first = message_large_get(&pieces->over), i = first;

    for (; i != message_large_get(&pieces->started) && message_large_is_done(pieces, i); i++) {
        const struct sy_message_piece *piece = message_large_at(pieces, i);
        sy_apply_store(piece->bytes + piece->length, (const char *)&piece->last, piece->lasts);
    }
    if (i != first)
        message_large_set(&pieces->over, i);
    return i != first;
}

bool sy_message_large_retire(struct sy_message_peer *peer)
{
    bool went = message_large_retire(&peer->large->going);

    return message_large_retire(&peer->large->coming) || went;
}

bool sy_message_large_busy(const struct sy_message_peer *peer)
{
    const struct sy_message_large *large = peer->large;

    return large &&
           !(message_large_is_empty(&large->coming) && message_large_is_empty(&large->going) &&
             message_large_is_empty(&large->gets));
}

bool sy_message_large_owes(const struct sy_message_peer *peer)
{
    return sy_message_large_busy(peer) ||
           (peer->large && !message_large_has_left(&peer->large->puts,
                                                   message_large_get(&peer->large->puts.begun)));
}

static bool message_large_uses(const struct sy_message_pieces *pieces, unsigned region)
{
    for (uint64_t i = message_large_get(&pieces->over); i < message_large_get(&pieces->begun); i++)
        if (pieces->piece[i % SY_MESSAGE_PIECES].region == region)
            return true;
    return false;
}

bool sy_message_large_uses(const struct sy_message_peer *peer, unsigned region)
{
    return peer->large && (message_large_uses(&peer->large->coming, region) ||
                           message_large_uses(&peer->large->going, region));
}

/* ---- the sender ---- */

/* A piece may be complete at once, where its data came before they were asked for, or were copied.
 * Then no arrival has anybody look at it, and the program may have left the library. */
static void message_large_started(const struct sy_message_peer *peer,
                                  struct sy_message_pieces *pieces, uint64_t index)
{
    message_large_set(&pieces->started, index + 1);
    if (message_large_is_done(pieces, index))
        peer->messages->host->soon(SOON);
}

bool sy_message_large_start(struct sy_message_peer *peer)
{
    struct sy_message_pieces *coming, *going;
    uint64_t i;

    if (!peer->large)
        return true;
    coming = &peer->large->coming;
    going = &peer->large->going;
    while ((i = message_large_get(&coming->started)) != message_large_get(&coming->begun)) {
        message_large_receive(peer, i, PUTS, message_large_at(coming, i));
        message_large_started(peer, coming, i);
    }
    while ((i = message_large_get(&going->started)) != message_large_get(&going->begun)) {
        if (!message_large_send(peer, i, GETS, message_large_at(going, i)))
            return false;
        message_large_started(peer, going, i);
    }
    return true;
}

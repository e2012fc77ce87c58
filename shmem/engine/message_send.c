/* From buffers to messages: see message.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/call.h"
#include "engine/issue.h"
#include "engine/message.h"
#include "util/clock.h"

#define RETRY 100 /* microseconds until a message that had no room is tried again */

/* ---- peers ---- */

static struct sy_message_peer *message_send_make_peer(struct sy_messages *messages, int pe)
{
    struct sy_message_peer *peer = aligned_alloc(_Alignof(struct sy_message_peer), sizeof *peer);
    struct sy_pending_reply *table = calloc(SY_PENDING_MOST, sizeof *table);
    bool has_large = messages->inner->large_size;
    struct sy_message_large *large = has_large ? calloc(1, sizeof *large) : NULL;

    if (!peer || !table || !large != !has_large) {
        free(peer);
        free(table);
        free(large);
        return NULL;
    }
    *peer = (struct sy_message_peer){.messages = messages,
                                     .large = large,
                                     .engine.pending = {.table = table, .room = SY_MESSAGE_REPLIES},
                                     .answering = PTHREAD_MUTEX_INITIALIZER};
    sy_engine_add(&messages->engine, &peer->engine, pe);
    return peer;
}

/* The first caller may issue or receive, so two threads may make a peer at once. */
struct sy_message_peer *sy_message_peer(struct sy_messages *messages, int pe)
{
    struct sy_message_peer *peer = atomic_load_explicit(&messages->peer[pe], memory_order_acquire);

    if (SY_LIKELY(peer))
        return peer;
    pthread_mutex_lock(&messages->making);
    peer = atomic_load_explicit(&messages->peer[pe], memory_order_relaxed);
    if (!peer && (peer = message_send_make_peer(messages, pe)))
        atomic_store_explicit(&messages->peer[pe], peer, memory_order_release);
    pthread_mutex_unlock(&messages->making);
    return peer;
}

void sy_message_peer_free(struct sy_message_peer *peer)
{
    if (!peer)
        return;
    sy_pending_drop(&peer->engine.pending);
    free(peer->engine.pending.table);
    free(peer->buffer);
    free(peer->large);
    free(peer->leaving.at);
    free(peer->answers.at);
    for (int i = 0; i < SY_MESSAGE_CHANNELS; i++)
        free(peer->partial[i].at);
    free(peer);
}

/* Enters a peer in a set: the bit before the flag, since a reader clears the flag before it reads
 * the bits. */
static void message_send_enter(const struct sy_message_peer *peer, _Atomic uint64_t *bits,
                               _Atomic bool *any)
{
    atomic_fetch_or(&bits[peer->engine.slot / 64], UINT64_C(1) << peer->engine.slot % 64);
    atomic_store(any, true);
}

void sy_message_owe(struct sy_message_peer *peer)
{
    message_send_enter(peer, peer->messages->uneasy, &peer->messages->any_uneasy);
}

void sy_message_large_look_later(struct sy_message_peer *peer)
{
    message_send_enter(peer, peer->messages->moving, &peer->messages->any_moving);
}

/* ---- one message ---- */

static bool message_send_asks(const struct sy_message_peer *peer, uint64_t sent)
{
    uint64_t ask = atomic_load_explicit(&peer->engine.tx.ask, memory_order_relaxed);

    return ask > peer->asked && sent >= ask && ask > sy_tx_applied(&peer->engine.tx);
}

void sy_message_lost(const struct sy_messages *messages, int pe, int rc, const char *why)
{
    char text[200];

    snprintf(text, sizeof text, "transport %s: %s%s", messages->name, why,
             rc > 0 ? ": its answer is neither 0 nor -errno" : "");
    messages->host->lost(pe, rc > 0 ? EPROTO : -rc, text);
}

static void message_send_failed(struct sy_message_peer *peer, int rc)
{
    struct sy_messages *messages = peer->messages;

    atomic_store_explicit(&peer->engine.tx.blocked, true, memory_order_relaxed);
    if (rc != -EAGAIN) {
        sy_message_lost(messages, peer->engine.pe, rc, "a message to it could not be sent");
        return;
    }
    sy_message_owe(peer);
    messages->host->soon(RETRY);
}

static int message_send_call(struct sy_message_peer *peer, const char *bytes, size_t length)
{
    const struct sy_messages *messages = peer->messages;
    struct sy_plugin_call *call = sy_plugin_call_own();

    sy_plugin_call_begin(call, messages->name, peer->engine.pe);
    int rc = messages->inner->message_send(messages->self, peer->engine.pe, bytes, length);
    sy_plugin_call_end(call);
    return rc;
}

/* Sends a message of the `length` bytes at `from`, before which there is room for a head. sent: the
 * position up to which requests have been sent then. `due` is cleared before `applied` is read, so
 * that what falls due for more stays due. That the other side cannot be reached any more is
 * reported where it matters: a PE that has closed has said how far it was, and that a question or
 * an answer comes too late for it is no failure. */
static bool message_send_one(struct sy_message_peer *peer, enum sy_message_channel channel,
                             char *from, size_t length, uint64_t sent)
{
    bool due = atomic_exchange(&peer->due, false), asks = message_send_asks(peer, sent);
    struct sy_message_head head = {
        .length = (uint32_t)length,
        .channel = (uint16_t)channel,
        .flags = asks ? SY_MESSAGE_ASKS : 0,
        .applied = atomic_load_explicit(&peer->applied, memory_order_acquire)};

    memcpy(from - sizeof head, &head, sizeof head);
    int rc = message_send_call(peer, from - sizeof head, sizeof head + length);
    if (rc && (rc == -EAGAIN || length)) {
        if (due)
            atomic_store(&peer->due, true);
        message_send_failed(peer, rc);
        return false;
    }
    peer->sent++;
    if (asks)
        peer->asked = sent;
    atomic_store(&peer->told, head.applied);
    return true;
}

/* ---- all that waits for a peer; the sender ---- */

static size_t message_send_most(const struct sy_message_peer *peer, uint64_t waiting)
{
    size_t most = peer->messages->inner->message_size - SY_MESSAGE_HEAD;

    return waiting < most ? (size_t)waiting : most;
}

/* Takes what the receiver has made meanwhile; false: nothing. */
static bool message_send_take_answers(struct sy_message_peer *peer)
{
    struct sy_message_bytes empty = peer->leaving;

    if (!atomic_load(&peer->owed))
        return false;
    empty.begin = empty.end = SY_MESSAGE_HEAD;
    if (empty.room > SY_MESSAGE_BUFFER) { /* the other side has not read for long */
        free(empty.at);
        empty = (struct sy_message_bytes){.at = NULL};
    }
    pthread_mutex_lock(&peer->answering);
    peer->leaving = peer->answers;
    peer->answers = empty;
    pthread_mutex_unlock(&peer->answering);
    return peer->leaving.begin < peer->leaving.end;
}

/* Sends replies. False: there is no room. */
static bool message_send_answers(struct sy_message_peer *peer)
{
    struct sy_message_bytes *leaving = &peer->leaving;
    uint64_t sent = sy_tx_sent(&peer->engine.tx);

    while (leaving->begin < leaving->end || message_send_take_answers(peer)) {
        size_t length = message_send_most(peer, leaving->end - leaving->begin);
        if (!message_send_one(peer, SY_MESSAGE_ANSWERS, leaving->at + leaving->begin, length, sent))
            return false;
        leaving->begin += length;
        atomic_fetch_sub(&peer->owed, length);
    }
    return true;
}

/* Sends requests. The producer uses the buffer's memory again when it has seen that all has been
 * sent, so `base` does not change while something waits. */
static bool message_send_requests(struct sy_message_peer *peer)
{
    struct sy_tx *tx = &peer->engine.tx;
    uint64_t tail, sent;

    while ((tail = sy_tx_tail(tx)) > (sent = sy_tx_sent(tx))) {
        size_t length = message_send_most(peer, tail - sent);
        char *from = peer->buffer + SY_MESSAGE_HEAD + (sent - peer->base);
        if (!message_send_one(peer, SY_MESSAGE_REQUESTS, from, length, sent + length))
            return false;
        atomic_store_explicit(&tx->sent, sent + length, memory_order_release);
        sy_flush_sent(&peer->engine.flush, sy_clock_ns());
    }
    return true;
}

static void message_send_pieces(struct sy_message_peer *peer)
{
    if (sy_message_large_start(peer))
        return;
    sy_message_owe(peer);
    peer->messages->host->soon(RETRY);
}

/* Sends all there is, replies first, since somebody waits for them. True: something has left. */
static bool message_send_all(struct sy_message_peer *peer)
{
    char none[SY_MESSAGE_HEAD];
    uint64_t before = peer->sent;

    atomic_store_explicit(&peer->engine.tx.blocked, false, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* before the tail is read */
    message_send_pieces(peer);
    bool all = message_send_answers(peer) && message_send_requests(peer);
    uint64_t sent = sy_tx_sent(&peer->engine.tx);

    if (all && (atomic_load(&peer->due) || message_send_asks(peer, sent)))
        message_send_one(peer, SY_MESSAGE_REQUESTS, none + sizeof none, 0, sent);
    return peer->sent != before;
}

/* Either this thread gets the lock, or the holder finds `again` when it has given the lock back. */
static bool message_send_flush(struct sy_message_peer *peer)
{
    bool any = false;

    do {
        atomic_store(&peer->again, true);
        if (atomic_exchange(&peer->sending, true))
            return any;
        atomic_store(&peer->again, false);
        any = message_send_all(peer) || any;
        atomic_store(&peer->sending, false);
    } while (atomic_load(&peer->again));
    return any;
}

bool sy_message_owes(const struct sy_message_peer *peer)
{
    const struct sy_tx *tx = &peer->engine.tx;

    return atomic_load(&peer->owed) || atomic_load(&peer->due) || sy_tx_tail(tx) > sy_tx_sent(tx) ||
           sy_message_large_owes(peer);
}

/* ---- all peers ---- */

static bool message_send_uneasy(struct sy_messages *messages)
{
    unsigned count = sy_engine_peers(&messages->engine);
    bool any = false;

    if (!atomic_load(&messages->any_uneasy) || !atomic_exchange(&messages->any_uneasy, false))
        return false;
    for (unsigned word = 0; word * 64 < count; word++) {
        uint64_t bits = atomic_exchange(&messages->uneasy[word], 0);
        for (; bits; bits &= bits - 1) {
            unsigned slot = word * 64 + (unsigned)__builtin_ctzll(bits);
            struct sy_engine_peer *peer = messages->engine.peer[slot];
            any = message_send_flush((struct sy_message_peer *)peer) || any;
        }
    }
    return any;
}

int sy_message_progress(void *self, unsigned flags)
{
    struct sy_messages *messages = self;
    int done = messages->inner->progress(messages->self, flags);

    if (SY_UNLIKELY(atomic_load(&messages->any_moving)) && sy_message_receive_pieces(messages) &&
        done <= 0)
        done = 1;
    sy_engine_send_gathered(&messages->engine, flags & SY_PROGRESS_EVENT);
    return message_send_uneasy(messages) && done <= 0 ? 1 : done;
}

/* ---- what the engine asks for ---- */

static struct sy_engine_peer *message_send_route(struct sy_engine *engine, int pe, unsigned *target)
{
    struct sy_message_peer *peer = sy_message_peer((struct sy_messages *)engine, pe);

    if (!peer)
        sy_engine_no_memory(engine, pe);
    *target = SY_RECORD_TARGET_SELF;
    return peer ? &peer->engine : NULL;
}

/* Makes room in the buffer. It is used from its beginning to its end, and again when all of it has
 * been sent. */
static bool message_send_room(struct sy_engine_peer *engine, size_t bytes)
{
    struct sy_message_peer *peer = (struct sy_message_peer *)engine;
    struct sy_tx *tx = &engine->tx;
    uint64_t tail = sy_tx_tail(tx);

    if (!peer->buffer)
        peer->buffer = malloc(SY_MESSAGE_HEAD + SY_MESSAGE_BUFFER);
    if (!peer->buffer)
        sy_engine_no_memory(&peer->messages->engine, engine->pe);
    if (!peer->buffer || bytes > SY_MESSAGE_BUFFER)
        return false;
    if (tail > sy_tx_sent(tx))
        message_send_flush(peer);
    if (tail > atomic_load_explicit(&tx->sent, memory_order_acquire) || sy_message_large_full(peer))
        return false;
    peer->base = tail;
    tx->at = peer->buffer + SY_MESSAGE_HEAD;
    tx->end = tx->at + SY_MESSAGE_BUFFER;
    return true;
}

static void message_send_now_all(struct sy_engine_peer *peer)
{
    message_send_flush((struct sy_message_peer *)peer);
}

static long message_send_poll(struct sy_engine *engine, struct sy_engine_peer *expected)
{
    (void)expected;
    return sy_message_progress(engine, 0);
}

const struct sy_engine_ops sy_message_ops = {
    .route = message_send_route,
    .room = message_send_room,
    .send = message_send_now_all,
    .poll = message_send_poll,
    .longest_put = {SY_MESSAGE_RECORD, SY_MESSAGE_RECORD},
    .longest_get = SY_MESSAGE_RECORD,
    .put_large = sy_message_large_put,
    .get_large = sy_message_large_get,
};

/* Write combining: element puts to consecutive places become one record, 8 bytes each on the wire
 * instead of 16.
 *
 * It begins with an element that continues the one before it while something is gathered on the
 * stream anyway, so it delays nothing that would have left at once. Its bytes lie behind the tail,
 * and nobody sends them before they are committed: by the producer when it appends something else
 * or the record is full, or by the thread that sends, which keeps the producer out meanwhile
 * (producer.h). */
#include "engine/issue.h"

void sy_combine_close(struct sy_engine_peer *peer)
{
    struct sy_combine *combine = &peer->combine;
    size_t padded = sy_record_padded(combine->bytes);
    uint64_t word[2] = {combine->header, combine->bytes};

    if (!sy_combine_is_open(peer))
        return;
    memset(peer->tx.at + 16 + combine->bytes, 0, padded - combine->bytes);
    memcpy(peer->tx.at, word, sizeof word);
    sy_tx_commit(&peer->tx, 16 + padded);
    atomic_store_explicit(&combine->open, false, memory_order_release);
}

void sy_combine_flush(struct sy_engine_peer *peer)
{
    if (!sy_combine_is_open(peer))
        return;
    if (sy_producer_is_me(&peer->producer)) {
        sy_producer_lock(&peer->producer);
        sy_combine_close(peer);
        sy_producer_unlock(&peer->producer);
    } else if (sy_producer_stop(&peer->producer)) {
        sy_combine_close(peer);
        sy_producer_go(&peer->producer);
    } else {
        sy_engine_send_later(peer, true);
    }
}

static uint64_t combine_waiting(const struct sy_engine_peer *peer)
{
    return sy_tx_tail(&peer->tx) - sy_tx_sent(&peer->tx);
}

/* False: nothing waits to be sent, or the longest record has no room. */
static bool combine_begin(struct sy_engine_peer *peer)
{
    struct sy_combine *combine = &peer->combine;
    size_t most = 16 + SY_RECORD_LONG;

    if (!combine_waiting(peer) ||
        (!sy_tx_fits(&peer->tx, most) && !peer->engine->ops->room(peer, most)))
        return false;
    combine->header = sy_record_as(combine->next, SY_RECORD_PUT_LONG, 0);
    combine->bytes = 0;
    sy_producer_gathers(&peer->producer);
    atomic_store_explicit(&combine->open, true, memory_order_relaxed);
    return true;
}

bool sy_combine_put(struct sy_engine_ctx *ctx, struct sy_engine_peer *peer, const void *from,
                    unsigned code)
{
    struct sy_combine *combine = &peer->combine;
    size_t size = (size_t)1 << code;
    bool begin = !sy_combine_is_open(peer);

    if (begin && !combine_begin(peer))
        return false;
    size_t bytes = combine->bytes;
    char *to = peer->tx.at + 16 + bytes;
    if (SY_LIKELY(size == 8)) /* one load and one store */
        memcpy(to, from, 8);
    else
        memcpy(to, from, size);
    combine->bytes = bytes += size;
    combine->next = sy_record_behind(combine->next, size);
    sy_engine_mark(ctx, peer, sy_tx_tail(&peer->tx) + 16 + sy_record_padded(bytes));
    sy_engine_dirty(ctx);
    if (bytes == SY_RECORD_LONG)
        sy_combine_close(peer);
    sy_engine_end(peer);
    if (begin)
        sy_engine_send_later(peer, true);
    else if (combine_waiting(peer) >= peer->flush.most && sy_tx_is_free(&peer->tx))
        peer->engine->ops->send(peer);
    return true;
}

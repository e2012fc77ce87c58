#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/record.h"
#include "transports/tcp/stream/queue.h"
#include "util/copy.h"

#define WINDOW 4096u /* bytes of room that are taken at a time */
#define SPARES 8u    /* copies that are kept */
#define WORDS  64u   /* bytes of records that make no frame of their own */

int sy_tcp_queue_open(struct tcp_queue *queue, struct sy_tx *tx, size_t size, size_t most)
{
    memset(queue, 0, sizeof *queue);
    queue->tx = tx;
    queue->most = most;
    int rc = sy_tcp_ring_open(&queue->ring, size);
    if (!rc)
        tx->at = tx->end = queue->ring.base;
    return rc;
}

static char *queue_at(const struct tcp_queue *queue, uint64_t ring)
{
    return sy_tcp_ring_at(&queue->ring, ring + queue->shift);
}

static struct tcp_segment *segment_at(const struct tcp_queue *queue, uint64_t index)
{
    return &queue->segment[index & (TCP_SEGMENTS - 1)];
}

static uint64_t queue_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void queue_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* ---- copies ---- */

static bool queue_copy_is_large(size_t length)
{
    return length > SY_RECORD_CHUNK / 2;
}

/* A large copy is as long as the longest, so that it can be used again for any. */
void *sy_tcp_queue_copy(struct tcp_queue *queue, size_t length)
{
    void *copy = queue_copy_is_large(length) ? queue->spare : NULL;

    if (!copy)
        return malloc(queue_copy_is_large(length) ? SY_RECORD_CHUNK : length);
    queue->spare = *(void **)copy;
    queue->spares--;
    return copy;
}

void sy_tcp_queue_uncopy(struct tcp_queue *queue, void *copy, size_t length)
{
    if (!copy || !queue_copy_is_large(length) || queue->spares == SPARES) {
        free(copy);
        return;
    }
    *(void **)copy = queue->spare;
    queue->spare = copy;
    queue->spares++;
}

static void queue_forget_copies(struct tcp_queue *queue)
{
    for (void *next; queue->spare; queue->spare = next) {
        next = *(void **)queue->spare;
        free(queue->spare);
    }
    queue->spares = 0;
}

/* ---- the queue ---- */

void sy_tcp_queue_close(struct tcp_queue *queue)
{
    queue_forget_copies(queue);
    for (uint64_t i = queue_get(&queue->applied.segment);
         queue->segment && i < queue_get(&queue->segment_tail); i++)
        free(segment_at(queue, i)->copy);
    sy_tcp_table_close(queue->segment, TCP_SEGMENTS * sizeof *queue->segment);
    queue->segment = NULL;
    sy_tcp_ring_close(&queue->ring);
}

/* Nothing is in the queue. Where there is no memory for the larger ring it keeps the one it has. */
static void queue_grow(struct tcp_queue *queue)
{
    struct tcp_ring ring;

    queue->full = false;
    if (sy_tcp_ring_open(&ring, queue->most)) {
        queue->most = queue->ring.size;
        return;
    }
    sy_tcp_ring_close(&queue->ring);
    queue->ring = ring;
}

/* There is no room. Before there is a larger ring all must have been applied, which the other side
 * is asked to say. */
static bool queue_is_full(struct tcp_queue *queue)
{
    if (queue->ring.size < queue->most) {
        queue->full = true;
        sy_tx_ask(queue->tx, queue_get(&queue->tx->tail));
    }
    return false;
}

bool sy_tcp_queue_room(struct tcp_queue *queue, size_t bytes)
{
    struct sy_tx *tx = queue->tx;
    uint64_t end = queue_get(&tx->tail) - queue->in_segments;
    uint64_t used = end - atomic_load_explicit(&queue->applied.ring, memory_order_acquire);
    size_t most = bytes > WINDOW ? bytes : WINDOW;

    if (!used) {
        queue->shift = -end;
        if (queue->full)
            queue_grow(queue);
    }
    size_t room = queue->ring.size - (size_t)used;
    if (bytes > room || queue->full)
        return queue_is_full(queue);
    tx->at = queue_at(queue, end);
    tx->end = tx->at + (room < most ? room : most);
    return true;
}

bool sy_tcp_queue_has_segment(struct tcp_queue *queue)
{
    if (!queue->segment)
        queue->segment = sy_tcp_table_open(TCP_SEGMENTS * sizeof *queue->segment);
    return queue->segment &&
           queue_get(&queue->segment_tail) -
                   atomic_load_explicit(&queue->applied.segment, memory_order_acquire) <
               TCP_SEGMENTS;
}

static size_t queue_padding(size_t length)
{
    return -length & 7;
}

static size_t segment_size(const struct tcp_segment *segment)
{
    return segment->length + queue_padding(segment->length);
}

uint64_t sy_tcp_queue_commit_segment(struct tcp_queue *queue, size_t bytes, const char *data,
                                     size_t length, void *copy)
{
    struct sy_tx *tx = queue->tx;
    uint64_t tail = queue_get(&tx->tail) + bytes, index = queue_get(&queue->segment_tail);
    size_t size = length + queue_padding(length);

    *segment_at(queue, index) = (struct tcp_segment){
        .at = tail, .data = data, .length = length, .copy = copy};
    queue_set(&queue->segment_tail, index + 1);
    queue->in_segments += size;
    tx->at += bytes;
    queue_set(&tx->tail, tail + size);
    return tail + size;
}

static int queue_add_part(struct iovec *iov, int count, const void *bytes, size_t length)
{
    if (!length)
        return count;
    iov[count] = (struct iovec){.iov_base = (void *)bytes, .iov_len = length};
    return count + 1;
}

/* Takes bytes for a frame. It may be cut after a segment and at the tail, where a record ends. A
 * word that follows large data, such as a signal, goes with them. */
size_t sy_tcp_queue_take(struct tcp_queue *queue, struct iovec *iov, int room, int *count,
                         size_t most)
{
    static const char zeros[8];
    uint64_t begin = queue_get(&queue->tx->sent), at = begin, ring = queue_get(&queue->sent.ring);
    uint64_t index = queue_get(&queue->sent.segment), tail = sy_tx_tail(queue->tx);
    int used = 0;

    while (at < tail && used + 3 <= room && (at - begin < most || tail - at <= WORDS)) {
        const struct tcp_segment *segment = index < atomic_load_explicit(&queue->segment_tail,
                                                                         memory_order_acquire)
                                                ? segment_at(queue, index)
                                                : NULL;
        if (segment && segment->at >= tail) /* entered, but its record not published yet */
            segment = NULL;
        size_t run = (size_t)((segment ? segment->at : tail) - at);
        used = queue_add_part(iov, used, queue_at(queue, ring), run);
        at += run;
        ring += run;
        if (!segment)
            continue;
        used = queue_add_part(iov, used, segment->data, segment->length);
        used = queue_add_part(iov, used, zeros, queue_padding(segment->length));
        at += segment_size(segment);
        index++;
    }
    *count = used;
    queue_set(&queue->sent.ring, ring);
    queue_set(&queue->sent.segment, index);
    queue_set(&queue->tx->sent, at);
    return (size_t)(at - begin);
}

/* Moves `applied` to `position`, which may lie inside a run of the ring but not inside a segment.
 */
static bool queue_release_to(struct tcp_queue *queue, uint64_t position)
{
    uint64_t at = queue_get(&queue->tx->applied), ring = queue_get(&queue->applied.ring);
    uint64_t index = queue_get(&queue->applied.segment);
    uint64_t end = atomic_load_explicit(&queue->sent.segment, memory_order_acquire);

    for (; index < end && segment_at(queue, index)->at < position; index++) {
        struct tcp_segment *segment = segment_at(queue, index);
        if (segment->at + segment_size(segment) > position)
            return false;
        ring += segment->at - at;
        at = segment->at + segment_size(segment);
        sy_tcp_queue_uncopy(queue, segment->copy, segment->length);
        segment->copy = NULL;
    }
    ring += position - at;
    queue_set(&queue->applied.segment, index);
    queue_set(&queue->applied.ring, ring);
    queue_set(&queue->tx->applied, position);
    return true;
}

bool sy_tcp_queue_release(struct tcp_queue *queue, uint64_t position)
{
    return position == queue_get(&queue->tx->applied) || queue_release_to(queue, position);
}

bool sy_tcp_queue_resume(struct tcp_queue *queue, uint64_t position)
{
    if (position < queue_get(&queue->tx->applied) || position > queue_get(&queue->tx->sent) ||
        !queue_release_to(queue, position))
        return false;
    queue_set(&queue->sent.ring, queue_get(&queue->applied.ring));
    queue_set(&queue->sent.segment, queue_get(&queue->applied.segment));
    queue_set(&queue->tx->sent, position);
    return true;
}

int sy_tcp_queue_keep(struct tcp_queue *queue, const char *data, size_t length)
{
    uint64_t end = atomic_load_explicit(&queue->segment_tail, memory_order_acquire);

    for (uint64_t i = queue_get(&queue->applied.segment); i < end; i++) {
        struct tcp_segment *segment = segment_at(queue, i);
        if (segment->copy || segment->data < data || segment->data >= data + length)
            continue;
        char *copy = sy_tcp_queue_copy(queue, segment->length);
        if (!copy)
            return -ENOMEM;
        sy_copy_bytes(copy, segment->data, segment->length);
        segment->data = segment->copy = copy;
    }
    return 0;
}

void sy_tcp_queue_let_go(struct tcp_queue *queue, void *copy, uint64_t source)
{
    struct tcp_segment *segment = segment_at(queue, queue_get(&queue->segment_tail) - 1);

    segment->data = segment->copy = copy;
    segment->source = source;
}

struct tcp_segment *sy_tcp_queue_lacking(const struct tcp_queue *queue)
{
    uint64_t end = atomic_load_explicit(&queue->segment_tail, memory_order_acquire);

    for (uint64_t i = queue_get(&queue->applied.segment); i < end; i++)
        if (!segment_at(queue, i)->data)
            return segment_at(queue, i);
    return NULL;
}

void sy_tcp_queue_trim(struct tcp_queue *queue)
{
    queue_forget_copies(queue);
    sy_tcp_ring_trim(&queue->ring);
    sy_tcp_table_trim(queue->segment, TCP_SEGMENTS * sizeof *queue->segment);
}

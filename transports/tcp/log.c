/* See log.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/tcp/log.h"

int sy_tcp_log_open(struct tcp_log *log, size_t size)
{
    memset(log, 0, sizeof *log);
    return sy_tcp_ring_open(&log->ring, size);
}

static struct tcp_piece *piece_at(const struct tcp_log *log, uint64_t index)
{
    return &log->piece[index & (TCP_PIECES - 1)];
}

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

void sy_tcp_log_close(struct tcp_log *log)
{
    for (uint64_t i = get(&log->acked.piece); log->piece && i < get(&log->piece_tail); i++)
        free(piece_at(log, i)->copy);
    sy_tcp_table_close(log->piece, TCP_PIECES * sizeof *log->piece);
    log->piece = NULL;
    sy_tcp_ring_close(&log->ring);
}

bool sy_tcp_log_has_piece(struct tcp_log *log)
{
    if (!log->piece)
        log->piece = sy_tcp_table_open(TCP_PIECES * sizeof *log->piece);
    return log->piece &&
           get(&log->piece_tail) - atomic_load_explicit(&log->acked.piece, memory_order_acquire) <
               TCP_PIECES;
}

static size_t padding(size_t length)
{
    return -length & 7;
}

static size_t piece_size(const struct tcp_piece *piece)
{
    return piece->length + padding(piece->length);
}

uint64_t sy_tcp_log_commit_piece(struct tcp_log *log, size_t bytes, const char *data, size_t length,
                                 void *copy)
{
    uint64_t tail = get(&log->tail) + bytes, index = get(&log->piece_tail);

    *piece_at(log,
              index) = (struct tcp_piece){.at = tail, .data = data, .length = length, .copy = copy};
    set(&log->piece_tail, index + 1);
    log->ring_tail += bytes;
    tail += length + padding(length);
    set(&log->tail, tail);
    return tail;
}

static int add(struct iovec *iov, int count, const void *bytes, size_t length)
{
    if (!length)
        return count;
    iov[count] = (struct iovec){.iov_base = (void *)bytes, .iov_len = length};
    return count + 1;
}

/* A cut is allowed behind a piece and at the tail: there a record ends. */
size_t sy_tcp_log_take(struct tcp_log *log, struct iovec *iov, int room, int *count, size_t most)
{
    static const char zeros[8];
    uint64_t begin = get(&log->sent.at), at = begin, ring = get(&log->sent.ring);
    uint64_t index = get(&log->sent.piece), tail = sy_tcp_log_tail(log);
    int used = 0;

    while (at < tail && used + 3 <= room && at - begin < most) {
        const struct tcp_piece *piece = index < atomic_load_explicit(&log->piece_tail,
                                                                     memory_order_acquire)
                                            ? piece_at(log, index)
                                            : NULL;
        if (piece && piece->at >= tail) /* entered, but its record not published yet */
            piece = NULL;
        size_t run = (size_t)((piece ? piece->at : tail) - at);
        used = add(iov, used, sy_tcp_log_at(log, ring), run);
        at += run;
        ring += run;
        if (!piece)
            continue;
        used = add(iov, used, piece->data, piece->length);
        used = add(iov, used, zeros, padding(piece->length));
        at += piece_size(piece);
        index++;
    }
    *count = used;
    set(&log->sent.ring, ring);
    set(&log->sent.piece, index);
    set(&log->sent.at, at);
    return (size_t)(at - begin);
}

/* Moves acked to `position`, which may lie inside a run of the ring but not inside a piece. */
static bool release(struct tcp_log *log, uint64_t position)
{
    uint64_t at = get(&log->acked.at), ring = get(&log->acked.ring);
    uint64_t index = get(&log->acked.piece);
    uint64_t end = atomic_load_explicit(&log->sent.piece, memory_order_acquire);

    for (; index < end && piece_at(log, index)->at < position; index++) {
        struct tcp_piece *piece = piece_at(log, index);
        if (piece->at + piece_size(piece) > position)
            return false;
        ring += piece->at - at;
        at = piece->at + piece_size(piece);
        free(piece->copy);
        piece->copy = NULL;
    }
    ring += position - at;
    set(&log->acked.piece, index);
    set(&log->acked.ring, ring);
    set(&log->acked.at, position);
    return true;
}

bool sy_tcp_log_applied(struct tcp_log *log, uint64_t position)
{
    return position == get(&log->acked.at) || release(log, position);
}

bool sy_tcp_log_resume(struct tcp_log *log, uint64_t position)
{
    if (position < get(&log->acked.at) || position > get(&log->sent.at) || !release(log, position))
        return false;
    set(&log->sent.ring, get(&log->acked.ring));
    set(&log->sent.piece, get(&log->acked.piece));
    set(&log->sent.at, position);
    return true;
}

int sy_tcp_log_keep(struct tcp_log *log, const char *data, size_t length)
{
    uint64_t end = get(&log->piece_tail);

    for (uint64_t i = get(&log->acked.piece); i < end; i++) {
        struct tcp_piece *piece = piece_at(log, i);
        if (piece->copy || piece->data < data || piece->data >= data + length)
            continue;
        char *copy = malloc(piece->length);
        if (!copy)
            return -ENOMEM;
        memcpy(copy, piece->data, piece->length);
        piece->data = piece->copy = copy;
    }
    return 0;
}

void sy_tcp_log_trim(struct tcp_log *log)
{
    sy_tcp_ring_trim(&log->ring);
    sy_tcp_table_trim(log->piece, TCP_PIECES * sizeof *log->piece);
}

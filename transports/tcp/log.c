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

static uint64_t tcp_log_get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void tcp_log_set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

void sy_tcp_log_close(struct tcp_log *log)
{
    for (uint64_t i = tcp_log_get(&log->acked.piece);
         log->piece && i < tcp_log_get(&log->piece_tail); i++)
        free(piece_at(log, i)->copy);
    sy_tcp_table_close(log->piece, TCP_PIECES * sizeof *log->piece);
    log->piece = NULL;
    sy_tcp_ring_close(&log->ring);
}

bool sy_tcp_log_has_piece(struct tcp_log *log)
{
    if (!log->piece)
        log->piece = sy_tcp_table_open(TCP_PIECES * sizeof *log->piece);
    return log->piece && tcp_log_get(&log->piece_tail) -
                                 atomic_load_explicit(&log->acked.piece, memory_order_acquire) <
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
    uint64_t tail = tcp_log_get(&log->tail) + bytes, index = tcp_log_get(&log->piece_tail);

    *piece_at(log,
              index) = (struct tcp_piece){.at = tail, .data = data, .length = length, .copy = copy};
    tcp_log_set(&log->piece_tail, index + 1);
    log->ring_tail += bytes;
    tail += length + padding(length);
    tcp_log_set(&log->tail, tail);
    return tail;
}

static int tcp_log_add(struct iovec *iov, int count, const void *bytes, size_t length)
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
    uint64_t begin = tcp_log_get(&log->sent.at), at = begin, ring = tcp_log_get(&log->sent.ring);
    uint64_t index = tcp_log_get(&log->sent.piece), tail = sy_tcp_log_tail(log);
    int used = 0;

    while (at < tail && used + 3 <= room && at - begin < most) {
        const struct tcp_piece *piece = index < atomic_load_explicit(&log->piece_tail,
                                                                     memory_order_acquire)
                                            ? piece_at(log, index)
                                            : NULL;
        if (piece && piece->at >= tail) /* entered, but its record not published yet */
            piece = NULL;
        size_t run = (size_t)((piece ? piece->at : tail) - at);
        used = tcp_log_add(iov, used, sy_tcp_log_at(log, ring), run);
        at += run;
        ring += run;
        if (!piece)
            continue;
        used = tcp_log_add(iov, used, piece->data, piece->length);
        used = tcp_log_add(iov, used, zeros, padding(piece->length));
        at += piece_size(piece);
        index++;
    }
    *count = used;
    tcp_log_set(&log->sent.ring, ring);
    tcp_log_set(&log->sent.piece, index);
    tcp_log_set(&log->sent.at, at);
    return (size_t)(at - begin);
}

/* Moves acked to `position`, which may lie inside a run of the ring but not inside a piece. */
static bool tcp_log_release(struct tcp_log *log, uint64_t position)
{
    uint64_t at = tcp_log_get(&log->acked.at), ring = tcp_log_get(&log->acked.ring);
    uint64_t index = tcp_log_get(&log->acked.piece);
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
    tcp_log_set(&log->acked.piece, index);
    tcp_log_set(&log->acked.ring, ring);
    tcp_log_set(&log->acked.at, position);
    return true;
}

bool sy_tcp_log_applied(struct tcp_log *log, uint64_t position)
{
    return position == tcp_log_get(&log->acked.at) || tcp_log_release(log, position);
}

bool sy_tcp_log_resume(struct tcp_log *log, uint64_t position)
{
    if (position < tcp_log_get(&log->acked.at) || position > tcp_log_get(&log->sent.at) ||
        !tcp_log_release(log, position))
        return false;
    tcp_log_set(&log->sent.ring, tcp_log_get(&log->acked.ring));
    tcp_log_set(&log->sent.piece, tcp_log_get(&log->acked.piece));
    tcp_log_set(&log->sent.at, position);
    return true;
}

int sy_tcp_log_keep(struct tcp_log *log, const char *data, size_t length)
{
    uint64_t end = tcp_log_get(&log->piece_tail);

    for (uint64_t i = tcp_log_get(&log->acked.piece); i < end; i++) {
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

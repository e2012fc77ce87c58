/* Runs: element puts to consecutive places become one record, 8 bytes each on the wire instead
 * of 16.
 *
 * A run begins with an element that continues the one before it while something is gathered on the
 * lane anyway, so a run delays nothing that would have left at once. Its bytes are in the ring
 * behind the tail, and nobody sends them before they are committed: by the producer when it appends
 * something else or the run is full, or by the thread that flushes, which keeps the producer out
 * meanwhile (producer.c). */
#include "transports/tcp/issue.h"

static bool is_open(const struct tcp_lane *lane)
{
    return atomic_load_explicit(&lane->run, memory_order_acquire);
}

void sy_tcp_run_close(struct tcp_lane *lane)
{
    struct tcp_log *log = &lane->log[TCP_REQUESTS];
    uint64_t word[2] = {lane->run_header, lane->run_bytes};

    if (!is_open(lane))
        return;
    char *room = sy_tcp_log_at(log, log->ring_tail);
    memset(room + 16 + lane->run_bytes, 0, sy_record_padded(lane->run_bytes) - lane->run_bytes);
    memcpy(room, word, sizeof word);
    sy_tcp_log_commit(log, 16 + sy_record_padded(lane->run_bytes));
    atomic_store_explicit(&lane->run, false, memory_order_release);
}

void sy_tcp_run_flush(struct tcp_lane *lane)
{
    if (!is_open(lane))
        return;
    if (sy_tcp_lane_is_mine(lane)) {
        sy_tcp_issue_lock(lane);
        sy_tcp_run_close(lane);
        sy_tcp_issue_end(lane);
    } else if (sy_tcp_producer_stop(lane)) {
        sy_tcp_run_close(lane);
        sy_tcp_producer_go(lane);
    } else {
        sy_tcp_send_mark(lane, true);
    }
}

/* Whether a run may begin: something waits to be sent, and the longest run has room. */
static bool tcp_run_may_begin(struct tcp_lane *lane)
{
    struct tcp_log *log = &lane->log[TCP_REQUESTS];

    return sy_tcp_log_tail(log) > sy_tcp_log_sent(log) &&
           sy_tcp_log_reserve(log, 16 + SY_RECORD_LONG);
}

bool sy_tcp_run_put(struct sy_transport_ctx *ctx, struct tcp_lane *lane, const void *from,
                    unsigned code)
{
    struct tcp_log *log = &lane->log[TCP_REQUESTS];
    size_t size = (size_t)1 << code;

    bool begin = !is_open(lane);
    if (begin && !tcp_run_may_begin(lane))
        return false;
    if (begin) {
        lane->run_header = sy_record_as(lane->next, SY_RECORD_PUT_LONG, 0);
        lane->run_bytes = 0;
        atomic_store_explicit(&lane->producer, pthread_self(), memory_order_relaxed);
        atomic_store_explicit(&lane->run, true, memory_order_relaxed);
    }
    char *to = sy_tcp_log_at(log, log->ring_tail) + 16 + lane->run_bytes;
    if (SY_LIKELY(size == 8)) /* one load and one store */
        memcpy(to, from, 8);
    else
        memcpy(to, from, size);
    lane->run_bytes += size;
    lane->next = sy_record_behind(lane->next, size);
    sy_tcp_issue_mark(ctx, lane, sy_tcp_log_tail(log) + 16 + sy_record_padded(lane->run_bytes));
    if (!atomic_load_explicit(&ctx->dirty, memory_order_relaxed))
        atomic_store_explicit(&ctx->dirty, true, memory_order_release);
    if (lane->run_bytes == SY_RECORD_LONG)
        sy_tcp_run_close(lane);
    sy_tcp_issue_end(lane);
    if (begin)
        sy_tcp_send_mark(lane, true);
    else if (sy_tcp_log_tail(log) - sy_tcp_log_sent(log) >= lane->flush_bytes &&
             !atomic_load_explicit(&lane->blocked, memory_order_relaxed))
        sy_tcp_send(lane);
    return true;
}

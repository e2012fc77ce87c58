/* Streams at rest. A stream on which nothing has moved for SHMEM_TCP_IDLE gives the pages of its
 * send queues and of its list of awaited replies back to the kernel; their addresses stay. What has
 * not been confirmed is kept, and the other side is told what it waits for to let go of its own.
 *
 * The thread that polls when the timer expires looks, under the poll lock. While streams are in use
 * the looks are that far apart; when all rest there are none until one sends or receives. The timer
 * is one of its own, so that setting it, which the first to send after a rest does, wakes nobody.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "transports/tcp/tcp.h"
#include "util/clock.h"
#include "util/file.h"

#define TURN        16                /* streams that are trimmed at a time */
#define TURNS_APART UINT64_C(5000000) /* nanoseconds; or less, as the looks are */

void sy_tcp_idle_moved(struct tcp *tcp)
{
    if (!atomic_load_explicit(&tcp->idle.planned, memory_order_relaxed) &&
        !atomic_exchange(&tcp->idle.planned, true))
        sy_clock_set_timer(tcp->idle.timer.fd, tcp->idle.apart);
}

static uint64_t idle_applied(const struct tcp_peer *peer)
{
    return atomic_load_explicit(&peer->stream.applied[TCP_REQUESTS], memory_order_relaxed) +
           atomic_load_explicit(&peer->stream.applied[TCP_REPLIES], memory_order_relaxed);
}

/* Whether a queue is empty: all is confirmed, and no thread is about to note that it has sent
 * something. */
static bool idle_is_empty(const struct tcp_peer *peer, enum tcp_channel channel)
{
    uint64_t tail = sy_tx_tail(peer->stream.queue[channel].tx);

    return sy_tx_applied(peer->stream.queue[channel].tx) == tail &&
           atomic_load_explicit(&peer->stream.handed[channel], memory_order_acquire) == tail;
}

/* Gives back the memory of the requests' queue. False: something is in use. */
static bool idle_trim_requests(struct tcp_peer *peer)
{
    struct tcp_peer *first = sy_tcp_peer_find(peer->tcp, peer->stream.pe, 0);

    if (!first || !sy_producer_stop(&first->requests.producer))
        return false;
    bool unused = idle_is_empty(peer, TCP_REQUESTS) &&
                  !atomic_load_explicit(&peer->requests.combine.open, memory_order_relaxed) &&
                  !sy_pending_count(&peer->requests.pending);
    if (unused) {
        sy_tcp_queue_trim(&peer->stream.queue[TCP_REQUESTS]);
        sy_tcp_table_trim(peer->requests.pending.table, SY_PENDING_BYTES);
    }
    sy_producer_go(&first->requests.producer);
    return unused;
}

/* ---- a stream ---- */

/* Tells the other side what has been applied, so that it need not keep it. */
static void idle_tell(struct tcp_peer *peer)
{
    if (atomic_load_explicit(&peer->stream.acked, memory_order_relaxed) != idle_applied(peer))
        sy_tcp_stream_tell(&peer->stream);
}

static bool idle_trim(struct tcp_peer *peer)
{
    bool requests = idle_trim_requests(peer), replies = idle_is_empty(peer, TCP_REPLIES);

    if (replies)
        sy_tcp_queue_trim(&peer->stream.queue[TCP_REPLIES]);
    return requests && replies;
}

/* Whether nothing has moved since the last look and there may be something to trim. */
static bool idle_rests(struct tcp_peer *peer)
{
    uint64_t moved = idle_applied(peer) + sy_tx_tail(&peer->requests.tx) +
                     sy_tx_tail(&peer->replies);

    if (moved == peer->moved)
        return !peer->trimmed && atomic_load(&peer->stream.state) != TCP_STREAM_OVER;
    peer->moved = moved;
    peer->trimmed = false;
    atomic_store(&peer->tcp->idle.planned, true);
    return false;
}

static void idle_look_at(struct tcp_peer *peer)
{
    idle_tell(peer);
    peer->trimmed = idle_trim(peer);
    if (!peer->trimmed)
        atomic_store(&peer->tcp->idle.planned, true);
}

/* ---- all streams ---- */

/* Goes on with the look; true: it has ended. */
static bool idle_turn(struct tcp *tcp)
{
    unsigned count = sy_engine_peers(&tcp->engine), left = TURN;

    for (; tcp->idle.next < count && left; tcp->idle.next++)
        if (idle_rests(sy_tcp_peer_at(tcp, tcp->idle.next))) {
            idle_look_at(sy_tcp_peer_at(tcp, tcp->idle.next));
            left--;
        }
    return tcp->idle.next == count;
}

static void idle_on_timer(struct tcp_watch *watch, uint32_t events)
{
    struct tcp *tcp = watch->owner;
    uint64_t expirations;
    ssize_t size = read(watch->fd, &expirations, sizeof expirations);

    (void)size, (void)events;
    if (!tcp->idle.going_on) {
        tcp->idle.next = 0;
        atomic_store(&tcp->idle.planned, false); /* what moves from now on plans the next one */
    }
    tcp->idle.going_on = !idle_turn(tcp);
    if (tcp->idle.going_on)
        sy_clock_set_timer(tcp->idle.timer.fd,
                           tcp->idle.apart < TURNS_APART ? tcp->idle.apart : TURNS_APART);
    else if (atomic_load(&tcp->idle.planned))
        sy_clock_set_timer(tcp->idle.timer.fd, tcp->idle.apart);
}

int sy_tcp_idle_open(struct tcp *tcp, struct sy_error *err)
{
    tcp->idle.apart = (uint64_t)(tcp->settings.idle * 1e9);
    atomic_store(&tcp->idle.planned, !tcp->idle.apart);
    tcp->idle.timer = (struct tcp_watch){
        .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
        .event = idle_on_timer,
        .owner = tcp};
    if (tcp->idle.timer.fd < 0 || sy_tcp_watch_add(&tcp->poll.set, &tcp->idle.timer, EPOLLIN))
        return tcp->host->fail(err, errno, "a timer: %s", strerror(errno));
    return 0;
}

void sy_tcp_idle_close(struct tcp *tcp)
{
    sy_file_close(&tcp->idle.timer.fd);
    tcp->idle = (struct tcp_idle){.timer.fd = -1};
}

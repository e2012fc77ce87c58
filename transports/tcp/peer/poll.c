/* See poll.h. A poll reads directly from the sockets that spoke last, since a waiting PE most often
 * waits for one of them, and asks epoll only every few turns. Where PEs outnumber processors all
 * streams are in the epoll set, on which threads sleep, and most polls are of a PE that others wait
 * for in vain: there epoll alone is asked, one call in place of three. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "transports/tcp/tcp.h"
#include "util/denied.h"

#define EPOLL_TURNS   4  /* polls between two questions to epoll; powers of two */
#define EPOLL_TURNS_1 32 /* the same while there is but one stream */
#define HINT_TURNS    8  /* one poll in so many reads streams too, while a hint is expected */

/* Acts on all time limits. */
static uint64_t poll_due(void *owner, uint64_t now)
{
    struct tcp *tcp = owner;
    uint64_t streams = sy_tcp_peers_timers(tcp, now), attempts = sy_tcp_net_timers(tcp->net, now);

    return streams < attempts ? streams : attempts;
}

int sy_tcp_poll_open(struct tcp *tcp, struct sy_error *err)
{
    int rc = sy_tcp_watches_open(&tcp->poll.set, poll_due, tcp);

    return rc ? tcp->host->fail(err, -rc, "an epoll set, a timer or sendmsg: %s%s", strerror(-rc),
                                sy_denied_hint(rc))
              : 0;
}

void sy_tcp_poll_forget(struct tcp_stream *stream)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);

    for (int i = 0; i < TCP_HOT; i++)
        if (peer->tcp->poll.hot[i] == peer)
            peer->tcp->poll.hot[i] = NULL;
    peer->stream.attended -= peer->hot;
    peer->hot = false;
}

static bool poll_try_lock(struct tcp *tcp)
{
    return !atomic_load_explicit(&tcp->poll.lock, memory_order_relaxed) &&
           !atomic_exchange_explicit(&tcp->poll.lock, true, memory_order_acquire);
}

void sy_tcp_poll_lock(struct tcp *tcp)
{
    while (!poll_try_lock(tcp))
        sched_yield();
}

void sy_tcp_poll_unlock(struct tcp *tcp)
{
    atomic_store_explicit(&tcp->poll.lock, false, memory_order_release);
}

static void poll_keep_in_set(struct tcp_peer *peer)
{
    if (peer->hot)
        sy_tcp_send_attend(&peer->stream, -1);
    peer->hot = false;
}

/* The first poll after a sleep asks epoll, which has ended it. A stream that becomes hot after
 * `wakeful` has been cleared stays in the set. */
int sy_tcp_poll_sleeping(struct tcp *tcp, bool sleeps)
{
    bool was_wakeful = atomic_exchange(&tcp->poll.wakeful, !sleeps);

    if (sleeps && !tcp->host->crowded)
        atomic_store_explicit(&tcp->poll.turns, 0, memory_order_relaxed);
    if (!sleeps || !was_wakeful)
        return 0;
    sy_tcp_poll_lock(tcp);
    for (int i = 0; i < TCP_HOT; i++)
        if (tcp->poll.hot[i])
            poll_keep_in_set(tcp->poll.hot[i]);
    sy_tcp_poll_unlock(tcp);
    return 0;
}

/* The stream that spoke comes first. One that was among the hot ones before is left out of the
 * epoll set while nobody sleeps on that, because the set makes each arrival dearer. One that is hot
 * no longer is in the set again. */
static void poll_make_hot(struct tcp_peer *peer)
{
    struct tcp *tcp = peer->tcp;
    struct tcp_peer *last = tcp->poll.hot[TCP_HOT - 1];
    bool anew = true;

    for (int i = 0; i < TCP_HOT; i++)
        anew = anew && tcp->poll.hot[i] != peer;
    if (anew && last)
        poll_keep_in_set(last);
    else if (!anew && !peer->hot && !sy_tcp_poll_may_sleep(&tcp->poll))
        peer->hot = sy_tcp_send_attend(&peer->stream, 1);
    if (tcp->poll.hot[0] != peer) {
        tcp->poll.hot[1] = tcp->poll.hot[0];
        tcp->poll.hot[0] = peer;
    }
}

size_t sy_tcp_poll_read(struct tcp_peer *peer)
{
    size_t got = sy_tcp_receive(&peer->stream);

    if (got && peer->stream.watch.fd >= 0)
        poll_make_hot(peer);
    return got;
}

/* Reads the streams that lately had data, other than `but`. */
static size_t poll_read_hot(struct tcp *tcp, const struct tcp_peer *but)
{
    struct tcp_peer *hot[TCP_HOT];
    size_t got = 0;

    memcpy(hot, tcp->poll.hot, sizeof hot);
    for (int i = 0; i < TCP_HOT; i++)
        if (hot[i] && hot[i] != but)
            got += sy_tcp_poll_read(hot[i]);
    return got;
}

/* Streams that stand at an AWAIT are asked whether they may go on, again and again while one does:
 * it may be what another one waits for. */
static bool poll_run_paused(struct tcp *tcp)
{
    unsigned count = sy_engine_peers(&tcp->engine);
    bool moved, any = false;

    do {
        moved = false;
        for (unsigned i = 0; i < count; i++) {
            struct tcp_peer *peer = sy_tcp_peer_at(tcp, i);
            if (!peer->stream.in.held)
                continue;
            uint64_t before = atomic_load_explicit(&peer->stream.applied[TCP_REQUESTS],
                                                   memory_order_relaxed);
            sy_tcp_receive(&peer->stream);
            moved |= atomic_load_explicit(&peer->stream.applied[TCP_REQUESTS],
                                          memory_order_relaxed) != before;
        }
        any |= moved;
    } while (moved && atomic_load_explicit(&tcp->streams.paused, memory_order_relaxed));
    return any;
}

/* Reads the stream that another thread expects something on. That stream is out of the epoll set,
 * and its thread does not get the lock while this one has it. The wait may be over by now, which
 * costs a call; streams live as long as there are polls. */
static size_t poll_read_expected(struct tcp *tcp)
{
    struct tcp_peer *peer;

    if (!atomic_load_explicit(&tcp->poll.expected, memory_order_relaxed))
        return 0;
    peer = atomic_exchange_explicit(&tcp->poll.expected, NULL, memory_order_acquire);
    return peer && peer->stream.watch.fd >= 0 ? sy_tcp_poll_read(peer) : 0;
}

/* Whether the stream that spoke last has more to send, for which it waits until epoll says that it
 * can. */
static bool poll_is_stuck(const struct tcp *tcp)
{
    return tcp->poll.hot[0] &&
           atomic_load_explicit(&tcp->poll.hot[0]->requests.tx.blocked, memory_order_relaxed);
}

static bool poll_is_epolls(const struct tcp *tcp)
{
    return tcp->host->crowded && sy_tcp_poll_may_sleep(&tcp->poll);
}

static size_t poll_ask_epoll(struct tcp *tcp)
{
    return sy_tcp_watches_run(&tcp->poll.set) > 0;
}

static size_t poll_hints(struct tcp *tcp)
{
    size_t got = sy_tcp_hints_receive(tcp);

    sy_tcp_hints_repeat(tcp);
    return got;
}

/* Reads for a thread that expects something on one stream. all: it is epoll's turn. */
static size_t poll_read_one(struct tcp *tcp, struct tcp_peer *expected, bool all)
{
    size_t got = all ? poll_hints(tcp) : 0;

    got += sy_tcp_poll_read(expected);
    if (all && !poll_is_epolls(tcp))
        got += poll_read_hot(tcp, expected);
    return all || (!got && tcp->host->crowded) ? got + poll_ask_epoll(tcp) : got;
}

/* Reads for a thread that expects something on any stream. While a hint is expected, most polls
 * look for that alone, but not amid large transfers, whose sender waits for who reads them. Where
 * the last RAISE came by the stream, or this PE has sent more than a RAISE, few polls look for a
 * hint. */
static size_t poll_read_any(struct tcp *tcp, unsigned turn, bool all)
{
    bool few = turn % HINT_TURNS == 0;
    bool by_stream = tcp->hints.by_stream ||
                     atomic_load_explicit(&tcp->hints.more, memory_order_relaxed);
    bool hint = sy_tcp_hints_expected(tcp) && (few || !by_stream);
    bool bulk = tcp->poll.hot[0] && tcp->poll.hot[0]->stream.in.bulk;
    size_t got = all ? poll_hints(tcp) : hint ? sy_tcp_hints_receive(tcp) : 0;

    if (hint && !few && !bulk)
        return got;
    if (!poll_is_epolls(tcp))
        got += poll_read_hot(tcp, NULL);
    return all || (!got && (tcp->host->crowded || !tcp->poll.hot[0])) ? got + poll_ask_epoll(tcp)
                                                                      : got;
}

static size_t poll_turn(struct tcp *tcp, struct tcp_peer *expected)
{
    unsigned apart = sy_engine_peers(&tcp->engine) > 1 ? EPOLL_TURNS : EPOLL_TURNS_1;
    unsigned turn = atomic_load_explicit(&tcp->poll.turns, memory_order_relaxed);
    bool all = !(turn & (apart - 1)) || poll_is_stuck(tcp);

    atomic_store_explicit(&tcp->poll.turns, turn + 1, memory_order_relaxed);
    return expected && expected->stream.watch.fd >= 0 ? poll_read_one(tcp, expected, all)
                                                      : poll_read_any(tcp, turn, all);
}

/* If another thread has the lock this one yields: the other may need this processor. */
long sy_tcp_poll_peer(struct tcp *tcp, struct tcp_peer *expected)
{
    sy_engine_send_gathered(&tcp->engine, false);
    if (!poll_try_lock(tcp)) {
        if (expected)
            atomic_store_explicit(&tcp->poll.expected, expected, memory_order_release);
        sched_yield();
        return -1;
    }
    size_t got = poll_turn(tcp, expected);
    if (atomic_load_explicit(&tcp->streams.paused, memory_order_relaxed))
        got += poll_run_paused(tcp);
    sy_tcp_poll_unlock(tcp);
    return (long)got;
}

long sy_tcp_poll(struct tcp *tcp)
{
    return sy_tcp_poll_peer(tcp, NULL);
}

bool sy_tcp_poll_event(struct tcp *tcp)
{
    sy_tcp_hints_repeat(tcp);
    sy_engine_send_gathered(&tcp->engine, true);
    if (!poll_try_lock(tcp))
        return false;
    bool any = !sy_tcp_poll_may_sleep(&tcp->poll) && poll_read_hot(tcp, NULL) > 0;
    any = sy_tcp_watches_run(&tcp->poll.set) > 0 || any;
    any = poll_read_expected(tcp) > 0 || any;
    if (atomic_load_explicit(&tcp->streams.paused, memory_order_relaxed))
        any = poll_run_paused(tcp) || any;
    sy_tcp_poll_unlock(tcp);
    return any;
}

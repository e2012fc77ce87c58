#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/tcp/peer/hint.h"
#include "util/net/interfaces.h"
#include "engine/issue.h"
#include "transports/tcp/tcp.h"
#include "util/siphash.h"

#define PATIENCE    UINT64_C(1000000)
#define REPEAT_US   4000 /* a timer that expires interrupts a PE that waits, for some 50 us */
#define LISTEN      400  /* polls, some 100 us, after which a hint may as well be heard late */
#define TRIES       64   /* in vain, after which one in so many is */
#define AGAIN_US    100  /* what could not be repeated just now */
#define RAISE_BYTES 16
#define ASKS        2  /* RAISEs behind the same, after which its confirmation is asked for */
#define STAYS       4  /* RAISEs by the stream after the last that would have overtaken something */
#define MOST_EARLY  16 /* RAISEs that come before this PE has said its own */

void sy_tcp_hints_open(struct tcp *tcp)
{
    struct sy_error err;

    tcp->hints.open = tcp->settings.hints && !sy_tcp_uses_node_endpoints(tcp) &&
                      !sy_ports_parse("SHMEM_TCP_PORT_RANGE", tcp->settings.port_range,
                                      &tcp->hints.first, &tcp->hints.last, &err);
}

void sy_tcp_hints_close(struct tcp *tcp)
{
    while (tcp->hints.udps)
        close(tcp->hints.udp[--tcp->hints.udps].fd);
    tcp->hints.open = false;
}

/* ---- addresses ---- */

static bool is_ip(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

/* This side's address of a connection, with port 0. */
static bool hint_own_address(struct tcp *tcp, int connection, struct sockaddr_storage *own)
{
    socklen_t length = sizeof *own;

    memset(own, 0, sizeof *own);
    if (!tcp->hints.open || getsockname(connection, (struct sockaddr *)own, &length) || !is_ip(own))
        return false;
    *sy_socket_port(own) = 0;
    return true;
}

static struct tcp_udp *hint_find_udp(struct tcp *tcp, const struct sockaddr_storage *at)
{
    for (unsigned i = 0; i < tcp->hints.udps; i++)
        if (!memcmp(&tcp->hints.udp[i].at, at, sizeof *at))
            return &tcp->hints.udp[i];
    return NULL;
}

/* The port that a socket could be bound to, as in an address, or 0. */
static in_port_t hint_bind_in_range(struct tcp *tcp, int fd, const struct sockaddr_storage *at)
{
    struct sockaddr_storage address = *at;

    for (unsigned port = tcp->hints.first; port <= tcp->hints.last; port++) {
        *sy_socket_port(&address) = htons((uint16_t)port);
        if (!sy_socket_bind(fd, &address))
            return *sy_socket_port(&address);
    }
    return 0;
}

static struct tcp_udp *hint_open_udp(struct tcp *tcp, const struct sockaddr_storage *at)
{
    struct tcp_udp udp = {.at = *at};

    if (tcp->hints.udps == TCP_UDP_SOCKETS)
        return NULL;
    udp.fd = socket(at->ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (udp.fd < 0)
        return NULL;
    udp.port = hint_bind_in_range(tcp, udp.fd, at);
    if (!udp.port) {
        close(udp.fd);
        return NULL;
    }
    tcp->hints.udp[tcp->hints.udps] = udp;
    return &tcp->hints.udp[tcp->hints.udps++];
}

uint16_t sy_tcp_hints_port(struct tcp *tcp, int connection)
{
    struct sockaddr_storage own;
    struct tcp_udp *udp;

    if (tcp->host->crowded || !hint_own_address(tcp, connection, &own))
        return 0;
    udp = hint_find_udp(tcp, &own);
    if (!udp)
        udp = hint_open_udp(tcp, &own);
    return udp ? ntohs(udp->port) : 0;
}

/* ---- a stream's ---- */

/* Finds both ends' UDP addresses for a connection. False: one of the sides has no UDP port. */
static bool hint_find_way(struct tcp *tcp, struct tcp_hint *way, int connection, uint32_t udp_port)
{
    struct sockaddr_storage own, peer = {0};
    socklen_t length = sizeof peer;

    if (!udp_port || !hint_own_address(tcp, connection, &own) || !hint_find_udp(tcp, &own) ||
        getpeername(connection, (struct sockaddr *)&peer, &length) || !is_ip(&peer))
        return false;
    *sy_socket_port(&peer) = htons((uint16_t)udp_port);
    way->length = sy_socket_length(&peer);
    memcpy(&way->to, &peer, way->length);
    memcpy(&way->own, &own, way->length);
    return true;
}

/* What a producer may be reading stays as it is, but for the keys, which are read word by word: a
 * hint that gets a word of either connection is not believed, as if it had got lost. */
void sy_tcp_hint_meet(struct tcp_peer *peer, uint32_t udp_port, const unsigned char keys[32])
{
    bool connector = peer->stream.connector;
    struct tcp_hint *hint = &peer->hint, way = {0};
    bool open = hint_find_way(peer->tcp, &way, peer->stream.watch.fd, udp_port);

    if (open && !hint->length) {
        hint->own = way.own;
        hint->to = way.to;
        hint->length = way.length;
    }
    open = open && !memcmp(&way.to, &hint->to, sizeof way.to) &&
           !memcmp(&way.own, &hint->own, sizeof way.own);
    for (int other = 0; other < 2; other++)
        for (int i = 0; i < 2; i++) {
            uint64_t word;
            memcpy(&word, keys + 16 * (connector == other) + 8 * i, sizeof word);
            atomic_store_explicit(&hint->key[other][i], word, memory_order_relaxed);
        }
    atomic_store_explicit(&hint->works, false, memory_order_relaxed);
    atomic_store_explicit(&hint->heard, false, memory_order_relaxed);
    atomic_store_explicit(&hint->open, open, memory_order_release);
}

static uint64_t hint_authenticator(const struct tcp_hint *hint, bool received,
                                   const struct tcp_datagram *datagram)
{
    const uint64_t key[2] = {atomic_load_explicit(&hint->key[received][0], memory_order_relaxed),
                             atomic_load_explicit(&hint->key[received][1], memory_order_relaxed)};
    uint64_t words[3];

    memcpy(words, datagram, sizeof words);
    return sy_siphash(key, words, 3);
}

/* ---- saying ---- */

static struct tcp_datagram hint_make(struct tcp *tcp, const struct tcp_hint *hint, unsigned flags,
                                     uint64_t header, uint64_t value)
{
    struct tcp_datagram datagram = {
        .from = (uint32_t)tcp->host->pe, .flags = flags, .header = header, .value = value};

    datagram.tag = hint_authenticator(hint, false, &datagram);
    return datagram;
}

static bool hint_send(struct tcp *tcp, const struct tcp_hint *hint, bool alone, uint64_t header,
                      uint64_t value)
{
    bool heard = atomic_load_explicit(&hint->heard, memory_order_relaxed);
    unsigned flags = (heard ? TCP_DATAGRAM_HEARD : 0) | (alone ? TCP_DATAGRAM_ALONE : 0);
    struct tcp_datagram datagram = hint_make(tcp, hint, flags, header, value);

    sy_count_shared(&tcp->counters.hints_sent, 1);
    return send(hint->fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           sizeof datagram;
}

/* Connects a socket of the stream's own, since the kernel keeps the route of a connected socket. */
static int hint_connected(const struct tcp_hint *hint)
{
    int fd = socket(hint->to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 &&
        (bind(fd, &hint->own.any, hint->length) || connect(fd, &hint->to.any, hint->length))) {
        close(fd);
        fd = -2;
    }
    return fd < 0 ? -2 : fd;
}

/* Plans a look at what is kept. Either this finds a look planned, or the look, which clears
 * `look_at` first, finds what is kept: both write one and then read the other, in sequential order.
 */
static void hint_plan_look(struct tcp *tcp, uint64_t now, unsigned microseconds)
{
    if (atomic_load(&tcp->hints.look_at) ||
        atomic_exchange(&tcp->hints.look_at, now + microseconds * UINT64_C(1000)))
        return;
    tcp->host->soon(microseconds);
}

static bool hint_was_last(const struct tcp_peer *peer)
{
    return sy_tx_tail(&peer->requests.tx) ==
           atomic_load_explicit(&peer->hint.raised, memory_order_relaxed);
}

void sy_tcp_hint_sends(struct tcp_peer *peer)
{
    if (!hint_was_last(peer))
        atomic_store_explicit(&peer->tcp->hints.more, true, memory_order_relaxed);
}

/* The position at which the stream's last request ends that is no RAISE. */
static uint64_t hint_others_end(const struct tcp_peer *peer)
{
    return hint_was_last(peer) ? peer->hint.others : sy_tx_tail(&peer->requests.tx);
}

/* A RAISE is about to be committed to the stream. */
static void hint_joins(struct tcp_peer *peer, size_t bytes)
{
    peer->hint.others = hint_others_end(peer);
    if (peer->hint.others > sy_tx_sent(&peer->requests.tx))
        atomic_store_explicit(&peer->tcp->hints.more, true, memory_order_relaxed);
    atomic_store_explicit(&peer->hint.raised, sy_tx_tail(&peer->requests.tx) + bytes,
                          memory_order_relaxed);
}

/* Whether a hint would overtake something. A message of the other side's on the stream confirms it;
 * but one that says all by hints sends none, and is asked in the end. */
static bool hint_overtakes(struct tcp_peer *peer)
{
    uint64_t others = hint_others_end(peer);

    if (sy_tx_applied(&peer->requests.tx) < others) {
        peer->hint.same = others == peer->hint.others ? peer->hint.same + 1 : 0;
        if (peer->hint.same >= ASKS)
            sy_tx_ask(&peer->requests.tx, others);
        return true;
    }
    for (int i = 0; i < TCP_STREAMS_MAX; i++) {
        const struct tcp_peer *stripe = peer->stripe[i];
        if (stripe && sy_tx_applied(&stripe->requests.tx) < sy_tx_tail(&stripe->requests.tx))
            return true;
    }
    return false;
}

/* Counts a RAISE that is sent. The first after a rest begins a new count. */
static void hint_expect_one(struct tcp *tcp, uint64_t now)
{
    if (now - atomic_load_explicit(&tcp->hints.raised_at, memory_order_relaxed) >= PATIENCE)
        atomic_store_explicit(&tcp->hints.awaited, 0, memory_order_relaxed);
    atomic_store_explicit(&tcp->hints.raised_at, now, memory_order_relaxed);
    atomic_store_explicit(&tcp->hints.more, false, memory_order_relaxed);
    atomic_fetch_add_explicit(&tcp->hints.awaited, 1, memory_order_relaxed);
    if (atomic_load_explicit(&tcp->hints.come, memory_order_relaxed))
        atomic_store_explicit(&tcp->hints.polls, LISTEN, memory_order_relaxed);
}

/* Whether a hint may carry the RAISE, beside the stream or alone. Where data go before some, the
 * stream carries all, as the other side looks where the last one came. */
static bool hint_may_say(struct tcp_peer *peer, bool often, uint64_t kept, uint64_t header)
{
    struct tcp_hint *hint = &peer->hint;

    if (hint_overtakes(peer))
        hint->stays = STAYS;
    else if (hint->stays)
        hint->stays--;
    if (!often || (kept && kept != header) || hint->stays)
        return false;
    if (!atomic_load_explicit(&peer->tcp->hints.busy, memory_order_relaxed))
        atomic_store_explicit(&peer->tcp->hints.busy, true, memory_order_relaxed);
    if (atomic_load_explicit(&hint->works, memory_order_relaxed))
        hint->tries = 0;
    else if (++hint->tries > TRIES && hint->tries % TRIES &&
             !atomic_load_explicit(&hint->heard, memory_order_relaxed))
        return false;
    if (hint->fd == -1)
        hint->fd = hint_connected(hint);
    return true;
}

static bool hint_says(struct tcp_peer *peer, uint64_t header, uint64_t value)
{
    struct tcp *tcp = peer->tcp;
    struct tcp_hint *hint = &peer->hint;

    if (tcp->host->crowded || hint->fd == -2 ||
        !atomic_load_explicit(&hint->open, memory_order_acquire))
        return false;
    uint64_t now = sy_tcp_now();
    uint64_t kept = atomic_load_explicit(&hint->header, memory_order_relaxed);
    bool often = now - hint->said_at < PATIENCE;
    bool works = atomic_load_explicit(&hint->works, memory_order_relaxed);
    hint->said_at = now;
    if (kept == header)
        atomic_store_explicit(&hint->header, 0, memory_order_relaxed);
    hint_expect_one(tcp, now);
    if (!hint_may_say(peer, often, kept, header) || !hint_send(tcp, hint, works, header, value) ||
        !works)
        return false;
    hint->value = value;
    atomic_store_explicit(&hint->kept_at, now, memory_order_relaxed);
    atomic_store(&hint->header, header);
    hint_plan_look(tcp, now, REPEAT_US);
    return true;
}

bool sy_tcp_hint_raise(struct sy_engine_peer *requests, uint64_t header, uint64_t value)
{
    struct tcp_peer *peer = sy_tcp_peer_of(requests);

    if (hint_says(peer, header, value))
        return true;
    hint_joins(peer, RAISE_BYTES);
    return false;
}

/* Appends the kept RAISE to the stream, by the producer or in its place. False: no room. */
static bool hint_append_kept(struct tcp_peer *peer)
{
    struct tcp_hint *hint = &peer->hint;
    uint64_t header = atomic_load_explicit(&hint->header, memory_order_relaxed);
    uint64_t word[2] = {sy_record_as(header, SY_RECORD_REPEAT, 3), hint->value};
    struct sy_tx *tx = &peer->requests.tx;

    if (!header)
        return true;
    sy_combine_close(&peer->requests);
    if (!sy_tx_fits(tx, sizeof word) && !sy_tcp_requests_ops.room(&peer->requests, sizeof word))
        return false;
    memcpy(tx->at, word, sizeof word);
    hint_joins(peer, sizeof word);
    sy_tx_commit(tx, sizeof word);
    atomic_store_explicit(&hint->header, 0, memory_order_relaxed);
    return true;
}

void sy_tcp_hint_flush(struct tcp_peer *peer, bool sent)
{
    if (SY_UNLIKELY(atomic_load_explicit(&peer->hint.header, memory_order_relaxed)) &&
        hint_append_kept(peer) && !sent)
        sy_engine_send_later(&peer->requests, false);
}

bool sy_tcp_hint_settle(struct tcp_peer *peer)
{
    if (!atomic_load(&peer->hint.header) || atomic_load(&peer->stream.state) == TCP_STREAM_OVER)
        return true;
    if (!sy_producer_stop(&peer->requests.producer))
        return false;
    bool appended = hint_append_kept(peer);
    sy_producer_go(&peer->requests.producer);
    if (appended)
        sy_engine_send_later(&peer->requests, false);
    return appended;
}

/* Appends what is due. Returns when the rest is due; 0: nothing is left. */
static uint64_t hint_settle_due(struct tcp *tcp, uint64_t now)
{
    unsigned count = sy_engine_peers(&tcp->engine);
    uint64_t next = 0;

    for (unsigned i = 0; i < count; i++) {
        struct tcp_peer *peer = sy_tcp_peer_at(tcp, i);
        if (!atomic_load(&peer->hint.header))
            continue;
        uint64_t due = atomic_load_explicit(&peer->hint.kept_at, memory_order_relaxed) +
                       REPEAT_US * UINT64_C(1000);
        if (due <= now && sy_tcp_hint_settle(peer))
            continue;
        if (due <= now)
            due = now + AGAIN_US * UINT64_C(1000);
        next = !next || due < next ? due : next;
    }
    return next;
}

/* The timer may have expired early, for somebody else, so the rest is asked for again. */
void sy_tcp_hints_repeat(struct tcp *tcp)
{
    uint64_t at = atomic_load_explicit(&tcp->hints.look_at, memory_order_relaxed), now, next;

    if (SY_LIKELY(!at))
        return;
    now = sy_tcp_now();
    if (now < at) {
        tcp->host->soon((unsigned)((at - now) / 1000) + 1);
        return;
    }
    if (!atomic_exchange(&tcp->hints.look_at, 0))
        return;
    next = hint_settle_due(tcp, now);
    if (next)
        hint_plan_look(tcp, now, (unsigned)((next - now) / 1000) + 1);
}

/* ---- hearing ---- */

bool sy_tcp_hints_expected(struct tcp *tcp)
{
    unsigned polls = atomic_load_explicit(&tcp->hints.polls, memory_order_relaxed);

    if (!polls || atomic_load_explicit(&tcp->hints.awaited, memory_order_relaxed) <= 0)
        return false;
    atomic_store_explicit(&tcp->hints.polls, polls - 1, memory_order_relaxed);
    return true;
}

static void hint_note_news(struct tcp *tcp, bool by_stream)
{
    tcp->hints.by_stream = by_stream;
    if (atomic_load_explicit(&tcp->hints.awaited, memory_order_relaxed) > -MOST_EARLY)
        atomic_fetch_sub_explicit(&tcp->hints.awaited, 1, memory_order_relaxed);
}

/* Answers a hint, so that a PE to which this one sends nothing learns that its hints arrive:
 * operand 0 changes no word. */
static void hint_answer(struct tcp *tcp, const struct tcp_udp *udp, const struct tcp_hint *hint,
                        uint64_t header)
{
    struct tcp_datagram datagram = hint_make(tcp, hint, TCP_DATAGRAM_HEARD | TCP_DATAGRAM_ALONE,
                                             header, 0);

    sendto(udp->fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL, &hint->to.any,
           hint->length);
}

/* Takes a datagram. Nothing of it is used, and nothing is logged, before the authenticator has been
 * compared. */
static bool hint_take(struct tcp *tcp, const struct tcp_udp *udp,
                      const struct tcp_datagram *datagram)
{
    struct tcp_peer *peer = sy_tcp_peer_made(tcp, datagram->from, 0);
    struct tcp_hint *hint = peer ? &peer->hint : NULL;

    if (!peer || !atomic_load_explicit(&hint->open, memory_order_acquire) ||
        hint_authenticator(hint, true, datagram) != datagram->tag)
        return false;
    sy_count(&tcp->counters.hints_heard, 1);
    atomic_store_explicit(&hint->heard, true, memory_order_relaxed);
    atomic_store_explicit(&hint->works, datagram->flags & TCP_DATAGRAM_HEARD, memory_order_relaxed);
    atomic_store_explicit(&tcp->hints.come, true, memory_order_relaxed);
    if (!(datagram->flags & TCP_DATAGRAM_ALONE))
        hint_answer(tcp, udp, hint, datagram->header);
    if (sy_record_op(datagram->header) != SY_RECORD_RAISE ||
        sy_apply_raise(&tcp->regions, datagram->header, datagram->value) <= 0)
        return false;
    hint_note_news(tcp, false);
    return true;
}

size_t sy_tcp_hints_receive(struct tcp *tcp)
{
    struct tcp_datagram datagram;

    if (!atomic_load_explicit(&tcp->hints.busy, memory_order_relaxed))
        return 0;
    for (unsigned i = 0; i < tcp->hints.udps; i++)
        if (recv(tcp->hints.udp[i].fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC) ==
                sizeof datagram &&
            hint_take(tcp, &tcp->hints.udp[i], &datagram))
            return 1;
    return 0;
}

/* A hint that the stream has to make up for has not come: nor may those of this side. */
void sy_tcp_hint_note(struct tcp_peer *peer, bool news, bool repeat)
{
    if (!news)
        return;
    hint_note_news(peer->tcp, true);
    if (!repeat)
        return;
    atomic_store_explicit(&peer->hint.heard, false, memory_order_relaxed);
    atomic_store_explicit(&peer->hint.works, false, memory_order_relaxed);
    atomic_store_explicit(&peer->tcp->hints.come, false, memory_order_relaxed);
}

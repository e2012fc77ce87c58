/* See herald.h. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/tcp/herald.h"
#include "util/net/interfaces.h"
#include "transports/tcp/issue.h"
#include "util/siphash.h"

#define PATIENCE_US 1000
#define PATIENCE    (PATIENCE_US * UINT64_C(1000))
#define LISTEN      400 /* polls, some 100 us, after which a herald may as well be heard late */
#define TRIES       64  /* in vain, after which one in so many is */
#define AGAIN_US    100 /* what could not be repeated just now */
#define MOST_EARLY  16  /* RAISEs that come before this PE has said its own */

void sy_tcp_heralds_open(struct tcp *tcp)
{
    struct sy_error err;

    tcp->heralds.open = tcp->settings.heralds && !sy_tcp_uses_node_lanes(tcp) &&
                        !sy_ports_parse("SHMEM_TCP_PORT_RANGE", tcp->settings.port_range,
                                        &tcp->heralds.first, &tcp->heralds.last, &err);
}

void sy_tcp_heralds_close(struct tcp *tcp)
{
    while (tcp->heralds.ears)
        close(tcp->heralds.ear[--tcp->heralds.ears].fd);
    tcp->heralds.open = false;
}

/* ---- addresses ---- */

static in_port_t *herald_port_of(struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? &((struct sockaddr_in *)address)->sin_port
                                         : &((struct sockaddr_in6 *)address)->sin6_port;
}

static socklen_t herald_length_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static bool is_ip(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

/* This side's address of a connection, with port 0. */
static bool herald_own_address(struct tcp *tcp, int connection, struct sockaddr_storage *own)
{
    socklen_t length = sizeof *own;

    memset(own, 0, sizeof *own);
    if (!tcp->heralds.open || getsockname(connection, (struct sockaddr *)own, &length) ||
        !is_ip(own))
        return false;
    *herald_port_of(own) = 0;
    return true;
}

static struct tcp_ear *herald_find_ear(struct tcp *tcp, const struct sockaddr_storage *at)
{
    for (unsigned i = 0; i < tcp->heralds.ears; i++)
        if (!memcmp(&tcp->heralds.ear[i].at, at, sizeof *at))
            return &tcp->heralds.ear[i];
    return NULL;
}

/* The port that a socket could be bound to, as in an address, or 0. */
static in_port_t herald_bind_in_range(struct tcp *tcp, int fd, const struct sockaddr_storage *at)
{
    struct sockaddr_storage address = *at;
    socklen_t length = herald_length_of(at);

    for (unsigned port = tcp->heralds.first; port <= tcp->heralds.last; port++) {
        *herald_port_of(&address) = htons((uint16_t)port);
        if (!bind(fd, (struct sockaddr *)&address, length))
            return getsockname(fd, (struct sockaddr *)&address, &length)
                       ? 0
                       : *herald_port_of(&address);
    }
    return 0;
}

static struct tcp_ear *herald_open_ear(struct tcp *tcp, const struct sockaddr_storage *at)
{
    struct tcp_ear ear = {.at = *at};

    if (tcp->heralds.ears == TCP_EARS)
        return NULL;
    ear.fd = socket(at->ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (ear.fd < 0)
        return NULL;
    ear.port = herald_bind_in_range(tcp, ear.fd, at);
    if (!ear.port) {
        close(ear.fd);
        return NULL;
    }
    tcp->heralds.ear[tcp->heralds.ears] = ear;
    return &tcp->heralds.ear[tcp->heralds.ears++];
}

uint16_t sy_tcp_heralds_ear(struct tcp *tcp, int connection)
{
    struct sockaddr_storage own;
    struct tcp_ear *ear;

    if (tcp->host->crowded || !herald_own_address(tcp, connection, &own))
        return 0;
    ear = herald_find_ear(tcp, &own);
    if (!ear)
        ear = herald_open_ear(tcp, &own);
    return ear ? ntohs(ear->port) : 0;
}

/* ---- a lane's ---- */

/* Where the other side of a connection hears: false where this side does not. */
static bool herald_find_way(struct tcp *tcp, struct tcp_herald *way, int connection, uint32_t hears)
{
    struct sockaddr_storage own, peer = {0};
    socklen_t length = sizeof peer;

    if (!hears || !herald_own_address(tcp, connection, &own) || !herald_find_ear(tcp, &own) ||
        getpeername(connection, (struct sockaddr *)&peer, &length) || !is_ip(&peer))
        return false;
    *herald_port_of(&peer) = htons((uint16_t)hears);
    way->length = herald_length_of(&peer);
    memcpy(&way->to, &peer, way->length);
    memcpy(&way->own, &own, way->length);
    return true;
}

/* What a producer may be reading stays as it is, but for the keys, which are read word by word: a
 * herald that gets a word of either connection is not believed, as if it had got lost. */
void sy_tcp_herald_meet(struct tcp_lane *lane, int connection, uint32_t hears,
                        const unsigned char keys[32], bool connector)
{
    struct tcp_herald *herald = &lane->herald, way = {0};
    bool open = herald_find_way(lane->tcp, &way, connection, hears);

    if (open && !herald->length) {
        herald->own = way.own;
        herald->to = way.to;
        herald->length = way.length;
    }
    open = open && !memcmp(&way.to, &herald->to, sizeof way.to) &&
           !memcmp(&way.own, &herald->own, sizeof way.own);
    for (int other = 0; other < 2; other++)
        for (int i = 0; i < 2; i++) {
            uint64_t word;
            memcpy(&word, keys + 16 * (connector == other) + 8 * i, sizeof word);
            atomic_store_explicit(&herald->key[other][i], word, memory_order_relaxed);
        }
    atomic_store_explicit(&herald->works, false, memory_order_relaxed);
    atomic_store_explicit(&herald->heard, false, memory_order_relaxed);
    atomic_store_explicit(&herald->open, open, memory_order_release);
}

static uint64_t herald_authenticator(const struct tcp_herald *herald, bool hears,
                                     const struct tcp_datagram *datagram)
{
    const uint64_t key[2] = {atomic_load_explicit(&herald->key[hears][0], memory_order_relaxed),
                             atomic_load_explicit(&herald->key[hears][1], memory_order_relaxed)};
    uint64_t words[3];

    memcpy(words, datagram, sizeof words);
    return sy_siphash(key, words, 3);
}

/* ---- saying ---- */

static struct tcp_datagram herald_make(struct tcp *tcp, const struct tcp_herald *herald,
                                       unsigned flags, uint64_t header, uint64_t value)
{
    struct tcp_datagram datagram = {
        .from = (uint32_t)tcp->host->pe, .flags = flags, .header = header, .value = value};

    datagram.tag = herald_authenticator(herald, false, &datagram);
    return datagram;
}

static bool herald_send(struct tcp *tcp, const struct tcp_herald *herald, bool alone,
                        uint64_t header, uint64_t value)
{
    bool heard = atomic_load_explicit(&herald->heard, memory_order_relaxed);
    unsigned flags = (heard ? TCP_DATAGRAM_HEARD : 0) | (alone ? TCP_DATAGRAM_ALONE : 0);
    struct tcp_datagram datagram = herald_make(tcp, herald, flags, header, value);

    return send(herald->fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           sizeof datagram;
}

/* A socket for each lane, since the kernel keeps the way of a connected one. */
static int herald_connected(const struct tcp_herald *herald)
{
    int fd = socket(herald->to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && (bind(fd, &herald->own.any, herald->length) ||
                    connect(fd, &herald->to.any, herald->length))) {
        close(fd);
        fd = -2;
    }
    return fd < 0 ? -2 : fd;
}

/* Something is kept. Either this finds a look planned, or the look, which clears `look_at` first,
 * finds what is kept: both write one and then read the other, in sequential order. */
static void herald_plan_look(struct tcp *tcp, uint64_t now, unsigned microseconds)
{
    if (atomic_load(&tcp->heralds.look_at) ||
        atomic_exchange(&tcp->heralds.look_at, now + microseconds * UINT64_C(1000)))
        return;
    tcp->host->soon(microseconds);
}

/* Where the lane's requests end that are not RAISEs. */
static uint64_t herald_others_end(const struct tcp_lane *lane)
{
    uint64_t tail = sy_tcp_log_tail(&lane->log[TCP_REQUESTS]);

    return tail == lane->herald.raised ? lane->herald.others : tail;
}

void sy_tcp_herald_joins(struct tcp_lane *lane, size_t bytes)
{
    lane->herald.others = herald_others_end(lane);
    lane->herald.raised = sy_tcp_log_tail(&lane->log[TCP_REQUESTS]) + bytes;
}

/* Whether a herald would overtake something. Where that is no more than it was last time, the other
 * side is asked to confirm it: one that says all by heralds does not do so by itself. */
static bool herald_overtakes(struct tcp_lane *lane)
{
    uint64_t others = herald_others_end(lane);

    if (sy_tcp_log_acked(&lane->log[TCP_REQUESTS]) < others) {
        if (others == lane->herald.others)
            sy_tcp_send_ask(lane, others);
        return true;
    }
    for (int i = 0; i < TCP_STREAMS_MAX; i++) {
        const struct tcp_lane *stripe = lane->stripe[i];
        if (stripe && sy_tcp_log_acked(&stripe->log[TCP_REQUESTS]) <
                          sy_tcp_log_tail(&stripe->log[TCP_REQUESTS]))
            return true;
    }
    return false;
}

/* Counts a RAISE that is said. The first after a rest begins a new count. */
static void herald_expect_one(struct tcp *tcp, uint64_t now)
{
    if (now - atomic_load_explicit(&tcp->heralds.raised_at, memory_order_relaxed) >= PATIENCE)
        atomic_store_explicit(&tcp->heralds.awaited, 0, memory_order_relaxed);
    atomic_store_explicit(&tcp->heralds.raised_at, now, memory_order_relaxed);
    atomic_fetch_add_explicit(&tcp->heralds.awaited, 1, memory_order_relaxed);
    if (atomic_load_explicit(&tcp->heralds.come, memory_order_relaxed))
        atomic_store_explicit(&tcp->heralds.polls, LISTEN, memory_order_relaxed);
}

/* Whether a herald may say it, beside the lane or alone. */
static bool herald_may_say(struct tcp_lane *lane, bool often, uint64_t kept, uint64_t header)
{
    struct tcp_herald *herald = &lane->herald;

    if (!often || (kept && kept != header) || herald_overtakes(lane))
        return false;
    if (!atomic_load_explicit(&lane->tcp->heralds.busy, memory_order_relaxed))
        atomic_store_explicit(&lane->tcp->heralds.busy, true, memory_order_relaxed);
    if (atomic_load_explicit(&herald->works, memory_order_relaxed))
        herald->tries = 0;
    else if (++herald->tries > TRIES && herald->tries % TRIES &&
             !atomic_load_explicit(&herald->heard, memory_order_relaxed))
        return false;
    if (herald->fd == -1)
        herald->fd = herald_connected(herald);
    return true;
}

bool sy_tcp_herald_says(struct tcp_lane *lane, uint64_t header, uint64_t value)
{
    struct tcp *tcp = lane->tcp;
    struct tcp_herald *herald = &lane->herald;

    if (tcp->host->crowded || herald->fd == -2 ||
        !atomic_load_explicit(&herald->open, memory_order_acquire))
        return false;
    uint64_t now = sy_tcp_now();
    uint64_t kept = atomic_load_explicit(&herald->header, memory_order_relaxed);
    bool often = now - herald->said_at < PATIENCE;
    bool works = atomic_load_explicit(&herald->works, memory_order_relaxed);
    herald->said_at = now;
    if (kept == header)
        atomic_store_explicit(&herald->header, 0, memory_order_relaxed);
    herald_expect_one(tcp, now);
    if (!herald_may_say(lane, often, kept, header) ||
        !herald_send(tcp, herald, works, header, value) || !works)
        return false;
    herald->value = value;
    atomic_store_explicit(&herald->kept_at, now, memory_order_relaxed);
    atomic_store(&herald->header, header);
    herald_plan_look(tcp, now, PATIENCE_US);
    return true;
}

/* Appends it, by the producer or in its place. False: there is no room. */
static bool herald_append_kept(struct tcp_lane *lane)
{
    struct tcp_herald *herald = &lane->herald;
    uint64_t header = atomic_load_explicit(&herald->header, memory_order_relaxed);
    uint64_t word[2] = {sy_record_as(header, SY_RECORD_REPEAT, 3), herald->value};
    char *room;

    if (!header)
        return true;
    sy_tcp_run_close(lane);
    room = sy_tcp_log_reserve(&lane->log[TCP_REQUESTS], sizeof word);
    if (!room)
        return false;
    memcpy(room, word, sizeof word);
    sy_tcp_herald_joins(lane, sizeof word);
    sy_tcp_log_commit(&lane->log[TCP_REQUESTS], sizeof word);
    atomic_store_explicit(&herald->header, 0, memory_order_relaxed);
    return true;
}

void sy_tcp_herald_flush(struct tcp_lane *lane)
{
    if (SY_UNLIKELY(atomic_load_explicit(&lane->herald.header, memory_order_relaxed)) &&
        herald_append_kept(lane))
        sy_tcp_send_mark(lane, false);
}

bool sy_tcp_herald_settle(struct tcp_lane *lane)
{
    if (!atomic_load(&lane->herald.header) || atomic_load(&lane->state) == TCP_LANE_OVER)
        return true;
    if (!sy_tcp_producer_stop(lane))
        return false;
    bool appended = herald_append_kept(lane);
    sy_tcp_producer_go(lane);
    if (appended)
        sy_tcp_send_mark(lane, false);
    return appended;
}

/* Settles what is due; what is left is due at the time returned; 0: nothing is left. */
static uint64_t herald_settle_due(struct tcp *tcp, uint64_t now)
{
    unsigned count = atomic_load_explicit(&tcp->lanes.count, memory_order_acquire);
    uint64_t next = 0;

    for (unsigned i = 0; i < count; i++) {
        struct tcp_lane *lane = tcp->lanes.lane[i];
        if (!atomic_load(&lane->herald.header))
            continue;
        uint64_t due = atomic_load_explicit(&lane->herald.kept_at, memory_order_relaxed) + PATIENCE;
        if (due <= now && sy_tcp_herald_settle(lane))
            continue;
        if (due <= now)
            due = now + AGAIN_US * UINT64_C(1000);
        next = !next || due < next ? due : next;
    }
    return next;
}

/* A timer that expires earlier may have been set for somebody else, so the rest of the time is
 * asked for again. */
void sy_tcp_heralds_repeat(struct tcp *tcp)
{
    uint64_t at = atomic_load_explicit(&tcp->heralds.look_at, memory_order_relaxed), now, next;

    if (SY_LIKELY(!at))
        return;
    now = sy_tcp_now();
    if (now < at) {
        tcp->host->soon((unsigned)((at - now) / 1000) + 1);
        return;
    }
    if (!atomic_exchange(&tcp->heralds.look_at, 0))
        return;
    next = herald_settle_due(tcp, now);
    if (next)
        herald_plan_look(tcp, now, (unsigned)((next - now) / 1000) + 1);
}

/* ---- hearing ---- */

bool sy_tcp_heralds_expected(struct tcp *tcp)
{
    unsigned polls = atomic_load_explicit(&tcp->heralds.polls, memory_order_relaxed);

    if (!polls || atomic_load_explicit(&tcp->heralds.awaited, memory_order_relaxed) <= 0)
        return false;
    atomic_store_explicit(&tcp->heralds.polls, polls - 1, memory_order_relaxed);
    return true;
}

static void note_news(struct tcp *tcp)
{
    if (atomic_load_explicit(&tcp->heralds.awaited, memory_order_relaxed) > -MOST_EARLY)
        atomic_fetch_sub_explicit(&tcp->heralds.awaited, 1, memory_order_relaxed);
}

/* Somebody to whom this PE has nothing to say learns so too that it is heard: a word is always at
 * least 0. */
static void herald_answer(struct tcp *tcp, const struct tcp_ear *ear,
                          const struct tcp_herald *herald, uint64_t header)
{
    struct tcp_datagram datagram = herald_make(tcp, herald, TCP_DATAGRAM_HEARD | TCP_DATAGRAM_ALONE,
                                               header, 0);

    sendto(ear->fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL, &herald->to.any,
           herald->length);
}

/* Nothing is believed, and nobody is told, before the authenticator has been compared. */
static bool herald_take(struct tcp *tcp, const struct tcp_ear *ear,
                        const struct tcp_datagram *datagram)
{
    struct tcp_lane *lane = sy_tcp_lane_made(tcp, datagram->from, 0);
    struct tcp_herald *herald = lane ? &lane->herald : NULL;

    if (!lane || !atomic_load_explicit(&herald->open, memory_order_acquire) ||
        herald_authenticator(herald, true, datagram) != datagram->tag)
        return false;
    atomic_store_explicit(&herald->heard, true, memory_order_relaxed);
    atomic_store_explicit(&herald->works, datagram->flags & TCP_DATAGRAM_HEARD,
                          memory_order_relaxed);
    atomic_store_explicit(&tcp->heralds.come, true, memory_order_relaxed);
    if (!(datagram->flags & TCP_DATAGRAM_ALONE))
        herald_answer(tcp, ear, herald, datagram->header);
    if (sy_record_op(datagram->header) != SY_RECORD_RAISE ||
        sy_apply_raise(&tcp->regions, datagram->header, datagram->value) <= 0)
        return false;
    note_news(tcp);
    return true;
}

size_t sy_tcp_heralds_hear(struct tcp *tcp)
{
    struct tcp_datagram datagram;

    if (!atomic_load_explicit(&tcp->heralds.busy, memory_order_relaxed))
        return 0;
    for (unsigned i = 0; i < tcp->heralds.ears; i++)
        if (recv(tcp->heralds.ear[i].fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC) ==
                sizeof datagram &&
            herald_take(tcp, &tcp->heralds.ear[i], &datagram))
            return 1;
    return 0;
}

/* A herald that the lane has to make up for has not come: nor may those of this side. */
void sy_tcp_herald_note(struct tcp_lane *lane, bool news, bool repeat)
{
    if (!news)
        return;
    note_news(lane->tcp);
    if (!repeat)
        return;
    atomic_store_explicit(&lane->herald.heard, false, memory_order_relaxed);
    atomic_store_explicit(&lane->herald.works, false, memory_order_relaxed);
    atomic_store_explicit(&lane->tcp->heralds.come, false, memory_order_relaxed);
}

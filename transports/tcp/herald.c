/* See herald.h. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/tcp/herald.h"
#include "transports/tcp/interfaces.h"
#include "transports/tcp/issue.h"
#include "util/siphash.h"

#define PATIENCE_US 1000
#define PATIENCE    (PATIENCE_US * UINT64_C(1000))
#define LISTEN      400 /* polls, some 100 us, after which a herald may as well be heard late */
#define TRIES       64  /* in vain, after which one in so many is */
#define EARS        4   /* addresses of this PE that others connect to */

struct ear {
    int fd;
    in_port_t port;             /* as in an address */
    struct sockaddr_storage at; /* with port 0 */
};

static struct {
    struct ear ear[EARS];
    unsigned ears;
    bool open;
    unsigned first, last;   /* ports; 0: any */
    _Atomic bool kept;      /* some lane has something to say after all, perhaps */
    _Atomic int awaited;    /* heralds; each word that is raised here is answered by another's */
    _Atomic unsigned polls; /* that are to look for them first */
} heralds;

void sy_tcp_heralds_open(void)
{
    struct sy_error err;

    memset(&heralds, 0, sizeof heralds);
    heralds.open = sy_tcp_settings.heralds && !sy_tcp_uses_node_lanes() &&
                   !sy_tcp_ports_parse(sy_tcp_settings.port_range, &heralds.first, &heralds.last,
                                       &err);
}

void sy_tcp_heralds_close(void)
{
    while (heralds.ears)
        close(heralds.ear[--heralds.ears].fd);
    heralds.open = false;
}

/* ---- addresses ---- */

static in_port_t *port_of(struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? &((struct sockaddr_in *)address)->sin_port
                                         : &((struct sockaddr_in6 *)address)->sin6_port;
}

static socklen_t length_of(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static bool is_ip(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

/* This side's address of a connection, with port 0. */
static bool own_address(int connection, struct sockaddr_storage *own)
{
    socklen_t length = sizeof *own;

    memset(own, 0, sizeof *own);
    if (!heralds.open || getsockname(connection, (struct sockaddr *)own, &length) || !is_ip(own))
        return false;
    *port_of(own) = 0;
    return true;
}

static struct ear *find_ear(const struct sockaddr_storage *at)
{
    for (unsigned i = 0; i < heralds.ears; i++)
        if (!memcmp(&heralds.ear[i].at, at, sizeof *at))
            return &heralds.ear[i];
    return NULL;
}

/* The port that a socket could be bound to, as in an address, or 0. */
static in_port_t bind_in_range(int fd, const struct sockaddr_storage *at)
{
    struct sockaddr_storage address = *at;
    socklen_t length = length_of(at);

    for (unsigned port = heralds.first; port <= heralds.last; port++) {
        *port_of(&address) = htons((uint16_t)port);
        if (!bind(fd, (struct sockaddr *)&address, length))
            return getsockname(fd, (struct sockaddr *)&address, &length) ? 0 : *port_of(&address);
    }
    return 0;
}

static struct ear *open_ear(const struct sockaddr_storage *at)
{
    struct ear ear = {.at = *at};

    if (heralds.ears == EARS)
        return NULL;
    ear.fd = socket(at->ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (ear.fd < 0)
        return NULL;
    ear.port = bind_in_range(ear.fd, at);
    if (!ear.port) {
        close(ear.fd);
        return NULL;
    }
    heralds.ear[heralds.ears] = ear;
    return &heralds.ear[heralds.ears++];
}

uint16_t sy_tcp_heralds_ear(int connection)
{
    struct sockaddr_storage own;
    struct ear *ear;

    if (!own_address(connection, &own))
        return 0;
    ear = find_ear(&own);
    if (!ear)
        ear = open_ear(&own);
    return ear ? ntohs(ear->port) : 0;
}

/* ---- a lane's ---- */

/* Where the other side of a connection hears: false where this side does not. */
static bool find_way(struct tcp_herald *way, int connection, uint32_t hears)
{
    struct sockaddr_storage own, peer = {0};
    socklen_t length = sizeof peer;

    if (!hears || !own_address(connection, &own) || !find_ear(&own) ||
        getpeername(connection, (struct sockaddr *)&peer, &length) || !is_ip(&peer))
        return false;
    *port_of(&peer) = htons((uint16_t)hears);
    way->to_length = length_of(&peer);
    memcpy(&way->to, &peer, way->to_length);
    return true;
}

/* What a producer may be reading stays as it is, but for the keys, which are read word by word: a
 * herald that gets a word of either connection is not believed, as if it had got lost. */
void sy_tcp_herald_meet(struct tcp_lane *lane, int connection, uint32_t hears,
                        const unsigned char keys[32], bool connector)
{
    struct tcp_herald *herald = &lane->herald, way = {0};
    bool open = find_way(&way, connection, hears);

    if (open && !herald->to_length) {
        herald->to = way.to;
        herald->to_length = way.to_length;
    }
    open = open && !memcmp(&way.to, &herald->to, sizeof way.to);
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

static uint64_t authenticator(const struct tcp_herald *herald, bool hears,
                              const struct tcp_datagram *datagram)
{
    const uint64_t key[2] = {atomic_load_explicit(&herald->key[hears][0], memory_order_relaxed),
                             atomic_load_explicit(&herald->key[hears][1], memory_order_relaxed)};
    uint64_t words[3];

    memcpy(words, datagram, sizeof words);
    return sy_siphash(key, words, 3);
}

/* ---- saying ---- */

static bool send_herald(struct tcp_herald *herald, uint64_t header, uint64_t value)
{
    struct tcp_datagram datagram = {
        .from = (uint32_t)sy_tcp_host->pe,
        .flags = atomic_load_explicit(&herald->heard, memory_order_relaxed) ? TCP_DATAGRAM_HEARD
                                                                            : 0,
        .header = header,
        .value = value};

    datagram.tag = authenticator(herald, false, &datagram);
    return send(herald->fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           sizeof datagram;
}

/* A socket for each lane, since the kernel keeps the way of a connected one. */
static int connected(const struct tcp_herald *herald)
{
    int fd = socket(herald->to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, &herald->to.any, herald->to_length)) {
        close(fd);
        fd = -2;
    }
    return fd < 0 ? -2 : fd;
}

/* Something is kept. Either this finds `kept` clear, or the look that clears it finds what is kept:
 * both write one and then read the other, in sequential order. */
static void see_to_it(void)
{
    if (!atomic_load(&heralds.kept) && !atomic_exchange(&heralds.kept, true))
        sy_tcp_host->soon(PATIENCE_US);
}

/* Where the lane's requests end that are not RAISEs. */
static uint64_t others_end(const struct tcp_lane *lane)
{
    uint64_t tail = sy_tcp_log_tail(&lane->log[TCP_REQUESTS]);

    return tail == lane->herald.raised ? lane->herald.others : tail;
}

void sy_tcp_herald_joins(struct tcp_lane *lane, size_t bytes)
{
    lane->herald.others = others_end(lane);
    lane->herald.raised = sy_tcp_log_tail(&lane->log[TCP_REQUESTS]) + bytes;
}

static bool overtakes(const struct tcp_lane *lane)
{
    if (sy_tcp_log_acked(&lane->log[TCP_REQUESTS]) < others_end(lane))
        return true;
    for (int i = 0; i < TCP_STREAMS_MAX; i++) {
        const struct tcp_lane *stripe = lane->stripe[i];
        if (stripe && sy_tcp_log_acked(&stripe->log[TCP_REQUESTS]) <
                          sy_tcp_log_tail(&stripe->log[TCP_REQUESTS]))
            return true;
    }
    return false;
}

bool sy_tcp_herald_says(struct tcp_lane *lane, uint64_t header, uint64_t value)
{
    struct tcp_herald *herald = &lane->herald;

    if (sy_tcp_host->crowded || !atomic_load_explicit(&herald->open, memory_order_acquire))
        return false;
    uint64_t now = sy_tcp_now();
    uint64_t kept = atomic_load_explicit(&herald->header, memory_order_relaxed);
    bool often = now - herald->said_at < PATIENCE;
    bool works = atomic_load_explicit(&herald->works, memory_order_relaxed);
    herald->said_at = now;
    if (kept == header)
        atomic_store_explicit(&herald->header, 0, memory_order_relaxed);
    if (!often || (kept && kept != header) || overtakes(lane))
        return false;
    atomic_fetch_add_explicit(&heralds.awaited, 1, memory_order_relaxed);
    atomic_store_explicit(&heralds.polls, LISTEN, memory_order_relaxed);
    herald->tries = works ? 0 : herald->tries + 1;
    if (herald->tries > TRIES && herald->tries % TRIES)
        return false;
    if (herald->fd == -1)
        herald->fd = connected(herald);
    if (!send_herald(herald, header, value) || !works)
        return false;
    herald->value = value;
    atomic_store_explicit(&herald->kept_at, now, memory_order_relaxed);
    atomic_store(&herald->header, header);
    see_to_it();
    return true;
}

/* Appends it in the producer's place. */
bool sy_tcp_herald_repeat(struct tcp_lane *lane)
{
    struct tcp_herald *herald = &lane->herald;
    char *room = NULL;

    if (!atomic_load_explicit(&herald->header, memory_order_relaxed))
        return true;
    if (!sy_tcp_producer_stop(lane))
        return false;
    uint64_t word[2] = {atomic_load_explicit(&herald->header, memory_order_relaxed), herald->value};
    if (word[0]) {
        sy_tcp_run_close(lane);
        room = sy_tcp_log_reserve(&lane->log[TCP_REQUESTS], sizeof word);
    }
    if (room) {
        memcpy(room, word, sizeof word);
        sy_tcp_herald_joins(lane, sizeof word);
        sy_tcp_log_commit(&lane->log[TCP_REQUESTS], sizeof word);
        atomic_store_explicit(&herald->header, 0, memory_order_relaxed);
        atomic_store_explicit(&herald->works, false, memory_order_relaxed);
    }
    sy_tcp_producer_go(lane);
    if (room)
        sy_tcp_send_mark(lane, false);
    return room || !word[0];
}

void sy_tcp_heralds_keep(void)
{
    bool more = false;

    if (!atomic_load_explicit(&heralds.kept, memory_order_relaxed) ||
        !atomic_exchange(&heralds.kept, false))
        return;
    unsigned count = atomic_load_explicit(&sy_tcp_lanes.count, memory_order_acquire);
    uint64_t now = sy_tcp_now();
    for (unsigned i = 0; i < count; i++) {
        struct tcp_lane *lane = sy_tcp_lanes.lane[i];
        if (!atomic_load(&lane->herald.header))
            continue;
        uint64_t since = atomic_load_explicit(&lane->herald.kept_at, memory_order_relaxed);
        bool due = now > since && now - since >= PATIENCE;
        more = !(due && sy_tcp_herald_repeat(lane)) || more;
    }
    if (more)
        see_to_it();
}

/* ---- hearing ---- */

bool sy_tcp_heralds_expected(void)
{
    unsigned polls = atomic_load_explicit(&heralds.polls, memory_order_relaxed);

    if (!polls)
        return false;
    if (atomic_load_explicit(&heralds.awaited, memory_order_relaxed) <= 0 || polls == 1) {
        atomic_store_explicit(&heralds.awaited, 0, memory_order_relaxed);
        polls = 1;
    }
    atomic_store_explicit(&heralds.polls, polls - 1, memory_order_relaxed);
    return polls > 1;
}

/* Lanes that this PE has used come by its routes; others, and those of strangers, cost a search. */
static struct tcp_lane *lane_of(uint32_t pe)
{
    unsigned count = atomic_load_explicit(&sy_tcp_lanes.count, memory_order_acquire);

    if (pe >= (uint32_t)sy_tcp_host->npes)
        return NULL;
    struct tcp_lane *lane = atomic_load_explicit(&sy_tcp_routes[pe].lane, memory_order_acquire);
    for (unsigned i = 0; i < count && !lane; i++)
        if ((uint32_t)sy_tcp_lanes.lane[i]->pe == pe && !sy_tcp_lanes.lane[i]->number)
            lane = sy_tcp_lanes.lane[i];
    return lane;
}

/* Nothing is believed, and nobody is told, before the authenticator has been compared. */
static bool take(const struct tcp_datagram *datagram)
{
    struct tcp_lane *lane = lane_of(datagram->from);
    struct tcp_herald *herald = lane ? &lane->herald : NULL;

    if (!lane || !atomic_load_explicit(&herald->open, memory_order_acquire) ||
        authenticator(herald, true, datagram) != datagram->tag)
        return false;
    atomic_store_explicit(&herald->heard, true, memory_order_relaxed);
    if (datagram->flags & TCP_DATAGRAM_HEARD)
        atomic_store_explicit(&herald->works, true, memory_order_relaxed);
    return sy_tcp_apply_raise(datagram->header, datagram->value) > 0;
}

static void note_news(bool news)
{
    if (news && atomic_load_explicit(&heralds.awaited, memory_order_relaxed) > 0)
        atomic_fetch_sub_explicit(&heralds.awaited, 1, memory_order_relaxed);
}

size_t sy_tcp_heralds_hear(void)
{
    struct tcp_datagram datagram;

    for (unsigned i = 0; i < heralds.ears; i++)
        if (recv(heralds.ear[i].fd, &datagram, sizeof datagram, MSG_DONTWAIT | MSG_TRUNC) ==
            sizeof datagram) {
            bool news = take(&datagram);
            note_news(news);
            return news;
        }
    return 0;
}

void sy_tcp_herald_late(struct tcp_lane *lane, bool news)
{
    if (news)
        atomic_store_explicit(&lane->herald.heard, false, memory_order_relaxed);
    note_news(news);
}

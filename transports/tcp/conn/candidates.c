#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "transports/tcp/conn/candidates.h"
#include "util/net/bytes.h"

#define RECORD_VERSION 1
#define HEADER         11
#define OWN_PORT       0x80

/* ---- the record ---- */

static size_t endpoint_bytes(const struct tcp_endpoint *endpoint, uint16_t port)
{
    return 2u + (endpoint->port == port ? 0 : 2) + sy_ip_length(&endpoint->ip);
}

static unsigned char *candidates_put_endpoint(unsigned char *at,
                                              const struct tcp_endpoint *endpoint, uint16_t port)
{
    bool own = endpoint->port != port;

    *at++ = (unsigned char)(endpoint->ip.family | (own ? OWN_PORT : 0));
    *at++ = endpoint->ip.prefix;
    if (own)
        at = sy_bytes_put(at, endpoint->port, 2);
    memcpy(at, endpoint->ip.bytes, sy_ip_length(&endpoint->ip));
    return at + sy_ip_length(&endpoint->ip);
}

size_t sy_tcp_record_write(const struct tcp_record *record, void *buffer, size_t room)
{
    unsigned char *start = buffer, *at = start + HEADER;
    unsigned written = 0;
    size_t kept = 0; /* for loopback, which comes last */
    uint16_t port = record->count ? record->endpoint[0].port : 0;
    const struct tcp_endpoint *last = record->endpoint + record->count - 1;

    if (!record->count)
        return 0;
    if (sy_ip_loopback(&last->ip))
        kept = endpoint_bytes(last, port);
    if (room < HEADER + kept)
        return 0;
    for (unsigned i = 0; i < record->count; i++) {
        const struct tcp_endpoint *each = &record->endpoint[i];
        size_t used = (size_t)(at - start) + (each == last ? 0 : kept);

        if (used + endpoint_bytes(each, port) > room)
            continue;
        at = candidates_put_endpoint(at, each, port);
        written++;
    }
    *start = (unsigned char)(RECORD_VERSION << 4 | written);
    sy_bytes_put(sy_bytes_put(start + 1, record->machine, 8), port, 2);
    return written ? (size_t)(at - start) : 0;
}

static bool candidates_sensible(const struct tcp_endpoint *endpoint)
{
    const struct sy_ip *ip = &endpoint->ip;
    static const struct sy_ip unspecified;
    bool multicast = ip->family == 4 ? ip->bytes[0] >= 224 : ip->bytes[0] == 0xff;

    return endpoint->port && ip->prefix <= sy_ip_length(ip) * 8 && !multicast &&
           memcmp(ip->bytes, unspecified.bytes, sizeof ip->bytes) != 0;
}

/* Takes an endpoint: how many bytes it had, or 0. */
static size_t candidates_take_endpoint(const unsigned char *at, size_t left, uint16_t port,
                                       struct tcp_endpoint *endpoint)
{
    size_t own = left && *at & OWN_PORT ? 2 : 0;

    *endpoint = (struct tcp_endpoint){.port = port};
    if (left < 2 + own)
        return 0;
    endpoint->ip.family = *at & (uint8_t)~OWN_PORT;
    endpoint->ip.prefix = at[1];
    if ((endpoint->ip.family != 4 && endpoint->ip.family != 6) ||
        left < 2 + own + sy_ip_length(&endpoint->ip))
        return 0;
    if (own)
        endpoint->port = (uint16_t)sy_bytes_get(at + 2, 2);
    memcpy(endpoint->ip.bytes, at + 2 + own, sy_ip_length(&endpoint->ip));
    return candidates_sensible(endpoint) ? 2 + own + sy_ip_length(&endpoint->ip) : 0;
}

bool sy_tcp_record_read(struct tcp_record *record, const void *bytes, size_t size)
{
    const unsigned char *at = bytes, *end = at + size;

    if (size < HEADER || *at >> 4 != RECORD_VERSION || !(*at & 15))
        return false;
    *record = (struct tcp_record){.machine = sy_bytes_get(at + 1, 8), .count = *at & 15};
    uint16_t port = (uint16_t)sy_bytes_get(at + 9, 2);
    at += HEADER;
    for (unsigned i = 0; i < record->count; i++) {
        size_t used = candidates_take_endpoint(at, (size_t)(end - at), port, &record->endpoint[i]);
        if (!used)
            return false;
        at += used;
    }
    while (at < end)
        if (*at++)
            return false;
    return true;
}

/* "192.0.2.1", "192.0.2.1:7000", "2001:db8::1", "[2001:db8::1]:7000" */
static bool candidates_parse_endpoint(const char *text, uint16_t port,
                                      struct tcp_endpoint *endpoint)
{
    char ip[SY_IP_TEXT];

    endpoint->port = port;
    return !sy_place_split(text, ip, sizeof ip, &endpoint->port) && !strchr(ip, '/') &&
           !sy_ip_parse(ip, &endpoint->ip) && candidates_sensible(endpoint);
}

int sy_tcp_record_advertise(const struct sy_host *host, struct tcp_record *record, const char *list,
                            uint16_t port, struct sy_error *err)
{
    struct tcp_record given = {.machine = record->machine};
    const struct tcp_endpoint *last = record->endpoint + record->count - 1;
    char word[SY_IP_TEXT];

    for (const char *at = list; at += strspn(at, ", "), *at; at += strcspn(at, ", ")) {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ", "), at);
        if (given.count == TCP_ENDPOINTS - 1)
            return host->fail(err, EINVAL, "SHMEM_TCP_ADVERTISE has more than %d addresses",
                              TCP_ENDPOINTS - 1);
        if (!candidates_parse_endpoint(word, port, &given.endpoint[given.count++]))
            return host->fail(err, EINVAL,
                              "SHMEM_TCP_ADVERTISE=%.100s: write IP addresses, with ports or "
                              "without, such as 192.0.2.1 or 192.0.2.1:7000 or [2001:db8::1]:7000",
                              list);
    }
    if (!given.count)
        return 0;
    if (record->count && sy_ip_loopback(&last->ip))
        given.endpoint[given.count++] = *last;
    *record = given;
    return 0;
}

/* ---- the order of trying ---- */

enum rank {
    SAME_MACHINE, /* loopback, if the peer is in this machine */
    NEAR,         /* in a network that this machine is in */
    ROUTED,       /* of a family of which this machine has addresses */
    LINK_LOCAL,   /* on each interface that may lead there */
    UNLIKELY,     /* of a family of which it has none */
    NEVER         /* this machine's own address, or loopback, but the peer is elsewhere */
};

/* Where the peer is, as the machine identities tell. */
enum where { HERE, ELSEWHERE, UNKNOWN };

static enum rank candidates_rank_of(const struct sy_ip *ip, enum where where,
                                    const struct sy_interface *mine, size_t count)
{
    enum rank rank = UNLIKELY;

    if (sy_ip_loopback(ip))
        return where == HERE ? SAME_MACHINE : where == ELSEWHERE ? NEVER : UNLIKELY;
    if (ip->family == 6 && sy_ip_link_local(ip))
        return LINK_LOCAL;
    for (size_t i = 0; i < count; i++) {
        const struct sy_interface *each = &mine[i];

        if (!each->up || each->ip.family != ip->family || each->loopback)
            continue;
        if (sy_ip_equal(&each->ip, ip) && where == ELSEWHERE)
            return NEVER;
        if (sy_ip_within(ip, &each->ip) && sy_ip_within(&each->ip, ip))
            rank = NEAR;
        else if (rank == UNLIKELY && !sy_ip_link_local(&each->ip))
            rank = ROUTED;
    }
    return rank;
}

struct output {
    struct sockaddr_storage *at;
    unsigned count;
};

static void candidates_give(struct output *out, const struct tcp_endpoint *endpoint, unsigned scope)
{
    if (out->count < TCP_CANDIDATES)
        sy_ip_socket(&endpoint->ip, endpoint->port, scope, &out->at[out->count++]);
}

/* Gives link-local addresses an interface, which the address itself does not say. */
static void candidates_give_scopes(struct output *out, const struct tcp_endpoint *endpoint,
                                   const struct sy_interface *mine, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (mine[i].up && mine[i].running && mine[i].ip.family == 6 &&
            sy_ip_link_local(&mine[i].ip))
            candidates_give(out, endpoint, mine[i].index);
}

unsigned sy_tcp_candidates(const struct tcp_record *peer, uint64_t machine,
                           const struct sy_interface *mine, size_t count,
                           struct sockaddr_storage out[TCP_CANDIDATES])
{
    struct output output = {out, 0};
    enum where where = !machine || !peer->machine ? UNKNOWN
                       : machine == peer->machine ? HERE
                                                  : ELSEWHERE;

    for (enum rank rank = SAME_MACHINE; rank < NEVER; rank++)
        for (unsigned i = 0; i < peer->count; i++) {
            const struct tcp_endpoint *each = &peer->endpoint[i];

            if (candidates_rank_of(&each->ip, where, mine, count) != rank)
                continue;
            if (rank == LINK_LOCAL)
                candidates_give_scopes(&output, each, mine, count);
            else
                candidates_give(&output, each, 0);
        }
    return output.count;
}

/* This machine's interface in the network of an address, or NULL. */
static const struct sy_interface *candidates_near(const struct sockaddr_storage *address,
                                                  const struct sy_interface *mine, size_t count)
{
    struct sy_ip ip = sy_socket_ip(address);

    for (size_t i = 0; i < count; i++)
        if (mine[i].up && !mine[i].loopback && !sy_ip_link_local(&ip) &&
            sy_ip_within(&ip, &mine[i].ip))
            return &mine[i];
    return NULL;
}

/* A network that both PEs are in: by which address the peer is there, and by which interface this
 * machine. */
struct rail {
    unsigned address;
    const struct sy_interface *mine;
};

/* Finds the networks of the best address's family and speed; returns how many. */
static unsigned candidates_find_rails(const struct sockaddr_storage *address, unsigned addresses,
                                      const struct sy_interface *mine, size_t count, bool chosen,
                                      struct rail rail[TCP_CANDIDATES])
{
    const struct sy_interface *best = candidates_near(address, mine, count);
    unsigned rails = 0;

    if (!best || !(best->speed || chosen))
        return 0;
    for (unsigned i = 0; i < addresses; i++) {
        const struct sy_interface *each = candidates_near(&address[i], mine, count);
        unsigned known = 0;

        if (!each || each->ip.family != best->ip.family || each->speed != best->speed)
            continue;
        while (known < rails && rail[known].mine != each)
            known++;
        if (known == rails)
            rail[rails++] = (struct rail){i, each};
    }
    return rails;
}

/* How many networks come before another one, by their addresses: so both PEs number them alike. */
static unsigned candidates_place_of(const struct rail *rail, unsigned rails, unsigned which)
{
    unsigned before = 0;

    for (unsigned i = 0; i < rails; i++)
        before += memcmp(rail[i].mine->ip.bytes, rail[which].mine->ip.bytes,
                         sizeof rail->mine->ip.bytes) < 0;
    return before;
}

void sy_tcp_candidates_spread(struct sockaddr_storage *address, unsigned addresses,
                              const struct sy_interface *mine, size_t count, bool chosen,
                              unsigned number)
{
    struct rail rail[TCP_CANDIDATES];
    unsigned rails = candidates_find_rails(address, addresses, mine, count, chosen, rail);

    for (unsigned i = 0; i < rails; i++)
        if (candidates_place_of(rail, rails, i) == number % rails) {
            struct sockaddr_storage first = address[rail[i].address];
            memmove(address + 1, address, rail[i].address * sizeof *address);
            address[0] = first;
            return;
        }
}

bool sy_tcp_record_outward(const struct tcp_record *record)
{
    return record->count && !sy_ip_loopback(&record->endpoint[0].ip);
}

/* The bell. In libfabric 1.x a completion queue that can be slept on costs each message over
 * tcp;ofi_rxm about a microsecond: the kernel tells the provider's epoll set of it, and the
 * provider asks that set. So where PEs have a processor each, the main lane's queue has no
 * descriptor, and the progress thread of a PE that computes sleeps on a datagram socket, to which
 * nothing is sent but rings. Who is rung looks at the main lane.
 *
 * A PE to which something leaves is put on a list (sy_ofi_expect), and taken off when all of it is
 * known to have arrived. Those on it are rung after a number of polls, in which a PE that polls
 * would have answered, and then again and again, ever more seldom; from the second time on a
 * message asks for that knowledge too. Polls are those of threads that wait (sy_ofi_ring_due), or,
 * while none does, ticks of the progress thread (sy_ofi_inquire). So rings may be lost or come
 * before what they are for. A network may let no datagrams through: a PE of a job on several hosts
 * looks every few milliseconds, rung or not. A ring says only who rings, under the key of
 * the two PEs, and is trusted with nothing: one that is sent again by somebody costs a look. (The
 * core's own bell, core/wait/sleep.h, is between threads of a PE.)
 *
 * All with the main lane locked, but for opening, closing and meeting. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"

#define RINGS 16 /* that are read at once */

/* Polls without a sign of a PE before it is rung, on this machine and on others; and after a ring
 * at most before the next one. */
#define PATIENCE     64
#define PATIENCE_FAR 512
#define LONGEST_GAP  2048

struct ring {
    uint64_t mac;
    uint64_t source; /* the PE that rings */
};

static socklen_t bell_length_of(const void *address)
{
    return ((const struct sockaddr *)address)->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                                     : sizeof(struct sockaddr_in);
}

/* The port stands at the same place in both families. */
static uint16_t *bell_port_of(void *address)
{
    return &((struct sockaddr_in *)address)->sin_port;
}

static int bell_make_socket(struct ofi_state *ofi, int family)
{
    if (ofi->bell.fd < 0)
        ofi->bell.fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return ofi->bell.fd < 0 ? errno : 0;
}

/* Opens the bell beside the endpoint that is to be opened. Returns 0 or an errno value. */
int sy_ofi_bell_open(struct ofi_state *ofi)
{
    const struct sockaddr *at = ofi->info->src_addr;
    struct sockaddr_in6 address;
    socklen_t length = sizeof address;

    if (!at || (at->sa_family != AF_INET && at->sa_family != AF_INET6))
        return EAFNOSUPPORT;
    memcpy(&address, at, bell_length_of(at));
    *bell_port_of(&address) = 0;
    int rc = bell_make_socket(ofi, at->sa_family);
    if (!rc && (bind(ofi->bell.fd, (struct sockaddr *)&address, bell_length_of(at)) ||
                getsockname(ofi->bell.fd, (struct sockaddr *)&address, &length)))
        rc = errno;
    ofi->bell.port = *bell_port_of(&address);
    if (rc)
        sy_ofi_bell_close(ofi);
    return rc;
}

void sy_ofi_bell_close(struct ofi_state *ofi)
{
    if (ofi->bell.fd >= 0)
        close(ofi->bell.fd);
    ofi->bell.fd = -1;
}

int sy_ofi_bell_fd(struct ofi_state *ofi)
{
    return ofi->bell.fd;
}

/* For other PEs, in the network's order. */
uint16_t sy_ofi_bell_port(struct ofi_state *ofi)
{
    return ofi->bell.port;
}

/* Whether an endpoint's address is on another host than this PE's. */
static bool bell_is_far(struct ofi_state *ofi, const struct sockaddr *address)
{
    const struct sockaddr *own = ofi->info->src_addr;

    if (!own || own->sa_family != address->sa_family)
        return true;
    if (own->sa_family == AF_INET6)
        return memcmp(&((const struct sockaddr_in6 *)(const void *)own)->sin6_addr,
                      &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
                      sizeof(struct in6_addr));
    return ((const struct sockaddr_in *)(const void *)own)->sin_addr.s_addr !=
           ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr;
}

/* address: of the peer's endpoint; its_port: of its bell, or 0. Returns 0 or an errno value. */
int sy_ofi_bell_meet(struct ofi_peer *peer, const void *address, uint16_t its_port)
{
    struct ofi_state *ofi = peer->ofi;

    /* Where there are no bells addresses may be of any kind. */
    bool far = (its_port || ofi->traits.bell) && bell_is_far(ofi, address);

    peer->patience = far ? PATIENCE_FAR : PATIENCE;
    ofi->bell.from_far = ofi->bell.from_far || far;
    if (!its_port || peer->pe == ofi->host->pe)
        return 0;
    memcpy(&peer->bell, address, bell_length_of(address));
    *bell_port_of(&peer->bell) = its_port;
    return bell_make_socket(ofi, peer->bell.sin6_family);
}

/* Whether who is needed will be rung for sure: no network is between. */
bool sy_ofi_bell_works(struct ofi_state *ofi)
{
    return !ofi->bell.from_far;
}

/* Whether it is of a PE of this job. */
static bool bell_ring_is_valid(struct ofi_state *ofi, const struct ring *ring, ssize_t length)
{
    if (length != sizeof *ring || !ofi->peer || ring->source >= (uint64_t)ofi->host->npes)
        return false;
    const struct ofi_peer *peer = &ofi->peer[ring->source];
    return peer->known && ring->mac == sy_siphash(peer->secret, &ring->source, 1);
}

/* Whether somebody has rung. */
bool sy_ofi_bell_heard(struct ofi_state *ofi)
{
    bool heard = false;

    for (int i = 0; ofi->traits.bell && i < RINGS; i++) {
        struct ring ring;
        ssize_t length = recv(ofi->bell.fd, &ring, sizeof ring, MSG_TRUNC);
        if (length < 0 && errno == EAGAIN)
            break;
        if (length < 0)
            continue;
        if (bell_ring_is_valid(ofi, &ring, length))
            heard = true;
        else
            sy_ofi_stranger(ofi, "a ring");
    }
    return heard;
}

/* ---- those that are expected to answer ---- */

/* What is refused comes from an earlier ring to a PE that has gone. */
static void bell_ring(struct ofi_peer *peer)
{
    struct ofi_state *ofi = peer->ofi;
    struct ring ring = {.source = (uint64_t)ofi->host->pe};

    ring.mac = sy_siphash(peer->secret, &ring.source, 1);
    if (!peer->bell.sin6_family ||
        sendto(ofi->bell.fd, &ring, sizeof ring, 0, (struct sockaddr *)&peer->bell,
               bell_length_of(&peer->bell)) >= 0 ||
        errno == EAGAIN || errno == ECONNREFUSED || peer->told_of)
        return;
    peer->told_of = !ofi->contacting;
    ofi->host->log(ofi->contacting ? SY_LOG_DEBUG : SY_LOG_WARN, "ofi",
                   "PE %d cannot be woken now, and answers when it calls the library: %s", peer->pe,
                   strerror(errno));
}

/* Rings; asks: for an answer too. Neither is a sign of life. */
static void bell_call(struct ofi_peer *peer, bool asks)
{
    struct ofi_state *ofi = peer->ofi;
    unsigned gap = peer->gap;

    if (asks)
        sy_ofi_prove(peer);
    bell_ring(peer);
    peer->gap = gap < LONGEST_GAP ? 2 * gap : gap;
    peer->ring_at = ofi->looks + peer->gap;
    peer->stale = true;
}

/* The first on the list behind *link that is still expected to answer; the others are taken off. */
static struct ofi_peer *bell_next_expected(struct ofi_peer **link)
{
    struct ofi_peer *peer;

    while ((peer = *link) && !sy_ofi_is_unanswered(peer)) {
        peer->expected = false;
        *link = peer->next_expected;
    }
    return peer;
}

/* Called by sy_ofi_poll when somebody may be due. */
void sy_ofi_ring_due(struct ofi_state *ofi)
{
    struct ofi_peer **link = &ofi->expected, *peer;

    ofi->ring_at = ofi->looks + LONGEST_GAP;
    for (; (peer = bell_next_expected(link)); link = &peer->next_expected) {
        if (sy_ofi_reached(ofi->looks, peer->ring_at))
            bell_call(peer, peer->gap > peer->patience);
        if (!sy_ofi_reached(peer->ring_at, ofi->ring_at))
            ofi->ring_at = peer->ring_at;
    }
}

/* While nobody waits. now: all; else those to whom nothing has left since the last time. Returns
 * whether native transfers are under way, which go on in polls without a word of it. */
bool sy_ofi_inquire(struct ofi_state *ofi, bool now)
{
    bool moving = false;
    struct ofi_peer **link = &ofi->expected, *peer;

    for (; (peer = bell_next_expected(link)); link = &peer->next_expected) {
        if (now || peer->stale)
            bell_call(peer, true);
        peer->stale = true;
        moving |= atomic_load_explicit(&peer->transfers, memory_order_relaxed) > 0;
    }
    return moving;
}

/* Wake-ups, for a main endpoint whose queue has no descriptor (docs/ofi.md says where and why). The
 * progress thread of a PE that computes sleeps on a datagram socket instead, to which nothing but
 * wake-ups is sent. A PE that gets one polls its main endpoint.
 *
 * The sender keeps a list of PEs to which something is under way (sy_ofi_expect). A PE on it that
 * does not answer within so many polls (sy_ofi_patience) gets a wake-up, and then more, at growing
 * distances; from the second on a message asks for an acknowledgement too. Polls are those of
 * threads that wait (sy_ofi_wakeup_due), or, while none does, ticks of the progress thread
 * (sy_ofi_wakeup_inquire).
 *
 * So a wake-up may be lost, or come before what it is for. Where a network lets no datagrams
 * through, a PE of a job on several hosts still polls every few milliseconds. A wake-up is the
 * header of a message, with the numbers of the last messages that its sender has received
 * (`sequence`) and applied. A repeated one costs a poll. probe.c asks by wake-ups, to be answered
 * by one (OFI_ACK_ME), whether a PE runs to which messages do not get.
 *
 * All with the main endpoint locked, but for opening, closing and meeting. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transports/ofi/ofi.h"
#include "util/file.h"
#include "util/net/interfaces.h"

#define WAKEUPS 16 /* that are read at once */

/* Polls without a sign of a PE before it gets a wake-up, on this machine and on others; and after
 * one at most before the next. */
#define PATIENCE     64
#define PATIENCE_FAR 512
#define LONGEST_GAP  2048

static int wakeup_make_socket(struct ofi_state *ofi, int family)
{
    if (ofi->wakeup.fd < 0)
        ofi->wakeup.fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return ofi->wakeup.fd < 0 ? errno : 0;
}

/* Opens the socket for wake-ups beside the endpoint that is to be opened. Returns 0 or an errno
 * value. */
int sy_ofi_wakeup_open(struct ofi_state *ofi)
{
    const struct sockaddr *at = ofi->info->src_addr;
    struct sockaddr_in6 address;

    if (!at || (at->sa_family != AF_INET && at->sa_family != AF_INET6))
        return EAFNOSUPPORT;
    memcpy(&address, at, sy_socket_length(at));
    *sy_socket_port(&address) = 0;
    int rc = wakeup_make_socket(ofi, at->sa_family);
    if (!rc)
        rc = -sy_socket_bind(ofi->wakeup.fd, &address);
    ofi->wakeup.port = *sy_socket_port(&address);
    if (rc)
        sy_file_close(&ofi->wakeup.fd);
    return rc;
}

/* Whether an endpoint's address is on another host than this PE's. */
static bool wakeup_is_far(struct ofi_state *ofi, const struct sockaddr *address)
{
    struct sy_ip own = sy_socket_ip(ofi->info->src_addr), other = sy_socket_ip(address);

    return !own.family || !sy_ip_equal(&own, &other);
}

/* address: of the peer's endpoint; its_port: for wake-ups, or 0. Returns 0 or an errno value. */
int sy_ofi_wakeup_meet(struct ofi_peer *peer, const void *address, uint16_t its_port)
{
    struct ofi_state *ofi = peer->ofi;

    /* Where there are no wake-ups addresses may be of any kind. */
    bool far = (peer->sleeps || ofi->traits.wakeup) && wakeup_is_far(ofi, address);

    peer->patience = far ? PATIENCE_FAR : PATIENCE;
    ofi->wakeup.from_far = ofi->wakeup.from_far || far;
    if (!its_port || peer->pe == ofi->host->pe)
        return 0;
    ofi->wakeup.wanted = ofi->wakeup.wanted || peer->sleeps;
    memcpy(&peer->wakeup, address, sy_socket_length(address));
    *sy_socket_port(&peer->wakeup) = its_port;
    return wakeup_make_socket(ofi, peer->wakeup.sin6_family);
}

/* Sends a datagram. A refusal belongs to an earlier one, to a PE that has gone. */
void sy_ofi_wakeup_send(struct ofi_peer *peer, unsigned flags)
{
    struct ofi_state *ofi = peer->ofi;
    struct ofi_header wakeup = {.source = (uint32_t)ofi->host->pe,
                                .length = sizeof wakeup,
                                .flags = (uint16_t)(OFI_WAKEUP | flags),
                                .sequence = peer->received,
                                .ack = peer->applied};

    wakeup.mac = sy_ofi_header_mac(peer, &wakeup);
    sy_count(&ofi->counters.wakeups_sent, peer->wakeup.sin6_family != 0);
    if (!peer->wakeup.sin6_family ||
        sendto(ofi->wakeup.fd, &wakeup, sizeof wakeup, 0, (struct sockaddr *)&peer->wakeup,
               sy_socket_length(&peer->wakeup)) >= 0 ||
        errno == EAGAIN || errno == ECONNREFUSED || !peer->sleeps || peer->told_of)
        return;
    peer->told_of = !ofi->contacting;
    ofi->host->log(ofi->contacting ? SY_LOG_DEBUG : SY_LOG_WARN, ofi->name,
                   "PE %d cannot be woken now, and answers when it calls the library: %s", peer->pe,
                   strerror(errno));
}

/* Reads the wake-ups that have come; whether there was one. */
bool sy_ofi_wakeup_taken(struct ofi_state *ofi)
{
    bool heard = false;

    for (int i = 0; ofi->wakeup.port && i < WAKEUPS; i++) {
        struct ofi_header wakeup;
        struct ofi_peer *peer;
        ssize_t length = recv(ofi->wakeup.fd, &wakeup, sizeof wakeup, MSG_TRUNC);
        if (length < 0 && errno == EAGAIN)
            break;
        if (length < 0)
            continue;
        if (length != sizeof wakeup ||
            !(peer = sy_ofi_sender(ofi, &wakeup, sizeof wakeup, OFI_WAKEUP))) {
            sy_ofi_stranger(ofi, "a wake-up");
            continue;
        }
        heard = true;
        sy_count(&ofi->counters.wakeups_heard, 1);
        sy_ofi_probes_heard(peer, wakeup.sequence, wakeup.ack);
        if (wakeup.flags & OFI_ACK_ME)
            sy_ofi_wakeup_send(peer, 0);
    }
    return heard;
}

/* ---- those that are expected to answer ---- */

/* Sends a wake-up; asks: with a wish for an answer. Neither is a sign of life. */
static void wakeup_call(struct ofi_peer *peer, bool asks)
{
    unsigned gap = peer->gap;

    if (asks)
        sy_ofi_prove(peer);
    if (peer->sleeps)
        sy_ofi_wakeup_send(peer, 0);
    peer->gap = gap < LONGEST_GAP ? 2 * gap : gap;
    peer->wake_at = peer->ofi->looks + peer->gap;
    peer->stale = true;
}

/* The first on the list behind *link that is still expected to answer; the others are taken off. */
static struct ofi_peer *wakeup_next_expected(struct ofi_peer **link)
{
    struct ofi_peer *peer;

    while ((peer = *link) && !sy_ofi_is_unanswered(peer)) {
        peer->expected = false;
        *link = peer->next_expected;
    }
    return peer;
}

/* Called by sy_ofi_poll when a peer may be due for a wake-up. */
void sy_ofi_wakeup_due(struct ofi_state *ofi)
{
    struct ofi_peer **link = &ofi->expected, *peer;

    ofi->wake_at = ofi->looks + LONGEST_GAP;
    for (; (peer = wakeup_next_expected(link)); link = &peer->next_expected) {
        if (sy_ofi_reached(ofi->looks, peer->wake_at))
            wakeup_call(peer, peer->gap > sy_ofi_patience(peer));
        if (!sy_ofi_reached(peer->wake_at, ofi->wake_at))
            ofi->wake_at = peer->wake_at;
    }
}

/* Inquires at peers that owe an answer, while no thread waits. now: at all; else at those to which
 * nothing has been sent since the last time. Returns whether native transfers are under way, which
 * progress in polls without being reported. */
bool sy_ofi_wakeup_inquire(struct ofi_state *ofi, bool now)
{
    bool moving = false;
    struct ofi_peer **link = &ofi->expected, *peer;

    for (; (peer = wakeup_next_expected(link)); link = &peer->next_expected) {
        if (now || peer->stale)
            wakeup_call(peer, true);
        peer->stale = true;
        moving |= atomic_load_explicit(&peer->transfers, memory_order_relaxed) > 0;
    }
    return moving;
}

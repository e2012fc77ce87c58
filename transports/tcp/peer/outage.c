#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <switchyard/bootstrap.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "transports/tcp/tcp.h"
#include "util/net/interfaces.h"
#include "util/net/way.h"

#define RETRY_FIRST (TCP_SECOND / 100)
#define RETRY_LATER (TCP_SECOND / 5)
#define RETRY_REST  (5 * TCP_SECOND)
#define TELL        (19 * TCP_SECOND / 2) /* of silence, in which another connection may come too */
#define SHORT_LIVED (20 * TCP_SECOND)     /* one that large packets do not pass breaks sooner */
#define LOOKS       (TCP_SECOND / 2)      /* apart, at most */
#define LATE        TCP_SECOND            /* after the last look: this PE has not run */

/* Whether the peer has something to confirm or to answer, or has yet to say whom it serves. */
static bool outage_owed(const struct tcp_peer *peer)
{
    for (int c = 0; c < 2; c++)
        if (sy_tx_applied(peer->stream.queue[c].tx) != sy_tx_tail(peer->stream.queue[c].tx))
            return true;
    return sy_pending_count(&peer->requests.pending) ||
           (atomic_load_explicit(&peer->expected, memory_order_relaxed) &&
            !atomic_load_explicit(&peer->stream.heard, memory_order_relaxed));
}

static uint64_t outage_latest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* How long ago `then` was. `now` was read some time before, and may be earlier than `then`. */
static uint64_t outage_age(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

/* When the peer's kernel was last heard of on a connection. */
static uint64_t outage_heard_at(int fd, uint64_t now)
{
    struct tcp_info info;
    socklen_t length = sizeof info;

    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length))
        return now;
    uint64_t ago = info.tcpi_last_ack_recv < info.tcpi_last_data_recv ? info.tcpi_last_ack_recv
                                                                      : info.tcpi_last_data_recv;
    return ago * TCP_MILLISECOND < now ? now - ago * TCP_MILLISECOND : now;
}

/* ---- connections come and go ---- */

void sy_tcp_outage_start(struct tcp_peer *peer, uint64_t now)
{
    peer->outage.sign = now;
    peer->outage.looked = 0;
}

/* Whether the kernel has ended the connection for want of room at the other end, whose machine has
 * confirmed its probes all the time: the user timeout holds for these too. They come at distances
 * that double, and are confirmed each half second at most, so the last answer is about half of that
 * time old. Of one on which large packets get lost it is as old as that time. */
static bool outage_was_full(const struct tcp_peer *peer, uint64_t now)
{
    unsigned timeout = 0;
    socklen_t length = sizeof timeout;

    getsockopt(peer->stream.watch.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, &length);
    return now - peer->up_since >= timeout * TCP_MILLISECOND &&
           outage_age(now, peer->outage.sign) < timeout * TCP_MILLISECOND / 8 * 7;
}

/* Connections that carry small packets only break again and again: that is one outage, which began
 * with the first, and the next connection is made for small packets. */
void sy_tcp_outage_break(struct tcp_peer *peer)
{
    struct tcp_outage *outage = &peer->outage;
    uint64_t progress = 0, now = sy_tcp_now();

    for (int c = 0; c < 2; c++)
        progress += sy_tx_applied(peer->stream.queue[c].tx) + atomic_load(&peer->stream.applied[c]);
    outage->sign = peer->stream.watch.fd < 0 ? now : outage_heard_at(peer->stream.watch.fd, now);
    outage->narrow = outage_owed(peer) && outage->first && progress == outage->progress &&
                     now - peer->up_since < SHORT_LIVED && !outage_was_full(peer, now);
    if (!outage->narrow)
        outage->first = outage_owed(peer) ? now : 0;
    outage->progress = progress;
    outage->since = outage->first;
    outage->seen = 0;
    outage->looked = 0;
}

/* The user has been told of this PE, or of another one of its node: one line is enough. */
static bool outage_is_told(struct tcp *tcp, int pe)
{
    unsigned count = sy_engine_peers(&tcp->engine);
    int node = tcp->host->place(pe).node;

    for (unsigned i = 0; i < count; i++) {
        const struct tcp_peer *peer = sy_tcp_peer_at(tcp, i);
        if (peer->outage.told && tcp->host->place(peer->stream.pe).node == node)
            return true;
    }
    return false;
}

static void outage_tell_over(struct tcp_peer *peer, uint64_t now)
{
    struct tcp_outage *outage = &peer->outage;

    outage->told = false;
    peer->tcp->host->log(SY_LOG_WARN, "tcp", "PE %d on host %s answers again, after %.0f s",
                         peer->stream.pe, peer->tcp->host->place(peer->stream.pe).host,
                         (double)(now - outage->sign) / (double)TCP_SECOND);
}

void sy_tcp_outage_over(struct tcp_peer *peer, int fd)
{
    struct tcp_outage *outage = &peer->outage;
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof address;
    char text[SY_IP_TEXT];

    if (!getpeername(fd, (struct sockaddr *)&address, &length)) {
        outage->ip = sy_socket_ip(&address);
        snprintf(outage->peer, sizeof outage->peer, " (%.60s)", sy_socket_text(&address, text));
    }
    if (outage->told)
        outage_tell_over(peer, sy_tcp_now());
    outage->met = true;
    outage->since = outage->sign = outage->seen = 0;
}

/* ---- no connection ---- */

void sy_tcp_outage_failed(struct tcp_peer *peer, unsigned seen, uint64_t now)
{
    struct tcp_outage *outage = &peer->outage;

    outage->seen = seen;
    if (seen & TCP_SEEN_SILENT)
        outage->sign = now;
}

uint64_t sy_tcp_outage_pause(const struct tcp_peer *peer, uint64_t now)
{
    uint64_t down = outage_age(now, peer->down_since);

    if (sy_tcp_peer_is_spare(peer))
        return outage_latest(down / 2, RETRY_LATER);
    if (down < TCP_SECOND)
        return RETRY_FIRST;
    if (peer->outage.since)
        return RETRY_LATER;
    return down / 8 < RETRY_LATER ? RETRY_LATER : down / 8 < RETRY_REST ? down / 8 : RETRY_REST;
}

enum { ADVICE = 400 };

/* The probable cause and the remedy, in words, for a peer that has never been reached although all
 * ways were tried. */
static const char *outage_advice(const struct tcp_outage *outage, char text[ADVICE])
{
    return sy_way_text(outage->met ? 0 : outage->seen,
                       "oshrun --port-range A:B, or SHMEM_TCP_PORT_RANGE, chooses them",
                       "SHMEM_TCP_INTERFACES", text, ADVICE);
}

/* The time limit of an outage, and its name. A first contact is a part of the start: the other side
 * may not have got there yet. */
static double outage_limit_of(struct tcp *tcp, const struct tcp_outage *outage, const char **name)
{
    bool first = !outage->met && tcp->host->start;

    *name = first ? "SHMEM_INIT_TIMEOUT" : "SHMEM_TCP_RECONNECT_TIMEOUT";
    return first ? tcp->host->start->init_timeout : tcp->settings.reconnect_timeout;
}

/* Of a peer that has never been reached only a silent connection is a sign of life. */
static const char *outage_reason(const struct tcp_peer *peer)
{
    const struct tcp_outage *outage = &peer->outage;

    if (peer->why[0])
        return peer->why;
    return !outage->met && outage->sign && outage->sign == outage->looked
               ? "its host has taken a connection, on which the PE does not answer: is it stopped, "
                 "or its host overloaded?"
               : "no attempt has come to its end yet";
}

static void outage_tell(struct tcp_peer *peer, uint64_t now, double left, const char *name)
{
    struct tcp *tcp = peer->tcp;
    struct tcp_outage *outage = &peer->outage;
    uint64_t since = outage->narrow ? outage->first : outage->sign;
    bool reasons = outage->seen || !outage->met;
    char text[ADVICE];

    if (outage_is_told(tcp, peer->stream.pe))
        return;
    outage->told = true;
    tcp->host->log(SY_LOG_WARN, "tcp",
                   "PE %d on host %s%s %s for %.0f s; trying to %s for another %.0f s (%s)%s%s%s",
                   peer->stream.pe, tcp->host->place(peer->stream.pe).host, outage->peer,
                   outage->narrow ? "has been losing connections before anything got through"
                                  : "has not answered",
                   (double)(now - since) / (double)TCP_SECOND,
                   outage->met ? "reconnect" : "connect", left, name, reasons ? ": " : "",
                   reasons ? outage_reason(peer) : "", outage_advice(outage, text));
}

/* Of all peers the same, so that lines of many PEs are joined. */
void sy_tcp_outage_full(struct tcp *tcp, int pe)
{
    struct rlimit limit = {0};
    char why[300];

    getrlimit(RLIMIT_NOFILE, &limit);
    unsigned long has = (unsigned long)limit.rlim_cur,
                  needs = tcp->files > has ? tcp->files : 2 * has;
    snprintf(why, sizeof why,
             "no file descriptor is left for connections to other PEs: this process may have %lu "
             "and may need %lu; raise the limit (ulimit -n %lu, LimitNOFILE of systemd), or the "
             "machine's (fs.file-max)",
             has, needs, needs);
    tcp->host->lost(pe, EMFILE, why);
}

void sy_tcp_outage_lost(struct tcp_peer *peer)
{
    const struct tcp_outage *outage = &peer->outage;
    const char *name;
    double limit = outage_limit_of(peer->tcp, outage, &name);
    char why[1200], text[ADVICE];

    if (outage->met)
        snprintf(why, sizeof why, "%s for %.3g s (%s), at last because: %s",
                 outage->narrow ? "nothing has got through its connections" : "no connection",
                 limit, name, outage_reason(peer));
    else if (outage->seen & TCP_SEEN_VERSION || outage->seen == SY_WAY_DENIED)
        snprintf(why, sizeof why, "no connection is possible: %s%s", outage_reason(peer),
                 outage->seen & TCP_SEEN_VERSION ? "" : outage_advice(outage, text));
    else
        snprintf(why, sizeof why, "no connection within %.3g s (%s): %s%s", limit, name,
                 outage_reason(peer), outage_advice(outage, text));
    peer->tcp->host->lost(peer->stream.pe, outage->met ? ETIMEDOUT : EHOSTUNREACH, why);
}

/* Whether the first attempt has shown that there is something to speak of: where many PEs begin at
 * once each waits for its turn. */
static bool outage_worth_telling(const struct tcp_peer *peer, uint64_t now)
{
    const struct tcp_outage *outage = &peer->outage;

    return !outage->told && outage->sign && outage_age(now, outage->sign) >= TELL &&
           outage_age(now, outage->since) >= TCP_SECOND && (outage->met || peer->why[0]);
}

static bool outage_same_machine(const struct tcp_peer *a, const struct tcp_peer *b)
{
    return sy_ip_equal(&a->outage.ip, &b->outage.ip) &&
           sy_tcp_ways(a->tcp, a->stream.pe, b->stream.pe) & TCP_WAY_NEAR;
}

/* When the machine that leaves an attempt unanswered was last heard of, or 0: by other connections
 * to the same address, where its kernel answers though their PEs may not. */
static uint64_t outage_machine_heard(const struct tcp_peer *peer, uint64_t now)
{
    unsigned count = sy_engine_peers(&peer->tcp->engine);
    uint64_t last = 0;

    if (peer->outage.seen & (SY_WAY_REFUSED | SY_WAY_NONE | SY_WAY_DENIED) ||
        !peer->outage.ip.family)
        return 0;
    if (atomic_load_explicit(&peer->near, memory_order_relaxed) && sy_ip_is_local(&peer->outage.ip))
        return now;
    for (unsigned i = 0; i < count; i++) {
        const struct tcp_peer *each = sy_tcp_peer_at(peer->tcp, i);
        if (each->stream.watch.fd >= 0 && outage_same_machine(peer, each))
            last = outage_latest(last, outage_heard_at(each->stream.watch.fd, now));
    }
    return last;
}

/* A connection on which no handshake comes is a sign of life of the machine. The first contact is
 * limited all the same, since a start is; but for a PE that answers only while it waits itself. */
static uint64_t outage_counts_from(struct tcp_peer *peer, uint64_t now)
{
    struct tcp_outage *outage = &peer->outage;

    if (sy_tcp_attempt_is_silent(peer->tcp->net, peer->stream.pe, peer->stream.number))
        outage->sign = now;
    else if (outage->met)
        outage->sign = outage_latest(outage->sign, outage_machine_heard(peer, now));
    return outage->narrow || !(outage->met || peer->tcp->host->unattended)
               ? outage->since
               : outage_latest(outage->since, outage->sign);
}

/* Moves everything that is counted from by the time by which this look is late. */
static void outage_forgive(struct tcp_outage *outage, uint64_t now)
{
    uint64_t elapsed = outage->looked ? outage_age(now, outage->looked) : 0;
    uint64_t late = elapsed > LATE ? elapsed - LOOKS : 0;

    outage->looked = now;
    if (outage->since)
        outage->since += late;
    if (outage->first)
        outage->first += late;
    if (outage->sign)
        outage->sign += late;
}

bool sy_tcp_outage_look(struct tcp_peer *peer, uint64_t now, uint64_t *wait)
{
    struct tcp_outage *outage = &peer->outage;
    const char *name;
    double limit = outage_limit_of(peer->tcp, outage, &name);
    uint64_t most = (uint64_t)(limit * (double)TCP_SECOND);

    *wait = LOOKS;
    outage_forgive(outage, now);
    if (!outage->since) {
        if (!outage_owed(peer))
            return false;
        outage->since = now;
        if (peer->retry_at)
            peer->retry_at = now;
    }
    uint64_t used = outage_age(now, outage_counts_from(peer, now));
    if (!outage->met && most > TCP_FULL &&
        (outage->seen & SY_WAY_FILES || outage->seen == SY_WAY_DENIED))
        most = TCP_FULL;
    if (used > most || (!outage->met && outage->seen & TCP_SEEN_VERSION))
        return true;
    if (outage_worth_telling(peer, now))
        outage_tell(peer, now, (double)(most - used) / (double)TCP_SECOND, name);
    if (most - used < *wait)
        *wait = most - used + 1;
    return false;
}

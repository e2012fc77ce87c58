/* What becomes of a stream's connections and what moves on it: struct tcp_stream_user. */
#include <stdio.h>
#include <sys/socket.h>

#include "transports/tcp/tcp.h"

#define OTHERS_TURN TCP_SECOND /* for the side that connected last to do so again, at most */

static unsigned events_first_flags(struct tcp_stream *stream)
{
    return sy_regions_serves_node(&sy_tcp_peer_with(stream)->tcp->regions) ? TCP_FRAME_NODE : 0;
}

static void events_sent(struct tcp_stream *stream)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);

    sy_flush_sent(&peer->requests.flush, sy_tcp_now());
    sy_tcp_idle_moved(peer->tcp);
}

static void events_received(struct tcp_stream *stream)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);
    const char *why = peer->readings ? sy_tcp_device_reply(peer) : NULL;

    if (why)
        sy_tcp_stream_breached(stream, why);
    sy_tcp_idle_moved(peer->tcp);
}

static void events_readable(struct tcp_stream *stream)
{
    sy_tcp_poll_read(sy_tcp_peer_with(stream));
}

static uint16_t events_udp_port(struct tcp_stream *stream, int fd)
{
    return stream->number ? 0 : sy_tcp_hints_port(sy_tcp_peer_with(stream)->tcp, fd);
}

/* Whether both ends have one address. */
static bool events_is_near(const struct sy_ip *other, int fd)
{
    struct sockaddr_storage end = {0};
    socklen_t length = sizeof end;
    bool known = !getsockname(fd, (struct sockaddr *)&end, &length);
    struct sy_ip own = sy_socket_ip(&end);

    return known && sy_ip_equal(&own, other);
}

static void events_up(struct tcp_stream *stream, const struct tcp_positions *positions,
                      const unsigned char keys[32])
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);

    sy_tcp_hint_meet(peer, positions->udp_port, keys);
    sy_tcp_outage_over(peer, stream->watch.fd);
    peer->down_since = peer->retry_at = 0;
    peer->up_since = sy_tcp_now();
    peer->why[0] = '\0';
    atomic_store_explicit(&peer->near, events_is_near(&peer->outage.ip, stream->watch.fd),
                          memory_order_relaxed);
}

/* How long the other side may take to connect again: a small part of the time in which there must
 * be a connection, so that this side has most of it. */
static uint64_t events_others_turn(struct tcp *tcp)
{
    double share = tcp->settings.reconnect_timeout / 8 * (double)TCP_SECOND;

    return share < (double)OTHERS_TURN ? (uint64_t)share : OTHERS_TURN;
}

/* The connection is broken. The side that connected does so again at once, the other one if that
 * does not happen. */
static void events_broken(struct tcp_peer *peer, const char *why)
{
    struct tcp *tcp = peer->tcp;
    bool now = peer->stream.connector || tcp->peers.closing;

    sy_count(&tcp->counters.broken, 1);
    snprintf(peer->why, sizeof peer->why, "%s", why);
    tcp->host->log(SY_LOG_DEBUG, "tcp", "the connection to PE %d on host %s is broken: %s",
                   peer->stream.pe, tcp->host->place(peer->stream.pe).host, why);
    peer->down_since = sy_tcp_now();
    peer->retry_at = peer->down_since + (now ? 0 : events_others_turn(tcp));
    sy_tcp_watches_wake(&tcp->poll.set);
}

static void events_down(struct tcp_stream *stream, const char *why)
{
    struct tcp_peer *peer = sy_tcp_peer_with(stream);

    if (stream->watch.fd >= 0)
        sy_tcp_outage_break(peer);
    if (why)
        events_broken(peer, why);
    else if (!peer->down_since)
        peer->down_since = sy_tcp_now();
}

const struct tcp_stream_user sy_tcp_stream_events = {
    .apply = {[TCP_REQUESTS] = sy_tcp_apply_requests, [TCP_REPLIES] = sy_tcp_apply_replies},
    .store = sy_apply_store,
    .placed = sy_tcp_apply_placed,
    .follow = sy_tcp_device_follow,
    .again = sy_tcp_device_again,
    .resumes = sy_tcp_apply_resumes,
    .first_flags = events_first_flags,
    .sent = events_sent,
    .received = events_received,
    .readable = events_readable,
    .udp_port = events_udp_port,
    .up = events_up,
    .down = events_down,
    .closed = sy_tcp_poll_forget,
};

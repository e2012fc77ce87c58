/* The tcp plugin's table and its options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transports/tcp/tcp.h"
#include "util/limits.h"

#define AT(member) offsetof(struct tcp_settings, member)
static const struct sy_option options[] = {
    {"tcp.interfaces", SY_OPTION_STRING, 0, AT(interfaces), "auto", NULL, 0, 0, NULL,
     "Where to listen: interface names, globs and address ranges (CIDR), divided by commas; ! "
     "excludes; auto: all but loopback and those of containers, bridges and tunnels"},
    {"tcp.family", SY_OPTION_CHOICE, 0, AT(family), "auto", "auto|ipv4|ipv6", 0, 0, NULL,
     "Address family to use"},
    {"tcp.port_range", SY_OPTION_STRING, 0, AT(port_range), "", NULL, 0, 0, NULL,
     "Ports to listen on, as first:last; empty: any"},
    {"tcp.advertise", SY_OPTION_STRING, 0, AT(advertise), "", NULL, 0, 0, NULL,
     "Addresses to publish in place of those listened on, divided by commas (behind a NAT)"},
    {"tcp.endpoints", SY_OPTION_CHOICE, SY_OPTION_JOB, AT(endpoints), "auto", "auto|direct|node", 0,
     0, "SHMEM_TCP_LANES",
     "Where connections end: direct: at the target PE; node: at one PE of each node, which applies "
     "operations for its neighbours; auto: direct in jobs of up to 64 PEs"},
    {"tcp.streams", SY_OPTION_INT, SY_OPTION_JOB, AT(streams), "4", NULL, 0, 15, NULL,
     "Further connections to a process that large transfers are spread over; 0: none"},
    {"tcp.stripe", SY_OPTION_SIZE, SY_OPTION_JOB, AT(stripe), "4m", NULL, 0, 0, NULL,
     "Bytes from which a transfer is spread over several connections; a sixteenth of it where that "
     "is found to be faster"},
    {"tcp.buffer", SY_OPTION_SIZE, SY_OPTION_JOB, AT(buffer), "1m", NULL, 0, 0, NULL,
     "Bytes of requests that a connection holds until they are confirmed, 256k to 8m; and of "
     "replies"},
    {"tcp.flush_delay", SY_OPTION_INT, 0, AT(flush_delay), "50", NULL, 1, 100000, NULL,
     "Microseconds that small operations may be gathered for; up to 20 times as long, once, where "
     "a program that used to wait after them goes on to compute"},
    {"tcp.connect_timeout", SY_OPTION_SECONDS, 0, AT(connect_timeout), "2", NULL, 0, 0, NULL,
     "Seconds for one address of a peer to answer"},
    {"tcp.reconnect_timeout", SY_OPTION_SECONDS, 0, AT(reconnect_timeout), "30", NULL, 0, 0, NULL,
     "Seconds without a connection, while something is to be sent or answered, after which a peer "
     "is lost and the job ends; a first contact has SHMEM_INIT_TIMEOUT"},
    {"tcp.keepalive", SY_OPTION_SECONDS, 0, AT(keepalive), "5", NULL, 0, 0, NULL,
     "Seconds of silence after which a connection is probed, each second; 0: never"},
    {"tcp.idle", SY_OPTION_SECONDS, 0, AT(idle), "1", NULL, 0, 0, NULL,
     "Seconds of rest after which a connection gives its buffers' memory back, to take it anew "
     "when it is used; 0: never"},
    {"tcp.socket_buffer", SY_OPTION_SIZE, 0, AT(socket_buffer), "0", NULL, 0, 0, NULL,
     "Bytes of a socket's send and receive buffers; 0: the system decides"},
    {"tcp.hints", SY_OPTION_BOOL, 0, AT(hints), "yes", NULL, 0, 0, "SHMEM_TCP_HERALDS",
     "Whether PEs that synchronise again and again tell each other by UDP datagrams (ports of "
     "tcp.port_range) ahead of the connection; where none gets through it makes no difference"},
    {.name = NULL},
};
#undef AT

#define ROW(name, unit, kind, member, help)                                                        \
    {                                                                                              \
        name, unit, SY_COUNTER_##kind, offsetof(struct tcp, counters.member), help                 \
    }
static const struct sy_counter_row counters[] = {
    ROW("bytes_sent", "bytes", SUM, bytes_sent, "Bytes that the kernel has taken, frames included"),
    ROW("bytes_received", "bytes", SUM, bytes_received, "Bytes that have been read from sockets"),
    ROW("bytes_in_place", "bytes", SUM, bytes_in_place,
        "Those of them that were read to where they go, without a copy"),
    ROW("sends", "calls", SUM, sends, "System calls that have sent something"),
    ROW("sends_blocked", "calls", SUM, sends_blocked,
        "System calls that found a socket's buffer full"),
    ROW("receives", "calls", SUM, receives, "System calls that have received something"),
    ROW("frames_sent", "frames", SUM, frames_sent, "Frames that have been begun"),
    ROW("frames_received", "frames", SUM, frames_received, "Frames that have begun to come"),
    ROW("transfers_spread", "transfers", SUM, spread,
        "Large transfers that went over several connections"),
    ROW("replies_mapped", "replies", SUM, replies_mapped,
        "Long replies that were sent from where a device's memory was mapped"),
    ROW("mappings", "times", SUM, mappings, "Times that a device's memory was mapped for those"),
    ROW("replies_recalled", "replies", SUM, replies_recalled,
        "Those of which a copy had to be sent on a new connection"),
    ROW("hints_sent", "datagrams", SUM, hints_sent, "Datagrams ahead of a connection"),
    ROW("hints_heard", "datagrams", SUM, hints_heard, "Those of peers that were believed"),
    ROW("connections_tried", "connections", SUM, tried,
        "Connections that this PE has begun, to any address of a peer"),
    ROW("connections_accepted", "connections", SUM, accepted, "Connections of anybody"),
    ROW("connections_made", "connections", SUM, made,
        "Handshakes that have come to a good end, of either side's connections"),
    ROW("connections_busy", "connections", SUM, busy,
        "Those refused since the peer was connecting too, by either side"),
    ROW("connections_broken", "connections", SUM, broken, "Those that ended before the job did"),
    ROW("connect_longest", "us", MOST, slowest, "From connecting to the end of the handshake"),
    ROW("replays", "connections", SUM, replays,
        "Connections that said what a PE of the job had said before"),
    ROW("strangers_evicted", "connections", SUM, evicted,
        "Connections without a HELLO that made room for others"),
    {.name = NULL},
};
#undef ROW

#define SMALLEST (256u << 10)        /* buffer of a connection */
#define LARGEST  (TCP_FRAME_MAX / 2) /* a frame may take all that is in it, and a chunk */

/* ---- the table ---- */

static int tcp_open(const struct sy_host *host, const struct sy_instance *instance, void **self,
                    struct sy_error *err)
{
    const struct tcp_settings *settings = instance->settings;

    *self = NULL;
    if (host->npes == 1)
        return host->fail(err, ENODEV, "the job has one PE");
    if (settings->buffer < SMALLEST || settings->buffer > LARGEST)
        return host->fail(err, EINVAL, "SHMEM_TCP_BUFFER is %zu bytes; it may be %u to %u",
                          settings->buffer, SMALLEST, LARGEST);
    struct tcp *tcp = aligned_alloc(_Alignof(struct tcp), sizeof *tcp);
    if (!tcp)
        return host->fail(err, ENOMEM, "no memory for the transport");
    memset(tcp, 0, sizeof *tcp);
    tcp->host = host;
    tcp->word = strchr(instance->name, '@');
    tcp->settings = *settings;
    tcp->received = sy_tcp_table_open(TCP_RECEIVE_BYTES);
    int rc = tcp->received ? sy_tcp_poll_open(tcp, err)
                           : host->fail(err, ENOMEM, "no memory for the transport");
    if (!rc && (rc = sy_tcp_peers_listen(tcp, err)))
        sy_tcp_watches_close(&tcp->poll.set);
    if (rc) {
        sy_tcp_table_close(tcp->received, TCP_RECEIVE_BYTES);
        free(tcp);
        return rc;
    }
    sy_tcp_hints_open(tcp);
    *self = tcp;
    return 0;
}

static void tcp_close(void *self)
{
    struct tcp *tcp = self;

    if (tcp->engine.peer)
        sy_tcp_peers_leave(tcp);
    sy_tcp_net_close(tcp->net);
    sy_tcp_hints_close(tcp);
    if (tcp->engine.peer)
        sy_tcp_peers_close(tcp);
    sy_regions_close(&tcp->regions);
    sy_tcp_watches_close(&tcp->poll.set);
    sy_tcp_map_close(tcp);
    sy_tcp_table_close(tcp->received, TCP_RECEIVE_BYTES);
    free(tcp);
}

/* The first byte is the length, so that the record's end is known. */
static size_t tcp_address(void *self, void *buffer, size_t room)
{
    struct tcp *tcp = self;
    size_t length = sy_tcp_net_address(tcp->net, (char *)buffer + 1, room - 1);

    *(unsigned char *)buffer = (unsigned char)length;
    return length + 1;
}

static int tcp_connect(void *self, const void *addresses, size_t stride, double seconds,
                       struct sy_error *err)
{
    struct tcp *tcp = self;
    (void)seconds;
    int rc = sy_tcp_map_open(tcp, addresses, stride, err);
    if (!rc)
        rc = sy_regions_open(&tcp->regions, tcp->host, true, err);
    return rc ? rc : sy_tcp_peers_open(tcp, err);
}

/* The engine checks requests against regions, and keys travel with no request. The key of a region
 * that comes later is its length, by which neighbours know that they may have to serve it. */
static int tcp_region_attach(void *self, unsigned index, const struct sy_region *region, void *key,
                             size_t room, struct sy_error *err)
{
    struct tcp *tcp = self;
    uint64_t length = region->length;
    int rc = sy_regions_check(tcp->host, region, err);

    (void)index;
    if (rc || !length || !sy_tcp_serves_neighbours(tcp) || room < sizeof length)
        return rc;
    memcpy(key, &length, sizeof length);
    return sizeof length;
}

/* Whether this PE can serve its neighbours' parts of a region. It has said that it has all their
 * memory mapped, and messages for them end here, so it needs this region too. */
static int tcp_check_neighbours(struct tcp *tcp, unsigned index, const char *keys, size_t stride,
                                struct sy_error *err)
{
    const struct sy_host *host = tcp->host;
    int node = host->place(host->pe).node;

    if (!keys || !sy_tcp_serves_neighbours(tcp) || !sy_regions_serves_node(&tcp->regions))
        return 0;
    for (int i = tcp->map.node_begin[node]; i < tcp->map.node_begin[node + 1]; i++) {
        int pe = tcp->map.node_pe[i];
        unsigned local = (unsigned)host->place(pe).local;
        uint64_t length;
        memcpy(&length, keys + (size_t)pe * stride, sizeof length);
        if (pe != host->pe && length && local < SY_RECORD_TARGET_SELF &&
            !sy_regions_has(&tcp->regions, local, index))
            return host->fail(err, EOPNOTSUPP,
                              "connections end at one PE of each node, so this PE may have to "
                              "apply messages for PE %d, whose memory of this kind it cannot map; "
                              "SHMEM_TCP_ENDPOINTS=direct has them end at PE %d",
                              pe, pe);
    }
    return 0;
}

static int tcp_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                              struct sy_error *err)
{
    struct tcp *tcp = self;

    sy_regions_attach(&tcp->regions, index);
    return tcp_check_neighbours(tcp, index, keys, stride, err);
}

/* Requests are applied under the poll lock, so when it has been taken nobody is at the region any
 * more. A large payload that has not come in full may go on after that; its sender breaks the
 * rules. Replies that were sent by reference are complete: whoever asked for them has had them, and
 * a new connection goes on where the other side has got to. */
static void tcp_region_detach(void *self, unsigned index)
{
    struct tcp *tcp = self;

    sy_regions_detach(&tcp->regions, index);
    sy_tcp_poll_lock(tcp);
    unsigned count = sy_engine_peers(&tcp->engine);
    for (unsigned i = 0; i < count; i++) {
        struct tcp_peer *peer = sy_tcp_peer_at(tcp, i);
        if (peer->stream.in.payload && peer->payload_region == index &&
            !(peer->stream.in.flags & TCP_FRAME_REPLIES))
            sy_tcp_stream_breached(&peer->stream, "it writes to memory that is no longer there");
    }
    sy_tcp_poll_unlock(tcp);
}

static unsigned tcp_reach(void *self, int pe)
{
    struct tcp *tcp = self;

    return sy_tcp_ways(tcp, tcp->host->pe, pe) ? SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO : 0u;
}

static int tcp_progress(void *self, unsigned flags)
{
    struct tcp *tcp = self;
    if (flags & SY_PROGRESS_EVENT)
        return sy_tcp_poll_event(tcp) ? SY_PROGRESS_CAME : 0;
    long got = sy_tcp_poll(tcp);
    return got > 0 ? 1 : (int)got;
}

/* All transports are connected, and data calls follow. Checks the limits for a job in which all PEs
 * talk to all others. */
static int tcp_wait_fd(void *self)
{
    struct tcp *tcp = self;
    unsigned long streams = sy_tcp_peers_call(tcp);
    struct sy_limits needed = {.files = streams * (tcp->hints.open && !tcp->host->crowded ? 2 : 1),
                               .maps = streams * TCP_STREAM_MAPS,
                               .backlog = streams / 2};

    if (streams)
        tcp->files = sy_limits_check(tcp->host, "tcp", &needed);
    return tcp->poll.set.fd;
}

static int tcp_arm(void *self)
{
    return sy_tcp_poll_sleeping(self, true);
}

static void tcp_disarm(void *self)
{
    sy_tcp_poll_sleeping(self, false);
}

static int tcp_outstanding(void *self, struct sy_outstanding *list, int room)
{
    struct tcp *tcp = self;
    unsigned streams = sy_engine_peers(&tcp->engine);
    int count = 0;

    for (unsigned i = 0; i < streams && count < room; i++)
        if (sy_tcp_peer_outstanding(sy_tcp_peer_at(tcp, i), &list[count]))
            count++;
    return count;
}

SY_TRANSPORT_PLUGIN(tcp) = {
    .size = sizeof(struct sy_transport),
    .name = "tcp",
    .priority = 20,
    .capabilities = SY_SERVES | SY_KEEPS,
    .options = options,
    .settings_size = sizeof(struct tcp_settings),
    .counters = counters,
    .open = tcp_open,
    .close = tcp_close,
    .address = tcp_address,
    .connect = tcp_connect,
    .reach = tcp_reach,
    .region_attach = tcp_region_attach,
    .region_connect = tcp_region_connect,
    .region_detach = tcp_region_detach,
    .ctx_open = sy_engine_ctx_open,
    .ctx_close = sy_engine_ctx_close,
    SY_ENGINE_MEMBERS,
    .flush_local = sy_engine_flush_local,
    .progress = tcp_progress,
    .wait_fd = tcp_wait_fd,
    .arm = tcp_arm,
    .disarm = tcp_disarm,
    .outstanding = tcp_outstanding,
    .threads = sy_engine_threads,
    .protection = "each connection is authenticated by the job's key; what then follows on it is "
                  "neither authenticated nor encrypted",
};

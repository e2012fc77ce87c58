/* The TCP transport: moves data between nodes, or between all PEs, over sockets.
 *
 * tcp.c        the plugin's table and options; which process of a node serves which PE
 * greeting.c   what both sides of a connection say first, and whether it is to be believed
 * talk.c       a connection while its greeting is under way; talk.h has the map of connecting
 * turns.c      when lanes are connected, and by which side
 * listen.c     where this PE listens (which addresses: util/net/interfaces.h)
 * connect.c    attempts to connect; candidates.c: to which addresses
 * guests.c     those of others
 * lane.c       a lane: the two channels to another process, that outlive its connections
 * ring.c       the memory of a buffer; log.c: a channel's bytes until the other side has applied them
 * issue.c      appends operations, by the one thread that may (producer.c); run.c: joins puts
 * calls.c      the data calls: put, get, atomics; strided.c; large.c: over several connections
 * pace.c       which transfers go over several
 * order.c      contexts, fence and quiet
 * send.c       from a lane's buffers to its socket
 * receive.c    from the socket: frames, records in pieces, large payloads
 * apply.c      what a record does to memory
 * herald.c     datagrams that run ahead of a lane
 * poll.c       the epoll set, polling, timers
 * outage.c     no connection: who is given up, and what the user is told
 * idle.c       gives back the memory of lanes at rest
 * wire.h       the format of all that travels */
#ifndef TCP_TCP_H
#define TCP_TCP_H

#include <stdbool.h>
#include <switchyard/transport.h>

enum tcp_lanes { TCP_LANES_AUTO, TCP_LANES_DIRECT, TCP_LANES_NODE };

struct tcp_settings {
    const char *interfaces; /* SHMEM_TCP_INTERFACES: names, globs, CIDR, ! excludes; "auto" */
    const char *port_range; /* "": any; "5000:5100" */
    const char *advertise; /* "": the addresses listened on; otherwise addresses to publish in place
                              of them */
    int family;            /* enum sy_ip_family */
    int lanes;             /* enum tcp_lanes */
    long streams;          /* further sockets for large transfers */
    size_t stripe;         /* bytes from which a transfer uses them */
    size_t buffer;         /* bytes of a channel's buffer */
    long flush_delay;      /* microseconds */
    double connect_timeout; /* of one address */
    double reconnect_timeout;
    double keepalive;     /* seconds without traffic before probes; 0: none */
    double idle;          /* seconds without traffic before memory is given back; 0: never */
    size_t socket_buffer; /* SO_SNDBUF and SO_RCVBUF; 0: the system's choice */
    bool heralds;         /* herald.h */
};

extern struct tcp_settings sy_tcp_settings;
extern const struct sy_host *sy_tcp_host;

/* What PE pe published, for connect.c. */
const void *sy_tcp_address_of(int pe, size_t *size);

/* The process that operations for PE pe go to. */
int sy_tcp_endpoint(int pe);

/* Whether operations go to any process of the target's node rather than to the target itself. */
bool sy_tcp_uses_node_lanes(void);

#endif

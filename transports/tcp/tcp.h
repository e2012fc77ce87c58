/* The TCP transport: moves data between nodes, or between all PEs, over sockets. Layers, each of
 * which uses those before it and calls upward only by a table that it is handed:
 *
 * conn/        one socket: listening, connecting, the handshake
 * stream/      one stream: bytes once and in order, whatever becomes of its connections
 * peer/        the streams to processes, records, large transfers over several streams, hints
 * tcp.c        the plugin's table and options and counters (settings.h)
 * ring.c       the memory of buffers and tables, for all layers
 * wire.h       the format of all that travels
 *
 * All that changes belongs to an instance, struct tcp: the plugin may be opened several times in a
 * process. */
#ifndef TCP_TCP_H
#define TCP_TCP_H

#include "engine/apply.h"
#include "transports/tcp/peer/device.h"
#include "transports/tcp/peer/map.h"
#include "transports/tcp/peer/peer.h"
#include "transports/tcp/peer/poll.h"

/* Looks at the streams for connections that have long been idle (idle.c). Under the poll lock, but
 * for `planned`. */
struct tcp_idle {
    struct tcp_watch timer;
    uint64_t apart;       /* nanoseconds between looks */
    _Atomic bool planned; /* a look is, since something has moved; true if idle streams stay open */
    bool going_on;        /* the last look has not ended */
    unsigned next;        /* the stream at which it goes on */
};

/* An instance of the plugin. The peer layer writes it; structures of other layers say who writes
 * them. */
struct tcp {
    struct sy_engine engine; /* first: the engine's calls are passed an instance */
    /* constant once the transport is connected */
    const struct sy_host *host;
    const char *word; /* "@a" of tcp@a, or NULL */
    struct tcp_settings settings;
    struct tcp_map map;
    struct sy_regions regions; /* but for its filling */
    char *received;            /* lent to the streams */
    unsigned long files;       /* open ones that it may need; 0: not known yet */
    /* any thread, by the rules of each */
    struct tcp_streams streams;
    struct tcp_peer_table peers;
    struct tcp_counters counters;
    _Alignas(SY_LINE) struct tcp_poll poll;
    _Alignas(SY_LINE) struct tcp_hints hints;
    /* poll */
    struct tcp_idle idle;
    struct tcp_net *net;
};

static inline struct tcp *sy_tcp_of(struct sy_engine *engine)
{
    return (struct tcp *)engine;
}

/* Peer number i, in the order in which they were made. */
static inline struct tcp_peer *sy_tcp_peer_at(const struct tcp *tcp, unsigned i)
{
    return sy_tcp_peer_of(tcp->engine.peer[i]);
}

/* The stream to PE pe with this number (0 to SHMEM_TCP_STREAMS); NULL: it has not been made, or
 * there is no such PE. Any thread. */
static inline struct tcp_peer *sy_tcp_peer_made(struct tcp *tcp, uint32_t pe, unsigned number)
{
    size_t npes = (size_t)tcp->host->npes;

    return pe < npes ? atomic_load_explicit(&tcp->peers.by_number[number * npes + pe],
                                            memory_order_acquire)
                     : NULL;
}

#endif

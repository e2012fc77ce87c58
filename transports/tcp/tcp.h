/* The TCP transport: moves data between nodes, or between all PEs, over sockets.
 *
 * tcp.c        the plugin's table and options (settings.h); which process serves which PE
 * conn/        one socket: listening, connecting, the handshake; conn/conn.h has its map
 * stream.c       a stream: the two channels to another process, that outlive its connections
 * ring.c       the memory of a buffer
 * queue.c        a channel's bytes until the other side has applied them
 * requests.c   what the message engine is lent; it has the data calls (engine/engine.h)
 * large.c      large transfers, over several connections; pace.c: which ones
 * send.c       from a stream's buffers to its socket
 * receive.c    from the socket: frames, records in segments, large payloads
 * apply.c      what a record does to memory
 * hint.c     datagrams that run ahead of a stream
 * poll.c       who polls, and what
 * outage.c     no connection: who is given up, and what the user is told
 * counters.h   what is counted
 * idle.c       gives back the memory of streams at rest
 * wire.h       the format of all that travels
 *
 * All that changes belongs to an instance, struct tcp: the plugin may be opened several times in a
 * process. */
#ifndef TCP_TCP_H
#define TCP_TCP_H

#include <pthread.h>

#include "transports/tcp/counters.h"
#include "transports/tcp/hint.h"
#include "transports/tcp/stream.h"
#include "transports/tcp/poll.h"
#include "transports/tcp/settings.h"

#define TCP_RECEIVE_BYTES (256u << 10) /* holds what is left from before and what a read brings */

/* What the PEs published, and where they are. */
struct tcp_map {
    char *addresses; /* npes records of `size` bytes: length, then what the PE published */
    size_t size;
    int *node_begin; /* index into node_pe for each node, nodes + 1 */
    int *node_pe;    /* PEs sorted by node and index there */
};

/* Looks for streams at rest (idle.c). */
struct tcp_idle {
    struct tcp_watch timer;
    uint64_t apart;       /* nanoseconds between looks */
    _Atomic bool planned; /* a look, since something has moved; or there are none at all */
    bool going_on;        /* the last look has not come to its end */
    unsigned next;        /* stream that it has come to */
};

/* An instance of the plugin. */
struct tcp {
    struct sy_engine engine; /* first: the engine's calls are given an instance */
    const struct sy_host *host;
    const char *word; /* "@a" of tcp@a, or NULL */
    struct tcp_settings settings;
    struct tcp_stream_table streams;
    struct tcp_map map;
    struct sy_regions regions;
    _Alignas(64) struct tcp_poll poll;
    struct tcp_idle idle;
    _Alignas(64) struct tcp_hints hints;
    struct tcp_net *net;
    struct tcp_counters counters;
    char *received; /* TCP_RECEIVE_BYTES, by receive.c under the poll lock */
};

static inline struct tcp *sy_tcp_of(struct sy_engine *engine)
{
    return (struct tcp *)engine;
}

/* In the order in which they were made: the first is 0. */
static inline struct tcp_stream *sy_tcp_stream_at(const struct tcp *tcp, unsigned i)
{
    return sy_tcp_stream_of(tcp->engine.peer[i]);
}

/* The stream to PE pe with this number, at most SHMEM_TCP_STREAMS, if it has been made; NULL: not,
 * or there is no such PE. Any thread. */
static inline struct tcp_stream *sy_tcp_stream_made(struct tcp *tcp, uint32_t pe, unsigned number)
{
    size_t npes = (size_t)tcp->host->npes;

    return pe < npes ? atomic_load_explicit(&tcp->streams.by_number[number * npes + pe],
                                            memory_order_acquire)
                     : NULL;
}

/* What the engine is lent. requests.c */
extern const struct sy_engine_ops sy_tcp_requests_ops SY_HIDDEN;

/* What PE pe published. */
const void *sy_tcp_address_of(struct tcp *tcp, int pe, size_t *size);

/* The process that operations for PE pe go to. */
int sy_tcp_endpoint(struct tcp *tcp, int pe);

/* Whether operations go to any process of the target's node rather than to the target itself. */
bool sy_tcp_uses_node_endpoints(struct tcp *tcp);

#endif

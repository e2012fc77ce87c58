/* The peer layer: the streams to the processes that this one reaches. It lends the message engine
 * the room of streams (engine/engine.h), spreads large transfers over several, runs ahead of them
 * by hints, decides when they are connected and when a peer is given up, and polls.
 *
 * peers.c      streams are made, connected, and closed at the end
 * events.c     what becomes of their connections
 * map.c        which process serves which PE, and where that is
 * requests.c   what the message engine is lent; it has the data calls
 * apply.c      records that have come
 * device.c     long ones for memory of a device
 * large.c      large transfers, over several connections; pace.c: which ones
 * hint.c       datagrams that run ahead of a stream
 * outage.c     no connection: when a peer is given up, and what the user is told
 * idle.c       gives back the memory of streams at rest
 * poll.c       what a poll reads, and the poll lock
 *
 * Locks, in the order in which they are taken:
 *   append  the producer of requests (engine/producer.h), of stream 0 for all streams to a process
 *   poll    receiving, applying, connecting, the producer of replies (poll.h)
 *   send    of a stream (transports/tcp/stream/stream.h)
 * Under poll, append is only tried (idle.c, hint.c): sy_producer_stop() gives up at once where
 * another thread has it, so that nobody waits against the order. */
#ifndef TCP_PEER_H
#define TCP_PEER_H

#include <pthread.h>

#include "engine/engine.h"
#include "transports/tcp/peer/hint.h"
#include "transports/tcp/peer/outage.h"
#include "transports/tcp/peer/pace.h"
#include "transports/tcp/stream/stream.h"

#define TCP_STREAMS_MAX 15
#define TCP_AWAIT_BYTES 16
#define TCP_STREAM_MAPS 5 /* mappings of a stream: two rings, each twice, and replies */

/* A stream to a process, with what this layer has of it. The one of number 0 stands for the process
 * and is made with the first operation; others, for parts of large transfers, with the first large
 * one. */
struct tcp_peer {
    struct tcp_stream stream; /* the stream layer's */
    /* constant */
    struct tcp *tcp;
    /* the engine's and the stream's */
    struct sy_engine_peer requests;
    struct sy_tx replies;

    /* append */
    _Alignas(SY_LINE) struct tcp_peer *stripe[TCP_STREAMS_MAX]; /* 0: the further streams */
    struct tcp_pace pace; /* 0: of transfers that may use them or not */
    unsigned unordered;   /* 0: bits of those with parts that no AWAIT covers yet */
    uint64_t awaits;      /* others: position of stream 0 that its last AWAIT named */

    struct tcp_hint hint; /* 0 */

    _Atomic bool expected; /* a request waits for the first frame of the other side; any thread */

    /* the thread that made it wanted, then poll */
    struct tcp_peer *next_wanted; /* in the list of those that are to be connected */

    /* poll */
    struct tcp_peer *holder; /* an AWAIT names it: nothing is applied until it has got there */
    uint64_t holds_until;
    unsigned payload_region;   /* of the large put that is being received */
    struct tcp_device *device; /* of records for memory of a device, or NULL (device.c) */
    bool bounced;              /* the large put goes there, else it is received in place */
    unsigned readings;         /* long replies that are being copied from there */
    bool hot;                  /* attended by all who poll (poll.c); under send too */
    bool trimmed;              /* its memory has been given back since it moved last (idle.c) */
    uint64_t moved;            /* bytes of all channels at the last look */
    struct tcp_outage outage;
    _Atomic bool near;   /* the connection stays within this machine; any thread reads it */
    uint64_t up_since;   /* the present connection, or the last one */
    uint64_t down_since; /* nanoseconds, as the next; 0: there is a connection */
    uint64_t retry_at;   /* 0: an attempt is under way, or it is not ours */
    char why[400];       /* the last attempt failed */
};

/* The table of streams to all processes; the engine has the list of those that were made. */
struct tcp_peer_table {
    _Atomic(struct tcp_peer *) *by_number; /* number * npes + PE; NULL: not made yet */
    _Atomic(struct tcp_peer *) wanted;     /* to be connected, the last one first */
    _Atomic unsigned unordered; /* of those of number 0, how many have `unordered` bits */
    pthread_mutex_t making; /* by the application's threads and the one that accepts connections */
    uint64_t closing;       /* since when, or 0 */
};

static inline struct tcp_peer *sy_tcp_peer_of(struct sy_engine_peer *requests)
{
    return (struct tcp_peer *)(void *)((char *)requests - offsetof(struct tcp_peer, requests));
}

static inline struct tcp_peer *sy_tcp_peer_with(const struct tcp_stream *stream)
{
    return (struct tcp_peer *)(void *)((char *)stream - offsetof(struct tcp_peer, stream));
}

/* Whether it is a further stream that has never been connected. Nothing is put on it before that,
 * so that the peer is not lost for its sake. Under the poll lock. */
static inline bool sy_tcp_peer_is_spare(const struct tcp_peer *peer)
{
    return peer->stream.number && !peer->up_since;
}

/* Listens for connections of streams. */
int sy_tcp_peers_listen(struct tcp *tcp, struct sy_error *err);

int sy_tcp_peers_open(struct tcp *tcp, struct sy_error *err);

/* Begins to connect to the PEs that cannot call this one and can be called: nothing would say that
 * they want a connection. Returns the streams of a job in which all PEs talk to all others. */
unsigned sy_tcp_peers_call(struct tcp *tcp);

/* Has everything applied and says goodbye on all streams, waiting for the others for a bounded
 * time. */
void sy_tcp_peers_leave(struct tcp *tcp);
void sy_tcp_peers_close(struct tcp *tcp);

/* Lets stream timers run and makes wanted connections. Under the poll lock; returns nanoseconds
 * until there is more to do. */
uint64_t sy_tcp_peers_timers(struct tcp *tcp, uint64_t now);

/* The stream to PE pe with this number, made if need be; NULL where there can be none. Any thread.
 */
struct tcp_peer *sy_tcp_peer_find(struct tcp *tcp, int pe, unsigned number);

/* sy_tcp_peer_find, and begins to connect it. NULL: no memory. Any thread. */
struct tcp_peer *sy_tcp_peer_open(struct tcp *tcp, int pe, unsigned number);

/* The core is told that this PE has no file descriptor for the connection of a PE. outage.c */
void sy_tcp_outage_full(struct tcp *tcp, int pe);

/* What is under way on a stream; false: nothing. Any thread. */
bool sy_tcp_peer_outstanding(const struct tcp_peer *peer, struct sy_outstanding *it);

/* What the streams and the engine are lent. */
extern const struct tcp_stream_user sy_tcp_stream_events SY_HIDDEN;
extern const struct sy_engine_ops sy_tcp_requests_ops SY_HIDDEN;

/* How the other side breaks the rules. */
extern const char sy_tcp_too_many[];

/* Members of sy_tcp_stream_events. apply.c */
size_t sy_tcp_apply_requests(struct tcp_stream *stream, const char *from, size_t length,
                             const char **why);
size_t sy_tcp_apply_replies(struct tcp_stream *stream, const char *from, size_t length,
                            const char **why);
void sy_tcp_apply_placed(struct tcp_stream *stream, enum tcp_channel channel, uint64_t bytes);
bool sy_tcp_apply_resumes(struct tcp_stream *stream);

/* Something has been sent or received: streams are to be looked at. Any thread. idle.c */
void sy_tcp_idle_moved(struct tcp *tcp);

int sy_tcp_idle_open(struct tcp *tcp, struct sy_error *err);
void sy_tcp_idle_close(struct tcp *tcp);

#endif

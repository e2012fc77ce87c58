/* The conn layer: a socket is listened on, connected or accepted, and both sides prove by a
 * handshake that they belong to the job. It ends with a socket and its keys, which are handed to
 * the layer above. It knows nothing of frames or streams, calls upward by struct tcp_conn_user
 * alone, and only its files write struct tcp_net. A stream is to it a PE and a number, and a
 * pointer that it hands back.
 *
 * turns.c       which side of a pair connects, and when: the queue of streams to be connected
 * connect.c     attempts: the addresses of a peer are tried
 * candidates.c  what a PE publishes about where it listens, and in which order that is tried
 * listen.c      listening and accepting; the layer's opening, closing and timers
 * incoming.c    the pending connections that others have opened
 * pending.c     leads a handshake on a socket
 * handshake.c   what both sides say first, and whether it is to be believed
 * watch.c       the epoll set and its timer
 *
 * Locks: none of its own. Every function runs under the user's poll lock, as do all calls upward,
 * but for sy_tcp_watches_wake() and the changes of a watch by who owns its socket. */
#ifndef TCP_CONN_CONN_H
#define TCP_CONN_CONN_H

#include <switchyard/host.h>

#include "transports/tcp/conn/watch.h"
#include "transports/tcp/settings.h"

struct tcp_net;

/* How far a side has applied the other side's channels; and its UDP port for what is said beside
 * the connection, or 0. */
struct tcp_positions {
    uint64_t requests, replies;
    uint32_t udp_port;
};

/* The layer above. */
struct tcp_conn_user {
    const struct sy_host *host;
    const char *word; /* of this instance, or NULL: see handshake.h */
    const struct tcp_settings *settings;
    struct tcp_counters *counters;
    struct tcp_watches *set;
    struct tcp *owner; /* for find */

    /* The stream to PE pe with this number, made if need be; NULL where there can be none. */
    struct tcp_stream *(*find)(struct tcp *owner, int pe, unsigned number);

    /* A peer has proved itself and wants this stream on a new connection, `fd`: the old one, if
     * any, is closed, so that the positions returned no longer move. */
    struct tcp_positions (*freeze)(struct tcp_stream *stream, int fd);

    /* The handshake is over: from now on the socket is the stream's. It is connected, non-blocking
     * and in no epoll set. keys: for what is said beside the connection, as made by handshake.h.
     * connector: this side opened the connection, and opens the next one should it break. */
    void (*adopt)(struct tcp_stream *stream, int fd, const struct tcp_positions *peer,
                  const unsigned char keys[32], bool connector);

    /* Whether the last connections of this stream broke without having carried anything: large
     * packets may be getting lost on the way, so the next one asks for small ones. */
    bool (*narrow)(const struct tcp_stream *stream);

    /* For TCP_FULL there has been no descriptor for PE pe, which connects for the first time. */
    void (*full)(struct tcp *owner, int pe);

    /* All candidates have failed this time; `why` tells of each, and `seen` (SY_WAY_, TCP_SEEN_) of
     * all. The stream decides when to try again. */
    void (*unreachable)(struct tcp_stream *stream, const char *why, unsigned seen);
};

/* What became of the candidates of an attempt: enum sy_way of util/net/way.h, and */
#define TCP_SEEN_SILENT  8u   /* a connection, and no end of the handshake on it */
#define TCP_SEEN_VERSION 128u /* the peer's library is of another version */

#define TCP_SILENCE        7.5 /* seconds until the kernel ends a connection that is not answered */
#define TCP_FULL           TCP_SECOND /* that a first contact may lack a descriptor, or be denied */
#define TCP_HANDSHAKE_TIME (5 * TCP_SECOND) /* for the handshake of a connection */

/* Chooses the interfaces and listens: 0 and *net, or -errno with the reason in words. */
int sy_tcp_net_open(const struct tcp_conn_user *user, struct tcp_net **net, struct sy_error *err);

/* Ends all sockets of the layer: listening, connecting, pending. */
void sy_tcp_net_close(struct tcp_net *net);

/* Writes what peers need to connect (port, addresses): returns the length, at most `room`. */
size_t sy_tcp_net_address(struct tcp_net *net, void *buffer, size_t room);

/* How the PEs that published `one` and the other can connect, in bits. Within a machine both can;
 * elsewhere one can be called from outside, or cannot. beside: they are on one node, which counts
 * where neither way is open and one of them does not know its machine (without /proc/sys). */
#define TCP_WAY_THERE 1u
#define TCP_WAY_BACK  2u
#define TCP_WAY_NEAR  4u /* they are in one machine, and in one network of it */
unsigned sy_tcp_address_ways(const void *one, size_t one_size, const void *other,
                             size_t other_size, bool beside);

/* Has `stream`, of PE pe and number `number`, connected when its turn comes, to the addresses at
 * `address` (as published by sy_tcp_net_address there), which stay. first: it has not been
 * connected before, so that the other side may be about to connect it too. Ends in adopt or
 * unreachable, never from inside this call. Calling it for a stream that is being connected does
 * nothing. */
void sy_tcp_connect_start(struct tcp_net *net, struct tcp_stream *stream, int pe, unsigned number,
                          const void *address, size_t size, bool first);

/* Whether an attempt has a connection on which the peer has left the handshake, at any step of it,
 * for a while: its machine is there, and it may be stopped. */
bool sy_tcp_attempt_is_silent(struct tcp_net *net, int pe, unsigned number);

/* Ends connecting a stream, without telling it. */
void sy_tcp_connect_cancel(struct tcp_net *net, struct tcp_stream *stream, int pe, unsigned number);

/* Acts on deadlines that have passed; returns nanoseconds until the next, or UINT64_MAX. */
uint64_t sy_tcp_net_timers(struct tcp_net *net, uint64_t now);

#endif

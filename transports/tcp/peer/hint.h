/* Hints: UDP datagrams that arrive before the same message on the stream. PEs in a barrier exchange
 * one word at a time, and both sides send at once. On a TCP connection each side then waits for the
 * kernel to process the other's segment and its acknowledgement; a datagram has neither.
 *
 * A hint carries a RAISE, as a record does: a word that only grows holds at least this value. A
 * hint may therefore be late, repeated, lost or replayed without harm. The sender keeps the value,
 * and repeats it on the stream unless it raises the same word again within 4 milliseconds. Until
 * the other side has confirmed, by a hint of its own, that hints arrive, each RAISE is sent on the
 * stream as well; behind a firewall that remains so.
 *
 * A hint overtakes only other RAISEs. While anything else issued to that peer is unconfirmed, the
 * RAISE is sent on the stream. So programs that take a sync for more than it is find their data as
 * they would without hints.
 *
 * Hints go between the addresses of stream 0's connection. Each carries an authenticator under a
 * key that both sides derive in the handshake. They serve streams that end at the target itself,
 * and PEs that poll while they wait: the UDP socket does not wake a thread that sleeps. */
#ifndef TCP_HINT_H
#define TCP_HINT_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcp;
struct tcp_peer;
struct sy_engine_peer;

/* The state of hints on a stream 0. */
struct tcp_hint {
    int fd; /* connected by the first hint; -1: not yet, -2: it cannot be */
    /* This side's address with port 0, and the address and UDP port of the other side: set once, by
     * the first connection, before `open`. */
    socklen_t length;
    union tcp_address {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } own, to;
    _Atomic bool open;          /* the present connection is between the same addresses */
    _Atomic uint64_t key[2][2]; /* of hints that this side sends, of those that it receives */
    _Atomic bool heard;         /* a hint has come, and since then no REPEAT that was news */
    _Atomic bool works;         /* the other side reports that it receives hints */
    unsigned tries;             /* sent without that; this and the rest: the producer's */
    unsigned stays;             /* RAISEs to come that the stream carries */
    unsigned same;              /* RAISEs in a row that would have overtaken the same */
    uint64_t said_at;           /* nanoseconds: the last RAISE by either way */
    _Atomic uint64_t header;    /* of a RAISE sent by a hint and not by the stream; 0: none */
    _Atomic uint64_t kept_at;   /* since when */
    uint64_t value;             /* of that RAISE */
    _Atomic uint64_t raised;    /* position of the stream's requests where its last RAISE ends */
    uint64_t others;            /* position where the requests before its last run of RAISEs end */
};

#define TCP_UDP_SOCKETS 4 /* most addresses of this PE that others connect to */

struct tcp_udp {
    int fd;
    in_port_t port;             /* as in an address */
    struct sockaddr_storage at; /* with port 0 */
};

/* The hints of an instance. */
struct tcp_hints {
    struct tcp_udp udp[TCP_UDP_SOCKETS];
    unsigned udps;
    bool open;
    unsigned first, last;       /* ports; 0: any */
    _Atomic uint64_t look_at;   /* nanoseconds: when a stream has a RAISE to repeat; 0: none */
    _Atomic uint64_t raised_at; /* the last RAISE to any peer */
    _Atomic int awaited;        /* RAISEs sent less those received: each is answered by another */
    _Atomic unsigned polls;     /* polls that look for hints first */
    _Atomic bool busy;          /* RAISEs came close together: hints are likely */
    _Atomic bool come;          /* hints have come */
    _Atomic bool more;          /* more than RAISEs has been sent since the last one */
    bool by_stream;             /* the last RAISE to come; under the poll lock */
};

/* Hints are never needed, so nothing that fails here is an error. */
void sy_tcp_hints_open(struct tcp *tcp);
void sy_tcp_hints_close(struct tcp *tcp);

/* Opens a UDP socket on the local address of a connection, unless there is one, at a port of
 * SHMEM_TCP_PORT_RANGE. Returns the port, or 0. Under the poll lock. */
uint16_t sy_tcp_hints_port(struct tcp *tcp, int connection);

/* A stream has a new connection; udp_port: the other side's port, or 0. Under the poll lock. */
void sy_tcp_hint_meet(struct tcp_peer *peer, uint32_t udp_port, const unsigned char keys[32]);

/* Sends a RAISE (struct sy_engine_ops). True: by a hint; the stream need not send it. */
bool sy_tcp_hint_raise(struct sy_engine_peer *requests, uint64_t header, uint64_t value);

/* Requests are about to be sent on the stream. Any thread. */
void sy_tcp_hint_sends(struct tcp_peer *peer);

/* A RAISE or REPEAT has come by the stream. news: the word was less before. */
void sy_tcp_hint_note(struct tcp_peer *peer, bool news, bool repeat);

/* Sends on the stream what only a hint has carried, before something long. sent: that is sent on
 * this stream, and this with it. By the producer. */
void sy_tcp_hint_flush(struct tcp_peer *peer, bool sent);

/* The same for a thread that is not the producer. False: it cannot yet. */
bool sy_tcp_hint_settle(struct tcp_peer *peer);

/* Sends on each stream what only a hint has carried for 4 milliseconds. Any thread. */
void sy_tcp_hints_repeat(struct tcp *tcp);

/* Whether a hint is to be expected. Counts down. Under the poll lock, as receive. */
bool sy_tcp_hints_expected(struct tcp *tcp);

/* Receives one hint at each address, until one raises a word: then 1, else 0. */
size_t sy_tcp_hints_receive(struct tcp *tcp);

#endif

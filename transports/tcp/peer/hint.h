/* Hints: datagrams that run ahead of a stream. Where PEs synchronise again and again, a word of who
 * has got how far is all that travels, and both sides send at once; on a connection each then waits
 * for the kernel's book-keeping of the other's packet, which a datagram has none of.
 *
 * What a hint says is a RAISE, as in a record: a word that only grows holds at least so much. So
 * it may come late, twice, or be forged by a replay, and nothing is lost; and who has sent one
 * keeps what it said, to have the stream say it too unless a later RAISE of the same word makes up
 * for it within a millisecond. Hints are tried beside the stream until the other side has said, by
 * a hint of its own, that they get there; where they do not, as behind a firewall, nobody relies
 * on them.
 *
 * A hint overtakes nothing but other RAISEs: where the other side has not confirmed all else that
 * was issued towards it the stream says it, so that programs which take a sync for more than it is
 * find what they put as they would without hints.
 *
 * They go between the addresses of stream 0's connection. Each carries an authenticator under a key
 * that both sides derive from the connection's greetings. They are for streams that end at the
 * target itself, and for PEs that poll while they wait: a thread that sleeps is woken by its
 * sockets, and this one is not among them. */
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

/* Of a stream 0. */
struct tcp_hint {
    int fd; /* connected to there by the first hint; -1: not yet, -2: it cannot be */
    /* This side's address, with port 0, and where the other side udp_port: set once, by the first
     * connection, before `open`. */
    socklen_t length;
    union tcp_address {
        struct sockaddr any;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } own, to;
    _Atomic bool open;          /* the present connection is between the same addresses */
    _Atomic uint64_t key[2][2]; /* of what this side says, of what it udp_port */
    _Atomic bool heard;         /* a hint has come, and since then no REPEAT that was news */
    _Atomic bool works;         /* the other side says that it udp_port */
    unsigned tries;             /* in vain; the producer's, as is the rest */
    uint64_t said_at;           /* nanoseconds: the last RAISE by either way */
    _Atomic uint64_t header;    /* what a hint has said and the stream has not; 0: nothing */
    _Atomic uint64_t kept_at;   /* since when */
    uint64_t value;
    uint64_t raised; /* position of the stream's requests where its last RAISE ends */
    uint64_t others; /* the same of what was before it and the RAISEs that it continues */
};

#define TCP_EARS 4 /* addresses of this PE that others connect to */

struct tcp_udp {
    int fd;
    in_port_t port;             /* as in an address */
    struct sockaddr_storage at; /* with port 0 */
};

/* Of an instance. */
struct tcp_hints {
    struct tcp_udp udp[TCP_EARS];
    unsigned udps;
    bool open;
    unsigned first, last;       /* ports; 0: any */
    _Atomic uint64_t look_at;   /* nanoseconds: some stream has something to repeat then; 0: none */
    _Atomic uint64_t raised_at; /* the last RAISE said to anybody */
    _Atomic int awaited;        /* RAISEs: said less heard, since each is answered by another's */
    _Atomic unsigned polls;     /* that are to look for hints first */
    _Atomic bool busy;          /* there has been a burst, so there may be hints */
    _Atomic bool come;          /* there are */
};

/* Hints are never needed, so nothing that fails here is an error. */
void sy_tcp_hints_open(struct tcp *tcp);
void sy_tcp_hints_close(struct tcp *tcp);

/* Hears at this side's address of a connection, at a port of SHMEM_TCP_PORT_RANGE: the port; 0: it
 * cannot. Under the poll lock. */
uint16_t sy_tcp_hints_ear(struct tcp *tcp, int connection);

/* A stream has a new connection; udp_port: the other side's port, or 0. Under the poll lock. */
void sy_tcp_hint_meet(struct tcp_peer *peer, uint32_t udp_port, const unsigned char keys[32]);

/* A RAISE is to be said (struct sy_engine_ops). True: a hint has, and the stream need not. */
bool sy_tcp_hint_raise(struct sy_engine_peer *requests, uint64_t header, uint64_t value);

/* A RAISE has come by the stream, or a REPEAT; news: the word was less before. */
void sy_tcp_hint_note(struct tcp_peer *peer, bool news, bool repeat);

/* The stream says what only a hint has, before something that takes long. By the producer. */
void sy_tcp_hint_flush(struct tcp_peer *peer);

/* The same by another thread. False: it cannot yet. */
bool sy_tcp_hint_settle(struct tcp_peer *peer);

/* The same for all streams, of what was said a millisecond ago. Any thread. */
void sy_tcp_hints_repeat(struct tcp *tcp);

/* Whether a hint is to be expected. Counts down. Under the poll lock, as hear. */
bool sy_tcp_hints_expected(struct tcp *tcp);

/* Hears one at each address, until one tells news: 1 if one did. */
size_t sy_tcp_hints_hear(struct tcp *tcp);

#endif

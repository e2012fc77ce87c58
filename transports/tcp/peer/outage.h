/* Outages: what a stream does without a connection, when its peer is given up, and what the user is
 * told. A connection that breaks is nothing to speak of; it is an outage from when something is
 * unconfirmed or awaited while there is none. A stream at rest waits for its next use.
 *
 * Whether a peer is there is asked of its kernel, not of the process: docs/tcp.md (Outages) says
 * what counts as its silence. TCP_SILENCE is the limit for sent data that are not acknowledged and
 * for probes that are not answered (pending.c sets both). Where a PE has ended, its machine refuses
 * connections.
 *
 * If a look at a stream is late, this PE was stopped or had no processor: that time is neither the
 * peer's silence nor part of a limit.
 *
 * All under the poll lock. */
#ifndef TCP_OUTAGE_H
#define TCP_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/net/interfaces.h"

struct tcp_peer;

struct tcp_outage {
    bool met;          /* there has been a connection */
    bool told;         /* the user has been told that the peer does not answer */
    bool narrow;       /* it breaks without progress: large packets may be getting lost */
    unsigned seen;     /* in the last attempt: SY_WAY_, TCP_SEEN_ */
    uint64_t since;    /* no connection, and something unconfirmed or awaited; 0: not so */
    uint64_t first;    /* of several breaks with something unconfirmed and no progress between */
    uint64_t sign;     /* the last sign of life of the peer's machine */
    uint64_t looked;   /* the last look since there is no connection; 0: none */
    uint64_t progress; /* bytes confirmed and applied at the last break */
    struct sy_ip ip;   /* of the other end of the last connection */
    char peer[64];     /* that end, in words */
};

/* The first attempt at a connection begins. */
void sy_tcp_outage_start(struct tcp_peer *peer, uint64_t now);

/* The connection is unusable; its socket is still open. */
void sy_tcp_outage_break(struct tcp_peer *peer);

/* An attempt has failed; seen: SY_WAY_, TCP_SEEN_ */
void sy_tcp_outage_failed(struct tcp_peer *peer, unsigned seen, uint64_t now);

/* There is a connection. */
void sy_tcp_outage_over(struct tcp_peer *peer, int fd);

/* A stream without a connection: tells the user what there is to tell. True: the peer is to be
 * given up; else *wait: nanoseconds until the stream wants to be looked at again. */
bool sy_tcp_outage_look(struct tcp_peer *peer, uint64_t now, uint64_t *wait);

/* The core is told that the peer is given up, and why. */
void sy_tcp_outage_lost(struct tcp_peer *peer);

/* How long after a failed attempt the next one begins, in nanoseconds. */
uint64_t sy_tcp_outage_pause(const struct tcp_peer *peer, uint64_t now);

#endif

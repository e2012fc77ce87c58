/* What TCP connections between PEs carry; docs/tcp-wire.md is the same in prose. Everything is in
 * the byte order of the machines, which the handshake compares.
 *
 * A connection begins with four messages (conn/handshake.h). Then come frames. A frame's bytes are
 * whole records of one of two channels: REQUESTS (engine/record.h; an AWAIT's target is a stream:
 * apply nothing behind it before that stream's requests have been applied up to there), or REPLIES
 * to the requests that the other side sent. Each channel is an endless stream of bytes that
 * outlives the connection: both sides count the bytes applied, and after a connection has broken
 * the next one goes on from there. */
#ifndef TCP_WIRE_H
#define TCP_WIRE_H

#include <stdint.h>

#include "engine/record.h"

#define TCP_WIRE_VERSION 5

/* ---- the handshake ---- */

#define TCP_MAGIC "SWYDTCP" /* with its NUL, 8 bytes */

enum tcp_handshake_kind {
    TCP_HELLO = 1,   /* connector: who I am, whom I want, my nonce, a serial number */
    TCP_WELCOME = 2, /* acceptor: my nonce */
    TCP_CONFIRM = 3, /* connector: how far I have applied */
    TCP_RESUME = 4,  /* acceptor: how far I have applied */
    TCP_REFUSE = 5   /* acceptor, in place of WELCOME: why */
};

enum tcp_refusal {
    TCP_REFUSE_BUSY = 1,    /* I have connected to you; let mine be the one */
    TCP_REFUSE_VERSION = 2, /* another version of this format, or another byte order */
    TCP_REFUSE_TARGET = 3   /* I am not that PE, or have no such stream */
};

#define TCP_ORDER_LITTLE 1
#define TCP_ORDER_BIG    2

struct tcp_handshake {
    char magic[8];
    uint16_t version;
    uint8_t kind, order;
    uint32_t from, to; /* PEs: who sends this message, who is meant */
    uint32_t stream;   /* 0: requests in order; 1 and up: parts of large transfers */
    uint32_t reason;   /* REFUSE: enum tcp_refusal; HELLO: how often this was refused as busy */
    uint32_t udp_port; /* CONFIRM, RESUME: UDP port beside this connection; 0: none */
    uint8_t nonce[16]; /* HELLO, WELCOME: random; otherwise 0 */
    union {
        uint64_t requests; /* CONFIRM, RESUME: bytes of the other side's that have been applied */
        uint64_t serial;   /* HELLO: higher than in any before it from this PE */
    };
    uint64_t replies; /* CONFIRM, RESUME: the same of its replies */
    /* HMAC-SHA256 under the job's key, over the messages before it and this one without it */
    uint8_t mac[32];
};

/* ---- frames ---- */

/* flags */
#define TCP_FRAME_REPLIES 1u  /* the records are replies; otherwise requests */
#define TCP_FRAME_ACK     2u  /* answer soon with a frame, so that I learn what has been applied */
#define TCP_FRAME_BYE     4u  /* I send nothing more; the end of this connection is no failure */
#define TCP_FRAME_NODE    8u  /* I apply requests for every PE of my node (first frame) */
#define TCP_FRAME_SHIFTED 16u /* TCP_SHIFT bytes without meaning follow the header */

#define TCP_FRAME_MAX (1u << 24) /* most bytes of records in a frame */

#define TCP_SHIFT 64 /* see send.c */

struct tcp_frame {
    uint32_t length; /* bytes of records that follow; may be 0 */
    uint32_t flags;
    uint32_t requests; /* bytes of the other side's requests that this side has applied */
    uint32_t replies;  /* and of its replies: the low 32 bits of both */
};

/* ---- datagrams ----
 * Beside the connection, for the target itself; hint.h. */

#define TCP_DATAGRAM_HEARD 1u /* yours get here */
#define TCP_DATAGRAM_ALONE 2u /* the connection does not say the same; else answer this one */

struct tcp_datagram {
    uint32_t from; /* PE */
    uint32_t flags;
    uint64_t header, value; /* as in a record: RAISE */
    uint64_t tag;           /* SipHash-2-4 of what is before it */
};

_Static_assert(sizeof(struct tcp_datagram) == 32, "the datagram has holes");

#endif

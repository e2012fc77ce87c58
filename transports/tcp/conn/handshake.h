/* The handshake, in the messages of wire.h: writing them and judging them. Knows nothing of
 * sockets.
 *
 * A transcript holds the messages of one connection in the order in which they were sent. The mac
 * of each is taken over all before it and itself, so that none can be taken from one connection
 * into another once both nonces are among them: HELLO alone can be replayed. Its serial number
 * tells: each is higher than all before it, so that one that has got there once is never new again.
 */
#ifndef TCP_CONN_HANDSHAKE_H
#define TCP_CONN_HANDSHAKE_H

#include <stdint.h>

#include "transports/tcp/conn/conn.h"
#include "transports/tcp/wire.h"

#define TCP_HANDSHAKE_MESSAGES 4 /* HELLO, WELCOME, CONFIRM, RESUME */

/* HELLO's `reason`: how often this attempt has been refused as busy. From this number on, a PE that
 * is connecting too gives way: perhaps its own connections do not get through. */
#define TCP_HELLO_INSISTS 8

struct tcp_transcript {
    struct tcp_handshake message[TCP_HANDSHAKE_MESSAGES];
    unsigned count;
};

/* Who judges. */
struct tcp_self {
    const unsigned char *key; /* the job's */
    uint32_t pe, npes;
    const char *word; /* "@a" of the instance tcp@a, which talks to others of that name; or NULL */
};

enum tcp_verdict {
    TCP_GOOD,
    TCP_STRANGE, /* not a message, or not the one that is due */
    TCP_FORGED,  /* a message, by somebody who does not know the job's key; or who means another
                    instance of the transport */
    /* a message of this job: */
    TCP_OTHER_VERSION, /* another version of the format, or another byte order */
    TCP_OTHER_TARGET   /* meant for another PE, or from one that cannot be */
};

const char *sy_tcp_verdict_words(enum tcp_verdict verdict);

/* Whether the first `length` bytes can be the beginning of a message of the handshake. */
bool sy_tcp_handshake_plausible(const void *bytes, size_t length);

/* Adds a message of this side: 0 or -errno. The first begins the transcript. */
int sy_tcp_say_hello(struct tcp_transcript *t, const struct tcp_self *self, int pe, unsigned stream,
                     unsigned refusals, uint64_t serial);
int sy_tcp_say_welcome(struct tcp_transcript *t, const struct tcp_self *self);
int sy_tcp_say_refuse(struct tcp_transcript *t, const struct tcp_self *self,
                      enum tcp_refusal reason);

/* The same: CONFIRM behind a WELCOME, RESUME behind a CONFIRM. */
int sy_tcp_say_positions(struct tcp_transcript *t, const struct tcp_self *self,
                         struct tcp_positions positions);

/* Judges a message of the other side and, unless it is strange or forged, adds it. To an empty
 * transcript that is HELLO; behind HELLO, WELCOME or REFUSE; then CONFIRM, then RESUME. */
enum tcp_verdict sy_tcp_hear(struct tcp_transcript *t, const struct tcp_self *self,
                             const struct tcp_handshake *message);

/* Two keys of 16 bytes that the two sides alone know, for what they say beside this connection: the
 * connector's and the acceptor's. After the last message. */
void sy_tcp_transcript_keys(const struct tcp_transcript *t, const struct tcp_self *self,
                            unsigned char keys[32]);

/* The last message. */
static inline const struct tcp_handshake *sy_tcp_last(const struct tcp_transcript *t)
{
    return &t->message[t->count - 1];
}

#endif

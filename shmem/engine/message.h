/* Transports that only carry messages (SY_REACH_MESSAGE): the engine over them. It issues as over
 * any stream of bytes (engine.h); here the bytes are cut into messages, which the other side puts
 * together again, applies and answers.
 *
 * message_table.c    the table that the core calls in place of the transport's
 * message_send.c     from buffers to messages
 * message_receive.c  messages that have come
 * message_large.c    large data beside the messages, where the transport can
 *
 * A message is a head and bytes of one of two channels: requests, or the replies to requests of the
 * other side. A channel is an endless stream of bytes, so a message may end within a record. Each
 * head says how many bytes of the other side's requests have been applied; it is asked for that
 * where somebody waits for it.
 *
 * Who may touch what of a peer:
 *   producer  the engine's struct sy_tx, and the buffer's place while nothing in it waits
 *   sender    who holds `sending`: what is marked so. The lock is only ever tried; who does not get
 *             it leaves the work to the holder (`again`)
 *   receiver  the transport's progress(), one thread at a time: what is marked so
 * `answering` is held for the moment in which replies change hands, from the receiver to the
 * sender. The transport may hold a lock of its own when it hands up a message, and take the same
 * when it is given one to send. So the receiver never sends, nor waits for `sending`: what it owes
 * is sent by sy_message_progress(), after the transport's progress() has returned. */
#ifndef SY_ENGINE_MESSAGE_H
#define SY_ENGINE_MESSAGE_H

#include <pthread.h>

#include "engine/apply.h"
#include "engine/engine.h"
#include "engine/large.h"

#define SY_MESSAGE_LEAST   256              /* of message_size */
#define SY_MESSAGE_BUFFER  (256u << 10)     /* bytes of requests that wait to be sent */
#define SY_MESSAGE_RECORD  SY_RECORD_PACKED /* most payload of a record, and of a reply */
#define SY_MESSAGE_REPLIES (64u << 10)      /* bytes of short replies under way at a time */
#define SY_MESSAGE_PUT     (48u << 10)      /* bytes from which on puts go beside the messages */
#define SY_MESSAGE_GET     (64u << 10)      /* and gets */
#define SY_MESSAGE_HEAD    sizeof(struct sy_message_head)

enum sy_message_channel { SY_MESSAGE_REQUESTS, SY_MESSAGE_ANSWERS, SY_MESSAGE_CHANNELS };

enum { SY_MESSAGE_ASKS = 1 }; /* flags: tell me how far you are when you have applied this */

struct sy_message_head {
    uint32_t length; /* of the bytes behind it */
    uint16_t channel, flags;
    uint64_t applied; /* bytes of your requests */
};

/* A buffer that grows. Room for a head is left free at its beginning. */
struct sy_message_bytes {
    char *at;
    size_t begin, end, room; /* the bytes are [begin, end) */
};

struct sy_message_peer {
    struct sy_engine_peer engine; /* the first member */
    struct sy_messages *messages;
    char *buffer;  /* of requests, made with the first one; room for a head is left before them */
    uint64_t base; /* the position in the stream of the buffer's first request */
    struct sy_message_large *large; /* NULL: the transport has no large_send() */
    /* sender */
    _Alignas(SY_LINE) _Atomic bool sending; /* the lock */
    _Atomic bool again;                     /* somebody has found it taken */
    uint64_t sent;                          /* messages */
    uint64_t asked;                         /* the other side was asked to tell when it is here */
    _Atomic uint64_t told;                  /* the last `applied` that the other side was told */
    struct sy_message_bytes leaving;        /* replies */
    /* receiver */
    _Alignas(SY_LINE) pthread_mutex_t answering;
    struct sy_message_bytes answers;                      /* replies: under `answering` */
    struct sy_message_bytes partial[SY_MESSAGE_CHANNELS]; /* the beginning of a record */
    _Atomic uint64_t arrived;                             /* bytes of replies */
    uint64_t used;                                        /* bytes of requests taken */
    bool over;                                            /* the other side has broken the rules */
    /* any thread */
    _Atomic size_t owed;      /* bytes of replies that have not been sent */
    _Atomic bool due;         /* an acknowledgement has to be sent */
    _Atomic uint64_t applied; /* bytes of the other side's requests; the receiver writes it */
};

/* An instance of a transport, as the core sees it. */
struct sy_messages {
    struct sy_engine engine; /* the first member */
    const struct sy_host *host;
    const char *name;                 /* the instance's */
    const struct sy_transport *inner; /* the transport's table and instance */
    void *self;
    struct sy_transport table; /* what the core sees */
    struct sy_regions regions;
    struct sy_message_peer *_Atomic *peer; /* by PE; NULL: not made yet */
    pthread_mutex_t making;                /* held while a peer is made */
    pthread_mutex_t receiving;             /* held while a message is applied */
    unsigned char *reach;     /* by PE: which of PUT, GET, AMO are the transport's own; MESSAGE */
    bool mixed;               /* some PE is written by the transport's calls and by messages */
    _Atomic uint64_t *uneasy; /* a bit for each peer: something is owed, or waits for room */
    _Atomic bool any_uneasy;
    _Atomic uint64_t *moving; /* a bit for each peer: large pieces are under way */
    _Atomic bool any_moving;
};

/* Opens an instance of the transport *table, as open() does. If it carries messages, *table and
 * *self become the engine's, until close(). */
int sy_message_open(const struct sy_transport **table, const struct sy_host *host,
                    const struct sy_instance *instance, void **self, struct sy_error *err);

/* The transport's own instance inside what sy_message_open has returned. */
void *sy_message_inside(const struct sy_transport *table, void *self);

/* ---- between the files ---- */

/* What the engine calls, for transports that have large_send() and for those that have not. */
extern const struct sy_engine_ops sy_message_ops;

/* The peer, made if need be; NULL: no memory. Any thread. */
struct sy_message_peer *sy_message_peer(struct sy_messages *messages, int pe);
void sy_message_peer_free(struct sy_message_peer *peer);

/* The PE is lost: rc is what the transport has answered, `why` what that means. */
void sy_message_lost(const struct sy_messages *messages, int pe, int rc, const char *why);

/* Has the next progress send what is owed to a peer. Any thread. */
void sy_message_owe(struct sy_message_peer *peer);

/* Has the next progress look after the pieces of a peer. Any thread. */
void sy_message_large_look_later(struct sy_message_peer *peer);

/* Looks after the pieces of all peers: those that are complete, and the requests that waited for
 * them. True: there were some. */
bool sy_message_receive_pieces(struct sy_messages *messages);

/* As progress() of the table. */
int sy_message_progress(void *self, unsigned flags);

/* Whether a peer waits for something that has not been sent. */
bool sy_message_owes(const struct sy_message_peer *peer);

/* As `received` of struct sy_instance. */
void sy_message_received(void *receiver, int pe, const void *bytes, size_t length);

#endif

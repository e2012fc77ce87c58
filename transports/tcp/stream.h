/* A stream: two channels in each direction between this process and another one, carried by a
 * connection that may be replaced. Stream 0 to a process is made with the first operation; further
 * streams, for parts of large transfers, with the first large one.
 *
 * Locks, in the order in which they are taken:
 *   append  the producer of requests, of stream 0 for all streams to the process
 *           (engine/producer.h)
 *   poll    receiving, applying, connecting, the producer of replies (poll.h)
 *   send    the socket's sending side; sy_tcp_send() leaves its work to the holder
 * Under poll, append is only tried (idle.c, hint.c): sy_producer_stop() gives up at once where
 * another thread has it, so that nobody waits against the order.
 */
#ifndef TCP_STREAM_H
#define TCP_STREAM_H

#include <pthread.h>
#include <switchyard/transport.h>

#include "engine/apply.h"
#include "engine/engine.h"
#include "transports/tcp/conn/conn.h"
#include "transports/tcp/hint.h"
#include "transports/tcp/queue.h"
#include "transports/tcp/outage.h"
#include "transports/tcp/pace.h"
#include "transports/tcp/poll.h"
#include "transports/tcp/wire.h"
#include "util/bits.h"

#define TCP_STREAMS_MAX 15
#define TCP_OUT_PARTS   32
#define TCP_AWAIT_BYTES 16
#define TCP_STREAM_MAPS 5 /* mappings of a stream: two rings, each twice, and its wants */

enum tcp_channel { TCP_REQUESTS, TCP_REPLIES };

/* The frame that is being sent. */
struct tcp_out {
    struct tcp_frame frame;
    struct iovec part[TCP_OUT_PARTS];
    int first, count;
    size_t left; /* bytes of all parts */
    enum tcp_channel channel;
    uint64_t end; /* position in the channel when it has gone */
};

/* The frame that is being received. */
struct tcp_in {
    size_t frame_left; /* bytes of records to come */
    unsigned flags;
    char *payload; /* where the rest of a large payload goes, or NULL */
    size_t payload_left, payload_padding;
    uint64_t payload_record; /* bytes that the record of that payload adds to `got` */
    char *stash; /* bytes received and not yet used: a record in part, or behind an AWAIT */
    size_t stashed;
    bool told_all;             /* a BYE has come */
    struct tcp_stream *awaits; /* the stream that an AWAIT names, until it has got there */
    uint64_t awaits_at;
};

enum tcp_stream_state {
    TCP_STREAM_NEW,
    TCP_STREAM_WANTED,
    TCP_STREAM_DOWN,
    TCP_STREAM_UP,
    TCP_STREAM_OVER
};

struct tcp_stream {
    struct tcp *tcp;
    struct tcp_watch watch;
    int pe; /* the process at the other end */
    unsigned number;
    _Atomic int state;
    struct tcp_stream *next_wanted; /* in the list of those that are to be connected */

    struct sy_engine_peer requests; /* the engine's, but for what it lends of queue[0] */
    struct sy_tx replies;           /* of queue[1] */
    struct tcp_queue queue[2];

    /* Producer of requests: the application's threads, one at a time. */
    struct tcp_stream
        *stripe[TCP_STREAMS_MAX]; /* stream 0: the further streams to the same process */
    struct tcp_pace pace;         /* stream 0: of transfers that may use them or not */
    unsigned unordered;           /* stream 0: bits of those with parts that no AWAIT covers yet */
    uint64_t awaits;              /* others: position of stream 0 that its last AWAIT named */

    /* Sender. */
    _Alignas(64) _Atomic bool send;
    _Atomic bool again;   /* somebody found `send` taken */
    _Atomic bool ack_due; /* the other side asked how far I am */
    _Atomic bool bye;     /* say BYE with the next frame */
    uint64_t asked;       /* the other side has been asked about requests up to here */
    bool greeted;         /* a frame has been sent on this connection */
    int attended; /* how many see to it that it is read all the time, so that epoll need not */
    _Atomic uint64_t told;      /* of got[0] + got[1], with the last frame */
    _Atomic uint64_t handed[2]; /* bytes of the channels that the kernel has taken */
    _Atomic bool paused;        /* the socket is not read: an AWAIT stands in the way */
    struct tcp_out out;

    struct tcp_hint hint; /* stream 0 */

    /* Receiver: under the poll lock. */
    _Alignas(
        64) _Atomic uint64_t got[2]; /* bytes of the other side's channels that have been applied */
    _Atomic bool heard;              /* a frame has come */
    _Atomic bool serves_node;        /* the other side applies for all PEs of its node */
    bool connector;
    bool hot;       /* attended by all who poll (poll.c) */
    bool trimmed;   /* its memory has been given back since it moved last (idle.c) */
    uint64_t moved; /* bytes of all channels at the last look */
    struct tcp_in in;
    struct tcp_outage outage;
    uint64_t up_since; /* the present connection, or the last one */
    uint64_t down_since,
        retry_at;  /* nanoseconds; retry_at 0: an attempt is under way, or it is not ours */
    char why[400]; /* the last attempt failed */
};

/* Beside the engine's list of all. */
struct tcp_stream_table {
    _Atomic(struct tcp_stream *) *by_number; /* number * npes + PE; NULL: not made yet */
    _Atomic(struct tcp_stream *) wanted;     /* to be connected, the last one first */
    _Atomic int paused;                      /* how many wait for another one */
    _Atomic bool striped;   /* a large transfer has been spread over further streams */
    pthread_mutex_t making; /* by the application's threads and the one that accepts connections */
    uint64_t closing;       /* since when, or 0 */
    bool farewell;          /* BYE is the last word of every connection now */
};

static inline struct tcp_stream *sy_tcp_stream_of(struct sy_engine_peer *requests)
{
    return (struct tcp_stream *)(void *)((char *)requests - offsetof(struct tcp_stream, requests));
}

/* Listens for connections of streams. */
int sy_tcp_streams_listen(struct tcp *tcp, struct sy_error *err);

int sy_tcp_streams_open(struct tcp *tcp, struct sy_error *err);

/* Has everything applied and says goodbye on all streams, waiting for the others for a bounded
 * time.
 */
void sy_tcp_streams_leave(struct tcp *tcp);
void sy_tcp_streams_close(struct tcp *tcp);

/* Lets stream timers run and makes wanted connections. Under the poll lock; returns nanoseconds
 * until there is more to do. */
uint64_t sy_tcp_streams_timers(struct tcp *tcp, uint64_t now);

/* The stream to PE pe with this number, made if need be; NULL where there can be none. Any thread.
 */
struct tcp_stream *sy_tcp_stream_find(struct tcp *tcp, int pe, unsigned number);

/* The stream has a new connection (struct tcp_conn_user). Under the poll lock. */
void sy_tcp_stream_adopt(struct tcp_stream *stream, int fd, const struct tcp_positions *peer,
                         const unsigned char keys[32], bool connector);

/* The stream, made if need be; its connection is begun. NULL: no memory. Any thread. */
struct tcp_stream *sy_tcp_stream_open(struct tcp *tcp, int pe, unsigned number);

/* The connection is unusable; another one will take its place. Under the poll lock. */
void sy_tcp_stream_broken(struct tcp_stream *stream, const char *why);

/* The other side sends what it must not: the stream, and with it the job, is over. Under the poll
 * lock. */
void sy_tcp_stream_breached(struct tcp_stream *stream, const char *why);

/* What is under way on a stream; false: nothing. Any thread. */
bool sy_tcp_stream_pending(const struct tcp_stream *stream, struct sy_pending *pending);

/* Sends what there is, unless another thread is at it. send.c */
void sy_tcp_send(struct tcp_stream *stream);

/* The send lock. Unlocking sends what another thread wanted to send meanwhile. */
void sy_tcp_send_lock(struct tcp_stream *stream);
void sy_tcp_send_unlock(struct tcp_stream *stream);

/* Has epoll watch for what the stream needs by `blocked`, `paused` and `attended`. Under the send
 * lock.
 */
void sy_tcp_send_watch(struct tcp_stream *stream);

/* Somebody begins (1) or ceases (-1) to read the stream all the time. A sender is not waited for at
 * the beginning: false, and it has not begun. */
bool sy_tcp_send_attend(struct tcp_stream *stream, int threads);

/* Whether there is something to send: records, or a word about what has been applied. */
bool sy_tcp_send_due(const struct tcp_stream *stream);

/* Something has been sent or received: streams are to be looked at. Any thread. idle.c */
void sy_tcp_idle_moved(struct tcp *tcp);

int sy_tcp_idle_open(struct tcp *tcp, struct sy_error *err);
void sy_tcp_idle_close(struct tcp *tcp);

/* Receives and applies what there is: the number of bytes. Under the poll lock. receive.c */
size_t sy_tcp_receive(struct tcp_stream *stream);
void sy_tcp_receive_reset(struct tcp_stream *stream);
size_t sy_tcp_receive_cut(const char *to, size_t length, size_t left);

/* Applies whole records at `from`; returns the bytes used, which may be fewer than `length` where
 * the last one is incomplete, its payload goes on (in.payload), or a record must wait (in.awaits).
 * *why: set to a reason where the other side breaks the rules. apply.c */
size_t sy_tcp_apply_requests(struct tcp_stream *stream, const char *from, size_t length,
                             const char **why);
size_t sy_tcp_apply_replies(struct tcp_stream *stream, const char *from, size_t length,
                            const char **why);

/* Counts what has been applied: bytes of a channel that ended with one large payload; replies. */
void sy_tcp_apply_done(struct tcp_stream *stream, enum tcp_channel channel, uint64_t bytes);

#endif

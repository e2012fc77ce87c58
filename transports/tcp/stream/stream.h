/* The stream layer: two channels in each direction, requests and replies, between this process and
 * another one. Each carries bytes once and in order, whatever becomes of the connection under it:
 * they are kept until the other side has applied them, and a new connection goes on from there. Of
 * records it knows the longest and the padding between them (engine/record.h), and that a frame
 * ends where one does; nothing of what they ask for, of peers and their further streams, or of
 * hints. It calls upward by struct tcp_stream_user alone.
 *
 * stream.c   connections come and go
 * queue.c    a channel's bytes until the other side has applied them
 * send.c     from the queues to the socket: frames
 * receive.c  from the socket to the user: frames, what is incomplete, large payloads in place
 *
 * Locks, in the order in which they are taken:
 *   poll  the user's: receiving, connections, the producer of replies
 *   send  the sending side; sy_tcp_send() leaves its work to the holder
 * The producer of requests is the user's too, and comes before both. */
#ifndef TCP_STREAM_H
#define TCP_STREAM_H

#include <switchyard/host.h>

#include "transports/tcp/conn/conn.h"
#include "transports/tcp/stream/queue.h"
#include "transports/tcp/wire.h"
#include "util/bits.h"

#define TCP_RECEIVE_BYTES (256u << 10) /* holds what is left from before and what a read brings */
#define TCP_OUT_PARTS     32

enum tcp_channel { TCP_REQUESTS, TCP_REPLIES };

/* What the layer above is called for. Under the poll lock, but for `sent`. */
struct tcp_stream_user {
    /* Applies what has come on a channel (the index), counts whole records in `applied`, and
     * returns the bytes used: fewer than `length` where the last record is incomplete, its payload
     * goes on (sy_tcp_receive_place), or in.held is set. *why: how the other side breaks the rules.
     */
    size_t (*apply[2])(struct tcp_stream *stream, const char *from, size_t length,
                       const char **why);

    /* Stores a part of a payload, with whole elements. */
    void (*store)(char *to, const char *from, size_t length);

    /* A payload has come whole: counts the `bytes` of its record in `applied`. */
    void (*placed)(struct tcp_stream *stream, enum tcp_channel channel, uint64_t bytes);

    /* More of a payload has come, where in.follow has been set with sy_tcp_receive_place. */
    void (*follow)(struct tcp_stream *stream);

    /* Fills the data of a segment of replies that has let go of them (sy_tcp_queue_let_go), under
     * the send lock too. False: they are not there any more. */
    bool (*again)(struct tcp_stream *stream, uint64_t source, char *to, size_t length);

    /* in.held is set: whether the bytes after the holding record may be applied now. If so, counts
     * that record. */
    bool (*resumes)(struct tcp_stream *stream);

    /* Further flags for the first frame of a connection. */
    unsigned (*first_flags)(struct tcp_stream *stream);

    /* Something has been sent, under the send lock; something has been received. */
    void (*sent)(struct tcp_stream *stream);
    void (*received)(struct tcp_stream *stream);

    /* The socket can be read: calls sy_tcp_receive(). */
    void (*readable)(struct tcp_stream *stream);

    /* A connection is about to be made on this socket. Returns the UDP port for hints, or 0. */
    uint16_t (*udp_port)(struct tcp_stream *stream, int fd);

    /* The connection is made, and nothing has been sent on it. Under the send lock too. */
    void (*up)(struct tcp_stream *stream, const struct tcp_positions *peer,
               const unsigned char keys[32]);

    /* The connection is about to be closed: broken, so that there must be another one; or another
     * one is there, or the other side has said all (why: NULL). */
    void (*down)(struct tcp_stream *stream, const char *why);

    /* The socket is closed: takes back what it has added to `attended`. Under the send lock too. */
    void (*closed)(struct tcp_stream *stream);
};

/* What all streams of an instance share; the user owns it. */
struct tcp_streams {
    const struct tcp_stream_user *user;
    const struct sy_host *host;
    struct tcp_watches *set;
    struct tcp_counters *counters;
    char *received;     /* TCP_RECEIVE_BYTES, under the poll lock */
    _Atomic int paused; /* streams that are not read */
    bool first_frame;   /* of a connection: sent at once, for its flags */
    bool farewell;      /* BYE is the last word of every connection now */
};

/* The frame that is being sent. */
struct tcp_out {
    struct tcp_frame frame;
    char shift[TCP_SHIFT]; /* zeros */
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
    uint64_t payload_record; /* bytes that the record of that payload adds to `applied` */
    char *stash;             /* bytes received and not yet used: a record in part, or held */
    size_t stashed;
    bool in_place;    /* the payload is received where it goes */
    bool follow;      /* the user is told as the payload comes */
    bool owes;        /* the user is to be told when no more is read for now */
    bool bulk;        /* the last read brought a large payload */
    bool bulk_lately; /* one did, and since then never many small records: another one may follow */
    bool bye;         /* a BYE has come */
    bool held;        /* what lies behind must wait; set by `apply` */
};

enum tcp_stream_state {
    TCP_STREAM_NEW,
    TCP_STREAM_WANTED, /* by the user, which has it connected */
    TCP_STREAM_DOWN,
    TCP_STREAM_UP,
    TCP_STREAM_OVER
};

struct tcp_stream {
    /* constant */
    struct tcp_streams *all;
    int pe; /* the process at the other end */
    unsigned number;
    struct tcp_queue queue[2];

    /* poll and send: both to write, one to read */
    struct tcp_watch watch;
    _Atomic int state;
    bool connector; /* this side opened the connection */

    /* send; what is atomic is read by others */
    _Alignas(SY_LINE) _Atomic bool send; /* the lock */
    _Atomic bool again;                  /* any thread: another one has found `send` taken */
    _Atomic bool ack_due;                /* any thread: the other side asks how far this one is */
    _Atomic bool bye;                    /* any thread: say BYE with the next frame */
    uint64_t asked;         /* the other side has been asked about requests up to here */
    bool first_sent;        /* the first frame of this connection has been sent */
    int attended;           /* threads that read it all the time, so that epoll need not watch it */
    _Atomic uint64_t acked; /* of applied[0] + applied[1], with the last frame */
    _Atomic uint64_t handed[2]; /* bytes of the channels that the kernel has taken */
    _Atomic bool paused;        /* the socket is not read, since something is held */
    struct tcp_out out;

    /* poll */
    _Alignas(SY_LINE) _Atomic uint64_t applied[2]; /* bytes of the other side's channels */
    _Atomic bool heard;                            /* a frame has come */
    _Atomic bool serves_node; /* the other side applies for all PEs of its node */
    struct tcp_in in;
};

/* What to say of a peer whose connection could not be added or changed. */
#define TCP_UNWATCHED                                                                              \
    "its connection cannot be watched: there are too many (fs.epoll.max_user_watches), or the "    \
    "program has closed a descriptor of the library"

/* Makes a stream without a connection of zeros. requests, replies: the producers' ends of its two
 * queues, of `buffer` bytes each. 0, or -errno with nothing to close. */
int sy_tcp_stream_init(struct tcp_stream *stream, struct tcp_streams *all, int pe, unsigned number,
                       struct sy_tx *requests, struct sy_tx *replies, size_t buffer);
void sy_tcp_stream_close(struct tcp_stream *stream);

static inline int sy_tcp_stream_state(const struct tcp_stream *stream)
{
    return atomic_load_explicit(&stream->state, memory_order_acquire);
}

/* Changes of state. want: the user wants the new stream connected. begin: this side begins to
 * connect. end: there will be no other connection. The first two answer false if another thread was
 * first. */
bool sy_tcp_stream_want(struct tcp_stream *stream);
bool sy_tcp_stream_begin(struct tcp_stream *stream);
void sy_tcp_stream_end(struct tcp_stream *stream);

/* Members of struct tcp_conn_user: the stream will soon have a new connection; it has one. Under
 * the poll lock. */
struct tcp_positions sy_tcp_stream_freeze(struct tcp_stream *stream, int fd);
void sy_tcp_stream_adopt(struct tcp_stream *stream, int fd, const struct tcp_positions *peer,
                         const unsigned char keys[32], bool connector);

/* The connection is unusable; another one will take its place. Under the poll lock. */
void sy_tcp_stream_broken(struct tcp_stream *stream, const char *why);

/* The other side sends what it must not, or, where that is `why`, what this PE has no memory for:
 * the stream, and with it the job, is over. Under the poll lock. */
extern const char sy_tcp_no_memory[];
void sy_tcp_stream_breached(struct tcp_stream *stream, const char *why);

/* Says how far this side has applied. Any thread. */
void sy_tcp_stream_tell(struct tcp_stream *stream);

/* The last word of a stream: nothing is in flight in either direction once both sides have said it,
 * so that closing a socket cannot destroy what the other has yet to read. Any thread. */
void sy_tcp_stream_bye(struct tcp_stream *stream);

/* Whether all that this side said has been applied, or never will be. */
bool sy_tcp_stream_settled(const struct tcp_stream *stream);

/* Whether the other side has said all. */
bool sy_tcp_stream_has_left(const struct tcp_stream *stream);

/* Sends what there is, unless another thread is at it. Any thread. */
void sy_tcp_send(struct tcp_stream *stream);

/* The send lock. Unlocking sends what another thread wanted to send meanwhile. */
void sy_tcp_send_lock(struct tcp_stream *stream);
void sy_tcp_send_unlock(struct tcp_stream *stream);

/* Has epoll watch for what the stream needs by tx.blocked, `paused` and `attended`. Under the send
 * lock. */
void sy_tcp_send_watch(struct tcp_stream *stream);

/* A thread begins (1) or stops (-1) to read the stream all the time. Beginning does not wait for
 * the send lock: false, and nothing has changed. */
bool sy_tcp_send_attend(struct tcp_stream *stream, int threads);

/* Whether there is something to send: records, or a word about what has been applied. */
bool sy_tcp_send_due(const struct tcp_stream *stream);

/* Receives what there is and has it applied: the number of bytes. Under the poll lock. */
size_t sy_tcp_receive(struct tcp_stream *stream);
void sy_tcp_receive_reset(struct tcp_stream *stream);

/* Where a payload of `left` bytes that goes to `to` may be cut, at `length` bytes or before:
 * between elements, so that a reader of the memory never sees half of one. */
size_t sy_tcp_receive_cut(const char *to, size_t length, size_t left);

/* Called by `apply`: the payload of a record goes on after the bytes that have come. Its bytes
 * `part` to `length` are stored at `to` as they come, a long one's without a copy between; then
 * `bytes` are added to `applied`. */
void sy_tcp_receive_place(struct tcp_stream *stream, char *to, size_t part, size_t length,
                          size_t bytes);

#endif

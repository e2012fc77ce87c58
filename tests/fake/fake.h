/* A transport for tests. It moves bytes between any processes of a machine, in datagrams over UNIX
 * sockets, and makes use of every liberty that the ABI gives, as its options say: answers -EAGAIN
 * at random, lets operations overtake each other up to the next fence, reads the source of a
 * nonblocking put late, completes late, and fails at open or connect on chosen PEs. Or it has calls
 * of its own for some operations only, and carries the engine's messages. It never lies: what it
 * reports is so.
 *
 * fake.c  the table, options, data calls and contexts
 * queue.c operations that have been accepted: when they are sent, and when they are complete
 * large.c large data beside messages
 * wire.c  datagrams, and serving those of others
 *
 * One lock of the instance is held in every call. */
#ifndef SY_TESTS_FAKE_H
#define SY_TESTS_FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <switchyard/transport.h>

#include "engine/regions.h"

enum {
    FAKE_CHUNK = 8192, /* bytes of data a datagram */
    FAKE_ROOM =
        200 /* operations that may be waiting to be sent before -EAGAIN; one may exceed it */
};

enum { FAKE_LARGE_MOST = 99999 }; /* bytes of a piece of large data: elements are cut through */

enum fake_kind { FAKE_REQUEST, FAKE_ANSWER, FAKE_MESSAGE, FAKE_LARGE };

/* What travels. An answer repeats the request's id; a message is the engine's; of large data the id
 * is the piece's number, and the first word where in it the data go. */
struct fake_message {
    unsigned char key[16]; /* of the job: others' datagrams are dropped */
    uint32_t kind, from;
    uint64_t id;
    uint32_t length, error;          /* of the data behind; of an answer, an errno value */
    char words[8 * SY_RECORD_WORDS]; /* of a request: engine/record.h */
    char data[FAKE_CHUNK] __attribute__((aligned(16)));
};

#define FAKE_HEAD offsetof(struct fake_message, data)

/* An operation, or a part of one: until its answer has come. */
struct fake_request {
    struct fake_request *next;
    struct sy_transport_ctx *ctx;
    int pe;
    uint64_t epoch; /* fences on ctx before it */
    uint64_t due;   /* not sent before, ns */
    bool sent;
    const char *from;            /* data of a put, in the caller's memory; or in `copy` */
    char *copy, *to;             /* to: where an answer's data go */
    uint32_t wanted;             /* how many they are */
    uint32_t *waiting;           /* counts down for a caller that waits; or NULL */
    struct fake_message message; /* without data */
};

struct fake_answer {
    struct fake_answer *next;
    int pe;
    uint64_t due;
    struct fake_message message; /* data as long as its length */
};

struct sy_transport_ctx {
    uint64_t epoch;
};

struct fake_address {
    socklen_t length;
    char name[16];
};

struct fake_settings {
    long again, late, seed;
    bool reorder, signal;
    int fail, hang, reach, native;
    const char *fail_pes;
};

/* An instance. */
struct fake {
    const struct sy_host *host;
    struct sy_instance instance;
    const struct fake_settings *settings;
    pthread_mutex_t lock;
    int socket, timer, poll; /* the last one has the others in it */
    struct fake_address own;
    struct fake_address *peer;          /* npes of them, after connect; length 0: none */
    struct fake_request *first, **last; /* in the order they were issued */
    unsigned requests, waiting;         /* how many; of them, not sent yet */
    struct fake_answer *answers;
    struct fake_piece *pieces; /* of large data */
    struct fake_early *early;
    unsigned leaving; /* pieces that are to be sent */
    uint64_t ids, random;
    bool armed; /* the timer */
    struct sy_regions regions;
};

enum { FAKE_FAIL_NEVER, FAKE_FAIL_OPEN, FAKE_FAIL_CONNECT };
enum {
    FAKE_HANG_NEVER,
    FAKE_HANG_OPEN,
    FAKE_HANG_CONNECT,
    FAKE_HANG_CLOSE,
    FAKE_HANG_PROGRESS,
    FAKE_HANG_EVENT,
    FAKE_HANG_SEND
};
enum { FAKE_NATIVE_ALL, FAKE_NATIVE_PUT, FAKE_NATIVE_GET, FAKE_NATIVE_AMO, FAKE_NATIVE_NONE };
enum { FAKE_REACH_ALL, FAKE_REACH_PARITY, FAKE_REACH_NONE, FAKE_REACH_SHY };

uint64_t fake_now(void); /* ns */

/* True in `percent` of 100 cases. */
bool fake_chance(struct fake *f, long percent);

/* wire.c */
int fake_wire_open(struct fake *f, struct sy_error *err);
void fake_wire_close(struct fake *f);

/* 0, -EAGAIN where the kernel has no room, or another -errno. */
int fake_wire_send(struct fake *f, int pe, const struct fake_message *message, const char *data,
                   size_t length);

/* Takes what has come: serves requests, and hands answers to fake_queue_answered. How many. */
int fake_wire_receive(struct fake *f);

/* Sends the answers that are due. How many; *left: whether there are others. */
int fake_wire_answer(struct fake *f, bool *left);
void fake_wire_flush(struct fake *f);

/* queue.c */

/* Accepts an operation. -ENOMEM only; room is the caller's care. */
int fake_queue_add(struct fake *f, const struct fake_request *request);
void fake_queue_answered(struct fake *f, const struct fake_message *answer);

/* Sends what may be sent now, receives, and sets the timer for what is left. How many messages
 * moved. */
int fake_queue_progress(struct fake *f);

/* Has the progress thread come by soon, if there is anything to be sent. */
void fake_queue_wake(struct fake *f);

/* Whether anything of ctx (NULL: of all) towards pe (SY_ALL_PES: all) is not complete. */
bool fake_queue_pending(const struct fake *f, const struct sy_transport_ctx *ctx, int pe);

/* The same of those that were accepted up to number `last`. */
bool fake_queue_pending_upto(const struct fake *f, const struct sy_transport_ctx *ctx, int pe,
                             uint64_t last);
void fake_queue_drop(struct fake *f);

/* large.c: as in the table; and with the lock */
int fake_large_send(void *self, int pe, uint64_t number, const void *bytes, size_t length,
                    void *ticket);
int fake_large_receive(void *self, int pe, uint64_t number, void *bytes, size_t length,
                       void *ticket);
void fake_large_come(struct fake *f, const struct fake_message *m);
int fake_large_progress(struct fake *f);
void fake_large_drop(struct fake *f);

#endif

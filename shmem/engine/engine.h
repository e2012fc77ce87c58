/* The message engine: remote memory access over transports that carry bytes in order. This header
 * has the issuing side, which calls turn into records at: put, get, strided, atomic operations,
 * fence, quiet; apply.h and pending.h are what the receiving side is made of.
 *
 * engine.c    opening; routes; sending what has been gathered; waiting
 * calls.c     put, get, atomic operations, put with signal; strided.c; parts.c: what is too long
 * order.c     contexts, fence, quiet and tickets
 * issue.h     appending records, for these files and for calls that are the transport's own
 * combine.c   element puts to consecutive places become one record
 * producer.c  the one thread that may append
 * flush.c     when requests leave: the policy
 * tx.h        a stream of bytes, lent by the transport
 * record.c    records: their format; request.h writes those of requests
 * pending.c   replies that are awaited
 * regions.c   where requests find their memory
 * apply.c     what requests do to it; device.c: to memory that CPUs cannot load and store
 * call.c      the call of a plugin that each thread is in, for reports
 * message.h   all of it over transports that only carry messages: message_table.c, message_send.c,
 *             message_receive.c; large.h: data that go beside the messages, message_large.c
 *
 * The transport has one struct sy_engine and, for each process that it reaches and for each further
 * stream to one, a struct sy_engine_peer. A call writes its record where `tx` says, by a few stores
 * and comparisons of words, and calls the transport, by struct sy_engine_ops, once in a while only.
 *
 * What the transport has to do besides:
 *   - apply what comes by apply.h's functions, in order, and hand replies to pending.h's;
 *   - keep tx.sent and tx.applied up to date, ask the other side to say how far it has applied once
 *     what lies before tx.ask has left, and call sy_flush_sent() when anything has;
 *   - call sy_engine_send_gathered() whenever it polls, and when host->soon()'s time has come.
 *
 * Locks, in the order in which they are taken: the producer's (producer.h), then the transport's.
 * Under those the producer's is only tried, by sy_producer_stop(). */
#ifndef SY_ENGINE_ENGINE_H
#define SY_ENGINE_ENGINE_H

#include <switchyard/transport.h>

#include "engine/flush.h"
#include "engine/pending.h"
#include "engine/producer.h"
#include "engine/tx.h"

struct sy_engine_ctx;

/* Element puts to consecutive places that are being joined (combine.c). Written by the producer, or
 * by the thread that keeps it out. */
struct sy_combine {
    uint64_t next;     /* the header of an element put that continues the last one */
    _Atomic bool open; /* there is a record at tx.at, not committed yet */
    uint64_t header;
    size_t bytes;
};

/* A stream of requests to a process. */
struct sy_engine_peer {
    /* constant, by sy_engine_add */
    struct sy_engine *engine;
    int pe;        /* the process that it goes to */
    unsigned slot; /* index of peers, and of a context's marks */
    /* producer */
    _Alignas(SY_LINE) struct sy_producer producer;
    struct sy_combine combine;
    struct sy_tx tx;
    struct sy_pending_replies pending;
    /* any thread */
    struct sy_flush flush;
};

/* How a PE is reached. */
struct sy_engine_route {
    struct sy_engine_peer *_Atomic peer; /* NULL: not known yet */
    _Atomic unsigned target;             /* for the record's header */
};

/* A hint to put_large: another record to the PE follows, which is sent at once. */
#define SY_ENGINE_FOLLOWED (1u << 16)

/* The transport. None of it is called in the common case. */
struct sy_engine_ops {
    /* Which stream operations for PE pe go to, *target: who that is there (record.h). NULL: it is
     * not known yet, or no memory; asked again after progress. Any thread. */
    struct sy_engine_peer *(*route)(struct sy_engine *engine, int pe, unsigned *target);

    /* Makes room: moves tx.at and tx.end so that `bytes` fit. False: not now. Called by the
     * producer. In the end there must be room for the longest records: `longest_put` or
     * SY_RECORD_PACKED bytes of payload, and 48 for words (a put and its signal). */
    bool (*room)(struct sy_engine_peer *peer, size_t bytes);

    /* Sends what has been committed, unless another thread is at it, which will. Any thread. */
    void (*send)(struct sy_engine_peer *peer);

    /* Sends and receives, for a thread that waits for something from `expected`, or for anything
     * (NULL). Returns more than 0 if something came, -1: another thread is at it. */
    long (*poll)(struct sy_engine *engine, struct sy_engine_peer *expected);

    /* The most bytes of a put (a non-blocking one with a signal; others) and of a get that are one
     * record. Longer ones go to put_large and get_large, or in parts where these are NULL.
     * put_large: flags may have SY_ENGINE_FOLLOWED. */
    size_t longest_put[2], longest_get;
    int (*put_large)(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                     const struct sy_transfer *t, unsigned flags);
    int (*get_large)(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                     const struct sy_transfer *t, unsigned flags);

    /* ---- optional ---- */

    /* Ends a put by put_large that was not blocking, and whose source may be changed now: returns
     * when all of it has been sent and what is not confirmed has been copied. */
    void (*keep_large)(struct sy_engine *engine, struct sy_engine_ctx *ctx,
                       const struct sy_transfer *t);

    /* Orders what large transfers have put beside the stream. */
    void (*fence)(struct sy_engine *engine);

    /* The producer is about to write a RAISE. True: it has been told in another way. */
    bool (*raise)(struct sy_engine_peer *peer, uint64_t header, uint64_t value);

    /* A thread begins (threads 1) to poll for a reply; true: it is to be told when the thread stops
     * (threads -1). */
    bool (*attend)(struct sy_engine_peer *peer, int threads);
};

/* The engine of a transport's instance. Zeros before it is opened. */
struct sy_engine {
    const struct sy_host *host;
    const struct sy_engine_ops *ops;
    struct sy_engine_route *routes; /* by PE */
    struct sy_engine_peer **peer;   /* in the order in which they were made */
    _Atomic unsigned peers;
    unsigned limit;             /* of peers; constant, as the next are */
    unsigned flush_delay;       /* microseconds that requests may be gathered for */
    size_t flush_bytes;         /* how many gathered bytes leave at once, to each peer */
    _Atomic bool locked;        /* producers take locks */
    _Atomic uint64_t *gathered; /* a bit for each peer: has requests that nobody is sending yet */
};

/* How far a context has got on a stream. */
struct sy_engine_mark {
    _Atomic uint64_t position; /* requests appended */
    _Atomic uint64_t wanted;   /* replies asked for */
};

/* A context; zeros: not used yet. Written by the threads that use it, a stream's mark by that
 * stream's producer. A quiet reads marks without being the producer: what it has to complete
 * happened before it, and what other threads issue meanwhile belongs to the next quiet. */
struct sy_engine_ctx {
    _Atomic bool dirty;                  /* some mark may not have been reached */
    _Atomic bool lends;                  /* the caller's memory may be in use up to some mark */
    bool batch;                          /* operations may be gathered for longer */
    struct sy_engine_mark *_Atomic mark; /* of each slot; made with the first operation */
    struct sy_flush_row row;
};

/* Opens an engine for at most `limit` peers. buffer: bytes that a peer's tx holds. 0 or -ENOMEM. */
int sy_engine_open(struct sy_engine *engine, const struct sy_host *host,
                   const struct sy_engine_ops *ops, unsigned limit, size_t buffer,
                   unsigned flush_delay, struct sy_error *err);
void sy_engine_close(struct sy_engine *engine);

/* This PE has no memory for requests to another one: they would wait for ever, so the job ends. */
void sy_engine_no_memory(const struct sy_engine *engine, int pe);

/* Enters a peer, all zeros but for pending.table and pending.room, which the transport has set. One
 * thread at a time. The transport frees its peers after it has closed the engine. */
void sy_engine_add(struct sy_engine *engine, struct sy_engine_peer *peer, int pe);

static inline unsigned sy_engine_peers(const struct sy_engine *engine)
{
    return atomic_load_explicit(&engine->peers, memory_order_acquire);
}

/* Has what is gathered sent by the next sy_engine_send_gathered: after flush_delay, or with
 * `patient` some time later, by the progress thread if no other has done it. Any thread. */
void sy_engine_send_later(struct sy_engine_peer *peer, bool patient);

/* sy_engine_send_gathered for the peers 64 * word to 64 * word + 63. */
void sy_engine_send_word(struct sy_engine *engine, unsigned word, bool due);

/* Sends what has been gathered; due: only what has been waiting for flush_delay. Any thread. */
static inline void sy_engine_send_gathered(struct sy_engine *engine, bool due)
{
    unsigned count = sy_engine_peers(engine);

    for (unsigned word = 0; word * 64 < count; word++)
        if (SY_UNLIKELY(atomic_load_explicit(&engine->gathered[word], memory_order_seq_cst)))
            sy_engine_send_word(engine, word, due);
}

/* ---- members of a transport's table ----
 * `self` begins with a struct sy_engine, a context with a struct sy_engine_ctx. */

int sy_engine_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                  unsigned flags);
int sy_engine_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                  unsigned flags);
int sy_engine_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags);
int sy_engine_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                         const struct sy_amo *signal, unsigned flags);
int sy_engine_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                          unsigned flags);
int sy_engine_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                          unsigned flags);
int sy_engine_raise(void *self, struct sy_transport_ctx *ctx, int pe, unsigned window,
                    uint64_t offset, uint64_t value);
int sy_engine_fence(void *self, struct sy_transport_ctx *ctx);
int sy_engine_quiet(void *self, struct sy_transport_ctx *ctx, int pe);
int sy_engine_flush_local(void *self, struct sy_transport_ctx *ctx, int pe);
int sy_engine_ticket(void *self, struct sy_transport_ctx *ctx, int pe,
                     struct sy_transport_ticket **ticket);
int sy_engine_reached(void *self, struct sy_transport_ticket *ticket);
void sy_engine_session(void *self, struct sy_transport_ctx *ctx, bool batch, size_t operations);
void sy_engine_threads(void *self);

/* All of these but flush_local and threads. */
#define SY_ENGINE_MEMBERS                                                                          \
    .put = sy_engine_put, .get = sy_engine_get, .put_strided = sy_engine_put_strided,              \
    .get_strided = sy_engine_get_strided, .amo = sy_engine_amo,                                    \
    .put_signal = sy_engine_put_signal, .fence = sy_engine_fence, .quiet = sy_engine_quiet,        \
    .mark = sy_engine_ticket, .reached = sy_engine_reached, .session = sy_engine_session,          \
    .raise = sy_engine_raise

/* For contexts that are nothing but the engine's. */
int sy_engine_ctx_open(void *self, long options, struct sy_transport_ctx **ctx,
                       struct sy_error *err);
void sy_engine_ctx_close(void *self, struct sy_transport_ctx *ctx);

#endif

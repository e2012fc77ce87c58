/* The table of a transport that carries messages, as the core sees it: see message.h.
 *
 * Where reach() answers PUT, GET or AMO too, the transport's own calls are used for those, but for
 * a put or get that it answers -EOPNOTSUPP. What is then under way towards a PE is ordered within
 * each of the two only; so a fence of a context that may have used both for one PE to write there
 * completes all of it. */
#include <errno.h>
#include <stdlib.h>

#include "engine/issue.h"
#include "engine/message.h"
#include "util/bits.h"
#include "util/clock.h"

#define DELAY    50                    /* microseconds that requests may be gathered for */
#define PATIENCE UINT64_C(10000000000) /* nanoseconds */

enum { OWN = SY_REACH_PUT | SY_REACH_GET | SY_REACH_AMO };

/* A context: the engine's, and the transport's own. */
struct message_ctx {
    struct sy_engine_ctx engine; /* the first member */
    struct sy_transport_ctx *own;
};

static struct sy_transport_ctx *message_table_own(struct sy_transport_ctx *ctx)
{
    return ((struct message_ctx *)ctx)->own;
}

/* clang-format off */

/* Calls that the transport takes as they are. */
#define PASS(TYPE, NAME, PARAMETERS, ...) \
    static TYPE message_table_##NAME PARAMETERS \
    { \
        struct sy_messages *messages = self; \
        return messages->inner->NAME(__VA_ARGS__); \
    }
PASS(size_t, address, (void *self, void *buffer, size_t room), messages->self, buffer, room)
PASS(unsigned, reach, (void *self, int pe), messages->self, pe)
PASS(void *, mem_pointer, (void *self, int pe, unsigned window), messages->self, pe, window)
PASS(int, wait_fd, (void *self), messages->self)
#undef PASS

/* clang-format on */

/* ---- life ---- */

/* Takes leave: sends what others wait for, as far as that is possible in a bounded time, and how
 * far this PE has applied their requests, since it will not be there when they ask. */
static void message_table_leave(struct sy_messages *messages)
{
    uint64_t since = 0;
    bool owes = sy_engine_peers(&messages->engine); /* none: connect() may have failed */

    for (unsigned i = 0; i < sy_engine_peers(&messages->engine); i++) {
        struct sy_message_peer *peer = (struct sy_message_peer *)messages->engine.peer[i];
        if (atomic_load(&peer->applied) != atomic_load(&peer->told))
            atomic_store(&peer->due, true);
    }
    for (unsigned turn = 0; owes && turn < 100000; turn++) {
        owes = false;
        for (unsigned i = 0; i < sy_engine_peers(&messages->engine); i++) {
            struct sy_message_peer *peer = (struct sy_message_peer *)messages->engine.peer[i];
            if (!sy_message_owes(peer))
                continue;
            sy_message_owe(peer);
            owes = true;
        }
        if (sy_message_progress(messages, 0) <= 0 && owes)
            messages->host->rest(&since);
    }
}

static void message_table_close(void *self)
{
    struct sy_messages *messages = self;

    if (messages->peer)
        message_table_leave(messages);
    messages->inner->close(messages->self);
    for (int pe = 0; messages->peer && pe < messages->host->npes; pe++)
        sy_message_peer_free(atomic_load(&messages->peer[pe]));
    sy_engine_close(&messages->engine);
    sy_regions_close(&messages->regions);
    free(messages->peer);
    free(messages->reach);
    free(messages->uneasy);
    free(messages->moving);
    free(messages);
}

static int message_table_open_engine(struct sy_messages *messages, struct sy_error *err)
{
    const struct sy_host *host = messages->host;
    size_t npes = (size_t)host->npes;
    int rc = sy_regions_open(&messages->regions, host, false, err);

    if (!rc)
        rc = sy_engine_open(&messages->engine, host, &sy_message_ops, (unsigned)npes,
                            SY_MESSAGE_BUFFER, DELAY, err);
    if (rc)
        return rc;
    messages->reach = calloc(npes, sizeof *messages->reach);
    messages->uneasy = calloc(npes / 64 + 1, sizeof *messages->uneasy);
    messages->moving = calloc(npes / 64 + 1, sizeof *messages->moving);
    messages->peer = calloc(npes, sizeof *messages->peer);
    if (!messages->reach || !messages->uneasy || !messages->moving || !messages->peer)
        return host->fail(err, ENOMEM, "no memory for %zu PEs", npes);
    return 0;
}

static void message_table_choose(struct sy_messages *messages);

/* Makes ready before the transport connects, since messages of others may come from then on. */
static int message_table_connect(void *self, const void *addresses, size_t stride, double seconds,
                                 struct sy_error *err)
{
    struct sy_messages *messages = self;
    int rc = message_table_open_engine(messages, err);

    if (!rc)
        rc = messages->inner->connect(messages->self, addresses, stride, seconds, err);
    if (!rc)
        message_table_choose(messages);
    return rc;
}

static int message_table_region_attach(void *self, unsigned index, const struct sy_region *region,
                                       void *key, size_t room, struct sy_error *err)
{
    struct sy_messages *messages = self;
    int rc = sy_regions_check(messages->host, region, err);

    return rc ? rc : messages->inner->region_attach(messages->self, index, region, key, room, err);
}

static int message_table_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                                        struct sy_error *err)
{
    struct sy_messages *messages = self;

    sy_regions_attach(&messages->regions, index);
    return messages->inner->region_connect(messages->self, index, keys, stride, err);
}

/* Whether a piece is under way from or to a region; under `receiving`, as the receiver enters
 * pieces. */
static bool message_table_uses(struct sy_messages *messages, struct sy_message_peer *peer,
                               unsigned index)
{
    pthread_mutex_lock(&messages->receiving);
    bool uses = sy_message_large_uses(peer, index);
    pthread_mutex_unlock(&messages->receiving);
    return uses;
}

/* Waits for pieces of a region that is being detached: the transport may still read them. No new
 * piece comes for it. The wait is bounded, for a PE that has announced data and sends none. */
static void message_table_wait_pieces(struct sy_messages *messages, unsigned index)
{
    uint64_t since = 0, end = sy_clock_ns() + PATIENCE;

    for (unsigned i = 0; i < sy_engine_peers(&messages->engine); i++) {
        struct sy_message_peer *peer = (struct sy_message_peer *)messages->engine.peer[i];
        while (message_table_uses(messages, peer, index)) {
            if (sy_message_progress(messages, 0) <= 0)
                messages->host->rest(&since);
            if (sy_clock_ns() < end)
                continue;
            messages->host->lost(peer->engine.pe, EPROTO,
                                 "data that it has announced for memory that is freed do not come");
            return;
        }
    }
}

/* After taking `receiving` once, no request is at the region any more. */
static void message_table_region_detach(void *self, unsigned index)
{
    struct sy_messages *messages = self;

    if (messages->peer) {
        sy_regions_detach(&messages->regions, index);
        pthread_mutex_lock(&messages->receiving);
        pthread_mutex_unlock(&messages->receiving);
        message_table_wait_pieces(messages, index);
    }
    messages->inner->region_detach(messages->self, index);
}

static int message_table_ctx_open(void *self, long options, struct sy_transport_ctx **ctx,
                                  struct sy_error *err)
{
    struct sy_messages *messages = self;
    struct message_ctx *made = calloc(1, sizeof *made);

    if (!made)
        return messages->host->fail(err, ENOMEM, "no memory for a context");
    int rc = messages->inner->ctx_open(messages->self, options, &made->own, err);
    if (rc)
        free(made);
    else
        *ctx = (struct sy_transport_ctx *)made;
    return rc;
}

static void message_table_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
    struct sy_messages *messages = self;

    if (!ctx)
        return;
    messages->inner->ctx_close(messages->self, message_table_own(ctx));
    sy_engine_ctx_close(&messages->engine, ctx);
}

/* ---- data calls where some PE is reached by the transport's own ---- */

static bool message_table_is_own(const struct sy_messages *messages, int pe, unsigned bits)
{
    return (messages->reach[pe] & bits) == bits;
}

/* Whether a call that the transport has answered, or not been asked for, is left to messages. */
static bool message_table_is_left(const struct sy_messages *messages, int pe, int rc)
{
    return rc == -EOPNOTSUPP && messages->reach[pe] & SY_REACH_MESSAGE;
}

#define DEFINE_TRANSFER(CALL, BIT, TYPE, PE)                                                       \
    static int message_table_##CALL(void *self, struct sy_transport_ctx *ctx, const TYPE *t,       \
                                    unsigned flags)                                                \
    {                                                                                              \
        struct sy_messages *messages = self;                                                       \
        int rc = message_table_is_own(messages, t->PE, BIT)                                        \
                     ? messages->inner->CALL(messages->self, message_table_own(ctx), t, flags)     \
                     : -EOPNOTSUPP;                                                                \
                                                                                                   \
        return message_table_is_left(messages, t->PE, rc) ? sy_engine_##CALL(self, ctx, t, flags)  \
                                                          : rc;                                    \
    }

DEFINE_TRANSFER(put, SY_REACH_PUT, struct sy_transfer, pe)
DEFINE_TRANSFER(get, SY_REACH_GET, struct sy_transfer, pe)
DEFINE_TRANSFER(put_strided, SY_REACH_PUT, struct sy_strided, first.pe)
DEFINE_TRANSFER(get_strided, SY_REACH_GET, struct sy_strided, first.pe)
#undef DEFINE_TRANSFER

static int message_table_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a,
                             unsigned flags)
{
    struct sy_messages *messages = self;

    return message_table_is_own(messages, a->pe, SY_REACH_AMO)
               ? messages->inner->amo(messages->self, message_table_own(ctx), a, flags)
               : sy_engine_amo(self, ctx, a, flags);
}

/* put_signal by messages. If put or amo is the transport's own call, the core makes it of put,
 * fence and amo. */
static int message_table_put_signal(void *self, struct sy_transport_ctx *ctx,
                                    const struct sy_transfer *t, const struct sy_amo *signal,
                                    unsigned flags)
{
    struct sy_messages *messages = self;
    unsigned own = messages->reach[t->pe] & (SY_REACH_PUT | SY_REACH_AMO);

    if (!own)
        return sy_engine_put_signal(self, ctx, t, signal, flags);
    return own == (SY_REACH_PUT | SY_REACH_AMO)
               ? messages->inner->put_signal(messages->self, message_table_own(ctx), t, signal,
                                             flags)
               : -EOPNOTSUPP;
}

static int message_table_raise(void *self, struct sy_transport_ctx *ctx, int pe, unsigned window,
                               uint64_t offset, uint64_t value)
{
    struct sy_messages *messages = self;

    return message_table_is_own(messages, pe, SY_REACH_AMO)
               ? messages->inner->raise(messages->self, message_table_own(ctx), pe, window, offset,
                                        value)
               : sy_engine_raise(self, ctx, pe, window, offset, value);
}

static int message_table_quiet(void *self, struct sy_transport_ctx *ctx, int pe)
{
    struct sy_messages *messages = self;
    int own = messages->inner->quiet(messages->self, message_table_own(ctx), pe),
        engine = sy_engine_quiet(self, ctx, pe);

    return own && own != -EAGAIN ? own : engine ? engine : own;
}

/* A ticket of the engine; there is none for what is under way by both kinds of calls. */
static int message_table_mark(void *self, struct sy_transport_ctx *ctx, int pe,
                              struct sy_transport_ticket **ticket)
{
    (void)self, (void)ctx, (void)pe;
    *ticket = NULL;
    return -EOPNOTSUPP;
}

/* Large data go beside the messages, from the program's memory. */
static int message_table_flush_local(void *self, struct sy_transport_ctx *ctx, int pe)
{
    (void)self, (void)ctx, (void)pe;
    return -EOPNOTSUPP;
}

static int message_table_fence(void *self, struct sy_transport_ctx *ctx)
{
    struct sy_messages *messages = self;
    uint64_t since = 0;
    int rc;

    if (!messages->mixed)
        return messages->inner->fence(messages->self, message_table_own(ctx));
    while ((rc = message_table_quiet(self, ctx, SY_ALL_PES)) == -EAGAIN)
        if (sy_message_progress(self, 0) <= 0)
            messages->host->rest(&since);
    return rc;
}

static void message_table_session(void *self, struct sy_transport_ctx *ctx, bool batch,
                                  size_t operations)
{
    struct sy_messages *messages = self;

    messages->inner->session(messages->self, message_table_own(ctx), batch, operations);
    sy_engine_session(self, ctx, batch, operations);
}

/* ---- progress ---- */

/* All that may end a wait comes as a message, for which wait_fd is readable, and what has no room
 * is tried again by the progress thread. */
static int message_table_arm(void *self)
{
    struct sy_messages *messages = self;

    return messages->inner->arm(messages->self) > 0;
}

static void message_table_disarm(void *self)
{
    struct sy_messages *messages = self;

    messages->inner->disarm(messages->self);
}

/* The other side says how far it has applied requests only if it is asked, which the next progress
 * does: notifications of barriers, for example, wait for no answer. */
static int message_table_outstanding(void *self, struct sy_outstanding *list, int room)
{
    struct sy_messages *messages = self;
    int count = messages->inner->outstanding(messages->self, list, room);

    for (unsigned i = 0; i < sy_engine_peers(&messages->engine) && count >= 0 && count < room;
         i++) {
        struct sy_engine_peer *peer = messages->engine.peer[i];
        uint64_t applied = sy_tx_applied(&peer->tx), tail = sy_tx_tail(&peer->tx);
        struct sy_outstanding entry = {.pe = peer->pe,
                                       .bytes = tail - applied,
                                       .replies = sy_pending_count(&peer->pending),
                                       .seconds = -1,
                                       .state = atomic_load(&peer->tx.blocked) ? "without room"
                                                                               : NULL};
        if (entry.bytes || entry.replies || sy_message_owes((const struct sy_message_peer *)peer))
            list[count++] = entry;
        if (entry.bytes) {
            sy_tx_ask(&peer->tx, tail);
            sy_message_owe((struct sy_message_peer *)peer);
        }
    }
    return count;
}

/* As `settled` of struct sy_instance. */
static bool message_table_settled(void *receiver)
{
    struct sy_messages *messages = receiver;
    struct sy_outstanding some[16];

    for (unsigned i = 0; i < sy_engine_peers(&messages->engine); i++)
        sy_combine_flush(messages->engine.peer[i]);
    sy_message_progress(messages, 0);
    return message_table_outstanding(messages, some, SY_COUNT(some)) == 0;
}

static void message_table_threads(void *self)
{
    struct sy_messages *messages = self;

    sy_engine_threads(&messages->engine);
    messages->inner->threads(messages->self);
}

/* ---- which of them ---- */

static const struct sy_transport message_table = {
    .close = message_table_close,
    .address = message_table_address,
    .connect = message_table_connect,
    .reach = message_table_reach,
    .mem_pointer = message_table_mem_pointer,
    .region_attach = message_table_region_attach,
    .region_connect = message_table_region_connect,
    .region_detach = message_table_region_detach,
    .ctx_open = message_table_ctx_open,
    .ctx_close = message_table_ctx_close,
    SY_ENGINE_MEMBERS,
    .flush_local = message_table_flush_local,
    .progress = sy_message_progress,
    .wait_fd = message_table_wait_fd,
    .arm = message_table_arm,
    .disarm = message_table_disarm,
    .outstanding = message_table_outstanding,
    .threads = message_table_threads,
};

/* Chooses the table's calls once the transport is connected. If it reaches no PE by calls of its
 * own, the engine's stay. */
static void message_table_choose(struct sy_messages *messages)
{
    const struct sy_transport *inner = messages->inner;
    struct sy_transport *table = &messages->table;
    bool any = false;

    for (int pe = 0; pe < messages->host->npes; pe++) {
        unsigned bits = pe == messages->host->pe ? 0 : inner->reach(messages->self, pe),
                 own = bits & OWN;
        messages->reach[pe] = (unsigned char)(bits & (OWN | SY_REACH_MESSAGE));
        messages->mixed |= bits & SY_REACH_MESSAGE && own & (SY_REACH_PUT | SY_REACH_AMO);
        any |= own != 0;
    }
    if (!any) {
        table->capabilities |= SY_ORDERED;
        return;
    }
    table->put = message_table_put;
    table->get = message_table_get;
    table->put_strided = message_table_put_strided;
    table->get_strided = message_table_get_strided;
    table->amo = message_table_amo;
    table->put_signal = message_table_put_signal;
    table->raise = message_table_raise;
    table->fence = message_table_fence;
    table->quiet = message_table_quiet;
    table->mark = message_table_mark;
    table->session = message_table_session;
}

static int message_table_open_inner(const struct sy_transport *inner, const struct sy_host *host,
                                    const struct sy_instance *instance, void **self,
                                    struct sy_error *err)
{
    *self = NULL;
    int rc = inner->open(host, instance, self, err);

    return rc || *self ? rc
                       : host->fail(err, EPROTO, "its open answers 0, but has set no instance");
}

int sy_message_open(const struct sy_transport **table, const struct sy_host *host,
                    const struct sy_instance *instance, void **self, struct sy_error *err)
{
    const struct sy_transport *inner = *table;

    if (!inner->message_size)
        return message_table_open_inner(inner, host, instance, self, err);
    struct sy_messages *messages = aligned_alloc(_Alignof(struct sy_messages), sizeof *messages);
    if (!messages)
        return host->fail(err, ENOMEM, "no memory for a transport");
    *messages = (struct sy_messages){.host = host,
                                     .name = instance->name,
                                     .inner = inner,
                                     .table = message_table,
                                     .making = PTHREAD_MUTEX_INITIALIZER,
                                     .receiving = PTHREAD_MUTEX_INITIALIZER};
    struct sy_instance receiving = *instance;
    receiving.received = sy_message_received;
    receiving.receiver = messages;
    receiving.large_done = sy_message_large_done;
    receiving.settled = message_table_settled;
    int rc = message_table_open_inner(inner, host, &receiving, &messages->self, err);
    if (rc) {
        free(messages);
        return rc;
    }
    messages->table.size = inner->size;
    messages->table.name = inner->name;
    messages->table.priority = inner->priority;
    messages->table.capabilities = inner->capabilities;
    messages->table.counters = inner->counters;
    messages->table.protection = inner->protection;
    *table = &messages->table;
    *self = messages;
    return 0;
}

void *sy_message_inside(const struct sy_transport *table, void *self)
{
    return table->close == message_table_close ? ((struct sy_messages *)self)->self : self;
}

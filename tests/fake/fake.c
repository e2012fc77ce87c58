/* The table of the transport for tests: see fake.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/request.h"
#include "tests/fake/fake.h"
#include "util/parse.h"

#define AT(member) offsetof(struct fake_settings, member)
static const struct sy_option options[] = {
    {"fake.again", SY_OPTION_INT, 0, AT(again), "20", NULL, 0, 90, NULL,
     "Of 100 data calls, so many answer that they must be made again; of 100 questions what is "
     "outstanding, that this cannot be told"},
    {"fake.late", SY_OPTION_INT, 0, AT(late), "300", NULL, 0, 1000000, NULL,
     "Microseconds that one message in eight is kept back"},
    {"fake.seed", SY_OPTION_INT, 0, AT(seed), "1", NULL, 0, 1 << 30, NULL,
     "Where the random numbers begin"},
    {"fake.reorder", SY_OPTION_BOOL, 0, AT(reorder), "on", NULL, 0, 0, NULL,
     "Let operations overtake each other where no fence is between"},
    {"fake.signal", SY_OPTION_BOOL, 0, AT(signal), "on", NULL, 0, 0, NULL,
     "Have put with signal as one call"},
    {"fake.fail", SY_OPTION_CHOICE, 0, AT(fail), "never", "never|open|connect", 0, 0, NULL,
     "Fail on purpose"},
    {"fake.fail_pes", SY_OPTION_STRING, 0, AT(fail_pes), "", NULL, 0, 0, NULL,
     "PEs that fail or hang, such as 0,4-7; empty for all"},
    {"fake.hang", SY_OPTION_CHOICE, 0, AT(hang), "never",
     "never|open|connect|close|progress|event|send", 0, 0, NULL,
     "Do not return from this call; event: from progress on the progress thread"},
    {"fake.reach", SY_OPTION_CHOICE, SY_OPTION_JOB, AT(reach), "all", "all|parity|none|shy", 0, 0,
     NULL,
     "Whom it reaches: everybody, PEs of odd or of even numbers among themselves, nobody; or "
     "everybody, but that PE 0 says that it reaches nobody"},
    {"fake.native", SY_OPTION_CHOICE, SY_OPTION_JOB, AT(native), "all", "all|put|get|amo|none", 0,
     0, NULL, "What it has calls of its own for; the rest goes by messages"},
    {.name = NULL},
};
#undef AT

uint64_t fake_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

bool fake_chance(struct fake *f, long percent)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return (long)(f->random >> 20 & 0xffff) % 100 < percent;
}

/* ---- life ---- */

static bool fails(const struct fake *f, int when)
{
    return f->settings->fail == when && sy_parse_in_ranges(f->settings->fail_pes, f->host->pe) == 1;
}

static void fake_hang(const struct fake *f, int where)
{
    while (f->settings->hang == where &&
           sy_parse_in_ranges(f->settings->fail_pes, f->host->pe) == 1)
        pause();
}

static int fake_open(const struct sy_host *host, const struct sy_instance *instance, void **self,
                     struct sy_error *err)
{
    struct fake *f = malloc(sizeof *f);

    if (!f)
        return host->fail(err, ENOMEM, "no memory for an instance");
    *f = (struct fake){.host = host,
                       .instance = *instance,
                       .settings = instance->settings,
                       .lock = PTHREAD_MUTEX_INITIALIZER,
                       .last = &f->first};
    f->random = ((uint64_t)f->settings->seed * 1000 + (uint64_t)host->pe) * 2 + 1;
    for (int i = 0; i < 20; i++)
        fake_chance(f, 0); /* away from the small numbers of the seed */
    fake_hang(f, FAKE_HANG_OPEN);
    int rc = fails(f, FAKE_FAIL_OPEN)
                 ? host->fail(err, ENODEV, "there is none here: fake.fail says so")
                 : fake_wire_open(f, err);
    if (rc)
        free(f);
    else
        *self = f;
    return rc;
}

static void fake_close(void *self)
{
    struct fake *f = self;

    fake_hang(f, FAKE_HANG_CLOSE);
    fake_wire_flush(f);
    fake_queue_drop(f);
    fake_large_drop(f);
    fake_wire_close(f);
    sy_regions_close(&f->regions);
    free(f->peer);
    free(f);
}

static size_t fake_address(void *self, void *buffer, size_t room)
{
    struct fake *f = self;

    if (room < sizeof f->own)
        return 0;
    memcpy(buffer, &f->own, sizeof f->own);
    return sizeof f->own;
}

static int fake_connect(void *self, const void *addresses, size_t stride, double seconds,
                        struct sy_error *err)
{
    struct fake *f = self;
    size_t npes = (size_t)f->host->npes;
    struct fake_address *peer = calloc(npes, sizeof *peer);

    (void)seconds;
    fake_hang(f, FAKE_HANG_CONNECT);
    if (!peer)
        return f->host->fail(err, ENOMEM, "no memory for %zu addresses", npes);
    for (size_t pe = 0; pe < npes; pe++)
        memcpy(&peer[pe], (const char *)addresses + pe * stride, sizeof *peer);
    int rc = sy_regions_open(&f->regions, f->host, false, err);
    if (rc) {
        free(peer);
        return rc;
    }
    pthread_mutex_lock(&f->lock);
    f->peer = peer;
    pthread_mutex_unlock(&f->lock);
    if (fails(f, FAKE_FAIL_CONNECT))
        return f->host->fail(err, ENETUNREACH, "no way out: fake.fail says so");
    return 0;
}

static int fake_region_attach(void *self, unsigned index, const struct sy_region *region, void *key,
                              size_t room, struct sy_error *err)
{
    struct fake *f = self;

    (void)index, (void)key, (void)room;
    return sy_regions_check(f->host, region, err);
}

static int fake_region_connect(void *self, unsigned index, const void *keys, size_t stride,
                               struct sy_error *err)
{
    struct fake *f = self;

    (void)keys, (void)stride, (void)err;
    sy_regions_attach(&f->regions, index);
    return 0;
}

/* Requests are applied under the lock. */
static void fake_region_detach(void *self, unsigned index)
{
    struct fake *f = self;

    sy_regions_detach(&f->regions, index);
    pthread_mutex_lock(&f->lock);
    pthread_mutex_unlock(&f->lock);
}

static unsigned fake_reach(void *self, int pe)
{
    struct fake *f = self;
    bool there = f->peer[pe].length > 0;

    if (pe == f->host->pe) /* nobody asks */
        abort();
    if (f->settings->reach == FAKE_REACH_PARITY)
        there &= pe % 2 == f->host->pe % 2;
    if (f->settings->reach == FAKE_REACH_SHY)
        there &= f->host->pe != 0;
    static const unsigned native[] = {[FAKE_NATIVE_ALL] = SY_REACH_PUT | SY_REACH_GET |
                                                          SY_REACH_AMO,
                                      [FAKE_NATIVE_PUT] = SY_REACH_PUT | SY_REACH_MESSAGE,
                                      [FAKE_NATIVE_GET] = SY_REACH_GET | SY_REACH_MESSAGE,
                                      [FAKE_NATIVE_AMO] = SY_REACH_AMO | SY_REACH_MESSAGE,
                                      [FAKE_NATIVE_NONE] = SY_REACH_MESSAGE};

    return there && f->settings->reach != FAKE_REACH_NONE ? native[f->settings->native] : 0;
}

static int fake_ctx_open(void *self, long flags, struct sy_transport_ctx **ctx,
                         struct sy_error *err)
{
    struct fake *f = self;

    (void)flags;
    *ctx = calloc(1, sizeof **ctx);
    return *ctx ? 0 : f->host->fail(err, ENOMEM, "no memory for a context");
}

static void fake_ctx_close(void *self, struct sy_transport_ctx *ctx)
{
    (void)self;
    free(ctx);
}

/* ---- data ---- */

/* Takes the lock for a call that needs room for `parts` requests. False, with the lock released,
 * means -EAGAIN. */
static bool begin(struct fake *f, size_t parts)
{
    pthread_mutex_lock(&f->lock);
    if (!fake_chance(f, f->settings->again) && (!f->requests || f->requests + parts <= FAKE_ROOM))
        return true;
    pthread_mutex_unlock(&f->lock);
    return false;
}

/* Has what was accepted sent in time, even if the program makes no call any more. */
static int end(struct fake *f, int rc)
{
    fake_queue_wake(f);
    pthread_mutex_unlock(&f->lock);
    return rc;
}

/* Waits, with the lock given up now and then, until all parts have been answered. */
static void await(struct fake *f, const uint32_t *waiting)
{
    uint64_t since = 0;

    while (*waiting) {
        if (fake_queue_progress(f))
            continue;
        pthread_mutex_unlock(&f->lock);
        f->host->rest(&since);
        pthread_mutex_lock(&f->lock);
    }
}

static size_t parts_of(const struct sy_transfer *t)
{
    return t->length / (FAKE_CHUNK - 16) + 1;
}

static uint64_t place(unsigned region, uint64_t offset)
{
    return sy_record(0, 0, SY_RECORD_TARGET_SELF, region, offset);
}

/* Splits a transfer into parts, but no aligned element. waiting: counts the parts that await an
 * answer, or NULL. */
static int add_parts(struct fake *f, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                     enum sy_record_op op, unsigned flags, uint32_t *waiting)
{
    int rc = 0;

    for (size_t done = 0, length; done < t->length && !rc; done += length) {
        uint64_t offset = t->offset + done;
        length = FAKE_CHUNK - offset % 16;
        if (length > t->length - done)
            length = t->length - done;
        struct fake_request r = {.ctx = ctx, .pe = t->pe, .epoch = ctx->epoch, .waiting = waiting};
        sy_request_write_long(r.message.words, place(t->window, offset), op, length);
        if (op == SY_RECORD_GET_LONG) {
            r.to = (char *)t->local + done;
            r.wanted = (uint32_t)length;
        } else {
            r.from = (const char *)t->local + done;
            r.message.length = (uint32_t)length;
        }
        if (r.from && (flags & SY_BLOCKING)) {
            r.copy = malloc(length);
            if (!r.copy)
                return -ENOMEM;
            memcpy(r.copy, r.from, length);
        }
        if (waiting)
            ++*waiting;
        rc = fake_queue_add(f, &r);
    }
    return rc;
}

static int fake_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                    unsigned flags)
{
    struct fake *f = self;

    if (!begin(f, parts_of(t)))
        return -EAGAIN;
    return end(f, add_parts(f, ctx, t, SY_RECORD_PUT_LONG, flags, NULL));
}

static int fake_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                    unsigned flags)
{
    struct fake *f = self;
    uint32_t waiting = 0;

    if (!begin(f, parts_of(t)))
        return -EAGAIN;
    int rc = add_parts(f, ctx, t, SY_RECORD_GET_LONG, flags, flags & SY_BLOCKING ? &waiting : NULL);
    if (!rc)
        await(f, &waiting);
    return end(f, rc);
}

static int add_amo(struct fake *f, struct sy_transport_ctx *ctx, const struct sy_amo *a,
                   uint32_t *waiting)
{
    struct fake_request r = {.ctx = ctx,
                             .pe = a->pe,
                             .epoch = ctx->epoch,
                             .to = a->result,
                             .wanted = a->width,
                             .waiting = waiting};

    sy_request_write_amo(r.message.words, place(a->window, a->offset), a, a->result);
    return fake_queue_add(f, &r);
}

static int fake_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a,
                    unsigned flags)
{
    struct fake *f = self;
    bool waits = a->result && (flags & SY_BLOCKING);
    uint32_t waiting = waits;

    if (!begin(f, 1))
        return -EAGAIN;
    int rc = add_amo(f, ctx, a, waits ? &waiting : NULL);
    if (!rc)
        await(f, &waiting);
    return end(f, rc);
}

static int fake_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                           const struct sy_amo *signal, unsigned flags)
{
    struct fake *f = self;

    if (!f->settings->signal)
        return -EOPNOTSUPP;
    if (!begin(f, parts_of(t) + 1))
        return -EAGAIN;
    int rc = add_parts(f, ctx, t, SY_RECORD_PUT_LONG, flags, NULL);
    ctx->epoch++;
    return end(f, rc ? rc : add_amo(f, ctx, signal, NULL));
}

static int fake_fence(void *self, struct sy_transport_ctx *ctx)
{
    struct fake *f = self;

    pthread_mutex_lock(&f->lock);
    ctx->epoch++;
    return end(f, 0);
}

static int fake_quiet(void *self, struct sy_transport_ctx *ctx, int pe)
{
    struct fake *f = self;

    if (!begin(f, 0))
        return -EAGAIN;
    return end(f, fake_queue_pending(f, ctx, pe) ? -EAGAIN : 0);
}

/* Requests have numbers in the order in which they were issued. */
struct sy_transport_ticket {
    struct sy_transport_ctx *ctx;
    int pe;
    uint64_t last;
};

static int fake_mark(void *self, struct sy_transport_ctx *ctx, int pe,
                     struct sy_transport_ticket **ticket)
{
    struct fake *f = self;

    *ticket = malloc(sizeof **ticket);
    if (!*ticket)
        return -ENOMEM;
    pthread_mutex_lock(&f->lock);
    **ticket = (struct sy_transport_ticket){ctx, pe, f->ids};
    return end(f, 0);
}

static int fake_reached(void *self, struct sy_transport_ticket *ticket)
{
    struct fake *f = self;

    pthread_mutex_lock(&f->lock);
    bool pending = fake_queue_pending_upto(f, ticket->ctx, ticket->pe, ticket->last);
    if (!pending)
        free(ticket);
    return end(f, pending ? -EAGAIN : 0);
}

/* While another thread makes progress there is nothing to do here. */
static int fake_progress(void *self, unsigned flags)
{
    struct fake *f = self;

    if (pthread_mutex_trylock(&f->lock))
        return 0;
    fake_hang(f, FAKE_HANG_PROGRESS);
    if (flags & SY_PROGRESS_EVENT)
        fake_hang(f, FAKE_HANG_EVENT);
    int moved = fake_queue_progress(f);
    pthread_mutex_unlock(&f->lock);
    return moved;
}

/* Datagrams of one sender arrive in the order they were sent. */
static int fake_message_send(void *self, int pe, const void *bytes, size_t length)
{
    struct fake *f = self;
    struct fake_message head = {.kind = FAKE_MESSAGE, .from = (uint32_t)f->host->pe};

    fake_hang(f, FAKE_HANG_SEND);
    memcpy(head.key, f->host->job_key, sizeof head.key);
    pthread_mutex_lock(&f->lock);
    int rc = fake_chance(f, f->settings->again) ? -EAGAIN
                                                : fake_wire_send(f, pe, &head, bytes, length);
    pthread_mutex_unlock(&f->lock);
    return rc;
}

static int fake_outstanding(void *self, struct sy_outstanding *list, int room)
{
    struct fake *f = self;
    int count = -EAGAIN;

    if (pthread_mutex_trylock(&f->lock))
        return count;
    if (!fake_chance(f, f->settings->again))
        count = 0;
    for (int pe = 0; pe < f->host->npes && count >= 0 && count < room; pe++)
        if (fake_queue_pending(f, NULL, pe))
            list[count++] = (struct sy_outstanding){.pe = pe, .operations = 1, .seconds = -1};
    pthread_mutex_unlock(&f->lock);
    return count;
}

static int fake_wait_fd(void *self)
{
    struct fake *f = self;

    return f->poll;
}

SY_TRANSPORT_PLUGIN(fake) = {
    .size = sizeof(struct sy_transport),
    .name = "fake",
    .priority = -1,
    .options = options,
    .settings_size = sizeof(struct fake_settings),
    .open = fake_open,
    .close = fake_close,
    .address = fake_address,
    .connect = fake_connect,
    .reach = fake_reach,
    .region_attach = fake_region_attach,
    .region_connect = fake_region_connect,
    .region_detach = fake_region_detach,
    .ctx_open = fake_ctx_open,
    .ctx_close = fake_ctx_close,
    .put = fake_put,
    .get = fake_get,
    .amo = fake_amo,
    .put_signal = fake_put_signal,
    .fence = fake_fence,
    .quiet = fake_quiet,
    .mark = fake_mark,
    .reached = fake_reached,
    .progress = fake_progress,
    .wait_fd = fake_wait_fd,
    .outstanding = fake_outstanding,
    .message_size = 1000,
    .message_send = fake_message_send,
    .large_size = FAKE_LARGE_MOST,
    .large_send = fake_large_send,
    .large_receive = fake_large_receive,
};

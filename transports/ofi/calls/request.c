/* The data calls. Each is a transfer of the provider's own (rma.c), or records of messages, which
 * the target's CPU applies. Where the provider's transfers are the CPUs' work too, small puts are
 * records: many share a message, and each element is stored whole. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/request.h"
#include "transports/ofi/ofi.h"

/* Most payload of a record; a multiple of 8. */
#define DATA_MAX (OFI_MESSAGE - sizeof(struct ofi_header) - sizeof(uint64_t) * SY_RECORD_WORDS)

/* Nothing was started: the provider's own transfer is better. */
enum { NATIVE = 1 };

/* ---- replies ---- */

/* The table of replies that are awaited from a peer. Most PEs ask few others, so the first request
 * makes it. */
static struct sy_pending_replies *request_pending(struct ofi_peer *peer)
{
    if (peer->answers)
        return &peer->answers->pending;
    struct ofi_answers *answers = mmap(NULL, sizeof *answers, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (answers == MAP_FAILED)
        return NULL;
    answers->pending.table = answers->table;
    answers->pending.room = (size_t)peer->ofi->traits.window * OFI_MESSAGE;
    peer->answers = answers;
    return &answers->pending;
}

void sy_ofi_answers_close(struct ofi_peer *peer)
{
    if (peer->answers)
        munmap(peer->answers, sizeof *peer->answers);
    peer->answers = NULL;
}

static void request_await(struct ofi_peer *peer, uint64_t number)
{
    struct ofi_wait wait = {0};

    while (sy_pending_answered(&peer->answers->pending) < number)
        sy_ofi_wait_step(peer->ofi, &wait);
}

/* ---- before a record ---- */

/* -EAGAIN while a message must not be sent yet, because of writes that were issued before a fence.
 * Where the provider keeps them in order it need not wait. */
static int request_behind_writes(struct sy_transport_ctx *ctx)
{
    if (!ctx->wait_issued || (ctx->ofi->traits.saw && sy_ofi_shares(ctx)))
        return 0;
    sy_ofi_lock_own(ctx);
    unsigned issued = ctx->issued;
    if (!issued)
        ctx->wait_issued = false;
    sy_ofi_unlock_own(ctx);
    return issued ? -EAGAIN : 0;
}

static int request_room(struct ofi_peer *peer, size_t bytes, char **room)
{
    *room = sy_ofi_room(peer, bytes);
    return *room ? 0 : -EAGAIN;
}

/* As request_room, for a request whose reply goes to `dest`. A message has one reply, which holds
 * what is asked for by all of its requests. */
static int request_asking(struct ofi_peer *peer, size_t bytes, char **room, void *dest,
                          size_t length, bool strided, uint64_t *number)
{
    struct sy_pending_replies *pending = request_pending(peer);
    uint32_t reply = (uint32_t)sy_record_padded(length);

    if (!pending)
        return -ENOMEM;
    *room = sy_ofi_room(peer, bytes);
    if (*room && peer->open->reply + reply > OFI_MESSAGE - sizeof(struct ofi_header)) {
        sy_ofi_push(peer, false);
        *room = sy_ofi_room(peer, bytes);
    }
    uint64_t next = *room ? sy_pending_enter(pending, dest, length,
                                             strided ? SY_PENDING_STRIDED : SY_PENDING_PLAIN)
                          : 0;
    if (!next)
        return -EAGAIN;
    *number = next;
    peer->open->reply += reply;
    return 0;
}

static bool request_is_native(struct ofi_state *ofi, const struct sy_transfer *t)
{
    const struct ofi_remote *remote = t->window < SY_REGIONS ? ofi->region[t->window].remote : NULL;

    return remote && remote[t->pe].native;
}

/* ---- put, get ---- */

/* The record at `last` ends the open message, if there still is one, and can be continued. */
static void request_continue(struct ofi_peer *peer, char *last, uint64_t header)
{
    if (!peer->open)
        return;
    peer->last = last;
    peer->next = sy_record_behind(header, sizeof(uint64_t));
}

/* Write combining: a put of 8 bytes that continues the last one becomes one record with it, 8 bytes
 * each instead of 16. It waits for nothing that it would not wait for by itself. False: there is no
 * room. */
static bool request_combine(struct sy_transport_ctx *ctx, struct ofi_peer *peer, uint64_t header,
                            const void *from, unsigned flags)
{
    char *last = peer->last;
    uint64_t place = sy_record_as(sy_record_word(last), 0, 0);
    bool first = sy_record_op(sy_record_word(last)) == SY_RECORD_PUT;
    size_t length = first ? 8 : (size_t)sy_record_word(last + 8), bytes = first ? 16 : 8;

    if (peer->open->header->length + bytes > OFI_MESSAGE || length >= SY_RECORD_LONG)
        return false;
    if (first)
        memcpy(last + 16, last + 8, 8);
    memcpy(last + 16 + length, from, 8);
    sy_request_write_long(last, place, SY_RECORD_PUT_LONG, length + 8);
    sy_ofi_appended(peer, ctx, bytes, flags);
    request_continue(peer, last, header);
    return true;
}

static int request_append(struct sy_transport_ctx *ctx, const struct sy_transfer *t, unsigned flags)
{
    struct ofi_peer *peer = &ctx->ofi->peer[t->pe];
    uint64_t place = sy_record_own(t->window, t->offset),
             header = sy_request_at(place, SY_RECORD_PUT, 3);
    size_t bytes = sy_request_put_size(t->length);
    char *room;

    if (t->length == 8 && header == peer->next &&
        request_combine(ctx, peer, header, t->local, flags))
        return 0;
    int rc = request_room(peer, bytes, &room);
    if (rc)
        return rc;
    sy_request_write_put(room, place, t->local, t->length);
    sy_ofi_appended(peer, ctx, bytes, flags);
    if (t->length == 8)
        request_continue(peer, room, header);
    return 0;
}

/* Issues a put, or a part of one, by a message. Main endpoint locked. */
static int request_put(struct sy_transport_ctx *ctx, const struct sy_transfer *t, bool first,
                       bool last)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_peer *peer = &ofi->peer[t->pe];
    unsigned flags = 0;

    if (first && request_is_native(ofi, t) && sy_ofi_lone_put(ctx, peer, &flags))
        return NATIVE;
    int rc = request_behind_writes(ctx);
    if (!rc)
        rc = request_append(ctx, t, flags);
    if (!rc && last)
        sy_ofi_put_noted(ctx);
    return rc;
}

/* Issues a get, or a part of one, by a message; prompt: the caller waits for the reply. Main
 * endpoint locked. */
static int request_get(struct sy_transport_ctx *ctx, const struct sy_transfer *t, bool first,
                       bool prompt, uint64_t *number)
{
    struct ofi_state *ofi = ctx->ofi;
    struct ofi_peer *peer = &ofi->peer[t->pe];
    size_t bytes = sy_request_get_size(t->length);
    char *room;

    if (first && prompt && request_is_native(ofi, t) && sy_ofi_lone_get(ctx, peer))
        return NATIVE;
    int rc = request_asking(peer, bytes, &room, t->local, t->length, false, number);
    if (rc)
        return rc;
    sy_request_write_get(room, sy_record_own(t->window, t->offset), t->length);
    sy_ofi_appended(peer, ctx, bytes, 0);
    if (prompt)
        sy_ofi_push(peer, false);
    return 0;
}

/* The part of a transfer from `done` on for one message. It ends at a multiple of 8 in the target,
 * so that no aligned element is divided. */
static struct sy_transfer request_cut(const struct sy_transfer *t, size_t done)
{
    struct sy_transfer part = *t;
    size_t left = t->length - done, most = DATA_MAX - (t->offset + done) % 8;

    part.offset += done;
    part.local = (char *)t->local + done;
    part.length = left < most ? left : most;
    return part;
}

/* Issues a put, or with `number` a get, in parts. After the first part it cannot be undone, so this
 * waits for room. */
static int request_parts(struct sy_transport_ctx *ctx, const struct sy_transfer *t, bool prompt,
                         uint64_t *number)
{
    struct ofi_endpoint *endpoint = &ctx->ofi->endpoint[0];
    struct ofi_wait wait = {0};
    size_t done = 0;

    while (done < t->length) {
        struct sy_transfer part = request_cut(t, done);
        sy_ofi_lock(endpoint);
        int rc = number ? request_get(ctx, &part, !done, prompt, number)
                        : request_put(ctx, &part, !done, done + part.length == t->length);
        sy_ofi_unlock(endpoint);
        if (!rc)
            done += part.length;
        else if (rc == -EAGAIN && done)
            sy_ofi_wait_step(ctx->ofi, &wait);
        else
            return rc;
    }
    return 0;
}

/* Whether a transfer fits into one message. */
static bool request_is_short(const struct sy_transfer *t)
{
    return t->length <= DATA_MAX - 8;
}

/* Whether a transfer is native whatever else is under way. */
static bool request_is_long(struct ofi_state *ofi, const struct sy_transfer *t)
{
    return t->length > ofi->traits.small && request_is_native(ofi, t);
}

int sy_ofi_put(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags)
{
    struct ofi_state *ofi = self;
    int rc;

    if (request_is_long(ofi, t))
        return sy_ofi_native(ctx, t, false, flags);
    if (request_is_short(t)) {
        sy_ofi_lock(&ofi->endpoint[0]);
        rc = request_put(ctx, t, true, true);
        sy_ofi_unlock(&ofi->endpoint[0]);
    } else {
        rc = request_parts(ctx, t, false, NULL);
    }
    return rc == NATIVE ? sy_ofi_native(ctx, t, false, flags) : rc;
}

/* A get sees what the same context has put before, as far as that went in messages: one that
 * travels in a message follows them, a native one waits for them. */
int sy_ofi_get(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
               unsigned flags)
{
    struct ofi_state *ofi = self;
    bool prompt = flags & SY_BLOCKING;
    uint64_t number = 0;
    int rc;

    if (!t->length)
        return 0;
    if (request_is_long(ofi, t))
        return sy_ofi_native(ctx, t, true, flags);
    if (request_is_short(t)) {
        sy_ofi_lock(&ofi->endpoint[0]);
        rc = request_get(ctx, t, true, prompt, &number);
        sy_ofi_unlock(&ofi->endpoint[0]);
    } else {
        rc = request_parts(ctx, t, prompt, &number);
    }
    if (rc == NATIVE)
        return sy_ofi_native(ctx, t, true, flags);
    if (!rc && prompt)
        request_await(&ofi->peer[t->pe], number);
    return rc;
}

/* ---- strided ---- */

/* The blocks from `done` on that fit into one message. */
static struct sy_strided request_cut_blocks(const struct sy_strided *s, size_t done)
{
    struct sy_strided part = *s;
    size_t fit = DATA_MAX / s->block, left = s->blocks - done;

    part.first.offset += (uint64_t)((ptrdiff_t)done * s->remote_stride);
    part.first.local = (char *)s->first.local + (ptrdiff_t)done * s->local_stride;
    part.blocks = fit < left ? fit : left;
    return part;
}

static int request_put_blocks(struct sy_transport_ctx *ctx, const struct sy_strided *s)
{
    struct ofi_peer *peer = &ctx->ofi->peer[s->first.pe];
    size_t bytes = 24 + sy_record_padded(s->blocks * s->block);
    char *room;
    int rc = request_room(peer, bytes, &room);

    if (rc)
        return rc;
    sy_request_write_blocks(room, sy_record_own(s->first.window, s->first.offset), s,
                            s->first.local, s->blocks);
    sy_ofi_appended(peer, ctx, bytes, 0);
    return 0;
}

static int request_get_blocks(struct sy_transport_ctx *ctx, const struct sy_strided *s,
                              uint64_t *number)
{
    struct ofi_peer *peer = &ctx->ofi->peer[s->first.pe];
    struct sy_pending_blocks *blocks = malloc(sizeof *blocks);
    char *room;
    int rc = blocks ? request_asking(peer, 24, &room, blocks, s->blocks * s->block, true, number)
                    : -ENOMEM;

    if (rc) {
        free(blocks);
        return rc;
    }
    *blocks = (struct sy_pending_blocks){
        .dest = s->first.local, .block = s->block, .blocks = s->blocks, .stride = s->local_stride};
    sy_request_write_strided(room, sy_record_own(s->first.window, s->first.offset),
                             SY_RECORD_GET_STRIDED, s, s->blocks);
    sy_ofi_appended(peer, ctx, 24, 0);
    sy_ofi_push(peer, false);
    return 0;
}

/* Issues a strided put, or with `number` a strided get. */
static int request_strided(struct sy_transport_ctx *ctx, const struct sy_strided *s,
                           uint64_t *number)
{
    struct ofi_endpoint *endpoint = &ctx->ofi->endpoint[0];
    struct ofi_wait wait = {0};
    size_t done = 0;

    /* Blocks of which few fit into a message gain nothing by being packed. */
    if (s->block > DATA_MAX / 8)
        return -EOPNOTSUPP;
    while (done < s->blocks) {
        struct sy_strided part = request_cut_blocks(s, done);
        sy_ofi_lock(endpoint);
        int rc = request_behind_writes(ctx);
        if (!rc)
            rc = number ? request_get_blocks(ctx, &part, number) : request_put_blocks(ctx, &part);
        sy_ofi_unlock(endpoint);
        if (!rc)
            done += part.blocks;
        else if (rc == -EAGAIN && done)
            sy_ofi_wait_step(ctx->ofi, &wait);
        else
            return rc;
    }
    return 0;
}

int sy_ofi_put_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                       unsigned flags)
{
    (void)self;
    (void)flags; /* the source has been packed on return */
    return request_strided(ctx, s, NULL);
}

int sy_ofi_get_strided(void *self, struct sy_transport_ctx *ctx, const struct sy_strided *s,
                       unsigned flags)
{
    struct ofi_state *ofi = self;
    uint64_t number = 0;
    int rc = request_strided(ctx, s, &number);

    if (!rc && number && flags & SY_BLOCKING)
        request_await(&ofi->peer[s->first.pe], number);
    return rc;
}

/* ---- atomic operations ---- */

static int request_amo(struct sy_transport_ctx *ctx, const struct sy_amo *a, bool prompt,
                       uint64_t *number)
{
    struct ofi_peer *peer = &ctx->ofi->peer[a->pe];
    size_t bytes = sy_request_amo_size(a);
    char *room;
    int rc = request_behind_writes(ctx);

    if (!rc)
        rc = a->result ? request_asking(peer, bytes, &room, a->result, a->width, false, number)
                       : request_room(peer, bytes, &room);
    if (rc)
        return rc;
    sy_request_write_amo(room, sy_record_own(a->window, a->offset), a, a->result);
    sy_ofi_appended(peer, ctx, bytes, 0);
    if (prompt)
        sy_ofi_push(peer, false);
    return 0;
}

int sy_ofi_amo(void *self, struct sy_transport_ctx *ctx, const struct sy_amo *a, unsigned flags)
{
    struct ofi_state *ofi = self;
    bool wait = a->result && flags & SY_BLOCKING;
    uint64_t number = 0;

    sy_ofi_lock(&ofi->endpoint[0]);
    int rc = request_amo(ctx, a, wait, &number);
    sy_ofi_unlock(&ofi->endpoint[0]);
    if (!rc && wait)
        request_await(&ofi->peer[a->pe], number);
    return rc;
}

/* ---- put with signal ---- */

/* Sends data and signal in one message, which is applied in that order. */
static int request_both(struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                        const struct sy_amo *signal)
{
    struct ofi_peer *peer = &ctx->ofi->peer[t->pe];
    size_t data = sy_request_put_size(t->length), bytes = data + sy_request_amo_size(signal);
    char *room;
    int rc = request_behind_writes(ctx);

    if (!rc)
        rc = request_room(peer, bytes, &room);
    if (rc)
        return rc;
    sy_request_write_put(room, sy_record_own(t->window, t->offset), t->local, t->length);
    sy_request_write_amo(room + data, sy_record_own(signal->window, signal->offset), signal, false);
    sy_ofi_appended(peer, ctx, bytes, 0);
    return 0;
}

int sy_ofi_put_signal(void *self, struct sy_transport_ctx *ctx, const struct sy_transfer *t,
                      const struct sy_amo *signal, unsigned flags)
{
    struct ofi_state *ofi = self;
    struct ofi_wait wait = {0};
    int rc;

    if (t->length <= DATA_MAX / 2 && t->length <= ofi->traits.small) {
        sy_ofi_lock(&ofi->endpoint[0]);
        rc = request_both(ctx, t, signal);
        sy_ofi_unlock(&ofi->endpoint[0]);
        return rc;
    }
    rc = sy_ofi_put(self, ctx, t, flags);
    if (rc)
        return rc;
    /* The signal goes behind the data; from another endpoint, or where the provider keeps no such
     * order, it waits for them. */
    sy_ofi_fence(self, ctx);
    while ((rc = sy_ofi_amo(self, ctx, signal, flags)) == -EAGAIN)
        sy_ofi_wait_step(ofi, &wait);
    return rc;
}

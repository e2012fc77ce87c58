/* See rma_staged.h. A get into memory of a device has two pieces under way: while one is copied the
 * other travels. A put needs no more than one: where a transport's put is complete at the source
 * the bytes may still be travelling. */
#include <errno.h>
#include <stdlib.h>

#include "core/amo.h"
#include "core/callsite.h"
#include "core/fatal.h"
#include "core/rma_staged.h"
#include "core/start/transport_stubs.h"
#include "core/start/world.h"

#define PIECE ((size_t)256 << 10)

/* One side of a transfer. */
struct side {
    bool staged;
    unsigned window;
    uint64_t offset;
    char *here; /* where it is not staged */
};

static struct side rma_staged_local(const void *local)
{
    struct side side = {.here = (char *)local};

    side.staged = sy_staged_has(local, &side.window, &side.offset);
    return side;
}

/* The other side, where it is this PE's memory or mapped. False: the transport moves it. */
static bool rma_staged_near(const struct sy_target *target, int pe, struct side *side)
{
    *side = (struct side){.window = target->window,
                          .offset = target->offset,
                          .here = target->here,
                          .staged = !target->here && pe == sy_world.pe &&
                                    sy_staged_is(target->window)};
    return side->here || side->staged;
}

bool sy_rma_staged(const struct sy_target *target, const void *local, int pe)
{
    struct side other;

    return rma_staged_local(local).staged || (rma_staged_near(target, pe, &other) && other.staged);
}

/* Room for a piece. */
static char *rma_staged_room(const char *what, size_t length)
{
    char *room = malloc(length < PIECE ? length : PIECE);

    if (!room)
        sy_fatal("%s: no memory to copy %zu bytes of a device", sy_callsite_routine(what), length);
    return room;
}

/* Both sides of this PE, or mapped. */
static void rma_staged_copy(const char *what, const struct side *to, const struct side *from,
                            size_t length)
{
    if (!to->staged) {
        sy_staged_copy(from->window, false, from->offset, to->here, length);
        return;
    }
    if (!from->staged) {
        sy_staged_copy(to->window, true, to->offset, from->here, length);
        return;
    }
    char *room = rma_staged_room(what, length);
    for (size_t done = 0; done < length; done += PIECE) {
        size_t part = length - done < PIECE ? length - done : PIECE;
        sy_staged_copy(from->window, false, from->offset + done, room, part);
        sy_staged_copy(to->window, true, to->offset + done, room, part);
    }
    free(room);
}

bool sy_rma_staged_put(const char *what, shmem_ctx_t ctx, const struct sy_target *target,
                       const void *source, size_t length, int pe)
{
    struct side from = rma_staged_local(source), to;
    bool near = rma_staged_near(target, pe, &to);

    if (!from.staged && !(near && to.staged))
        return false;
    if (near) {
        rma_staged_copy(what, &to, &from, length);
        return true;
    }
    char *room = rma_staged_room(what, length);
    for (size_t done = 0; done < length; done += PIECE) {
        size_t part = length - done < PIECE ? length - done : PIECE;
        struct sy_transfer t = sy_rma_transfer(target, room, part, pe);
        t.offset += done;
        sy_staged_copy(from.window, false, from.offset + done, room, part);
        sy_issue_put(what, ctx, &t, SY_BLOCKING);
    }
    free(room);
    return true;
}

/* ---- get ---- */

/* A piece that has been asked for. */
struct piece {
    char *room;
    size_t done, length;
    struct sy_transport_ticket *ticket;
    bool waits; /* for the ticket; else it is there */
};

/* Asks for a piece. Where a transport gives no tickets the piece is there on return. */
static void rma_staged_ask(const char *what, shmem_ctx_t ctx, const struct sy_transfer *whole,
                           struct piece *piece)
{
    const struct sy_route_transport *route = sy_route_to(whole->pe);
    struct sy_transfer t = *whole;

    t.offset += piece->done;
    t.local = piece->room;
    t.length = piece->length;
    piece->ticket = NULL;
    piece->waits = route->table->mark != sy_transport_stubs.mark;
    sy_issue_get(what, ctx, &t, piece->waits ? 0 : SY_BLOCKING);
    if (piece->waits &&
        route->table->mark(route->self, sy_issue_domain(route, ctx), t.pe, &piece->ticket))
        sy_quiet_transports(ctx, t.pe);
    piece->waits = piece->ticket;
}

static void rma_staged_await(const char *what, int pe, const struct piece *piece)
{
    const struct sy_route_transport *route = sy_route_to(pe);
    uint64_t since = 0;
    int answer;

    if (!piece->waits)
        return;
    while ((answer = route->table->reached(route->self, piece->ticket)) == -EAGAIN)
        sy_wait_rest(&since, what);
    sy_wait_over(since);
    if (answer)
        sy_fatal("%s with PE %d: %s", sy_callsite_routine(what), pe, strerror(-answer));
}

bool sy_rma_staged_get(const char *what, shmem_ctx_t ctx, void *dest,
                       const struct sy_target *target, size_t length, int pe)
{
    struct side to = rma_staged_local(dest), from;
    bool near = rma_staged_near(target, pe, &from);

    if (!to.staged && !(near && from.staged))
        return false;
    if (near) {
        rma_staged_copy(what, &to, &from, length);
        return true;
    }
    struct piece piece[2] = {{.room = rma_staged_room(what, length)}, {.room = NULL}};
    struct sy_transfer whole = sy_rma_transfer(target, NULL, length, pe);
    size_t asked = 0, taken = 0;

    if (length > PIECE)
        piece[1].room = rma_staged_room(what, length);
    for (size_t done = 0; taken * PIECE < length;) {
        struct piece *next = &piece[asked % 2];
        if (done < length && asked - taken < 2) {
            next->done = done;
            next->length = length - done < PIECE ? length - done : PIECE;
            rma_staged_ask(what, ctx, &whole, next);
            done += next->length;
            asked++;
            continue;
        }
        next = &piece[taken++ % 2];
        rma_staged_await(what, pe, next);
        sy_staged_copy(to.window, true, to.offset + next->done, next->room, next->length);
    }
    free(piece[0].room);
    free(piece[1].room);
    return true;
}

/* ---- atomic operations ---- */

bool sy_rma_staged_amo(const char *what, const struct sy_amo *amo)
{
    uint64_t old = 0;

    if (!sy_staged_is(amo->window))
        return false;
    if (!sy_staged_counts(amo->window))
        sy_fatal("%s with PE %d: the memory space is of a device that has no atomic operations; "
                 "shmemx_space_get_caps tells (SHMEMX_SPACE_CAP_ATOMICS)",
                 sy_callsite_routine(what), amo->pe);
    if (amo->pe != sy_world.pe)
        return false;
    sy_staged_amo(amo->window, amo->op, amo->offset, amo->width, amo->operand, amo->compare, &old);
    if (amo->result)
        sy_amo_unbits(amo->result, amo->width, old);
    return true;
}

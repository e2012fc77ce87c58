/* See pipeline.h. A piece goes through up to three steps, each of which begins when the one
 * before is over, and whose end nobody waits for while another piece has something to do:
 *
 *     put: copied from this PE's device; travels; copied to the other PE's device
 *     get: copied from the other PE's device; travels; copied to this PE's device
 *
 * Memory that a piece is in between is this PE's, in `room`, and where the other PE's device is
 * reached by small messages only, a slot of that PE's bounce buffers (core/memory/bounce.h). Both
 * are used again when a piece is over. The copy there is asked for when what it needs has arrived;
 * that PE tells when it is over, for which it is asked again and again. So signals, fences and
 * quiets of the program, which come after this call, find all of it done. */
#include <errno.h>
#include <stdlib.h>

#include "core/callsite.h"
#include "core/fatal.h"
#include "core/memory/bounce.h"
#include "core/memory/pipeline.h"
#include "core/start/transport_stubs.h"

#define AHEAD 4 /* pieces that are under way */

_Static_assert(AHEAD == SY_BOUNCE_SLOTS, "a claim is for the pieces of a transfer");

/* A piece of a get whose other side is mapped there for as long as it is sent: nothing is copied,
 * and to map takes as long for much as for little. */
#define MAPPED_PIECE (8 * SY_PIPELINE_PIECE)

/* ---- room ---- */

/* One buffer is kept, since new pages cost as much as the copy. */
static char *_Atomic kept;

char *sy_pipeline_room(const char *what, size_t length)
{
    size_t most = AHEAD * SY_PIPELINE_PIECE;
    char *room = length > SY_PIPELINE_PIECE ? atomic_exchange(&kept, NULL) : NULL;

    if (!room)
        room = malloc(length > SY_PIPELINE_PIECE ? most : length);
    if (!room)
        sy_fatal("%s: no memory to copy %zu bytes of a device", sy_callsite_routine(what), length);
    return room;
}

void sy_pipeline_give(char *room, size_t length)
{
    free(length > SY_PIPELINE_PIECE ? atomic_exchange(&kept, room) : room);
}

/* ---- pieces ---- */

enum step { COPY, TRAVEL, REMOTE_COPY, OVER };

/* A piece that is under way. */
struct piece {
    enum step step;
    unsigned slot;
    char *room;
    size_t done, length;
    char remote_over; /* what the other PE has answered: its copy is over */
    struct sy_device_copying copying;
    struct sy_transport_ticket *ticket;
};

/* A transfer that is under way. */
struct moving {
    const struct sy_pipeline *p;
    const struct sy_route_transport *route;
    char *room;      /* or NULL: this PE's side is memory of the host */
    size_t most;     /* bytes of a piece */
    unsigned copies; /* pieces that are copied from this PE's device at a time */
    bool bounces, ahead;
    struct sy_bounce bounce;
    struct piece piece[AHEAD];
};

void sy_pipeline_issue(const struct sy_pipeline *p, size_t done, char *local, size_t length,
                       unsigned flags)
{
    struct sy_transfer t = sy_rma_transfer(p->target, local, length, p->pe);

    t.offset += done;
    (p->put ? sy_issue_put : sy_issue_get)(p->what, p->ctx, &t, flags);
}

/* Takes a ticket for what has been issued. If there is none it is complete on return. */
static void pipeline_mark(const struct moving *m, struct piece *piece)
{
    const struct sy_route_transport *route = m->route;

    piece->ticket = NULL;
    if (!m->ahead || route->table->mark(route->self, sy_issue_domain(route, m->p->ctx), m->p->pe,
                                        &piece->ticket))
        sy_quiet_transports(m->p->ctx, m->p->pe);
}

static void pipeline_travel(const struct moving *m, struct piece *piece)
{
    const struct sy_pipeline *p = m->p;
    struct sy_transfer slot;

    if (!m->bounces) {
        sy_pipeline_issue(p, piece->done, piece->room, piece->length, m->ahead ? 0 : SY_BLOCKING);
        if (m->ahead)
            pipeline_mark(m, piece);
        return;
    }
    slot = sy_bounce_slot(&m->bounce, piece->slot, piece->room, piece->length);
    (p->put ? sy_issue_put : sy_issue_get)(p->what, p->ctx, &slot, 0);
    pipeline_mark(m, piece);
}

static void pipeline_inquire(const struct moving *m, struct piece *piece)
{
    piece->remote_over = 0;
    sy_bounce_inquire(&m->bounce, piece->slot, m->p->target->window, &piece->remote_over);
    pipeline_mark(m, piece);
}

static void pipeline_remote_copy(const struct moving *m, struct piece *piece)
{
    const struct sy_pipeline *p = m->p;

    sy_bounce_ask(&m->bounce, piece->slot, p->target->window, p->put,
                  p->target->offset + piece->done, piece->length);
    pipeline_inquire(m, piece);
}

static void pipeline_copy(const struct moving *m, struct piece *piece)
{
    const struct sy_pipeline *p = m->p;

    sy_staged_begin(p->side->window, !p->put, p->side->offset + piece->done, piece->room,
                    piece->length, &piece->copying);
}

/* ---- steps ---- */

static bool pipeline_has(const struct moving *m, enum step step)
{
    return step == COPY ? m->p->side->staged : step == REMOTE_COPY ? m->bounces : true;
}

/* The step after this one; a get goes through a put's steps backwards. */
static enum step pipeline_after(const struct moving *m, enum step step)
{
    do {
        if (step == OVER)
            step = m->p->put ? COPY : REMOTE_COPY;
        else if (step == (m->p->put ? REMOTE_COPY : COPY))
            step = OVER;
        else
            step = m->p->put ? step + 1 : step - 1;
    } while (!pipeline_has(m, step));
    return step;
}

static void pipeline_begin(const struct moving *m, struct piece *piece)
{
    piece->step = pipeline_after(m, piece->step);
    switch (piece->step) {
    case COPY:
        pipeline_copy(m, piece);
        break;
    case TRAVEL:
        pipeline_travel(m, piece);
        break;
    case REMOTE_COPY:
        pipeline_remote_copy(m, piece);
        break;
    case OVER:
        break;
    }
}

/* Whether a piece's step is over. */
static bool pipeline_stepped(const struct moving *m, struct piece *piece)
{
    int answer = 0;

    if (piece->step == COPY)
        return sy_staged_ended(&piece->copying, false);
    if (piece->ticket)
        answer = m->route->table->reached(m->route->self, piece->ticket);
    if (answer == -EAGAIN)
        return false;
    if (answer)
        sy_fatal("%s with PE %d: %s", sy_callsite_routine(m->p->what), m->p->pe, strerror(-answer));
    piece->ticket = NULL;
    if (piece->step != REMOTE_COPY || piece->remote_over)
        return true;
    pipeline_inquire(m, piece);
    return false;
}

/* Begins the next step of each piece whose step is over; false: there was none. */
static bool pipeline_advance(struct moving *m, size_t ended, size_t begun)
{
    bool any = false;

    for (size_t i = ended; i < begun; i++) {
        struct piece *piece = &m->piece[i % AHEAD];
        if (piece->step == OVER || !pipeline_stepped(m, piece))
            continue;
        pipeline_begin(m, piece);
        any = true;
    }
    return any;
}

/* Whether one more piece may begin. Of a put as few are copied at a time as keep the device at
 * work, so that the first one travels soon. */
static bool pipeline_may_begin(const struct moving *m, size_t ended, size_t begun)
{
    unsigned copying = 0;

    for (size_t i = ended; i < begun && m->p->put; i++)
        copying += m->piece[i % AHEAD].step == COPY;
    return begun - ended < AHEAD && copying < m->copies;
}

static void pipeline_enter(struct moving *m, size_t index)
{
    unsigned slot = (unsigned)(index % AHEAD);
    size_t done = index * m->most, left = m->p->length - done;

    m->piece[slot] = (struct piece){.step = OVER,
                                    .slot = slot,
                                    .room = m->room ? m->room + slot * m->most
                                                    : m->p->side->here + done,
                                    .done = done,
                                    .length = left < m->most ? left : m->most};
    pipeline_begin(m, &m->piece[slot]);
}

static void pipeline_all(struct moving *m)
{
    size_t count = (m->p->length + m->most - 1) / m->most, begun = 0, ended = 0;
    uint64_t since = 0;

    while (ended < count) {
        bool any = pipeline_advance(m, ended, begun);
        if (begun < count && pipeline_may_begin(m, ended, begun)) {
            pipeline_enter(m, begun++);
            any = true;
        }
        while (ended < begun && m->piece[ended % AHEAD].step == OVER)
            ended++;
        if (any) {
            sy_wait_over(since);
            since = 0;
        } else if (ended < count) {
            sy_wait_rest(&since, m->p->what);
        }
    }
    sy_wait_over(since);
}

/* ---- all of it ---- */

bool sy_pipeline_bounces(const struct sy_pipeline *p)
{
    return p->length >= SY_PIPELINE_LEAST && sy_staged_is(p->target->window) &&
           !(sy_route_to(p->pe)->table->capabilities & SY_SERVES);
}

void sy_pipeline_move(const struct sy_pipeline *p)
{
    struct moving m = {.p = p,
                       .route = sy_route_to(p->pe),
                       .bounces = sy_pipeline_bounces(p),
                       .most = SY_PIPELINE_PIECE,
                       .copies = 1};

    if (m.bounces) {
        m.most = SY_BOUNCE_BYTES;
        sy_bounce_claim(&m.bounce, p->what, p->ctx, p->pe);
    } else if (!p->side->staged && sy_staged_maps(p->target->window)) {
        m.most = MAPPED_PIECE;
    }
    m.ahead = (m.bounces || p->length > m.most) && m.route->table->mark != sy_transport_stubs.mark;
    if (p->side->staged) {
        m.room = sy_pipeline_room(p->what, p->length);
        m.copies += sy_staged_is_ahead(p->side->window);
    }
    pipeline_all(&m);
    if (m.bounces)
        sy_bounce_release(&m.bounce);
    if (m.room)
        sy_pipeline_give(m.room, p->length);
}

/* Operations in flight: see fake.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/fake/fake.h"

int fake_queue_add(struct fake *f, const struct fake_request *request)
{
    struct fake_request *r = malloc(sizeof *r);

    if (!r)
        return -ENOMEM;
    *r = *request;
    r->next = NULL;
    r->message.id = ++f->ids;
    r->message.from = (uint32_t)f->host->pe;
    memcpy(r->message.key, f->host->job_key, sizeof r->message.key);
    if (fake_chance(f, 12))
        r->due = fake_now() + (uint64_t)f->settings->late * 1000;
    *f->last = r;
    f->last = &r->next;
    f->waiting++;
    f->requests++;
    return 0;
}

static void take_out(struct fake *f, struct fake_request **link)
{
    struct fake_request *r = *link;

    *link = r->next;
    if (!r->next)
        f->last = link;
    f->requests--;
    free(r->copy);
    free(r);
}

void fake_queue_answered(struct fake *f, const struct fake_message *answer)
{
    struct fake_request **link = &f->first;

    while (*link && (*link)->message.id != answer->id)
        link = &(*link)->next;
    struct fake_request *r = *link;
    if (!r || !r->sent || r->pe != (int)answer->from ||
        (r->to && !answer->error && answer->length != r->wanted))
        return;
    if (answer->error) {
        f->host->lost(r->pe, (int)answer->error, "it refused a request");
    } else if (r->to) {
        memcpy(r->to, answer->data, r->wanted);
    }
    if (r->waiting)
        --*r->waiting;
    take_out(f, link);
}

/* Whether an operation before r, towards the same PE, must be sent first: one on the other side of
 * a fence, or, without reordering, any. Datagrams of one sender arrive in the order in which they
 * were sent, and are served in that order. */
static bool is_behind(const struct fake *f, const struct fake_request *r)
{
    for (const struct fake_request *before = f->first; before != r; before = before->next)
        if (!before->sent && before->ctx == r->ctx && before->pe == r->pe &&
            (before->epoch < r->epoch || !f->settings->reorder))
            return true;
    return false;
}

/* Sends what may be sent; leaves some behind, at random, so that later operations overtake them.
 * Stops after as many as are worth it: the check of each walks over all operations before it. */
static int send_some(struct fake *f)
{
    uint64_t now = fake_now();
    int sent = 0, looked = 0;

    for (struct fake_request *r = f->first; r && f->waiting && looked < 64; r = r->next) {
        if (r->sent)
            continue;
        looked++;
        if (now < r->due || (f->settings->reorder && fake_chance(f, 30)) || is_behind(f, r))
            continue;
        const char *data = r->copy ? r->copy : r->from;
        int rc = fake_wire_send(f, r->pe, &r->message, data, data ? r->message.length : 0);
        if (rc == -EAGAIN)
            continue;
        r->sent = true;
        f->waiting--;
        sent++;
        if (rc)
            f->host->lost(r->pe, -rc, "a request could not be sent");
    }
    return sent;
}

/* The socket wakes the progress thread when a datagram arrives; the timer, when an operation can be
 * sent. */
static void set_timer(struct fake *f, bool on)
{
    const struct itimerspec often = {.it_interval = {.tv_nsec = 200000},
                                     .it_value = {.tv_nsec = 200000}},
                            never = {{0, 0}, {0, 0}};

    if (on != f->armed)
        timerfd_settime(f->timer, 0, on ? &often : &never, NULL);
    f->armed = on;
}

void fake_queue_wake(struct fake *f)
{
    if (f->waiting || f->leaving)
        set_timer(f, true);
}

int fake_queue_progress(struct fake *f)
{
    bool left = false;
    uint64_t ticks;

    if (f->armed && read(f->timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
        return 0;
    int moved = fake_wire_receive(f);

    moved += send_some(f);
    moved += fake_large_progress(f);
    moved += fake_wire_answer(f, &left);
    set_timer(f, left || f->waiting || f->leaving);
    return moved;
}

bool fake_queue_pending_upto(const struct fake *f, const struct sy_transport_ctx *ctx, int pe,
                             uint64_t last)
{
    for (const struct fake_request *r = f->first; r; r = r->next)
        if ((!ctx || r->ctx == ctx) && (pe == SY_ALL_PES || r->pe == pe) && r->message.id <= last)
            return true;
    return false;
}

bool fake_queue_pending(const struct fake *f, const struct sy_transport_ctx *ctx, int pe)
{
    return fake_queue_pending_upto(f, ctx, pe, UINT64_MAX);
}

void fake_queue_drop(struct fake *f)
{
    while (f->first)
        take_out(f, &f->first);
}

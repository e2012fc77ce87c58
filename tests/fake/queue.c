/* Operations on their way: see fake.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "tests/fake/fake.h"

int fake_queue_add(const struct fake_request *request)
{
    struct fake_request *r = malloc(sizeof *r);

    if (!r)
        return -ENOMEM;
    *r = *request;
    r->next = NULL;
    r->message.id = ++fake.ids;
    r->message.from = (uint32_t)fake.host->pe;
    memcpy(r->message.key, fake.host->job_key, sizeof r->message.key);
    if (fake_chance(12))
        r->due = fake_now() + (uint64_t)fake_settings.late * 1000;
    *fake.last = r;
    fake.last = &r->next;
    fake.waiting++;
    fake.requests++;
    return 0;
}

static void take_out(struct fake_request **link)
{
    struct fake_request *r = *link;

    *link = r->next;
    if (!r->next)
        fake.last = link;
    fake.requests--;
    free(r->copy);
    free(r);
}

void fake_queue_answered(const struct fake_message *answer)
{
    struct fake_request **link = &fake.first;

    while (*link && (*link)->message.id != answer->id)
        link = &(*link)->next;
    struct fake_request *r = *link;
    if (!r || !r->sent || r->pe != (int)answer->from)
        return;
    if (answer->error) {
        fake.host->lost(r->pe, (int)answer->error, "it refused a request");
    } else if (r->to && r->message.kind == FAKE_GET) {
        memcpy(r->to, answer->data, answer->length);
    } else if (r->to) {
        uint32_t narrow = (uint32_t)answer->operand;
        memcpy(r->to, r->message.length == 4 ? (const void *)&narrow : &answer->operand,
               r->message.length);
    }
    if (r->waiting)
        --*r->waiting;
    take_out(link);
}

/* Whether something before r, towards the same PE, must be sent first: what is on the other side of
 * a fence, and without reordering everything. Datagrams of one sender arrive in the order they were
 * sent, and are served so. */
static bool is_behind(const struct fake_request *r)
{
    for (const struct fake_request *before = fake.first; before != r; before = before->next)
        if (!before->sent && before->ctx == r->ctx && before->pe == r->pe &&
            (before->epoch < r->epoch || !fake_settings.reorder))
            return true;
    return false;
}

/* Sends what may go; others are left, at random, so that those behind them overtake. Looks at no
 * more than are worth it: the check for each goes through all before it. */
static int send_some(void)
{
    uint64_t now = fake_now();
    int sent = 0, looked = 0;

    for (struct fake_request *r = fake.first; r && fake.waiting && looked < 64; r = r->next) {
        if (r->sent)
            continue;
        looked++;
        if (now < r->due || (fake_settings.reorder && fake_chance(30)) || is_behind(r))
            continue;
        const char *data = r->copy ? r->copy : r->from;
        int rc = fake_wire_send(r->pe, &r->message, data, data ? r->message.length : 0);
        if (rc == -EAGAIN)
            continue;
        r->sent = true;
        fake.waiting--;
        sent++;
        if (rc)
            fake.host->lost(r->pe, -rc, "a request could not be sent");
    }
    return sent;
}

/* The socket wakes the progress thread when something comes; this, when something can be sent. */
static void set_timer(bool on)
{
    const struct itimerspec often = {.it_interval = {.tv_nsec = 200000},
                                     .it_value = {.tv_nsec = 200000}},
                            never = {{0, 0}, {0, 0}};

    if (on != fake.armed)
        timerfd_settime(fake.timer, 0, on ? &often : &never, NULL);
    fake.armed = on;
}

void fake_queue_wake(void)
{
    if (fake.waiting)
        set_timer(true);
}

int fake_queue_progress(void)
{
    bool left = false;
    uint64_t ticks;

    if (fake.armed && read(fake.timer, &ticks, sizeof ticks) < 0 && errno != EAGAIN)
        return 0;
    int moved = fake_wire_receive();

    moved += send_some();
    moved += fake_wire_answer(&left);
    set_timer(left || fake.waiting);
    return moved;
}

bool fake_queue_pending(const struct sy_transport_ctx *ctx, int pe)
{
    for (const struct fake_request *r = fake.first; r; r = r->next)
        if ((!ctx || r->ctx == ctx) && (pe == SY_ALL_PES || r->pe == pe))
            return true;
    return false;
}

void fake_queue_drop(void)
{
    while (fake.first)
        take_out(&fake.first);
    fake.waiting = 0;
}

/* Which side of a pair connects, and when.
 *
 * Why a PE begins with its half, and leaves the others to their peers for a while, is in
 * docs/tcp.md (First contact). Its half is the streams that it is to connect by rule, and those
 * that it has lost. A PE that wants only a few of its peers, as in a barrier, waits for none: that
 * a few pairs make two connections and drop one costs less than the wait.
 *
 * Before any attempt begins, what waits to be accepted is: the peer's may be among it. */
#include <errno.h>
#include <stdlib.h>

#include "transports/tcp/conn/pending.h"

#define ABREAST     64
#define YOUNG       TCP_SECOND /* an attempt that lasts longer holds others back no more */
#define LOOK_AGAIN  (20 * TCP_MILLISECOND)
#define MOST_SEEN   (5 * TCP_SECOND) /* a peer that came late tells nothing of the others */
#define SEEN_SHARE  8
#define GRACE_TIMES 4
#define FEW         4 /* the neighbours of a PE in a tree of barriers */

int sy_tcp_turns_open(struct tcp_net *net, struct sy_error *err)
{
    size_t count = (size_t)net->host->npes * (1 + (size_t)net->settings->streams);

    net->turns.contact = calloc(count, sizeof *net->turns.contact);
    STAILQ_INIT(&net->turns.mine.list);
    STAILQ_INIT(&net->turns.theirs.list);
    return net->turns.contact
               ? 0
               : net->host->fail(err, ENOMEM, "no memory for a table of %zu streams", count);
}

void sy_tcp_turns_close(struct tcp_net *net)
{
    free(net->turns.contact);
    net->turns.contact = NULL;
}

struct tcp_contact *sy_tcp_contact(struct tcp_net *net, uint32_t pe, uint32_t number)
{
    uint32_t npes = (uint32_t)net->host->npes;

    if (!net->turns.contact || pe >= npes || pe == (uint32_t)net->host->pe ||
        number > (uint32_t)net->settings->streams)
        return NULL;
    return &net->turns.contact[(size_t)number * npes + pe];
}

int sy_tcp_contact_pe(struct tcp_net *net, const struct tcp_contact *contact)
{
    return (int)((contact - net->turns.contact) % net->host->npes);
}

unsigned sy_tcp_contact_number(struct tcp_net *net, const struct tcp_contact *contact)
{
    return (unsigned)((contact - net->turns.contact) / net->host->npes);
}

/* Each PE connects to the half of the others that follows it, so that all have as many to make and
 * as many to accept. */
bool sy_tcp_connects(struct tcp_net *net, int pe)
{
    int npes = net->host->npes, ahead = (pe - net->host->pe + npes) % npes;

    return 2 * ahead < npes || (2 * ahead == npes && net->host->pe < pe);
}

/* ---- what is seen ---- */

void sy_tcp_turns_made(struct tcp_net *net, uint64_t took)
{
    int64_t seen = (int64_t)net->turns.seen, now = (int64_t)(took < MOST_SEEN ? took : MOST_SEEN);

    net->turns.seen = (uint64_t)(seen ? seen + (now - seen) / SEEN_SHARE : now);
    net->turns.last = sy_tcp_now();
    sy_count(&net->counters->made, 1);
    sy_count_most(&net->counters->slowest, took / 1000);
}

uint64_t sy_tcp_patience(struct tcp_net *net, uint64_t least)
{
    uint64_t grown = net->turns.seen * GRACE_TIMES;

    return grown > least ? grown : least;
}

bool sy_tcp_contact_comes(struct tcp_net *net, const struct tcp_contact *contact, uint64_t now)
{
    return contact->incoming && now - contact->incoming->began < sy_tcp_patience(net, YOUNG);
}

/* ---- the queue ---- */

static void turns_enter(struct tcp_contacts *queue, struct tcp_contact *contact)
{
    contact->queued = true;
    STAILQ_INSERT_TAIL(&queue->list, contact, next);
    queue->count++;
}

static struct tcp_contact *turns_leave(struct tcp_contacts *queue)
{
    struct tcp_contact *contact = STAILQ_FIRST(&queue->list);

    STAILQ_REMOVE_HEAD(&queue->list, next);
    queue->count--;
    contact->queued = false;
    return contact;
}

void sy_tcp_connect_start(struct tcp_net *net, struct tcp_stream *stream, int pe, unsigned number,
                          const void *address, size_t size, bool first)
{
    struct tcp_contact *contact = sy_tcp_contact(net, (uint32_t)pe, number);

    if (!contact || contact->attempt || contact->stream)
        return;
    contact->stream = stream;
    contact->address = address;
    contact->size = size;
    contact->first = first;
    if (!contact->queued)
        turns_enter(first && !sy_tcp_connects(net, pe) ? &net->turns.theirs : &net->turns.mine,
                    contact);
    sy_tcp_until(net, sy_tcp_now());
}

/* Begins what comes first in a queue, while there is room. What the peer connects meanwhile is left
 * to it, and looked at again. */
static void turns_begin_some(struct tcp_net *net, struct tcp_contacts *queue, uint64_t now)
{
    uint64_t young = sy_tcp_patience(net, YOUNG);
    unsigned going = sy_tcp_attempts_since(net, now - young);

    for (unsigned left = queue->count; left && going < ABREAST; left--) {
        struct tcp_contact *contact = turns_leave(queue);
        struct tcp_stream *stream = contact->stream;

        if (!stream)
            continue;
        if (sy_tcp_contact_comes(net, contact, now)) {
            turns_enter(&net->turns.theirs, contact);
            continue;
        }
        contact->stream = NULL;
        sy_tcp_attempt_start(net, contact, stream);
        going++;
    }
}

bool sy_tcp_turns_wait(const struct tcp_net *net)
{
    return net->turns.mine.count || net->turns.theirs.count;
}

void sy_tcp_turns_go_on(struct tcp_net *net)
{
    if (sy_tcp_turns_wait(net))
        sy_tcp_until(net, sy_tcp_now());
}

/* Whether connections are being made by the rule, so that the peers' own may still come. */
static bool others_are_at_it(struct tcp_net *net, uint64_t now)
{
    return net->turns.mine.count || now - net->turns.last < net->turns.seen * GRACE_TIMES ||
           sy_tcp_attempts_by_rule(net, now - sy_tcp_patience(net, YOUNG));
}

uint64_t sy_tcp_turns_timer(struct tcp_net *net, uint64_t now)
{
    if (!sy_tcp_turns_wait(net))
        return UINT64_MAX;
    turns_begin_some(net, &net->turns.mine, now);
    unsigned wanted = net->turns.theirs.count;
    if (wanted && (wanted <= FEW || !others_are_at_it(net, now)))
        turns_begin_some(net, &net->turns.theirs, now);
    return sy_tcp_turns_wait(net) ? now + LOOK_AGAIN : UINT64_MAX;
}

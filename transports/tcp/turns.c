/* Which side of a pair connects, and when.
 *
 * Where all PEs begin to talk to all others at once, both sides of each pair want the same
 * connection. Each PE therefore begins with its half: the lanes that it is to connect by rule, and
 * those that it has lost. Of those, no more than ABREAST are begun at a time. The others it leaves
 * to their peers while connections keep being made or its own have not been answered yet, and
 * begins what is left afterwards: that is a lane that the peer does not want by itself, or cannot
 * connect, as where a firewall lets through one direction only. How long to wait for that follows
 * from how long connections have been seen to take: nothing in a job at rest, seconds where
 * hundreds of PEs share a processor.
 *
 * Before any attempt begins, what waits to be accepted is: the peer's may be among it. */
#include <errno.h>
#include <stdlib.h>

#include "transports/tcp/talk.h"
#include "transports/tcp/tcp.h"

#define ABREAST     64
#define YOUNG       TCP_SECOND /* an attempt that lasts longer holds others back no more */
#define LOOK_AGAIN  (20 * TCP_MILLISECOND)
#define MOST_SEEN   (5 * TCP_SECOND) /* a peer that came late tells nothing of the others */
#define SEEN_SHARE  8
#define GRACE_TIMES 4

struct queue {
    struct tcp_contact *first, **last;
    unsigned count;
};

static struct {
    struct tcp_contact *contact; /* lane number * npes + PE */
    struct queue mine, theirs;
    uint64_t seen; /* how long a connection takes, a moving average */
    uint64_t last; /* when one was made */
} turns;

int sy_tcp_turns_open(struct sy_error *err)
{
    size_t count = (size_t)sy_tcp_host->npes * (1 + (size_t)sy_tcp_settings.streams);

    turns.contact = calloc(count, sizeof *turns.contact);
    turns.mine = (struct queue){NULL, &turns.mine.first, 0};
    turns.theirs = (struct queue){NULL, &turns.theirs.first, 0};
    turns.seen = turns.last = 0;
    return turns.contact
               ? 0
               : sy_tcp_host->fail(err, ENOMEM, "no memory for a table of %zu lanes", count);
}

void sy_tcp_turns_close(void)
{
    free(turns.contact);
    turns.contact = NULL;
}

struct tcp_contact *sy_tcp_contact(uint32_t pe, uint32_t number)
{
    uint32_t npes = (uint32_t)sy_tcp_host->npes;

    if (!turns.contact || pe >= npes || pe == (uint32_t)sy_tcp_host->pe ||
        number > (uint32_t)sy_tcp_settings.streams)
        return NULL;
    return &turns.contact[(size_t)number * npes + pe];
}

int sy_tcp_contact_pe(const struct tcp_contact *contact)
{
    return (int)((contact - turns.contact) % sy_tcp_host->npes);
}

unsigned sy_tcp_contact_number(const struct tcp_contact *contact)
{
    return (unsigned)((contact - turns.contact) / sy_tcp_host->npes);
}

/* Each PE connects to the half of the others that follows it, so that all have as many to make and
 * as many to accept. */
bool sy_tcp_connects(int pe)
{
    int npes = sy_tcp_host->npes, ahead = (pe - sy_tcp_host->pe + npes) % npes;

    return 2 * ahead < npes || (2 * ahead == npes && sy_tcp_host->pe < pe);
}

/* ---- what is seen ---- */

void sy_tcp_turns_made(uint64_t took)
{
    int64_t change = (int64_t)(took < MOST_SEEN ? took : MOST_SEEN) - (int64_t)turns.seen;

    turns.seen = turns.seen ? (uint64_t)((int64_t)turns.seen + change / SEEN_SHARE) : took;
    turns.last = sy_tcp_now();
    sy_tcp_counts.made++;
    if (took > sy_tcp_counts.slowest)
        sy_tcp_counts.slowest = took;
}

uint64_t sy_tcp_patience(uint64_t least)
{
    uint64_t grown = turns.seen * GRACE_TIMES;

    return grown > least ? grown : least;
}

bool sy_tcp_contact_comes(const struct tcp_contact *contact, uint64_t now)
{
    return contact->guests && now - contact->guests->began < sy_tcp_patience(YOUNG);
}

/* ---- the queue ---- */

static void turns_enter(struct queue *queue, struct tcp_contact *contact)
{
    contact->queued = true;
    contact->next = NULL;
    *queue->last = contact;
    queue->last = &contact->next;
    queue->count++;
}

static struct tcp_contact *turns_leave(struct queue *queue)
{
    struct tcp_contact *contact = queue->first;

    queue->first = contact->next;
    if (!queue->first)
        queue->last = &queue->first;
    queue->count--;
    contact->queued = false;
    return contact;
}

void sy_tcp_connect_start(struct tcp_lane *lane, int pe, unsigned number, const void *address,
                          size_t size, bool first)
{
    struct tcp_contact *contact = sy_tcp_contact((uint32_t)pe, number);

    if (!contact || contact->attempt || contact->lane)
        return;
    contact->lane = lane;
    contact->address = address;
    contact->size = size;
    contact->first = first;
    if (!contact->queued)
        turns_enter(first && !sy_tcp_connects(pe) ? &turns.theirs : &turns.mine, contact);
    sy_tcp_until(sy_tcp_now());
}

/* Begins what comes first in a queue, while there is room. What the peer connects meanwhile is left
 * to it, and looked at again. */
static void turns_begin_some(struct queue *queue, uint64_t now)
{
    uint64_t young = sy_tcp_patience(YOUNG);
    unsigned going = sy_tcp_attempts_since(now - young);

    for (unsigned left = queue->count; left && going < ABREAST; left--) {
        struct tcp_contact *contact = turns_leave(queue);
        struct tcp_lane *lane = contact->lane;

        if (!lane)
            continue;
        if (sy_tcp_contact_comes(contact, now)) {
            turns_enter(&turns.theirs, contact);
            continue;
        }
        contact->lane = NULL;
        sy_tcp_attempt_start(contact, lane);
        going++;
    }
}

void sy_tcp_turns_go_on(void)
{
    if (turns.mine.count || turns.theirs.count)
        sy_tcp_until(sy_tcp_now());
}

/* Whether connections are being made by the rule, so that the peers' own may still come. */
static bool others_are_at_it(uint64_t now)
{
    return turns.mine.count || now - turns.last < turns.seen * GRACE_TIMES ||
           sy_tcp_attempts_by_rule(now - sy_tcp_patience(YOUNG));
}

uint64_t sy_tcp_turns_timer(uint64_t now)
{
    if (!turns.mine.count && !turns.theirs.count)
        return UINT64_MAX;
    sy_tcp_listen_accept();
    turns_begin_some(&turns.mine, now);
    if (turns.theirs.count && !others_are_at_it(now))
        turns_begin_some(&turns.theirs, now);
    return turns.mine.count || turns.theirs.count ? now + LOOK_AGAIN : UINT64_MAX;
}

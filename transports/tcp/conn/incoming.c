/* Incoming connections whose handshake goes on. Anybody can connect, so one is a stranger until it
 * has said a HELLO under the job's key that was never heard before. There are STRANGERS places for
 * those. Where all are taken, the address that has most of them loses its oldest, after a last look
 * whether that has said something: many strangers at one address push out each other, and a PE that
 * speaks when it has connected keeps its place. One that has introduced itself keeps it anyhow;
 * there are no more of those than PEs of the job have opened. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "transports/tcp/ring.h"
#include "transports/tcp/conn/pending.h"
#include "util/net/way.h"

#define STRANGERS  256
#define LOG_EVERY  (5 * TCP_SECOND)  /* at first */
#define INTRODUCED (30 * TCP_SECOND) /* that one of the job has for CONFIRM; see patience */
#define CHUNK      30

/* Memory for strangers: made when the other chunks are full, given back by the timer when none is
 * left, so that strangers who come one after the other do not cost a mapping each. */
struct tcp_incoming_chunk {
    struct tcp_incoming_chunk *next;
    struct tcp_pending pending[CHUNK];
};

void sy_tcp_incoming_init(struct tcp_net *net)
{
    TAILQ_INIT(&net->incoming.strangers);
    TAILQ_INIT(&net->incoming.introduced);
    TAILQ_INIT(&net->incoming.unused);
}

/* Whether the limiter lets a line through; *held: those before it that it did not. */
static bool incoming_may_log(struct tcp_limiter *limiter, unsigned *held)
{
    uint64_t now = sy_tcp_now();

    if (now < limiter->next) {
        limiter->held++;
        return false;
    }
    *held = limiter->held;
    limiter->held = 0;
    limiter->apart = now - limiter->next < limiter->apart ? 2 * limiter->apart : LOG_EVERY;
    limiter->next = now + limiter->apart;
    return true;
}

/* ---- places ---- */

static bool incoming_more_places(struct tcp_net *net)
{
    struct tcp_incoming_chunk *chunk = sy_tcp_table_open(sizeof *chunk);

    if (!chunk)
        return false;
    chunk->next = net->incoming.chunks;
    net->incoming.chunks = chunk;
    for (unsigned i = 0; i < CHUNK; i++)
        TAILQ_INSERT_TAIL(&net->incoming.unused, &chunk->pending[i], link);
    return true;
}

static void incoming_give_back(struct tcp_net *net)
{
    for (struct tcp_incoming_chunk *each = net->incoming.chunks, *next; each; each = next) {
        next = each->next;
        sy_tcp_table_close(each, sizeof *each);
    }
    net->incoming.chunks = NULL;
    TAILQ_INIT(&net->incoming.unused);
}

/* Takes a connection off the list of strangers. */
static void incoming_leave_strangers(struct tcp_pending *pending)
{
    TAILQ_REMOVE(&pending->net->incoming.strangers, pending, link);
    pending->net->incoming.stranger_count--;
    --*pending->source;
}

void sy_tcp_incoming_gone(struct tcp_pending *pending)
{
    struct tcp_net *net = pending->net;

    if (pending->contact) {
        struct tcp_pending **at = &pending->contact->incoming;
        while (*at != pending)
            at = &(*at)->sibling;
        *at = pending->sibling;
        TAILQ_REMOVE(&net->incoming.introduced, pending, link);
    } else {
        incoming_leave_strangers(pending);
    }
    pending->watch.fd = -1;
    TAILQ_INSERT_HEAD(&net->incoming.unused, pending, link);
    net->incoming.count--;
}

/* The stranger to evict: the oldest of the address that has most. */
static struct tcp_pending *incoming_next_to_go(struct tcp_net *net)
{
    struct tcp_pending *victim = TAILQ_FIRST(&net->incoming.strangers), *each;

    TAILQ_FOREACH (each, &net->incoming.strangers, link)
        if (*each->source > *victim->source)
            victim = each;
    return victim;
}

static void incoming_close_stranger(struct tcp_pending *victim)
{
    sy_count(&victim->net->counters->evicted, 1);
    sy_tcp_incoming_failed(victim, "made room for others");
}

/* Evicts one stranger, after a last look: if it has spoken meanwhile it goes on, or is over. */
static void incoming_evict_one(struct tcp_net *net)
{
    struct tcp_pending *victim = incoming_next_to_go(net);

    sy_tcp_pending_event(&victim->watch, EPOLLIN);
    if (net->incoming.count && victim->watch.fd >= 0 && !victim->contact)
        incoming_close_stranger(victim);
}

bool sy_tcp_incoming_evict(struct tcp_net *net)
{
    unsigned before = net->incoming.count;

    while (net->incoming.stranger_count && net->incoming.count == before)
        incoming_evict_one(net);
    return net->incoming.count < before;
}

/* Without a last look: what a PE has said might end what the caller is at. */
bool sy_tcp_incoming_makes_room(struct tcp_net *net)
{
    if (sy_way_seen(errno) != SY_WAY_FILES || !net->incoming.stranger_count)
        return false;
    incoming_close_stranger(incoming_next_to_go(net));
    return true;
}

void sy_tcp_incoming_reserve(struct tcp_net *net)
{
    while (net->reserve < 0 && (net->reserve = fcntl(net->set->fd, F_DUPFD_CLOEXEC, 0)) < 0 &&
           sy_tcp_incoming_makes_room(net))
        ;
}

struct tcp_pending *sy_tcp_incoming_open(struct tcp_net *net, int fd,
                                         const struct sockaddr_storage *address)
{
    uint64_t now = sy_tcp_now();

    while (net->incoming.stranger_count >= STRANGERS)
        incoming_evict_one(net);
    if (TAILQ_EMPTY(&net->incoming.unused) && !incoming_more_places(net))
        return NULL;
    struct tcp_pending *pending = TAILQ_FIRST(&net->incoming.unused);
    TAILQ_REMOVE(&net->incoming.unused, pending, link);
    *pending = (struct tcp_pending){
        .net = net,
        .watch = {.fd = fd, .event = sy_tcp_pending_event, .owner = pending},
        .address = *address,
        .source = &net->incoming.from[sy_socket_source(address) % TCP_SOURCES],
        .began = now,
        .deadline = sy_tcp_until(net, now + sy_tcp_patience(net, TCP_HANDSHAKE_TIME))};
    TAILQ_INSERT_TAIL(&net->incoming.strangers, pending, link);
    net->incoming.stranger_count++;
    ++*pending->source;
    net->incoming.count++;
    return pending;
}

bool sy_tcp_incoming_is_short(struct tcp_net *net, const struct tcp_contact *contact)
{
    sy_tcp_incoming_reserve(net);
    if (net->reserve >= 0 || contact->made)
        return false;
    if (net->full && sy_tcp_now() - net->full > TCP_FULL && !sy_tcp_contact_number(net, contact))
        net->user.full(net->user.owner, sy_tcp_contact_pe(net, contact));
    return true;
}

void sy_tcp_incoming_introduced(struct tcp_pending *pending, struct tcp_contact *contact)
{
    incoming_leave_strangers(pending);
    TAILQ_INSERT_TAIL(&pending->net->incoming.introduced, pending, link);
    pending->contact = contact;
    pending->sibling = contact->incoming;
    contact->incoming = pending;
    pending->deadline = sy_tcp_now() + sy_tcp_patience(pending->net, INTRODUCED);
}

/* ---- ends ---- */

/* How many lines like one there were since the last that was shown. */
static const char *incoming_more(unsigned held, char text[40])
{
    if (!held)
        return "";
    snprintf(text, 40, "; %u more were not shown", held);
    return text;
}

void sy_tcp_incoming_failed(struct tcp_pending *pending, const char *words)
{
    struct tcp_net *net = pending->net;
    struct tcp_stream *stream = pending->stream;
    bool alone = stream && sy_tcp_attempt_progress(net, pending->contact) == TCP_ATTEMPT_NONE;
    char text[SY_IP_TEXT], why[200], more[40];
    unsigned held;

    snprintf(why, sizeof why, "%s: %s", sy_socket_text(&pending->address, text), words);
    if (incoming_may_log(&net->incoming.failed, &held))
        net->host->log(SY_LOG_DEBUG, "tcp", "handshakes with %s%s", why, incoming_more(held, more));
    sy_tcp_pending_close(pending);
    if (alone)
        net->user.unreachable(stream, why, 0);
}

void sy_tcp_incoming_turned_away(struct tcp_pending *pending, const char *words)
{
    char text[SY_IP_TEXT], more[40];
    unsigned held;

    if (incoming_may_log(&pending->net->incoming.turned_away, &held))
        pending->net->host->log(SY_LOG_WARN, "tcp", "turned away %s, which %s%s",
                                sy_socket_text(&pending->address, text), words,
                                incoming_more(held, more));
    sy_tcp_pending_close(pending);
}

void sy_tcp_incoming_drop(struct tcp_contact *contact, const struct tcp_pending *except)
{
    for (struct tcp_pending *each = contact->incoming, *next; each; each = next) {
        next = each->sibling;
        if (each != except)
            sy_tcp_pending_close(each);
    }
}

void sy_tcp_incoming_cancel(struct tcp_net *net, const struct tcp_stream *stream)
{
    for (struct tcp_pending *each = TAILQ_FIRST(&net->incoming.introduced), *next; each;
         each = next) {
        next = TAILQ_NEXT(each, link);
        if (each->stream == stream)
            sy_tcp_pending_close(each);
    }
}

static uint64_t incoming_list_timer(const struct tcp_incoming_list *list, uint64_t now)
{
    uint64_t deadline = UINT64_MAX;

    for (struct tcp_pending *each = TAILQ_FIRST(list); each;) {
        if (sy_tcp_pending_late(each, now)) {
            each = TAILQ_FIRST(list);
            deadline = UINT64_MAX;
            continue;
        }
        if (each->deadline < deadline)
            deadline = each->deadline;
        each = TAILQ_NEXT(each, link);
    }
    return deadline;
}

uint64_t sy_tcp_incoming_timer(struct tcp_net *net, uint64_t now)
{
    uint64_t strangers = incoming_list_timer(&net->incoming.strangers, now),
             introduced = incoming_list_timer(&net->incoming.introduced, now);

    if (!net->incoming.count)
        incoming_give_back(net);
    return strangers < introduced ? strangers : introduced;
}

void sy_tcp_incoming_close(struct tcp_net *net)
{
    while (!TAILQ_EMPTY(&net->incoming.strangers))
        sy_tcp_pending_close(TAILQ_FIRST(&net->incoming.strangers));
    while (!TAILQ_EMPTY(&net->incoming.introduced))
        sy_tcp_pending_close(TAILQ_FIRST(&net->incoming.introduced));
    incoming_give_back(net);
}

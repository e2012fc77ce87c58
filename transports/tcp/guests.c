/* Guests: talks that others have opened. Anybody can connect, so a guest is a stranger until it has
 * said a HELLO under the job's key that was never heard before. There are STRANGERS places for
 * those. Where all are taken, the address that has most of them loses its oldest, after a last look
 * whether that has said something: many strangers at one address push out each other, and a PE that
 * speaks when it has connected keeps its place. A guest that has introduced itself keeps it anyhow;
 * there are no more of those than PEs of the job have opened. */
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "transports/tcp/ring.h"
#include "transports/tcp/talk.h"
#include "util/bits.h"

#define STRANGERS  256
#define LOG_EVERY  (5 * TCP_SECOND)
#define INTRODUCED (30 * TCP_SECOND) /* that a guest of the job has for CONFIRM; see patience */
#define CHUNK      30

/* Memory for guests: made when the others are full, given back by the timer when no guest is left,
 * so that strangers who come one after the other do not cost a mapping each. */
struct tcp_guest_chunk {
    struct tcp_guest_chunk *next;
    struct tcp_talk talk[CHUNK];
};

void sy_tcp_guests_init(struct tcp_net *net)
{
    net->guests.strangers.last = &net->guests.strangers.first;
    net->guests.introduced.last = &net->guests.introduced.first;
}

bool sy_tcp_may_log(struct tcp_limiter *limiter, unsigned *held)
{
    uint64_t now = sy_tcp_now();

    if (now < limiter->next) {
        limiter->held++;
        return false;
    }
    *held = limiter->held;
    limiter->held = 0;
    limiter->next = now + LOG_EVERY;
    return true;
}

/* ---- places ---- */

static void guests_enter(struct tcp_guest_list *list, struct tcp_talk *talk)
{
    talk->next = NULL;
    talk->link = list->last;
    *list->last = talk;
    list->last = &talk->next;
}

static void guests_leave(struct tcp_guest_list *list, struct tcp_talk *talk)
{
    *talk->link = talk->next;
    if (talk->next)
        talk->next->link = talk->link;
    else
        list->last = talk->link;
}

/* A host may have many addresses of IPv6 in one network. */
static uint16_t *guests_source_of(struct tcp_net *net, const struct sockaddr_storage *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    uint64_t hash = address->ss_family == AF_INET
                        ? sy_hash(&v4->sin_addr, sizeof v4->sin_addr, 4)
                        : sy_hash(&v6->sin6_addr, sizeof v6->sin6_addr / 2, 6);

    return &net->guests.from[(hash ^ hash >> 32) % TCP_SOURCES];
}

static bool guests_more_places(struct tcp_net *net)
{
    struct tcp_guest_chunk *chunk = sy_tcp_table_open(sizeof *chunk);

    if (!chunk)
        return false;
    chunk->next = net->guests.chunks;
    net->guests.chunks = chunk;
    for (unsigned i = CHUNK; i-- > 0; net->guests.unused = &chunk->talk[i])
        chunk->talk[i].next = net->guests.unused;
    return true;
}

static void guests_give_back(struct tcp_net *net)
{
    for (struct tcp_guest_chunk *each = net->guests.chunks, *next; each; each = next) {
        next = each->next;
        sy_tcp_table_close(each, sizeof *each);
    }
    net->guests.chunks = NULL;
    net->guests.unused = NULL;
}

/* Ends being a stranger. */
static void guests_leave_strangers(struct tcp_talk *talk)
{
    guests_leave(&talk->net->guests.strangers, talk);
    talk->net->guests.stranger_count--;
    --*talk->source;
}

void sy_tcp_guest_gone(struct tcp_talk *talk)
{
    struct tcp_net *net = talk->net;

    if (talk->contact) {
        struct tcp_talk **at = &talk->contact->guests;
        while (*at != talk)
            at = &(*at)->sibling;
        *at = talk->sibling;
        guests_leave(&net->guests.introduced, talk);
    } else {
        guests_leave_strangers(talk);
    }
    talk->watch.fd = -1;
    talk->next = net->guests.unused;
    net->guests.unused = talk;
    net->guests.count--;
}

/* The oldest of the address that has most. */
static struct tcp_talk *guests_next_to_go(struct tcp_net *net)
{
    struct tcp_talk *victim = net->guests.strangers.first;

    for (struct tcp_talk *each = victim; each; each = each->next)
        if (*each->source > *victim->source)
            victim = each;
    return victim;
}

/* One that has spoken meanwhile goes on, or is over. */
static void guests_evict_one(struct tcp_net *net)
{
    struct tcp_talk *victim = guests_next_to_go(net);

    sy_tcp_talk_event(&victim->watch, EPOLLIN);
    if (!net->guests.count || victim->watch.fd < 0 || victim->contact)
        return;
    net->counts.evicted++;
    sy_tcp_guest_failed(victim, "made room for others");
}

bool sy_tcp_guests_evict(struct tcp_net *net)
{
    unsigned before = net->guests.count;

    while (net->guests.stranger_count && net->guests.count == before)
        guests_evict_one(net);
    return net->guests.count < before;
}

struct tcp_talk *sy_tcp_guest_open(struct tcp_net *net, int fd,
                                   const struct sockaddr_storage *address)
{
    uint64_t now = sy_tcp_now();
    struct tcp_talk *talk;

    while (net->guests.stranger_count >= STRANGERS)
        guests_evict_one(net);
    if (!net->guests.unused && !guests_more_places(net))
        return NULL;
    talk = net->guests.unused;
    net->guests.unused = talk->next;
    *talk = (struct tcp_talk){
        .net = net,
        .watch = {.fd = fd, .event = sy_tcp_talk_event, .owner = talk},
        .address = *address,
        .source = guests_source_of(net, address),
        .began = now,
        .deadline = sy_tcp_until(net, now + sy_tcp_patience(net, TCP_GREETING_TIME))};
    guests_enter(&net->guests.strangers, talk);
    net->guests.stranger_count++;
    ++*talk->source;
    net->guests.count++;
    return talk;
}

void sy_tcp_guest_introduced(struct tcp_talk *talk, struct tcp_contact *contact)
{
    guests_leave_strangers(talk);
    guests_enter(&talk->net->guests.introduced, talk);
    talk->contact = contact;
    talk->sibling = contact->guests;
    contact->guests = talk;
    talk->deadline = sy_tcp_now() + sy_tcp_patience(talk->net, INTRODUCED);
}

/* ---- ends ---- */

void sy_tcp_guest_failed(struct tcp_talk *talk, const char *words)
{
    struct tcp_lane *lane = talk->lane;
    bool alone = lane && sy_tcp_attempt_progress(talk->net, talk->contact) == TCP_ATTEMPT_NONE;
    char text[SY_IP_TEXT], why[200];
    unsigned held;

    snprintf(why, sizeof why, "%s: %s", sy_socket_text(&talk->address, text), words);
    if (sy_tcp_may_log(&talk->net->guests.failed, &held))
        talk->net->host->log(SY_LOG_DEBUG, "tcp", "greetings with %s; %u more were not told of",
                             why, held);
    sy_tcp_talk_close(talk);
    if (alone)
        sy_tcp_lane_unreachable(lane, why, 0);
}

void sy_tcp_guest_turned_away(struct tcp_talk *talk, const char *words)
{
    char text[SY_IP_TEXT];
    unsigned held;

    if (sy_tcp_may_log(&talk->net->guests.turned_away, &held))
        talk->net->host->log(SY_LOG_WARN, "tcp",
                             "turned away %s, which %s; %u more were not told of",
                             sy_socket_text(&talk->address, text), words, held);
    sy_tcp_talk_close(talk);
}

void sy_tcp_guests_drop(struct tcp_contact *contact, const struct tcp_talk *except)
{
    for (struct tcp_talk *each = contact->guests, *next; each; each = next) {
        next = each->sibling;
        if (each != except)
            sy_tcp_talk_close(each);
    }
}

void sy_tcp_guests_cancel(struct tcp_net *net, const struct tcp_lane *lane)
{
    for (struct tcp_talk *each = net->guests.introduced.first, *next; each; each = next) {
        next = each->next;
        if (each->lane == lane)
            sy_tcp_talk_close(each);
    }
}

static uint64_t guests_list_timer(const struct tcp_guest_list *list, uint64_t now)
{
    uint64_t deadline = UINT64_MAX;

    for (struct tcp_talk *each = list->first; each;) {
        if (sy_tcp_talk_late(each, now)) {
            each = list->first;
            deadline = UINT64_MAX;
            continue;
        }
        if (each->deadline < deadline)
            deadline = each->deadline;
        each = each->next;
    }
    return deadline;
}

uint64_t sy_tcp_guests_timer(struct tcp_net *net, uint64_t now)
{
    uint64_t strangers = guests_list_timer(&net->guests.strangers, now),
             introduced = guests_list_timer(&net->guests.introduced, now);

    if (!net->guests.count)
        guests_give_back(net);
    return strangers < introduced ? strangers : introduced;
}

void sy_tcp_guests_close(struct tcp_net *net)
{
    while (net->guests.strangers.first)
        sy_tcp_talk_close(net->guests.strangers.first);
    while (net->guests.introduced.first)
        sy_tcp_talk_close(net->guests.introduced.first);
    guests_give_back(net);
}

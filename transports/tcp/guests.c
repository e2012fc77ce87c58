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
#include "transports/tcp/tcp.h"
#include "util/bits.h"

#define STRANGERS  256
#define SOURCES    1024 /* counts of strangers, by a hash of where they come from */
#define LOG_EVERY  (5 * TCP_SECOND)
#define INTRODUCED (30 * TCP_SECOND) /* that a guest of the job has for CONFIRM; see patience */
#define CHUNK      30

struct list {
    struct tcp_talk *first, **last;
};

/* Memory for guests: made when the others are full, given back by the timer when no guest is left,
 * so that strangers who come one after the other do not cost a mapping each. */
struct chunk {
    struct chunk *next;
    struct tcp_talk talk[CHUNK];
};

static struct {
    struct list strangers, introduced; /* the oldest first */
    unsigned count, stranger_count;
    uint16_t from[SOURCES];
    struct chunk *chunks;
    struct tcp_talk *unused;
    struct tcp_limiter failed, turned_away;
} guests = {.strangers = {NULL, &guests.strangers.first},
            .introduced = {NULL, &guests.introduced.first}};

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

static void guests_enter(struct list *list, struct tcp_talk *talk)
{
    talk->next = NULL;
    talk->link = list->last;
    *list->last = talk;
    list->last = &talk->next;
}

static void guests_leave(struct list *list, struct tcp_talk *talk)
{
    *talk->link = talk->next;
    if (talk->next)
        talk->next->link = talk->link;
    else
        list->last = talk->link;
}

/* A host may have many addresses of IPv6 in one network. */
static uint16_t *guests_source_of(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    uint64_t hash = address->ss_family == AF_INET
                        ? sy_hash(&v4->sin_addr, sizeof v4->sin_addr, 4)
                        : sy_hash(&v6->sin6_addr, sizeof v6->sin6_addr / 2, 6);

    return &guests.from[(hash ^ hash >> 32) % SOURCES];
}

static bool guests_more_places(void)
{
    struct chunk *chunk = sy_tcp_table_open(sizeof *chunk);

    if (!chunk)
        return false;
    chunk->next = guests.chunks;
    guests.chunks = chunk;
    for (unsigned i = CHUNK; i-- > 0; guests.unused = &chunk->talk[i])
        chunk->talk[i].next = guests.unused;
    return true;
}

static void guests_give_back(void)
{
    for (struct chunk *each = guests.chunks, *next; each; each = next) {
        next = each->next;
        sy_tcp_table_close(each, sizeof *each);
    }
    guests.chunks = NULL;
    guests.unused = NULL;
}

/* Ends being a stranger. */
static void guests_leave_strangers(struct tcp_talk *talk)
{
    guests_leave(&guests.strangers, talk);
    guests.stranger_count--;
    --*talk->source;
}

void sy_tcp_guest_gone(struct tcp_talk *talk)
{
    if (talk->contact) {
        struct tcp_talk **at = &talk->contact->guests;
        while (*at != talk)
            at = &(*at)->sibling;
        *at = talk->sibling;
        guests_leave(&guests.introduced, talk);
    } else {
        guests_leave_strangers(talk);
    }
    talk->watch.fd = -1;
    talk->next = guests.unused;
    guests.unused = talk;
    guests.count--;
}

/* The oldest of the address that has most. */
static struct tcp_talk *guests_next_to_go(void)
{
    struct tcp_talk *victim = guests.strangers.first;

    for (struct tcp_talk *each = victim; each; each = each->next)
        if (*each->source > *victim->source)
            victim = each;
    return victim;
}

/* One that has spoken meanwhile goes on, or is over. */
static void guests_evict_one(void)
{
    struct tcp_talk *victim = guests_next_to_go();

    sy_tcp_talk_event(&victim->watch, EPOLLIN);
    if (!guests.count || victim->watch.fd < 0 || victim->contact)
        return;
    sy_tcp_counts.evicted++;
    sy_tcp_guest_failed(victim, "made room for others");
}

bool sy_tcp_guests_evict(void)
{
    unsigned before = guests.count;

    while (guests.stranger_count && guests.count == before)
        guests_evict_one();
    return guests.count < before;
}

struct tcp_talk *sy_tcp_guest_open(int fd, const struct sockaddr_storage *address)
{
    uint64_t now = sy_tcp_now();
    struct tcp_talk *talk;

    while (guests.stranger_count >= STRANGERS)
        guests_evict_one();
    if (!guests.unused && !guests_more_places())
        return NULL;
    talk = guests.unused;
    guests.unused = talk->next;
    *talk = (struct tcp_talk){.watch = {.fd = fd, .event = sy_tcp_talk_event},
                              .address = *address,
                              .source = guests_source_of(address),
                              .began = now,
                              .deadline = sy_tcp_until(now + sy_tcp_patience(TCP_GREETING_TIME))};
    guests_enter(&guests.strangers, talk);
    guests.stranger_count++;
    ++*talk->source;
    guests.count++;
    return talk;
}

void sy_tcp_guest_introduced(struct tcp_talk *talk, struct tcp_contact *contact)
{
    guests_leave_strangers(talk);
    guests_enter(&guests.introduced, talk);
    talk->contact = contact;
    talk->sibling = contact->guests;
    contact->guests = talk;
    talk->deadline = sy_tcp_now() + sy_tcp_patience(INTRODUCED);
}

/* ---- ends ---- */

void sy_tcp_guest_failed(struct tcp_talk *talk, const char *words)
{
    struct tcp_lane *lane = talk->lane;
    bool alone = lane && sy_tcp_attempt_progress(talk->contact) == TCP_ATTEMPT_NONE;
    char text[SY_IP_TEXT], why[200];
    unsigned held;

    snprintf(why, sizeof why, "%s: %s", sy_socket_text(&talk->address, text), words);
    if (sy_tcp_may_log(&guests.failed, &held))
        sy_tcp_host->log(SY_LOG_DEBUG, "tcp", "greetings with %s; %u more were not told of", why,
                         held);
    sy_tcp_talk_close(talk);
    if (alone)
        sy_tcp_lane_unreachable(lane, why, 0);
}

void sy_tcp_guest_turned_away(struct tcp_talk *talk, const char *words)
{
    char text[SY_IP_TEXT];
    unsigned held;

    if (sy_tcp_may_log(&guests.turned_away, &held))
        sy_tcp_host->log(SY_LOG_WARN, "tcp", "turned away %s, which %s; %u more were not told of",
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

void sy_tcp_guests_cancel(const struct tcp_lane *lane)
{
    for (struct tcp_talk *each = guests.introduced.first, *next; each; each = next) {
        next = each->next;
        if (each->lane == lane)
            sy_tcp_talk_close(each);
    }
}

static uint64_t guests_list_timer(const struct list *list, uint64_t now)
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

uint64_t sy_tcp_guests_timer(uint64_t now)
{
    uint64_t strangers = guests_list_timer(&guests.strangers, now),
             introduced = guests_list_timer(&guests.introduced, now);

    if (!guests.count)
        guests_give_back();
    return strangers < introduced ? strangers : introduced;
}

void sy_tcp_guests_close(void)
{
    while (guests.strangers.first)
        sy_tcp_talk_close(guests.strangers.first);
    while (guests.introduced.first)
        sy_tcp_talk_close(guests.introduced.first);
    guests_give_back();
}

/* See connect.h. An attempt races over the candidates of a peer: each has a head start over the
 * next, and the first one that is greeted by the peer is the connection. Attempts and their talks
 * are tables (ring.h): many begin at once and end soon, which would leave the heap full of holes.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transports/tcp/ring.h"
#include "transports/tcp/talk.h"
#include "transports/tcp/tcp.h"

#define HEAD_START    (250 * TCP_MILLISECOND)
#define HEAD_STARTS   (1500 * TCP_MILLISECOND) /* of all candidates together, at most */
#define SMALL_SEGMENT 1200                     /* bytes that every path carries */
#define BUSY_WAIT     (300 * TCP_MILLISECOND)
#define BUSY_TIME     (2 * TCP_SECOND) /* after which an attempt no longer keeps the peer's away */
#define REFUSALS      16
#define BUCKETS       256

struct tcp_attempt {
    struct tcp_attempt *next;
    struct tcp_lane *lane;
    int pe;
    unsigned number;
    unsigned count, tried, open; /* candidates: all, those that have been begun, those that go on */
    struct sockaddr_storage candidate[TCP_CANDIDATES];
    struct tcp_talk *talk[TCP_CANDIDATES];
    bool confirmed;    /* CONFIRM has been made: one talk is left */
    bool waiting;      /* for the connection of the peer, which refused ours as busy */
    unsigned refusals; /* as busy */
    uint64_t began, head_start;
    uint64_t due; /* the next candidate begins, or the waiting ends */
    char why[400];
};

/* By PE. */
static struct tcp_attempt *attempts[BUCKETS];

/* No deadline is earlier. */
static uint64_t wake = UINT64_MAX;

uint64_t sy_tcp_until(uint64_t deadline)
{
    if (deadline < wake) {
        wake = deadline;
        sy_tcp_poll_wake();
    }
    return deadline;
}

/* Where the attempt is noted, or would be. */
static struct tcp_attempt **place_of(int pe, unsigned number)
{
    struct tcp_attempt **at = &attempts[(unsigned)pe % BUCKETS];

    while (*at && ((*at)->pe != pe || (*at)->number != number))
        at = &(*at)->next;
    return at;
}

/* ---- ends ---- */

void sy_tcp_attempt_gone(struct tcp_talk *talk)
{
    talk->attempt->talk[talk->candidate] = NULL;
    talk->attempt->open--;
    sy_tcp_table_close(talk, sizeof *talk);
}

static void drop_talks(struct tcp_attempt *attempt, const struct tcp_talk *except)
{
    for (unsigned i = 0; i < attempt->tried; i++)
        if (attempt->talk[i] && attempt->talk[i] != except)
            sy_tcp_talk_close(attempt->talk[i]);
}

void sy_tcp_attempt_end(int pe, unsigned number)
{
    struct tcp_attempt **place = place_of(pe, number), *attempt = *place;

    if (!attempt)
        return;
    drop_talks(attempt, NULL);
    *place = attempt->next;
    sy_tcp_table_close(attempt, sizeof *attempt);
}

void sy_tcp_attempts_end(void)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        while (attempts[i])
            sy_tcp_attempt_end(attempts[i]->pe, attempts[i]->number);
    wake = UINT64_MAX;
}

void sy_tcp_connect_cancel(struct tcp_lane *lane)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct tcp_attempt *each = attempts[i], *next; each; each = next) {
            next = each->next;
            if (each->lane == lane)
                sy_tcp_attempt_end(each->pe, each->number);
        }
    sy_tcp_guests_cancel(lane);
}

/* Adds why a candidate failed. */
static void note(struct tcp_attempt *attempt, unsigned candidate, const char *words)
{
    char text[TCP_IP_TEXT];
    size_t used = strlen(attempt->why);

    snprintf(attempt->why + used, sizeof attempt->why - used, "%s%s: %s", used ? "; " : "",
             sy_tcp_socket_text(&attempt->candidate[candidate], text), words);
}

static void give_up(struct tcp_attempt *attempt)
{
    struct tcp_lane *lane = attempt->lane;
    char why[sizeof attempt->why];

    memcpy(why, attempt->why, sizeof why);
    sy_tcp_host->log(SY_LOG_DEBUG, "tcp", "lane %u cannot connect to PE %d: %s", attempt->number,
                     attempt->pe, why);
    sy_tcp_attempt_end(attempt->pe, attempt->number);
    sy_tcp_lane_unreachable(lane, why);
}

/* ---- the race ---- */

/* Opens a socket for the talk and begins to connect it: 0 or -errno. */
static int open_talk(struct tcp_talk *talk)
{
    const struct sockaddr_storage *to = &talk->address;
    socklen_t length = to->ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                : sizeof(struct sockaddr_in6);
    int fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), code;

    if (fd < 0)
        return -errno;
    talk->watch = (struct tcp_watch){.fd = fd, .event = sy_tcp_talk_event};
    talk->events = EPOLLOUT;
    talk->connecting = true;
    sy_tcp_talk_tune(fd);
    if (sy_tcp_lane_narrow(talk->attempt->lane))
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &(int){SMALL_SEGMENT}, sizeof(int));
    if (connect(fd, (const struct sockaddr *)to, length) && errno != EINPROGRESS)
        code = -errno;
    else
        code = sy_tcp_watch_add(&talk->watch, talk->events);
    if (code)
        close(fd);
    return code;
}

static void begin_candidate(struct tcp_attempt *attempt, uint64_t now)
{
    unsigned i = attempt->tried++;
    struct tcp_talk *talk = sy_tcp_table_open(sizeof *talk);
    struct tcp_self self = sy_tcp_self();
    int rc = -ENOMEM;

    if (talk) {
        talk->attempt = attempt;
        talk->candidate = i;
        talk->address = attempt->candidate[i];
        talk->began = attempt->began;
        rc = sy_tcp_say_hello(&talk->transcript, &self, attempt->pe, attempt->number,
                              attempt->refusals);
    }
    if (!rc)
        rc = open_talk(talk);
    if (rc) {
        note(attempt, i, strerror(-rc));
        sy_tcp_table_close(talk, sizeof *talk);
        return;
    }
    talk->deadline = sy_tcp_until(now + (uint64_t)(sy_tcp_settings.connect_timeout * 1e9));
    attempt->talk[i] = talk;
    attempt->open++;
}

/* Begins with the candidates whose turn has come. Where all have failed, the attempt is due. */
static void race(struct tcp_attempt *attempt, uint64_t now)
{
    while (attempt->tried < attempt->count && (!attempt->open || now >= attempt->due)) {
        begin_candidate(attempt, now);
        attempt->due = now + attempt->head_start;
    }
    if (!attempt->open)
        attempt->due = now;
    else if (attempt->tried == attempt->count)
        attempt->due = UINT64_MAX;
    sy_tcp_until(attempt->due);
}

static void go_on(struct tcp_attempt *attempt, uint64_t now)
{
    attempt->waiting = false;
    race(attempt, now);
    if (!attempt->open)
        give_up(attempt);
}

void sy_tcp_attempt_failed(struct tcp_attempt *attempt, unsigned candidate, const char *words)
{
    /* The peer left it at CONFIRM: it has made one for a connection of its own, and comes first. */
    if (attempt->confirmed && attempt->pe < sy_tcp_host->pe) {
        sy_tcp_attempt_refused(attempt, candidate);
        return;
    }
    attempt->confirmed = false;
    note(attempt, candidate, words);
    go_on(attempt, sy_tcp_now());
}

/* Waits for the peer's connection, then tries again, at first over the address that was answered.
 */
void sy_tcp_attempt_refused(struct tcp_attempt *attempt, unsigned candidate)
{
    struct sockaddr_storage answered = attempt->candidate[candidate];

    drop_talks(attempt, NULL);
    attempt->confirmed = false;
    if (++attempt->refusals > REFUSALS) {
        note(attempt, candidate, "connects to this PE, but no connection of it gets through");
        give_up(attempt);
        return;
    }
    attempt->candidate[candidate] = attempt->candidate[0];
    attempt->candidate[0] = answered;
    attempt->tried = 0;
    attempt->waiting = true;
    attempt->why[0] = '\0';
    attempt->due = sy_tcp_until(sy_tcp_now() + BUSY_WAIT);
}

struct tcp_lane *sy_tcp_attempt_confirm(struct tcp_talk *talk)
{
    struct tcp_attempt *attempt = talk->attempt;

    drop_talks(attempt, talk);
    attempt->confirmed = true;
    attempt->due = UINT64_MAX;
    return attempt->lane;
}

enum tcp_progress sy_tcp_attempt_progress(int pe, unsigned number)
{
    const struct tcp_attempt *attempt = *place_of(pe, number);

    if (!attempt)
        return TCP_ATTEMPT_NONE;
    if (attempt->confirmed)
        return TCP_ATTEMPT_CONFIRMED;
    return attempt->waiting || sy_tcp_now() - attempt->began > BUSY_TIME ? TCP_ATTEMPT_OTHER
                                                                         : TCP_ATTEMPT_RACING;
}

/* Finds out where to try. */
static void find_candidates(struct tcp_attempt *attempt, const void *address, size_t size)
{
    struct tcp_record record;

    if (!sy_tcp_record_read(&record, address, size)) {
        snprintf(attempt->why, sizeof attempt->why, "the address that it published is malformed");
        return;
    }
    attempt->count = sy_tcp_listen_candidates(&record, attempt->candidate);
    if (!attempt->count) {
        snprintf(
            attempt->why, sizeof attempt->why,
            "it listens on addresses that reach its own machine only, or that this machine has "
            "too; choose others there with SHMEM_TCP_INTERFACES");
        return;
    }
    attempt->head_start = HEAD_STARTS / attempt->count;
    if (attempt->head_start > HEAD_START)
        attempt->head_start = HEAD_START;
}

void sy_tcp_connect_start(struct tcp_lane *lane, int pe, unsigned number, const void *address,
                          size_t size)
{
    struct tcp_attempt **place = place_of(pe, number), *attempt;
    uint64_t now = sy_tcp_now();

    if (*place)
        return;
    attempt = sy_tcp_table_open(sizeof *attempt);
    if (!attempt) {
        sy_tcp_host->lost(pe, ENOMEM, "no memory to connect to it");
        return;
    }
    attempt->lane = lane;
    attempt->pe = pe;
    attempt->number = number;
    attempt->began = now;
    *place = attempt;
    find_candidates(attempt, address, size);
    race(attempt, now);
}

/* ---- time ---- */

/* Acts on the first deadline of the attempt that has passed; the attempt may be gone then. */
static bool attempt_timer(struct tcp_attempt *attempt, uint64_t now)
{
    for (unsigned i = 0; i < attempt->tried; i++)
        if (attempt->talk[i] && sy_tcp_talk_late(attempt->talk[i], now))
            return true;
    if (now < attempt->due)
        return false;
    go_on(attempt, now);
    return true;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What comes of a deadline may end or begin any attempt, so that the bucket is begun again then. */
static void attempts_timer(uint64_t now)
{
    for (unsigned i = 0; i < BUCKETS; i++)
        for (struct tcp_attempt *each = attempts[i]; each;)
            each = attempt_timer(each, now) ? attempts[i] : each->next;
}

static uint64_t attempts_deadline(void)
{
    uint64_t deadline = UINT64_MAX;

    for (unsigned i = 0; i < BUCKETS; i++)
        for (const struct tcp_attempt *each = attempts[i]; each; each = each->next) {
            deadline = earlier(deadline, each->due);
            for (unsigned k = 0; k < each->tried; k++)
                if (each->talk[k])
                    deadline = earlier(deadline, each->talk[k]->deadline);
        }
    return deadline;
}

uint64_t sy_tcp_connect_timers(uint64_t now)
{
    if (now >= wake) {
        uint64_t guests = sy_tcp_guests_timer(now);
        attempts_timer(now);
        /* With thousands of attempts, not one look at all of them for each. */
        wake = earlier(guests, attempts_deadline());
        if (wake < now + TCP_MILLISECOND)
            wake = now + TCP_MILLISECOND;
    }
    return wake == UINT64_MAX ? UINT64_MAX : wake - now;
}

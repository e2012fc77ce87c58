/* See conn.h. An attempt tries the candidates of a peer one after the other: each has a head
 * start over the next, and the first one whose handshake succeeds is the connection. One to
 * which TCP has connected is alive, however long its handshake takes: the next has to wait for much
 * longer. Attempts and their pending connections are tables (ring.h): many begin at once and end
 * soon, which would leave the heap full of holes. */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "transports/tcp/ring.h"
#include "transports/tcp/conn/pending.h"
#include "util/net/io.h"
#include "util/net/way.h"

#define SMALL_SEGMENT 1200                  /* bytes that every path carries */
#define BUSY_WAIT     (5 * TCP_MILLISECOND) /* doubles with each refusal, */
#define BUSY_DOUBLED  6                     /* so many times */
#define BUSY_TIME     (2 * TCP_SECOND) /* after which an attempt no longer keeps the peer's away */
#define REFUSALS      20

struct tcp_attempt {
    struct tcp_net *net;
    LIST_ENTRY(tcp_attempt) link; /* in the list of all, the latest first */
    struct tcp_contact *contact;
    struct tcp_stream *stream;
    int pe;
    unsigned number;
    struct sy_race race; /* of the candidates; due: also when the waiting ends */
    const char *nowhere; /* why there are none, or NULL */
    struct tcp_pending *pending[TCP_CANDIDATES];
    bool answered;     /* TCP has connected to one */
    bool confirmed;    /* CONFIRM has been made: one connection is left */
    bool waiting;      /* for the connection of the peer, which refused ours as busy */
    unsigned refusals; /* as busy */
    uint64_t began;
};

uint64_t sy_tcp_until(struct tcp_net *net, uint64_t deadline)
{
    if (deadline < net->wake) {
        net->wake = deadline;
        sy_tcp_watches_wake(net->set);
    }
    return deadline;
}

unsigned sy_tcp_attempts_since(struct tcp_net *net, uint64_t since)
{
    const struct tcp_attempt *each;
    unsigned count = 0;

    LIST_FOREACH (each, &net->attempts, link)
        count += each->began > since && !each->waiting;
    return count;
}

bool sy_tcp_attempts_by_rule(struct tcp_net *net, uint64_t since)
{
    const struct tcp_attempt *each;

    LIST_FOREACH (each, &net->attempts, link)
        if (each->began > since && each->contact->first && sy_tcp_connects(net, each->pe))
            return true;
    return false;
}

/* ---- ends ---- */

void sy_tcp_attempt_gone(struct tcp_pending *pending)
{
    pending->attempt->pending[pending->candidate] = NULL;
    pending->attempt->race.open--;
    sy_tcp_table_close(pending, sizeof *pending);
}

static void connect_drop_pending(struct tcp_attempt *attempt, const struct tcp_pending *except)
{
    for (unsigned i = 0; i < attempt->race.begun; i++)
        if (attempt->pending[i] && attempt->pending[i] != except)
            sy_tcp_pending_close(attempt->pending[i]);
}

/* Ends an attempt; the next in the queue may have its turn. */
void sy_tcp_attempt_end(struct tcp_net *net, struct tcp_contact *contact)
{
    struct tcp_attempt *attempt = contact->attempt;

    contact->stream = NULL;
    if (!attempt)
        return;
    connect_drop_pending(attempt, NULL);
    LIST_REMOVE(attempt, link);
    contact->attempt = NULL;
    sy_tcp_table_close(attempt, sizeof *attempt);
    sy_tcp_turns_go_on(net);
}

void sy_tcp_attempts_end(struct tcp_net *net)
{
    while (!LIST_EMPTY(&net->attempts))
        sy_tcp_attempt_end(net, LIST_FIRST(&net->attempts)->contact);
}

void sy_tcp_connect_cancel(struct tcp_net *net, struct tcp_stream *stream, int pe, unsigned number)
{
    struct tcp_contact *contact = sy_tcp_contact(net, (uint32_t)pe, number);

    if (contact)
        sy_tcp_attempt_end(net, contact);
    sy_tcp_incoming_cancel(net, stream);
}

static void connect_give_up(struct tcp_attempt *attempt)
{
    struct tcp_net *net = attempt->net;
    struct tcp_stream *stream = attempt->stream;
    char note[SY_RACE_TEXT];
    const char *why = sy_race_text(&attempt->race, note);
    unsigned seen = attempt->race.seen;

    if (attempt->nowhere)
        why = attempt->nowhere;
    net->host->log(SY_LOG_DEBUG, "tcp", "stream %u cannot connect to PE %d: %s", attempt->number,
                   attempt->pe, why);
    sy_tcp_attempt_end(net, attempt->contact);
    net->user.unreachable(stream, why, seen);
}

/* ---- the candidates ---- */

/* Opens a socket and begins to connect it: 0 or -errno. */
static int connect_open_pending(struct tcp_pending *pending)
{
    int fd;

    do
        fd = socket(pending->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    while (fd < 0 && sy_tcp_incoming_makes_room(pending->net));
    if (fd < 0)
        return -errno;
    pending->watch = (struct tcp_watch){.fd = fd, .event = sy_tcp_pending_event, .owner = pending};
    pending->connecting = true;
    sy_count(&pending->net->counters->tried, 1);
    sy_tcp_pending_tune(pending->net, fd);
    sy_tcp_pending_congest(pending->net, fd, &pending->address, false);
    if (pending->net->user.narrow(pending->attempt->stream))
        setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &(int){SMALL_SEGMENT}, sizeof(int));
    int rc = sy_net_begin(fd, &pending->address);
    if (!rc)
        rc = sy_tcp_pending_begin(pending);
    if (rc)
        close(fd);
    return rc;
}

static void connect_begin_candidate(struct tcp_attempt *attempt, uint64_t now)
{
    struct tcp_net *net = attempt->net;
    unsigned i = attempt->race.begun - 1;
    struct tcp_pending *pending = sy_tcp_table_open(sizeof *pending);
    struct tcp_self self = sy_tcp_self(net);
    int rc = -ENOMEM;

    if (pending) {
        attempt->pending[i] = pending;
        pending->net = attempt->net;
        pending->attempt = attempt;
        pending->candidate = i;
        pending->address = attempt->race.address[i];
        pending->began = attempt->began;
        pending->deadline = now +
                            sy_tcp_patience(net, (uint64_t)(net->settings->connect_timeout * 1e9));
        /* It grows with time, so it grows even if this PE opens the transport again. */
        net->serial = net->serial < now ? now : net->serial + 1;
        rc = sy_tcp_say_hello(&pending->transcript, &self, attempt->pe, attempt->number,
                              attempt->refusals, net->serial);
    }
    if (!rc)
        rc = connect_open_pending(pending);
    if (rc) {
        attempt->pending[i] = NULL;
        attempt->race.open--;
        sy_race_note(&attempt->race, i, sy_way_seen(-rc),
                     rc == -EINVAL ? "a route of this host forbids it" : strerror(-rc));
        sy_tcp_table_close(pending, sizeof *pending);
        return;
    }
    sy_tcp_until(net, pending->deadline);
}

/* Begins to connect to the candidates whose turn has come. If all have failed, the attempt is due.
 */
static void connect_race(struct tcp_attempt *attempt, uint64_t now)
{
    while (sy_race_next(&attempt->race, now))
        connect_begin_candidate(attempt, now);
    sy_tcp_until(attempt->net, attempt->race.due);
}

static void connect_go_on(struct tcp_attempt *attempt, uint64_t now)
{
    attempt->waiting = false;
    connect_race(attempt, now);
    if (!attempt->race.open)
        connect_give_up(attempt);
}

uint64_t sy_tcp_attempt_answered(struct tcp_attempt *attempt, uint64_t now)
{
    struct tcp_net *net = attempt->net;
    uint64_t patience = sy_tcp_patience(net, TCP_HANDSHAKE_TIME);

    attempt->answered = true;
    sy_race_answered(&attempt->race, now, patience);
    return attempt->contact->first || sy_tcp_pending_is_probed(net) ? UINT64_MAX : now + patience;
}

bool sy_tcp_attempt_is_silent(struct tcp_net *net, int pe, unsigned number)
{
    const struct tcp_contact *contact = sy_tcp_contact(net, (uint32_t)pe, number);
    const struct tcp_attempt *attempt = contact ? contact->attempt : NULL;

    for (unsigned i = 0; attempt && i < attempt->race.begun; i++)
        if (attempt->pending[i] && sy_tcp_pending_is_silent(attempt->pending[i]))
            return true;
    return false;
}

void sy_tcp_attempt_failed(struct tcp_attempt *attempt, unsigned candidate, int code,
                           const char *words)
{
    unsigned seen = code == ETIME             ? TCP_SEEN_SILENT
                    : code == EPROTONOSUPPORT ? TCP_SEEN_VERSION
                                              : sy_way_seen(code);

    /* The peer left it at CONFIRM: it has made one for a connection of its own, and comes first. */
    if (attempt->confirmed && !sy_tcp_connects(attempt->net, attempt->pe)) {
        attempt->race.seen |= seen;
        sy_tcp_attempt_refused(attempt, candidate);
        return;
    }
    attempt->answered = attempt->confirmed = false;
    for (unsigned i = 0; i < attempt->race.begun; i++)
        attempt->answered |= attempt->pending[i] && !attempt->pending[i]->connecting;
    sy_race_note(&attempt->race, candidate, seen, words);
    connect_go_on(attempt, sy_tcp_now());
}

/* When a refused attempt looks again. The first waits are short, since this PE may only think that
 * it was refused: the network can have reset its connection. */
static uint64_t connect_look_again(const struct tcp_attempt *attempt, uint64_t now)
{
    unsigned times = attempt->refusals < BUSY_DOUBLED ? attempt->refusals : BUSY_DOUBLED;

    return now + sy_tcp_patience(attempt->net, BUSY_WAIT << times);
}

/* Waits for the peer's connection, then tries again, first over the address that was answered. */
void sy_tcp_attempt_refused(struct tcp_attempt *attempt, unsigned candidate)
{
    struct tcp_net *net = attempt->net;

    connect_drop_pending(attempt, NULL);
    attempt->answered = attempt->confirmed = false;
    sy_count(&net->counters->busy, 1);
    if (++attempt->refusals > REFUSALS) {
        sy_race_note(&attempt->race, candidate, 0,
                     "connects to this PE, but no connection of it gets through");
        connect_give_up(attempt);
        return;
    }
    attempt->waiting = true;
    sy_race_again(&attempt->race, candidate,
                  sy_tcp_until(net, connect_look_again(attempt, sy_tcp_now())));
}

struct tcp_stream *sy_tcp_attempt_confirm(struct tcp_pending *pending)
{
    struct tcp_attempt *attempt = pending->attempt;

    connect_drop_pending(attempt, pending);
    attempt->confirmed = true;
    attempt->race.due = UINT64_MAX;
    return attempt->stream;
}

enum tcp_progress sy_tcp_attempt_progress(struct tcp_net *net, const struct tcp_contact *contact)
{
    const struct tcp_attempt *attempt = contact->attempt;

    if (!attempt)
        return TCP_ATTEMPT_NONE;
    if (attempt->confirmed)
        return TCP_ATTEMPT_CONFIRMED;
    return attempt->answered && sy_tcp_now() - attempt->began < sy_tcp_patience(net, BUSY_TIME)
               ? TCP_ATTEMPT_ANSWERED
               : TCP_ATTEMPT_SEEKS;
}

/* Finds out where to try; returns why there is nowhere, or NULL. */
static const char *connect_find_candidates(struct tcp_attempt *attempt)
{
    const char *interfaces = attempt->net->settings->interfaces;
    struct tcp_record record;

    if (!sy_tcp_record_read(&record, attempt->contact->address, attempt->contact->size))
        return "the address that it published is malformed";
    attempt->race.count = sy_tcp_candidates(&record, attempt->net->record.machine,
                                            attempt->net->mine, attempt->net->mine_count,
                                            attempt->race.address);
    if (attempt->number && attempt->race.count)
        sy_tcp_candidates_spread(attempt->race.address, attempt->race.count, attempt->net->mine,
                                 attempt->net->mine_count,
                                 *interfaces != '!' && strcmp(interfaces, "auto") != 0,
                                 attempt->number);
    return attempt->race.count
               ? NULL
               : "it listens on addresses that reach its own machine only, or that this machine "
                 "has too; choose others there with SHMEM_TCP_INTERFACES";
}

void sy_tcp_attempt_start(struct tcp_net *net, struct tcp_contact *contact,
                          struct tcp_stream *stream)
{
    struct tcp_attempt *attempt = sy_tcp_table_open(sizeof *attempt);
    uint64_t now = sy_tcp_now();

    if (!attempt) {
        net->host->lost(sy_tcp_contact_pe(net, contact), ENOMEM, "no memory to connect to it");
        return;
    }
    attempt->net = net;
    attempt->contact = contact;
    attempt->stream = stream;
    attempt->pe = sy_tcp_contact_pe(net, contact);
    attempt->number = sy_tcp_contact_number(net, contact);
    attempt->began = now;
    LIST_INSERT_HEAD(&net->attempts, attempt, link);
    contact->attempt = attempt;
    attempt->nowhere = connect_find_candidates(attempt);
    connect_race(attempt, now);
}

/* ---- time ---- */

/* Acts on the first deadline of the attempt that has passed; the attempt may be gone then. */
static bool connect_attempt_timer(struct tcp_attempt *attempt, uint64_t now)
{
    for (unsigned i = 0; i < attempt->race.begun; i++)
        if (attempt->pending[i] && sy_tcp_pending_late(attempt->pending[i], now))
            return true;
    if (now < attempt->race.due)
        return false;
    if (attempt->waiting && sy_tcp_contact_comes(attempt->net, attempt->contact, now))
        attempt->race.due = connect_look_again(attempt, now);
    else
        connect_go_on(attempt, now);
    return true;
}

/* Acting on a deadline may end or begin any attempt, so the list is gone through anew each time. */
void sy_tcp_attempts_timer(struct tcp_net *net, uint64_t now)
{
    for (struct tcp_attempt *each = LIST_FIRST(&net->attempts); each;)
        each = connect_attempt_timer(each, now) ? LIST_FIRST(&net->attempts)
                                                : LIST_NEXT(each, link);
}

uint64_t sy_tcp_attempts_deadline(struct tcp_net *net)
{
    uint64_t deadline = UINT64_MAX;
    const struct tcp_attempt *each;

    LIST_FOREACH (each, &net->attempts, link) {
        deadline = sy_tcp_earlier(deadline, each->race.due);
        for (unsigned k = 0; k < each->race.begun; k++)
            if (each->pending[k])
                deadline = sy_tcp_earlier(deadline, each->pending[k]->deadline);
    }
    return deadline;
}

/* A talk: a socket on which greetings go on. Inside of what connect.h offers:
 *
 * turns.c    which side of a pair connects, and when: the queue of lanes that are to be connected
 * connect.c  attempts: the addresses of a peer are tried
 * listen.c   listening and accepting
 * guests.c   the talks that others have opened
 * talk.c     leads a talk
 *
 * Two PEs that connect to each other at once: the connection of the one that is to connect by
 * sy_tcp_connects stays. That PE refuses the other as busy, for a while; the other waits for it.
 * Whatever is adopted ends everything else that goes on for the same lane, so that positions once
 * told are never used later. */
#ifndef TCP_TALK_H
#define TCP_TALK_H

#include "transports/tcp/candidates.h"
#include "transports/tcp/greeting.h"
#include "transports/tcp/poll.h"
#include "transports/tcp/settings.h"

#define TCP_MILLISECOND   UINT64_C(1000000)
#define TCP_SECOND        UINT64_C(1000000000)
#define TCP_GREETING_TIME (5 * TCP_SECOND) /* for the greetings of a connection; see patience */

struct tcp_attempt;
struct tcp_guest_chunk;
struct tcp_net;

struct tcp_talk {
    struct tcp_net *net;
    struct tcp_watch watch;
    uint32_t events;             /* that the watch waits for; 0: it is not in the set yet */
    bool connecting;             /* TCP is */
    bool looked;                 /* the deadline has passed once */
    bool sending;                /* the last greeting; otherwise receiving the next */
    struct tcp_attempt *attempt; /* NULL: a guest */
    unsigned candidate;          /* of the attempt */
    struct tcp_lane *lane;       /* frozen, once the peer has proved itself */
    struct sockaddr_storage address;
    uint64_t began, deadline;
    uint64_t connected; /* since when */
    struct tcp_transcript transcript;
    struct tcp_greeting in;
    size_t done; /* bytes of the greeting that is being sent or received */

    /* Of a guest: */
    struct tcp_talk *next, **link; /* in its list, and what points at it there */
    struct tcp_contact *contact;   /* whom it has introduced itself as; NULL: a stranger so far */
    struct tcp_talk *sibling;      /* the next guest of that contact */
    uint16_t *source;              /* how many strangers there are from where it comes */
};

/* What is known of a lane that there is or could be: one for each PE and number, at rest 0. */
struct tcp_contact {
    struct tcp_attempt *attempt; /* this PE connects it; NULL: not at present */
    struct tcp_talk *guests;     /* by which the peer does, the latest first */
    uint64_t serial;             /* of the last HELLO from there */
    struct tcp_lane *lane;       /* waits for its turn to be connected; NULL: does not */
    const void *address;         /* that the peer published */
    size_t size;
    struct tcp_contact *next; /* in the queue */
    bool queued;              /* it is there */
    bool first;               /* the lane has not been connected before */
};

/* How many connections were begun and accepted, and what became of them. */
struct tcp_counts {
    unsigned tried, accepted, made;
    unsigned refused; /* as busy, by either side */
    unsigned replays; /* of a HELLO */
    unsigned evicted; /* strangers that made room */
    uint64_t slowest; /* nanoseconds from connecting to the last greeting */
};

/* Lets one line through at a time, and counts the others. */
struct tcp_limiter {
    uint64_t next;
    unsigned held;
};

struct tcp_queue {
    struct tcp_contact *first, **last;
    unsigned count;
};

struct tcp_turns {
    struct tcp_contact *contact; /* lane number * npes + PE */
    struct tcp_queue mine, theirs;
    uint64_t seen; /* how long a connection takes, a moving average */
    uint64_t last; /* when one was made */
};

#define TCP_SOURCES 1024 /* counts of strangers, by a hash of where they come from */

struct tcp_guest_list {
    struct tcp_talk *first, **last;
};

struct tcp_guests {
    struct tcp_guest_list strangers, introduced; /* the oldest first */
    unsigned count, stranger_count;
    uint16_t from[TCP_SOURCES];
    struct tcp_guest_chunk *chunks;
    struct tcp_talk *unused;
    struct tcp_limiter failed, turned_away;
};

/* All that an instance has for making connections. Under the poll lock. */
struct tcp_net {
    struct tcp *tcp;
    const struct sy_host *host;
    const struct tcp_settings *settings;
    struct tcp_poll *poll;
    /* listen.c */
    struct sy_interface *mine; /* all addresses of this machine */
    size_t mine_count;
    struct tcp_record record;
    struct tcp_watch listener[TCP_ENDPOINTS];
    unsigned listeners;
    int reserve;     /* a descriptor to be given up so that a connection can be turned away */
    uint64_t paused; /* until when nothing is accepted; 0: accepting */
    struct tcp_limiter descriptors;
    /* the others */
    struct tcp_turns turns;
    struct tcp_guests guests;
    struct tcp_attempt *attempts;
    uint64_t serial; /* of the last HELLO */
    uint64_t wake;   /* no deadline is earlier */
    struct tcp_counts counts;
};

/* Whose word counts, for greeting.h. */
struct tcp_self sy_tcp_self(struct tcp_net *net);

/* A deadline is set: returns it. */
uint64_t sy_tcp_until(struct tcp_net *net, uint64_t deadline);

/* ---- turns.c ---- */

int sy_tcp_turns_open(struct tcp_net *net, struct sy_error *err);
void sy_tcp_turns_close(struct tcp_net *net);

/* NULL: there can be no such lane. */
struct tcp_contact *sy_tcp_contact(struct tcp_net *net, uint32_t pe, uint32_t number);
int sy_tcp_contact_pe(struct tcp_net *net, const struct tcp_contact *contact);
unsigned sy_tcp_contact_number(struct tcp_net *net, const struct tcp_contact *contact);

/* Whether this PE is the one that connects, of the two that both want to. */
bool sy_tcp_connects(struct tcp_net *net, int pe);

/* A connection has been made, after so many nanoseconds. */
void sy_tcp_turns_made(struct tcp_net *net, uint64_t took);

/* `least` nanoseconds; more where connections have been seen to take long. */
uint64_t sy_tcp_patience(struct tcp_net *net, uint64_t least);

/* Whether the peer is connecting it, as far as one can tell now. */
bool sy_tcp_contact_comes(struct tcp_net *net, const struct tcp_contact *contact, uint64_t now);

/* An attempt has ended: others may begin. */
void sy_tcp_turns_go_on(struct tcp_net *net);

/* Begins the attempts whose turn has come; returns when to look again, or UINT64_MAX. */
uint64_t sy_tcp_turns_timer(struct tcp_net *net, uint64_t now);

/* ---- talk.c ---- */

/* Sets the options that every connection has; accepted ones have them from the listening socket. */
void sy_tcp_talk_tune(struct tcp_net *net, int fd);

/* TCP is connecting: says HELLO if it has connected already, and watches the socket. 0 or -errno.
 */
int sy_tcp_talk_begin(struct tcp_talk *talk);

/* Goes on as far as the socket allows. */
void sy_tcp_talk_event(struct tcp_watch *watch, uint32_t events);

/* Ends with the socket closed. */
void sy_tcp_talk_close(struct tcp_talk *talk);

/* Of an attempt: connected, and not greeted for a while. */
bool sy_tcp_talk_ungreeted(const struct tcp_talk *talk);

/* Ends as failed if its deadline has passed, but looks once more first whether the other side has
 * spoken: it may be this PE that has not run. True: any talk may have ended. */
bool sy_tcp_talk_late(struct tcp_talk *talk, uint64_t now);

/* ---- connect.c ---- */

/* Begins to connect the lane of a contact. */
void sy_tcp_attempt_start(struct tcp_net *net, struct tcp_contact *contact, struct tcp_lane *lane);

/* How many attempts that began after `since` go on, and whether one of them is by the rule. */
unsigned sy_tcp_attempts_since(struct tcp_net *net, uint64_t since);
bool sy_tcp_attempts_by_rule(struct tcp_net *net, uint64_t since);

/* The talk is over, and is freed. */
void sy_tcp_attempt_gone(struct tcp_talk *talk);

/* TCP has connected to a candidate, which lives therefore: no other is tried for a while. Returns
 * until when the greetings may take. */
uint64_t sy_tcp_attempt_answered(struct tcp_attempt *attempt, uint64_t now);

/* What a failed talk means to the attempt: the next candidate, or the end. */
void sy_tcp_attempt_failed(struct tcp_attempt *attempt, unsigned candidate, int code,
                           const char *words);

/* The peer's own connection is to come first. */
void sy_tcp_attempt_refused(struct tcp_attempt *attempt, unsigned candidate);

/* The peer has proved itself: the other talks of the attempt end. Returns the lane. */
struct tcp_lane *sy_tcp_attempt_confirm(struct tcp_talk *talk);

/* What this PE's own attempt at a lane is doing. */
enum tcp_progress {
    TCP_ATTEMPT_NONE,
    TCP_ATTEMPT_SEEKS,    /* no address has answered, or the time in which one should is over */
    TCP_ATTEMPT_ANSWERED, /* TCP has connected */
    TCP_ATTEMPT_CONFIRMED
};
enum tcp_progress sy_tcp_attempt_progress(struct tcp_net *net, const struct tcp_contact *contact);

/* Without a word: the attempt at one lane, or its wish for one; all attempts. */
void sy_tcp_attempt_end(struct tcp_net *net, struct tcp_contact *contact);
void sy_tcp_attempts_end(struct tcp_net *net);

/* ---- listen.c ---- */

/* Accepts what waits, so that it is known who connects to this PE. */
void sy_tcp_listen_accept(struct tcp_net *net);

/* Acts on deadlines; returns the next one, or UINT64_MAX. */
uint64_t sy_tcp_listen_timer(struct tcp_net *net, uint64_t now);

/* Where a peer is tried that published this: how many. */
unsigned sy_tcp_listen_candidates(struct tcp_net *net, const struct tcp_record *peer,
                                  struct sockaddr_storage out[TCP_CANDIDATES]);

/* ---- guests.c ---- */

void sy_tcp_guests_init(struct tcp_net *net);

/* A talk on an accepted socket; NULL: no memory. */
struct tcp_talk *sy_tcp_guest_open(struct tcp_net *net, int fd,
                                   const struct sockaddr_storage *address);

/* It has said a HELLO that was never heard before. */
void sy_tcp_guest_introduced(struct tcp_talk *talk, struct tcp_contact *contact);

/* Closes a stranger's connection; false: there is none. */
bool sy_tcp_guests_evict(struct tcp_net *net);

/* The talk is over; its place is free. */
void sy_tcp_guest_gone(struct tcp_talk *talk);

void sy_tcp_guest_failed(struct tcp_talk *talk, const char *words);

/* A guest is turned away, which does what `words` say. */
void sy_tcp_guest_turned_away(struct tcp_talk *talk, const char *words);

/* Ends the talks of guests for a lane, but for one. */
void sy_tcp_guests_drop(struct tcp_contact *contact, const struct tcp_talk *except);

/* Ends the talks of guests that have frozen this lane. */
void sy_tcp_guests_cancel(struct tcp_net *net, const struct tcp_lane *lane);

/* Acts on deadlines; returns the next one, or UINT64_MAX. */
uint64_t sy_tcp_guests_timer(struct tcp_net *net, uint64_t now);

void sy_tcp_guests_close(struct tcp_net *net);

/* Whether the limiter lets a line through; *held: those before it that it did not. */
bool sy_tcp_may_log(struct tcp_limiter *limiter, unsigned *held);

#endif

/* Inside of the conn layer: a pending connection is a socket on which the handshake goes on.
 *
 * Two PEs that connect to each other at once: the connection of the one that is to connect by
 * sy_tcp_connects stays. That PE refuses the other as busy, for a while; the other waits for it.
 * Whatever is adopted ends everything else that goes on for the same stream, so that positions once
 * told are never used later. */
#ifndef TCP_CONN_PENDING_H
#define TCP_CONN_PENDING_H

#include <sys/queue.h>

#include "transports/tcp/conn/candidates.h"
#include "transports/tcp/conn/handshake.h"

struct tcp_pending {
    struct tcp_net *net;
    struct tcp_watch watch;
    uint32_t events;             /* that the watch waits for; 0: it is not in the set yet */
    bool connecting;             /* TCP is */
    bool looked;                 /* the deadline has passed once */
    bool sending;                /* the last message; otherwise receiving the next */
    struct tcp_attempt *attempt; /* NULL: an incoming one */
    unsigned candidate;          /* of the attempt */
    struct tcp_stream *stream;   /* frozen, once the peer has proved itself */
    struct sockaddr_storage address;
    uint64_t began, deadline;
    uint64_t connected; /* since when */
    struct tcp_transcript transcript;
    struct tcp_handshake in;
    size_t done; /* bytes of the message that is being sent or received */

    /* incoming connections only */
    TAILQ_ENTRY(tcp_pending) link; /* in its list */
    struct tcp_contact *contact;   /* whom it has introduced itself as; NULL: a stranger so far */
    struct tcp_pending *sibling;   /* the next one of that contact */
    uint16_t *source;              /* how many strangers there are from where it comes */
};

/* What is known of a stream that there is or could be: one for each PE and number, at rest 0. */
struct tcp_contact {
    struct tcp_attempt *attempt;  /* this PE connects it; NULL: not at present */
    struct tcp_pending *incoming; /* by which the peer does, the latest first */
    uint64_t serial;              /* of the last HELLO from there */
    struct tcp_stream *stream;    /* waits for its turn to be connected; NULL: does not */
    const void *address;          /* that the peer published */
    size_t size;
    STAILQ_ENTRY(tcp_contact) next; /* in the queue */
    bool queued;                    /* it is there */
    bool first;                     /* the stream has not been connected before */
    bool made;                      /* it has, from either side */
};

/* Lets lines through at intervals that double while there are more, and counts the others. */
struct tcp_limiter {
    uint64_t next, apart;
    unsigned held;
};

/* Those that wait for their turn to connect. */
struct tcp_contacts {
    STAILQ_HEAD(, tcp_contact) list;
    unsigned count;
};

struct tcp_turns {
    struct tcp_contact *contact; /* stream number * npes + PE */
    struct tcp_contacts mine, theirs;
    uint64_t seen; /* how long a connection takes, a moving average */
    uint64_t last; /* when one was made */
};

#define TCP_CONGESTION_NAME 16 /* bytes of the kernel's names, with the 0 */

#define TCP_SOURCES 1024 /* counts of strangers, by a hash of where they come from */

TAILQ_HEAD(tcp_incoming_list, tcp_pending);

struct tcp_incoming {
    struct tcp_incoming_list strangers, introduced; /* the oldest first */
    struct tcp_incoming_list unused;
    unsigned count, stranger_count;
    uint16_t from[TCP_SOURCES];
    struct tcp_incoming_chunk *chunks;
    struct tcp_limiter failed, turned_away;
};

/* All that an instance has for making connections. Under the poll lock. */
struct tcp_net {
    struct tcp_conn_user user;
    const struct sy_host *host; /* the user's, as are the next two */
    const struct tcp_settings *settings;
    struct tcp_watches *set;
    /* listen.c */
    struct sy_interface *mine; /* all addresses of this machine */
    size_t mine_count;
    struct tcp_record record;
    struct tcp_watch listener[TCP_ENDPOINTS];
    unsigned listeners;
    char congestion[TCP_CONGESTION_NAME]; /* the system's congestion control */
    int reserve;     /* a descriptor to be given up, so that a connection can be accepted; or -1 */
    uint64_t full;   /* when that was last done */
    uint64_t paused; /* until when nothing is accepted; 0: accepting */
    /* the others */
    struct tcp_turns turns;
    struct tcp_incoming incoming;
    LIST_HEAD(, tcp_attempt) attempts;
    uint64_t serial;               /* of the last HELLO */
    uint64_t wake;                 /* no deadline is earlier */
    struct tcp_counters *counters; /* the user's */
};

/* Whose word counts, for handshake.h. */
struct tcp_self sy_tcp_self(struct tcp_net *net);

/* A deadline is set: returns it. */
uint64_t sy_tcp_until(struct tcp_net *net, uint64_t deadline);

/* ---- turns.c ---- */

int sy_tcp_turns_open(struct tcp_net *net, struct sy_error *err);
void sy_tcp_turns_close(struct tcp_net *net);

/* NULL: there can be no such stream. */
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

/* Whether streams wait for their turn. What waits to be accepted then comes first, since the peer's
 * connection may be among it. */
bool sy_tcp_turns_wait(const struct tcp_net *net);

/* An attempt has ended: others may begin. */
void sy_tcp_turns_go_on(struct tcp_net *net);

/* Begins the attempts whose turn has come; returns when to look again, or UINT64_MAX. */
uint64_t sy_tcp_turns_timer(struct tcp_net *net, uint64_t now);

/* ---- pending.c ---- */

/* Whether the kernel finds out by itself that the machine at the other end is gone. */
bool sy_tcp_pending_is_probed(struct tcp_net *net);

/* Sets the options that every connection has; accepted ones have them from the listening socket. */
void sy_tcp_pending_tune(struct tcp_net *net, int fd);

/* Within this machine nothing is congested, and a congestion control that paces (BBR) costs a
 * third of the rate. Once a connection is there it is too late to choose another one. So a socket
 * that is to connect to this machine's own addresses has `reno`, as all that listen have; one that
 * has been accepted from elsewhere gets back what the system has. Refusals do not matter. */
void sy_tcp_pending_congest_listener(struct tcp_net *net, int fd);
void sy_tcp_pending_congest(const struct tcp_net *net, int fd, const struct sockaddr_storage *peer,
                            bool accepted);

/* TCP is connecting: says HELLO if it has connected already, and watches the socket. 0 or -errno.
 */
int sy_tcp_pending_begin(struct tcp_pending *pending);

/* Goes on as far as the socket allows. */
void sy_tcp_pending_event(struct tcp_watch *watch, uint32_t events);

/* Ends with the socket closed. */
void sy_tcp_pending_close(struct tcp_pending *pending);

/* Whether an attempt of this PE is connected and waits for the peer's part of the handshake, half a
 * second after it has connected: its own messages are the first and the third. */
bool sy_tcp_pending_is_silent(const struct tcp_pending *pending);

/* Ends as failed if its deadline has passed, but looks once more first whether the other side has
 * spoken: it may be this PE that has not run. True: any other may have ended. */
bool sy_tcp_pending_late(struct tcp_pending *pending, uint64_t now);

/* ---- connect.c ---- */

/* Begins to connect the stream of a contact. */
void sy_tcp_attempt_start(struct tcp_net *net, struct tcp_contact *contact,
                          struct tcp_stream *stream);

/* How many attempts that began after `since` go on, and whether one of them is by the rule. */
unsigned sy_tcp_attempts_since(struct tcp_net *net, uint64_t since);
bool sy_tcp_attempts_by_rule(struct tcp_net *net, uint64_t since);

/* The attempt is over, and is freed. */
void sy_tcp_attempt_gone(struct tcp_pending *pending);

/* TCP has connected to a candidate: no other one is tried for a while. Returns the time at which
 * the handshake must be over: at the first contact, and where the kernel finds out by itself
 * whether the peer's machine is still there, never. Each new connection would take a place in the
 * queue of a peer that accepts none, until its machine does not answer the next. */
uint64_t sy_tcp_attempt_answered(struct tcp_attempt *attempt, uint64_t now);

/* What a failed connection means to the attempt: the next candidate, or the end. */
void sy_tcp_attempt_failed(struct tcp_attempt *attempt, unsigned candidate, int code,
                           const char *words);

/* The peer has refused: its own connection is to come first. */
void sy_tcp_attempt_refused(struct tcp_attempt *attempt, unsigned candidate);

/* The peer has proved itself: the other connections of the attempt end. Returns the stream. */
struct tcp_stream *sy_tcp_attempt_confirm(struct tcp_pending *pending);

/* Acts on deadlines of attempts; the next one, or UINT64_MAX. */
void sy_tcp_attempts_timer(struct tcp_net *net, uint64_t now);
uint64_t sy_tcp_attempts_deadline(struct tcp_net *net);

static inline uint64_t sy_tcp_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What this PE's own attempt at a stream is doing. */
enum tcp_progress {
    TCP_ATTEMPT_NONE,
    TCP_ATTEMPT_SEEKS,    /* no address has answered, or the time in which one should is over */
    TCP_ATTEMPT_ANSWERED, /* TCP has connected */
    TCP_ATTEMPT_CONFIRMED
};
enum tcp_progress sy_tcp_attempt_progress(struct tcp_net *net, const struct tcp_contact *contact);

/* Ends, without telling the stream, the attempt at one stream or its wish for one; all attempts. */
void sy_tcp_attempt_end(struct tcp_net *net, struct tcp_contact *contact);
void sy_tcp_attempts_end(struct tcp_net *net);

/* ---- incoming.c ---- */

void sy_tcp_incoming_init(struct tcp_net *net);

/* Makes a pending connection of an accepted socket; NULL: no memory. */
struct tcp_pending *sy_tcp_incoming_open(struct tcp_net *net, int fd,
                                         const struct sockaddr_storage *address);

/* The connection has sent a valid HELLO that was never received before: it is no stranger now. */
void sy_tcp_incoming_introduced(struct tcp_pending *pending, struct tcp_contact *contact);

/* Closes a stranger's connection; false: there is none. */
bool sy_tcp_incoming_evict(struct tcp_net *net);

/* Whether errno says that no descriptor was left, and a stranger's is free now. */
bool sy_tcp_incoming_makes_room(struct tcp_net *net);

/* Opens net->reserve where there is none. */
void sy_tcp_incoming_reserve(struct tcp_net *net);

/* The connection is over; its place is free. */
void sy_tcp_incoming_gone(struct tcp_pending *pending);

void sy_tcp_incoming_failed(struct tcp_pending *pending, const char *words);

/* Refuses a connection that has done what `words` say. */
void sy_tcp_incoming_turned_away(struct tcp_pending *pending, const char *words);

/* Whether the connection by which a PE of the job has introduced itself is on the last descriptor,
 * and is the first of its stream: it is turned away, and tries again. */
bool sy_tcp_incoming_is_short(struct tcp_net *net, const struct tcp_contact *contact);

/* Ends a contact's incoming connections, but for one. */
void sy_tcp_incoming_drop(struct tcp_contact *contact, const struct tcp_pending *except);

/* Ends incoming connections that have frozen this stream. */
void sy_tcp_incoming_cancel(struct tcp_net *net, const struct tcp_stream *stream);

/* Acts on deadlines; returns the next one, or UINT64_MAX. */
uint64_t sy_tcp_incoming_timer(struct tcp_net *net, uint64_t now);

void sy_tcp_incoming_close(struct tcp_net *net);

#endif

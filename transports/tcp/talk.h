/* A talk: a socket on which greetings go on. Inside of what connect.h offers: talk.c leads the
 * talk, listen.c has those that others opened, the guests; connect.c has those that this PE opened,
 * which belong to an attempt to connect a lane.
 *
 * Two PEs that connect to each other at once: the connection of the lower PE number stays. That PE
 * refuses the other as busy, for a while; the other waits for it. Whatever is adopted ends
 * everything else that goes on for the same lane, so that positions once told are never used later.
 */
#ifndef TCP_TALK_H
#define TCP_TALK_H

#include "transports/tcp/candidates.h"
#include "transports/tcp/greeting.h"
#include "transports/tcp/poll.h"

#define TCP_MILLISECOND   UINT64_C(1000000)
#define TCP_SECOND        UINT64_C(1000000000)
#define TCP_GREETING_TIME (5 * TCP_SECOND) /* for all greetings of a connection */

struct tcp_attempt;

struct tcp_talk {
    struct tcp_watch watch;
    uint32_t events;             /* that the watch waits for */
    bool used;                   /* a guest's place in the table */
    bool connecting;             /* TCP is */
    bool sending;                /* the last greeting; otherwise receiving the next */
    struct tcp_attempt *attempt; /* NULL: a guest */
    unsigned candidate;          /* of the attempt */
    struct tcp_lane *lane;       /* frozen, once the peer has proved itself */
    struct sockaddr_storage address;
    uint64_t began, deadline;
    struct tcp_transcript transcript;
    struct tcp_greeting in;
    size_t done; /* bytes of the greeting that is being sent or received */
};

/* Whose word counts, for greeting.h. */
struct tcp_self sy_tcp_self(void);

/* A deadline is set: returns it. */
uint64_t sy_tcp_until(uint64_t deadline);

/* ---- talk.c ---- */

/* Sets the options that every connection has. */
void sy_tcp_talk_tune(int fd);

/* Goes on as far as the socket allows. */
void sy_tcp_talk_event(struct tcp_watch *watch, uint32_t events);

/* Ends with the socket closed. */
void sy_tcp_talk_close(struct tcp_talk *talk);

/* Ends without success; the guest table or the attempt is told. Returns false, for `return`. */
bool sy_tcp_talk_failed(struct tcp_talk *talk, const char *words);

/* Ends as failed if its deadline has passed; whether it has. */
bool sy_tcp_talk_late(struct tcp_talk *talk, uint64_t now);

/* ---- connect.c ---- */

/* The talk is over, and is freed. */
void sy_tcp_attempt_gone(struct tcp_talk *talk);

/* What a failed talk means to the attempt: the next candidate, or the end. */
void sy_tcp_attempt_failed(struct tcp_attempt *attempt, unsigned candidate, const char *words);

/* The peer's own connection is to come first. */
void sy_tcp_attempt_refused(struct tcp_attempt *attempt, unsigned candidate);

/* The peer has proved itself: the other talks of the attempt end. Returns the lane. */
struct tcp_lane *sy_tcp_attempt_confirm(struct tcp_talk *talk);

/* What this PE's own attempt at a lane is doing. */
enum tcp_progress {
    TCP_ATTEMPT_NONE,
    TCP_ATTEMPT_RACING, /* for less than two seconds */
    TCP_ATTEMPT_OTHER,  /* for longer, or waiting for the peer */
    TCP_ATTEMPT_CONFIRMED
};
enum tcp_progress sy_tcp_attempt_progress(int pe, unsigned number);

/* Without a word: the attempt at one lane, or all. */
void sy_tcp_attempt_end(int pe, unsigned number);
void sy_tcp_attempts_end(void);

/* ---- listen.c ---- */

/* The talk is over; its place is free. */
void sy_tcp_guest_gone(struct tcp_talk *talk);

void sy_tcp_guest_failed(struct tcp_talk *talk, const char *words);

/* A guest who does not know the job's key. */
void sy_tcp_guest_forged(struct tcp_talk *talk);

/* Ends the talks of guests for a lane, but for one. */
void sy_tcp_guests_drop(int pe, unsigned number, const struct tcp_talk *except);

/* Ends the talks of guests that have frozen this lane. */
void sy_tcp_guests_cancel(const struct tcp_lane *lane);

/* Acts on deadlines; returns the next one, or UINT64_MAX. */
uint64_t sy_tcp_guests_timer(uint64_t now);

/* Where a peer is tried that published this: how many. */
unsigned sy_tcp_listen_candidates(const struct tcp_record *peer,
                                  struct sockaddr_storage out[TCP_CANDIDATES]);

#endif

/* See talk.h. Reads exactly the bytes of the greetings and not one of the frames behind them, which
 * are the lane's. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transports/tcp/outage.h"
#include "transports/tcp/talk.h"

#define UNGREETED (500 * TCP_MILLISECOND)
#define LAST_LOOK (100 * TCP_MILLISECOND)
#define HEAVY     32 /* PEs a processor, each of which adds a time of TCP_SILENCE */

struct tcp_self sy_tcp_self(struct tcp_net *net)
{
    return (struct tcp_self){net->host->job_key, (uint32_t)net->host->pe,
                             (uint32_t)net->host->npes};
}

static void talk_set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

/* Where very many PEs share a processor their kernel answers late too: its threads wait like
 * others.
 */
static double talk_silence(struct tcp_net *net)
{
    int times = net->host->load / HEAVY;

    return TCP_SILENCE * (times > 1 ? times : 1);
}

/* Each is a help only, so that a refusal is not an error. The user timeout is for what is sent, and
 * for probes too, in place of their count. */
void sy_tcp_talk_tune(struct tcp_net *net, int fd)
{
    int idle = (int)net->settings->keepalive;
    double patience = net->settings->reconnect_timeout < talk_silence(net)
                          ? net->settings->reconnect_timeout
                          : talk_silence(net);

    talk_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    talk_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, patience > 0.1 ? (int)(patience * 1000) : 100);
    if (net->settings->keepalive > 0) {
        talk_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle > 0 ? idle : 1);
        talk_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
        talk_set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
        talk_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
    if (net->settings->socket_buffer) {
        talk_set(fd, SOL_SOCKET, SO_SNDBUF, (int)net->settings->socket_buffer);
        talk_set(fd, SOL_SOCKET, SO_RCVBUF, (int)net->settings->socket_buffer);
    }
}

/* ---- ends ---- */

/* Gives up the talk, not its socket. */
static int talk_release(struct tcp_talk *talk)
{
    int fd = talk->watch.fd;

    if (talk->events)
        sy_tcp_watch_remove(&talk->watch);
    if (talk->attempt)
        sy_tcp_attempt_gone(talk);
    else
        sy_tcp_guest_gone(talk);
    return fd;
}

void sy_tcp_talk_close(struct tcp_talk *talk)
{
    close(talk_release(talk));
}

/* Ends without success; the guests or the attempt are told: by words, and by an errno value that
 * tells of the way, or 0. Returns false, for `return`. */
static bool talk_failed(struct tcp_talk *talk, int code, const char *words)
{
    struct tcp_attempt *attempt = talk->attempt;
    unsigned candidate = talk->candidate;

    if (attempt) {
        if (sy_tcp_talk_ungreeted(talk))
            code = ETIME;
        sy_tcp_talk_close(talk);
        sy_tcp_attempt_failed(attempt, candidate, code, words);
    } else {
        sy_tcp_guest_failed(talk, words);
    }
    return false;
}

bool sy_tcp_talk_ungreeted(const struct tcp_talk *talk)
{
    return !talk->connecting && talk->transcript.count == 1 &&
           sy_tcp_now() - talk->connected > UNGREETED;
}

bool sy_tcp_talk_late(struct tcp_talk *talk, uint64_t now)
{
    char words[60];

    if (now < talk->deadline)
        return false;
    if (!talk->looked) {
        talk->looked = true;
        talk->deadline = now + LAST_LOOK;
        sy_tcp_talk_event(&talk->watch, 0);
        return true;
    }
    if (talk->connecting)
        snprintf(words, sizeof words, "no answer within %.3g s",
                 talk->net->settings->connect_timeout);
    else
        snprintf(words, sizeof words, "a connection, but no greeting within %.0f s",
                 (double)(now - (talk->connected ? talk->connected : talk->began)) / 1e9);
    talk_failed(talk, ETIMEDOUT, words);
    return true;
}

/* Everything has been said: the socket goes to the lane, and whatever else goes on for it ends. */
static void talk_adopt(struct tcp_talk *talk)
{
    struct tcp_net *net = talk->net;
    const struct tcp_greeting *hello = &talk->transcript.greeting[0];
    bool connector = talk->attempt;
    const struct tcp_greeting *theirs = &talk->transcript.greeting[connector ? 3 : 2];
    struct tcp_positions positions = {theirs->requests, theirs->replies, theirs->hears};
    struct tcp_lane *lane = talk->lane;
    int pe = (int)(connector ? hello->to : hello->from);
    struct tcp_contact *contact = sy_tcp_contact(net, (uint32_t)pe, hello->lane);
    uint64_t took = sy_tcp_now() - talk->began;
    char text[SY_IP_TEXT];

    net->host->log(connector && took > TCP_SECOND ? SY_LOG_INFO : SY_LOG_DEBUG, "tcp",
                   "lane %u %s PE %d at %s, within %.1f ms", hello->lane,
                   connector ? "connected to" : "accepted from", pe,
                   sy_socket_text(&talk->address, text), (double)took / 1e6);
    unsigned char keys[32] = {0};
    struct tcp_self self = sy_tcp_self(net);
    if (positions.hears && sy_tcp_transcript_keys(&talk->transcript, &self, keys))
        positions.hears = 0;
    int fd = talk_release(talk);
    sy_tcp_turns_made(net, took);
    sy_tcp_attempt_end(net, contact);
    sy_tcp_guests_drop(contact, NULL);
    sy_tcp_lane_adopt(lane, fd, &positions, keys, connector);
    explicit_bzero(keys, sizeof keys);
}

/* ---- greetings ----
 * Functions that return bool: true when the talk goes on at once; otherwise it waits, or is over.
 */

static bool talk_wait_for(struct tcp_talk *talk, uint32_t events)
{
    int rc = 0;

    if (!talk->events)
        rc = sy_tcp_watch_add(talk->net->poll, &talk->watch, events);
    else if (talk->events != events)
        rc = sy_tcp_watch_change(&talk->watch, events);
    if (rc)
        return talk_failed(talk, 0, strerror(-rc));
    talk->events = events;
    return false;
}

/* Begins to send a greeting, if it could be made. */
static bool talk_say(struct tcp_talk *talk, int rc)
{
    if (rc)
        return talk_failed(talk, 0, strerror(-rc));
    talk->sending = true;
    talk->done = 0;
    return true;
}

/* One that has been heard before, or one that is older, is somebody's recording: it earns nothing,
 * not even a place to wait. A new one earns an answer and that place; only CONFIRM changes what
 * this PE has. */
static bool talk_on_hello(struct tcp_talk *talk, enum tcp_verdict verdict)
{
    struct tcp_net *net = talk->net;
    struct tcp_transcript *t = &talk->transcript;
    const struct tcp_greeting *hello = sy_tcp_last(t);
    struct tcp_contact *contact = sy_tcp_contact(net, hello->from, hello->lane);
    struct tcp_self self = sy_tcp_self(net);

    if (verdict == TCP_OTHER_VERSION)
        return talk_say(talk, sy_tcp_say_refuse(t, &self, TCP_REFUSE_VERSION));
    if (verdict != TCP_GOOD || !contact)
        return talk_say(talk, sy_tcp_say_refuse(t, &self, TCP_REFUSE_TARGET));
    if (hello->serial <= contact->serial) {
        net->counts.replays++;
        if (hello->serial < contact->serial)
            return talk_failed(talk, 0, "its HELLO is older than one that has come");
        sy_tcp_guest_turned_away(talk, "says what a PE of this job has said before");
        return false;
    }
    contact->serial = hello->serial;
    sy_tcp_guest_introduced(talk, contact);
    if (sy_tcp_connects(net, (int)hello->from) && hello->reason < TCP_HELLO_INSISTS &&
        sy_tcp_attempt_progress(net, contact) >= TCP_ATTEMPT_ANSWERED) {
        net->counts.refused++;
        return talk_say(talk, sy_tcp_say_refuse(t, &self, TCP_REFUSE_BUSY));
    }
    return talk_say(talk, sy_tcp_say_welcome(t, &self));
}

static bool talk_on_refuse(struct tcp_talk *talk)
{
    switch (sy_tcp_last(&talk->transcript)->reason) {
    case TCP_REFUSE_BUSY:
        sy_tcp_attempt_refused(talk->attempt, talk->candidate);
        return false;
    case TCP_REFUSE_TARGET:
        return talk_failed(talk, 0, "another PE of the job is there");
    default:
        return talk_failed(talk, 0, sy_tcp_verdict_words(TCP_OTHER_VERSION));
    }
}

static bool talk_on_welcome(struct tcp_talk *talk)
{
    struct tcp_self self = sy_tcp_self(talk->net);

    talk->lane = sy_tcp_attempt_confirm(talk);
    return talk_say(talk, sy_tcp_say_confirm(&talk->transcript, &self,
                                             sy_tcp_lane_freeze(talk->lane, talk->watch.fd)));
}

static bool talk_on_confirm(struct tcp_talk *talk)
{
    struct tcp_net *net = talk->net;
    const struct tcp_greeting *hello = &talk->transcript.greeting[0];
    int pe = (int)hello->from;
    struct tcp_contact *contact = talk->contact;
    struct tcp_self self = sy_tcp_self(net);

    /* Both have confirmed a connection of their own; the other side keeps this PE's. */
    if (sy_tcp_connects(net, pe) &&
        sy_tcp_attempt_progress(net, contact) == TCP_ATTEMPT_CONFIRMED) {
        sy_tcp_talk_close(talk);
        return false;
    }
    sy_tcp_guests_drop(contact, talk);
    talk->lane = sy_tcp_lane_find(net->tcp, pe, hello->lane);
    if (!talk->lane)
        return talk_failed(talk, 0, "there is no memory for another connection");
    return talk_say(talk, sy_tcp_say_resume(&talk->transcript, &self,
                                            sy_tcp_lane_freeze(talk->lane, talk->watch.fd)));
}

static bool talk_heard(struct tcp_talk *talk)
{
    struct tcp_self self = sy_tcp_self(talk->net);
    enum tcp_verdict verdict = sy_tcp_hear(&talk->transcript, &self, &talk->in);

    talk->done = 0;
    talk->looked = false;
    if (verdict == TCP_FORGED && !talk->attempt) {
        sy_tcp_guest_turned_away(talk, sy_tcp_verdict_words(TCP_FORGED));
        return false;
    }
    if (verdict == TCP_STRANGE || verdict == TCP_FORGED)
        return talk_failed(talk, 0, sy_tcp_verdict_words(verdict));
    if (talk->in.kind == TCP_HELLO)
        return talk_on_hello(talk, verdict);
    if (talk->in.kind == TCP_REFUSE)
        return talk_on_refuse(talk);
    if (verdict != TCP_GOOD)
        return talk_failed(talk, 0, sy_tcp_verdict_words(verdict));
    if (talk->in.kind == TCP_WELCOME)
        return talk_on_welcome(talk);
    if (talk->in.kind == TCP_CONFIRM)
        return talk_on_confirm(talk);
    talk_adopt(talk);
    return false;
}

static bool talk_said(struct tcp_talk *talk)
{
    unsigned kind = sy_tcp_last(&talk->transcript)->kind;

    talk->sending = false;
    talk->done = 0;
    if (kind == TCP_REFUSE)
        sy_tcp_talk_close(talk);
    else if (kind == TCP_RESUME)
        talk_adopt(talk);
    else
        return true;
    return false;
}

/* One system call. */
static bool talk_step(struct tcp_talk *talk)
{
    int fd = talk->watch.fd;
    char *bytes = talk->sending ? (char *)&talk->transcript.greeting[talk->transcript.count - 1]
                                : (char *)&talk->in;
    size_t left = sizeof talk->in - talk->done;
    ssize_t n = talk->sending ? send(fd, bytes + talk->done, left, MSG_NOSIGNAL)
                              : recv(fd, bytes + talk->done, left, 0);

    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return talk_wait_for(talk, talk->sending ? EPOLLOUT : EPOLLIN);
    if (n < 0)
        return talk_failed(talk, errno, strerror(errno));
    if (n == 0)
        return talk_failed(talk, 0,
                           talk->attempt && talk->transcript.count == 1
                               ? "it turned this PE away, being of another job or short "
                                 "of file descriptors"
                               : "it ended the connection");
    talk->done += (size_t)n;
    if (!talk->sending && !sy_tcp_greeting_plausible(bytes, talk->done))
        return talk_failed(talk, 0, sy_tcp_verdict_words(TCP_STRANGE));
    if (talk->done < sizeof talk->in)
        return true;
    return talk->sending ? talk_said(talk) : talk_heard(talk);
}

static void talk_answered(struct tcp_talk *talk)
{
    talk->connecting = false;
    talk->connected = sy_tcp_now();
    talk->deadline = sy_tcp_until(talk->net,
                                  sy_tcp_attempt_answered(talk->attempt, talk->connected));
}

/* TCP has connected, or has failed to, or is still at it. */
static bool talk_connected(struct tcp_talk *talk)
{
    struct sockaddr_storage peer;
    int code = 0;
    socklen_t length = sizeof code, size = sizeof peer;

    if (getsockopt(talk->watch.fd, SOL_SOCKET, SO_ERROR, &code, &length))
        code = errno;
    if (code)
        return talk_failed(talk, code, strerror(code));
    if (getpeername(talk->watch.fd, (struct sockaddr *)&peer, &size))
        return false;
    talk_answered(talk);
    return talk_say(talk, 0);
}

/* Within a machine TCP has connected when connect() returns, and there is room for what is sent. */
int sy_tcp_talk_begin(struct tcp_talk *talk)
{
    const struct tcp_greeting *hello = sy_tcp_last(&talk->transcript);
    ssize_t n = send(talk->watch.fd, hello, sizeof *hello, MSG_NOSIGNAL);

    talk->events = EPOLLOUT;
    if (n > 0) {
        talk_answered(talk);
        talk->sending = (size_t)n < sizeof *hello;
        talk->done = talk->sending ? (size_t)n : 0;
        talk->events = talk->sending ? EPOLLOUT : EPOLLIN;
    } else if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) {
        return -errno;
    }
    return sy_tcp_watch_add(talk->net->poll, &talk->watch, talk->events);
}

void sy_tcp_talk_event(struct tcp_watch *watch, uint32_t events)
{
    struct tcp_talk *talk = watch->owner;

    (void)events;
    if (talk->connecting && !talk_connected(talk))
        return;
    while (talk_step(talk))
        ;
}

/* See pending.h. Reads exactly the bytes of the handshake and not one of the frames behind them,
 * which are the stream's. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transports/tcp/conn/pending.h"
#include "util/net/io.h"

#define SILENT    (500 * TCP_MILLISECOND)
#define LAST_LOOK (100 * TCP_MILLISECOND)
#define HEAVY     32 /* PEs a processor, each of which adds a time of TCP_SILENCE */

struct tcp_self sy_tcp_self(struct tcp_net *net)
{
    return (struct tcp_self){net->host->job_key, (uint32_t)net->host->pe, (uint32_t)net->host->npes,
                             net->user.word};
}

static void pending_set(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

/* How many times TCP_SILENCE has to pass until the kernel ends a connection. Very many PEs that
 * share a processor get more, because their kernel answers late too. */
static int pending_patience(struct tcp_net *net)
{
    int times = net->host->load / HEAVY;

    return times > 1 ? times : 1;
}

bool sy_tcp_pending_is_probed(struct tcp_net *net)
{
    return net->settings->keepalive > 0 && pending_patience(net) == 1;
}

/* Sets the options of a connection. Each only helps, so a refusal is no error. The user timeout
 * holds for what is sent and for probes, in place of their count. The connections of very many PEs
 * are not probed: there would be more probes at once than a kernel's queue has room for, those that
 * it drops are repeated each second, and in the end sound connections are taken for broken ones. A
 * host that falls silent is then found by what is sent to it, or by the launcher. */
void sy_tcp_pending_tune(struct tcp_net *net, int fd)
{
    int idle = (int)net->settings->keepalive;
    int times = pending_patience(net);
    double patience = net->settings->reconnect_timeout < TCP_SILENCE * times
                          ? net->settings->reconnect_timeout
                          : TCP_SILENCE * times;

    pending_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    pending_set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, patience > 0.1 ? (int)(patience * 1000) : 100);
    if (sy_tcp_pending_is_probed(net)) {
        pending_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle > 0 ? idle : 1);
        pending_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
        pending_set(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
        pending_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    }
    if (net->settings->socket_buffer) {
        pending_set(fd, SOL_SOCKET, SO_SNDBUF, (int)net->settings->socket_buffer);
        pending_set(fd, SOL_SOCKET, SO_RCVBUF, (int)net->settings->socket_buffer);
    }
}

static bool pending_is_mine(const struct tcp_net *net, const struct sockaddr_storage *peer)
{
    struct sy_ip ip = sy_socket_ip(peer);

    for (size_t i = 0; i < net->mine_count; i++)
        if (sy_ip_equal(&net->mine[i].ip, &ip))
            return true;
    return false;
}

static void pending_set_congestion(int fd, const char *name)
{
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

void sy_tcp_pending_congest_listener(struct tcp_net *net, int fd)
{
    socklen_t length = sizeof net->congestion - 1;

    if (!getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, net->congestion, &length))
        pending_set_congestion(fd, "reno");
}

void sy_tcp_pending_congest(const struct tcp_net *net, int fd, const struct sockaddr_storage *peer,
                            bool accepted)
{
    if (pending_is_mine(net, peer) != accepted)
        pending_set_congestion(fd, accepted ? net->congestion : "reno");
}

/* ---- ends ---- */

/* Frees the pending connection, not its socket. */
static int pending_release(struct tcp_pending *pending)
{
    int fd = pending->watch.fd;

    if (pending->events)
        sy_tcp_watch_remove(&pending->watch);
    if (pending->attempt)
        sy_tcp_attempt_gone(pending);
    else
        sy_tcp_incoming_gone(pending);
    return fd;
}

void sy_tcp_pending_close(struct tcp_pending *pending)
{
    close(pending_release(pending));
}

/* Closes the connection as failed. The attempt, or the list of incoming ones, gets the reason in
 * words; code: errno of the path to the address, or 0. Returns false, for `return`. */
static bool pending_failed(struct tcp_pending *pending, int code, const char *words)
{
    struct tcp_attempt *attempt = pending->attempt;
    unsigned candidate = pending->candidate;

    if (attempt) {
        if (sy_tcp_pending_is_silent(pending))
            code = ETIME;
        sy_tcp_pending_close(pending);
        sy_tcp_attempt_failed(attempt, candidate, code, words);
    } else {
        sy_tcp_incoming_failed(pending, words);
    }
    return false;
}

static bool pending_rejected(struct tcp_pending *pending, enum tcp_verdict verdict)
{
    return pending_failed(pending, verdict == TCP_OTHER_VERSION ? EPROTONOSUPPORT : 0,
                          sy_tcp_verdict_words(verdict));
}

bool sy_tcp_pending_is_silent(const struct tcp_pending *pending)
{
    return !pending->connecting && pending->transcript.count % 2 &&
           sy_tcp_now() - pending->connected > SILENT;
}

bool sy_tcp_pending_late(struct tcp_pending *pending, uint64_t now)
{
    char words[60];

    if (now < pending->deadline)
        return false;
    if (!pending->looked) {
        pending->looked = true;
        pending->deadline = now + LAST_LOOK;
        sy_tcp_pending_event(&pending->watch, 0);
        return true;
    }
    if (pending->connecting)
        snprintf(words, sizeof words, "no answer within %.3g s",
                 pending->net->settings->connect_timeout);
    else
        snprintf(words, sizeof words, "a connection, but no handshake within %.0f s",
                 (double)(now - (pending->connected ? pending->connected : pending->began)) / 1e9);
    pending_failed(pending, ETIMEDOUT, words);
    return true;
}

/* The handshake is complete: the stream gets the socket, and its other pending connections end. */
static void pending_adopt(struct tcp_pending *pending)
{
    struct tcp_net *net = pending->net;
    const struct tcp_handshake *hello = &pending->transcript.message[0];
    bool connector = pending->attempt;
    const struct tcp_handshake *theirs = &pending->transcript.message[connector ? 3 : 2];
    struct tcp_positions positions = {theirs->requests, theirs->replies, theirs->udp_port};
    struct tcp_stream *stream = pending->stream;
    int pe = (int)(connector ? hello->to : hello->from);
    struct tcp_contact *contact = sy_tcp_contact(net, (uint32_t)pe, hello->stream);
    uint64_t took = sy_tcp_now() - pending->began;
    char text[SY_IP_TEXT];

    net->host->log(connector && took > TCP_SECOND ? SY_LOG_INFO : SY_LOG_DEBUG, "tcp",
                   "stream %u %s PE %d at %s, within %.1f ms", hello->stream,
                   connector ? "connected to" : "accepted from", pe,
                   sy_socket_text(&pending->address, text), (double)took / 1e6);
    unsigned char keys[32] = {0};
    struct tcp_self self = sy_tcp_self(net);
    if (positions.udp_port)
        sy_tcp_transcript_keys(&pending->transcript, &self, keys);
    int fd = pending_release(pending);
    contact->made = true;
    sy_tcp_turns_made(net, took);
    sy_tcp_attempt_end(net, contact);
    sy_tcp_incoming_drop(contact, NULL);
    net->user.adopt(stream, fd, &positions, keys, connector);
    explicit_bzero(keys, sizeof keys);
}

/* ---- the handshake ----
 * Functions that return bool: true when the handshake goes on at once; otherwise it waits, or is
 * over.
 */

static bool pending_wait_for(struct tcp_pending *pending, uint32_t events)
{
    int rc = 0;

    if (!pending->events)
        rc = sy_tcp_watch_add(pending->net->set, &pending->watch, events);
    else if (pending->events != events)
        rc = sy_tcp_watch_change(&pending->watch, events);
    if (rc)
        return pending_failed(pending, 0, strerror(-rc));
    pending->events = events;
    return false;
}

/* Begins to send a message, if it could be made. */
static bool pending_say(struct tcp_pending *pending, int rc)
{
    if (rc)
        return pending_failed(pending, 0, strerror(-rc));
    pending->sending = true;
    pending->done = 0;
    return true;
}

/* Takes a HELLO. One that has come before, or an older one, is somebody's recording and earns
 * nothing, not even a place to wait. A new one earns an answer and that place; only CONFIRM changes
 * the state of streams. */
static bool pending_on_hello(struct tcp_pending *pending, enum tcp_verdict verdict)
{
    struct tcp_net *net = pending->net;
    struct tcp_transcript *t = &pending->transcript;
    const struct tcp_handshake *hello = sy_tcp_last(t);
    struct tcp_contact *contact = sy_tcp_contact(net, hello->from, hello->stream);
    struct tcp_self self = sy_tcp_self(net);

    if (verdict == TCP_OTHER_VERSION)
        return pending_say(pending, sy_tcp_say_refuse(t, &self, TCP_REFUSE_VERSION));
    if (verdict != TCP_GOOD || !contact)
        return pending_say(pending, sy_tcp_say_refuse(t, &self, TCP_REFUSE_TARGET));
    if (hello->serial <= contact->serial) {
        sy_count(&net->counters->replays, 1);
        if (hello->serial < contact->serial)
            return pending_failed(pending, 0, "its HELLO is older than one that has come");
        sy_tcp_incoming_turned_away(pending, "says what a PE of this job has said before");
        return false;
    }
    contact->serial = hello->serial;
    sy_tcp_incoming_introduced(pending, contact);
    if (sy_tcp_incoming_is_short(net, contact))
        return pending_failed(pending, 0, "there is no file descriptor for it");
    if (sy_tcp_connects(net, (int)hello->from) && hello->reason < TCP_HELLO_INSISTS &&
        sy_tcp_attempt_progress(net, contact) >= TCP_ATTEMPT_ANSWERED) {
        sy_count(&net->counters->busy, 1);
        return pending_say(pending, sy_tcp_say_refuse(t, &self, TCP_REFUSE_BUSY));
    }
    return pending_say(pending, sy_tcp_say_welcome(t, &self));
}

static bool pending_on_refuse(struct tcp_pending *pending)
{
    switch (sy_tcp_last(&pending->transcript)->reason) {
    case TCP_REFUSE_BUSY:
        sy_tcp_attempt_refused(pending->attempt, pending->candidate);
        return false;
    case TCP_REFUSE_TARGET:
        return pending_failed(pending, 0, "another PE of the job is there");
    default:
        return pending_rejected(pending, TCP_OTHER_VERSION);
    }
}

/* Says how far the stream is, which stays there until the handshake is over. */
static bool pending_freeze(struct tcp_pending *pending, struct tcp_stream *stream)
{
    struct tcp_self self = sy_tcp_self(pending->net);

    pending->stream = stream;
    return pending_say(pending,
                       sy_tcp_say_positions(&pending->transcript, &self,
                                            pending->net->user.freeze(stream, pending->watch.fd)));
}

static bool pending_on_confirm(struct tcp_pending *pending)
{
    struct tcp_net *net = pending->net;
    const struct tcp_handshake *hello = &pending->transcript.message[0];
    int pe = (int)hello->from;
    struct tcp_contact *contact = pending->contact;

    /* Both have confirmed a connection of their own; the other side keeps this PE's. */
    if (sy_tcp_connects(net, pe) &&
        sy_tcp_attempt_progress(net, contact) == TCP_ATTEMPT_CONFIRMED) {
        sy_tcp_pending_close(pending);
        return false;
    }
    sy_tcp_incoming_drop(contact, pending);
    struct tcp_stream *stream = net->user.find(net->user.owner, pe, hello->stream);
    return stream ? pending_freeze(pending, stream)
                  : pending_failed(pending, 0, "there is no memory for another connection");
}

static bool pending_heard(struct tcp_pending *pending)
{
    struct tcp_self self = sy_tcp_self(pending->net);
    enum tcp_verdict verdict = sy_tcp_hear(&pending->transcript, &self, &pending->in);

    pending->done = 0;
    pending->looked = false;
    if (verdict == TCP_FORGED && !pending->attempt) {
        sy_tcp_incoming_turned_away(pending, sy_tcp_verdict_words(TCP_FORGED));
        return false;
    }
    if (verdict == TCP_STRANGE || verdict == TCP_FORGED)
        return pending_rejected(pending, verdict);
    if (pending->in.kind == TCP_HELLO)
        return pending_on_hello(pending, verdict);
    if (pending->in.kind == TCP_REFUSE)
        return pending_on_refuse(pending);
    if (verdict != TCP_GOOD)
        return pending_rejected(pending, verdict);
    if (pending->in.kind == TCP_WELCOME)
        return pending_freeze(pending, sy_tcp_attempt_confirm(pending));
    if (pending->in.kind == TCP_CONFIRM)
        return pending_on_confirm(pending);
    pending_adopt(pending);
    return false;
}

static bool pending_said(struct tcp_pending *pending)
{
    unsigned kind = sy_tcp_last(&pending->transcript)->kind;

    pending->sending = false;
    pending->done = 0;
    if (kind == TCP_REFUSE)
        sy_tcp_pending_close(pending);
    else if (kind == TCP_RESUME)
        pending_adopt(pending);
    else
        return true;
    return false;
}

/* Receives or sends with one system call. */
static bool pending_step(struct tcp_pending *pending)
{
    int fd = pending->watch.fd;
    char *bytes = pending->sending
                      ? (char *)&pending->transcript.message[pending->transcript.count - 1]
                      : (char *)&pending->in;
    size_t left = sizeof pending->in - pending->done;
    ssize_t n = pending->sending ? send(fd, bytes + pending->done, left, MSG_NOSIGNAL)
                                 : recv(fd, bytes + pending->done, left, 0);

    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN)
        return pending_wait_for(pending, pending->sending ? EPOLLOUT : EPOLLIN);
    if (n < 0)
        return pending_failed(pending, errno, strerror(errno));
    if (n == 0)
        return pending_failed(pending, 0,
                              pending->attempt && pending->transcript.count == 1
                                  ? "it turned this PE away, being of another job or short "
                                    "of file descriptors"
                                  : "it ended the connection");
    pending->done += (size_t)n;
    if (!pending->sending && !sy_tcp_handshake_plausible(bytes, pending->done))
        return pending_rejected(pending, TCP_STRANGE);
    if (pending->done < sizeof pending->in)
        return true;
    return pending->sending ? pending_said(pending) : pending_heard(pending);
}

static void pending_answered(struct tcp_pending *pending)
{
    pending->connecting = false;
    pending->connected = sy_tcp_now();
    pending->deadline = sy_tcp_until(pending->net,
                                     sy_tcp_attempt_answered(pending->attempt, pending->connected));
}

/* TCP has connected (true), has failed, or is still connecting. */
static bool pending_connected(struct tcp_pending *pending)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    int code = -sy_net_connected(pending->watch.fd);

    if (code)
        return pending_failed(pending, code, strerror(code));
    if (getpeername(pending->watch.fd, (struct sockaddr *)&peer, &size))
        return false;
    pending_answered(pending);
    return pending_say(pending, 0);
}

/* Within a machine TCP has connected when connect() returns, and there is room for what is sent. */
int sy_tcp_pending_begin(struct tcp_pending *pending)
{
    const struct tcp_handshake *hello = sy_tcp_last(&pending->transcript);
    ssize_t n = send(pending->watch.fd, hello, sizeof *hello, MSG_NOSIGNAL);

    pending->events = EPOLLOUT;
    if (n > 0) {
        pending_answered(pending);
        pending->sending = (size_t)n < sizeof *hello;
        pending->done = pending->sending ? (size_t)n : 0;
        pending->events = pending->sending ? EPOLLOUT : EPOLLIN;
    } else if (errno != EAGAIN && errno != EINTR && errno != ENOTCONN) {
        return -errno;
    }
    return sy_tcp_watch_add(pending->net->set, &pending->watch, pending->events);
}

void sy_tcp_pending_event(struct tcp_watch *watch, uint32_t events)
{
    struct tcp_pending *pending = watch->owner;

    (void)events;
    if (pending->connecting && !pending_connected(pending))
        return;
    while (pending_step(pending))
        ;
}

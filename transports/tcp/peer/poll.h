/* Who may run the plugin's epoll set.
 *
 * One thread at a time polls: it holds the poll lock, and all that receives, applies records, or
 * makes connections runs under it. A thread that does not get the lock leaves the work to the one
 * that has. */
#ifndef TCP_POLL_H
#define TCP_POLL_H

#include <switchyard/error.h>

#include "transports/tcp/conn/watch.h"

struct tcp;
struct tcp_stream;

#define TCP_HOT 2 /* streams that are read without asking */

struct tcp_poll {
    struct tcp_watches set;
    _Atomic bool lock;
    struct tcp_peer *hot[TCP_HOT];
    _Atomic unsigned turns;              /* polls; under lock, but for those who begin it anew */
    _Atomic bool wakeful;                /* the progress thread does not sleep on the set */
    _Atomic(struct tcp_peer *) expected; /* by a thread that did not get the lock */
};

int sy_tcp_poll_open(struct tcp *tcp, struct sy_error *err);

/* Sends what is gathered, receives and applies what has come, makes connections; never blocks. More
 * than 0 if something came; -1: another thread is polling, and the processor has been given away.
 */
long sy_tcp_poll(struct tcp *tcp);

/* sy_tcp_poll for a thread that expects something on one stream. */
long sy_tcp_poll_peer(struct tcp *tcp, struct tcp_peer *peer);

/* sy_tcp_poll for the progress thread, when the epoll set is readable or a time limit has passed:
 * asks epoll and reads only sockets that have an event. Returns whether there was one. */
bool sy_tcp_poll_event(struct tcp *tcp);

/* As struct sy_transport's member: threads sleep on the set's descriptor (true), or the progress
 * thread looks in now and then only. */
int sy_tcp_poll_sleeping(struct tcp *tcp, bool sleeps);

static inline bool sy_tcp_poll_may_sleep(const struct tcp_poll *poll)
{
    return !atomic_load(&poll->wakeful);
}

/* The poll lock, for a thread that must have it. */
void sy_tcp_poll_lock(struct tcp *tcp);
void sy_tcp_poll_unlock(struct tcp *tcp);

/* Reads from one stream; one that had something is read first next time, without asking epoll.
 * Under the poll lock. */
size_t sy_tcp_poll_read(struct tcp_peer *peer);

/* A stream's socket is closed. Under the poll lock and the stream's send lock. */
void sy_tcp_poll_forget(struct tcp_stream *stream);

#endif

/* The plugin's epoll set and who may poll it.
 *
 * One thread at a time polls: it holds the poll lock, and all that receives, applies records, or
 * makes connections runs under it. A thread that does not get the lock leaves the work to the one
 * that has. */
#ifndef TCP_POLL_H
#define TCP_POLL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <switchyard/error.h>
#include <sys/epoll.h>

struct tcp;
struct tcp_lane;

/* A descriptor in the epoll set. The callback runs under the poll lock. */
struct tcp_watch {
    int fd;
    struct tcp_poll *poll;                                   /* whose set it is in */
    void (*event)(struct tcp_watch *watch, uint32_t events); /* EPOLLIN, EPOLLOUT, ... */
    void *owner;                                             /* for the callback */
    bool left_out; /* of the set, since nothing is watched for at present */
};

#define TCP_HOT    2  /* lanes that are read without asking */
#define TCP_EVENTS 32 /* of one epoll_wait */

/* The set of an instance. */
struct tcp_poll {
    int fd;
    _Atomic bool lock;
    struct tcp_lane *hot[TCP_HOT];
    unsigned turns;
    struct tcp_watch timer;              /* expires when something has reached its time limit */
    _Atomic bool woken;                  /* by sy_tcp_poll_wake */
    _Atomic bool wakeful;                /* the progress thread does not sleep on `fd` */
    _Atomic(struct tcp_lane *) expected; /* by a thread that did not get the lock */
    struct epoll_event event[TCP_EVENTS];
    int events, next; /* of the epoll_wait whose events are being handled */
};

/* Adds, changes, removes. Level-triggered; no events at all: the kernel spends nothing on it. 0 or
 * -errno. Removing is safe from inside any callback:
 * no event of the removed watch is delivered afterwards. */
int sy_tcp_watch_add(struct tcp_poll *poll, struct tcp_watch *watch, uint32_t events);
int sy_tcp_watch_change(struct tcp_watch *watch, uint32_t events);
void sy_tcp_watch_remove(struct tcp_watch *watch);

/* What to say of a peer whose connection could not be added or changed. */
#define TCP_UNWATCHED                                                                              \
    "its connection cannot be watched; where there are too many, fs.epoll.max_user_watches "       \
    "allows more"

int sy_tcp_poll_open(struct tcp *tcp, struct sy_error *err);
void sy_tcp_poll_close(struct tcp *tcp);

/* Sends what is gathered, receives and applies what has come, makes connections; never blocks. More
 * than 0 if something came; -1: another thread is polling, and the processor has been given away.
 */
long sy_tcp_poll(struct tcp *tcp);

/* The same for a thread that expects something on one lane. */
long sy_tcp_poll_lane(struct tcp *tcp, struct tcp_lane *lane);

/* The same for the progress thread, when the set's descriptor is readable or a time limit passed:
 * asks epoll, reads no socket that has no event, and tells whether there was one. */
bool sy_tcp_poll_event(struct tcp *tcp);

/* As struct sy_transport's member: threads sleep on the set's descriptor (true), or the progress
 * thread looks in now and then only. */
int sy_tcp_poll_sleeping(struct tcp *tcp, bool sleeps);
bool sy_tcp_poll_may_sleep(struct tcp *tcp);

/* Has timers looked at soon, by whoever polls next: something new has a time limit. Any thread. */
void sy_tcp_poll_wake(struct tcp_poll *poll);

/* The poll lock, for a thread that must have it. */
void sy_tcp_poll_lock(struct tcp *tcp);
void sy_tcp_poll_unlock(struct tcp *tcp);

/* Reads from one lane; one that had something is read first next time, without asking epoll. Under
 * the poll lock. */
size_t sy_tcp_poll_read(struct tcp_lane *lane);

/* A lane's socket is closed. Under the poll lock and the lane's send lock. */
void sy_tcp_poll_forget(struct tcp_lane *lane);

/* The descriptor that is readable while some watch has events. */
int sy_tcp_poll_fd(struct tcp *tcp);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t sy_tcp_now(void);

#endif

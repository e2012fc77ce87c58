/* An epoll set with a timer. Callbacks run in the thread that runs the set, which is one at a time:
 * under the poll lock. */
#ifndef TCP_CONN_WATCH_H
#define TCP_CONN_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#define TCP_EVENTS 32 /* of one epoll_wait */

/* A descriptor in the set. */
struct tcp_watch {
    int fd;
    struct tcp_watches *set;
    void (*event)(struct tcp_watch *watch, uint32_t events); /* EPOLLIN, EPOLLOUT, ... */
    void *owner;                                             /* for the callback */
    bool left_out; /* of the set, since nothing is watched for at present */
};

struct tcp_watches {
    int fd;                 /* readable while some watch has events */
    struct tcp_watch timer; /* expires when something has reached its time limit */
    _Atomic bool woken;     /* by sy_tcp_watches_wake */
    struct epoll_event event[TCP_EVENTS];
    int events, next; /* of the epoll_wait whose events are being handled */
    /* Acts on time limits: nanoseconds until the next one, or UINT64_MAX. */
    uint64_t (*due)(void *owner, uint64_t now);
    void *owner;
};

/* 0 or -errno. */
int sy_tcp_watches_open(struct tcp_watches *set, uint64_t (*due)(void *owner, uint64_t now),
                        void *owner);
void sy_tcp_watches_close(struct tcp_watches *set);

/* Runs the callbacks of what has happened, without waiting: how many; < 0: none. */
int sy_tcp_watches_run(struct tcp_watches *set);

/* Has the thread that runs the set next look at the time limits: there is a new one. Any thread. */
void sy_tcp_watches_wake(struct tcp_watches *set);

/* Adds, changes, removes. Level-triggered; no events at all: the kernel spends nothing on it. 0 or
 * -errno. Removing is safe from inside any callback: no event of the removed watch is delivered
 * afterwards. One that was never added is left as it is. */
int sy_tcp_watch_add(struct tcp_watches *set, struct tcp_watch *watch, uint32_t events);
int sy_tcp_watch_change(struct tcp_watch *watch, uint32_t events);
void sy_tcp_watch_remove(struct tcp_watch *watch);

/* The time in nanoseconds (CLOCK_MONOTONIC), which all limits of this transport are in. */
#define TCP_MILLISECOND UINT64_C(1000000)
#define TCP_SECOND      UINT64_C(1000000000)
uint64_t sy_tcp_now(void);

#endif

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "transports/tcp/conn/watch.h"
#include "util/clock.h"
#include "util/file.h"

uint64_t sy_tcp_now(void)
{
    return sy_clock_ns();
}

/* ---- watches ---- */

static int watch_control(int op, struct tcp_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    return epoll_ctl(watch->set->fd, op, watch->fd, &event) ? -errno : 0;
}

int sy_tcp_watch_add(struct tcp_watches *set, struct tcp_watch *watch, uint32_t events)
{
    watch->set = set;
    watch->left_out = false;
    return watch_control(EPOLL_CTL_ADD, watch, events);
}

int sy_tcp_watch_change(struct tcp_watch *watch, uint32_t events)
{
    if (watch->left_out && !events)
        return 0;
    int rc = watch_control(!events           ? EPOLL_CTL_DEL
                           : watch->left_out ? EPOLL_CTL_ADD
                                             : EPOLL_CTL_MOD,
                           watch, events);
    if (!rc)
        watch->left_out = !events;
    return rc;
}

void sy_tcp_watch_remove(struct tcp_watch *watch)
{
    struct tcp_watches *set = watch->set;

    if (!set)
        return;
    watch_control(EPOLL_CTL_DEL, watch, 0);
    for (int i = set->next; i < set->events; i++)
        if (set->event[i].data.ptr == watch)
            set->event[i].data.ptr = NULL;
}

/* ---- time limits ---- */

void sy_tcp_watches_wake(struct tcp_watches *set)
{
    atomic_store(&set->woken, true);
    sy_clock_set_timer(set->timer.fd, 1);
}

/* A wake-up while `due` looks around must not be undone by what this sets: `woken` is cleared
 * before the first look and read after the timer has been set. */
static void watch_on_timer(struct tcp_watch *watch, uint32_t events)
{
    struct tcp_watches *set = watch->set;
    uint64_t expirations, now = sy_tcp_now();
    ssize_t got = read(watch->fd, &expirations, sizeof expirations);

    (void)got, (void)events;
    atomic_store(&set->woken, false);
    uint64_t wait = set->due(set->owner, now);
    if (wait != UINT64_MAX)
        sy_clock_set_timer(set->timer.fd, wait + 1);
    if (atomic_load(&set->woken))
        sy_clock_set_timer(set->timer.fd, 1);
}

/* ---- the set ---- */

/* Whether a call with this result works, though a signal may have come meanwhile. */
static bool watch_works(ssize_t result)
{
    return result >= 0 || errno == EINTR || errno == EAGAIN || errno == ENOTSOCK;
}

/* Whether the calls work that have no way to fail later on. A filter may refuse one by its name,
 * and the job would stand still. An epoll descriptor is no socket, so nothing is sent. */
static bool watch_calls_work(const struct tcp_watches *set)
{
    struct epoll_event event;
    struct itimerspec never = {{0, 0}, {0, 0}};
    struct msghdr nothing = {.msg_name = NULL};

    return watch_works(epoll_wait(set->fd, &event, 1, 0)) &&
           watch_works(timerfd_settime(set->timer.fd, 0, &never, NULL)) &&
           watch_works(sendmsg(set->fd, &nothing, MSG_NOSIGNAL | MSG_DONTWAIT));
}

int sy_tcp_watches_open(struct tcp_watches *set, uint64_t (*due)(void *owner, uint64_t now),
                        void *owner)
{
    set->due = due;
    set->owner = owner;
    set->fd = epoll_create1(EPOLL_CLOEXEC);
    set->timer = (struct tcp_watch){
        .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), .event = watch_on_timer};
    if (set->fd >= 0 && set->timer.fd >= 0 && !sy_tcp_watch_add(set, &set->timer, EPOLLIN) &&
        watch_calls_work(set))
        return 0;
    int code = errno;
    sy_tcp_watches_close(set);
    return -code;
}

void sy_tcp_watches_close(struct tcp_watches *set)
{
    sy_file_close(&set->timer.fd);
    sy_file_close(&set->fd);
    set->fd = set->timer.fd = -1;
}

int sy_tcp_watches_run(struct tcp_watches *set)
{
    int count = epoll_wait(set->fd, set->event, TCP_EVENTS, 0);

    set->events = count > 0 ? count : 0;
    for (set->next = 0; set->next < set->events;) {
        const struct epoll_event *event = &set->event[set->next++];
        struct tcp_watch *watch = event->data.ptr;
        if (watch)
            watch->event(watch, event->events);
    }
    set->events = 0;
    return count;
}

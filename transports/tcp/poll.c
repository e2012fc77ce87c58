/* See poll.h. A poll reads directly from the sockets that spoke last, since a waiting PE most often
 * waits for one of them, and asks epoll only every few turns; or, where threads sleep on the epoll
 * set, whenever those have nothing. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "transports/tcp/lane.h"
#include "util/denied.h"

#define SECOND        UINT64_C(1000000000)
#define HOT           2  /* lanes that are read without asking */
#define EVENTS        32 /* of one epoll_wait */
#define EPOLL_TURNS   4  /* polls between two questions to epoll */
#define EPOLL_TURNS_1 32 /* the same while there is but one lane */
#define HERALD_TURNS  8  /* polls between two that read lanes too, while a herald is expected */

static struct {
    int fd;
    _Atomic bool lock;
    struct tcp_lane *hot[HOT];
    unsigned turns;
    struct tcp_watch timer;              /* expires when something has reached its time limit */
    _Atomic bool woken;                  /* by sy_tcp_poll_wake */
    _Atomic bool wakeful;                /* the progress thread does not sleep on `fd` */
    _Atomic(struct tcp_lane *) expected; /* by a thread that did not get the lock */
    struct epoll_event event[EVENTS];
    int events, next; /* of the epoll_wait whose events are being handled */
} poll_set = {.fd = -1, .timer.fd = -1};

uint64_t sy_tcp_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

/* ---- watches ---- */

static int poll_control(int op, struct tcp_watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};

    return epoll_ctl(poll_set.fd, op, watch->fd, &event) ? -errno : 0;
}

int sy_tcp_watch_add(struct tcp_watch *watch, uint32_t events)
{
    watch->left_out = false;
    return poll_control(EPOLL_CTL_ADD, watch, events);
}

int sy_tcp_watch_change(struct tcp_watch *watch, uint32_t events)
{
    if (watch->left_out && !events)
        return 0;
    int rc = poll_control(!events           ? EPOLL_CTL_DEL
                          : watch->left_out ? EPOLL_CTL_ADD
                                            : EPOLL_CTL_MOD,
                          watch, events);
    if (!rc)
        watch->left_out = !events;
    return rc;
}

void sy_tcp_watch_remove(struct tcp_watch *watch)
{
    poll_control(EPOLL_CTL_DEL, watch, 0);
    for (int i = poll_set.next; i < poll_set.events; i++)
        if (poll_set.event[i].data.ptr == watch)
            poll_set.event[i].data.ptr = NULL;
}

/* ---- time limits ---- */

static void poll_set_timer(uint64_t nanoseconds)
{
    struct itimerspec when = {
        .it_value = {(time_t)(nanoseconds / SECOND), (long)(nanoseconds % SECOND)}};

    timerfd_settime(poll_set.timer.fd, 0, &when, NULL);
}

void sy_tcp_poll_wake(void)
{
    atomic_store(&poll_set.woken, true);
    poll_set_timer(1);
}

/* A wake-up while this looks around must not be undone by what this sets: `woken` is cleared before
 * the first look and read after the timer has been set. */
static void poll_on_timer(struct tcp_watch *watch, uint32_t events)
{
    uint64_t expirations, now = sy_tcp_now();
    ssize_t got = read(watch->fd, &expirations, sizeof expirations);

    (void)got, (void)events;
    atomic_store(&poll_set.woken, false);
    uint64_t lanes = sy_tcp_lanes_timers(now), attempts = sy_tcp_connect_timers(now);
    uint64_t wait = lanes < attempts ? lanes : attempts;
    if (wait != UINT64_MAX)
        poll_set_timer(wait + 1);
    if (atomic_load(&poll_set.woken))
        poll_set_timer(1);
}

/* ---- the set ---- */

int sy_tcp_poll_open(struct sy_error *err)
{
    memset(&poll_set, 0, sizeof poll_set);
    poll_set.fd = epoll_create1(EPOLL_CLOEXEC);
    poll_set.timer = (struct tcp_watch){
        .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), .event = poll_on_timer};
    if (poll_set.fd >= 0 && poll_set.timer.fd >= 0 && !sy_tcp_watch_add(&poll_set.timer, EPOLLIN))
        return 0;
    int rc = sy_tcp_host->fail(err, errno, "an epoll set and a timer: %s%s", strerror(errno),
                               sy_denied_hint(errno));
    sy_tcp_poll_close();
    return rc;
}

void sy_tcp_poll_close(void)
{
    if (poll_set.timer.fd >= 0)
        close(poll_set.timer.fd);
    if (poll_set.fd >= 0)
        close(poll_set.fd);
    poll_set.fd = poll_set.timer.fd = -1;
}

int sy_tcp_poll_fd(void)
{
    return poll_set.fd;
}

void sy_tcp_poll_forget(struct tcp_lane *lane)
{
    for (int i = 0; i < HOT; i++)
        if (poll_set.hot[i] == lane)
            poll_set.hot[i] = NULL;
    lane->attended -= lane->hot;
    lane->hot = false;
}

static bool poll_try_lock(void)
{
    return !atomic_load_explicit(&poll_set.lock, memory_order_relaxed) &&
           !atomic_exchange_explicit(&poll_set.lock, true, memory_order_acquire);
}

void sy_tcp_poll_lock(void)
{
    while (!poll_try_lock())
        sched_yield();
}

void sy_tcp_poll_unlock(void)
{
    atomic_store_explicit(&poll_set.lock, false, memory_order_release);
}

bool sy_tcp_poll_may_sleep(void)
{
    return !atomic_load(&poll_set.wakeful);
}

static void poll_keep_in_set(struct tcp_lane *lane)
{
    if (lane->hot)
        sy_tcp_send_attend(lane, -1);
    lane->hot = false;
}

/* A lane that becomes hot after `wakeful` has been cleared stays in the set. */
int sy_tcp_poll_sleeping(bool sleeps)
{
    bool was_wakeful = atomic_exchange(&poll_set.wakeful, !sleeps);

    if (!sleeps || !was_wakeful)
        return 0;
    sy_tcp_poll_lock();
    for (int i = 0; i < HOT; i++)
        if (poll_set.hot[i])
            poll_keep_in_set(poll_set.hot[i]);
    sy_tcp_poll_unlock();
    return 0;
}

/* The lane that spoke comes first. One that was among the hot ones before is left out of the epoll
 * set while nobody sleeps on that, because the set makes each arrival dearer. One that is hot no
 * longer is in the set again. */
static void poll_make_hot(struct tcp_lane *lane)
{
    struct tcp_lane *last = poll_set.hot[HOT - 1];
    bool anew = true;

    for (int i = 0; i < HOT; i++)
        anew = anew && poll_set.hot[i] != lane;
    if (anew && last)
        poll_keep_in_set(last);
    else if (!anew && !lane->hot && !sy_tcp_poll_may_sleep())
        lane->hot = sy_tcp_send_attend(lane, 1);
    if (poll_set.hot[0] != lane) {
        poll_set.hot[1] = poll_set.hot[0];
        poll_set.hot[0] = lane;
    }
}

size_t sy_tcp_poll_read(struct tcp_lane *lane)
{
    size_t got = sy_tcp_receive(lane);

    if (got && lane->watch.fd >= 0)
        poll_make_hot(lane);
    return got;
}

/* Of lanes other than `but`. */
static size_t poll_read_hot(const struct tcp_lane *but)
{
    struct tcp_lane *hot[HOT];
    size_t got = 0;

    memcpy(hot, poll_set.hot, sizeof hot);
    for (int i = 0; i < HOT; i++)
        if (hot[i] && hot[i] != but)
            got += sy_tcp_poll_read(hot[i]);
    return got;
}

static int poll_run_events(void)
{
    int count = epoll_wait(poll_set.fd, poll_set.event, EVENTS, 0);

    poll_set.events = count > 0 ? count : 0;
    for (poll_set.next = 0; poll_set.next < poll_set.events;) {
        const struct epoll_event *event = &poll_set.event[poll_set.next++];
        struct tcp_watch *watch = event->data.ptr;
        if (watch)
            watch->event(watch, event->events);
    }
    poll_set.events = 0;
    return count;
}

/* Lanes that stand at an AWAIT are asked whether they may go on, again and again while one does: it
 * may be what another one waits for. */
static bool poll_run_paused(void)
{
    unsigned count = atomic_load_explicit(&sy_tcp_lanes.count, memory_order_acquire);
    bool moved, any = false;

    do {
        moved = false;
        for (unsigned i = 0; i < count; i++) {
            struct tcp_lane *lane = sy_tcp_lanes.lane[i];
            if (!lane->in.awaits)
                continue;
            uint64_t before = atomic_load_explicit(&lane->got[TCP_REQUESTS], memory_order_relaxed);
            sy_tcp_receive(lane);
            moved |= atomic_load_explicit(&lane->got[TCP_REQUESTS], memory_order_relaxed) != before;
        }
        any |= moved;
    } while (moved && atomic_load_explicit(&sy_tcp_lanes.paused, memory_order_relaxed));
    return any;
}

/* A lane that a thread attends to is out of the set. Where that thread does not get the lock, since
 * others keep the one that has it busy, that one reads the lane. The hint may be of a wait that is
 * over, and costs a call then; lanes live as long as there are polls. */
static size_t poll_read_expected(void)
{
    struct tcp_lane *lane;

    if (!atomic_load_explicit(&poll_set.expected, memory_order_relaxed))
        return 0;
    lane = atomic_exchange_explicit(&poll_set.expected, NULL, memory_order_acquire);
    return lane && lane->watch.fd >= 0 ? sy_tcp_poll_read(lane) : 0;
}

/* The thread that has the lock may wait for this processor. */
long sy_tcp_poll_lane(struct tcp_lane *expected)
{
    size_t got = 0;

    sy_tcp_send_dirty(false);
    if (!poll_try_lock()) {
        if (expected)
            atomic_store_explicit(&poll_set.expected, expected, memory_order_release);
        sched_yield();
        return -1;
    }
    unsigned lanes = atomic_load_explicit(&sy_tcp_lanes.count, memory_order_relaxed);
    unsigned turn = poll_set.turns++;
    bool all = turn % (lanes > 1 ? EPOLL_TURNS : EPOLL_TURNS_1) == 0;
    bool herald = !expected && sy_tcp_heralds_expected();
    if (all || herald)
        got = sy_tcp_heralds_hear();
    if (all)
        sy_tcp_heralds_repeat();
    if (herald && turn % HERALD_TURNS) {
        sy_tcp_poll_unlock();
        return (long)got;
    }
    if (expected && expected->watch.fd >= 0)
        got += sy_tcp_poll_read(expected);
    else
        expected = NULL;
    if (all || !expected)
        got += poll_read_hot(expected);
    if (all || (!got && (sy_tcp_host->crowded || (!poll_set.hot[0] && !expected))))
        got += (size_t)(poll_run_events() > 0);
    if (atomic_load_explicit(&sy_tcp_lanes.paused, memory_order_relaxed))
        got += poll_run_paused();
    sy_tcp_poll_unlock();
    return (long)got;
}

long sy_tcp_poll(void)
{
    return sy_tcp_poll_lane(NULL);
}

bool sy_tcp_poll_event(void)
{
    sy_tcp_heralds_repeat();
    sy_tcp_send_dirty(true);
    if (!poll_try_lock())
        return false;
    bool any = !sy_tcp_poll_may_sleep() && poll_read_hot(NULL) > 0;
    any = poll_run_events() > 0 || any;
    any = poll_read_expected() > 0 || any;
    if (atomic_load_explicit(&sy_tcp_lanes.paused, memory_order_relaxed))
        any = poll_run_paused() || any;
    sy_tcp_poll_unlock();
    return any;
}

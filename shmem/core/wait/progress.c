/* See progress.h. The only file of the core that knows libev. Timers are descriptors, because
 * libev's own are rounded to milliseconds. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "core/start/boot.h"
#include "core/callsite.h"
#include "core/start/config.h"
#include "core/fatal.h"
#include "core/wait/blocked.h"
#include "core/wait/progress.h"
#include "core/route/route.h"
#include "core/wait/sleep.h"
#include "core/wait/tell.h"
#include "core/wait/wait.h"
#include "core/start/world.h"
#include "engine/call.h"
#include "util/clock.h"
#include "util/denied.h"
#include "util/error.h"
#include "util/file.h"
#include "util/libev.h"
#include "util/signals.h"

/* Looks within SHMEM_STALL_REPORT: a report is late by the time between two of them, at most. */
#define LOOKS_FOR_STALLS 4

/* Looks within SHMEM_DEADLOCK_TIMEOUT. Where a PE has waited for longer they are as many within the
 * time for which it has: hundreds of PEs on a host would take its processors by looking. */
#define LOOKS_FOR_BLOCKED 10

/* The beats of watch mode. The first one is short, because the application most often polled in
 * passing and event mode is right; each further beat is twice as long. A beat costs two PEs that
 * wait for each other some 50 us. So where the application has polled for long the end of that may
 * be noticed later, by a small part of it. */
#define FIRST_BEAT_NS INT64_C(125000)
#define LONG_BEAT_NS  INT64_C(1000000)
#define POLLED_PART   32

/* The longest beat of all; soon where PEs outnumber processors: each takes a processor from a PE
 * with work. */
#define LONGEST_BEAT_NS INT64_C(4000000)

/* While a thread waits in earnest it polls far more often. */
#define WAITING_BEAT_NS INT64_C(200000000)

/* A timer that is set for so little later than it is wanted stays. */
#define EARLY_ENOUGH_NS 4000

/* A beat does for what is wanted soon if it comes within so many times that delay. */
#define BEAT_SOON_ENOUGH 4

#define SHORT_TURN_NS 100000

/* Seconds that a job must have lasted for wait_progress_on_settled. */
#define SETTLED 1.

/* Seconds. Two wake-ups within them, with a poll between, mean that the application waits for the
 * same messages. */
#define TOGETHER 0.0002

/* Events in a row without work after which the thread waits for a beat. */
#define MOST_IN_VAIN 64

/* How long the thread looks for a request that follows the one that has woken it, and at most for a
 * row of them; wake-ups without such a look after many in vain. A wake-up beside a computing thread
 * takes 50 us and more. */
#define BUSY_POLL_NS         UINT64_C(20000)
#define LONGEST_BUSY_POLL_NS UINT64_C(1000000)
#define MOST_PASSED          63 /* a power of two, less one */

_Atomic bool sy_progress_entered __attribute__((aligned(SY_LINE)));

/* Owned by the thread that starts and stops; between pthread_create and pthread_join the progress
 * thread alone touches the rest, but for `stop`, which is libev's own cross-thread signal, and what
 * sy_progress_soon uses. */
static struct {
    struct ev_loop *loop;
    pthread_t thread;
    ev_async stop;
    ev_io launcher, beat, soon;
    ev_io transport[SY_TRANSPORTS_MAX];
    unsigned watched; /* of transport[] */
    ev_timer stall, settled, blocked;
    ev_async report;
    bool running;
    int mode;
    bool deserted;     /* the application had not polled at the last beat, nor has since */
    int64_t beat_ns;   /* 0: event mode */
    int64_t polled_ns; /* for how long the application has polled, about, at each beat */
    ev_tstamp woken;   /* when a transport last had something to say */
    unsigned in_vain;  /* events since one led to something */
    unsigned passes;   /* wake-ups to come without a look for more, */
    unsigned passed;   /* and those of them that have been */
} progress;

/* Application threads that wait. */
static _Atomic uint32_t waiting __attribute__((aligned(SY_LINE)));

/* As sy_progress_tells. */
static _Atomic bool told;

/* In watch mode, while application threads that wait do the work: the time of the next beat, and
 * the thread that clears this takes the beat; otherwise 0. */
static _Atomic int64_t relieved;

/* The timer of sy_progress_soon, and when it expires, in nanoseconds; 0: it is not set. */
static int soon_fd = -1;
static _Atomic uint64_t soon_at;

/* When the next beat comes, in nanoseconds; 0: at no time that is known. Written by the progress
 * thread: after it has set the timer, and at the beat, before it looks whether sy_progress_soon has
 * left something to that. */
static _Atomic uint64_t beat_at;
static _Atomic bool beat_asked;

/* Reads the expiry, so that the descriptor is no longer readable. */
static void wait_progress_take_expiry(int fd)
{
    uint64_t expirations;
    ssize_t got = read(fd, &expirations, sizeof expirations);
    (void)got;
}

/* Progress by the progress thread. The transport does not yield where another thread is polling:
 * beside a computing thread it would be long before this one ran again. */
static int wait_progress_serve(const struct sy_route_transport *t)
{
    int done = t->table->progress(t->self, SY_PROGRESS_EVENT);

    if (done > 0)
        sy_sleep_moved();
    return done;
}

static void wait_progress_serve_all(void)
{
    for (unsigned i = 0; i < sy_routes.count; i++)
        if (sy_routes.transport[i].polled)
            wait_progress_serve(&sy_routes.transport[i]);
}

/* ---- the two modes ---- */

int sy_progress_arm(void)
{
    bool moved = false, blind = false, untold = false;

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        int done = t->wait_fd < 0 ? 0 : t->table->arm(t->self);
        moved |= done > 0;
        blind |= done < 0 && t->carries;
        untold |= done < 0 && done != -EINPROGRESS && t->carries;
    }
    atomic_store_explicit(&told, !untold, memory_order_relaxed);
    return moved ? 1 : -blind;
}

bool sy_progress_tells(void)
{
    return progress.mode != SY_PROGRESS_POLLING &&
           atomic_load_explicit(&told, memory_order_relaxed);
}

static void wait_progress_disarm(void)
{
    for (unsigned i = 0; i < sy_routes.count; i++)
        if (sy_routes.transport[i].wait_fd >= 0)
            sy_routes.transport[i].table->disarm(sy_routes.transport[i].self);
}

static void wait_progress_event_mode(void)
{
    if (progress.beat_ns)
        sy_clock_set_timer(progress.beat.fd, 0);
    progress.beat_ns = 0;
    sy_progress_arm();
    sy_sleep_moved(); /* perhaps; transports need not know */
    for (unsigned i = 0; i < progress.watched; i++)
        ev_io_start(progress.loop, &progress.transport[i]);
}

/* A thread that arms at this moment, and has not said yet that it sleeps, sleeps for as short a
 * time as one that nothing wakes (wait.c). Where PEs outnumber processors threads sleep in most
 * waits, so the transports stay armed. */
void sy_progress_awake(void)
{
    if (progress.mode == SY_PROGRESS_POLLING && !sy_wait_crowded() && !sy_sleep_anybody())
        wait_progress_disarm();
}

/* Where PEs outnumber processors, threads that wait sleep on the descriptors too, so the transports
 * stay armed; elsewhere while one has taken over, which it says before it arms them. The caller
 * sets the timer. */
static void wait_progress_watch_mode(void)
{
    for (unsigned i = 0; i < progress.watched; i++)
        ev_io_stop(progress.loop, &progress.transport[i]);
    if (!sy_wait_crowded() && !atomic_load(&waiting)) {
        wait_progress_disarm();
        if (atomic_load(&waiting))
            sy_progress_arm();
    }
    progress.in_vain = 0;
    progress.beat_ns = FIRST_BEAT_NS;
    progress.polled_ns = 0;
}

static void wait_progress_lengthen_beat(int64_t most)
{
    if (most > LONGEST_BEAT_NS)
        most = LONGEST_BEAT_NS;
    progress.beat_ns = progress.beat_ns * 2 < most ? progress.beat_ns * 2 : most;
}

static void wait_progress_set_beat(void)
{
    uint64_t now = sy_clock_ns();

    sy_clock_set_timer(progress.beat.fd, (uint64_t)progress.beat_ns);
    atomic_store(&beat_at, now + (uint64_t)progress.beat_ns);
}

static bool application_polled(void)
{
    return atomic_exchange_explicit(&sy_progress_entered, false, memory_order_relaxed);
}

/* ---- threads that wait ---- */

/* Ends the relief by waiting threads. That they have polled is no sign that they go on. */
static void wait_progress_end_relief(void)
{
    int64_t next = atomic_exchange(&relieved, 0);

    if (!next)
        return;
    application_polled();
    sy_clock_set_timer(progress.beat.fd, next);
}

/* Leaves the work to threads that wait; false: there is none. The last one may have ended its wait
 * just before `relieved` was set and have found it clear. */
static bool wait_progress_leave_to_waiting(void)
{
    if (!atomic_load(&waiting) || progress.deserted || progress.mode != SY_PROGRESS_AUTO)
        return false;
    if (!progress.beat_ns)
        wait_progress_watch_mode();
    else
        wait_progress_lengthen_beat(LONGEST_BEAT_NS);
    sy_clock_set_timer(progress.beat.fd, WAITING_BEAT_NS);
    atomic_store(&relieved, progress.beat_ns);
    if (!atomic_load(&waiting))
        wait_progress_end_relief();
    return true;
}

void sy_progress_take_over(void)
{
    atomic_fetch_add(&waiting, 1);
}

void sy_progress_hand_back(void)
{
    if (atomic_fetch_sub(&waiting, 1) == 1 && atomic_load(&relieved))
        wait_progress_end_relief();
}

/* ---- events of transports ---- */

/* In a row of requests each follows the answer to the one before: the thread looks for the next one
 * before it sleeps. In vain, it does so less often; and only where this PE has its processor to
 * itself, and no thread of the program polls or sleeps until something has come. */
static void wait_progress_busy_poll(const struct sy_route_transport *t)
{
    bool came = false;

    if (sy_wait_crowded() || sy_sleep_anybody() || atomic_load(&sy_sleep.word) ||
        progress.passed++ < progress.passes)
        return;
    uint64_t begun = sy_clock_ns(), now = begun, until = begun + BUSY_POLL_NS;
    while (now < until && now - begun < LONGEST_BUSY_POLL_NS &&
           !atomic_load_explicit(&sy_progress_entered, memory_order_relaxed)) {
        bool more = wait_progress_serve(t) == SY_PROGRESS_CAME;
        now = sy_clock_ns();
        if (more)
            until = now + BUSY_POLL_NS;
        came |= more;
    }
    progress.passed = 0;
    progress.passes = came ? 0 : (2 * progress.passes + 1) & MOST_PASSED;
}

/* An event without work: another thread is at it, and the descriptor stays readable until that one
 * is done. Or the transport does not look everywhere each time; then the next event comes at once.
 */
static void wait_progress_on_transport(struct ev_loop *loop, ev_io *watcher, int events)
{
    bool back = progress.deserted && application_polled();

    progress.deserted = progress.deserted && !back;
    if (wait_progress_leave_to_waiting())
        return;
    int done = wait_progress_serve(watcher->data);
    bool moved = done > 0;
    bool polled = (application_polled() || back) && progress.mode == SY_PROGRESS_AUTO;
    bool together = ev_now(loop) - progress.woken < TOGETHER;

    (void)events;
    progress.woken = ev_now(loop);
    progress.in_vain = moved ? 0 : progress.in_vain + 1;
    if ((polled && (together || !moved)) || progress.in_vain == MOST_IN_VAIN) {
        wait_progress_watch_mode();
        wait_progress_set_beat();
    } else if (done == SY_PROGRESS_CAME) {
        wait_progress_busy_poll(watcher->data);
    }
}

/* The thread polls at each beat too: a thread of the application may be polling for one message
 * only, or not look at all transports. One that waits and does not even poll is stuck in something
 * else, as a handler of a signal. A relief that ends as the thread goes to event mode sets the
 * timer in that. */
static void wait_progress_on_beat(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop, (void)events;
    wait_progress_take_expiry(watcher->fd);
    if (!progress.beat_ns)
        return;
    bool polled = application_polled();
    atomic_store(&beat_at, 0);
    atomic_store(&relieved, 0);
    progress.deserted = !polled;
    bool asked = atomic_exchange(&beat_asked, false), left = wait_progress_leave_to_waiting();
    if (asked || !left)
        wait_progress_serve_all();
    if (left)
        return;
    if (!polled || progress.mode == SY_PROGRESS_THREAD) {
        wait_progress_event_mode();
        return;
    }
    progress.polled_ns += progress.beat_ns;
    int64_t part = progress.polled_ns / POLLED_PART;
    wait_progress_lengthen_beat(part > LONG_BEAT_NS ? part : LONG_BEAT_NS);
    wait_progress_set_beat();
}

/* ---- the other events ---- */

static void on_stop(struct ev_loop *loop, ev_async *watcher, int events)
{
    (void)watcher, (void)events;
    ev_break(loop, EVBREAK_ALL);
}

static void wait_progress_on_blocked(struct ev_loop *loop, ev_timer *watcher, int events)
{
    double waited = sy_tell_blocked(), least = sy_config.deadlock_timeout;

    (void)events;
    ev_timer_set(watcher, (waited > least ? waited : least) / LOOKS_FOR_BLOCKED, 0.);
    ev_timer_start(loop, watcher);
}

/* The job has lasted for a while, so some preparation is worth its time. */
static void wait_progress_on_settled(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop, (void)watcher, (void)events;
    if (sy_config.backtrace)
        sy_callsite_prepare();
}

static void wait_progress_on_stall(struct ev_loop *loop, ev_timer *watcher, int events)
{
    (void)loop, (void)events;
    sy_tell_stalled(watcher->repeat);
}

static void wait_progress_on_launcher(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop, (void)watcher, (void)events;
    sy_tell_asked();
}

/* ev_async_send is made to be called from signal handlers. */
static void wait_progress_wake_for_report(void)
{
    if (progress.running)
        ev_async_send(progress.loop, &progress.report);
}

static void wait_progress_on_report(struct ev_loop *loop, ev_async *watcher, int events)
{
    (void)loop, (void)watcher, (void)events;
    sy_tell_log();
}

/* `soon_at` is cleared before the poll: a request between the two is either seen by the poll or
 * sets the timer again. */
static void wait_progress_on_soon(struct ev_loop *loop, ev_io *watcher, int events)
{
    (void)loop, (void)events;
    wait_progress_take_expiry(watcher->fd);
    atomic_store(&soon_at, 0);
    wait_progress_serve_all();
}

/* A timer that expires before all others costs many microseconds on a virtual machine, and waking
 * the thread costs the program its processor for as long; so one that expires early enough is kept,
 * and while the application polls the beats do. Of several threads that set it at once, the last
 * one to find `soon_at` as it wrote it has set the timer last. */
void sy_progress_soon(unsigned microseconds)
{
    uint64_t now = sy_clock_ns(), wanted = now + (uint64_t)microseconds * 1000;
    uint64_t set = atomic_load(&soon_at), beat = atomic_load(&beat_at);

    atomic_store_explicit(&sy_wait_gathered, true, memory_order_relaxed);
    if (beat && beat <= now + (wanted - now) * BEAT_SOON_ENOUGH)
        atomic_store(&beat_asked, true);
    else
        beat = 0;
    if (soon_fd < 0 || (beat && beat == atomic_load(&beat_at)))
        return;
    do
        if (set && set <= wanted + EARLY_ENOUGH_NS)
            return;
    while (!atomic_compare_exchange_weak(&soon_at, &set, wanted));
    do {
        set = wanted;
        sy_clock_set_timer(soon_fd, set > now ? set - now : 1);
        wanted = atomic_load(&soon_at);
    } while (wanted && wanted != set);
}

/* ---- start and stop ---- */

/* The thread's work is short and others wait for it. A kernel that takes that as a hint (from 6.12
 * on) then lets it run at once when it is woken beside a thread that polls or computes. */
static void wait_progress_ask_for_short_turns(void)
{
    const struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } wish = {.size = sizeof wish, .nice = getpriority(PRIO_PROCESS, 0), .runtime = SHORT_TURN_NS};

    if (sched_getscheduler(0) == SCHED_OTHER)
        syscall(SYS_sched_setattr, 0, &wish, 0);
}

static void *wait_progress_run(void *arg)
{
    (void)arg;
    sy_blocked_threads_base(__builtin_return_address(0));
    wait_progress_ask_for_short_turns();
    ev_run(progress.loop, 0);
    return NULL;
}

/* Makes a timer and watches it. */
static int wait_progress_watch_timer(ev_io *watcher,
                                     void (*expired)(struct ev_loop *, ev_io *, int),
                                     struct sy_error *err)
{
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd < 0)
        return sy_fail(err, errno, "a timer for the progress thread: %s%s%s", strerror(errno),
                       errno == EMFILE ? "; raise ulimit -n" : "", sy_denied_hint(errno));
    ev_io_init(watcher, expired, fd, EV_READ);
    ev_io_start(progress.loop, watcher);
    return 0;
}

/* Watches the transports through which data arrive. None of them: no timers either. */
static int wait_progress_watch_transports(bool *any, struct sy_error *err)
{
    *any = false;
    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        *any = *any || t->polled;
        if (t->wait_fd < 0 || progress.mode == SY_PROGRESS_POLLING)
            continue;
        ev_io *watcher = &progress.transport[progress.watched++];
        ev_io_init(watcher, wait_progress_on_transport, t->wait_fd, EV_READ);
        watcher->data = (void *)t;
    }
    if (!*any)
        return 0;
    int rc = wait_progress_watch_timer(&progress.beat, wait_progress_on_beat, err);
    if (!rc)
        rc = wait_progress_watch_timer(&progress.soon, wait_progress_on_soon, err);
    if (rc)
        return rc;
    atomic_store(&soon_at, 0);
    soon_fd = progress.soon.fd;
    wait_progress_event_mode();
    sy_progress_awake();
    return 0;
}

static bool wait_progress_watch_launcher(void)
{
    int fd = sy_boot->wait_fd(sy_boot_self);

    if (fd < 0)
        return false;
    ev_io_init(&progress.launcher, wait_progress_on_launcher, fd, EV_READ);
    ev_io_start(progress.loop, &progress.launcher);
    return true;
}

static void wait_progress_end_loop(void)
{
    atomic_store(&relieved, 0);
    soon_fd = -1;
    atomic_store(&soon_at, 0);
    atomic_store(&beat_at, 0);
    atomic_store(&beat_asked, false);
    sy_file_close(&progress.beat.fd);
    sy_file_close(&progress.soon.fd);
    ev_loop_destroy(progress.loop);
    progress.loop = NULL;
}

static void wait_progress_call_later(struct ev_loop *loop)
{
    (void)loop;
}

/* Registers the descriptors: a program may close or replace them once shmem_init has returned, and
 * libev would call abort. What is ready waits for the thread, where a hanging plugin is found. */
static void wait_progress_register(void)
{
    ev_set_invoke_pending_cb(progress.loop, wait_progress_call_later);
    ev_run(progress.loop, EVRUN_NOWAIT);
    ev_set_invoke_pending_cb(progress.loop, ev_invoke_pending);
}

static int wait_progress_start_thread(struct sy_error *err)
{
    ev_async_init(&progress.stop, on_stop);
    ev_async_start(progress.loop, &progress.stop);
    ev_async_init(&progress.report, wait_progress_on_report);
    ev_async_start(progress.loop, &progress.report);
    ev_timer_init(&progress.stall, wait_progress_on_stall, 0.,
                  sy_config.stall_report / LOOKS_FOR_STALLS);
    ev_timer_init(&progress.settled, wait_progress_on_settled, SETTLED, 0.);
    ev_timer_start(progress.loop, &progress.settled);
    ev_timer_init(&progress.blocked, wait_progress_on_blocked,
                  sy_config.deadlock_timeout / LOOKS_FOR_BLOCKED, 0.);
    if (sy_config.deadlock_timeout > 0)
        ev_timer_start(progress.loop, &progress.blocked);
    if (sy_config.stall_report > 0)
        ev_timer_start(progress.loop, &progress.stall);
    wait_progress_register();
    int rc = sy_thread_start(&progress.thread, wait_progress_run, NULL);
    if (rc)
        return sy_fail(err, rc,
                       "the progress thread could not be started: %s; this node's PEs need %d "
                       "processes and threads, beside the launcher's " SY_DENIED_THREAD "%s",
                       strerror(rc), 2 * sy_world.node_size, sy_denied_hint(rc));
    progress.running = true;
    sy_tell_usr1_begin(wait_progress_wake_for_report);
    return 0;
}

static void wait_progress_failed(const char *what)
{
    sy_fatal("%s: %s%s", what, strerror(errno),
             errno == EBADF || errno == EINVAL
                 ? "; the program has closed a descriptor that is the library's, most likely"
             : errno == ENOMEM
                 ? "; raise the limit (ulimit -v), or that which the program has set (RLIMIT_AS)"
             : errno == EMFILE || errno == ENFILE ? "; are there too few descriptors (ulimit -n)?"
                                                  : sy_denied_hint(errno));
}

int sy_progress_start(int mode, struct sy_error *err)
{
    bool data;

    int rc = sy_libev_open(err);

    if (rc)
        return rc;
    memset(&progress, 0, sizeof progress);
    progress.beat.fd = progress.soon.fd = -1;
    progress.mode = mode;
    atomic_store(&waiting, 0);
    progress.loop = sy_libev_loop(wait_progress_failed, err);
    if (!progress.loop)
        return -ENODEV;
    rc = wait_progress_watch_transports(&data, err);
    sy_hot.looks = data && mode == SY_PROGRESS_POLLING ? SY_LOOKS_POLL_ALL
                   : sy_hot.carries                    ? SY_LOOKS_POLL_OWN
                                                       : SY_LOOKS_MERELY;
    bool launcher = wait_progress_watch_launcher();
    if (!rc && (launcher || data))
        rc = wait_progress_start_thread(err);
    if (!progress.running)
        wait_progress_end_loop();
    return rc;
}

void sy_progress_stop(void)
{
    if (!progress.running)
        return;
    sy_tell_usr1_end();
    ev_async_send(progress.loop, &progress.stop);
    pthread_join(progress.thread, NULL);
    progress.running = false;
    wait_progress_end_loop();
}

int sy_progress_poll(void)
{
    struct sy_plugin_call *call = sy_plugin_call_own();
    bool moved = false, yielded = false;

    sy_progress_enter();
    atomic_store_explicit(&sy_wait_gathered, false, memory_order_relaxed);
    for (unsigned i = 0; i < sy_routes.count; i++) {
        if (!sy_routes.transport[i].polled)
            continue;
        sy_plugin_call_begin(call, sy_routes.transport[i].plugin.name, SY_CALL_PROGRESS);
        int done = sy_routes.transport[i].table->progress(sy_routes.transport[i].self, 0);
        sy_plugin_call_end(call);
        moved |= done > 0;
        yielded |= done < 0;
    }
    sy_sleep_polled();
    return moved ? 1 : -yielded;
}

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/callsite.h"
#include "core/route/route.h"
#include "core/wait/stall.h"
#include "core/wait/wait.h"
#include "core/start/world.h"
#include "engine/call.h"
#include "util/bits.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/proc.h"
#include "util/says.h"

enum {
    THREADS = SY_CALL_THREADS, /* that have notes */
    PEERS = 16,                /* that each transport tells of */
    STOPS = 8                  /* that are remembered */
};

/* A thread that waits writes again at each rest, of 400 ms at most, so a note that is older is
 * about a wait that has ended, or the thread has had no processor since. Hence nothing is to be
 * done at the end of a wait that has a note. */
#define FRESH_NS UINT64_C(500000000)

/* Processor time between two notes of a wait is shorter than this. */
#define BETWEEN_NOTES_NS UINT64_C(20000000)

/* Between two looks at how much processor time the waiting thread has had. */
#define LOOKS_APART_NS UINT64_C(1000000)

struct note {
    _Atomic uint64_t since, last;
    const char *_Atomic call;
    _Atomic pid_t task;           /* the thread's number, */
    _Atomic clockid_t clock;      /* its processor time, */
    _Atomic uint64_t ran, looked; /* how much of that it had, and when that was */
    _Atomic bool inside;          /* a wait for words that only the library writes */
    const char *_Atomic where;    /* of a wait that has no note so far; NULL: none, */
    _Atomic uint64_t opened;      /* and its beginning */
    uint32_t seen;                /* number of the call of a plugin at an earlier look, */
    uint64_t seen_at;             /* the first of these; 0: there was none */
} __attribute__((aligned(SY_LINE)));

static struct note notes[THREADS];
static double told; /* seconds of the wait that was reported last */

static struct note *wait_stall_own_note(void)
{
    return &notes[sy_plugin_call_thread()];
}

void sy_stall_opened(uint64_t since, const char *where)
{
    struct note *note = wait_stall_own_note();

    atomic_store_explicit(&note->opened, since, memory_order_relaxed);
    atomic_store_explicit(&note->where, where, memory_order_relaxed);
}

static void wait_stall_look(struct note *note, uint64_t now)
{
    atomic_store_explicit(&note->looked, now, memory_order_relaxed);
    atomic_store_explicit(&note->ran, sy_clock_of(CLOCK_THREAD_CPUTIME_ID), memory_order_relaxed);
}

void sy_stall_note(uint64_t since, uint64_t now, const char *where)
{
    struct note *note = wait_stall_own_note();

    if (atomic_load_explicit(&note->since, memory_order_relaxed) != since) {
        clockid_t clock;
        if (!pthread_getcpuclockid(pthread_self(), &clock))
            atomic_store_explicit(&note->clock, clock, memory_order_relaxed);
        atomic_store_explicit(&note->call, sy_callsite_routine(where), memory_order_relaxed);
        atomic_store_explicit(&note->inside, where == sy_wait_inside, memory_order_relaxed);
        atomic_store_explicit(&note->task, gettid(), memory_order_relaxed);
        atomic_store_explicit(&note->since, since, memory_order_relaxed);
    }
    if (now > atomic_load_explicit(&note->looked, memory_order_relaxed) + LOOKS_APART_NS)
        wait_stall_look(note, now);
    atomic_store_explicit(&note->last, now, memory_order_release);
}

/* ---- times for which this PE was stopped, as by Ctrl-Z ---- */

static struct {
    uint64_t begin, ns;
} stops[STOPS];

/* Of a look that comes every `usual` nanoseconds: if it is late by more than the thread had to wait
 * for a processor, all threads stood still. Nothing is known where the kernel does not count that.
 */
static void wait_stall_look_for_stop(uint64_t now, uint64_t usual)
{
    static _Thread_local uint64_t looked, queued;
    static unsigned count;
    uint64_t queue;
    char text[SY_PROC_TEXT];

    if (!sy_proc_queued(sy_proc_of_thread(gettid(), "schedstat", text), &queue))
        return;
    uint64_t begin = looked + usual + queue - queued;
    if (looked && now > begin + usual) {
        stops[count % STOPS].begin = begin;
        stops[count++ % STOPS].ns = now - begin;
    }
    looked = now;
    queued = queue;
}

/* From one time to another, without those between them for which this PE was stopped. */
static double wait_stall_seconds(uint64_t since, uint64_t now)
{
    uint64_t ns = now - since;

    for (int i = 0; i < STOPS; i++)
        if (stops[i].begin > since && stops[i].ns < ns)
            ns -= stops[i].ns;
    return (double)ns / 1e9;
}

/* ---- waits ---- */

/* How long this note's thread has been waiting; 0: it does not. */
static double wait_stall_waited(struct note *note, uint64_t now)
{
    uint64_t last = atomic_load_explicit(&note->last, memory_order_acquire);
    uint64_t since = atomic_load_explicit(&note->since, memory_order_relaxed);

    if (!last || now > last + FRESH_NS || now < since)
        return 0;
    return wait_stall_seconds(since, now);
}

static bool wait_stall_is_runnable(pid_t task)
{
    char text[SY_PROC_TEXT];

    return sy_proc_state(sy_proc_of_thread(task, "stat", text)) == 'R';
}

/* The same for reports: where processors are few, a waiting thread may write no note for long. */
static double wait_stall_waits(struct note *note, uint64_t now)
{
    double waited = wait_stall_waited(note, now);
    uint64_t last = atomic_load_explicit(&note->last, memory_order_acquire);
    uint64_t since = atomic_load_explicit(&note->since, memory_order_relaxed);

    if (waited > 0 || !last || now < since)
        return waited;
    uint64_t before = atomic_load_explicit(&note->ran, memory_order_relaxed);
    uint64_t ran = sy_clock_of(atomic_load_explicit(&note->clock, memory_order_relaxed));
    if (ran < before || ran - before > BETWEEN_NOTES_NS ||
        !wait_stall_is_runnable(atomic_load_explicit(&note->task, memory_order_relaxed)))
        return 0;
    return wait_stall_seconds(since, now);
}

/* ---- calls of plugins ---- */

static struct {
    const char *_Atomic transport;
    const char *_Atomic call; /* NULL: none */
    _Atomic uint64_t since;
} plugin;

void sy_stall_enter(const char *transport, const char *call)
{
    atomic_store_explicit(&plugin.transport, transport, memory_order_relaxed);
    atomic_store_explicit(&plugin.since, sy_clock_ns(), memory_order_relaxed);
    atomic_store_explicit(&plugin.call, call, memory_order_release);
}

void sy_stall_leave(void)
{
    atomic_store_explicit(&plugin.call, NULL, memory_order_relaxed);
}

/* How long it has lasted; 0: there is none. */
static double wait_stall_of_plugin(uint64_t now, const char **call)
{
    *call = atomic_load_explicit(&plugin.call, memory_order_acquire);
    uint64_t since = atomic_load_explicit(&plugin.since, memory_order_relaxed);

    return *call && now > since ? wait_stall_seconds(since, now) : 0;
}

/* For how long this note's thread has been in one call of progress() or message_send(), as far as
 * has been seen: 0, it has not, or not for long. One thread at a time looks. */
static double wait_stall_calls(struct note *note, uint64_t now)
{
    const struct sy_plugin_call *call = &sy_plugin_calls[note - notes];
    bool inside = atomic_load_explicit(&call->transport, memory_order_relaxed);
    uint32_t number = atomic_load_explicit(&call->number, memory_order_relaxed);

    if (!inside || !note->seen_at || number != note->seen) {
        note->seen = number;
        note->seen_at = inside ? now : 0;
        return 0;
    }
    return now - note->seen_at > FRESH_NS ? wait_stall_seconds(note->seen_at, now) : 0;
}

/* ---- reports ---- */

static double wait_stall_longest(void)
{
    uint64_t now = sy_clock_ns();
    const char *what;
    double longest = wait_stall_of_plugin(now, &what);

    for (int i = 0; i < THREADS; i++) {
        double waits = wait_stall_waits(&notes[i], now);
        double calls = wait_stall_calls(&notes[i], now);
        longest = waits > longest ? waits : longest;
        longest = calls > longest ? calls : longest;
    }
    return longest;
}

/* What one thread waits for, or is stuck in; "": nothing that is known. */
static void wait_stall_text_of(struct note *note, uint64_t now, char *text, size_t room)
{
    double calls = wait_stall_calls(note, now);
    const char *transport = atomic_load(&sy_plugin_calls[note - notes].transport),
               *where = atomic_load(&note->where);
    int pe = atomic_load(&sy_plugin_calls[note - notes].pe);

    *text = '\0';
    if (calls > 0 && transport && pe >= 0)
        snprintf(text, room, "in message_send() of transport %s to PE %d, for %.0f s", transport,
                 pe, calls);
    else if (calls > 0 && transport)
        snprintf(text, room, "in progress() of transport %s, for %.0f s", transport, calls);
    else if (wait_stall_waits(note, now) > 0)
        snprintf(text, room, "in %s", atomic_load(&note->call));
    else if (where && now > atomic_load(&note->opened) + SY_STALL_NOTED_NS)
        snprintf(text, room, "in %s", where);
}

double sy_stall_text(char *text, size_t room)
{
    uint64_t now = sy_clock_ns();
    const char *call;
    double called = wait_stall_of_plugin(now, &call);
    size_t length = 0;

    if (called > 0)
        length = (size_t)snprintf(text, room, "in %s() of transport %s, for %.0f s", call,
                                  atomic_load(&plugin.transport), called);
    for (int i = 0; i < THREADS && length < room; i++) {
        char one[120];
        wait_stall_text_of(&notes[i], now, one, sizeof one);
        if (*one)
            length += (size_t)snprintf(text + length, room - length, "%s%s",
                                       length ? "; another thread is " : "", one);
    }
    if (!length)
        snprintf(text, room, "computing,%s or in a call of the system",
                 sy_says_initialized() ? " in MPI," : "");
    return wait_stall_longest();
}

uint64_t sy_stall_waits(bool *inside, double *seconds)
{
    uint64_t now = sy_clock_ns(), wait = 0;
    int count = 0;

    *inside = true;
    *seconds = 0;
    for (int i = 0; i < THREADS; i++) {
        double waits = wait_stall_waited(&notes[i], now);
        if (waits <= 0)
            continue;
        *inside &= atomic_load_explicit(&notes[i].inside, memory_order_relaxed);
        wait = wait * 31 + atomic_load_explicit(&notes[i].since, memory_order_relaxed);
        if (!count || waits < *seconds)
            *seconds = waits;
        count++;
    }
    return wait;
}

bool sy_stall_is_waiting(pid_t task)
{
    uint64_t now = sy_clock_ns();

    for (int i = 0; i < THREADS; i++)
        if (wait_stall_waited(&notes[i], now) > 0 &&
            atomic_load_explicit(&notes[i].task, memory_order_relaxed) == task)
            return true;
    return false;
}

static void wait_stall_tell_one(const char *transport, const struct sy_outstanding *p)
{
    char operations[60] = "", bytes[60] = "", sent[60] = "";

    if (p->operations)
        snprintf(operations, sizeof operations, "%" PRIu64 " operations not confirmed, ",
                 p->operations);
    if (p->bytes)
        snprintf(bytes, sizeof bytes, "%" PRIu64 " bytes not confirmed, ", p->bytes);
    if (p->seconds >= 0)
        snprintf(sent, sizeof sent, ", last sent %.1f s ago", p->seconds);
    sy_log(SY_LOG_WARN, "progress",
           "SIGUSR1: %s to PE %d (host %s): %s%s%" PRIu64 " replies awaited%s%s%s", transport,
           p->pe, sy_world_place(p->pe).host, operations, bytes, p->replies, sent,
           p->state ? ", " : "", p->state ? p->state : "");
}

void sy_stall_tell_outstanding(void)
{
    struct sy_outstanding list[PEERS];

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        int count = t->table->outstanding(t->self, list, PEERS);
        for (int k = 0; k < count; k++)
            wait_stall_tell_one(t->plugin.name, &list[k]);
        sy_route_tell_counters(t, SY_LOG_WARN, "progress", "SIGUSR1: ");
    }
}

bool sy_stall_due(double limit, double every)
{
    wait_stall_look_for_stop(sy_clock_ns(), (uint64_t)(every * 1e9));
    double longest = wait_stall_longest();

    if (longest < told)
        told = 0;
    if (longest < limit || longest < 2 * told)
        return false;
    told = longest;
    return true;
}

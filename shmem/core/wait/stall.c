/* See stall.h. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "core/callsite.h"
#include "core/route/route.h"
#include "core/wait/stall.h"
#include "core/wait/wait.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/clock.h"
#include "util/log.h"

enum {
    THREADS = 16, /* that have notes of their own; others share the last one */
    PEERS = 16    /* that each transport tells of */
};

/* A thread that waits writes again at each rest, of 50 ms at most, so a note that is older
 * is about a wait that has ended. Hence nothing is to be done at the end of a wait. */
#define FRESH_NS UINT64_C(500000000)

struct note {
    _Atomic uint64_t since, last;
    const char *_Atomic call;
    _Atomic pid_t task;  /* the thread's number */
    _Atomic bool inside; /* a wait for words that only the library writes */
};

static struct note notes[THREADS];
static atomic_int threads;
static double told; /* seconds of the wait that was reported last */

static struct note *wait_stall_own_note(void)
{
    static _Thread_local struct note *own;

    if (!own) {
        int index = atomic_fetch_add(&threads, 1);
        own = &notes[index < THREADS ? index : THREADS - 1];
    }
    return own;
}

void sy_stall_note(uint64_t since, uint64_t now, const char *where)
{
    struct note *note = wait_stall_own_note();

    if (atomic_load_explicit(&note->since, memory_order_relaxed) != since) {
        atomic_store_explicit(&note->call, sy_callsite_routine(where), memory_order_relaxed);
        atomic_store_explicit(&note->inside, where == sy_wait_inside, memory_order_relaxed);
        atomic_store_explicit(&note->task, gettid(), memory_order_relaxed);
        atomic_store_explicit(&note->since, since, memory_order_relaxed);
    }
    atomic_store_explicit(&note->last, now, memory_order_release);
}

/* How long this note's thread has been waiting; 0: it does not. */
static double wait_stall_waited(struct note *note, uint64_t now)
{
    uint64_t last = atomic_load_explicit(&note->last, memory_order_acquire);
    uint64_t since = atomic_load_explicit(&note->since, memory_order_relaxed);

    if (!last || now > last + FRESH_NS || now < since)
        return 0;
    return (double)(now - since) / 1e9;
}

static double wait_stall_longest(void)
{
    uint64_t now = sy_clock_ns();
    double longest = 0;

    for (int i = 0; i < THREADS; i++)
        longest = wait_stall_waited(&notes[i], now) > longest ? wait_stall_waited(&notes[i], now)
                                                              : longest;
    return longest;
}

double sy_stall_text(char *text, size_t room)
{
    uint64_t now = sy_clock_ns();
    size_t length = 0;

    for (int i = 0; i < THREADS; i++)
        if (wait_stall_waited(&notes[i], now) > 0 && length < room)
            length += (size_t)snprintf(text + length, room - length, "%s%s",
                                       length ? "; another thread is in " : "in ",
                                       atomic_load(&notes[i].call));
    if (!length)
        snprintf(text, room, "computing, or in a call of the system");
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

static void wait_stall_tell_one(const char *transport, const struct sy_pending *p)
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

void sy_stall_tell_pending(void)
{
    struct sy_pending list[PEERS];

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        int count = t->table->pending(t->self, list, PEERS);
        for (int k = 0; k < count; k++)
            wait_stall_tell_one(t->plugin.name, &list[k]);
        sy_route_tell_counters(t, SY_LOG_WARN, "progress", "SIGUSR1: ");
    }
}

bool sy_stall_due(double limit)
{
    double longest = wait_stall_longest();

    if (longest < told)
        told = 0;
    if (longest < limit || longest < 2 * told)
        return false;
    told = longest;
    return true;
}

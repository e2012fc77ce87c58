/* See stall.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/callsite.h"
#include "core/route/route.h"
#include "core/wait/stall.h"
#include "core/wait/wait.h"
#include "core/start/world.h"
#include "util/bits.h"
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
};

static struct note notes[THREADS];
static atomic_int threads;
static double told; /* seconds of the wait that was reported last */

static struct note *own_note(void)
{
    static _Thread_local struct note *own;

    if (!own) {
        int index = atomic_fetch_add(&threads, 1);
        own = &notes[index < THREADS ? index : THREADS - 1];
    }
    return own;
}

/* A word for people where the routine cannot be seen: not the name of a function of the library. */
static const char *stall_word(const char *where)
{
    if (!strncmp(where, "pshmem_", 7))
        return where + 1;
    return !strncmp(where, "shmem_", 6) || strchr(where, ' ') ? where : "a routine of the library";
}

void sy_stall_note(uint64_t since, uint64_t now, const char *where)
{
    struct note *note = own_note();

    if (atomic_load_explicit(&note->since, memory_order_relaxed) != since) {
        atomic_store_explicit(&note->call, sy_callsite_routine(stall_word(where)),
                              memory_order_relaxed);
        atomic_store_explicit(&note->since, since, memory_order_relaxed);
    }
    atomic_store_explicit(&note->last, now, memory_order_release);
}

/* How long this note's thread has been waiting; 0: it does not. */
static double waited(struct note *note, uint64_t now)
{
    uint64_t last = atomic_load_explicit(&note->last, memory_order_acquire);
    uint64_t since = atomic_load_explicit(&note->since, memory_order_relaxed);

    if (!last || now > last + FRESH_NS || now < since)
        return 0;
    return (double)(now - since) / 1e9;
}

double sy_stall_text(char *text, size_t room)
{
    uint64_t now = sy_wait_now();
    double longest = 0;
    size_t length = 0;

    for (int i = 0; i < THREADS; i++) {
        double seconds = waited(&notes[i], now);

        if (seconds <= 0)
            continue;
        if (length < room)
            length += (size_t)snprintf(text + length, room - length, "%s%s",
                                       length ? "; another thread is in " : "in ",
                                       atomic_load(&notes[i].call));
        if (seconds > longest)
            longest = seconds;
    }
    if (!length)
        snprintf(text, room, "computing, or in a call of the system");
    return longest;
}

uint64_t sy_stall_waits(int *count, double *seconds)
{
    uint64_t now = sy_wait_now(), wait = 0;

    *count = 0;
    *seconds = 0;
    for (int i = 0; i < THREADS; i++) {
        double waits = waited(&notes[i], now);
        if (waits <= 0)
            continue;
        wait = wait * 31 + atomic_load_explicit(&notes[i].since, memory_order_relaxed);
        if (!*count || waits < *seconds)
            *seconds = waits;
        ++*count;
    }
    return wait;
}

/* Appends to a line. */
__attribute__((format(printf, 3, 4))) static void say(char *line, size_t room, const char *fmt, ...)
{
    size_t length = strlen(line);
    va_list args;

    va_start(args, fmt);
    vsnprintf(line + length, room - length, fmt, args);
    va_end(args);
}

static void tell_one(const char *transport, const struct sy_pending *p)
{
    char line[300] = "";

    say(line, sizeof line, "SIGUSR1: %s to PE %d (host %s): ", transport, p->pe,
        sy_world_place(p->pe).host);
    if (p->operations)
        say(line, sizeof line, "%" PRIu64 " operations not confirmed, ", p->operations);
    if (p->bytes)
        say(line, sizeof line, "%" PRIu64 " bytes not confirmed, ", p->bytes);
    say(line, sizeof line, "%" PRIu64 " replies awaited", p->replies);
    if (p->seconds >= 0)
        say(line, sizeof line, ", last sent %.1f s ago", p->seconds);
    sy_log(SY_LOG_WARN, "progress", "%s%s%s", line, p->state ? ", " : "", p->state ? p->state : "");
}

void sy_stall_tell_pending(void)
{
    struct sy_pending list[PEERS];

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *t = &sy_routes.transport[i];
        int count = t->table->pending(list, PEERS);
        for (int k = 0; k < count; k++)
            tell_one(t->plugin.name, &list[k]);
    }
}

bool sy_stall_due(double limit)
{
    uint64_t now = sy_wait_now();
    double longest = 0;

    for (int i = 0; i < THREADS; i++) {
        double seconds = waited(&notes[i], now);

        if (seconds > longest)
            longest = seconds;
    }
    if (longest < told)
        told = 0;
    if (longest < limit || longest < 2 * told)
        return false;
    told = longest;
    return true;
}

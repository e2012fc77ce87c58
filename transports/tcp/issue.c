/* See issue.h: the paths that are taken once in a while. */
#include <pthread.h>
#include <stdlib.h>

#include "transports/tcp/issue.h"

#define IDLE_NS 3000   /* a lane that has sent nothing for so long is idle */
#define REST_NS 100000 /* after so long the progress thread sleeps until a socket is readable */
#define BUNCHES 3      /* in a row make one expect the next */
#define KEEPS   4      /* gatherings in a row that the program has sent make one rely on it */

struct tcp_mark *sy_tcp_issue_marks(struct tcp *tcp, struct sy_transport_ctx *ctx)
{
    struct tcp_mark *made = calloc(tcp->lanes.limit, sizeof *made), *before = NULL;

    if (made && !atomic_compare_exchange_strong(&ctx->mark, &before, made)) {
        free(made);
        return before;
    }
    return made;
}

struct tcp_lane *sy_tcp_issue_route(struct tcp *tcp, int pe)
{
    struct tcp_route *route = &tcp->routes[pe];
    int end = sy_tcp_endpoint(tcp, pe);
    struct tcp_lane *lane = sy_tcp_lane_open(tcp, end, 0);

    if (!lane)
        return NULL;
    unsigned target = TCP_TARGET_SELF;
    if (end != pe) {
        /* The first frame tells whether that process can apply operations for its neighbours. */
        if (!atomic_load_explicit(&lane->heard, memory_order_acquire))
            return NULL;
        if (atomic_load_explicit(&lane->serves_node, memory_order_relaxed))
            target = (unsigned)tcp->host->place(pe).local;
        else
            lane = sy_tcp_lane_open(tcp, pe, 0);
    }
    if (!lane)
        return NULL;
    /* Other threads may be at it too, and find the same. */
    atomic_store_explicit(&route->target, target, memory_order_relaxed);
    atomic_store_explicit(&route->lane, lane, memory_order_release);
    return lane;
}

/* What a lane has seen of late decides only when something leaves. Threads that issue at once may
 * spoil each other's counts. */
static int tcp_issue_get(const _Atomic int *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

static void tcp_issue_set(_Atomic int *count, int value)
{
    atomic_store_explicit(count, value, memory_order_relaxed);
}

/* An operation that leaves by itself: if a quiet follows such operations as a rule, the frame asks
 * for the acknowledgement that the quiet will wait for, which saves it a frame of its own. */
static void tcp_issue_send_alone(struct tcp_lane *lane, uint64_t tail)
{
    int follows = tcp_issue_get(&lane->quiet_follows);

    if (atomic_load_explicit(&lane->alone, memory_order_relaxed) && follows > 0)
        tcp_issue_set(&lane->quiet_follows, --follows);
    atomic_store_explicit(&lane->alone, true, memory_order_relaxed);
    if (follows >= 2)
        sy_tcp_send_ask(lane, tail);
    sy_tcp_send(lane);
}

/* An operation, whose record is [begin, end), finds the lane idle. Whether others are going to
 * follow it at once, as they did the last times. */
static bool tcp_issue_begins_bunch(struct tcp_lane *lane, uint64_t begin, uint64_t end)
{
    bool followed = begin > atomic_load_explicit(&lane->first_end, memory_order_relaxed);
    int before = tcp_issue_get(&lane->bunches), bunches = !followed          ? 0
                                                          : before < BUNCHES ? before + 1
                                                                             : BUNCHES;

    tcp_issue_set(&lane->bunches, bunches);
    atomic_store_explicit(&lane->first_end, end, memory_order_relaxed);
    return bunches == BUNCHES;
}

/* Whether the program has sent what it gathered by itself the last times, by waiting or because
 * there was much of it. Then the timer that sees to it otherwise may expire later: early timers are
 * dear on virtual machines. */
static bool tcp_issue_is_kept(struct tcp_lane *lane)
{
    if (atomic_load_explicit(&lane->left, memory_order_relaxed)) {
        atomic_store_explicit(&lane->left, false, memory_order_relaxed);
        tcp_issue_set(&lane->keeps, 0);
        return false;
    }
    int keeps = tcp_issue_get(&lane->keeps);
    if (keeps < KEEPS)
        tcp_issue_set(&lane->keeps, ++keeps);
    return keeps == KEEPS;
}

void sy_tcp_issue_first(struct sy_transport_ctx *ctx, struct tcp_lane *lane, uint64_t tail,
                        size_t bytes)
{
    uint64_t now = sy_tcp_now();
    bool idle = now - atomic_load_explicit(&lane->sent_time, memory_order_relaxed) > IDLE_NS;

    if (idle && !tcp_issue_begins_bunch(lane, tail - bytes, tail) && !ctx->batch) {
        tcp_issue_send_alone(lane, tail);
        return;
    }
    atomic_store_explicit(&lane->producer, pthread_self(), memory_order_relaxed);
    atomic_store_explicit(&lane->gathered_at, now, memory_order_relaxed);
    sy_tcp_send_mark(lane, ctx->batch || tcp_issue_is_kept(lane));
}

static bool has_rested(const struct tcp_lane *lane)
{
    return sy_tcp_now() - atomic_load_explicit(&lane->sent_time, memory_order_relaxed) > REST_NS;
}

/* After a rest the reply would wake the progress thread too, which the kernel often runs on the
 * processor of the thread that is polling for the reply. */
void sy_tcp_issue_ask(struct sy_transport_ctx *ctx, struct tcp_lane *lane, uint64_t tail,
                      size_t bytes, uint64_t wanted)
{
    bool attends = sy_tcp_poll_may_sleep(lane->tcp) && !lane->tcp->host->crowded &&
                   !lane->tcp->host->threads && has_rested(lane) && sy_tcp_send_attend(lane, 1);

    sy_tcp_issue_done(ctx, lane, tail, bytes, true);
    sy_tcp_issue_wait(lane, wanted);
    if (attends)
        sy_tcp_send_attend(lane, -1);
}

/* The first rest, which comes early, also tells the progress thread that this thread polls. */
void sy_tcp_issue_wait(struct tcp_lane *lane, uint64_t wanted)
{
    uint64_t since = 0;

    for (unsigned turn = 0; atomic_load_explicit(&lane->answered, memory_order_acquire) < wanted;
         turn++)
        if (sy_tcp_poll_lane(lane->tcp, lane) <= 0 && turn % 8 == 0)
            lane->tcp->host->rest(&since);
}

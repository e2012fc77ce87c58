#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/callsite.h"
#include "core/issue.h"
#include "core/ctx.h"
#include "core/fatal.h"
#include "core/wait/tell.h"
#include "core/wait/wait.h"
#include "core/start/world.h"
#include "util/clock.h"

void sy_issue_refuse_child(const char *what)
{
    if (sy_routes.in_child)
        sy_fatal("%s: process %ld is a child process that the program has forked. Connections "
                 "are the PE's own, so only the PE may call the library",
                 sy_callsite_routine(what), (long)getpid());
}

/* Handles a data call's answer: whether the call must be repeated. *since: 0 at first. */
static bool core_issue_again(int answer, const char *what, int pe, uint64_t *since)
{
    if (SY_LIKELY(!answer)) {
        if (SY_UNLIKELY(*since != 0))
            sy_wait_rested();
        return false;
    }
    if (answer != -EAGAIN) {
        sy_issue_refuse_child(what);
        sy_tell_hear_out();
        sy_fatal("%s with PE %d on host %s by transport %s: %s", sy_callsite_routine(what), pe,
                 sy_world_place(pe).host, sy_route_to(pe)->plugin.name, strerror(-answer));
    }
    sy_wait_rest(since, what);
    return true;
}

/* core_issue_again for optional members of a transport: -EOPNOTSUPP is a final answer too. */
enum { NOT_ASKED = INT_MIN };
static bool core_issue_again_if_able(int answer, const char *what, int pe, uint64_t *since)
{
    return answer == NOT_ASKED ||
           core_issue_again(answer == -EOPNOTSUPP ? 0 : answer, what, pe, since);
}

/* Calls a member of the table of `route` for as long as AGAIN says so of its answer. */
#define CALL(AGAIN, PE, MEMBER, ...)                                                               \
    const struct sy_route_transport *route = sy_route_to(PE);                                      \
    for (uint64_t since = 0; AGAIN(answer, what, PE, &since);)                                     \
    answer = MEMBER(route->self, sy_issue_domain(route, ctx), __VA_ARGS__)

SY_COLD void sy_issue_put_again(int answer, const char *what, shmem_ctx_t ctx,
                                const struct sy_transfer *t, unsigned flags)
{
    CALL(core_issue_again, t->pe, route->table->put, t, flags);
}

SY_COLD void sy_issue_get_again(int answer, const char *what, shmem_ctx_t ctx,
                                const struct sy_transfer *t, unsigned flags)
{
    CALL(core_issue_again, t->pe, route->table->get, t, flags);
}

SY_COLD void sy_issue_amo_again(int answer, const char *what, shmem_ctx_t ctx,
                                const struct sy_amo *a, unsigned flags)
{
    CALL(core_issue_again, a->pe, route->table->amo, a, flags);
}

bool sy_issue_strided(const char *what, shmem_ctx_t ctx, const struct sy_strided *t, unsigned flags,
                      bool put)
{
    int answer = NOT_ASKED;

    CALL(core_issue_again_if_able, t->first.pe,
         (put ? route->table->put_strided : route->table->get_strided), t, flags);
    return !answer;
}

void sy_issue_put_signal(const char *what, shmem_ctx_t ctx, const struct sy_transfer *t,
                         const struct sy_amo *signal, unsigned flags)
{
    int answer = NOT_ASKED;
    CALL(core_issue_again_if_able, t->pe, route->table->put_signal, t, signal, flags);
    if (!answer)
        return;
    sy_issue_put(what, ctx, t, flags);
    sy_fence_transports(ctx);
    sy_issue_amo(what, ctx, signal, flags & SY_PROMPT);
}

bool sy_issue_raise(const char *what, shmem_ctx_t ctx, int pe, unsigned window, uint64_t offset,
                    uint64_t value)
{
    int answer = NOT_ASKED;
    CALL(core_issue_again_if_able, pe, route->table->raise, pe, window, offset, value);
    return !answer;
}
#undef CALL

SY_COLD static void core_issue_failed(const char *what, const struct sy_route_transport *route,
                                      int answer)
{
    sy_tell_hear_out();
    sy_fatal("%s by transport %s: %s", sy_callsite_routine(what), route->plugin.name,
             strerror(-answer));
}

void sy_fence_transports(shmem_ctx_t ctx)
{
    sy_wait_looked(false);
    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *route = &sy_routes.transport[i];
        int answer = route->carries && !(route->table->capabilities & SY_ORDERED)
                         ? route->table->fence(route->self, sy_issue_domain(route, ctx))
                         : 0;
        if (answer)
            core_issue_failed("fence", route, answer);
    }
}

/* Asks those transports of `left`, a bit each, that have not completed yet; returns which still
 * have not. All are asked before any is waited for, so that their round trips overlap; one that has
 * completed is not asked again, as other threads may have issued more. */
static unsigned core_issue_quiet(shmem_ctx_t ctx, int pe, unsigned left)
{
    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *route = &sy_routes.transport[i];
        if (!(left >> i & 1))
            continue;
        bool concerned = route->carries && (pe == SY_ALL_PES || sy_route_to(pe) == route);
        int answer = concerned ? route->table->quiet(route->self, sy_issue_domain(route, ctx), pe)
                               : 0;
        if (!answer)
            left &= ~(1u << i);
        else if (answer != -EAGAIN)
            core_issue_failed("quiet", route, answer);
    }
    return left;
}

bool sy_quiet_reached(shmem_ctx_t ctx)
{
    return !core_issue_quiet(ctx, SY_ALL_PES, (1u << sy_routes.count) - 1);
}

/* How long a quiet may last before it takes tickets: other threads may issue without end. */
#define LASTS_NS 1000000

static bool core_issue_lasts(uint64_t since)
{
    return since && sy_clock_ns() - since > LASTS_NS;
}

/* Whether a ticket is left, after those that have been reached. */
static bool core_issue_await(struct sy_transport_ticket *ticket[])
{
    bool any = false;

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *route = &sy_routes.transport[i];
        int answer = ticket[i] ? route->table->reached(route->self, ticket[i]) : 0;
        if (!answer)
            ticket[i] = NULL;
        else if (answer != -EAGAIN)
            core_issue_failed("quiet", route, answer);
        any |= answer != 0;
    }
    return any;
}

/* Goes on with a quiet, by tickets where the transport has some. */
static void core_issue_quiet_long(shmem_ctx_t ctx, int pe, unsigned left, uint64_t *since)
{
    struct sy_transport_ticket *ticket[SY_TRANSPORTS_MAX] = {NULL};

    for (unsigned i = 0; i < sy_routes.count; i++) {
        const struct sy_route_transport *route = &sy_routes.transport[i];
        if (left >> i & 1 &&
            !route->table->mark(route->self, sy_issue_domain(route, ctx), pe, &ticket[i]))
            left &= ~(1u << i);
    }
    while ((left = core_issue_quiet(ctx, pe, left)) || core_issue_await(ticket))
        sy_wait_rest(since, "shmem_quiet");
}

void sy_quiet_transports(shmem_ctx_t ctx, int pe)
{
    unsigned left = (1u << sy_routes.count) - 1;
    uint64_t since = 0;

    sy_wait_looked(false);
    while ((left = core_issue_quiet(ctx, pe, left)) && !core_issue_lasts(since))
        sy_wait_rest(&since, "shmem_quiet");
    if (left)
        core_issue_quiet_long(ctx, pe, left, &since);
    sy_wait_over(since);
}

/* Where the other PE's control window is mapped the flag is stored there, and would overtake what
 * has been put. */
void sy_flush_pair(int pe)
{
    const struct sy_route_transport *route = sy_route_to(pe);
    bool flag_follows = route && route->carries && !sy_windows_peer(SY_WINDOW_CONTROL, pe);
    int answer = -EOPNOTSUPP;
    uint64_t since = 0;

    for (; flag_follows; sy_wait_rest(&since, "shmem_barrier_all")) {
        answer = route->table->flush_local(route->self, sy_issue_domain(route, SHMEM_CTX_DEFAULT),
                                           pe);
        if (answer != -EAGAIN || core_issue_lasts(since))
            break;
    }
    if (since)
        sy_wait_rested();
    if (answer == -EOPNOTSUPP || answer == -EAGAIN)
        sy_quiet_transports(SHMEM_CTX_DEFAULT, SY_ALL_PES);
    else if (answer)
        core_issue_failed("shmem_barrier_all", route, answer);
    atomic_thread_fence(memory_order_seq_cst); /* as in sy_quiet */
}

/* Messages to users while a job makes no progress: what its start waits for, which call each PE is
 * in, and where each PE is when the time of --timeout is over. */
#include "bootstrap/launcher/head/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "bootstrap/launcher/memory.h"
#include "util/list.h"

static const double LOOK = 2;    /* seconds without progress after which something is said */
static const double TRACES = 20; /* seconds for all stack traces */

enum { STACKS = 8 /* that are shown at most */ };

/* ---- starts that take long ---- */

static void waiting_tell_gather(struct sy_run *run, double since)
{
    char missing[SY_LIST_TEXT];

    sy_run_say(run, SY_SAY_ENDING, "'%s' has been waiting for %s for %.0f s", run->gather.phase,
               sy_list_missing(run->gather.have, run->npes, NULL, NULL, missing, sizeof missing),
               since);
}

/* Reports after 2 s, and again each time the wait has doubled. */
static bool waiting_is_time(struct sy_run *run, double since)
{
    if (since < LOOK || since < 2 * run->waiting.told)
        return false;
    run->waiting.told = since;
    return true;
}

static bool waiting_for_host(const struct sy_node *node)
{
    return node->state < SY_NODE_UP;
}

static void waiting_tick(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;
    double now = ev_now(loop);

    (void)events;
    if (run->ending.begun)
        return;
    char *hosts = sy_nodes_text(run, waiting_for_host);
    if (hosts) {
        if (waiting_is_time(run, now - run->waiting.started))
            sy_run_say(run, SY_SAY_ENDING, "still waiting for %s after %.0f s", hosts,
                       now - run->waiting.started);
        free(hosts);
    } else if (sy_gather_waits(&run->gather)) {
        if (waiting_is_time(run, now - run->waiting.gather_began))
            waiting_tell_gather(run, now - run->waiting.gather_began);
    } else {
        run->waiting.told = 0;
    }
}

/* ---- which call each PE is in ---- */

const char *sy_waiting_how_ended(const struct sy_pe *pe)
{
    static char text[64];

    if (WIFSIGNALED(pe->wait_status))
        snprintf(text, sizeof text, "was killed by signal %d", WTERMSIG(pe->wait_status));
    else
        snprintf(text, sizeof text, "has exited with status %d", WEXITSTATUS(pe->wait_status));
    return text;
}

/* What a PE that is alive does, as far as it is known without an answer. */
static const char *waiting_where(const struct sy_pe *pe)
{
    return pe->initialized  ? SY_REPORT_SILENT
           : pe->finalized  ? "after shmem_finalize"
           : pe->said_hello ? "in shmem_init"
                            : "no shmem_init so far";
}

static void waiting_print(struct sy_run *run)
{
    char **text = run->report.note, who[512];

    for (int pe = 0; pe < run->npes; pe++) {
        const struct sy_pe *of = &run->pes[pe];

        if (!text[pe] && of->alive)
            text[pe] = sy_memory_string(waiting_where(of));
        else if (!text[pe] && of->started)
            text[pe] = sy_memory_string(sy_waiting_how_ended(of));
    }
    for (int pe = 0; sy_list_next_alike(text, run->npes, &pe, who, sizeof who); pe++)
        sy_run_say(run, SY_SAY_ALWAYS, "  %s: %s", who, text[pe]);
}

static bool waiting_is_busy(const struct sy_report *report)
{
    const struct sy_run *run = report->self;

    return run->ending.begun || run->abort.asked || run->traces.running;
}

static void waiting_ask(struct sy_report *report)
{
    struct sy_run *run = report->self;

    for (int pe = 0; pe < run->npes; pe++) {
        struct sy_pe *of = &run->pes[pe];

        /* Where a transport is being opened or closed, a thread answers. */
        report->asked[pe] = of->alive &&
                            (of->initialized || (of->said_hello && !of->finalized &&
                                                 !run->gather.have[pe] && !report->confirming));
        if (report->asked[pe] && !report->note[pe])
            sy_run_send(of, SY_CONTROL_ASK, 0, NULL, 0);
    }
}

static bool waiting_timer(struct sy_report *report, bool on)
{
    struct sy_run *run = report->self;

    ev_timer_stop(run->loop, &run->waiting.answers);
    if (on) {
        ev_set_priority(&run->waiting.answers, 0);
        ev_timer_set(&run->waiting.answers, SY_REPORT_SECONDS, 0.);
        ev_timer_start(run->loop, &run->waiting.answers);
    }
    return true;
}

static void waiting_answers_late(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)events;
    if (!run->report.asking || !sy_node_looks_again(loop, timer))
        sy_report_late(&run->report);
}

/* Ends the job for --timeout once everything has been reported. */
static void waiting_end_for_time(struct sy_run *run)
{
    if (!run->traces.running || run->traces.left > 0 || run->report.asking)
        return;
    run->traces.running = false;
    ev_timer_stop(run->loop, &run->traces.limit);
    sy_ending_begin(run, SY_FLAGS_OVERDUE, SY_GRACE_ASKED);
}

/* Chooses whose stacks are shown: in each round one PE of each group of the report. A PE without a
 * note is in no group any more. */
static void waiting_choose_stacks(struct sy_run *run)
{
    char **note = run->report.note, who[SY_LIST_TEXT];

    for (int round = 0; round < STACKS; round++) {
        for (int pe = 0; pe < run->npes; pe++) {
            if (run->pes[pe].alive && !run->pes[pe].trace_due)
                continue;
            free(note[pe]);
            note[pe] = NULL;
        }
        for (int pe = 0;
             run->traces.left < STACKS && sy_list_next_alike(note, run->npes, &pe, who, sizeof who);
             pe++) {
            run->pes[pe].trace_due = true;
            run->traces.left++;
        }
    }
}

static void waiting_ask_stacks(struct sy_run *run)
{
    waiting_choose_stacks(run);
    if (run->living > run->traces.left)
        sy_run_say(run, SY_SAY_ENDING,
                   "stacks of %d PEs (those of %d other PEs are left out):", run->traces.left,
                   run->living - run->traces.left);
    ev_timer_start(run->loop, &run->traces.limit);
    for (int pe = 0; pe < run->npes; pe++)
        if (run->pes[pe].trace_due)
            sy_run_send(&run->pes[pe], SY_DAEMON_TRACE, 0, NULL, 0);
}

static void waiting_tell(struct sy_report *report, bool deadlock)
{
    struct sy_run *run = report->self;

    if (deadlock)
        sy_run_say(run, SY_SAY_ALWAYS,
                   "no PE can go on: each waits for another one (SHMEM_DEADLOCK_TIMEOUT)%s",
                   sy_ending_rest(run));
    else if (run->traces.running)
        sy_run_say(run, SY_SAY_ENDING, "where the PEs are:");
    else
        sy_run_say(run, SY_SAY_ALWAYS,
                   "a PE has been waiting for %.0f s (SHMEM_STALL_REPORT); what all are doing:",
                   report->waited);
    waiting_print(run);
    if (run->traces.running && !run->flags->no_traces)
        waiting_ask_stacks(run);
    if (deadlock)
        sy_ending_begin(run, sy_ending_status(run), SY_GRACE_FAILED);
    waiting_end_for_time(run);
}

/* ---- where each PE is when its time is over ---- */

static void waiting_traces_late(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)loop, (void)events;
    sy_run_say(run, SY_SAY_ENDING, "no stacks of %d PEs within %g seconds", run->traces.left,
               TRACES);
    run->traces.left = 0;
    waiting_end_for_time(run);
}

static void waiting_trace_over(struct sy_pe *pe)
{
    pe->trace_due = false;
    pe->run->traces.left--;
    waiting_end_for_time(pe->run);
}

void sy_waiting_ended(struct sy_pe *pe)
{
    if (pe->trace_due)
        waiting_trace_over(pe);
}

void sy_waiting_traced(struct sy_pe *pe, const char *text)
{
    struct sy_run *run = pe->run;

    if (run->ending.begun || !pe->trace_due)
        return;
    sy_run_say(run, SY_SAY_ENDING, "PE %d on host %s (pid %d):", pe->number, pe->node->name,
               (int)pe->pid);
    while (*text) {
        size_t length = strcspn(text, "\n");

        sy_run_say(run, SY_SAY_ENDING, "  %.*s", (int)length, text);
        text += length + (text[length] == '\n');
    }
    waiting_trace_over(pe);
}

void sy_waiting_trace(struct sy_run *run)
{
    if (run->ending.begun)
        return;
    sy_run_say(run, SY_SAY_ENDING, "the job did not end within %g seconds (--timeout)%s",
               run->flags->timeout, sy_ending_rest(run));
    run->traces.running = true;
    if (run->flags->quiet || !run->living) {
        waiting_end_for_time(run);
        return;
    }
    sy_report_ask(&run->report);
}

void sy_waiting_init(struct sy_run *run)
{
    static const struct sy_report_owner OWNER = {
        .busy = waiting_is_busy, .timer = waiting_timer, .ask = waiting_ask, .tell = waiting_tell};

    if (sy_report_init(&run->report, run->npes, &OWNER, run) != 0)
        sy_memory_check(NULL);
    run->waiting.started = ev_now(run->loop);
    ev_timer_init(&run->waiting.tick, waiting_tick, LOOK, LOOK);
    ev_timer_init(&run->waiting.answers, waiting_answers_late, 0., 0.);
    ev_timer_init(&run->traces.limit, waiting_traces_late, TRACES, 0.);
    run->waiting.tick.data = run->waiting.answers.data = run->traces.limit.data = run;
    ev_timer_start(run->loop, &run->waiting.tick);
}

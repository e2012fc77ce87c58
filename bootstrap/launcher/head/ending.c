/* Ends a job before its time. First an EXIT frame: a PE that is connected flushes its files and
 * leaves. When no more PEs do and all output has been read, SIGTERM to all process groups; then
 * SIGKILL. After a PE has exited with an error, all of this waits a moment: often all PEs are about
 * to exit, and another one will give the reason. */
#include "bootstrap/launcher/head/run.h"

#include <signal.h>
#include <stdio.h>

enum stage { HEARD_OUT, ASKED, TOLD, KILLED };

static const double HEAR_OUT = 0.1; /* seconds for last words */
static const double ASK = 0.2;      /* seconds that PEs have to leave, and again for each 40 */
static const double STUCK = 10.0;   /* for all output, then in the kernel after SIGKILL */

void sy_ending_forward(struct sy_run *run, int number)
{
    sy_nodes_send(run, SY_DAEMON_SIGNAL, number);
}

const char *sy_ending_rest(const struct sy_run *run)
{
    static char text[64];
    int count = run->living;

    if (count <= 0)
        return "";
    if (count == run->npes)
        snprintf(text, sizeof text, "; stopping %s", count == 1 ? "the PE" : "all PEs");
    else if (count == 1)
        snprintf(text, sizeof text, "; stopping the other PE");
    else
        snprintf(text, sizeof text, "; stopping the other %d PEs", count);
    return text;
}

static void ending_arm(struct sy_run *run, enum stage stage, double seconds)
{
    run->ending.stage = stage;
    ev_timer_stop(run->loop, &run->ending.timer);
    ev_timer_set(&run->ending.timer, seconds, 0.);
    ev_timer_start(run->loop, &run->ending.timer);
}

/* Sends a signal to all PEs. A stopped process acts on it only when it is continued. */
static void ending_tell(struct sy_run *run, int number)
{
    sy_ending_forward(run, number);
    sy_ending_forward(run, SIGCONT);
    ending_arm(run, TOLD, run->ending.grace);
}

static void end_by_force(struct sy_run *run)
{
    sy_ending_forward(run, SIGKILL);
    ending_arm(run, KILLED, STUCK);
}

static void ending_give_up(struct sy_run *run)
{
    for (int pe = 0; pe < run->npes; pe++) {
        if (run->pes[pe].alive)
            sy_run_say(run, SY_SAY_ALWAYS,
                       "PE %d on host %s (pid %d) has not ended %g s after it was killed: %s stuck "
                       "in the kernel, or waits for a processor, and is left behind",
                       pe, run->pes[pe].node->name, (int)run->pes[pe].pid, STUCK,
                       run->pes[pe].node->local ? "it is" : "it or oshrun's agent there is");
    }
    ev_break(run->loop, EVBREAK_ALL);
}

static void ending_wait_for_exits(struct sy_run *run)
{
    double ask = ASK * (1 + run->npes / 40.);

    run->ending.living = run->living;
    run->ending.waited += ask;
    ending_arm(run, ASKED, ask);
}

static void ending_ask(struct sy_run *run)
{
    for (int i = 0; i < run->npes; i++) {
        struct sy_pe *pe = &run->pes[i];

        if (pe->aborted)
            continue;
        if (pe->said_hello)
            sy_run_send(pe, SY_CONTROL_EXIT, run->status, NULL, 0);
        else if (pe->alive)
            sy_run_send(pe, SY_DAEMON_SIGNAL, SIGTERM, NULL, 0);
    }
    sy_nodes_end(run);
    if (!run->all_gone)
        ending_wait_for_exits(run);
}

/* The time is over. */
static void ending_look_for_exits(struct sy_run *run)
{
    bool slow = run->living < run->ending.living || !sy_outputs_empty(&run->outputs);

    if (slow && run->ending.waited < STUCK)
        ending_wait_for_exits(run);
    else
        ending_tell(run, SIGTERM);
}

static void ending_next_stage(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)loop, (void)events;
    switch (run->ending.stage) {
    case HEARD_OUT:
        ending_ask(run);
        break;
    case ASKED:
        ending_look_for_exits(run);
        break;
    case TOLD:
        end_by_force(run);
        break;
    default:
        ending_give_up(run);
    }
}

/* Returns false if an end has begun already. */
static bool ending_begin(struct sy_run *run, int status, double grace)
{
    if (run->ending.begun)
        return false;
    run->ending.begun = true;
    run->ending.grace = run->flags->grace >= 0 ? run->flags->grace : grace;
    run->status = status;
    run->abort.asked = false;
    ev_timer_stop(run->loop, &run->abort.wait);
    ev_timer_stop(run->loop, &run->gather_limit);
    return true;
}

void sy_ending_begin(struct sy_run *run, int status, double grace)
{
    if (ending_begin(run, status, grace))
        ending_ask(run);
}

int sy_ending_status(const struct sy_run *run)
{
    return run->status ? run->status : 1;
}

void sy_ending_failed(struct sy_run *run, int status)
{
    if (ending_begin(run, status, SY_GRACE_FAILED) && !run->all_gone)
        ending_arm(run, HEARD_OUT, HEAR_OUT);
}

void sy_ending_signal(struct sy_run *run, int number)
{
    if (!ending_begin(run, 128 + number, SY_GRACE_ASKED)) {
        /* A user who repeats the request after all PEs were killed does not want to wait for those
         * that are stuck. */
        if (run->ending.stage == KILLED)
            ending_give_up(run);
        else
            end_by_force(run);
        return;
    }
    sy_nodes_end(run);
    if (!run->all_gone)
        ending_tell(run, number);
}

void sy_ending_init(struct sy_run *run)
{
    ev_timer_init(&run->ending.timer, ending_next_stage, 0., 0.);
    run->ending.timer.data = run;
}

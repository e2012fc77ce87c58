/* Ends a job before its time. First an EXIT frame: a PE that is connected flushes its files and
 * leaves. Then SIGTERM to all process groups; then SIGKILL. */
#include "bootstrap/launcher/run.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum stage { ASKED, TOLD, KILLED };

static const double ASK = 0.2;    /* seconds that a PE has to leave by itself */
static const double STUCK = 10.0; /* after SIGKILL, for those that are stuck in the kernel */

/* A PE may have left its group (a shell with job control does), so it is signalled by itself then.
 */
static void signal_pe(const struct sy_pe *pe, int number)
{
    if (!pe->alive)
        return;
    if (kill(-pe->pid, number) != 0 || getpgid(pe->pid) != pe->pid)
        kill(pe->pid, number);
}

void sy_ending_forward(struct sy_run *run, int number)
{
    for (int pe = 0; pe < run->started; pe++)
        signal_pe(&run->pes[pe], number);
}

const char *sy_ending_rest(const struct sy_run *run, bool others)
{
    static char text[64];
    int count = run->living - (others ? 1 : 0);

    if (count <= 0)
        return "";
    if (run->living == run->npes && !others)
        snprintf(text, sizeof text, "; stopping %s", count == 1 ? "the PE" : "all PEs");
    else if (count == 1)
        snprintf(text, sizeof text, "; stopping the other PE");
    else
        snprintf(text, sizeof text, "; stopping the other %d PEs", count);
    return text;
}

static void arm(struct sy_run *run, enum stage stage, double seconds)
{
    run->ending.stage = stage;
    ev_timer_stop(run->loop, &run->ending.timer);
    ev_timer_set(&run->ending.timer, seconds, 0.);
    ev_timer_start(run->loop, &run->ending.timer);
}

/* A stopped process acts on SIGTERM only when it is continued. */
static void tell(struct sy_run *run, int number)
{
    sy_ending_forward(run, number);
    sy_ending_forward(run, SIGCONT);
    arm(run, TOLD, run->ending.grace);
}

void sy_ending_kill(struct sy_run *run)
{
    for (int pe = 0; pe < run->started; pe++) {
        if (run->pes[pe].alive) {
            kill(-run->pes[pe].pid, SIGKILL);
            kill(run->pes[pe].pid, SIGKILL);
        }
    }
    arm(run, KILLED, STUCK);
}

static void give_up(struct sy_run *run)
{
    for (int pe = 0; pe < run->started; pe++) {
        if (run->pes[pe].alive)
            sy_run_say(
                run, SY_SAY_ALWAYS,
                "PE %d on host %s (pid %d) does not end even when killed: it is stuck in the "
                "kernel and is left behind",
                pe, run->host, (int)run->pes[pe].pid);
    }
    ev_break(run->loop, EVBREAK_ALL);
}

static void next_stage(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)loop;
    (void)events;
    switch (run->ending.stage) {
    case ASKED:
        tell(run, SIGTERM);
        break;
    case TOLD:
        sy_ending_kill(run);
        break;
    default:
        give_up(run);
    }
}

/* Returns false if an end has begun already. */
static bool begin(struct sy_run *run, int status, double grace)
{
    if (run->ending.begun)
        return false;
    run->ending.begun = true;
    run->ending.grace = run->flags->grace >= 0 ? run->flags->grace : grace;
    run->status = status;
    run->abort.pending = false;
    ev_timer_stop(run->loop, &run->abort.wait);
    ev_timer_stop(run->loop, &run->gather_limit);
    return true;
}

void sy_ending_begin(struct sy_run *run, int status, double grace)
{
    struct sy_packet *packet;

    if (!begin(run, status, grace))
        return;
    packet = sy_packet_new(SY_LAUNCH_EXIT, status, 0);
    for (int pe = 0; pe < run->started; pe++) {
        if (run->pes[pe].aborted)
            continue;
        if (run->pes[pe].greeted)
            sy_link_send(&run->pes[pe].link, packet);
        else
            signal_pe(&run->pes[pe], SIGTERM);
    }
    sy_packet_drop(packet);
    if (run->living)
        arm(run, ASKED, ASK);
}

void sy_ending_signal(struct sy_run *run, int number)
{
    if (!begin(run, 128 + number, SY_GRACE_ASKED)) {
        sy_ending_kill(run);
        return;
    }
    tell(run, number);
}

void sy_ending_init(struct sy_run *run)
{
    ev_timer_init(&run->ending.timer, next_stage, 0., 0.);
    run->ending.timer.data = run;
}

/* Signals to oshrun: those that a terminal, a shell or a batch system sends to it are meant for the
 * job. */
#include "bootstrap/launcher/head/run.h"

#include <signal.h>
#include <string.h>

#include "util/bits.h"

static void head_signals_ending_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
    struct sy_run *run = watcher->data;

    (void)events;
    if (run->all_gone) {
        /* Only output is left whose reader does not read, or an agent that does not end. */
        if (!run->ending.begun)
            run->status = 128 + watcher->signum;
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    if (!run->ending.begun)
        sy_run_say(run, SY_SAY_ENDING, "got signal %d (%s)%s", watcher->signum,
                   strsignal(watcher->signum), sy_ending_rest(run));
    sy_ending_signal(run, watcher->signum);
}

static void head_signals_forwarded_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
    (void)loop, (void)events;
    sy_ending_forward(watcher->data, watcher->signum);
}

/* Stops the PEs and oshrun together. SIGSTOP, since a process whose group is orphaned ignores the
 * default action of SIGTSTP. The limits below do not count the time for which they are stopped. */
static void head_signals_stop_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
    struct sy_run *run = watcher->data;
    ev_timer *limits[] = {&run->gather_limit,   &run->spawn_limit,  &run->limit,
                          &run->abort.wait,     &run->ending.timer, &run->traces.limit,
                          &run->waiting.answers};
    double left[SY_COUNT(limits)];

    (void)events;
    for (size_t i = 0; i < SY_COUNT(limits); i++)
        left[i] = ev_is_active(limits[i]) ? ev_timer_remaining(loop, limits[i]) : -1;
    sy_ending_forward(run, SIGSTOP);
    sy_nodes_pause(run);
    ev_now_update(loop);
    ev_tstamp began = ev_now(loop);
    raise(SIGSTOP);
    ev_now_update(loop);
    run->waiting.started += ev_now(loop) - began;
    run->waiting.gather_began += ev_now(loop) - began;
    sy_nodes_resume(run);
    for (size_t i = 0; i < SY_COUNT(limits); i++) {
        if (left[i] >= 0) {
            ev_timer_stop(loop, limits[i]);
            ev_timer_set(limits[i], left[i], 0.);
            ev_timer_start(loop, limits[i]);
        }
    }
    sy_ending_forward(run, SIGCONT);
}

static void head_signals_child_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
    (void)loop, (void)events;
    sy_nodes_reap(watcher->data);
}

static bool head_signals_is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void sy_signals_start(struct sy_run *run)
{
    static const struct {
        int number;
        void (*handler)(struct ev_loop *loop, ev_signal *watcher, int events);
    } table[SY_SIGNALS] = {
        {SIGINT, head_signals_ending_signal},      {SIGTERM, head_signals_ending_signal},
        {SIGHUP, head_signals_ending_signal},      {SIGQUIT, head_signals_ending_signal},
        {SIGUSR1, head_signals_forwarded_signal},  {SIGUSR2, head_signals_forwarded_signal},
        {SIGWINCH, head_signals_forwarded_signal}, {SIGCONT, head_signals_forwarded_signal},
        {SIGTSTP, head_signals_stop_signal},       {SIGCHLD, head_signals_child_signal},
    };

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* the limit of file sizes, which writing reports */
    signal(SIGTTIN, SIG_IGN);
    for (int i = 0; i < SY_SIGNALS; i++) {
        ev_signal *watcher = &run->signals[i];

        ev_signal_init(watcher, table[i].handler, table[i].number);
        watcher->data = run;
        /* nohup, and a shell that starts a job in the background, ignore signals on purpose. */
        if (table[i].handler == head_signals_ending_signal &&
            head_signals_is_ignored(table[i].number))
            continue;
        ev_signal_start(run->loop, watcher);
    }
}

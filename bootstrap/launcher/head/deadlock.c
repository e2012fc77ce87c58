/* PEs that all wait for each other, since one has left or waits for the end of the job: util/rest.h
 * says how that is known for certain. */
#include "bootstrap/launcher/head/run.h"

#include <stdlib.h>
#include <sys/wait.h>

#include "bootstrap/launcher/memory.h"

static const double PAUSE = 1; /* seconds between the last PE's word and the question to all */

/* Those that have ended otherwise have been judged already. */
static void deadlock_note_gone(struct sy_run *run)
{
    for (int pe = 0; pe < run->npes; pe++) {
        const struct sy_pe *of = &run->pes[pe];

        run->rest[pe].gone = of->started && !of->alive && !of->just_ended;
    }
}

static bool deadlock_is_busy(const struct sy_run *run)
{
    return run->ending.begun || run->abort.pending || run->waiting.asking || run->traces.running ||
           run->waiting.confirming;
}

void sy_deadlock_look(struct sy_run *run)
{
    deadlock_note_gone(run);
    if (deadlock_is_busy(run) || ev_is_active(&run->waiting.rest) ||
        !sy_rest_all(run->rest, run->npes))
        return;
    ev_timer_set(&run->waiting.rest, PAUSE, 0.);
    ev_timer_start(run->loop, &run->waiting.rest);
}

void sy_deadlock_rests(struct sy_pe *pe, uint64_t wait, unsigned flags)
{
    struct sy_rest *rest = &pe->run->rest[pe->number];

    rest->wait = wait;
    rest->flags = flags;
    sy_deadlock_look(pe->run);
}

static void deadlock_ask(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)loop;
    (void)events;
    if (deadlock_is_busy(run))
        return;
    run->waiting.confirming = true;
    sy_rest_ask(run->rest, run->npes);
    sy_waiting_ask(run);
}

void sy_deadlock_confirm(struct sy_run *run)
{
    run->waiting.confirming = false;
    deadlock_note_gone(run);
    if (run->ending.begun || run->abort.pending || !sy_rest_confirmed(run->rest, run->npes))
        return;
    sy_run_say(run, SY_SAY_ALWAYS,
               "no PE can go on: each waits for another one (SHMEM_DEADLOCK_TIMEOUT)%s",
               sy_ending_rest(run, false));
    sy_waiting_print(run);
    sy_ending_begin(run, 1, SY_GRACE_FAILED);
}

void sy_deadlock_init(struct sy_run *run)
{
    run->rest = sy_memory_zeroed((size_t)run->npes, sizeof *run->rest);
    ev_timer_init(&run->waiting.rest, deadlock_ask, 0., 0.);
    run->waiting.rest.data = run;
}

/* PEs that end, and which of these ends are failures of the job. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/run.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static struct sy_pe *find(struct sy_run *run, pid_t pid)
{
    for (int pe = 0; pe < run->started; pe++) {
        if (run->pes[pe].alive && run->pes[pe].pid == pid)
            return &run->pes[pe];
    }
    return NULL;
}

/* Several PEs may have ended since the last look; all are noted before any is judged. */
static void collect(struct sy_run *run)
{
    int wait_status;
    pid_t pid;
    bool orphans = false;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        struct sy_pe *pe = find(run, pid);

        if (!pe) {
            orphans = true;
            continue;
        }
        pe->alive = false;
        pe->just_ended = true;
        pe->wait_status = wait_status;
        run->living--;
        sy_guard_review(&run->guard, pe->number);
    }
    for (int pe = 0; orphans && pe < run->started; pe++) {
        if (!run->pes[pe].alive)
            sy_guard_review(&run->guard, pe);
    }
}

static void end_signalled(struct sy_run *run, const struct sy_pe *pe)
{
    int number = WTERMSIG(pe->wait_status);

    sy_run_say(run, SY_SAY_ENDING, "PE %d on host %s (pid %d) was killed by signal %d (%s%s)%s",
               pe->number, run->host, (int)pe->pid, number, strsignal(number),
               WCOREDUMP(pe->wait_status) ? ", core dumped" : "", sy_ending_rest(run, false));
    sy_ending_begin(run, 128 + number, SY_GRACE_FAILED);
}

static void end_failed(struct sy_run *run, const struct sy_pe *pe)
{
    int status = WEXITSTATUS(pe->wait_status);

    sy_run_say(run, SY_SAY_ENDING, "PE %d on host %s (pid %d) exited with status %d%s", pe->number,
               run->host, (int)pe->pid, status, sy_ending_rest(run, false));
    sy_ending_begin(run, status, SY_GRACE_FAILED);
}

/* Status 0, but the others cannot go on without it. */
static void end_early(struct sy_run *run, const struct sy_pe *pe)
{
    char when[128];

    if (pe->initialized)
        snprintf(when, sizeof when, "before shmem_finalize");
    else if (sy_gather_waits(&run->gather) && !run->gather.have[pe->number])
        snprintf(when, sizeof when, "%swhile others wait for it in '%s'",
                 pe->greeted ? "" : "without shmem_init, ", run->gather.phase);
    else
        return;
    sy_run_say(run, SY_SAY_ENDING, "PE %d on host %s (pid %d) exited with status 0 %s%s",
               pe->number, run->host, (int)pe->pid, when, sy_ending_rest(run, false));
    sy_ending_begin(run, 1, SY_GRACE_FAILED);
}

/* A signal is more likely the cause, and an error of another PE its consequence, than the reverse.
 */
static void judge(struct sy_run *run)
{
    enum { SIGNALLED, FAILED, EARLY, ROUNDS };

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < run->started && !run->ending.begun; i++) {
            const struct sy_pe *pe = &run->pes[i];

            if (!pe->just_ended || pe->aborted)
                continue;
            if (round == SIGNALLED && WIFSIGNALED(pe->wait_status))
                end_signalled(run, pe);
            else if (run->abort.pending)
                continue;
            else if (round == FAILED && WEXITSTATUS(pe->wait_status) != 0)
                end_failed(run, pe);
            else if (round == EARLY)
                end_early(run, pe);
        }
    }
}

void sy_reap(struct sy_run *run)
{
    bool any = false;

    sy_run_read_failures(run);
    collect(run);
    for (int i = 0; i < run->started; i++) {
        struct sy_pe *pe = &run->pes[i];

        if (!pe->just_ended)
            continue;
        any = true;
        sy_run_say(run, SY_SAY_MORE, "PE %d (pid %d) ended: %s %d", i, (int)pe->pid,
                   WIFSIGNALED(pe->wait_status) ? "signal" : "status",
                   WIFSIGNALED(pe->wait_status) ? WTERMSIG(pe->wait_status)
                                                : WEXITSTATUS(pe->wait_status));
        /* What it said last explains its end. */
        sy_link_drain(&pe->link);
    }
    judge(run);
    for (int i = 0; i < run->started; i++)
        run->pes[i].just_ended = false;
    if (any && !run->living)
        sy_run_all_gone(run);
}

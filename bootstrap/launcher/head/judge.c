/* PEs that end, and which of these ends are failures of the job. */
#include "bootstrap/launcher/head/run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Whether the others are to go on (--kill-on-bad-exit=0); then the job ends with the first
 * failure's status. */
static bool judge_goes_on(struct sy_run *run, int status)
{
    if (run->flags->tolerant && !run->status)
        run->status = status;
    return run->flags->tolerant;
}

/* "; stopping the others", if that is what happens. */
static const char *judge_rest(const struct sy_run *run)
{
    return run->flags->tolerant ? "" : sy_ending_rest(run);
}

/* Why the kernel may have sent a signal; "" where nothing is known. */
static const char *judge_cause(const struct sy_pe *pe, int number)
{
    struct rlimit time;

    if (pe->memory_short)
        return ", most likely for lack of memory: the kernel has ended processes there for it "
               "since the job began";
    if (number == SIGKILL && pe->node->local && !getrlimit(RLIMIT_CPU, &time) &&
        time.rlim_max != RLIM_INFINITY)
        return ", perhaps at its limit of processor time (ulimit -Ht)";
    return "";
}

static void judge_end_signalled(struct sy_run *run, const struct sy_pe *pe)
{
    int number = WTERMSIG(pe->wait_status);

    sy_run_say(run, SY_SAY_ENDING, "PE %d on host %s (pid %d) was killed by signal %d (%s%s)%s%s",
               pe->number, pe->node->name, (int)pe->pid, number, strsignal(number),
               WCOREDUMP(pe->wait_status) ? ", core dumped" : "", judge_cause(pe, number),
               judge_rest(run));
    if (!judge_goes_on(run, 128 + number))
        sy_ending_begin(run, 128 + number, SY_GRACE_FAILED);
}

static void judge_end_failed(struct sy_run *run, const struct sy_pe *pe)
{
    int status = WEXITSTATUS(pe->wait_status);

    sy_run_say(run, SY_SAY_ENDING, "PE %d on host %s (pid %d) exited with status %d%s", pe->number,
               pe->node->name, (int)pe->pid, status, judge_rest(run));
    if (!judge_goes_on(run, status))
        sy_ending_failed(run, status);
}

/* A PE has left with status 0, but the others cannot go on without it. */
static void judge_end_early(struct sy_run *run, const struct sy_pe *pe)
{
    char when[128];

    if (pe->initialized)
        snprintf(when, sizeof when, "before shmem_finalize");
    else if (sy_gather_waits(&run->gather) && !run->gather.have[pe->number])
        snprintf(when, sizeof when, "%swhile others wait for it in '%s'",
                 pe->said_hello ? "" : "without shmem_init, ", run->gather.phase);
    else
        return;
    sy_run_say(run, SY_SAY_ENDING, "PE %d on host %s (pid %d) exited with status 0 %s%s",
               pe->number, pe->node->name, (int)pe->pid, when, sy_ending_rest(run));
    sy_ending_begin(run, sy_ending_status(run), SY_GRACE_FAILED);
}

/* Judges PEs that ended together. A signal is more likely the cause, and an error of another PE its
 * consequence, than the reverse. */
static void judge(struct sy_run *run)
{
    enum { SIGNALLED, FAILED, EARLY, ROUNDS };

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < run->npes && !run->ending.begun; i++) {
            const struct sy_pe *pe = &run->pes[i];

            if (!pe->just_ended || pe->aborted)
                continue;
            if (round == SIGNALLED && WIFSIGNALED(pe->wait_status))
                judge_end_signalled(run, pe);
            else if (run->abort.asked)
                continue;
            else if (round == FAILED && WEXITSTATUS(pe->wait_status) != 0)
                judge_end_failed(run, pe);
            else if (round == EARLY && !pe->wait_status)
                judge_end_early(run, pe);
        }
    }
}

void sy_judge(struct sy_run *run)
{
    for (int i = 0; i < run->npes; i++) {
        struct sy_pe *pe = &run->pes[i];

        if (pe->just_ended)
            sy_run_say(run, run->flags->all_statuses ? SY_SAY_ALWAYS : SY_SAY_MORE,
                       "PE %d on host %s (pid %d) ended: %s %d", i, pe->node->name, (int)pe->pid,
                       WIFSIGNALED(pe->wait_status) ? "signal" : "status",
                       WIFSIGNALED(pe->wait_status) ? WTERMSIG(pe->wait_status)
                                                    : WEXITSTATUS(pe->wait_status));
    }
    judge(run);
    for (int i = 0; i < run->npes; i++) {
        if (!run->pes[i].just_ended)
            continue;
        run->report.pes[i].gone = true;
        run->pes[i].just_ended = false;
        sy_waiting_ended(&run->pes[i]);
    }
    if (!run->ending.begun)
        sy_report_look(&run->report);
    sy_run_check_gone(run);
}

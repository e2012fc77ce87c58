#include "bootstrap/control/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* PEs that wait for the same thing report at about the same time. A report that comes within SAME
 * of the PE's own wait, or within BETWEEN of the last report, is part of that one. */
static const double SAME = 0.4, BETWEEN = 0.2;

int sy_report_init(struct sy_report *report, int npes, const struct sy_report_owner *owner,
                   void *self)
{
    *report = (struct sy_report){.npes = npes, .owner = owner, .self = self};
    report->note = calloc((size_t)npes, sizeof *report->note);
    report->asked = calloc((size_t)npes, sizeof *report->asked);
    report->pes = calloc((size_t)npes, sizeof *report->pes);
    return report->note && report->asked && report->pes ? 0 : -ENOMEM;
}

static void report_forget(struct sy_report *report)
{
    for (int pe = 0; report->note && pe < report->npes; pe++) {
        free(report->note[pe]);
        report->note[pe] = NULL;
        report->asked[pe] = false;
    }
    report->asking = report->confirming = false;
}

void sy_report_free(struct sy_report *report)
{
    report_forget(report);
    free(report->note);
    free(report->asked);
    free(report->pes);
    *report = (struct sy_report){.npes = 0};
}

/* Writes the report: all have answered, or their time is over. */
static void report_finish(struct sy_report *report)
{
    bool deadlock = report->confirming;

    report->owner->timer(report, false);
    report->asking = report->confirming = false;
    if (!deadlock ||
        (!report->owner->busy(report) && sy_deadlock_confirmed(report->pes, report->npes)))
        report->owner->tell(report, deadlock);
    report_forget(report);
    if (!deadlock)
        sy_report_look(report);
}

static void report_finish_if_answered(struct sy_report *report)
{
    if (!report->asking)
        return;
    for (int pe = 0; pe < report->npes; pe++)
        if (report->asked[pe] && !report->pes[pe].gone && !report->note[pe])
            return;
    report_finish(report);
}

/* Without a timer no PE is asked, and the PEs that wait write to their own logs. */
static void report_begin(struct sy_report *report)
{
    report->pausing = false;
    report->asking = report->owner->timer(report, true);
    if (report->asking)
        report->owner->ask(report);
    else
        report_forget(report);
    report_finish_if_answered(report);
}

void sy_report_note(struct sy_report *report, int pe, const char *text, size_t length,
                    int milliseconds, double now)
{
    double seconds = milliseconds / 1e3, since = now - report->reported;

    if (milliseconds >= 0 ? report->asking || report->owner->busy(report) || since < BETWEEN ||
                                since < SAME * seconds
                          : !report->asking)
        return;
    if (!report->note[pe])
        report->note[pe] = strndup(text, length);
    if (milliseconds >= 0) {
        report->waited = seconds;
        report->reported = now;
        report_begin(report);
    }
    report_finish_if_answered(report);
}

/* Where the PEs are being asked whether all are blocked, their answers are for this report. */
void sy_report_ask(struct sy_report *report)
{
    report->confirming = false;
    if (!report->asking)
        report_begin(report);
}

/* The PEs are asked a second later, so that each is seen at two times. */
void sy_report_look(struct sy_report *report)
{
    report_finish_if_answered(report);
    if (!report->asking && !report->pausing && !report->owner->busy(report) &&
        sy_deadlock_all_blocked(report->pes, report->npes))
        report->pausing = report->owner->timer(report, true);
}

void sy_report_blocked(struct sy_report *report, int pe, uint64_t wait, unsigned flags)
{
    report->pes[pe].wait = wait;
    report->pes[pe].flags = flags;
    sy_report_look(report);
}

void sy_report_late(struct sy_report *report)
{
    if (report->pausing) {
        report->pausing = false;
        report->owner->timer(report, false);
        if (report->owner->busy(report))
            return;
        report->confirming = true;
        sy_deadlock_ask(report->pes, report->npes);
        report_begin(report);
    } else if (report->asking) {
        report_finish(report);
    }
}

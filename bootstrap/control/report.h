/* What all PEs are doing, for the process that hears all of them: oshrun, or PE 0 of the control
 * tree. When a PE has waited for long, all are asked, and one report is printed. When all are
 * blocked (util/deadlock.h), they are asked whether they still are: if so, the job can never go on.
 * The owner asks, prints, and keeps the time. */
#ifndef SY_CONTROL_REPORT_H
#define SY_CONTROL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/deadlock.h"

enum { SY_REPORT_SECONDS = 1 /* for answers, and before all are asked whether they are blocked */ };

struct sy_report;

struct sy_report_owner {
    /* The job is ending, or something else is being found out. */
    bool (*busy)(const struct sy_report *report);
    /* Starts a timer of SY_REPORT_SECONDS, after which sy_report_late is called, or stops it.
     * false: it cannot be started. */
    bool (*timer)(struct sy_report *report, bool run);
    /* Asks the PEs, and marks those that will answer in `asked`. */
    void (*ask)(struct sy_report *report);
    /* Prints what has come, in `note`. deadlock: no PE can go on, and the job is to end. */
    void (*tell)(struct sy_report *report, bool deadlock);
};

struct sy_report {
    int npes;
    char **note;                /* by PE: what it says, or NULL */
    bool *asked;                /* by PE: its answer is awaited */
    struct sy_deadlock_pe *pes; /* by PE; the owner knows which PEs are gone */
    bool asking;                /* answers are awaited, */
    bool confirming;            /* of whether all still are blocked */
    bool pausing;               /* all are blocked, and are to be asked in a moment */
    double waited;              /* seconds that the PE has waited for which all are asked */
    double reported;            /* when that was */
    const struct sy_report_owner *owner;
    void *self; /* of the owner */
};

/* 0 or -ENOMEM. */
int sy_report_init(struct sy_report *report, int npes, const struct sy_report_owner *owner,
                   void *self);
void sy_report_free(struct sy_report *report);

/* A PE says what it is doing. milliseconds: as in a NOTE. now: seconds of any clock. */
void sy_report_note(struct sy_report *report, int pe, const char *text, size_t length,
                    int milliseconds, double now);

/* A PE is blocked, or with wait 0 is not. */
void sy_report_blocked(struct sy_report *report, int pe, uint64_t wait, unsigned flags);

/* A PE is gone: looks whether all that are left have answered, or are blocked. */
void sy_report_look(struct sy_report *report);

/* Asks now, whatever the PEs say. */
void sy_report_ask(struct sy_report *report);

/* The time is over. */
void sy_report_late(struct sy_report *report);

/* The note of PEs that were asked and have not answered. */
#define SY_REPORT_SILENT "no answer: stopped, short of processors, or its progress thread is stuck or was not started"

#endif

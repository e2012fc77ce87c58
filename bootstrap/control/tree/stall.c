/* Reports of long waits. A PE that has been waiting for long tells PE 0, which asks all what they
 * are doing and prints one report. Lines between PE 0 and the user are the library's log. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bootstrap/control/tree/state.h"
#include "util/alike.h"
#include "util/clock.h"

/* ---- PE 0: the report ---- */

static bool stall_is_busy(const struct sy_report *report)
{
    (void)report;
    return sy_tree.ended;
}

static bool stall_timer(struct sy_report *report, bool on)
{
    const struct itimerspec limit = {.it_value.tv_sec = on ? SY_REPORT_SECONDS : 0};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &sy_tree.stall};

    (void)report;
    if (sy_tree.stall.timer >= 0)
        close(sy_tree.stall.timer);
    sy_tree.stall.timer = on ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) : -1;
    return sy_tree.stall.timer >= 0 && timerfd_settime(sy_tree.stall.timer, 0, &limit, NULL) == 0 &&
           epoll_ctl(sy_tree.epoll, EPOLL_CTL_ADD, sy_tree.stall.timer, &event) == 0;
}

static void stall_ask(struct sy_report *report)
{
    for (int pe = 0; pe < report->npes; pe++)
        report->asked[pe] = true;
    sy_tree_on_ask(NULL, NULL, NULL);
}

static void stall_print(struct sy_report *report, enum sy_log_level level)
{
    static char silent[] = SY_REPORT_SILENT;
    char **text = calloc((size_t)report->npes, sizeof *text), who[512];

    for (int pe = 0; text && pe < report->npes; pe++)
        text[pe] = report->note[pe] ? report->note[pe] : silent;
    for (int pe = 0; text && sy_alike_next(text, report->npes, &pe, who, sizeof who); pe++)
        sy_tree.host->log(level, "boot", "  %s: %s", who, text[pe]);
    free(text);
}

static void stall_tell(struct sy_report *report, bool deadlock)
{
    if (!deadlock) {
        sy_tree.host->log(SY_LOG_WARN, "boot",
                          "a PE has been waiting for %.0f s (SHMEM_STALL_REPORT); what all are "
                          "doing:",
                          report->waited);
        stall_print(report, SY_LOG_WARN);
        return;
    }
    sy_tree.host->log(
        SY_LOG_ERROR, "boot",
        "no PE can go on: each waits for another one (SHMEM_DEADLOCK_TIMEOUT); the job "
        "ends");
    stall_print(report, SY_LOG_ERROR);
    sy_tree_end(1, true);
    sy_tree_send_all_but(NULL, SY_CONTROL_ABORT, sy_tree.pe, 1, "!", 1);
}

const struct sy_report_owner sy_tree_reports = {
    .busy = stall_is_busy, .timer = stall_timer, .ask = stall_ask, .tell = stall_tell};

void sy_tree_on_late(void)
{
    sy_report_late(&sy_tree.stall.report);
}

/* ---- frames ---- */

int sy_tree_on_rest(struct tree_link *link, const struct sy_frame *header, const char *body)
{
    uint64_t wait;

    (void)link;
    if (header->pe < 1 || header->pe >= sy_tree.npes)
        return -EPROTO;
    memcpy(&wait, body, sizeof wait);
    if (sy_tree.pe == 0)
        sy_report_rests(&sy_tree.stall.report, header->pe, wait, header->more);
    else
        sy_tree_send_up(header, body);
    return 0;
}

int sy_tree_on_ask(struct tree_link *link, const struct sy_frame *header, const char *body)
{
    (void)link, (void)header, (void)body;
    sy_tree.stall.ask = true;
    sy_tree.stall.asked = sy_clock();
    sy_tree_send_children(&(struct sy_frame){.type = SY_CONTROL_ASK}, NULL);
    return 0;
}

int sy_tree_on_note(struct tree_link *link, const struct sy_frame *header, const char *body)
{
    (void)link;
    if (header->pe < 1 || header->pe >= sy_tree.npes)
        return -EPROTO;
    if (sy_tree.pe == 0)
        sy_report_note(&sy_tree.stall.report, header->pe, body, header->length, header->arg,
                       sy_clock());
    else
        sy_tree_send_up(header, body);
    return 0;
}

/* ---- what this PE says ---- */

/* Whether nothing came of what this PE said earlier in this wait: PE 0 may be stopped. */
static bool stall_unheard(double seconds)
{
    double begin = sy_clock() - seconds;

    return sy_tree.stall.mentioned > begin && sy_tree.stall.asked < begin;
}

void sy_tree_rests(uint64_t wait, unsigned flags)
{
    pthread_mutex_lock(&sy_tree.lock);
    if (sy_tree.pe == 0)
        sy_report_rests(&sy_tree.stall.report, 0, wait, flags);
    else if (!sy_tree.ended)
        sy_tree_send_up(&(struct sy_frame){.type = SY_CONTROL_REST,
                                           .more = (uint16_t)flags,
                                           .length = sizeof wait,
                                           .pe = sy_tree.pe},
                        &wait);
    pthread_mutex_unlock(&sy_tree.lock);
}

void sy_tree_note(const char *text, double seconds, int asked)
{
    const struct sy_frame note = {.type = SY_CONTROL_NOTE,
                                  .length = (uint32_t)strnlen(text, SY_LAUNCH_NOTE_MAX),
                                  .pe = sy_tree.pe,
                                  .arg = sy_control_waited(seconds, asked)};

    pthread_mutex_lock(&sy_tree.lock);
    if (!asked && stall_unheard(seconds))
        sy_tree.host->log(SY_LOG_WARN, "boot",
                          "this PE has been waiting for %.0f seconds, and PE 0 does not answer: "
                          "it is %s",
                          seconds, text);
    if (!asked)
        sy_tree.stall.mentioned = sy_clock();
    if (sy_tree.pe == 0)
        sy_report_note(&sy_tree.stall.report, 0, text, note.length, note.arg, sy_clock());
    else if (!sy_tree.ended)
        sy_tree_send_up(&note, text);
    pthread_mutex_unlock(&sy_tree.lock);
}

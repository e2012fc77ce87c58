/* Reports of long waits. A PE that has been waiting for long tells PE 0, which asks all what they
 * are doing and prints one report. Lines between PE 0 and the user are the library's log. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "bootstrap/control/tree/state.h"
#include "util/file.h"
#include "util/list.h"
#include "util/clock.h"

/* ---- PE 0: the report ---- */

static bool stall_is_busy(const struct sy_report *report)
{
    struct tree *tree = report->self;
    return tree->ended;
}

static bool stall_timer(struct sy_report *report, bool on)
{
    struct tree *tree = report->self;
    const struct itimerspec limit = {.it_value.tv_sec = on ? SY_REPORT_SECONDS : 0};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &tree->stall};

    sy_file_close(&tree->stall.timer);
    tree->stall.timer = on ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) : -1;
    return tree->stall.timer >= 0 && timerfd_settime(tree->stall.timer, 0, &limit, NULL) == 0 &&
           epoll_ctl(tree->epoll, EPOLL_CTL_ADD, tree->stall.timer, &event) == 0;
}

static void stall_ask(struct sy_report *report)
{
    for (int pe = 0; pe < report->npes; pe++)
        report->asked[pe] = true;
    sy_tree_on_ask(report->self, NULL, NULL, NULL);
}

static void stall_print(struct sy_report *report, enum sy_log_level level)
{
    struct tree *tree = report->self;
    static char silent[] = SY_REPORT_SILENT;
    char **text = calloc((size_t)report->npes, sizeof *text), who[512];

    for (int pe = 0; text && pe < report->npes; pe++)
        text[pe] = report->note[pe] ? report->note[pe] : silent;
    for (int pe = 0; text && sy_list_next_alike(text, report->npes, &pe, who, sizeof who); pe++)
        tree->host->log(level, "boot", "  %s: %s", who, text[pe]);
    free(text);
}

static void stall_tell(struct sy_report *report, bool deadlock)
{
    struct tree *tree = report->self;
    if (!deadlock) {
        tree->host->log(SY_LOG_WARN, "boot",
                        "a PE has been waiting for %.0f s (SHMEM_STALL_REPORT); what all are "
                        "doing:",
                        report->waited);
        stall_print(report, SY_LOG_WARN);
        return;
    }
    tree->host->log(SY_LOG_ERROR, "boot",
                    "no PE can go on: each waits for another one (SHMEM_DEADLOCK_TIMEOUT); the job "
                    "ends");
    stall_print(report, SY_LOG_ERROR);
    sy_tree_end(tree, 1, true);
    sy_tree_send_all_but(tree, NULL, SY_CONTROL_ABORT, tree->pe, 1, "!", 1);
}

const struct sy_report_owner sy_tree_reports = {
    .busy = stall_is_busy, .timer = stall_timer, .ask = stall_ask, .tell = stall_tell};

void sy_tree_on_late(struct tree *tree)
{
    sy_report_late(&tree->stall.report);
}

/* ---- frames ---- */

int sy_tree_on_blocked(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                       const char *body)
{
    uint64_t wait;

    (void)link;
    if (header->pe < 1 || header->pe >= tree->npes)
        return -EPROTO;
    memcpy(&wait, body, sizeof wait);
    if (tree->pe == 0)
        sy_report_blocked(&tree->stall.report, header->pe, wait, header->more);
    else
        sy_tree_send_up(tree, header, body);
    return 0;
}

int sy_tree_on_ask(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                   const char *body)
{
    (void)link, (void)header, (void)body;
    tree->stall.ask = true;
    tree->stall.asked = sy_clock();
    sy_tree_send_children(tree, &(struct sy_frame){.type = SY_CONTROL_ASK}, NULL);
    return 0;
}

int sy_tree_on_note(struct tree *tree, struct tree_link *link, const struct sy_frame *header,
                    const char *body)
{
    (void)link;
    if (header->pe < 1 || header->pe >= tree->npes)
        return -EPROTO;
    if (tree->pe == 0)
        sy_report_note(&tree->stall.report, header->pe, body, header->length, header->arg,
                       sy_clock());
    else
        sy_tree_send_up(tree, header, body);
    return 0;
}

/* ---- what this PE says ---- */

/* Whether PE 0 has not reacted to what this PE said earlier in this wait: it may be stopped. */
static bool stall_unheard(struct tree *tree, double seconds)
{
    double begin = sy_clock() - seconds;

    return tree->stall.mentioned > begin && tree->stall.asked < begin;
}

void sy_tree_blocked(void *self, uint64_t wait, unsigned flags)
{
    struct tree *tree = sy_tree_of(self);
    pthread_mutex_lock(&tree->lock);
    if (tree->pe == 0)
        sy_report_blocked(&tree->stall.report, 0, wait, flags);
    else if (!tree->ended)
        sy_tree_send_up(tree,
                        &(struct sy_frame){.type = SY_CONTROL_BLOCKED,
                                           .more = (uint16_t)flags,
                                           .length = sizeof wait,
                                           .pe = tree->pe},
                        &wait);
    pthread_mutex_unlock(&tree->lock);
}

void sy_tree_note(void *self, const char *text, double seconds, int asked)
{
    struct tree *tree = sy_tree_of(self);
    const struct sy_frame note = {.type = SY_CONTROL_NOTE,
                                  .length = (uint32_t)strnlen(text, SY_LAUNCH_NOTE_MAX),
                                  .pe = tree->pe,
                                  .arg = sy_control_waited(seconds, asked)};

    pthread_mutex_lock(&tree->lock);
    if (!asked && stall_unheard(tree, seconds))
        tree->host->log(SY_LOG_WARN, "boot",
                        "this PE has been waiting for %.0f seconds, and PE 0 does not answer: "
                        "it is %s",
                        seconds, text);
    if (!asked)
        tree->stall.mentioned = sy_clock();
    if (tree->pe == 0)
        sy_report_note(&tree->stall.report, 0, text, note.length, note.arg, sy_clock());
    else if (!tree->ended)
        sy_tree_send_up(tree, &note, text);
    pthread_mutex_unlock(&tree->lock);
}

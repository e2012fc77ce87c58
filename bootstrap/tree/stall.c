/* Reports of long waits. A PE that has been waiting for long tells PE 0, which asks all what they
 * are doing and prints one report. Lines between PE 0 and the user are the library's log. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bootstrap/tree/state.h"
#include "util/alike.h"

enum { ANSWERS = 1 }; /* seconds for them */

/* Those that wait together also complain together: one that comes within this part of its wait is
 * about what was reported. */
static const double SAME = 0.4;

/* ---- PE 0: the report ---- */

static void tree_stall_print(enum sy_log_level level)
{
    struct tree_stall *stall = &sy_tree.stall;
    static char silent[] = "no answer: stopped, or without a progress thread";
    char **text = calloc((size_t)sy_tree.npes, sizeof *text), who[512];

    for (int pe = 0; text && pe < sy_tree.npes; pe++)
        text[pe] = stall->note[pe] ? stall->note[pe] : silent;
    for (int pe = 0; text && sy_alike_next(text, sy_tree.npes, &pe, who, sizeof who); pe++)
        sy_tree.host->log(level, "boot", "  %s: %s", who, text[pe]);
    free(text);
}

static void tree_stall_stop_timer(void)
{
    struct tree_stall *stall = &sy_tree.stall;

    if (stall->timer >= 0)
        close(stall->timer);
    stall->timer = -1;
}

static void tree_stall_forget(void)
{
    struct tree_stall *stall = &sy_tree.stall;

    stall->confirming = false;
    for (int pe = 0; pe < sy_tree.npes; pe++)
        free(stall->note[pe]);
    free(stall->note);
    stall->note = NULL;
    tree_stall_stop_timer();
}

/* Ends the job if no PE can go on (util/rest.h). */
static void tree_stall_confirm(void)
{
    if (sy_tree.ended || !sy_rest_confirmed(sy_tree.stall.rest, sy_tree.npes))
        return;
    sy_tree.host->log(
        SY_LOG_ERROR, "boot",
        "no PE can go on: each waits for another one (SHMEM_DEADLOCK_TIMEOUT); the job "
        "ends");
    tree_stall_print(SY_LOG_ERROR);
    sy_tree_end(1, true);
    sy_tree_send_all_but(NULL, SY_CONTROL_ABORT, sy_tree.pe, 1, "!", 1);
}

static void tree_stall_finish(void)
{
    if (sy_tree.stall.confirming) {
        tree_stall_confirm();
    } else {
        sy_tree.host->log(SY_LOG_WARN, "boot",
                          "a PE has been waiting for %.0f s (SHMEM_STALL_REPORT); what all are "
                          "doing:",
                          sy_tree.stall.waited);
        tree_stall_print(SY_LOG_WARN);
    }
    tree_stall_forget();
}

static int tree_stall_set_timer(void)
{
    const struct itimerspec limit = {.it_value.tv_sec = ANSWERS};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &sy_tree.stall};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd < 0)
        return -errno;
    sy_tree.stall.timer = fd;
    timerfd_settime(fd, 0, &limit, NULL);
    return epoll_ctl(sy_tree.epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* Where it fails nobody is asked, and the PEs that wait write to their own logs. */
static void tree_stall_ask_all(double seconds)
{
    struct tree_stall *stall = &sy_tree.stall;

    stall->note = calloc((size_t)sy_tree.npes, sizeof *stall->note);
    if (!stall->note)
        return;
    if (tree_stall_set_timer() != 0) {
        tree_stall_forget();
        return;
    }
    stall->waited = seconds;
    stall->reported = sy_net_now();
    stall->missing = sy_tree.npes;
    sy_tree_on_ask();
}

static void tree_stall_confirm_rest(void)
{
    tree_stall_stop_timer();
    sy_tree.stall.pausing = false;
    if (sy_tree.stall.note || sy_tree.ended)
        return;
    sy_tree.stall.confirming = true;
    sy_rest_ask(sy_tree.stall.rest, sy_tree.npes);
    tree_stall_ask_all(0);
}

void sy_tree_on_late(void)
{
    if (sy_tree.stall.pausing) {
        tree_stall_confirm_rest();
        return;
    }
    if (sy_tree.stall.note)
        tree_stall_finish();
}

/* What PE `pe` says; milliseconds below 0: because it was asked. */
static void tree_stall_take(int pe, int milliseconds, const char *text, size_t length)
{
    struct tree_stall *stall = &sy_tree.stall;
    double seconds = milliseconds / 1e3;

    if (milliseconds >= 0 &&
        (stall->note || sy_net_now() - stall->reported < SAME * seconds || sy_tree.ended))
        return;
    if (milliseconds >= 0)
        tree_stall_ask_all(seconds);
    if (!stall->note || stall->note[pe])
        return;
    stall->note[pe] = strndup(text, length);
    if (stall->note[pe] && --stall->missing == 0)
        tree_stall_finish();
}

/* A moment passes before the question, so that it is about two times. */
static void tree_stall_take_rest(int pe, uint64_t wait, unsigned flags)
{
    struct tree_stall *stall = &sy_tree.stall;

    if (!stall->rest)
        stall->rest = calloc((size_t)sy_tree.npes, sizeof *stall->rest);
    if (!stall->rest)
        return;
    stall->rest[pe].wait = wait;
    stall->rest[pe].flags = flags;
    if (stall->note || stall->pausing || sy_tree.ended || !sy_rest_all(stall->rest, sy_tree.npes))
        return;
    stall->pausing = tree_stall_set_timer() == 0;
    if (!stall->pausing)
        tree_stall_stop_timer();
}

/* ---- frames ---- */

int sy_tree_on_rest(const struct sy_frame *header, const char *body)
{
    uint64_t wait;

    if (header->pe < 1 || header->pe >= sy_tree.npes)
        return -EPROTO;
    memcpy(&wait, body, sizeof wait);
    if (sy_tree.pe == 0)
        tree_stall_take_rest(header->pe, wait, header->more);
    else
        sy_tree_send_up(header, body);
    return 0;
}

void sy_tree_on_ask(void)
{
    sy_tree.stall.ask = true;
    sy_tree.stall.asked = sy_net_now();
    sy_tree_send_children(&(struct sy_frame){.type = SY_CONTROL_ASK}, NULL);
}

int sy_tree_on_note(const struct sy_frame *header, const char *body)
{
    if (header->pe < 1 || header->pe >= sy_tree.npes)
        return -EPROTO;
    if (sy_tree.pe == 0)
        tree_stall_take(header->pe, header->arg, body, header->length);
    else
        sy_tree_send_up(header, body);
    return 0;
}

/* ---- what this PE says ---- */

/* Whether nothing came of what this PE said earlier in this wait: PE 0 may be stopped. */
static bool tree_stall_unheard(double seconds)
{
    double begin = sy_net_now() - seconds;

    return sy_tree.stall.mentioned > begin && sy_tree.stall.asked < begin;
}

void sy_tree_rests(uint64_t wait, unsigned flags)
{
    pthread_mutex_lock(&sy_tree.lock);
    if (sy_tree.pe == 0)
        tree_stall_take_rest(0, wait, flags);
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
    if (!asked && tree_stall_unheard(seconds))
        sy_tree.host->log(SY_LOG_WARN, "boot",
                          "this PE has been waiting for %.0f seconds, and PE 0 does not answer: "
                          "it is %s",
                          seconds, text);
    if (!asked)
        sy_tree.stall.mentioned = sy_net_now();
    if (sy_tree.pe == 0)
        tree_stall_take(0, note.arg, text, note.length);
    else if (!sy_tree.ended)
        sy_tree_send_up(&note, text);
    pthread_mutex_unlock(&sy_tree.lock);
}

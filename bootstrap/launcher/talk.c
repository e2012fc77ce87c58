/* What PEs say: greetings, gathers, states, the wish to end the job. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <switchyard/bootstrap.h>

enum { LONGEST_MS = 24 * 3600 * 1000 };

static const double CAUSE = 0.1; /* seconds in which the death that led to an abort shows */

/* A PE broke the rules of the conversation. */
static void end_wrong(struct sy_pe *pe, const char *what)
{
    struct sy_run *run = pe->run;

    if (run->ending.begun)
        return;
    sy_run_say(run, SY_SAY_ALWAYS, "PE %d on host %s (pid %d) sent %s%s", pe->number, run->host,
               (int)pe->pid, what, sy_ending_rest(run, false));
    sy_ending_begin(run, 1, SY_GRACE_FAILED);
}

static void hello(struct sy_pe *pe, int64_t version)
{
    struct sy_run *run = pe->run;
    struct sy_launch_welcome welcome = {.pe = pe->number, .npes = run->npes};
    struct sy_packet *packet;
    char what[160];

    if (version != SY_LAUNCH_VERSION) {
        snprintf(what, sizeof what,
                 "version %lld of the launch protocol, this oshrun knows %d: use the oshrun of the "
                 "program's library",
                 (long long)version, SY_LAUNCH_VERSION);
        end_wrong(pe, what);
        return;
    }
    if (pe->initialized || run->gather.have[pe->number]) {
        end_wrong(pe, "a second greeting, though its first program has not left by shmem_finalize");
        return;
    }
    pe->greeted = true;
    memcpy(welcome.id, run->id, sizeof welcome.id);
    memcpy(welcome.key, run->key, sizeof welcome.key);
    packet = sy_packet_new(SY_LAUNCH_WELCOME, SY_LAUNCH_VERSION, sizeof welcome);
    memcpy(sy_packet_body(packet), &welcome, sizeof welcome);
    sy_link_send(&pe->link, packet);
    sy_packet_drop(packet);
}

static void gather_expired(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;
    char *missing = sy_gather_missing(&run->gather);
    bool one = run->npes - run->gather.arrived == 1;

    (void)loop;
    (void)events;
    sy_run_say(run, SY_SAY_ENDING, "'%s' was not complete in time: %s on host %s %s not come%s",
               run->gather.phase, missing, run->host, one ? "has" : "have",
               sy_ending_rest(run, false));
    free(missing);
    sy_ending_begin(run, 1, SY_GRACE_FAILED);
}

/* The first to come sets the limit; one with less patience shortens it. */
static void limit_gather(struct sy_run *run, int64_t milliseconds)
{
    double seconds;

    if (milliseconds < 1)
        milliseconds = 1;
    if (milliseconds > LONGEST_MS)
        milliseconds = LONGEST_MS;
    seconds = (double)milliseconds / 1000;
    if (ev_is_active(&run->gather_limit) &&
        ev_timer_remaining(run->loop, &run->gather_limit) <= seconds)
        return;
    ev_timer_stop(run->loop, &run->gather_limit);
    ev_timer_set(&run->gather_limit, seconds, 0.);
    ev_timer_start(run->loop, &run->gather_limit);
}

/* A PE that left in good order before this gather began will not come. */
static void check_left(struct sy_run *run)
{
    for (int i = 0; i < run->npes && run->living < run->npes; i++) {
        const struct sy_pe *pe = &run->pes[i];

        if (pe->alive || pe->just_ended || run->gather.have[i])
            continue;
        sy_run_say(
            run, SY_SAY_ENDING,
            "PE %d on host %s (pid %d) has exited with status 0%s, and others wait for it in "
            "'%s'%s",
            i, run->host, (int)pe->pid, pe->greeted ? "" : " without shmem_init", run->gather.phase,
            sy_ending_rest(run, false));
        sy_ending_begin(run, 1, SY_GRACE_FAILED);
        return;
    }
}

static void end_mismatched(struct sy_run *run, const char *fault)
{
    sy_run_say(run, SY_SAY_ALWAYS,
               "%s: the PEs do not run the same version of the library, or not the same "
               "program%s",
               fault, sy_ending_rest(run, false));
    sy_ending_begin(run, 1, SY_GRACE_FAILED);
}

static void gather(struct sy_pe *pe, const struct sy_launch_header *header, const char *body)
{
    struct sy_run *run = pe->run;
    size_t phase = strnlen(body, header->length);
    struct sy_packet *packet;
    char *fault;
    bool complete;

    if (!pe->greeted || phase == header->length || run->gather.have[pe->number]) {
        end_wrong(pe, !pe->greeted              ? "a gather before its greeting"
                      : phase == header->length ? "a gather without a name"
                                                : "a second gather before the answer to the first");
        return;
    }
    complete = sy_gather_add(&run->gather, pe->number, body, body + phase + 1,
                             header->length - phase - 1, &fault);
    if (fault) {
        end_mismatched(run, fault);
        free(fault);
        return;
    }
    if (!complete) {
        limit_gather(run, header->arg);
        check_left(run);
        return;
    }
    ev_timer_stop(run->loop, &run->gather_limit);
    packet = sy_gather_take(&run->gather);
    for (int i = 0; i < run->npes; i++)
        sy_link_send(&run->pes[i].link, packet);
    sy_packet_drop(packet);
}

static void abort_now(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)loop;
    (void)events;
    sy_ending_begin(run, run->abort.status, SY_GRACE_FAILED);
}

/* shmem_global_exit ends the job at once. A PE that gives up because of an error may do so because
 * another has died: that one is then the cause, and is given the time to show. */
static void end_asked(struct sy_pe *pe, int64_t status, const char *why)
{
    struct sy_run *run = pe->run;

    pe->aborted = true;
    if (run->abort.pending)
        return;
    if (!*why) {
        sy_run_say(run, SY_SAY_MORE, "PE %d called shmem_global_exit(%lld)", pe->number,
                   (long long)status);
        sy_ending_begin(run, (int)(status & 0xff), SY_GRACE_FAILED);
        return;
    }
    sy_run_say(run, SY_SAY_MORE, "PE %d gives up: %s", pe->number, why);
    run->abort.pending = true;
    run->abort.status = (int)(status & 0xff) ? (int)(status & 0xff) : 1;
    ev_timer_start(run->loop, &run->abort.wait);
}

static void frame(struct sy_link *link, const struct sy_launch_header *header, const char *body)
{
    struct sy_pe *pe = link->owner;

    if (pe->run->ending.begun) {
        /* One that comes late is told to leave; the rest is of no interest any more. */
        if (header->type == SY_LAUNCH_HELLO) {
            struct sy_packet *packet = sy_packet_new(SY_LAUNCH_EXIT, pe->run->status, 0);

            sy_link_send(link, packet);
            sy_packet_drop(packet);
        }
        return;
    }
    switch (header->type) {
    case SY_LAUNCH_HELLO:
        hello(pe, header->arg);
        break;
    case SY_LAUNCH_GATHER:
        gather(pe, header, body);
        break;
    case SY_LAUNCH_MARK:
        pe->initialized = header->arg == SY_MARK_INITIALIZED;
        break;
    default:
        end_asked(pe, header->arg, body);
    }
}

static void malformed(struct sy_link *link, const char *what)
{
    end_wrong(link->owner, what);
}

void sy_talk_open(struct sy_pe *pe, int fd)
{
    pe->link.frame = frame;
    pe->link.malformed = malformed;
    pe->link.owner = pe;
    sy_link_open(&pe->link, pe->run->loop, fd);
}

void sy_talk_init(struct sy_run *run)
{
    sy_gather_init(&run->gather, run->npes);
    ev_timer_init(&run->gather_limit, gather_expired, 0., 0.);
    ev_timer_init(&run->abort.wait, abort_now, CAUSE, 0.);
    run->gather_limit.data = run->abort.wait.data = run;
}

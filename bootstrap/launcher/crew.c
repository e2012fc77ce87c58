/* The PEs of one host while they run: see crew.h. Their start is in crew_start.c. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/crew_start.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/trace.h"

void sy_crew_tell(struct sy_crew *crew, unsigned type, int pe, int64_t arg, const void *body,
                  size_t length)
{
    const struct sy_launch_header header = {
        .type = type, .length = (uint32_t)length, .pe = pe, .arg = arg};

    crew->tell(crew, &header, body);
}

/* ---- frames for PEs, and what the head wants ---- */

static struct sy_member *member_of(const struct sy_crew *crew, int pe)
{
    if (pe < 0 || pe >= crew->spec->npes || crew->member_of[pe] < 0)
        return NULL;
    return &crew->member[crew->member_of[pe]];
}

static void pass(struct sy_crew *crew, struct sy_member *member,
                 const struct sy_launch_header *header, const char *body)
{
    struct sy_packet *packet = sy_packet_copy(header, body);

    if (member) {
        sy_link_send(&member->link, packet);
    } else {
        for (int i = 0; i < crew->started; i++)
            sy_link_send(&crew->member[i].link, packet);
    }
    sy_packet_drop(packet);
}

/* A PE may have left its group (a shell with job control does), so it is signalled by itself then.
 */
static void signal_member(const struct sy_member *member, int number)
{
    if (!member->alive)
        return;
    if (kill(-member->pid, number) != 0 || getpgid(member->pid) != member->pid || number == SIGKILL)
        kill(member->pid, number);
}

void sy_crew_signal(struct sy_crew *crew, int number)
{
    for (int i = 0; i < crew->started; i++)
        signal_member(&crew->member[i], number);
}

static void check_finished(struct sy_crew *crew)
{
    if (!crew->finishing || crew->finished || crew->outlets)
        return;
    crew->finished = true;
    ev_timer_stop(crew->loop, &crew->drain);
    sy_guard_end(&crew->guard);
    sy_crew_tell(crew, SY_CREW_FINISHED, SY_ALL, 0, NULL, 0);
}

/* What still holds the pipes is no PE: take what is there, and end. */
static void drain_over(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_crew *crew = timer->data;

    (void)loop;
    (void)events;
    sy_guard_end(&crew->guard);
    for (int i = 0; i < crew->started; i++) {
        sy_outlet_finish(&crew->member[i].out);
        sy_outlet_finish(&crew->member[i].err);
    }
}

static void finish(struct sy_crew *crew, bool at_once)
{
    static const double DRAIN = 1.0; /* seconds for those that PEs left behind with their output */

    if (crew->finishing)
        return;
    crew->finishing = true;
    for (int i = 0; i < crew->started; i++)
        sy_inlet_close(&crew->member[i].in);
    if (at_once)
        sy_guard_end(&crew->guard);
    ev_timer_init(&crew->drain, drain_over, DRAIN, 0.);
    crew->drain.data = crew;
    ev_timer_start(crew->loop, &crew->drain);
    check_finished(crew);
}

void sy_crew_take(struct sy_crew *crew, const struct sy_launch_header *header, const char *body)
{
    struct sy_member *member = member_of(crew, header->pe);

    if (!member && header->pe != SY_ALL)
        return;
    switch (header->type) {
    case SY_CREW_SIGNAL:
        if (member)
            signal_member(member, (int)header->arg);
        else
            sy_crew_signal(crew, (int)header->arg);
        break;
    case SY_CREW_CREDIT:
        if (member)
            sy_outlet_credit(header->more == 1 ? &member->out : &member->err, (size_t)header->arg);
        break;
    case SY_CREW_INPUT:
        if (member && member->in.taken)
            sy_inlet_put(&member->in, body, header->length);
        else if (member) /* not started, or without input */
            sy_crew_tell(crew, SY_CREW_TAKEN, member->pe, 1, NULL, 0);
        break;
    case SY_CREW_TRACE:
        sy_trace_start(crew);
        break;
    case SY_CREW_FINISH:
        finish(crew, header->arg != 0);
        break;
    case SY_CREW_PING:
        sy_crew_tell(crew, SY_CREW_PONG, SY_ALL, header->arg, NULL, 0);
        break;
    default:
        if (header->type < SY_LAUNCH_LAST)
            pass(crew, member, header, body);
    }
}

/* ---- what comes from PEs ---- */

static const char *pe_fault(const struct sy_link *link, const struct sy_launch_header *header)
{
    (void)link;
    return sy_frame_fault(header, SY_FRAME_AT_CREW, SY_FRAME_RUNNING);
}

static void pe_frame(struct sy_link *link, const struct sy_launch_header *header, const char *body)
{
    struct sy_member *member = link->owner;
    struct sy_launch_header up = *header;

    up.pe = member->pe;
    member->crew->tell(member->crew, &up, body);
}

static void pe_malformed(struct sy_link *link, const char *what)
{
    struct sy_member *member = link->owner;

    sy_crew_tell(member->crew, SY_CREW_FAULT, member->pe, 0, what, strlen(what));
}

static void outlet_bytes(struct sy_outlet *outlet, const char *bytes, size_t length)
{
    struct sy_member *member = outlet->owner;
    struct sy_crew *crew = member->crew;
    const struct sy_launch_header header = {.type = SY_CREW_OUTPUT,
                                            .length = (uint32_t)length,
                                            .pe = member->pe,
                                            .more = outlet->stream};

    crew->tell(crew, &header, bytes);
    if (!length) {
        crew->outlets--;
        check_finished(crew);
    }
}

static void inlet_taken(struct sy_inlet *inlet, bool closed)
{
    struct sy_member *member = inlet->owner;

    sy_crew_tell(member->crew, SY_CREW_TAKEN, member->pe, closed, NULL, 0);
}

static void open_outlet(struct sy_member *member, struct sy_outlet *outlet, int stream, int fd)
{
    outlet->stream = stream;
    outlet->bytes = outlet_bytes;
    outlet->owner = member;
    member->crew->outlets++;
    sy_outlet_open(outlet, member->crew->loop, fd, SY_CREW_WINDOW);
}

void sy_crew_attach(struct sy_member *member, const struct sy_child *child)
{
    struct ev_loop *loop = member->crew->loop;

    member->link.fault = pe_fault;
    member->link.frame = pe_frame;
    member->link.malformed = pe_malformed;
    member->link.owner = member;
    sy_link_open(&member->link, loop, child->link, child->link);
    open_outlet(member, &member->out, 1, child->out);
    if (child->err >= 0)
        open_outlet(member, &member->err, 2, child->err);
    if (child->in >= 0) {
        member->in.taken = inlet_taken;
        member->in.owner = member;
        sy_inlet_open(&member->in, loop, child->in);
    }
}

/* ---- ends ---- */

static struct sy_member *member_with(struct sy_crew *crew, pid_t pid)
{
    for (int i = 0; i < crew->started; i++) {
        if (crew->member[i].alive && crew->member[i].pid == pid)
            return &crew->member[i];
    }
    return NULL;
}

/* Several PEs may have ended since the last look; the head is told of all before it judges any. */
static bool collect(struct sy_crew *crew, void (*stranger)(void *arg, pid_t pid, int wait_status),
                    void *arg)
{
    int wait_status;
    pid_t pid;
    bool orphans = false, any = false;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        struct sy_member *member = member_with(crew, pid);

        if (!member) {
            orphans = true;
            if (stranger)
                stranger(arg, pid, wait_status);
            continue;
        }
        member->alive = false;
        member->just_ended = any = true;
        member->wait_status = wait_status;
        crew->living--;
        sy_guard_review(&crew->guard, (int)(member - crew->member));
    }
    for (int i = 0; orphans && i < crew->started; i++) {
        if (!crew->member[i].alive)
            sy_guard_review(&crew->guard, i);
    }
    return any;
}

void sy_crew_reap(struct sy_crew *crew, void (*stranger)(void *arg, pid_t pid, int wait_status),
                  void *arg)
{
    if (!collect(crew, stranger, arg))
        return;
    for (int i = 0; i < crew->started; i++) {
        struct sy_member *member = &crew->member[i];

        if (!member->just_ended)
            continue;
        /* What it said last explains its end. */
        sy_link_drain(&member->link);
        member->just_ended = false;
        sy_crew_tell(crew, SY_CREW_ENDED, member->pe, member->wait_status, NULL, 0);
    }
    sy_crew_tell(crew, SY_CREW_JUDGE, SY_ALL, 0, NULL, 0);
}

void sy_crew_close(struct sy_crew *crew)
{
    if (crew->count) {
        sy_guard_end(&crew->guard);
        ev_timer_stop(crew->loop, &crew->drain);
    }
    for (int i = 0; i < crew->count; i++) {
        sy_link_close(&crew->member[i].link);
        sy_inlet_close(&crew->member[i].in);
        sy_outlet_close(&crew->member[i].out);
        sy_outlet_close(&crew->member[i].err);
    }
    free(crew->member);
    free(crew->member_of);
}

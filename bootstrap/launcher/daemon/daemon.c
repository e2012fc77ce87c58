/* The PEs of one host while they run: see daemon.h. Their start is in daemon_start.c. */
#include "bootstrap/launcher/daemon/daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "util/file.h"

void sy_daemon_tell(struct sy_daemon *daemon, unsigned type, int pe, int arg, const void *body,
                    size_t length)
{
    const struct sy_frame header = {
        .type = (uint16_t)type, .length = (uint32_t)length, .pe = pe, .arg = arg};

    daemon->tell(daemon, &header, body);
}

/* ---- frames for PEs, and the head's orders ---- */

static struct sy_local_pe *daemon_local_of(const struct sy_daemon *daemon, int pe)
{
    if (pe < 0 || pe >= daemon->spec->npes || daemon->local_of[pe] < 0)
        return NULL;
    return &daemon->local[daemon->local_of[pe]];
}

static void daemon_pass(struct sy_daemon *daemon, struct sy_local_pe *local,
                        const struct sy_frame *header, const char *body)
{
    if (local) {
        sy_link_send_frame(&local->link, header, body);
        return;
    }
    struct sy_packet *packet = sy_memory_check(sy_packet_new(header, body, header->length, NULL));
    for (int i = 0; i < daemon->started; i++)
        sy_link_send(&daemon->local[i].link, packet);
    sy_packet_drop(packet);
}

/* Signals a PE's process group, and the PE itself if it may have left the group, as a shell with
 * job control does. */
static void daemon_signal_local(const struct sy_local_pe *local, int number)
{
    if (!local->alive)
        return;
    if (kill(-local->pid, number) != 0 || getpgid(local->pid) != local->pid || number == SIGKILL)
        kill(local->pid, number);
}

void sy_daemon_signal(struct sy_daemon *daemon, int number)
{
    for (int i = 0; i < daemon->started; i++)
        daemon_signal_local(&daemon->local[i], number);
}

static void daemon_check_finished(struct sy_daemon *daemon)
{
    if (!daemon->finishing || daemon->finished || daemon->outputs)
        return;
    daemon->finished = true;
    ev_timer_stop(daemon->loop, &daemon->drain);
    sy_reaper_end(&daemon->reaper);
    sy_daemon_tell(daemon, SY_DAEMON_FINISHED, SY_ALL, 0, NULL, 0);
}

/* No PE holds the pipes any more: takes what they contain, and ends. */
static void daemon_drain_over(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_daemon *daemon = timer->data;

    (void)loop, (void)events;
    sy_reaper_end(&daemon->reaper);
    for (int i = 0; i < daemon->started; i++) {
        sy_pe_output_finish(&daemon->local[i].out);
        sy_pe_output_finish(&daemon->local[i].err);
    }
}

static void daemon_finish(struct sy_daemon *daemon, bool at_once)
{
    static const double DRAIN = 1.0; /* seconds for those that PEs left behind with their output */

    if (daemon->finishing)
        return;
    daemon->finishing = true;
    for (int i = 0; i < daemon->started; i++)
        sy_pe_input_close(&daemon->local[i].in);
    if (at_once)
        sy_reaper_end(&daemon->reaper);
    ev_timer_init(&daemon->drain, daemon_drain_over, DRAIN, 0.);
    daemon->drain.data = daemon;
    ev_timer_start(daemon->loop, &daemon->drain);
    daemon_check_finished(daemon);
}

void sy_daemon_take(struct sy_daemon *daemon, const struct sy_frame *header, const char *body)
{
    struct sy_local_pe *local = daemon_local_of(daemon, header->pe);

    if (!local && header->pe != SY_ALL)
        return;
    switch (header->type) {
    case SY_DAEMON_SIGNAL:
        if (local)
            daemon_signal_local(local, header->arg);
        else
            sy_daemon_signal(daemon, header->arg);
        break;
    case SY_DAEMON_CREDIT:
        if (local)
            sy_pe_output_credit(header->more == 1 ? &local->out : &local->err, (size_t)header->arg);
        break;
    case SY_DAEMON_INPUT:
        if (local && local->in.taken)
            sy_pe_input_put(&local->in, body, header->length);
        else if (local) /* not started, or without input */
            sy_daemon_tell(daemon, SY_DAEMON_TAKEN, local->pe, 1, NULL, 0);
        break;
    case SY_DAEMON_TRACE:
        if (local)
            sy_trace_start(local);
        break;
    case SY_DAEMON_FINISH:
        daemon_finish(daemon, header->arg != 0);
        break;
    case SY_DAEMON_PING:
        sy_daemon_tell(daemon, SY_DAEMON_PONG, SY_ALL, header->arg, NULL, 0);
        break;
    default:
        if (header->type < SY_CONTROL_LAST)
            daemon_pass(daemon, local, header, body);
    }
}

/* ---- what comes from PEs ---- */

static const char *pe_fault(const struct sy_link *link, const struct sy_frame *header)
{
    (void)link;
    return sy_frame_fault(header, SY_FRAME_AT_DAEMON, SY_FRAME_RUNNING);
}

static void daemon_pe_frame(struct sy_link *link, const struct sy_frame *header, const char *body)
{
    struct sy_local_pe *local = link->owner;
    struct sy_frame up = *header;

    up.pe = local->pe;
    local->daemon->tell(local->daemon, &up, body);
}

static void daemon_pe_malformed(struct sy_link *link, const char *what)
{
    struct sy_local_pe *local = link->owner;

    sy_daemon_tell(local->daemon, SY_DAEMON_FAULT, local->pe, 0, what, strlen(what));
}

static void daemon_pe_closed(struct ev_loop *loop, ev_timer *timer, int events)
{
    static const char what[] = "no word of shmem_finalize before its connection to oshrun ended: "
                               "has it called exec, or closed descriptors that are not its own?";
    struct sy_local_pe *local = timer->data;

    (void)loop, (void)events;
    if (local->alive)
        sy_daemon_tell(local->daemon, SY_DAEMON_FAULT, local->pe, 1, what, strlen(what));
}

static void daemon_pe_ended(struct sy_link *link)
{
    struct sy_local_pe *local = link->owner;

    ev_timer_start(local->daemon->loop, &local->closed);
}

static void daemon_output_bytes(struct sy_pe_output *output, const char *bytes, size_t length)
{
    struct sy_local_pe *local = output->owner;
    struct sy_daemon *daemon = local->daemon;
    const struct sy_frame header = {.type = SY_DAEMON_OUTPUT,
                                    .length = (uint32_t)length,
                                    .pe = local->pe,
                                    .more = (uint16_t)output->stream};

    daemon->tell(daemon, &header, bytes);
    if (!length) {
        daemon->outputs--;
        daemon_check_finished(daemon);
    }
}

static void daemon_input_taken(struct sy_pe_input *input, bool closed)
{
    struct sy_local_pe *local = input->owner;

    sy_daemon_tell(local->daemon, SY_DAEMON_TAKEN, local->pe, closed, NULL, 0);
}

static void daemon_open_output(struct sy_local_pe *local, struct sy_pe_output *output, int stream,
                               int fd)
{
    output->stream = stream;
    output->bytes = daemon_output_bytes;
    output->owner = local;
    local->daemon->outputs++;
    sy_pe_output_open(output, local->daemon->loop, fd, SY_DAEMON_WINDOW);
}

void sy_daemon_attach(struct sy_local_pe *local, const struct sy_child *child)
{
    struct ev_loop *loop = local->daemon->loop;

    local->link.fault = pe_fault;
    local->link.frame = daemon_pe_frame;
    local->link.malformed = daemon_pe_malformed;
    local->link.ended = daemon_pe_ended;
    local->link.owner = local;
    ev_timer_init(&local->closed, daemon_pe_closed, 1., 0.);
    local->closed.data = local;
    sy_link_open(&local->link, loop, child->link, child->link);
    daemon_open_output(local, &local->out, 1, child->out);
    if (child->err >= 0)
        daemon_open_output(local, &local->err, 2, child->err);
    if (child->in >= 0) {
        local->in.taken = daemon_input_taken;
        local->in.owner = local;
        sy_pe_input_open(&local->in, loop, child->in);
    }
}

/* ---- ends ---- */

static struct sy_local_pe *daemon_local_with(struct sy_daemon *daemon, pid_t pid)
{
    for (int i = 0; i < daemon->started; i++) {
        if (daemon->local[i].alive && daemon->local[i].pid == pid)
            return &daemon->local[i];
    }
    return NULL;
}

/* Reaps children; true: PEs have ended. Several may have, and the head learns of all before it
 * judges any. */
static bool daemon_collect(struct sy_daemon *daemon,
                           void (*stranger)(void *arg, pid_t pid, int wait_status), void *arg)
{
    int wait_status;
    pid_t pid;
    bool orphans = false, any = false;

    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
        struct sy_local_pe *local = daemon_local_with(daemon, pid);

        if (WIFSTOPPED(wait_status)) /* it has asked to be traced, and goes on untraced */
            ptrace(PTRACE_DETACH, pid, NULL,
                   WSTOPSIG(wait_status) == SIGTRAP ? 0 : WSTOPSIG(wait_status));
        if (WIFSTOPPED(wait_status) || sy_reaper_restart(&daemon->reaper, pid))
            continue;
        if (!local) {
            orphans = true;
            if (stranger)
                stranger(arg, pid, wait_status);
            continue;
        }
        local->alive = false;
        local->just_ended = any = true;
        local->wait_status = wait_status;
        daemon->living--;
        sy_reaper_review(&daemon->reaper, (int)(local - daemon->local));
    }
    for (int i = 0; orphans && i < daemon->started; i++) {
        if (!daemon->local[i].alive)
            sy_reaper_review(&daemon->reaper, i);
    }
    return any;
}

/* SY_DAEMON_SHORT if a PE was killed, and the kernel has killed some for lack of memory. */
static int daemon_shortage(const struct sy_daemon *daemon, int wait_status)
{
    bool killed = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;

    return killed && sy_file_count("/proc/vmstat", "oom_kill ") > daemon->short_before
               ? SY_DAEMON_SHORT
               : 0;
}

void sy_daemon_reap(struct sy_daemon *daemon,
                    void (*stranger)(void *arg, pid_t pid, int wait_status), void *arg)
{
    if (!daemon_collect(daemon, stranger, arg))
        return;
    for (int i = 0; i < daemon->started; i++) {
        struct sy_local_pe *local = &daemon->local[i];

        if (!local->just_ended)
            continue;
        /* A PE's last message explains its end. */
        sy_link_drain(&local->link);
        local->just_ended = false;
        sy_daemon_tell(daemon, SY_DAEMON_ENDED, local->pe,
                       local->wait_status | daemon_shortage(daemon, local->wait_status), NULL, 0);
    }
    sy_daemon_tell(daemon, SY_DAEMON_JUDGE, SY_ALL, 0, NULL, 0);
}

void sy_daemon_close(struct sy_daemon *daemon)
{
    if (daemon->count) {
        sy_reaper_end(&daemon->reaper);
        ev_timer_stop(daemon->loop, &daemon->drain);
    }
    for (int i = 0; i < daemon->count; i++) {
        sy_link_close(&daemon->local[i].link);
        ev_timer_stop(daemon->loop, &daemon->local[i].closed);
        sy_pe_input_close(&daemon->local[i].in);
        sy_pe_output_close(&daemon->local[i].out);
        sy_pe_output_close(&daemon->local[i].err);
    }
    free(daemon->local);
    free(daemon->local_of);
}

/* Messages from daemons, and from PEs through them: HELLO, gathers, states, output, requests to
 * end the job. Whatever comes is checked against what has come before (messages_misplaced): an
 * agent, or a program in a PE's place, may send anything. */
#include "bootstrap/launcher/head/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <switchyard/bootstrap.h>
#include <sys/wait.h>

#include "bootstrap/launcher/memory.h"
#include "util/list.h"

enum { LONGEST_MS = 24 * 3600 * 1000 };

static const double CAUSE = 0.1; /* seconds in which the death that led to an abort shows */

/* A PE has violated the protocol. */
static void messages_end_wrong(struct sy_pe *pe, const char *what)
{
    struct sy_run *run = pe->run;

    if (run->ending.begun)
        return;
    sy_run_say(run, SY_SAY_ALWAYS, "PE %d on host %s (pid %d) sent %s%s", pe->number,
               pe->node->name, (int)pe->pid, what, sy_ending_rest(run));
    sy_ending_begin(run, 1, SY_GRACE_FAILED);
}

static void messages_hello(struct sy_pe *pe, int version)
{
    struct sy_run *run = pe->run;
    struct sy_launch_welcome welcome = {.pe = pe->number, .npes = run->npes};
    char what[160];

    if (version != SY_LAUNCH_VERSION) {
        snprintf(what, sizeof what,
                 "version %d of the launch protocol, this oshrun knows %d: use the oshrun of the "
                 "program's library",
                 version, SY_LAUNCH_VERSION);
        messages_end_wrong(pe, what);
        return;
    }
    if (pe->initialized || run->gather.have[pe->number]) {
        messages_end_wrong(
            pe, "a second HELLO, though its first program has not left by shmem_finalize, as when "
                "a child process that it has forked calls shmem_init too");
        return;
    }
    pe->said_hello = true;
    pe->finalized = false;
    memcpy(welcome.id, run->id, sizeof welcome.id);
    memcpy(welcome.key, run->key, sizeof welcome.key);
    sy_run_send(pe, SY_CONTROL_WELCOME, SY_LAUNCH_VERSION, &welcome, sizeof welcome);
    explicit_bzero(&welcome, sizeof welcome);
}

/* ---- gathers ---- */

/* Whether a PE of the host is missing in the gather. */
static bool messages_host_lacks(const struct sy_node *node)
{
    const struct sy_run *run = node->run;

    for (int pe = 0; pe < run->npes; pe++) {
        if (run->pes[pe].node == node && !run->gather.have[pe])
            return true;
    }
    return false;
}

static void messages_gather_expired(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;
    char missing[SY_LIST_TEXT];

    (void)events;
    if (sy_node_looks_again(loop, timer))
        return;
    char *hosts = sy_nodes_text(run, messages_host_lacks);
    bool one = run->npes - run->gather.arrived == 1;
    sy_run_say(run, SY_SAY_ENDING, "'%s' was not complete in time: %s on %s %s not come%s",
               run->gather.phase,
               sy_list_missing(run->gather.have, run->npes, NULL, NULL, missing, sizeof missing),
               hosts, one ? "has" : "have", sy_ending_rest(run));
    free(hosts);
    sy_ending_begin(run, sy_ending_status(run), SY_GRACE_FAILED);
}

/* The first PE's call sets the limit; a shorter time from a later one shortens it. */
static void messages_limit_gather(struct sy_run *run, int milliseconds)
{
    if (milliseconds < 1)
        milliseconds = 1;
    if (milliseconds > LONGEST_MS)
        milliseconds = LONGEST_MS;
    double seconds = milliseconds / 1e3;
    if (ev_is_active(&run->gather_limit) || ev_is_pending(&run->gather_limit)) {
        if (ev_timer_remaining(run->loop, &run->gather_limit) <= seconds)
            return;
    } else {
        run->waiting.gather_began = ev_now(run->loop);
        ev_set_priority(&run->gather_limit, 0);
    }
    ev_timer_stop(run->loop, &run->gather_limit);
    ev_timer_set(&run->gather_limit, seconds, 0.);
    ev_timer_start(run->loop, &run->gather_limit);
}

/* A PE that ended before this gather began, and the job with it did not, will not take part. One
 * that has asked for the job's end is about to be judged. */
static void messages_check_left(struct sy_run *run)
{
    if (run->abort.asked)
        return;
    for (int i = 0; i < run->npes; i++) {
        const struct sy_pe *pe = &run->pes[i];

        if (!pe->started || pe->alive || pe->just_ended || run->gather.have[i])
            continue;
        sy_run_say(
            run, SY_SAY_ENDING, "PE %d on host %s (pid %d) %s%s, and others wait for it in '%s'%s",
            i, pe->node->name, (int)pe->pid, sy_waiting_how_ended(pe),
            pe->said_hello ? "" : " without shmem_init", run->gather.phase, sy_ending_rest(run));
        sy_ending_begin(run, sy_ending_status(run), SY_GRACE_FAILED);
        return;
    }
}

static void messages_end_mismatched(struct sy_run *run, const struct sy_pe *pe, const char *fault)
{
    const struct sy_pe *first = &run->pes[run->gather.first];

    sy_run_say(run, SY_SAY_ALWAYS,
               "%s: the PEs do not run the same version of the library, or not the same "
               "program; PE %d is on host %s, PE %d on host %s%s",
               fault, pe->number, pe->node->name, first->number, first->node->name,
               sy_ending_rest(run));
    sy_ending_begin(run, 1, SY_GRACE_FAILED);
}

/* One answer for each node, which passes it to all its PEs. */
static void messages_answer_gather(struct sy_run *run)
{
    ev_timer_stop(run->loop, &run->gather_limit);
    struct sy_packet *packet = sy_gather_take(&run->gather);
    sy_packet_frame(packet)->pe = SY_ALL;
    for (int i = 0; i < run->nodes; i++)
        sy_node_send(&run->node[i], sy_packet_frame(packet), sy_packet_body(packet));
    sy_packet_drop(packet);
}

static void messages_gather(struct sy_pe *pe, const struct sy_frame *header, const char *body)
{
    struct sy_run *run = pe->run;
    size_t phase = strnlen(body, header->length);
    char fault[SY_GATHER_FAULT];

    if (!pe->said_hello || phase == header->length || run->gather.have[pe->number]) {
        messages_end_wrong(pe,
                           !pe->said_hello ? "a gather before its HELLO"
                           : phase == header->length
                               ? "a gather without a name"
                               : "a second gather before the answer to the first, as when a child "
                                 "process that it has forked calls shmem_init too");
        return;
    }
    int rc = sy_gather_add(&run->gather, pe->number, body, body + phase + 1,
                           header->length - phase - 1, fault);
    if (rc == -ENOMEM)
        sy_memory_check(NULL);
    if (rc < 0) {
        messages_end_mismatched(run, pe, fault);
        return;
    }
    if (rc) {
        messages_answer_gather(run);
        return;
    }
    messages_limit_gather(run, header->arg);
    if (run->living < run->npes)
        messages_check_left(run);
}

/* ---- requests to end the job ---- */

static void messages_abort_now(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)loop, (void)events;
    sy_ending_begin(run, run->abort.status, SY_GRACE_FAILED);
}

/* shmem_global_exit ends the job at once. A PE that gives up because of an error may do so because
 * another PE has died: that death is then the cause, and gets time to be noticed. */
static void messages_end_asked(struct sy_pe *pe, int status, const char *why)
{
    struct sy_run *run = pe->run;

    pe->aborted = true;
    if (run->abort.asked)
        return;
    if (!*why) {
        sy_run_say(run, SY_SAY_MORE, "PE %d called shmem_global_exit(%d)", pe->number, status);
        sy_ending_begin(run, status & 0xff, SY_GRACE_FAILED);
        return;
    }
    sy_run_say(run, SY_SAY_MORE, "PE %d gives up: %s", pe->number, why);
    snprintf(run->abort.why, sizeof run->abort.why, "%s", why);
    run->abort.pe = pe;
    run->abort.asked = true;
    /* With --kill-on-bad-exit=0 another one's failure may have come first. */
    run->abort.status = run->status || !(status & 0xff) ? sy_ending_status(run) : status & 0xff;
    ev_timer_start(run->loop, &run->abort.wait);
}

static void messages_pe_says(struct sy_pe *pe, const struct sy_frame *header, const char *body)
{
    uint64_t wait;

    if (header->type == SY_CONTROL_BLOCKED) {
        memcpy(&wait, body, sizeof wait);
        sy_report_blocked(&pe->run->report, pe->number, wait, header->more);
        return;
    }
    if (header->type == SY_CONTROL_NOTE) {
        sy_report_note(&pe->run->report, pe->number, body, header->length, header->arg,
                       ev_now(pe->run->loop));
        return;
    }
    if (pe->run->ending.begun) {
        /* A PE that comes late is told to leave; its message does not matter any more. */
        if (header->type == SY_CONTROL_HELLO)
            sy_run_send(pe, SY_CONTROL_EXIT, pe->run->status, NULL, 0);
        return;
    }
    switch (header->type) {
    case SY_CONTROL_HELLO:
        messages_hello(pe, header->arg);
        break;
    case SY_CONTROL_GATHER:
        messages_gather(pe, header, body);
        break;
    case SY_CONTROL_MARK:
        pe->initialized = header->arg == SY_MARK_INITIALIZED;
        pe->finalized = !pe->initialized;
        break;
    case SY_CONTROL_ABORT:
        messages_end_asked(pe, header->arg, body);
        break;
    default:
        messages_end_wrong(pe, "a frame of unknown type");
    }
}

/* ---- messages from daemons ---- */

static void messages_output_done(struct sy_forward *stream)
{
    struct sy_pe *pe = stream->owner;

    pe->run->streams--;
    if (stream->repeats)
        stream->repeats->streams--;
    sy_run_check_done(pe->run);
}

static void messages_output_room(struct sy_forward *stream, size_t bytes)
{
    struct sy_pe *pe = stream->owner;
    const struct sy_frame header = {.type = SY_DAEMON_CREDIT,
                                    .pe = pe->number,
                                    .more = stream == &pe->out ? 1 : 2,
                                    .arg = (int)bytes};

    pe->room[header.more - 1] += bytes;
    sy_node_send(pe->node, &header, NULL);
}

static void messages_open_output(struct sy_pe *pe, struct sy_forward *stream,
                                 struct sy_out_file *out_file)
{
    const struct sy_flags *flags = pe->run->flags;
    const char *pattern = flags->label ? "[%r] " : "";
    char *label = sy_outputs_expand(flags->label_pattern ? flags->label_pattern : pattern,
                                    pe->number, pe->node->name);

    stream->owner = pe;
    stream->done = messages_output_done;
    stream->room = messages_output_room;
    pe->run->streams++;
    sy_forward_open(stream, out_file, pe->number, label, flags->timestamp,
                    pe->run->npes == 1 && !*label && !flags->timestamp);
}

/* Where a PE's output goes: the file of a pattern, or oshrun's own output. */
static struct sy_out_file *messages_choose_out_file(struct sy_pe *pe, const char *pattern,
                                                    struct sy_out_file *own)
{
    struct sy_run *run = pe->run;
    char *name;

    if (!pattern)
        return own;
    name = sy_outputs_expand(pattern, pe->number, pe->node->name);
    struct sy_out_file *out_file = sy_outputs_file(&run->outputs, name);
    if (!out_file && !run->ending.begun) {
        sy_run_say(run, SY_SAY_ALWAYS, "cannot write to '%s': %s%s", name,
                   errno == ENXIO ? "it is a FIFO that nobody reads, or a socket" : strerror(errno),
                   sy_ending_rest(run));
        sy_ending_begin(run, SY_FLAGS_UNWRITTEN, SY_GRACE_FAILED);
    }
    free(name);
    return out_file ? out_file : own;
}

/* Where the host's name at `from` ends, or a number; `length` at the most. */
static size_t messages_skip_host(const char *line, size_t length, size_t from)
{
    while (from < length && line[from] > ' ' && line[from] != ':')
        from++;
    return from;
}

static size_t messages_skip_number(const char *line, size_t length, size_t from)
{
    while (from < length && line[from] >= '0' && line[from] <= '9')
        from++;
    return from;
}

/* The library's warnings and errors: "PE 3@host: error: ...", of this PE, or, before it knows that,
 * "process 1234: error: ...". All else is the program's, and is shown as it comes. */
static ssize_t messages_who_warns(const struct sy_forward *stream, const char *line, size_t length)
{
    static const char *const LEVELS[] = {"error: ", "warning: "};
    char head[32];
    size_t who = (size_t)snprintf(head, sizeof head, "PE %d@", stream->writer.source);

    if (length > who && strncmp(line, head, who) == 0)
        who = messages_skip_host(line, length, who);
    else if (length > 8 && strncmp(line, "process ", 8) == 0)
        who = messages_skip_number(line, length, 8);
    else
        return -1;
    if (length - who < 2 || line[who] != ':' || line[who + 1] != ' ')
        return -1;
    who += 2;
    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++) {
        if (length - who > strlen(LEVELS[i]) &&
            strncmp(line + who, LEVELS[i], strlen(LEVELS[i])) == 0)
            return (ssize_t)who;
    }
    return -1;
}

/* Has equal warnings of PEs merged; not where errors go to files or a single PE writes. */
static void messages_watch_warnings(struct sy_pe *pe)
{
    const struct sy_flags *flags = pe->run->flags;

    if (flags->all_messages || flags->err_file || pe->err.lines.raw)
        return;
    pe->err.repeats = &pe->run->repeats;
    pe->err.repeats->streams++;
    pe->err.sayer = "PE";
    pe->err.who = messages_who_warns;
}

static void messages_started(struct sy_pe *pe, pid_t pid)
{
    struct sy_run *run = pe->run;

    pe->started = pe->alive = true;
    pe->pid = pid;
    pe->room[0] = pe->room[1] = SY_DAEMON_WINDOW;
    run->living++;
    sy_node_progress(pe->node);
    messages_open_output(pe, &pe->out,
                         messages_choose_out_file(pe, run->flags->out_file, &run->outputs.out));
    if (!run->flags->merge_stderr) {
        messages_open_output(
            pe, &pe->err,
            messages_choose_out_file(pe, run->flags->err_file, run->outputs.err_out_file));
        messages_watch_warnings(pe);
    }
}

static void messages_ended(struct sy_pe *pe, int wait_status)
{
    pe->just_ended = true;
    pe->wait_status = wait_status & 0xffff;
    pe->memory_short = wait_status & SY_DAEMON_SHORT;
    pe->alive = false;
    pe->run->living--;
}

static void messages_trouble(struct sy_node *node, int status, const char *what)
{
    struct sy_run *run = node->run;

    if (run->ending.begun)
        return;
    if (run->nodes > 1)
        sy_run_say(run, SY_SAY_ALWAYS, "host %s: %s%s", node->name, what, sy_ending_rest(run));
    else
        sy_run_say(run, SY_SAY_ALWAYS, "%s%s", what, sy_ending_rest(run));
    sy_ending_begin(run, status, SY_GRACE_FAILED);
}

/* Takes the last frame of a host. No more output will come to complete a line. */
static void messages_finished(struct sy_node *node)
{
    node->state = SY_NODE_FINISHED;
    sy_run_host_gone(node);
    sy_run_check_done(node->run);
}

/* Whether all PEs of a node have started, or the job is ending anyway. */
static bool messages_is_whole(const struct sy_node *node)
{
    const struct sy_run *run = node->run;

    for (int pe = 0; pe < run->npes && !run->ending.begun; pe++) {
        if (run->pes[pe].node == node && !run->pes[pe].started)
            return false;
    }
    return true;
}

static void messages_node_tells(struct sy_node *node, const struct sy_frame *header,
                                const char *body)
{
    struct sy_run *run = node->run;

    switch (header->type) {
    case SY_DAEMON_UP:
        if (!messages_is_whole(node)) {
            sy_node_wrong(node, "that all its PEs are started, which is not so");
            return;
        }
        node->state = SY_NODE_UP;
        if (sy_nodes_are_up(run)) {
            ev_timer_stop(run->loop, &run->spawn_limit);
            sy_run_check_gone(run);
            sy_run_start_input(run);
        }
        break;
    case SY_DAEMON_TROUBLE:
        messages_trouble(node, header->arg, body);
        break;
    case SY_DAEMON_JUDGE:
        sy_judge(run);
        break;
    case SY_DAEMON_FINISHED:
        if (run->all_gone)
            messages_finished(node);
        else
            sy_node_wrong(node, "that nothing is left of its PEs, before it was told to finish");
        break;
    default: /* PONG has been noted already */
        break;
    }
}

static struct sy_forward *stream_of(struct sy_pe *pe, const struct sy_frame *header)
{
    return header->more == 1 ? &pe->out : &pe->err;
}

/* What is wrong with a frame, after those that have come before it; or NULL. */
static const char *messages_misplaced(struct sy_pe *pe, const struct sy_frame *header)
{
    enum { LINES = 2 }; /* about a PE's start: daemon_start.c has no more to say */
    const struct sy_input *input = &pe->run->input;

    if (header->type == SY_DAEMON_STARTED)
        return pe->started ? "the start of a PE that was started before" : NULL;
    if (header->type == SY_DAEMON_SAY)
        return ++pe->said > LINES ? "too many lines about the start of a PE" : NULL;
    if (!pe->started)
        return "words of a PE that was not started";
    switch (header->type) {
    case SY_DAEMON_OUTPUT:
        if (!stream_of(pe, header)->open || stream_of(pe, header)->ended)
            return "output of a PE after its end";
        return header->length > pe->room[header->more - 1] ? "more output than there is room for"
                                                           : NULL;
    case SY_DAEMON_TAKEN:
        return input->open && !sy_input_awaits(input, pe->number) ? "a receipt of input not sent"
                                                                  : NULL;
    case SY_DAEMON_ENDED:
        if (!pe->alive)
            return "the end of a PE that had ended";
        return WIFEXITED(header->arg) || WIFSIGNALED(header->arg) ? NULL : "an end that is none";
    case SY_DAEMON_TRACED:
        return pe->traced ? "a second stack trace of a PE" : NULL;
    default:
        return NULL;
    }
}

/* Notes whether an error of the library has come through a PE's stderr. */
static void messages_explained(struct sy_pe *pe, const struct sy_frame *header, const char *body)
{
    static const char ERROR[] = ": error: ";

    if (stream_of(pe, header) == &pe->err || pe->run->flags->merge_stderr)
        pe->explained |= memmem(body, header->length, ERROR, strlen(ERROR)) != NULL;
}

static void messages_pe_tells(struct sy_pe *pe, const struct sy_frame *header, const char *body)
{
    const char *fault = messages_misplaced(pe, header);

    if (fault) {
        sy_node_wrong(pe->node, fault);
        return;
    }
    switch (header->type) {
    case SY_DAEMON_STARTED:
        messages_started(pe, (pid_t)header->arg);
        break;
    case SY_DAEMON_SAY:
        if (header->arg == SY_SAY_OF_BINDING || !pe->run->flags->overload)
            sy_run_say(pe->run, header->arg == SY_SAY_OF_BINDING ? SY_SAY_ALWAYS : SY_SAY_ENDING,
                       "%s", body);
        break;
    case SY_DAEMON_OUTPUT:
        pe->node->output += header->length;
        pe->room[header->more - 1] -= header->length;
        messages_explained(pe, header, body);
        sy_forward_put(stream_of(pe, header), body, header->length);
        break;
    case SY_DAEMON_TAKEN:
        sy_input_taken(&pe->run->input, pe->number, header->arg != 0);
        break;
    case SY_DAEMON_FAULT:
        if (!header->arg || pe->initialized)
            messages_end_wrong(pe, body);
        break;
    case SY_DAEMON_ENDED:
        messages_ended(pe, header->arg);
        break;
    case SY_DAEMON_TRACED:
        pe->traced = true;
        sy_waiting_traced(pe, body);
        break;
    default:
        messages_pe_says(pe, header, body);
    }
}

void sy_messages_take(struct sy_node *node, const struct sy_frame *header, const char *body)
{
    struct sy_run *run = node->run;

    if (header->pe == SY_ALL)
        messages_node_tells(node, header, body);
    else if (header->pe >= 0 && header->pe < run->npes && run->pes[header->pe].node == node)
        messages_pe_tells(&run->pes[header->pe], header, body);
    else
        sy_node_wrong(node, "a frame about a PE that it does not have");
}

void sy_messages_init(struct sy_run *run)
{
    if (sy_gather_init(&run->gather, run->npes) != 0)
        sy_memory_check(NULL);
    ev_timer_init(&run->gather_limit, messages_gather_expired, 0., 0.);
    ev_timer_init(&run->abort.wait, messages_abort_now, CAUSE, 0.);
    run->gather_limit.data = run->abort.wait.data = run;
}

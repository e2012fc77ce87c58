/* The hosts of a job: see node.h. */
#include "bootstrap/launcher/head/node.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/agent.h"
#include "bootstrap/launcher/head/call.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/head/run.h"
#include "util/clock.h"

enum {
    CALLS_AT_ONCE = 32,          /* commands without an answer yet; a server of ssh takes no more */
    BANNER_AT_ONCE = 65536,      /* bytes that are read before others get their turn */
    BEFORE_BANNER_MAX = 1 << 20, /* bytes that start-up files of shells may say */
    ERRORS_MAX = 1 << 20,        /* bytes of a command's stderr that are shown */
    NOTHING = -1
};

static const double LAST = 2; /* seconds for a command whose agent is done */
/* Seconds for an agent to report that nothing is left, once all PEs are gone: without a message,
 * and in all. It waits for one second itself (daemon.c), and forwards what the pipes hold. */
static const double FINISH_QUIET = 10, FINISH_ALL = 120;

static bool node_has_agent(const struct sy_node *node)
{
    return node->state == SY_NODE_STARTING || node->state == SY_NODE_UP;
}

/* ---- the end of a node ---- */

static void node_stop_banner(struct sy_node *node)
{
    if (node->answer < 0)
        return;
    ev_io_stop(node->run->loop, &node->banner);
    close(node->answer);
    close(node->question);
    node->answer = node->question = NOTHING;
}

static void kill_command(struct sy_node *node, int number)
{
    if (node->pid > 0)
        kill(-node->pid, number);
}

/* Gives a node up. why: the message, or NULL where that is no news. */
static void node_give_up(struct sy_node *node, const char *why)
{
    struct sy_run *run = node->run;

    node->state = SY_NODE_LOST;
    node_stop_banner(node);
    sy_link_close(&node->link);
    kill_command(node, SIGTERM);
    ev_timer_again(run->loop, &run->last_commands);
    run->hosts.lost(node, why);
}

__attribute__((format(printf, 2, 3))) static void node_lose(struct sy_node *node, const char *fmt,
                                                            ...)
{
    char why[400];
    va_list args;

    if (node->state == SY_NODE_FINISHED || node->state == SY_NODE_LOST)
        return;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    node_give_up(node, why);
}

void sy_node_wrong(struct sy_node *node, const char *what)
{
    node_lose(node, "is lost: its agent sent %s", what);
}

void sy_node_progress(struct sy_node *node)
{
    node->progressed = sy_clock();
}

/* ---- frames ---- */

static const char *node_link_fault(const struct sy_link *link, const struct sy_frame *header)
{
    const struct sy_node *node = link->owner;

    return sy_frame_fault(header, SY_FRAME_AT_HEAD,
                          node->state == SY_NODE_STARTING ? SY_FRAME_STARTING : SY_FRAME_RUNNING);
}

static void node_link_frame(struct sy_link *link, const struct sy_frame *header, const char *body)
{
    struct sy_node *node = link->owner;

    node->run->hosts.take(node, header, body);
    if (node->state == SY_NODE_FINISHED)
        sy_link_close(link);
}

static void link_malformed(struct sy_link *link, const char *what)
{
    sy_node_wrong(link->owner, what);
}

static void link_ended(struct sy_link *link)
{
    node_lose(link->owner, "is lost: the connection to its agent has ended");
}

static void node_daemon_tells(struct sy_daemon *daemon, const struct sy_frame *header,
                              const void *body)
{
    /* Handlers take the body as a string, as a link delivers it. */
    struct sy_node *node = daemon->owner;

    if (header->type == SY_DAEMON_OUTPUT) {
        node->run->hosts.take(node, header, body);
        return;
    }
    char *text = sy_memory_resize(NULL, (size_t)header->length + 1);
    if (header->length)
        memcpy(text, body, header->length);
    text[header->length] = '\0';
    node->run->hosts.take(node, header, text);
    free(text);
}

void sy_node_send(struct sy_node *node, const struct sy_frame *header, const void *body)
{
    if (!node_has_agent(node))
        return;
    if (node->local)
        sy_daemon_take(&node->daemon, header, body);
    else
        sy_link_send_frame(&node->link, header, body);
}

void sy_run_send(struct sy_pe *pe, unsigned type, int arg, const void *body, size_t length)
{
    const struct sy_frame header = {
        .type = (uint16_t)type, .length = (uint32_t)length, .pe = pe->number, .arg = arg};

    sy_node_send(pe->node, &header, body);
}

void sy_nodes_send(struct sy_run *run, unsigned type, int arg)
{
    const struct sy_frame header = {.type = (uint16_t)type, .pe = SY_ALL, .arg = arg};

    for (int i = 0; i < run->nodes; i++)
        sy_node_send(&run->node[i], &header, NULL);
}

/* ---- commands and banners ---- */

static void node_call_more(struct sy_run *run);

static void node_banner_complete(struct sy_node *node)
{
    struct sy_frame header = {.type = SY_DAEMON_START, .pe = SY_ALL};
    size_t length;
    char *bytes = sy_spec_pack(&node->spec, &length);

    ev_io_stop(node->run->loop, &node->banner);
    if (length > SY_DAEMON_SPEC_MAX) {
        free(bytes);
        node_lose(node,
                  "cannot be told what to start: the programs' arguments and environment take "
                  "more than 64 MiB");
        return;
    }
    node->state = SY_NODE_STARTING;
    sy_silence_begin(&node->silence, node->run->flags->silence, sy_clock());
    sy_node_progress(node);
    node->link.fault = node_link_fault;
    node->link.frame = node_link_frame;
    node->link.malformed = link_malformed;
    node->link.ended = link_ended;
    node->link.owner = node;
    sy_link_open(&node->link, node->run->loop, node->answer, node->question);
    node->answer = node->question = NOTHING;
    header.length = (uint32_t)length;
    sy_node_send(node, &header, bytes);
    free(bytes);
    node_call_more(node->run);
}

/* Takes a line that comes before the frames: the banner, or what a shell's start-up files say. */
static void node_line_complete(struct sy_node *node)
{
    struct sy_run *run = node->run;
    char *text = node->line, host[256];
    int version, order;

    text[node->line_length] = '\0';
    node->line_length = 0;
    if (strncmp(text, SY_AGENT_BANNER, strlen(SY_AGENT_BANNER)) != 0) {
        if (*text)
            sy_run_say(run, SY_SAY_MORE, "host %s says: %s", node->name, text);
        return;
    }
    if (sscanf(text + strlen(SY_AGENT_BANNER), "%d %d %255s", &version, &order, host) != 3) {
        node_lose(node, "has an oshrun whose banner is not understood; install the same release");
        return;
    }
    if (version != SY_LAUNCH_VERSION) {
        node_lose(
            node,
            "has an oshrun of another release; install the same one (its agents speak version %d "
            "of oshrun's protocol, this one %d)",
            version, SY_LAUNCH_VERSION);
        return;
    }
    if (order != sy_agent_byte_order()) {
        node_lose(node, "has another byte order; a job cannot mix the two");
        return;
    }
    sy_run_say(run, SY_SAY_MORE, "host %s answers, as %s, after %.2f s", node->name, host,
               ev_now(run->loop) - run->waiting.started);
    node_banner_complete(node);
}

/* Reads the banner byte by byte, because what follows it belongs to the link. */
static void node_banner_readable(struct ev_loop *loop, ev_io *io, int events)
{
    struct sy_node *node = io->data;
    char byte;
    ssize_t n;

    (void)events;
    for (int i = 0; node->answer >= 0 && (n = read(node->answer, &byte, 1)) != 0; i++) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        if (++node->said > BEFORE_BANNER_MAX) {
            node_lose(node,
                      "writes much, but not the banner of oshrun's agent; do start-up files of "
                      "its shell write to the standard output?");
            return;
        }
        if (byte == '\n')
            node_line_complete(node);
        else if (node->line_length < sizeof node->line - 1)
            node->line[node->line_length++] = byte;
        if (i >= BANNER_AT_ONCE)
            return;
    }
    /* The command's exit status reports its end. */
    if (node->answer >= 0)
        ev_io_stop(loop, io);
}

static void node_error_bytes(struct sy_pe_output *output, const char *bytes, size_t length)
{
    static const char TOO_MUCH[] = "\n(more than 1 MiB of errors; the rest is left out)\n";
    struct sy_node *node = output->owner;
    bool over = node->error_bytes > ERRORS_MAX;

    node->error_bytes += length;
    if (length && node->error_bytes > ERRORS_MAX) {
        if (!over)
            sy_forward_put(&node->error_lines, TOO_MUCH, strlen(TOO_MUCH));
        sy_pe_output_credit(output, length);
        return;
    }
    sy_forward_put(&node->error_lines, bytes, length);
}

static void node_error_room(struct sy_forward *stream, size_t bytes)
{
    struct sy_node *node = stream->owner;

    sy_pe_output_credit(&node->errors, bytes);
}

static void error_done(struct sy_forward *stream)
{
    stream->repeats->streams--;
}

/* For struct sy_forward: the label names the host that wrote the line. */
static ssize_t node_who_complains(const struct sy_forward *stream, const char *line, size_t length)
{
    (void)stream, (void)line, (void)length;
    return 0;
}

static void node_watch_errors(struct sy_node *node, int fd)
{
    struct sy_run *run = node->run;

    char *label = sy_memory_text("oshrun: host %s: ", node->name);
    node->error_lines.room = node_error_room;
    node->error_lines.done = error_done;
    node->error_lines.owner = node;
    node->error_lines.plain = true;
    node->error_lines.repeats = &run->host_repeats;
    node->error_lines.repeats->streams++;
    node->error_lines.sayer = "host";
    node->error_lines.who = node_who_complains;
    sy_forward_open(&node->error_lines, run->outputs.err_out_file, -2, label, false, false);
    node->errors.bytes = node_error_bytes;
    node->errors.owner = node;
    node->errors.stream = 2;
    sy_pe_output_open(&node->errors, run->loop, fd, SY_DAEMON_WINDOW);
}

static void node_call(struct sy_node *node)
{
    struct sy_run *run = node->run;
    struct sy_call_ends ends;
    int rc = sy_call_start(node->command, &run->plan->nofile, &ends);

    node->state = SY_NODE_CALLED;
    if (rc != 0) {
        node_lose(node, "cannot be reached: '%s' cannot be run: %s%s", node->command[0],
                  strerror(-rc), rc == -EMFILE ? " (see ulimit -Hn)" : "");
        return;
    }
    node->pid = ends.pid;
    node->question = ends.in;
    node->answer = ends.out;
    node_watch_errors(node, ends.err);
    ev_io_init(&node->banner, node_banner_readable, node->answer, EV_READ);
    node->banner.data = node;
    ev_io_start(run->loop, &node->banner);
}

static void node_call_more(struct sy_run *run)
{
    int running = 0;

    for (int i = 0; i < run->nodes; i++)
        running += run->node[i].state == SY_NODE_CALLED;
    for (int i = 0; i < run->nodes && running < CALLS_AT_ONCE && !run->ending.begun; i++) {
        if (run->node[i].state != SY_NODE_WAITS)
            continue;
        node_call(&run->node[i]);
        running++;
    }
}

static void node_command_ended(struct sy_node *node, int wait_status)
{
    bool signalled = WIFSIGNALED(wait_status);
    int number = signalled ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);

    node->pid = 0;
    sy_pe_output_drain(&node->errors);
    /* The command's last output explains more than its status. */
    if (node->state == SY_NODE_CALLED)
        node_banner_readable(node->run->loop, &node->banner, EV_READ);
    if (node->state == SY_NODE_CALLED)
        node_lose(node, "cannot be reached: '%s' ended with %s %d before oshrun's agent was there",
                  node->command[0], signalled ? "signal" : "status", number);
    else if (node_has_agent(node))
        sy_link_drain(&node->link);
    node->run->hosts.quiet(node->run);
}

static void node_reap_stranger(void *arg, pid_t pid, int wait_status)
{
    struct sy_run *run = arg;

    for (int i = 0; i < run->nodes; i++) {
        if (run->node[i].pid == pid && pid > 0) {
            node_command_ended(&run->node[i], wait_status);
            return;
        }
    }
}

void sy_nodes_reap(struct sy_run *run)
{
    int wait_status;
    pid_t pid;

    if (run->node[0].local) {
        sy_daemon_reap(&run->node[0].daemon, node_reap_stranger, run);
        return;
    }
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        node_reap_stranger(run, pid, wait_status);
}

/* ---- time limits ---- */

/* A host that starts its PEs may take as long for each as all hosts may take to answer. */
static void node_spawn_limit(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;
    double patience = run->flags->spawn_timeout, now = sy_clock(), soonest = patience;
    bool waits = false;

    (void)events;
    if (sy_node_looks_again(loop, timer))
        return;
    for (int i = 0; i < run->nodes; i++) {
        struct sy_node *node = &run->node[i];
        double left = node->progressed + patience - now;

        if (node->state == SY_NODE_WAITS || node->state == SY_NODE_CALLED)
            node_lose(node,
                      "has not answered within %g seconds (--spawn-timeout); is it up, and does a "
                      "command such as 'ssh %s true' end at once, without a question?",
                      patience, node->name);
        else if (node->state == SY_NODE_STARTING && left <= 0)
            node_lose(node,
                      "has answered, but no PE has been started for %g seconds (--spawn-timeout)",
                      patience);
        else if (node->state == SY_NODE_STARTING && !node->local) {
            waits = true;
            soonest = left < soonest ? left : soonest;
        }
    }
    if (!waits || run->ending.begun)
        return;
    ev_timer_set(timer, soonest, 0.);
    ev_timer_start(loop, timer);
}

static void node_listen_to(struct sy_node *node, double now)
{
    struct sy_run *run = node->run;
    bool heard = node->link.in.received != node->heard || sy_link_waiting(&node->link);
    /* An agent that starts PEs may be blocked by a slow file system meanwhile. */
    double limit = run->flags->silence +
                   (node->state == SY_NODE_STARTING ? run->flags->spawn_timeout : 0);

    node->heard = node->link.in.received;
    if (sy_silence_look(&node->silence, now, heard,
                        sy_silence_carriers(heard ? 0 : node->pid, true)) >= limit)
        node_lose(node, "is lost: nothing was heard of it for %g seconds", limit);
}

static void node_heartbeat(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;
    double now = sy_clock();

    (void)loop, (void)events;
    for (int i = 0; i < run->nodes; i++) {
        if (!run->node[i].local && node_has_agent(&run->node[i]))
            node_listen_to(&run->node[i], now);
    }
    /* Behind the looks: it makes all carriers ready to run, and while one is nothing counts. */
    sy_nodes_send(run, SY_DAEMON_PING, 0);
}

/* Whether the node's output waits here for a slow reader: then the node has to wait too. */
static bool node_is_held_up(const struct sy_node *node)
{
    const struct sy_run *run = node->run;

    for (int pe = 0; pe < run->npes; pe++) {
        if (run->pes[pe].node == node && (run->pes[pe].out.unacked || run->pes[pe].err.unacked))
            return true;
    }
    return false;
}

/* Looks after a node whose PEs are gone and whose agent was told to finish. */
static void node_hurry(struct sy_node *node)
{
    bool heard = node->output != node->finish.output;

    node->finish.output = node->output;
    if (node_is_held_up(node))
        return;
    node->finish.quiet = heard ? 0 : node->finish.quiet + LAST;
    node->finish.spent += LAST;
    if (node->finish.quiet >= FINISH_QUIET || node->finish.spent >= FINISH_ALL)
        node_lose(node, "does not finish, though all PEs are gone");
}

static void node_last_commands(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;
    bool more = false;

    (void)events;
    for (int i = 0; i < run->nodes; i++) {
        struct sy_node *node = &run->node[i];

        if (node->state < SY_NODE_FINISHED && run->all_gone)
            node_hurry(node);
        if (node->state >= SY_NODE_FINISHED)
            kill_command(node, SIGKILL);
        more = more || node->state < SY_NODE_FINISHED;
    }
    if (!more)
        ev_timer_stop(loop, timer);
}

static void node_start_timers(struct sy_run *run)
{
    double beat = run->flags->silence / SY_SILENCE_BEATS;

    ev_timer_init(&run->spawn_limit, node_spawn_limit, run->flags->spawn_timeout, 0.);
    ev_timer_init(&run->heartbeat, node_heartbeat, beat, beat);
    run->spawn_limit.data = run->heartbeat.data = run;
    if (run->flags->spawn_timeout > 0)
        ev_timer_start(run->loop, &run->spawn_limit);
    if (beat > 0)
        ev_timer_start(run->loop, &run->heartbeat);
}

/* ---- all of them ---- */

void sy_nodes_start(struct sy_run *run)
{
    ev_timer_init(&run->last_commands, node_last_commands, 0., LAST);
    run->last_commands.data = run;
    for (int i = 0; i < run->nodes; i++) {
        struct sy_node *node = &run->node[i];

        node->link.fd = node->errors.fd = node->answer = node->question = NOTHING;
    }
    if (run->node[0].local) {
        struct sy_node *node = &run->node[0];

        node->state = SY_NODE_STARTING;
        node->daemon.plan = *run->plan;
        node->daemon.tell = node_daemon_tells;
        node->daemon.owner = node;
        sy_daemon_start(&node->daemon, run->loop, &node->spec);
        return;
    }
    node_start_timers(run);
    node_call_more(run);
}

void sy_nodes_end(struct sy_run *run)
{
    for (int i = 0; i < run->nodes; i++) {
        struct sy_node *node = &run->node[i];

        if (node->state == SY_NODE_WAITS || node->state == SY_NODE_CALLED)
            node_give_up(node, NULL);
    }
}

void sy_nodes_pause(struct sy_run *run)
{
    sy_nodes_send(run, SY_DAEMON_PAUSE, 0);
    for (int i = 0; i < run->nodes; i++) {
        if (!run->node[i].local)
            sy_link_flush(&run->node[i].link, 500);
    }
}

void sy_nodes_resume(struct sy_run *run)
{
    double now = sy_clock();

    for (int i = 0; i < run->nodes; i++) {
        sy_silence_begin(&run->node[i].silence, run->flags->silence, now);
        run->node[i].progressed = now;
    }
}

char *sy_nodes_text(const struct sy_run *run, bool (*wanted)(const struct sy_node *node))
{
    enum { SHOWN = 8 };
    char *text = NULL;
    size_t length = 0;
    FILE *out = sy_memory_stream(&text, &length);
    int count = 0;

    for (int i = 0; i < run->nodes; i++) {
        if (wanted(&run->node[i]) && ++count <= SHOWN)
            fprintf(out, "%s%s", count > 1 ? ", " : "", run->node[i].name);
    }
    if (count > SHOWN)
        fprintf(out, " and %d more", count - SHOWN);
    sy_memory_stream_end(out);
    char *named = count ? sy_memory_text("host%s %s", count > 1 ? "s" : "", text) : NULL;
    free(text);
    return named;
}

bool sy_nodes_are_up(const struct sy_run *run)
{
    for (int i = 0; i < run->nodes; i++) {
        if (run->node[i].state < SY_NODE_UP)
            return false;
    }
    return true;
}

bool sy_nodes_are_done(const struct sy_run *run)
{
    for (int i = 0; i < run->nodes; i++) {
        if (run->node[i].state < SY_NODE_FINISHED || run->node[i].pid > 0)
            return false;
    }
    return true;
}

void sy_nodes_close(struct sy_run *run)
{
    for (int i = 0; i < run->nodes; i++) {
        struct sy_node *node = &run->node[i];

        if (node->local)
            sy_daemon_close(&node->daemon);
        sy_link_close(&node->link);
        node_stop_banner(node);
        sy_pe_output_close(&node->errors);
        sy_forward_close(&node->error_lines);
        kill_command(node, SIGKILL);
        sy_memory_free_list(node->command);
        free(node->spec.pe);
        free(node->spec.host);
    }
}

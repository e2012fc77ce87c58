/* A daemon with a head elsewhere: see agent.h. */
#include "bootstrap/launcher/daemon/agent.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/daemon.h"
#include "bootstrap/launcher/silence.h"
#include "bootstrap/launcher/spawn.h"
#include "bootstrap/launcher/spec.h"
#include "util/clock.h"

enum {
    ABOVE = 10,     /* descriptors of the conversation: low numbers are for PEs */
    SIGNALS = 4,    /* that end the agent */
    FLUSH_MS = 5000 /* for the last words */
};

static const double GRACE = 0.5; /* seconds from SIGTERM to SIGKILL when the head is lost */

static struct {
    struct ev_loop *loop;
    struct sy_link link;
    struct sy_daemon daemon;
    struct sy_spec spec;
    bool started;
    bool leaving; /* the head is lost, or a signal came */
    bool paused;  /* the head is stopped and says nothing */
    bool killed;
    size_t heard; /* of the link's bytes, at the last look */
    struct sy_silence quiet;
    ev_timer silence, grace;
    ev_signal child, end[SIGNALS];
} agent;

int sy_agent_byte_order(void)
{
    const int one = 1;

    return *(const char *)&one;
}

static void agent_check_left(void)
{
    if (!agent.started || !agent.daemon.living)
        ev_break(agent.loop, EVBREAK_ALL);
}

static void agent_leave(void)
{
    if (agent.leaving)
        return;
    agent.leaving = true;
    if (agent.started) {
        sy_daemon_signal(&agent.daemon, SIGTERM);
        sy_daemon_signal(&agent.daemon, SIGCONT);
        ev_timer_start(agent.loop, &agent.grace);
    }
    agent_check_left();
}

static void agent_grace_over(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)events;
    if (agent.killed) {
        ev_break(loop, EVBREAK_ALL);
        return;
    }
    agent.killed = true;
    sy_daemon_signal(&agent.daemon, SIGKILL);
    ev_timer_again(loop, timer);
}

static void agent_daemon_tells(struct sy_daemon *daemon, const struct sy_frame *header,
                               const void *body)
{
    (void)daemon;
    sy_link_send_frame(&agent.link, header, body);
    if (header->type == SY_DAEMON_FINISHED) {
        sy_link_flush(&agent.link, FLUSH_MS);
        ev_break(agent.loop, EVBREAK_ALL);
    }
}

static void agent_reap(struct ev_loop *loop, ev_signal *watcher, int events)
{
    (void)loop, (void)watcher, (void)events;
    if (!agent.started)
        return;
    sy_daemon_reap(&agent.daemon, NULL, NULL);
    if (agent.leaving)
        agent_check_left();
}

/* Nothing has been heard of oshrun for too long: tells it and ends. If oshrun was only stopped, it
 * reads this when it continues. */
static void agent_leave_silent(void)
{
    char text[160];
    int n = snprintf(text, sizeof text,
                     "nothing was heard of oshrun for %g seconds (was it stopped?), so its PEs "
                     "were ended",
                     agent.spec.silence);

    if (!agent.leaving)
        sy_daemon_tell(&agent.daemon, SY_DAEMON_TROUBLE, SY_ALL, 1, text, (size_t)n);
    agent_leave();
}

/* Looks how long oshrun has been silent. The parent of this process carries the conversation: a
 * server of ssh, as a rule. */
static void agent_look_for_silence(struct ev_loop *loop, ev_timer *timer, int events)
{
    bool heard = agent.paused || agent.link.in.received != agent.heard ||
                 sy_link_waiting(&agent.link);
    struct sy_carriers carriers = sy_silence_carriers(heard ? 0 : getppid(), false);

    (void)loop, (void)timer, (void)events;
    agent.heard = agent.link.in.received;
    if (sy_silence_look(&agent.quiet, sy_clock(), heard, carriers) >= agent.spec.silence)
        agent_leave_silent();
}

static void agent_start(const struct sy_frame *header, const char *body)
{
    if (agent.started || !sy_spec_unpack(&agent.spec, body, header->length)) {
        agent_leave();
        return;
    }
    agent.started = true;
    sy_daemon_start(&agent.daemon, agent.loop, &agent.spec);
    if (agent.spec.silence > 0) {
        sy_silence_begin(&agent.quiet, agent.spec.silence, sy_clock());
        ev_timer_init(&agent.silence, agent_look_for_silence, agent.quiet.beat, agent.quiet.beat);
        ev_now_update(agent.loop);
        ev_timer_start(agent.loop, &agent.silence);
    }
}

static void agent_frame(struct sy_link *link, const struct sy_frame *header, const char *body)
{
    (void)link;
    agent.paused = header->type == SY_DAEMON_PAUSE;
    if (header->type == SY_DAEMON_START)
        agent_start(header, body);
    else if (agent.started && !agent.leaving)
        sy_daemon_take(&agent.daemon, header, body);
}

static const char *agent_fault(const struct sy_link *link, const struct sy_frame *header)
{
    const char *what = sy_frame_fault(header, SY_FRAME_AT_AGENT,
                                      agent.started ? SY_FRAME_RUNNING : SY_FRAME_NEW);

    (void)link;
    if (!what && agent.started && header->pe >= agent.spec.npes)
        what = "a frame about a PE that the job does not have";
    return what;
}

static void agent_malformed(struct sy_link *link, const char *what)
{
    (void)link;
    fprintf(stderr, "oshrun's agent was sent %s; it ends its PEs\n", what);
    agent_leave();
}

static void agent_ended(struct sy_link *link)
{
    (void)link;
    agent_leave();
}

static void agent_end_signal(struct ev_loop *loop, ev_signal *watcher, int events)
{
    char text[80];
    int n = snprintf(text, sizeof text, "the agent got signal %d (%s)", watcher->signum,
                     strsignal(watcher->signum));

    (void)loop, (void)events;
    sy_daemon_tell(&agent.daemon, SY_DAEMON_TROUBLE, SY_ALL, 128 + watcher->signum, text,
                   (size_t)n);
    agent_leave();
}

/* Takes stdin and stdout for the conversation. Output of other code to stdout must not get between
 * the frames, so it goes to stderr. */
static void agent_open_conversation(void)
{
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, ABOVE);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, ABOVE);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char banner[400], host[256] = "?";
    int n;

    dup2(null, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    if (null > STDERR_FILENO)
        close(null);
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '?';
    n = snprintf(banner, sizeof banner, "\n%s%d %d %s\n", SY_AGENT_BANNER, SY_LAUNCH_VERSION,
                 sy_agent_byte_order(), host);
    if (in < 0 || out < 0 || write(out, banner, (size_t)n) != n)
        _exit(1);
    agent.link.fault = agent_fault;
    agent.link.frame = agent_frame;
    agent.link.malformed = agent_malformed;
    agent.link.ended = agent_ended;
    sy_link_open(&agent.link, agent.loop, in, out);
}

static void agent_watch_signals(void)
{
    static const int ENDING[SIGNALS] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

    signal(SIGPIPE, SIG_IGN);
    ev_signal_init(&agent.child, agent_reap, SIGCHLD);
    ev_signal_start(agent.loop, &agent.child);
    for (int i = 0; i < SIGNALS; i++) {
        ev_signal_init(&agent.end[i], agent_end_signal, ENDING[i]);
        ev_signal_start(agent.loop, &agent.end[i]);
    }
}

static void agent_ignore_signals(void)
{
    ev_signal_stop(agent.loop, &agent.child);
    for (int i = 0; i < SIGNALS; i++)
        ev_signal_stop(agent.loop, &agent.end[i]);
}

int sy_agent_run(const struct sy_child_plan *plan)
{
    if (!sy_spawn_can_watch())
        return 1;
    memset(&agent, 0, sizeof agent);
    agent.loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (!agent.loop) {
        fprintf(stderr, "oshrun: cannot make an event loop: %m\n");
        return 1;
    }
    prctl(PR_SET_NAME, "oshrun-agent");
    agent.daemon.plan = *plan;
    agent.daemon.loop = agent.loop;
    agent.daemon.tell = agent_daemon_tells;
    ev_timer_init(&agent.grace, agent_grace_over, GRACE, GRACE);
    agent_watch_signals();
    agent_open_conversation();
    ev_run(agent.loop, 0);
    agent_ignore_signals();
    sy_daemon_close(&agent.daemon);
    sy_link_flush(&agent.link, FLUSH_MS);
    sy_link_close(&agent.link);
    sy_spec_free(&agent.spec);
    ev_loop_destroy(agent.loop);
    return 0;
}

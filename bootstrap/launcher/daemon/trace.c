/* Stack traces: see daemon.h. A debugger may take long for a large program, so each has a time
 * limit and only a few run at once. Where no debugger can run (no gdb, or a kernel that does not
 * permit it) the kernel's view of the process takes its place. */
#include "bootstrap/launcher/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/options/program.h"
#include "bootstrap/launcher/spawn.h"
#include "util/file.h"
#include "util/proc.h"

enum {
    AT_ONCE = 4,
    MOST = SY_DAEMON_TRACE_MAX /* bytes of one trace */
};

static const double PATIENCE = 10; /* seconds for one debugger */

struct look {
    struct sy_daemon *daemon;
    const struct sy_local_pe *local;
    pid_t debugger;
    bool late;
    int fd;
    ev_io io;
    ev_timer limit;
    char *text;
    size_t length;
};

static struct {
    char *gdb; /* its path, or NULL */
    int running;
} tracing;

static void trace_look_at_next(struct sy_daemon *daemon);

static void trace_add_line(FILE *out, const char *label, pid_t pid, const char *file)
{
    char text[SY_PROC_TEXT];

    if (*sy_proc_of(pid, file, text) && *text != '0')
        fprintf(out, "%s %.*s\n", label, (int)strcspn(text, "\n"), text);
}

/* The kernel's view of a process. */
static void trace_tell_state(struct sy_daemon *daemon, const struct sy_local_pe *local,
                             const char *why)
{
    char *text = NULL, stat[SY_PROC_TEXT];
    size_t length = 0;
    FILE *out = sy_memory_stream(&text, &length);

    fprintf(out, "no stack: %s; the process is in state %c\n", why,
            sy_proc_state(sy_proc_of(local->pid, "stat", stat)));
    trace_add_line(out, "waits in the kernel's", local->pid, "wchan");
    trace_add_line(out, "system call", local->pid, "syscall");
    sy_memory_stream_end(out);
    sy_daemon_tell(daemon, SY_DAEMON_TRACED, local->pe, 0, text, length);
    free(text);
}

/* Keeps the lines of threads and frames. */
static size_t trace_keep_frames(char *text, size_t length)
{
    size_t kept = 0;
    bool any = false;

    for (size_t at = 0; at < length;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t line = newline ? (size_t)(newline - text) + 1 - at : length - at;
        bool frame = text[at] == '#';

        if (frame || strncmp(text + at, "Thread ", line < 7 ? line : 7) == 0) {
            memmove(text + kept, text + at, line);
            kept += line;
        }
        any = any || frame;
        at += line;
    }
    return any ? kept : 0;
}

static void trace_look_is_over(struct look *look)
{
    struct sy_daemon *daemon = look->daemon;
    const char *newline = look->length ? memchr(look->text, '\n', look->length) : NULL;
    size_t first = newline ? (size_t)(newline - look->text) : look->length;
    char why[200];

    ev_io_stop(daemon->loop, &look->io);
    ev_timer_stop(daemon->loop, &look->limit);
    close(look->fd);
    if (look->late)
        snprintf(why, sizeof why, "gdb took more than %g seconds", PATIENCE);
    else
        snprintf(why, sizeof why, "gdb says: %.*s", (int)(first < 160 ? first : 160),
                 look->text ? look->text : "");
    look->length = trace_keep_frames(look->text, look->length);
    if (look->length)
        sy_daemon_tell(daemon, SY_DAEMON_TRACED, look->local->pe, 0, look->text, look->length);
    else
        trace_tell_state(daemon, look->local, why);
    free(look->text);
    free(look);
    tracing.running--;
    trace_look_at_next(daemon);
}

static void trace_readable(struct ev_loop *loop, ev_io *io, int events)
{
    struct look *look = io->data;
    char buffer[16384];
    ssize_t n = read(look->fd, buffer, sizeof buffer);

    (void)loop, (void)events;
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        trace_look_is_over(look);
        return;
    }
    size_t kept = MOST - look->length < (size_t)n ? MOST - look->length : (size_t)n;
    look->text = sy_memory_resize(look->text, look->length + kept);
    memcpy(look->text + look->length, buffer, kept);
    look->length += kept;
}

static void trace_too_long(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct look *look = timer->data;

    (void)loop, (void)events;
    look->late = true;
    kill(look->debugger, SIGKILL);
}

static pid_t trace_run_debugger(pid_t target, int out)
{
    char number[16];
    const char *argv[] = {"gdb",
                          "-nx",
                          "-batch",
                          "-iex",
                          "set debuginfod enabled off",
                          "-p",
                          number,
                          "-ex",
                          "thread apply all bt",
                          NULL};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    snprintf(number, sizeof number, "%d", (int)target);
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(null, 0);
        dup2(out, 1);
        dup2(out, 2);
        sy_spawn_reset_signals();
        execv(tracing.gdb, (char *const *)argv);
        _exit(127);
    }
    sy_file_close(&null);
    return pid;
}

static bool trace_look_at(struct sy_daemon *daemon, const struct sy_local_pe *local)
{
    struct look *look;
    int ends[2];
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    pid = trace_run_debugger(local->pid, ends[1]);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    look = sy_memory_zeroed(1, sizeof *look);
    look->daemon = daemon;
    look->local = local;
    look->debugger = pid;
    look->fd = ends[0];
    ev_io_init(&look->io, trace_readable, ends[0], EV_READ);
    ev_timer_init(&look->limit, trace_too_long, PATIENCE, 0.);
    look->io.data = look->limit.data = look;
    ev_io_start(daemon->loop, &look->io);
    ev_timer_start(daemon->loop, &look->limit);
    tracing.running++;
    return true;
}

static void trace_look_at_next(struct sy_daemon *daemon)
{
    for (int i = 0; i < daemon->started && tracing.running < AT_ONCE; i++) {
        struct sy_local_pe *local = &daemon->local[i];

        if (!local->trace_due)
            continue;
        local->trace_due = false;
        if (!local->alive)
            continue;
        if (!tracing.gdb)
            trace_tell_state(daemon, local, "there is no gdb here");
        else if (!trace_look_at(daemon, local))
            trace_tell_state(daemon, local, "gdb could not be started");
    }
}

void sy_trace_start(struct sy_local_pe *local)
{
    if (!tracing.gdb)
        tracing.gdb = sy_program_find("gdb", NULL, NULL);
    local->trace_due = true;
    trace_look_at_next(local->daemon);
}

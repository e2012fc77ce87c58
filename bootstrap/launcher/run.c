/* A job from start to end: see run.h. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/launcher/environ.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/program.h"

enum {
    DESCRIPTORS_PER_PE = 3,    /* its socket and the pipes of its output */
    DESCRIPTORS_OF_OSHRUN = 24 /* and what a PE needs besides while it is started */
};

static const double DRAIN = 1.0; /* seconds for processes that PEs left behind with their output */

void sy_run_say(struct sy_run *run, enum sy_say kind, const char *fmt, ...)
{
    char line[1024] = "oshrun: ";
    size_t length = strlen(line);
    va_list args;
    int n;

    if ((kind == SY_SAY_ENDING && run->flags->quiet) ||
        (kind == SY_SAY_MORE && !run->flags->verbose))
        return;
    va_start(args, fmt);
    n = vsnprintf(line + length, sizeof line - length - 1, fmt, args);
    va_end(args);
    length += n < 0 ? 0 : (size_t)n;
    if (length > sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    sy_sink_say(run->err_sink, line, length);
}

void sy_run_check_done(struct sy_run *run)
{
    if (!run->living && !run->streams && sy_sink_empty(&run->out) && sy_sink_empty(&run->err))
        ev_break(run->loop, EVBREAK_ALL);
}

static void stream_done(struct sy_stream *stream)
{
    struct sy_run *run = stream->owner;

    run->streams--;
    sy_run_check_done(run);
}

static void sink_emptied(struct sy_sink *sink)
{
    sy_run_check_done(sink->owner);
}

/* Nobody reads what the PEs write: end as any program does whose reader is gone. */
static void sink_broken(struct sy_sink *sink, int error)
{
    struct sy_run *run = sink->owner;

    if (error != EPIPE)
        sy_run_say(run, SY_SAY_ALWAYS, "cannot write to %s: %s%s",
                   sink == &run->out ? "stdout" : "stderr", strerror(error),
                   sy_ending_rest(run, false));
    sy_ending_begin(run, error == EPIPE ? 128 + SIGPIPE : 1, SY_GRACE_FAILED);
}

static void open_sinks(struct sy_run *run)
{
    struct stat out, err;

    run->out.broken = run->err.broken = sink_broken;
    run->out.emptied = run->err.emptied = sink_emptied;
    run->out.owner = run->err.owner = run;
    sy_sink_open(&run->out, run->loop, STDOUT_FILENO);
    sy_sink_open(&run->err, run->loop, STDERR_FILENO);
    /* With 2>&1 the lines of both go through one sink, or they would mix in the file. */
    run->err_sink = &run->err;
    if (fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
        out.st_dev == err.st_dev && out.st_ino == err.st_ino)
        run->err_sink = &run->out;
}

static const char *exec_hint(int error)
{
    switch (error) {
    case ENOENT:
        return " (the file is there, its interpreter or loader is not)";
    case ENOEXEC:
        return " (not a program for this machine, or a script without a #! line)";
    default:
        return "";
    }
}

void sy_run_read_failures(struct sy_run *run)
{
    struct sy_child_failure failure;
    ssize_t n;

    while (run->failures.fd >= 0) {
        n = read(run->failures.fd, &failure, sizeof failure);
        if (n < 0 && errno != EINTR)
            return;
        if (n == 0) {
            ev_io_stop(run->loop, &run->failures);
            close(run->failures.fd);
            run->failures.fd = -1;
        } else if (n == sizeof failure && !run->ending.begun) {
            sy_run_say(run, SY_SAY_ALWAYS, "cannot run '%s': %s%s", run->flags->program[0],
                       strerror(failure.error), exec_hint(failure.error));
            sy_ending_begin(run, sy_program_status(failure.error), SY_GRACE_FAILED);
        }
    }
}

static void failures_readable(struct ev_loop *loop, ev_io *io, int events)
{
    (void)loop;
    (void)events;
    sy_run_read_failures(io->data);
}

static void open_stream(struct sy_pe *pe, struct sy_stream *stream, int fd, struct sy_sink *sink)
{
    struct sy_run *run = pe->run;

    stream->owner = run;
    stream->done = stream_done;
    run->streams++;
    sy_stream_open(stream, run->loop, fd, sink, pe->number, run->flags->label,
                   run->npes == 1 && !run->flags->label);
}

static int start_pe(struct sy_run *run, int number)
{
    struct sy_pe *pe = &run->pes[number];
    struct sy_child child;
    int rc = sy_child_start(&run->plan, number, number == 0, &child);

    if (rc != 0)
        return rc;
    pe->pid = child.pid;
    pe->alive = true;
    run->started++;
    run->living++;
    sy_guard_add(&run->guard, number, child.pid);
    sy_talk_open(pe, child.link);
    open_stream(pe, &pe->out, child.out, &run->out);
    open_stream(pe, &pe->err, child.err, run->err_sink);
    if (child.in >= 0)
        sy_feed_open(&run->feed, run->loop, child.in);
    return 0;
}

static const char *start_hint(int rc)
{
    if (rc == -EAGAIN)
        return " (the limit of processes is reached: ulimit -u, or that of a container)";
    if (rc == -EMFILE)
        return " (see ulimit -Hn)";
    return "";
}

static void missing_export(const char *name, void *arg)
{
    sy_run_say(arg, SY_SAY_ENDING, "-x %s: not set here, so the PEs do not get it", name);
}

/* Starts all PEs. Each finds its own number in a variable that is written just before the fork. */
static void start_all(struct sy_run *run)
{
    struct sy_environ env = {0};
    char number[16];
    int failures[2];
    sigset_t all, before;

    if (pipe2(failures, O_CLOEXEC | O_NONBLOCK) != 0) {
        sy_run_say(run, SY_SAY_ALWAYS, "cannot make a pipe: %s", strerror(errno));
        sy_ending_begin(run, 1, 0);
        return;
    }
    sy_environ_build(&env, run->flags, run->plan.boot_fd, missing_export, run);
    run->plan.failure_fd = failures[1];
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    for (int pe = 0; pe < run->npes; pe++) {
        int rc;

        snprintf(number, sizeof number, "%d", pe);
        sy_environ_set(&env, "SHMEM_BOOT_PE", number);
        run->plan.envp = env.list;
        rc = start_pe(run, pe);
        if (rc != 0) {
            sy_run_say(run, SY_SAY_ALWAYS, "cannot start PE %d of %d: %s%s%s", pe, run->npes,
                       strerror(-rc), start_hint(rc), sy_ending_rest(run, false));
            sy_ending_begin(run, 1, SY_GRACE_FAILED);
            break;
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    close(failures[1]);
    ev_io_init(&run->failures, failures_readable, failures[0], EV_READ);
    run->failures.data = run;
    ev_io_start(run->loop, &run->failures);
    sy_environ_free(&env);
}

static void limit_reached(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)loop;
    (void)events;
    if (run->ending.begun)
        return;
    sy_run_say(run, SY_SAY_ENDING, "the job did not end within %g seconds (--timeout)%s",
               run->flags->timeout, sy_ending_rest(run, false));
    sy_ending_begin(run, 124, SY_GRACE_ASKED);
}

/* What still holds the pipes is no PE: take what is there, and end. */
static void drain_over(struct ev_loop *loop, ev_timer *timer, int events)
{
    struct sy_run *run = timer->data;

    (void)loop;
    (void)events;
    sy_guard_end(&run->guard);
    for (int pe = 0; pe < run->started; pe++) {
        sy_stream_finish(&run->pes[pe].out);
        sy_stream_finish(&run->pes[pe].err);
    }
    sy_run_check_done(run);
}

void sy_run_all_gone(struct sy_run *run)
{
    ev_timer_stop(run->loop, &run->limit);
    ev_timer_stop(run->loop, &run->gather_limit);
    ev_timer_stop(run->loop, &run->ending.timer);
    sy_feed_close(&run->feed);
    if (run->abort.pending)
        sy_ending_begin(run, run->abort.status, 0);
    if (run->ending.begun)
        sy_guard_end(&run->guard);
    ev_timer_start(run->loop, &run->drain);
    sy_run_check_done(run);
}

/* Refused before anything is started, rather than in the middle. */
static bool enough_descriptors(int npes)
{
    const rlim_t needed = (rlim_t)npes * DESCRIPTORS_PER_PE + DESCRIPTORS_OF_OSHRUN;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return true;
    fprintf(
        stderr,
        "oshrun: %d PEs on one host need %llu descriptors, and the limit is %llu (ulimit -Hn)\n",
        npes, (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
    return false;
}

static int init_run(struct sy_run *run, const struct sy_flags *flags,
                    const struct sy_child_plan *plan)
{
    unsigned long long id;
    int rc;

    if (!enough_descriptors(flags->npes))
        return -1;
    run->flags = flags;
    run->plan = *plan;
    run->npes = flags->npes;
    run->failures.fd = -1;
    run->feed.out = -1;
    run->pes = sy_memory_zeroed((size_t)run->npes, sizeof *run->pes);
    for (int pe = 0; pe < run->npes; pe++) {
        run->pes[pe].run = run;
        run->pes[pe].number = pe;
        run->pes[pe].link.fd = run->pes[pe].out.fd = run->pes[pe].err.fd = -1;
    }
    if (gethostname(run->host, sizeof run->host - 1) != 0)
        strcpy(run->host, "localhost");
    if (getrandom(run->key, sizeof run->key, 0) != sizeof run->key ||
        getrandom(&id, sizeof id, 0) != sizeof id) {
        fprintf(stderr, "oshrun: cannot get random numbers for the job's key: %m\n");
        return -1;
    }
    snprintf(run->id, sizeof run->id, "%016llx", id);
    rc = sy_guard_start(&run->guard, run->npes);
    if (rc != 0) {
        fprintf(stderr, "oshrun: cannot start a process: %s%s\n", strerror(-rc), start_hint(rc));
        return -1;
    }
    return 0;
}

static void init_timers(struct sy_run *run)
{
    ev_timer_init(&run->limit, limit_reached, run->flags->timeout, 0.);
    ev_timer_init(&run->drain, drain_over, DRAIN, 0.);
    run->limit.data = run->drain.data = run;
    if (run->flags->timeout > 0)
        ev_timer_start(run->loop, &run->limit);
}

static void close_run(struct sy_run *run)
{
    sy_guard_end(&run->guard);
    for (int pe = 0; pe < run->npes; pe++)
        sy_link_close(&run->pes[pe].link);
    sy_gather_free(&run->gather);
    sy_sink_close(&run->out);
    sy_sink_close(&run->err);
    ev_loop_destroy(run->loop);
    free(run->pes);
}

int sy_run_job(const struct sy_flags *flags, struct sy_child_plan *plan)
{
    static struct sy_run run; /* zeroed, and too large for a stack */

    if (init_run(&run, flags, plan) != 0)
        return 1;
    run.loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (!run.loop) {
        fprintf(stderr, "oshrun: cannot make an event loop: %m\n");
        return 1;
    }
    open_sinks(&run);
    sy_talk_init(&run);
    sy_ending_init(&run);
    sy_signals_start(&run);
    sy_run_say(&run, SY_SAY_MORE, "job %s: %d PEs of %s on host %s", run.id, run.npes, plan->path,
               run.host);
    start_all(&run);
    ev_now_update(run.loop);
    init_timers(&run);
    if (run.living)
        ev_run(run.loop, 0);
    close_run(&run);
    return run.status;
}

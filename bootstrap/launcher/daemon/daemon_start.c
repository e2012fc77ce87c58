/* Starts the PEs of one host: see daemon.h. Everything that can be checked is checked before the
 * first PE starts: a wrong name gives one line, not one for each PE. */
#include "bootstrap/launcher/daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "bootstrap/launcher/daemon/bind.h"
#include "bootstrap/launcher/options/environ.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/options/program.h"
#include "util/denied.h"
#include "util/file.h"
#include "util/signals.h"

enum {
    DESCRIPTORS_PER_PE = 3,    /* its socket and the pipes of its output */
    DESCRIPTORS_OF_OSHRUN = 24 /* and what a PE needs besides while it is started */
};

/* Tells the launcher what the user will read. Returns false. */
__attribute__((format(printf, 5, 6))) static bool
daemon_start_tell(struct sy_daemon *daemon, unsigned type, int pe, int number, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    char *text = sy_memory_vtext(fmt, args);
    va_end(args);
    sy_daemon_tell(daemon, type, pe, number, text, strnlen(text, SY_LAUNCH_TEXT_MAX));
    free(text);
    return false;
}

static const char *daemon_start_hint(int rc)
{
    return rc == -EAGAIN ? " (the limit of processes is reached: ulimit -u, or that of a container)"
           : rc == -EMFILE ? " (see ulimit -Hn)"
                           : sy_denied_hint(rc);
}

static const char *daemon_start_exec_hint(int error)
{
    return error == ENOENT    ? " (the file is there, its interpreter or loader is not)"
           : error == ENOEXEC ? " (not a program for this machine, or a script without a #! line)"
                              : "";
}

/* Whether there are enough descriptors: refused before anything starts, rather than halfway. */
static bool daemon_start_enough_descriptors(struct sy_daemon *daemon)
{
    const rlim_t needed = (rlim_t)daemon->count * DESCRIPTORS_PER_PE + DESCRIPTORS_OF_OSHRUN;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed)
        return true;
    return daemon_start_tell(
        daemon, SY_DAEMON_TROUBLE, SY_ALL, 1,
        "%d PEs on one host need %llu descriptors, and the limit is %llu; raise it (ulimit -Hn)",
        daemon->count, (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
}

/* The file to execute, relative to the directory that the program will run in. */
static char *daemon_start_find_file(struct sy_daemon *daemon, const struct sy_spec_program *program)
{
    char *found, *why;
    int status;

    if (chdir(program->directory) != 0) {
        daemon_start_tell(daemon, SY_DAEMON_TROUBLE, SY_ALL, 2,
                          "cannot go to the working directory '%s': %s", program->directory,
                          strerror(errno));
        return NULL;
    }
    if (program->path && access(program->path, X_OK) == 0)
        return sy_memory_string(program->path);
    found = sy_program_find(program->argv[0], &status, &why);
    if (!found) {
        daemon_start_tell(daemon, SY_DAEMON_TROUBLE, SY_ALL, status, "cannot run '%s': %s",
                          program->argv[0], why);
        free(why);
    }
    return found;
}

/* What is prepared once for each program of the job: its file and environment. */
struct ready {
    char *file;
    struct sy_environ env;
};

static bool daemon_start_make_ready(struct sy_daemon *daemon, struct ready *ready)
{
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC); /* which this user need not read */
    bool good = true;
    char number[16];

    for (int i = 0; i < daemon->spec->programs && good; i++) {
        const struct sy_spec_program *program = &daemon->spec->program[i];

        ready[i].file = daemon_start_find_file(daemon, program);
        good = ready[i].file != NULL;
        /* Names in the spec are relative to oshrun's directory. */
        if (here >= 0 && fchdir(here) != 0)
            good = daemon_start_tell(daemon, SY_DAEMON_TROUBLE, SY_ALL, 1,
                                     "cannot go back to the working directory: %s",
                                     strerror(errno));
        sy_environ_build(&ready[i].env, program->bare, program->changes);
        snprintf(number, sizeof number, "%d", daemon->plan.boot_fd);
        sy_environ_set(&ready[i].env, SY_LAUNCH_FD_ENV, number);
        sy_environ_set(&ready[i].env, SY_LAUNCH_PLUGIN_ENV, SY_LAUNCH_PLUGIN);
        snprintf(number, sizeof number, "%d", daemon->spec->npes);
        sy_environ_set(&ready[i].env, "SHMEM_BOOT_NPES", number);
    }
    sy_file_close(&here);
    return good;
}

static void daemon_start_drop_ready(struct ready *ready, int count)
{
    for (int i = 0; i < count; i++) {
        free(ready[i].file);
        sy_environ_free(&ready[i].env);
    }
    free(ready);
}

/* The processors that each PE needs: the user or OpenMP says so, for the program with most. */
static int daemon_start_needs(const struct sy_daemon *daemon, const struct ready *ready)
{
    int most = daemon->spec->cpus;

    for (int i = 0; i < daemon->spec->programs && !daemon->spec->cpus; i++) {
        const char *threads = sy_environ_get(&ready[i].env, "OMP_NUM_THREADS");
        int number = threads ? atoi(threads) : 1;

        most = number > most ? number : most;
    }
    return most;
}

/* Shares for PEs that nobody has said to bind or not; none where PEs or their threads are too many,
 * which is said where the user has given the number. */
static void daemon_start_find_shares(struct sy_daemon *daemon, const struct ready *ready,
                                     struct sy_bind *bind)
{
    char where[128];
    cpu_set_t all;

    sy_bind_share(bind, daemon->count, daemon_start_needs(daemon, ready));
    CPU_ZERO(&all);
    sched_getaffinity(0, sizeof all, &all);
    if (!bind->units && (long)daemon->spec->cpus * daemon->count > CPU_COUNT(&all))
        daemon_start_tell(daemon, SY_DAEMON_SAY, daemon->spec->pe[0].pe, SY_SAY_OF_SHARING,
                          "--cpus-per-pe %d: %d PEs on host %s, where this job may use %d "
                          "processor%s (%s): none is bound",
                          daemon->spec->cpus, daemon->count, daemon->spec->host, CPU_COUNT(&all),
                          CPU_COUNT(&all) == 1 ? "" : "s", sy_bind_text(&all, where, sizeof where));
}

static void daemon_start_report_binding(struct sy_daemon *daemon, int pe, const cpu_set_t *cpus,
                                        int unit, bool shared)
{
    const char *host = daemon->spec->host;
    char where[128];
    cpu_set_t all;

    if (!daemon->spec->report_bindings)
        return;
    CPU_ZERO(&all);
    sched_getaffinity(0, sizeof all, &all);
    sy_bind_text(cpus ? cpus : &all, where, sizeof where);
    if (!cpus)
        daemon_start_tell(daemon, SY_DAEMON_SAY, pe, SY_SAY_OF_BINDING,
                          "PE %d on host %s is not bound: processors %s", pe, host, where);
    else if (daemon->spec->binding == SY_BIND_SHARE)
        daemon_start_tell(daemon, SY_DAEMON_SAY, pe, SY_SAY_OF_BINDING,
                          "PE %d on host %s is bound to its share of the host: processors %s", pe,
                          host, where);
    else
        daemon_start_tell(daemon, SY_DAEMON_SAY, pe, SY_SAY_OF_BINDING,
                          "PE %d on host %s is bound to %s %d: processors %s%s", pe, host,
                          sy_bind_name(daemon->spec->binding), unit, where,
                          shared ? ", which it shares with other PEs" : "");
}

/* How many PEs may be bound to these units: one to each core or thread, as many as there are
 * processors to larger ones. */
static int daemon_start_bind_capacity(const struct sy_bind *bind, int binding)
{
    int least = CPU_COUNT(&bind->unit[0]);

    for (int i = 1; i < bind->units; i++) {
        int processors = CPU_COUNT(&bind->unit[i]);

        least = processors < least ? processors : least;
    }
    return bind->units * (binding == SY_BIND_CORE || binding == SY_BIND_HWTHREAD ? 1 : least);
}

/* Warns of PEs that share processors by --bind-to: they wait for each other, which users seldom
 * intend. */
static void daemon_start_warn_of_sharing(struct sy_daemon *daemon, const struct sy_bind *bind)
{
    const char *unit = sy_bind_name(daemon->spec->binding);
    int capacity = daemon_start_bind_capacity(bind, daemon->spec->binding);
    cpu_set_t all = bind->unit[0];
    char where[128];

    if (daemon->count <= capacity)
        return;
    for (int i = 1; i < bind->units; i++)
        CPU_OR(&all, &all, &bind->unit[i]);
    daemon_start_tell(daemon, SY_DAEMON_SAY, daemon->spec->pe[0].pe, SY_SAY_OF_SHARING,
                      "--bind-to %s: %d PEs on host %s, where this job may use %d %s%s (processors "
                      "%s): PEs share them and slow each other down; run at most %d PEs there (-n, "
                      "-N), or leave --bind-to out",
                      unit, daemon->count, daemon->spec->host, bind->units, unit,
                      bind->units == 1 ? "" : "s", sy_bind_text(&all, where, sizeof where),
                      capacity);
}

static bool daemon_start_local(struct sy_daemon *daemon, int index, struct ready *ready,
                               struct sy_bind *bind)
{
    const struct sy_spec_pe *wanted = &daemon->spec->pe[index];
    const struct sy_spec_program *program = &daemon->spec->program[wanted->program];
    const int unit = bind->units ? index % bind->units : 0;
    const cpu_set_t *cpus = bind->units ? &bind->unit[unit] : NULL;
    struct sy_local_pe *local = &daemon->local[index];
    struct sy_child child;
    char number[16];

    snprintf(number, sizeof number, "%d", wanted->pe);
    sy_environ_set(&ready[wanted->program].env, "SHMEM_BOOT_PE", number);
    daemon->plan.path = ready[wanted->program].file;
    daemon->plan.directory = program->directory;
    daemon->plan.argv = program->argv;
    daemon->plan.envp = ready[wanted->program].env.list;
    int rc = sy_child_start(&daemon->plan, cpus, wanted->input, &child);
    if (rc != 0 && !child.executed)
        return daemon_start_tell(daemon, SY_DAEMON_TROUBLE, SY_ALL, sy_program_status(-rc),
                                 "cannot run '%s': %s%s", program->argv[0], strerror(-rc),
                                 daemon_start_exec_hint(-rc));
    if (rc != 0)
        return daemon_start_tell(daemon, SY_DAEMON_TROUBLE, SY_ALL, 1,
                                 "cannot start PE %d of %d: %s%s", wanted->pe, daemon->spec->npes,
                                 strerror(-rc), daemon_start_hint(rc));
    local->pid = child.pid;
    local->alive = true;
    daemon->started++;
    daemon->living++;
    sy_reaper_add(&daemon->reaper, index, child.pid);
    sy_daemon_attach(local, &child);
    if (child.unbound) {
        daemon_start_tell(daemon, SY_DAEMON_SAY, wanted->pe, SY_SAY_OF_BINDING,
                          "PE %d on host %s, and those after it there, cannot be bound to "
                          "processors: %s%s",
                          wanted->pe, daemon->spec->host, strerror(child.unbound),
                          sy_denied_hint(child.unbound));
        sy_bind_free(bind);
    } else {
        daemon_start_report_binding(daemon, wanted->pe, cpus, unit, daemon->count > bind->units);
    }
    sy_daemon_tell(daemon, SY_DAEMON_STARTED, wanted->pe, child.pid, NULL, 0);
    return true;
}

static bool daemon_start_prepare(struct sy_daemon *daemon, struct ready *ready,
                                 struct sy_bind *bind)
{
    if (!daemon_start_enough_descriptors(daemon) || !daemon_start_make_ready(daemon, ready))
        return false;
    if (daemon->spec->binding == SY_BIND_SHARE) {
        daemon_start_find_shares(daemon, ready, bind);
    } else if (daemon->spec->binding != SY_BIND_NONE) {
        char *why = sy_bind_find(bind, daemon->spec->binding);

        if (why) {
            daemon_start_tell(daemon, SY_DAEMON_TROUBLE, SY_ALL, 1, "cannot bind PEs to a %s: %s",
                              sy_bind_name(daemon->spec->binding), why);
            free(why);
            return false;
        }
    }
    if (bind->units && daemon->spec->binding != SY_BIND_SHARE)
        daemon_start_warn_of_sharing(daemon, bind);
    daemon->short_before = sy_file_count("/proc/vmstat", "oom_kill ");
    int rc = sy_reaper_start(&daemon->reaper, daemon->count);
    if (rc != 0)
        return daemon_start_tell(daemon, SY_DAEMON_TROUBLE, SY_ALL, 1,
                                 "cannot start a process: %s%s", strerror(-rc),
                                 daemon_start_hint(rc));
    return true;
}

static void daemon_start_make_locals(struct sy_daemon *daemon)
{
    daemon->local = sy_memory_zeroed((size_t)daemon->count, sizeof *daemon->local);
    daemon->local_of = sy_memory_zeroed((size_t)daemon->spec->npes, sizeof *daemon->local_of);
    for (int pe = 0; pe < daemon->spec->npes; pe++)
        daemon->local_of[pe] = -1;
    for (int i = 0; i < daemon->count; i++) {
        struct sy_local_pe *local = &daemon->local[i];

        local->daemon = daemon;
        local->pe = daemon->spec->pe[i].pe;
        local->link.fd = local->out.fd = local->err.fd = local->in.fd = -1;
        daemon->local_of[local->pe] = i;
    }
}

void sy_daemon_start(struct sy_daemon *daemon, struct ev_loop *loop, const struct sy_spec *spec)
{
    struct ready *ready = sy_memory_zeroed((size_t)spec->programs, sizeof *ready);
    struct sy_bind bind = {0};

    daemon->loop = loop;
    daemon->spec = spec;
    daemon->count = spec->count;
    daemon->plan.merge_stderr = spec->merge_stderr;
    daemon_start_make_locals(daemon);
    if (daemon_start_prepare(daemon, ready, &bind)) {
        sigset_t before = sy_signals_block();
        for (int i = 0; i < daemon->count; i++) {
            if (!daemon_start_local(daemon, i, ready, &bind))
                break;
        }
        sy_signals_restore(before);
    }
    sy_daemon_tell(daemon, SY_DAEMON_UP, SY_ALL, 0, NULL, 0);
    sy_bind_free(&bind);
    daemon_start_drop_ready(ready, spec->programs);
}

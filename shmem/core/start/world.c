/* Start-up and shut-down, in one readable order. See world.h. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shmem/constants.h>

#include "core/amo.h"
#include "core/callsite.h"
#include "core/start/boot.h"
#include "core/start/config.h"
#include "core/crash.h"
#include "core/ctx.h"
#include "core/start/exchange.h"
#include "core/start/places.h"
#include "core/fatal.h"
#include "core/memory/heap.h"
#include "core/memory/memory.h"
#include "core/wait/progress.h"
#include "core/wait/tell.h"
#include "core/wait/blocked.h"
#include "core/route/route.h"
#include "core/route/route_rule.h"
#include "core/team.h"
#include "core/wait/wait.h"
#include "core/memory/staged.h"
#include "core/memory/windows.h"
#include "core/start/world.h"
#include "util/bits.h"
#include "util/denied.h"
#include "util/error.h"
#include "util/log.h"
#include "util/says.h"
#include "util/option.h"
#include "util/parse.h"
#include "util/plugin.h"
#include "util/standard.h"
#include "util/symbol.h"

struct sy_world sy_world;

/* ---- what the core offers to plugins ---- */

static int world_host_window(unsigned index, struct sy_region *window)
{
    if (index >= SY_REGIONS || !sy_windows.entry[index].peer)
        return -ENOENT;
    *window = sy_windows.entry[index].own;
    return 0;
}

static void world_host_lost(int pe, int code, const char *why)
{
    sy_tell_hear_out();
    if (code == EHOSTUNREACH && why) /* there has never been a way, and the reason says enough */
        sy_fatal("PE %d on host %s cannot be reached: %s", pe, sy_world_place(pe).host, why);
    if (code == EMFILE && why) /* it is this PE that lacks something, whoever the other one is */
        sy_fatal("%s", why);
    const char *error = strerror(abs(code));
    if (abs(code) == ESHUTDOWN) /* it is this PE whose transport is at its end */
        sy_fatal("this PE can send nothing to PE %d on host %s any more: %s", pe,
                 sy_world_place(pe).host, why ? why : error);
    if (why && strcmp(why, error) == 0)
        sy_fatal("PE %d on host %s is lost: %s%s", pe, sy_world_place(pe).host, why,
                 sy_denied_hint(code));
    sy_fatal("PE %d on host %s is lost: %s (%s)", pe, sy_world_place(pe).host,
             why ? why : "the transport gives no reason", error);
}

static struct sy_host host = {
    .size = sizeof host,
    .log = sy_log,
    .fail = sy_fail,
    .place = sy_world_place,
    .window = world_host_window,
    .memory = sy_windows_memory,
    .amo = sy_amo_apply,
    .lost = world_host_lost,
    .rest = sy_wait_rest_inside,
    .soon = sy_progress_soon,
    .start = &sy_config.start,
    .device_copy = sy_staged_copy,
    .device_amo = sy_staged_amo,
    .device_ahead = sy_staged_is_ahead,
    .device_begin = sy_staged_begin,
    .device_end = sy_staged_ended,
    .device_map = sy_staged_map,
    .device_unmap = sy_staged_unmap,
    .routes = sy_routes_lead,
};

const struct sy_host *sy_world_host(void)
{
    return &host;
}

/* ---- settings ---- */

static int world_start_log(struct sy_error *err)
{
    bool debug = *sy_config.debug != '\0';
    int level = sy_config.log_level;

    if (debug && level < SY_LOG_DEBUG)
        level = SY_LOG_DEBUG;
    return sy_log_configure(level, sy_config.debug, sy_config.log_pes, sy_config.log_file, err);
}

static void warn_unknown(const char *variable, const char *nearest)
{
    sy_log(SY_LOG_WARN, "options", "%s is not a variable of this library%s%s", variable,
           *nearest ? "; did you mean " : " (SHMEM_WARN_UNKNOWN_ENV=0 silences this)", nearest);
}

static void warn_path(const char *directory, const char *why)
{
    sy_log(SY_LOG_WARN, "plugin", "SHMEM_PLUGIN_PATH: %s: %s", directory, why);
}

/* Finds JSON keys and environment names that no option has. Plugins that exist but are not loaded
 * may own some; those are ignored. PE 0 alone looks at the environment, and most PEs have no key
 * that needs to be looked for. */
static int world_check_leftovers(struct sy_options *options, struct sy_error *err)
{
    static const char *const kinds[] = {"transport", "bootstrap", "device"};
    const char *names[64] = {NULL};
    struct sy_plugin *found[SY_COUNT(kinds)];
    size_t count[SY_COUNT(kinds)], used = 0;

    if (sy_world.pe && !sy_options_check_keys(options, names, err))
        return 0;
    for (size_t k = 0; k < SY_COUNT(kinds); k++) {
        found[k] = sy_plugins_find(kinds[k], &count[k]);
        for (size_t i = 0; i < count[k] && used + 1 < SY_COUNT(names); i++)
            names[used++] = found[k][i].name;
    }
    int rc = sy_options_check_keys(options, names, err);
    if (!rc && !sy_world.pe && sy_config.warn_unknown_env && used)
        sy_options_unknown_env(options, names, warn_unknown);
    if (!rc && !sy_world.pe)
        sy_plugins_check_path(warn_path);
    for (size_t k = 0; k < SY_COUNT(kinds); k++)
        sy_plugins_free(found[k], count[k]);
    return rc;
}

static void world_say_hello(void)
{
    if (sy_world.pe)
        return;
    if (sy_config.version)
        sy_config_print_version();
    if (sy_config.info)
        sy_config_print_info();
}

/* ---- the steps ---- */

static int world_join_job(struct sy_options *options, struct sy_error *err)
{
    int rc = sy_boot_open(sy_config.bootstrap, options, &host, &sy_world.job, err);

    if (rc)
        return rc;
    sy_world.pe = host.pe = sy_world.job.pe;
    sy_world.npes = host.npes = sy_world.job.npes;
    host.job_key = sy_boot_key();
    sy_log_identity(sy_world.pe, sy_world.host, sy_world.job.id);
    return 0;
}

static int world_make_memory(struct sy_error *err)
{
    static const int huge[] = {
        [SY_SYMMETRIC_2M] = SY_WISH_HUGE_2M, [SY_SYMMETRIC_1G] = SY_WISH_HUGE_1G};
    const struct sy_memory_wish wish = {.size = sy_config.symmetric_size,
                                        .huge = huge[sy_config.symmetric_huge] |
                                                (sy_config.huge_pages ? SY_WISH_HUGE_2M : 0),
                                        .numa = sy_config.symmetric_numa,
                                        .directory = sy_config.symmetric_file};
    int rc = sy_memory_open(&wish, err);

    if (rc)
        return rc;
    if (!sy_statics.mapped)
        sy_log(sy_config.statics == SY_STATICS_REMAP ? SY_LOG_WARN : SY_LOG_DEBUG, "statics",
               "static variables are served by the progress thread instead of being mapped: %s",
               sy_statics.why);
    rc = sy_windows_open(sy_world.pe, sy_world.npes, err);
    if (!rc)
        rc = sy_heap_open(&sy_heap, "symmetric heap", sy_memory.heap, sy_memory.heap_length, err);
    sy_heap.back = sy_memory_back;
    sy_windows.entry[SY_WINDOW_HEAP].heap = &sy_heap;
    return rc;
}

static int world_start(struct sy_error *err)
{
    struct sy_options *options = sy_config_load(NULL, err);

    if (!options)
        return -EINVAL;
    int rc = world_start_log(err);
    sy_options_warn_secure();
    if (!rc && sy_config.backtrace)
        sy_crash_watch();
    if (!rc)
        rc = world_join_job(options, err);
    if (!rc)
        rc = world_make_memory(err);
    if (!rc)
        rc = sy_route_rules_open(sy_config.routes, options, err);
    if (!rc)
        rc = sy_routes_load(sy_config.start.transports, options, err);
    host.unattended = sy_config.progress == SY_PROGRESS_POLLING;
    if (!rc)
        rc = sy_routes_open(&host, false, err);
    if (!rc)
        rc = world_check_leftovers(options, err);
    if (!rc)
        rc = sy_exchange(options, &host, sy_config.start.init_timeout, sy_config.pes_per_node, err);
    if (!rc && sy_memory.failed && !sy_world.local)
        sy_log(SY_LOG_WARN, "memory", "the symmetric heap: %s", sy_memory.got);
    if (!rc)
        rc = sy_teams_open(sy_config.teams_max, err);
    if (!rc)
        sy_ctx_control_open();
    if (rc)
        return rc;
    rc = sy_wait_open(sy_config.wait, host.crowded, !host.threads, err);
    if (rc)
        return rc;
    return sy_progress_start(sy_config.progress, err);
}

/* Sets output to be line-buffered, so that it is visible when it is printed, above all if the PE
 * then hangs or crashes; the C library would keep some KiB of it where stdout is a pipe. A stream
 * whose buffer has a size is in use, or set by the program. The pipe of a program that runs by
 * itself is the user's, and has no launcher behind it. */
static void world_print_by_lines(void)
{
    struct stat out;
    bool launched = sy_world.npes > 1 || secure_getenv("SHMEM_BOOT_PE");

    if (sy_config.line_buffered && launched && !__fbufsize(stdout) && !fstat(STDOUT_FILENO, &out) &&
        (S_ISFIFO(out.st_mode) || S_ISSOCK(out.st_mode)))
        setvbuf(stdout, NULL, _IOLBF, 0);
}

/* The number that the launcher has given to this PE, for messages before the bootstrap is open. */
static void world_guess_identity(void)
{
    static const char *const names[] = {"SHMEM_BOOT_PE", "SHMEM_PE",     "PMIX_RANK",
                                        "PMI_RANK",      "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"};

    if (gethostname(sy_world.host, sizeof sy_world.host - 1))
        strcpy(sy_world.host, "unknown-host");
    for (size_t i = 0; i < SY_COUNT(names); i++) {
        long pe = sy_parse_variable(names[i]);
        if (pe < 0)
            continue;
        sy_log_guess((int)pe, sy_world.host);
        return;
    }
}

/* A second OpenSHMEM library in the process, where its routines are found first. The program may
 * have this one's shmem.h, or routines that this one alone has. In a profiler there is no pshmem_
 * name. */
__attribute__((constructor)) static void world_look_for_second(void)
{
    const void *first = dlsym(RTLD_DEFAULT, "pshmem_init");
    const char *other = first ? sy_symbol_file(first) : NULL;
    const char *own = sy_symbol_file((const void *)(uintptr_t)world_look_for_second);

    if (!other || !own || !*other || !*own || !strcmp(other, own))
        return;
    world_guess_identity();
    sy_log(
        SY_LOG_WARN, "start",
        "two OpenSHMEM libraries are in this process: calls go to %s, which comes first, and those "
        "that it lacks to %s. Handles and constants of the two differ, so the program may crash; "
        "link it with one of them",
        other, own);
}

/* MPICH 5 ends the process in MPI_Init where the launcher is that of Open MPI, and speaks of a
 * version. */
static void world_explain_launcher(int status, void *arg)
{
    const char *size = secure_getenv("OMPI_COMM_WORLD_SIZE");
    const void *init = dlsym(RTLD_DEFAULT, "MPI_Init");
    const char *file = init ? sy_symbol_file(init) : NULL;

    if (!(status & 0377) || getpid() != (pid_t)(intptr_t)arg || !size || !*size || !file ||
        sy_says("MPI_Initialized") || dlsym(RTLD_DEFAULT, "ompi_mpi_state"))
        return;
    sy_log(SY_LOG_ERROR, "start",
           "the process ends with status %d before its MPI is initialised; the launcher is that of "
           "another MPI (OMPI_COMM_WORLD_SIZE is that of Open MPI's, the process has %s): start "
           "the program with the mpiexec of its MPI, or with oshrun -n %s",
           status & 0377, *file ? file : "one linked in", size);
}

__attribute__((constructor)) static void world_expect_launcher(void)
{
    if (!secure_getenv("OMPI_COMM_WORLD_SIZE"))
        return;
    if (!sy_world.npes)
        world_guess_identity();
    on_exit(world_explain_launcher, (void *)(intptr_t)getpid());
}

void sy_world_open(int thread_level)
{
    struct sy_error err = {""};

    sy_standard_keep();
    sy_world.process = getpid();
    sy_world.thread_level = thread_level;
    sy_blocked_threads_begin();
    host.threads = thread_level == SHMEM_THREAD_MULTIPLE;
    if (!sy_world.npes)
        world_guess_identity();
    int rc = world_start(&err);
    if (rc == -ECANCELED &&
        sy_boot) { /* the launcher is ending the job; the cause has been reported */
        int status = 1;
        sy_boot->event(sy_boot_self, &status);
        sy_leave(status);
    }
    if (rc == -ECONNREFUSED || rc == -ECONNRESET) /* by a PE that has failed and is to say why */
        sy_tell_hear_out();
    if (rc == -ECHILD) /* such a process is no PE */
        sy_log_guess(-1, sy_world.host);
    if (rc)
        sy_fatal("shmem_init: %s", err.text);
    sy_blocked_threads_end();
    world_print_by_lines();
    world_say_hello();
    sy_boot->mark(sy_boot_self, SY_MARK_INITIALIZED);
    sy_windows_hot(sy_world.npes, !sy_config.check, thread_level != SHMEM_THREAD_SINGLE);
}

/* A transport without the member may have decided something by host->threads when it was opened. */
const char *sy_world_threads(void)
{
    if (host.threads)
        return NULL;
    for (unsigned i = 0; i < sy_routes.count; i++)
        if (sy_routes.transport[i].lone)
            return sy_routes.transport[i].table->name;
    host.threads = true;
    sy_wait_threads();
    for (unsigned i = 0; i < sy_routes.count; i++)
        sy_routes.transport[i].table->threads(sy_routes.transport[i].self);
    return NULL;
}

void sy_world_missing(const char *routine)
{
    if (!sy_world.npes)
        world_guess_identity();
    sy_fatal("%s was called %s; call it between shmem_init and shmem_finalize",
             sy_callsite_routine(routine),
             sy_world.npes ? "after shmem_finalize" : "before shmem_init");
}

void sy_world_close(void)
{
    sy_progress_stop();
    sy_teams_close();
    sy_ctx_control_close();
    sy_routes_close();
    sy_boot->mark(sy_boot_self, SY_MARK_FINALIZED); /* nothing answers the launcher any more */
    host.job_key = NULL;
    sy_wait_close();
    sy_windows_close();
    sy_heap_close(&sy_heap);
    sy_memory_close();
    sy_places_close();
}

/* A job from start to end: see run.h. */
#include "bootstrap/launcher/head/run.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "bootstrap/launcher/head/command.h"
#include "bootstrap/launcher/options/exports.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/spawn.h"
#include "bootstrap/launcher/options/program.h"
#include "util/denied.h"
#include "util/standard.h"

static void out_file_emptied(struct sy_out_file *out_file)
{
    sy_run_check_done(out_file->owner);
}

/* Nobody reads the PEs' output: the job ends as any program does whose reader is gone. Where stderr
 * cannot be written, stdout is told; where neither can, as with 2>&1 on a full disk, the status is
 * all that is left to tell it. */
static void head_run_out_file_broken(struct sy_out_file *out_file, int error)
{
    struct sy_run *run = out_file->owner;

    if (run->outputs.err_out_file->dead && error != EPIPE)
        run->outputs.err_out_file = &run->outputs.out;
    if (error != EPIPE)
        sy_run_say(run, SY_SAY_ALWAYS, "cannot write to %s: %s%s",
                   sy_outputs_name(&run->outputs, out_file), strerror(error), sy_ending_rest(run));
    sy_ending_begin(run, error == EPIPE ? 128 + SIGPIPE : SY_FLAGS_UNWRITTEN, SY_GRACE_FAILED);
}

static void head_run_limit_reached(struct ev_loop *loop, ev_timer *timer, int events)
{
    (void)events;
    if (!sy_node_looks_again(loop, timer))
        sy_waiting_trace(timer->data);
}

/* ---- the job's description ---- */

static void missing_export(const char *name, void *arg)
{
    sy_run_say(arg, SY_SAY_ENDING, "-x %s: not set here, so the PEs do not get it", name);
}

/* The directory to run in; a whole path where other hosts need it. */
static char *head_run_directory_of(const struct sy_app *app, bool elsewhere)
{
    char here[PATH_MAX];
    const char *directory = app->directory ? app->directory : ".";

    if (!elsewhere || *directory == '/' || !getcwd(here, sizeof here))
        return sy_memory_string(directory);
    return sy_memory_text(app->directory ? "%s/%s" : "%s", here, directory);
}

static char *head_run_path_of(const struct sy_app *app, bool elsewhere)
{
    if (!elsewhere || strchr(app->program[0], '/'))
        return NULL;
    return sy_program_find(app->program[0], NULL, NULL);
}

static struct sy_spec_program *head_run_make_programs(struct sy_run *run, bool elsewhere)
{
    const struct sy_flags *flags = run->flags;
    struct sy_spec_program *programs = sy_memory_zeroed((size_t)flags->apps, sizeof *programs);

    for (int i = 0; i < flags->apps; i++) {
        const struct sy_app *app = &flags->app[i];

        programs[i].path = head_run_path_of(app, elsewhere);
        programs[i].directory = head_run_directory_of(app, elsewhere);
        programs[i].argv = app->program;
        programs[i].bare = flags->inherit == SY_INHERIT_NONE;
        programs[i].changes = sy_exports_make(flags, app, elsewhere, missing_export, run);
    }
    return programs;
}

static void head_run_free_programs(struct sy_spec_program *programs, int count)
{
    for (int i = 0; i < count; i++) {
        free(programs[i].path);
        free(programs[i].directory);
        sy_memory_free_list(programs[i].changes);
    }
    free(programs);
}

/* The program that a PE runs: the programs' PEs follow each other. */
static int head_run_program_of(const struct sy_flags *flags, int pe)
{
    int program = 0;

    while (program + 1 < flags->apps && pe >= flags->app[program].npes)
        pe -= flags->app[program++].npes;
    return program;
}

/* The binding to use: a number of cores or threads is a share. */
static int head_run_binding(const struct sy_flags *flags)
{
    bool small = flags->binding == SY_BIND_CORE || flags->binding == SY_BIND_HWTHREAD;

    return flags->cpus && small ? SY_BIND_SHARE : flags->binding;
}

static void head_run_fill_spec(struct sy_run *run, struct sy_node *node,
                               struct sy_spec_program *programs)
{
    const struct sy_flags *flags = run->flags;
    struct sy_spec *spec = &node->spec;

    spec->host = sy_memory_string(node->name);
    spec->npes = run->npes;
    spec->silence = flags->silence;
    spec->binding = head_run_binding(flags);
    spec->cpus = flags->cpus;
    spec->report_bindings = flags->report_bindings;
    spec->merge_stderr = flags->merge_stderr;
    spec->programs = flags->apps;
    spec->program = programs;
}

/* Assigns the PEs to their hosts' specs, in one pass: there may be thousands of both. */
static void head_run_assign_pes(struct sy_run *run)
{
    const struct sy_flags *flags = run->flags;

    for (int pe = 0; pe < run->npes; pe++)
        run->pes[pe].node->spec.count++;
    for (int i = 0; i < run->nodes; i++) {
        struct sy_spec *spec = &run->node[i].spec;

        spec->pe = sy_memory_zeroed((size_t)spec->count, sizeof *spec->pe);
        spec->count = 0;
    }
    for (int pe = 0; pe < run->npes; pe++) {
        struct sy_spec *spec = &run->pes[pe].node->spec;
        struct sy_spec_pe *to = &spec->pe[spec->count++];

        to->pe = pe;
        to->program = head_run_program_of(flags, pe);
        to->input = flags->input == SY_STDIN_ALL || flags->input == pe;
    }
}

/* Makes a node of each host that gets PEs, in the order of the list. */
static void head_run_make_nodes(struct sy_run *run)
{
    const struct sy_flags *flags = run->flags;
    int *node_of = sy_memory_zeroed((size_t)flags->hosts.count, sizeof *node_of);
    bool *used = sy_memory_zeroed((size_t)flags->hosts.count, sizeof *used);

    run->node = sy_memory_zeroed((size_t)flags->hosts.count, sizeof *run->node);
    run->pes = sy_memory_zeroed((size_t)run->npes, sizeof *run->pes);
    for (int pe = 0; pe < run->npes; pe++)
        used[run->placement->host_of[pe]] = true;
    for (int i = 0; i < flags->hosts.count; i++) {
        node_of[i] = run->nodes;
        run->node[run->nodes].run = run;
        run->node[run->nodes].name = flags->hosts.host[i].name;
        run->nodes += used[i];
    }
    for (int pe = 0; pe < run->npes; pe++) {
        run->pes[pe].run = run;
        run->pes[pe].number = pe;
        run->pes[pe].node = &run->node[node_of[run->placement->host_of[pe]]];
    }
    free(node_of);
    free(used);
    run->node[0].local = run->nodes == 1 && !sy_command_is_wanted(flags, run->node[0].name);
    for (int i = 0; i < run->nodes && !run->node[0].local; i++)
        run->node[i].command = sy_command_make(flags, run->node[i].name, run->slurm, "oshrun");
}

/* Gives this host its own name: the user may have written "localhost" or nothing at all. */
static void head_run_name_own_host(struct sy_run *run)
{
    static char host[256];

    if (!run->node[0].local)
        return;
    if (gethostname(host, sizeof host - 1) != 0)
        strcpy(host, "localhost");
    run->node[0].name = host;
}

/* Prints a word, quoted so that a shell reads it as one. */
static void head_run_print_word(const char *word)
{
    if (*word && !strpbrk(word, " \t\n'\"$`&;|<>()[]*?#~\\")) {
        printf(" %s", word);
        return;
    }
    putchar(' ');
    sy_command_quote(stdout, word);
}

/* "host a: ./x: PE 0-3, 8", a line for each program that it runs. */
static void head_run_show_node(const struct sy_run *run, const struct sy_node *node)
{
    const struct sy_spec *spec = &node->spec;

    for (int i = 0; i < spec->count; i++) {
        const struct sy_spec_pe *first = &spec->pe[i], *last = first;

        if (!i || first->program != first[-1].program)
            printf("%shost %s: %s: PE ", i ? "\n" : "", node->name,
                   run->flags->app[first->program].program[0]);
        else
            printf(", ");
        while (i + 1 < spec->count && last[1].pe == last->pe + 1 &&
               last[1].program == last->program) {
            last++;
            i++;
        }
        printf(last > first ? "%d-%d" : "%d", first->pe, last->pe);
    }
    putchar('\n');
}

static void head_run_show_map(struct sy_run *run)
{
    for (int i = 0; i < run->nodes; i++) {
        head_run_show_node(run, &run->node[i]);
        if (run->flags->dry_run && run->node[i].command) {
            printf("    by:");
            for (char **word = run->node[i].command; *word; word++)
                head_run_print_word(*word);
            putchar('\n');
        }
    }
}

/* ---- the run ---- */

enum { RUN_KEY = sizeof(((struct sy_launch_welcome *)NULL)->key) };

static bool head_run_draw_key(struct sy_run *run)
{
    run->key = mmap(NULL, RUN_KEY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (run->key == MAP_FAILED)
        return false;
    madvise(run->key, RUN_KEY, MADV_DONTDUMP);
    madvise(run->key, RUN_KEY, MADV_WIPEONFORK);
    return getrandom(run->key, RUN_KEY, 0) == RUN_KEY;
}

/* libev would abort without words for the user. */
static void head_run_loop_failed(const char *what)
{
    const char *hint = errno == EMFILE || errno == ENFILE ? " (see ulimit -Hn)"
                                                          : sy_denied_hint(errno);

    fprintf(stderr, "oshrun: %s: %m%s\n", what, hint);
    exit(1);
}

static int head_run_init(struct sy_run *run)
{
    unsigned long long id;

    if (!head_run_draw_key(run) || getrandom(&id, sizeof id, 0) != sizeof id) {
        fprintf(stderr, "oshrun: cannot get random numbers for the job's key: %m\n");
        return -1;
    }
    snprintf(run->id, sizeof run->id, "%016llx", id);
    if (!sy_spawn_can_watch())
        return -1;
    ev_set_syserr_cb(head_run_loop_failed);
    run->loop = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
    if (!run->loop) {
        fprintf(stderr, "oshrun: cannot make an event loop: %m\n");
        return -1;
    }
    return 0;
}

/* A host is lost, and so are its PEs. */
static void head_run_host_lost(struct sy_node *node, const char *why)
{
    struct sy_run *run = node->run;
    bool ending = run->ending.begun;

    sy_run_host_gone(node);
    sy_run_check_gone(run);
    if (!why)
        return;
    sy_run_say(run, ending ? SY_SAY_MORE : SY_SAY_ENDING, "host %s %s%s", node->name, why,
               sy_ending_rest(run));
    sy_ending_begin(run, 1, SY_GRACE_FAILED);
    sy_run_check_gone(run);
    sy_run_check_done(run);
}

/* Goes on with lines that have waited, in the order of PEs and of hosts, so that the first one's
 * message stands for all. */
static void head_run_resume(void *owner)
{
    struct sy_run *run = owner;

    for (int pe = 0; pe < run->npes; pe++)
        sy_forward_resume(&run->pes[pe].err);
    for (int i = 0; i < run->nodes; i++)
        sy_forward_resume(&run->node[i].error_lines);
    /* PEs' lines that wait by now may all be younger. */
    if ((!sy_repeats_wait(&run->repeats) && !sy_repeats_wait(&run->host_repeats)) ||
        ev_now(run->loop) >= run->later_since + SY_REPEATS_DELAY)
        sy_run_say_later(run);
    sy_run_check_done(run);
}

static void head_run_open(struct sy_run *run)
{
    run->outputs.loop = run->loop;
    run->outputs.broken = head_run_out_file_broken;
    run->outputs.emptied = out_file_emptied;
    run->outputs.owner = run;
    sy_outputs_open(&run->outputs);
    run->repeats.ready = run->host_repeats.ready = head_run_resume;
    run->repeats.owner = run->host_repeats.owner = run;
    sy_repeats_open(&run->repeats, run->loop);
    sy_repeats_open(&run->host_repeats, run->loop);
    run->hosts = (struct sy_node_events){
        .take = sy_messages_take, .lost = head_run_host_lost, .quiet = sy_run_check_done};
    sy_messages_init(run);
    sy_ending_init(run);
    sy_waiting_init(run);
    sy_signals_start(run);
    ev_timer_init(&run->limit, head_run_limit_reached, run->flags->timeout, 0.);
    run->limit.data = run;
}

static void head_run_go(struct sy_run *run, struct sy_spec_program *programs)
{
    for (int i = 0; i < run->nodes; i++)
        head_run_fill_spec(run, &run->node[i], programs);
    sy_run_say(run, SY_SAY_MORE, "job %s: %d PEs of %s on %d host%s", run->id, run->npes,
               run->flags->app[0].program[0], run->nodes, run->nodes == 1 ? "" : "s");
    sy_nodes_start(run);
    ev_now_update(run->loop);
    if (run->flags->timeout > 0 && !run->all_gone) {
        ev_timer_set(&run->limit, run->flags->timeout, 0.);
        ev_timer_start(run->loop, &run->limit);
    }
    if (!sy_run_is_done(run))
        ev_run(run->loop, 0);
}

static void head_run_close(struct sy_run *run)
{
    sy_repeats_release(&run->repeats);
    sy_repeats_release(&run->host_repeats);
    if (run->abort.pe && !run->abort.pe->explained)
        sy_run_say(run, SY_SAY_ENDING,
                   "PE %d on host %s (pid %d) gave up, and no error came through its stderr, which "
                   "is closed or leads elsewhere: %s",
                   run->abort.pe->number, run->abort.pe->node->name, (int)run->abort.pe->pid,
                   run->abort.why);
    sy_run_say_later(run);
    sy_out_file_flush(run->outputs.err_out_file);
    free(run->later);
    sy_repeats_close(&run->repeats);
    sy_repeats_close(&run->host_repeats);
    sy_nodes_close(run);
    sy_gather_free(&run->gather);
    sy_input_close(&run->input);
    sy_outputs_close(&run->outputs);
    ev_loop_destroy(run->loop);
    for (int pe = 0; pe < run->npes; pe++) {
        sy_forward_close(&run->pes[pe].out);
        sy_forward_close(&run->pes[pe].err);
    }
    explicit_bzero(run->key, RUN_KEY);
    free(run->pes);
    sy_report_free(&run->report);
    free(run->node);
}

int sy_run_job(const struct sy_flags *flags, const struct sy_placement *placement, bool slurm,
               const struct sy_child_plan *plan)
{
    static struct sy_run run; /* too large for a stack */

    memset(&run, 0, sizeof run);
    run.flags = flags;
    run.placement = placement;
    run.npes = placement->npes;
    run.slurm = slurm;
    run.plan = plan;
    if (head_run_init(&run) != 0)
        return 1;
    head_run_make_nodes(&run);
    head_run_assign_pes(&run);
    head_run_name_own_host(&run);
    if (flags->display_map || flags->dry_run) {
        head_run_show_map(&run);
        int status = sy_standard_end("oshrun", SY_FLAGS_UNWRITTEN);
        if (status || flags->dry_run)
            return status;
    }
    head_run_open(&run);
    struct sy_spec_program *programs = head_run_make_programs(&run, !run.node[0].local);
    head_run_go(&run, programs);
    head_run_close(&run);
    head_run_free_programs(programs, flags->apps);
    return run.status;
}

/* The core's option table: see config.h. It has each option's name, values and help; other files
 * use the values. Listings keep this order. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <shmem/constants.h>
#include <switchyard/host.h>

#include "core/start/config.h"
#include "util/error.h"
#include "util/option.h"
#include "util/parse.h"
#include "util/plugin.h"
#include "util/printable.h"

struct sy_config sy_config = {.debug = "",
                              .bootstrap = "auto",
                              .routes = "",
                              .symmetric_numa = "",
                              .symmetric_file = "",
                              .log_level = SY_LOG_WARN,
                              .log_pes = "",
                              .log_file = "",
                              .coll_radix = 4,
                              .start = {.size = sizeof(struct sy_start),
                                        .init_timeout = 120,
                                        .peer_timeout = 10,
                                        .ports = "",
                                        .networks = "",
                                        .pe = -1,
                                        .root = "",
                                        .secret_file = "",
                                        .job_id = "",
                                        .transports = "auto"}};

/* What a set is read into, and the two settings that are used where they are read: files by
 * sy_options_read_files, plugins by sy_plugins_find. */
struct settings {
    struct sy_config config;
    const char *config_file, *plugin_path;
};

/* The categories of the library's own messages. Plugins' messages are under the plugins' names. */
#define CATEGORIES "boot, memory, statics, routes, progress, options, plugin, launch, counters"

#define AT(member) offsetof(struct settings, member)

// clang-format off
#define ALGORITHM(ROUTINE, CHOICES, OTHER_NAMES, HELP) \
    {#ROUTINE "_algorithm", SY_OPTION_CHOICE, SY_OPTION_JOB, AT(config.ROUTINE##_algorithm), "auto", CHOICES, 0, 0, \
     OTHER_NAMES, HELP},
#define INERT(key, why) {key, SY_OPTION_STRING, SY_OPTION_INERT, 0, "", NULL, 0, 0, NULL, why}

static const struct sy_option rows[] = {
    {"version", SY_OPTION_FLAG, 0, AT(config.version), "off", NULL, 0, 0,
     "SMA_VERSION SHMEM_VERSION_DISPLAY",
     "Print the library's version at start-up, on PE 0"},
    {"info", SY_OPTION_FLAG, 0, AT(config.info), "off", NULL, 0, 0,
     "SMA_INFO SHMEM_ENV_DISPLAY",
     "Print a text about the environment variables at start-up, on PE 0"},
    {"symmetric_size", SY_OPTION_SIZE, SY_OPTION_JOB, AT(config.symmetric_size), "1G", NULL, 0, 0,
     "SMA_SYMMETRIC_SIZE SHMEM_SYMMETRIC_HEAP_SIZE XT_SYMMETRIC_HEAP_SIZE",
     "Bytes of the symmetric heap of each PE; memory that is never touched costs nothing"},
    {"debug", SY_OPTION_STRING, 0, AT(config.debug), "", NULL, 0, 0,
     "SMA_DEBUG",
     "Write debugging messages: 0, no, off or false for none, categories divided by commas ("
     CATEGORIES ", or a plugin's name) for these, any other text for all"},

    {"bootstrap", SY_OPTION_STRING, 0, AT(config.bootstrap), "auto", NULL, 0, 0, NULL,
     "How a process learns which PE of which job it is: the name of a bootstrap plugin, or auto to "
     "find out from the environment"},
    {"transports", SY_OPTION_STRING, SY_OPTION_JOB, AT(config.start.transports), "auto", NULL, 0, 0, NULL,
     "Names of transport plugins in the order they are tried, divided by commas, with ? behind one that may "
     "be missing or fail, and @ and a word where one is used more than once, as in name@a,name@b; or ^ and the "
     "names of those that are not to be used; or auto for all that work here"},
    {"routes", SY_OPTION_LIST, SY_OPTION_JOB, AT(config.routes), "", NULL, 0, 0, NULL,
     "Rules for the transports between certain PEs, such as from=node0* to=net:10.0.0.0/8 prefer=a,b with "
     "prefer, require or exclude; PEs are selected by a pattern for host names, which host: may stand before, "
     "net:, pe:0-3 or node:0-1"},
    {"show_routes", SY_OPTION_BOOL, 0, AT(config.show_routes), "off", NULL, 0, 0, NULL,
     "Print at start-up, on PE 0, which transport each pair of PEs uses, and why"},
    {"init_timeout", SY_OPTION_SECONDS, 0, AT(config.start.init_timeout), "120", NULL, 0, 0, NULL,
     "Seconds that each phase of start-up may last before the job stops and names the missing PEs; 0 for no limit"},
    {"stall_report", SY_OPTION_SECONDS, 0, AT(config.stall_report), "60", NULL, 0, 0, NULL,
     "Seconds after which a PE that waits in a call makes the launcher say what all PEs are doing, and "
     "again each time that has doubled; 0 for never"},
    {"deadlock_timeout", SY_OPTION_SECONDS, 0, AT(config.deadlock_timeout), "5", NULL, 0, 0, NULL,
     "Seconds after which a job ends whose PEs all wait for each other: all in collective routines or locks, "
     "or at least one for the end of the job, in shmem_finalize or because it exits; else 12 times as long; 0 "
     "for never. A PE keeps the job alive if a thread of it computes or is in a call of the system that may "
     "end, or if a message is under way; and, where a PE waits for a variable of the program, one that has a "
     "child process or a handler of signals does too"},
    {"peer_timeout", SY_OPTION_SECONDS, 0, AT(config.start.peer_timeout), "10", NULL, 0, 0, NULL,
     "Seconds without any answer after which a host counts as lost and the job ends, 0 for never; a "
     "process that is stopped or busy does not count, its host answers"},
    {"control_port_range", SY_OPTION_STRING, 0, AT(config.start.ports), "", NULL, 0, 0, NULL,
     "Ports, as first:last, on which PEs may listen for each other while they start without oshrun; "
     "empty for any that is free"},
    {"control_interfaces", SY_OPTION_STRING, 0, AT(config.start.networks), "", NULL, 0, 0, NULL,
     "Interfaces (eth0, ib*) and networks (10.1.0.0/16), divided by commas, ! before what is left out, on "
     "which PEs listen for each other while they start without oshrun; empty for those that lead to other "
     "hosts, and loopback"},
    {"pe", SY_OPTION_INT, 0, AT(config.start.pe), "-1", NULL, -1, INT_MAX, NULL,
     "The number of this PE, where no launcher says it; with SHMEM_NPES, SHMEM_ROOT and "
     "SHMEM_SECRET_FILE"},
    {"npes", SY_OPTION_INT, 0, AT(config.start.npes), "0", NULL, 0, INT_MAX, NULL,
     "The number of PEs of the job, where no launcher says it"},
    {"root", SY_OPTION_STRING, 0, AT(config.start.root), "", NULL, 0, 0, NULL,
     "HOST:PORT at which PE 0 is found, where no launcher says it"},
    {"secret_file", SY_OPTION_STRING, 0, AT(config.start.secret_file), "", NULL, 0, 0, NULL,
     "A file that all PEs of the job and nobody else can read, with at least 32 random bytes, by which "
     "they know each other where no launcher hands out a key; where PMI, PMIx or MPI does, it is mixed in"},
    {"job_id", SY_OPTION_STRING, 0, AT(config.start.job_id), "", NULL, 0, 0, NULL,
     "Any word, the same on all PEs, that tells this job from others with the same SHMEM_SECRET_FILE"},
    {"pes_per_node", SY_OPTION_INT, SY_OPTION_JOB, AT(config.pes_per_node), "0", NULL, 0, 1 << 20, NULL,
     "Treat each group of so many PEs of a machine as a node of its own, to try on one machine what "
     "happens between several; 0 for nodes as they are"},
    {"teams_max", SY_OPTION_INT, SY_OPTION_JOB, AT(config.teams_max), "256", NULL, 1, SY_TEAMS_MOST, NULL,
     "Teams that a PE can be a member of at a time, besides the predefined ones"},
    {"team_shared_only_self", SY_OPTION_BOOL, SY_OPTION_JOB, AT(config.shared_only_self), "off", NULL, 0, 0,
     NULL, "Let SHMEM_TEAM_SHARED hold no PE but the calling one"},
    {"barriers_flush", SY_OPTION_BOOL, 0, AT(config.barriers_flush), "off", NULL, 0, 0, NULL,
     "Flush stdout and stderr in every shmem_barrier_all"},
    {"line_buffered", SY_OPTION_BOOL, 0, AT(config.line_buffered), "on", NULL, 0, 0, NULL,
     "Write stdout line by line, as on a terminal, where a PE has a pipe to the launcher; a program "
     "that has printed, or chosen a buffer, before it starts the library keeps it"},
    {"progress", SY_OPTION_CHOICE, 0, AT(config.progress), "auto", "auto|thread|polling", 0, 0, NULL,
     "Who receives what arrives from PEs whose memory is not mapped: a thread that keeps out of the way "
     "while the program polls (auto), the same thread always (thread), or the program alone, so that a PE "
     "is served only while it is inside the library's routines (polling)"},
    {"wait", SY_OPTION_CHOICE, 0, AT(config.wait), "auto", "auto|spin|yield|sleep", 0, 0, NULL,
     "What a PE that waits does with its processor: look all the time (spin), look and let others run in "
     "between (yield), sleep soon, as where PEs outnumber processors (sleep), or sleep soon only there, and "
     "after a tenth of a second elsewhere (auto)"},
    {"statics", SY_OPTION_CHOICE, SY_OPTION_EARLY, AT(config.statics), "auto", "auto|remap|service", 0, 0,
     NULL,
     "How other PEs reach global and static variables: by remapping the program's data into shared "
     "memory where that is possible (auto), the same with a warning where it is not (remap), or "
     "always through the owner's progress thread (service)"},
    {"symmetric_huge_pages", SY_OPTION_CHOICE, SY_OPTION_JOB, AT(config.symmetric_huge), "off", "off|2M|1G", 0, 0,
     NULL,
     "Have the symmetric heap on pages of that size, set aside when the library starts; where too few are "
     "free, on 2 MiB pages where the kernel finds them, else on small ones, and a line says so"},
    {"symmetric_numa", SY_OPTION_STRING, 0, AT(config.symmetric_numa), "", NULL, 0, 0, NULL,
     "Have the symmetric heap on certain nodes of memory: local, those of the PE's processor; interleave, "
     "page by page on all; interleave:NODES or bind:NODES, such as bind:0 or interleave:0,2-3"},
    {"symmetric_file", SY_OPTION_STRING, 0, AT(config.symmetric_file), "", NULL, 0, 0, NULL,
     "A directory: the symmetric heap is in a file of it, so that it may be larger than the machine's memory; "
     "the file has no name and is gone with the job"},
    {"symmetric_heap_use_huge_pages", SY_OPTION_BOOL, SY_OPTION_JOB, AT(config.huge_pages), "off", NULL, 0, 0,
     NULL, "The same as SHMEM_SYMMETRIC_HUGE_PAGES=2M"},
    {"check", SY_OPTION_BOOL, 0, AT(config.check), "off", NULL, 0, 0, NULL,
     "Check more of each call, and stop with an explanation where it is wrong: ends and freed blocks of the heap, "
     "destroyed handles, misaligned atomic operations, overlap, and members of a team that are in different "
     "collective routines, or in one with other sizes or roots; not strides, nor what a wait is given"},
    {"backtrace", SY_OPTION_FLAG, 0, AT(config.backtrace), "on", NULL, 0, 0, NULL,
     "Where the program crashes, write which signal it was and a short backtrace, unless the program has a "
     "handler for that signal"},
    {"trap_on_abort", SY_OPTION_BOOL, 0, AT(config.trap_on_abort), "off", NULL, 0, 0, NULL,
     "Raise SIGABRT on a fatal error and in shmem_global_exit, to get a core file or stop in a debugger"},

    ALGORITHM(barrier, "auto|linear|tree|dissem",
              "SHMEM_BARRIER_ALGO SHMEM_BARRIER_ALL_ALGO SHMEM_SYNC_ALGO SHMEM_SYNC_ALL_ALGO",
              "How the PEs of a team wait for each other: the first PE gathers the others' words and answers "
              "(linear), the same along a tree (tree), or rounds in which the distance doubles (dissem); auto "
              "is by far the fastest on one node, and a tree where nodes outnumber processors")
    ALGORITHM(bcast, "auto|linear|tree", "SHMEM_BROADCAST_ALGO",
              "How a broadcast reaches the PEs of a team: all read from the root (linear), or each from its "
              "parent in a tree (tree)")
    ALGORITHM(reduce, "auto|linear|tree|recdbl|ring", "SHMEM_REDUCE_ALGO",
              "How a team reduces: the first PE combines what all have and the others read the result "
              "(linear), the same along a tree (tree), pairs combine at distances that double (recdbl), or parts "
              "of the array go around (ring)")
    ALGORITHM(scan, "auto|linear|ring", NULL,
              "How a team scans: each PE reads what all before it have (linear), or each hands its result to the "
              "next (ring)")
    ALGORITHM(collect, "auto|linear", "SHMEM_COLLECT_ALGO",
              "How a collect joins the parts: each PE reads all parts (auto), or the first PE does and the others "
              "read the result (linear)")
    ALGORITHM(fcollect, "auto|linear|ring|recdbl", "SHMEM_FCOLLECT_ALGO",
              "How an fcollect joins the parts: each PE reads all parts (auto), the first PE does and the others read "
              "the result (linear), each reads one part at a time from its neighbour (ring), or twice as much in each "
              "step (recdbl)")
    {"coll_radix", SY_OPTION_INT, SY_OPTION_JOB, AT(config.coll_radix), "4", NULL, 2, 1 << 20, NULL,
     "Children of each PE in the trees of the collective routines"},

    {"log.level", SY_OPTION_CHOICE, 0, AT(config.log_level), "warn", "error|warn|info|debug|trace", 0, 0,
     NULL,
     "The least important kind of message that is written; where SHMEM_DEBUG names categories, this "
     "is about them alone and the others stay at warn"},
    {"log.pes", SY_OPTION_STRING, 0, AT(config.log_pes), "", NULL, 0, 0, NULL,
     "PEs that write messages below errors, such as 0,4-7; empty for all"},
    {"log.file", SY_OPTION_STRING, 0, AT(config.log_file), "", NULL, 0, 0, NULL,
     "File that messages are appended to, with %h for the host, %j the job, %p the process id, %r the "
     "PE and %% a percent sign; empty for stderr, which errors are always written to, as is what comes before "
     "the PE knows its number"},
    {"warn_unknown_env", SY_OPTION_BOOL, 0, AT(config.warn_unknown_env), "on", NULL, 0, 0, NULL,
     "Warn about SHMEM_ variables that no option is named by"},
    {"config", SY_OPTION_STRING, SY_OPTION_EARLY, AT(config_file), "", NULL, 0, 0, NULL,
     "A JSON file of options that is read after the system's and the user's"},
    {"plugin_path", SY_OPTION_STRING, SY_OPTION_EARLY, AT(plugin_path), "", NULL, 0, 0, NULL,
     "Directories that are searched for plugins before all others, divided by colons"},

    /* Options of other implementations that set nothing here. */
    INERT("symmetric_heap_page_size", "SHMEM_SYMMETRIC_HUGE_PAGES says the size of huge pages"),
    INERT("symmetric_heap_use_malloc", "the heap must be memory that other processes can map"),
    INERT("disable_aslr_check", "addresses may differ from PE to PE"),
    INERT("bounce_size", "only memory of devices is bounced, in slots that the library makes"),
    INERT("max_bounce_buffers", "only memory of devices is bounced, in slots that the library makes"),
    INERT("cma_put_max", "PEs of a node map each other's memory instead of copying through the kernel"),
    INERT("cma_get_max", "PEs of a node map each other's memory instead of copying through the kernel"),
    INERT("progress_interval", "the progress thread sleeps until there is something to do"),
    INERT("coll_crossover", "routines choose by what is mapped and by the size of their buffers"),
    INERT("coll_size_crossover", "routines choose by what is mapped and by the size of their buffers"),
    INERT("alltoall_algo", "the routine chooses by nodes and size"),
    INERT("alltoalls_algo", "the routine chooses by nodes and size"),
    INERT("mpi_thread_level", "where the library starts MPI, it asks for MPI_THREAD_MULTIPLE"),
    {.name = NULL},
};
// clang-format on
#undef INERT
#undef ALGORITHM
#undef AT

/* ---- SHMEM_DEBUG ---- */

static bool config_is_plugin(const char *kind, const char *word, size_t length)
{
    size_t count;
    struct sy_plugin *found = sy_plugins_find(kind, &count);
    bool is = false;

    length = strcspn(word, "@") < length ? strcspn(word, "@") : length; /* "tcp@a" */
    for (size_t i = 0; i < count && !is; i++)
        is = strlen(found[i].name) == length && !memcmp(found[i].name, word, length);
    sy_plugins_free(found, count);
    return is;
}

static bool config_is_category(const char *word, size_t length)
{
    for (const char *at = CATEGORIES; *at;) {
        size_t n = strcspn(at, ",");
        if (n == length && !memcmp(at, word, n))
            return true;
        at += n + strspn(at + n, ", ");
    }
    return config_is_plugin("transport", word, length) ||
           config_is_plugin("bootstrap", word, length);
}

/* "" for off, a list of categories as it is, and "all" for any other text. */
static const char *config_debug_categories(const char *text)
{
    bool on;

    if (!sy_parse_bool(text, &on))
        return on ? "all" : "";
    for (const char *word = text;;) {
        size_t length = strcspn(word, ",");
        if (!config_is_category(word, length))
            return "all";
        if (!word[length])
            return text;
        word += length + 1;
    }
}

/* ---- loading ---- */

static struct sy_options *current;

struct sy_options *sy_config_load(const char *file, struct sy_error *err)
{
    struct sy_options *set = sy_options_new();
    struct settings read;

    if (!set) {
        sy_fail(err, ENOMEM, "no memory for options");
        return NULL;
    }
    if (sy_options_read_files(set, file, err) ||
        sy_options_add(set, "core", rows, &read, sizeof read, err)) {
        sy_options_free(set);
        return NULL;
    }
    read.config.debug = config_debug_categories(read.config.debug);
    if (read.config.start.init_timeout <= 0)
        read.config.start.init_timeout = SY_SECONDS_MAX;
    read.config.start.size = sizeof read.config.start;
    sy_config = read.config;
    /* Only here: until now sy_config had strings of the former set. */
    sy_options_free(current);
    current = set;
    return set;
}

struct sy_options *sy_config_options(void)
{
    return current;
}

/* ---- texts at start-up ---- */

void sy_config_print_version(void)
{
    printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    fflush(stdout);
}

/* The specification's variables are those that also have a name from the time of SMA. */
static void config_print_variable(const struct sy_option_shown *option, void *arg)
{
    const char *aliases = option->row->aliases;

    (void)arg;
    if (aliases && !strncmp(aliases, "SMA_", 4))
        sy_print(stdout, "  %s\n    %s.\n    Now: %s (%s)\n", option->env, option->row->help,
                 *option->value ? option->value : "not set", option->origin);
}

void sy_config_print_info(void)
{
    printf("%s, OpenSHMEM %d.%d. Environment variables of the specification:\n",
           SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    if (current)
        sy_options_visit(current, config_print_variable, NULL);
    printf("All options of the library, their values and where they are set: run oshinfo.\n");
    fflush(stdout);
}

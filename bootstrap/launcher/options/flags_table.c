/* The options of oshrun: see flags_table.h. The names are those that users know from mpiexec,
 * prterun and srun. */
#include "bootstrap/launcher/options/flags_table.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "bootstrap/control/protocol.h"
#include "bootstrap/launcher/spec.h"
#include "config.h"
#include "util/net/ports.h"
#include "util/parse.h"
#include "util/standard.h"
#include "util/words.h"

static int flags_table_add_export(struct sy_exports *exports, int kind, const char *name,
                                  const char *value, bool setting)
{
    struct sy_export *item;

    exports->item = sy_memory_resize(exports->item, (exports->count + 1) * sizeof *exports->item);
    item = &exports->item[exports->count++];
    item->kind = kind;
    item->name = sy_memory_string(name);
    item->value = value;
    item->setting = setting;
    return -1;
}

void sy_flags_move_exports(struct sy_exports *to, struct sy_exports *from)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct sy_export *item = &from->item[i];

        flags_table_add_export(to, item->kind, item->name, item->value, item->setting);
        free(item->name);
    }
    free(from->item);
    memset(from, 0, sizeof *from);
}

static int flags_table_needs(const struct sy_parser *parser, const char *what)
{
    return sy_flags_wrong("%s needs %s, not '%s'", parser->option, what, parser->value);
}

/* VAR, VAR=VALUE or PATTERN*. */
static int flags_table_export_word(struct sy_exports *exports, const char *option, char *word)
{
    char *equals = strchr(word, '=');

    if (equals)
        *equals = '\0';
    size_t stem = strlen(word);
    if (!equals && stem && word[stem - 1] == '*')
        stem--;
    if ((stem == 0 && !*word) || strcspn(word, "*?[= ") < stem)
        return sy_flags_wrong("%s needs VAR, VAR=VALUE or a beginning with * at its end, not '%s'",
                              option, word);
    if (strncmp(word, "SHMEM_BOOT_", 11) == 0)
        return sy_flags_wrong("%s %s: the variables SHMEM_BOOT_* are set by oshrun itself", option,
                              word);
    return flags_table_add_export(exports, equals ? SY_EXPORT_SET : SY_EXPORT_TAKE, word,
                                  equals ? equals + 1 : NULL, equals != NULL);
}

static int flags_table_export_list(struct sy_exports *exports, const char *option, char *list)
{
    char *save = NULL;
    int rc = -1;

    for (char *word = strtok_r(list, ",", &save); word && rc < 0; word = strtok_r(NULL, ",", &save))
        rc = flags_table_export_word(exports, option, word);
    return rc;
}

/* Where the option's variables go: to this program's, or to those of all. */
static struct sy_exports *flags_table_exports(const struct sy_parser *parser)
{
    return parser->flag->number ? &parser->flags->exports : &parser->app->exports;
}

static int flags_table_take_export(struct sy_parser *parser)
{
    return flags_table_export_word(&parser->app->exports, parser->option, parser->value);
}

static int flags_table_take_pair(struct sy_parser *parser)
{
    char *value = parser->value;

    if (strncmp(value, "SHMEM_BOOT_", 11) == 0)
        return sy_flags_wrong("%s %s: the variables SHMEM_BOOT_* are set by oshrun itself",
                              parser->option, value);
    return flags_table_add_export(flags_table_exports(parser), SY_EXPORT_SET, value, parser->second,
                                  true);
}

/* A change to a variable, which the row's number says. */
static int flags_table_take_change(struct sy_parser *parser)
{
    return flags_table_add_export(&parser->app->exports, parser->flag->number, parser->value,
                                  parser->second, false);
}

static int flags_table_take_list(struct sy_parser *parser)
{
    return flags_table_export_list(flags_table_exports(parser), parser->option, parser->value);
}

/* Takes srun's --export: ALL, NONE, and variables. */
static int flags_table_take_srun_export(struct sy_parser *parser)
{
    char *save = NULL;
    int rc = -1;

    parser->flags->inherit = SY_INHERIT_NONE;
    for (char *word = strtok_r(parser->value, ",", &save); word && rc < 0;
         word = strtok_r(NULL, ",", &save)) {
        if (strcmp(word, "ALL") == 0)
            parser->flags->inherit = SY_INHERIT_ALL;
        else if (strcmp(word, "NONE") != 0)
            rc = flags_table_export_word(&parser->flags->exports, parser->option, word);
    }
    return rc;
}

static int flags_table_take_number(struct sy_parser *parser)
{
    long n;

    if (sy_parse_int(parser->value, 1, SY_LAUNCH_PES_MAX, &n) != 0)
        return sy_flags_wrong("%s needs a number of PEs from 1 to %d, not '%s'", parser->option,
                              SY_LAUNCH_PES_MAX, parser->value);
    /* -c is Open MPI's number of PEs and srun's number of processors for each. */
    bool c = !strcmp(parser->option, "-c");
    if (parser->app->npes && c != parser->by_c)
        return sy_flags_wrong("-c is the number of PEs, as -n, so only one of them can be given; "
                              "how many processors each PE needs is said by --cpus-per-pe");
    parser->by_c = c;
    parser->app->npes = (int)n;
    return -1;
}

static int flags_table_take_directory(struct sy_parser *parser)
{
    parser->app->directory = parser->value;
    return -1;
}

/* The name of a file of hosts, where the row has a number, or hosts. */
static int flags_table_take_hosts(struct sy_parser *parser)
{
    struct sy_hostlist *hosts = &parser->flags->hosts;
    char *fault = parser->flag->number ? sy_hostlist_read(hosts, parser->value)
                                       : sy_hostlist_add(hosts, parser->value);
    int rc = fault ? sy_flags_wrong("%s", fault) : -1;

    free(fault);
    return rc;
}

/* Takes prterun's modifiers, such as ":oversubscribe", off the end of `value`. */
static void flags_table_take_modifiers(struct sy_parser *parser, char *value)
{
    static const char *const KNOWN[] = {"oversubscribe", "nooversubscribe", "nolocal",
                                        "overload-allowed", "if-supported"};
    char *colon;

    while ((colon = strrchr(value, ':'))) {
        size_t i = 0;
        long cpus;

        if (strncasecmp(colon + 1, "pe=", 3) == 0 &&
            sy_parse_int(colon + 4, 1, SY_LAUNCH_PES_MAX, &cpus) == 0) {
            parser->flags->cpus = (int)cpus;
            *colon = '\0';
            continue;
        }
        while (i < sizeof KNOWN / sizeof *KNOWN && strcasecmp(colon + 1, KNOWN[i]) != 0)
            i++;
        if (i == sizeof KNOWN / sizeof *KNOWN)
            return;
        parser->flags->oversubscribe = parser->flags->oversubscribe || i == 0;
        parser->flags->skip_own_host = parser->flags->skip_own_host || i == 2;
        parser->flags->overload = parser->flags->overload || i == 3;
        *colon = '\0';
    }
}

static int flags_table_take_mapping(struct sy_parser *parser)
{
    char *value = parser->value, *end;
    long n;

    flags_table_take_modifiers(parser, value);
    if (!*value) /* nothing but modifiers */
        return -1;
    if (strncmp(value, "ppr:", 4) == 0) {
        n = strtol(value + 4, &end, 10);
        if (n > 0 && n <= SY_LAUNCH_PES_MAX && strcmp(end, ":node") == 0) {
            parser->flags->per_host = (int)n;
            return -1;
        }
    }
    if (strcmp(value, "node") == 0 || strcmp(value, "cyclic") == 0) {
        parser->flags->cyclic = true;
        return -1;
    }
    if (strcmp(value, "slot") == 0 || strcmp(value, "core") == 0 || strcmp(value, "block") == 0) {
        parser->flags->cyclic = false;
        return -1;
    }
    return flags_table_needs(
        parser,
        "slot (fill a host before the next), node (one on each host in turn) or ppr:N:node");
}

static int flags_table_take_binding(struct sy_parser *parser)
{
    static const char *const NAMES[SY_BINDINGS] = {
        [SY_BIND_NONE] = "none no",
        [SY_BIND_HWTHREAD] = "hwthread threads",
        [SY_BIND_CORE] = "core cores",
        [SY_BIND_NUMA] = "numa ldoms",
        [SY_BIND_SOCKET] = "socket sockets package",
    };

    flags_table_take_modifiers(parser, parser->value);
    for (int binding = SY_BIND_NONE; binding < SY_BINDINGS; binding++) {
        if (sy_words_have(NAMES[binding], ' ', parser->value, strlen(parser->value))) {
            parser->flags->binding = binding;
            return -1;
        }
    }
    return flags_table_needs(parser, "none, core, socket, numa or hwthread");
}

/* Takes prterun's --display: map, bind, allocation. */
static int flags_table_take_display(struct sy_parser *parser)
{
    char *save = NULL;

    for (char *word = strtok_r(parser->value, ",", &save); word;
         word = strtok_r(NULL, ",", &save)) {
        if (strcmp(word, "bind") == 0)
            parser->flags->report_bindings = true;
        else if (strcmp(word, "map") == 0 || strcmp(word, "allocation") == 0)
            parser->flags->display_map = true;
        else
            return sy_flags_wrong("%s needs map, allocation or bind, not '%s'", parser->option,
                                  word);
    }
    return -1;
}

/* A pattern for lines or names of files. Other launchers know more letters than these three. */
static int flags_table_set_pattern(struct sy_parser *parser, const char *value)
{
    for (const char *at = value; (at = strchr(at, '%')); at += 2)
        if (!at[1] || !strchr("rh%", at[1]))
            return flags_table_needs(
                parser, "a text in which %r is the PE, %h its host and %% a percent sign");
    *(const char **)((char *)parser->flags + parser->flag->at) = value;
    return -1;
}

static int flags_table_take_pattern(struct sy_parser *parser)
{
    return flags_table_set_pattern(parser, parser->value);
}

/* A word of prterun's --output, where that is not a name of files. */
static bool flags_table_take_output_word(struct sy_flags *flags, const char *word)
{
    if (strcmp(word, "tag") == 0 || strcmp(word, "rank") == 0)
        flags->label = true;
    else if (strcmp(word, "timestamp") == 0)
        flags->timestamp = true;
    else if (strcmp(word, "merge-stderr-to-stdout") == 0)
        flags->merge_stderr = true;
    else
        return false;
    return true;
}

static int flags_table_take_output(struct sy_parser *parser)
{
    char *value = parser->value;
    struct sy_flags *flags = parser->flags;

    while (value) {
        size_t length = strcspn(value, ",");
        char *word = sy_memory_check(strndup(value, length));
        bool known = flags_table_take_output_word(flags, word);

        free(word);
        if (!known)
            return flags_table_set_pattern(parser,
                                           strncmp(value, "file=", 5) == 0 ? value + 5 : value);
        value = value[length] ? value + length + 1 : NULL;
    }
    return -1;
}

static int flags_table_take_input(struct sy_parser *parser)
{
    char *value = parser->value;
    long pe;

    if (strcmp(value, "none") == 0)
        parser->flags->input = SY_STDIN_NONE;
    else if (strcmp(value, "all") == 0)
        parser->flags->input = SY_STDIN_ALL;
    else if (sy_parse_int(value, 0, SY_LAUNCH_PES_MAX, &pe) == 0)
        parser->flags->input = (int)pe;
    else
        return flags_table_needs(parser, "none, all or the number of a PE");
    return -1;
}

static int flags_table_take_kill(struct sy_parser *parser)
{
    bool on = true;

    if (parser->value && sy_parse_bool(parser->value, &on) != 0)
        return flags_table_needs(parser, "0 or 1");
    parser->flags->tolerant = !on;
    return -1;
}

static int flags_table_take_heap(struct sy_parser *parser)
{
    size_t size;

    if (sy_parse_size(parser->value, &size) != 0)
        return flags_table_needs(parser, "a size such as 64m or 1.5g");
    return sy_flags_set(parser, "SHMEM_SYMMETRIC_SIZE", parser->value);
}

static int flags_table_take_ports(struct sy_parser *parser)
{
    unsigned first, last;

    if (sy_ports_read(parser->value, &first, &last) != 0)
        return flags_table_needs(parser, "the first and the last port, such as 5000:5100");
    return sy_flags_set(parser, "SHMEM_TCP_PORT_RANGE", parser->value);
}

static int flags_table_take_config(struct sy_parser *parser)
{
    struct sy_flags *flags = parser->flags;

    free(flags->config);
    flags->config = realpath(parser->value, NULL);
    if (!flags->config || access(flags->config, R_OK) != 0)
        return sy_flags_wrong("%s: cannot read '%s': %s", parser->option, parser->value,
                              strerror(errno));
    return sy_flags_set(parser, "SHMEM_CONFIG", flags->config);
}

int sy_flags_set(struct sy_parser *parser, const char *variable, const char *value)
{
    const char *equals = strchr(variable, '=');
    char *name = sy_memory_check(strndup(variable, strcspn(variable, "=")));

    flags_table_add_export(&parser->flags->exports, SY_EXPORT_SET, name,
                           equals ? equals + 1 : value, true);
    free(name);
    return -1;
}

static int flags_table_print_version(struct sy_parser *parser)
{
    (void)parser;
    puts("oshrun (" PACKAGE_NAME ") " PACKAGE_VERSION);
    return sy_standard_end("oshrun", SY_FLAGS_UNWRITTEN);
}

#define AT(member) offsetof(struct sy_flags, member)

// clang-format off
#define HEADING(text) {NULL, SY_FLAG_ACCEPT, 0, 0, NULL, NULL, NULL, NULL, text}
#define SWITCH(names, member, shown, help) \
    {names, SY_FLAG_SWITCH, AT(member), 0, NULL, NULL, NULL, shown, help}
#define CHOOSE(names, member, number, shown, help) \
    {names, SY_FLAG_CHOOSE, AT(member), number, NULL, NULL, NULL, shown, help}
#define TEXT(names, member, value, shown, help) \
    {names, SY_FLAG_TEXT, AT(member), 0, NULL, NULL, value, shown, help}
#define SECONDS(names, member, shown, help) \
    {names, SY_FLAG_SECONDS, AT(member), 0, NULL, NULL, "SECONDS", shown, help}
#define COUNT(names, member, shown, help) \
    {names, SY_FLAG_COUNT, AT(member), 0, NULL, NULL, "N", shown, help}
#define SETTING(names, variable, value, shown, help) \
    {names, SY_FLAG_SETTING, 0, 0, variable, NULL, value, shown, help}
#define WORD(names, take, value, shown, help) \
    {names, SY_FLAG_WORD, 0, 0, NULL, take, value, shown, help}
#define PAIR(names, take, number, shown, help) \
    {names, SY_FLAG_PAIR, 0, number, NULL, take, "VAR", shown, help}
#define NUMBERED(names, take, number, value, shown, help) \
    {names, SY_FLAG_WORD, 0, number, NULL, take, value, shown, help}
#define PATTERN(names, take, member, shown, help) \
    {names, SY_FLAG_WORD, AT(member), 0, NULL, take, "PATTERN", shown, help}
#define ACCEPT(names, value) {names, SY_FLAG_ACCEPT, 0, 0, NULL, NULL, value, NULL, NULL}

const struct sy_flag sy_flag_rows[] = {
    HEADING("How many, and where"),
    WORD("n np ntasks c", flags_table_take_number, "N", "-n, -np, --ntasks N",
         "run N PEs (default: 1, or all slots of the hosts that are named)"),
    COUNT("N npernode ppn ntasks-per-node perhost", per_host, "-N, -ppn, --npernode N", "run N PEs on each host"),
    CHOOSE("pernode", per_host, 1, NULL, NULL),
    WORD("H host hosts w nodelist", flags_table_take_hosts, "LIST", "-H, --host LIST",
         "hosts: a,b:4,n[01-08]; HOST:SLOTS says how many PEs it is meant for"),
    NUMBERED("hostfile machinefile f default-hostfile", flags_table_take_hosts, 1, "FILE", "--hostfile FILE",
         "hosts, one a line, with slots=N and max-slots=N"),
    WORD("map-by m distribution", flags_table_take_mapping, "HOW", "--map-by HOW",
         "slot: fill a host before the next (default); node: one on each host in turn"),
    SWITCH("rr grr bynode", cyclic, NULL, NULL),
    ACCEPT("byslot nooversubscribe", NULL),
    SWITCH("oversubscribe O overcommit", oversubscribe, "--oversubscribe", "more PEs on a host than its slots"),
    COUNT("max-slots", most_per_host, "--max-slots N", "at most N PEs on any host"),
    SWITCH("skip-launch-node nolocal", skip_own_host, "--skip-launch-node", "no PEs on the host that oshrun runs on"),
    WORD("bind-to bind cpu-bind", flags_table_take_binding, "UNIT", "--bind-to UNIT",
         "bind each PE to a core, socket, numa, hwthread or none (default: its share of the processors)"),
    COUNT("cpus-per-pe cpus-per-task cpus-per-proc cpus-per-rank", cpus, "--cpus-per-pe N",
          "processors, or threads, that each PE needs: it is bound to as many or more, or not at all"),
    CHOOSE("bind-to-core", binding, SY_BIND_CORE, NULL, NULL),
    CHOOSE("bind-to-socket", binding, SY_BIND_SOCKET, NULL, NULL),
    CHOOSE("bind-to-none", binding, SY_BIND_NONE, NULL, NULL),
    SWITCH("report-bindings", report_bindings, "--report-bindings", "say which processors each PE has"),
    WORD("app configfile", sy_flags_read_file, "FILE", "--app FILE",
         "programs with their options, one a line, instead of those on the command line"),
    SWITCH("display-map show-map display-allocation", display_map, "--display-map", "say which PE runs where"),
    WORD("display", flags_table_take_display, "LIST", NULL, NULL),
    SWITCH("dry-run do-not-launch show test-only", dry_run, "--dry-run", "say what would be started where, and end"),
    SWITCH("check", check, "--check", "no program: try the hosts, and the ways between them, and end"),

    HEADING("Environment and files"),
    WORD("x", flags_table_take_export, "VAR[=VALUE]", "-x VAR[=VALUE]",
         "set or pass on an environment variable; VAR may end in *; repeatable"),
    PAIR("env", flags_table_take_pair, 0, NULL, NULL),
    PAIR("genv", flags_table_take_pair, 1, NULL, NULL),
    WORD("envlist", flags_table_take_list, "LIST", NULL, NULL),
    NUMBERED("genvlist", flags_table_take_list, 1, "LIST", NULL, NULL),
    WORD("export", flags_table_take_srun_export, "LIST", NULL, NULL),
    CHOOSE("envall genvall", inherit, SY_INHERIT_ALL, "--envall", "pass the whole environment to other hosts too"),
    CHOOSE("envnone genvnone", inherit, SY_INHERIT_NONE, "--envnone", "pass nothing of it, but what -x names"),
    NUMBERED("unset-env", flags_table_take_change, SY_EXPORT_UNSET, "VAR", "--unset-env VAR", "leave a variable out"),
    PAIR("prepend-env", flags_table_take_change, SY_EXPORT_PREPEND, "--prepend-env VAR TEXT", "put a text before what a variable holds"),
    WORD("wdir wd chdir D", flags_table_take_directory, "DIR", "--wdir DIR", "run the program in this directory"),

    HEADING("Input and output"),
    SWITCH("l label tag-output prepend-rank", label, "-l, --label",
           "begin each line of output with its PE: \"[3] \""),
    PATTERN("prepend-pattern", flags_table_take_pattern, label_pattern, "--prepend-pattern PATTERN",
         "begin it with this: %r is the PE, %h its host, %% a percent sign"),
    SWITCH("timestamp timestamp-output", timestamp, "--timestamp", "and before that with the time"),
    PATTERN("o output output-filename outfile-pattern", flags_table_take_output, out_file, "-o, --output PATTERN",
         "write output to files: %r, %h and %% as above"),
    PATTERN("e error errfile-pattern", flags_table_take_pattern, err_file, "-e, --error PATTERN",
         "the same for the error output"),
    SWITCH("merge-stderr merge-stderr-to-stdout", merge_stderr, "--merge-stderr",
           "the error output of PEs goes where their output goes"),
    SWITCH("all-messages", all_messages, "--all-messages",
           "show a warning or error of the library for each PE, also where many say the same"),
    WORD("stdin input i", flags_table_take_input, "WHO", "--stdin WHO",
         "who gets standard input: none, all, or the number of a PE (default: 0)"),

    HEADING("Run and end"),
    SECONDS("timeout", timeout, "--timeout SECONDS",
            "end the job after this time, with status 124, and show where each PE is"),
    SWITCH("no-stack-traces", no_traces, "--no-stack-traces", "but without stack traces"),
    SWITCH("enable-recovery continuous disable-auto-cleanup", tolerant, NULL, NULL),
    ACCEPT("get-stack-traces report-state-on-timeout disable-recovery", NULL),
    SECONDS("grace", grace, "--grace SECONDS",
            "time from SIGTERM to SIGKILL when a job is ended (default: 2, and 0.6 when a PE has failed)"),
    WORD("kill-on-bad-exit K", flags_table_take_kill, "[0|1]", "--kill-on-bad-exit=0",
         "a PE that ends with an error does not end the others"),
    SWITCH("print-all-exitcodes", all_statuses, "--print-all-exitcodes", "say how each PE ended"),
    SECONDS("spawn-timeout", spawn_timeout, "--spawn-timeout SECONDS",
            "time for reaching all hosts (default: 60)"),
    SECONDS("host-timeout", silence, "--host-timeout SECONDS",
            "silence after which a host is lost (default: 7)"),
    SWITCH("q quiet Q", quiet, "-q, --quiet", "do not say why a job ended; the status tells"),
    SWITCH("v verbose d", verbose, "-v, --verbose", "say what is done"),

    HEADING("Ways to other hosts"),
    TEXT("launcher launch plm", launcher, "NAME", "--launcher NAME",
         "how to start oshrun there: ssh, slurm (srun), fork (here, to try), or a command"),
    TEXT("launcher-exec bootstrap-exec", launcher_exec, "COMMAND", "--launcher-exec COMMAND",
         "the command to use for it; it gets the host, and what to run there as one word"),
    TEXT("launcher-args", launcher_args, "WORDS", "--launcher-args WORDS", "more words for it, before the host"),
    ACCEPT("tunnel noprefix no-app-prefix leave-session-attached disable-x do-not-resolve novm", NULL),
    ACCEPT("mpi rmk demux usize topolib personality", "WORD"),
    ACCEPT("pmi-port disable-hostname-propagation use-hwthread-cpus", NULL),
    ACCEPT("unbuffered u overlap exact show-progress", NULL),
    ACCEPT("job-name J comment", "TEXT"),

    HEADING("Settings of the library"),
    WORD("heap", flags_table_take_heap, "SIZE", "--heap SIZE", "symmetric heap of each PE: 64m, 1.5g (SHMEM_SYMMETRIC_SIZE)"),
    SETTING("transport transports", "SHMEM_TRANSPORTS", "LIST", "--transport LIST",
            "transports, best first: shm,tcp; or what to leave out: ^ofi (SHMEM_TRANSPORTS)"),
    SETTING("if-include iface interfaces", "SHMEM_TCP_INTERFACES", "LIST", "--if-include LIST",
            "interfaces for TCP: names, globs, ranges of addresses; ! excludes (SHMEM_TCP_INTERFACES)"),
    WORD("port-range", flags_table_take_ports, "A:B", "--port-range A:B",
            "ports for TCP (SHMEM_TCP_PORT_RANGE); --check opens its ports among them too"),
    SETTING("family", "SHMEM_TCP_FAMILY", "KIND", "--family KIND", "addresses for TCP: auto, ipv4, ipv6 (SHMEM_TCP_FAMILY)"),
    SETTING("ipv4 4", "SHMEM_TCP_FAMILY=ipv4", NULL, NULL, NULL),
    SETTING("ipv6 6", "SHMEM_TCP_FAMILY=ipv6", NULL, NULL, NULL),
    SETTING("bootstrap", "SHMEM_BOOTSTRAP", "NAME", "--bootstrap NAME", "bootstrap plugin (SHMEM_BOOTSTRAP)"),
    SETTING("info", "SHMEM_INFO=1", NULL, "--info", "print the library's variables at start-up (SHMEM_INFO)"),
    WORD("conf config", flags_table_take_config, "FILE", "--conf FILE", "configuration file (SHMEM_CONFIG)"),
    ACCEPT("allow-run-as-root", NULL),

    HEADING("Other"),
    WORD("h help", sy_flags_print_help, NULL, "-h, --help", "print this and end"),
    WORD("V version", flags_table_print_version, NULL, "-V, --version", "print the version and end"),
};
// clang-format on

const int sy_flag_count = sizeof sy_flag_rows / sizeof *sy_flag_rows;

/* The command line of oshrun: one table gives the names, the help text and what to do. */
#define _GNU_SOURCE 1
#include "bootstrap/launcher/flags.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "bootstrap/launcher/memory.h"
#include "config.h"
#include "util/parse.h"

enum { MOST_PES = 65536 };

enum action { NPES, EXPORT, PAIR, DIRECTORY, LABEL, TIMEOUT, GRACE, HEAP, TRANSPORTS, CONFIG };
enum { QUIET = CONFIG + 1, VERBOSE, HELP, VERSION };

struct flag {
    const char *names; /* without dashes, divided by blanks; the first ones are shown by --help */
    int action;
    const char *value; /* what the help calls the value; NULL: there is none */
    const char *shown; /* NULL: an alias that needs no line of its own */
    const char *help;
};

// clang-format off
static const struct flag FLAGS[] = {
    {"n np ntasks", NPES, "N", "-n, -np, --ntasks N", "run N PEs (default: 1)"},
    {"x", EXPORT, "VAR[=VALUE]", "-x VAR[=VALUE]",
     "set or pass on an environment variable; VAR may end in *; repeatable"},
    {"env genv", PAIR, "VAR", NULL, NULL},
    {"wdir wd chdir D", DIRECTORY, "DIR", "--wdir DIR", "run the program in this directory"},
    {"l label tag-output prepend-rank", LABEL, NULL, "-l, --label",
     "begin each line of output with its PE: \"[3] \""},
    {"timeout", TIMEOUT, "SECONDS", "--timeout SECONDS", "end the job after this time, with status 124"},
    {"grace", GRACE, "SECONDS", "--grace SECONDS",
     "time from SIGTERM to SIGKILL when a job is ended (default: 2, and 0.6 when a PE has failed)"},
    {"heap", HEAP, "SIZE", "--heap SIZE", "symmetric heap of each PE: 64m, 1.5g (SHMEM_SYMMETRIC_SIZE)"},
    {"transport transports", TRANSPORTS, "LIST", "--transport LIST",
     "transports, best first: shm,tcp; or what to leave out: ^ofi (SHMEM_TRANSPORTS)"},
    {"conf config", CONFIG, "FILE", "--conf FILE", "configuration file (SHMEM_CONFIG)"},
    {"q quiet", QUIET, NULL, "-q, --quiet", "do not say why a job ended; the status tells"},
    {"v verbose", VERBOSE, NULL, "-v, --verbose", "say what is done"},
    {"h help", HELP, NULL, "-h, --help", "print this and end"},
    {"V version", VERSION, NULL, "-V, --version", "print the version and end"},
};
// clang-format on

enum { FLAG_COUNT = sizeof FLAGS / sizeof *FLAGS };

static int bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static int bad(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fputs("oshrun: ", stderr);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputs("\nusage: oshrun [options] program [arguments]    (oshrun --help lists the options)\n",
          stderr);
    return 2;
}

static int print_help(void)
{
    puts("usage: oshrun [options] program [arguments]\n"
         "\n"
         "Runs N copies of a program as the PEs of one OpenSHMEM job on this host.\n");
    for (int i = 0; i < FLAG_COUNT; i++) {
        if (FLAGS[i].shown)
            printf("  %-22s %s\n", FLAGS[i].shown, FLAGS[i].help);
    }
    puts("\n"
         "Long options may be written with one dash or two, and as --option=value; -- ends them.\n"
         "Standard input goes to PE 0. Every PE finds its number in SHMEM_BOOT_PE and the number "
         "of\n"
         "PEs in SHMEM_BOOT_NPES.\n"
         "Exit status: that of the first PE that failed, 128+signal if a signal ended it; the\n"
         "argument of shmem_global_exit; 124 after --timeout; 126 or 127 if the program cannot be\n"
         "run; 2 for a wrong command line; 128+signal if a signal to oshrun ended the job.");
    return fflush(stdout) == 0 ? 0 : 1;
}

static bool has_name(const char *names, const char *name, size_t length)
{
    while (*names) {
        size_t n = strcspn(names, " ");

        if (n == length && strncmp(names, name, n) == 0)
            return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

static const struct flag *find_flag(const char *name, size_t length)
{
    for (int i = 0; i < FLAG_COUNT; i++) {
        if (has_name(FLAGS[i].names, name, length))
            return &FLAGS[i];
    }
    return NULL;
}

static int unknown(char *word)
{
    const char *names[FLAG_COUNT * 4];
    char *text[FLAG_COUNT];
    size_t count = 0;
    const char *near;
    int rc;

    for (int i = 0; i < FLAG_COUNT; i++) {
        char *save = NULL;

        text[i] = sy_memory_string(FLAGS[i].names);
        for (char *name = strtok_r(text[i], " ", &save); name; name = strtok_r(NULL, " ", &save)) {
            if (name[1])
                names[count++] = name;
        }
    }
    word[strcspn(word, "=")] = '\0';
    word += strspn(word, "-");
    near = sy_nearest(word, names, count);
    rc = near ? bad("unknown option '--%s'; did you mean '--%s'?", word, near)
              : bad("unknown option '%s%s'", word[0] && word[1] ? "--" : "-", word);
    for (int i = 0; i < FLAG_COUNT; i++)
        free(text[i]);
    return rc;
}

static int add_export(struct sy_flags *flags, const char *name, const char *value)
{
    size_t stem = strlen(name);

    if (!value && stem && name[stem - 1] == '*')
        stem--;
    if ((stem == 0 && !*name) || strcspn(name, "*?[= ") < stem)
        return bad("-x needs VAR, VAR=VALUE or a beginning with * at its end, not '%s'", name);
    if (strncmp(name, "SHMEM_BOOT_", 11) == 0)
        return bad("-x %s: the variables SHMEM_BOOT_* are set by oshrun itself", name);
    flags->export = sy_memory_resize(flags->export, (flags->exports + 1) * sizeof *flags->export);
    flags->export[flags->exports].name = name;
    flags->export[flags->exports++].value = value;
    return -1;
}

static int set_number(struct sy_flags *flags, const char *option, const char *text)
{
    long n;

    if (sy_parse_int(text, 1, MOST_PES, &n) != 0)
        return bad("%s needs a number of PEs from 1 to %d, not '%s'", option, MOST_PES, text);
    flags->npes = (int)n;
    return -1;
}

static int set_seconds(double *out, const char *option, const char *text)
{
    if (sy_parse_seconds(text, out) != 0)
        return bad("%s needs a time in seconds, not '%s'", option, text);
    return -1;
}

static int set_heap(struct sy_flags *flags, const char *option, const char *text)
{
    size_t size;

    if (sy_parse_size(text, &size) != 0)
        return bad("%s needs a size such as 64m or 1.5g, not '%s'", option, text);
    flags->heap = text;
    return -1;
}

static int set_config(struct sy_flags *flags, const char *option, const char *path)
{
    free(flags->config);
    flags->config = realpath(path, NULL);
    if (!flags->config || access(flags->config, R_OK) != 0)
        return bad("%s: cannot read '%s': %s", option, path, strerror(errno));
    return -1;
}

static int apply(struct sy_flags *flags, const struct flag *flag, const char *option, char *value)
{
    switch (flag->action) {
    case NPES:
        return set_number(flags, option, value);
    case EXPORT: {
        char *equals = strchr(value, '=');

        if (equals)
            *equals = '\0';
        return add_export(flags, value, equals ? equals + 1 : NULL);
    }
    case DIRECTORY:
        flags->directory = value;
        return -1;
    case LABEL:
        flags->label = true;
        return -1;
    case TIMEOUT:
        return set_seconds(&flags->timeout, option, value);
    case GRACE:
        return set_seconds(&flags->grace, option, value);
    case HEAP:
        return set_heap(flags, option, value);
    case TRANSPORTS:
        flags->transports = value;
        return -1;
    case CONFIG:
        return set_config(flags, option, value);
    case QUIET:
        flags->quiet = true;
        return -1;
    case VERBOSE:
        flags->verbose = true;
        return -1;
    case HELP:
        return print_help();
    default:
        puts("oshrun (" PACKAGE_NAME ") " PACKAGE_VERSION);
        return fflush(stdout) == 0 ? 0 : 1;
    }
}

/* One option at argv[*at]; moves *at to its last word. */
static int parse_option(struct sy_flags *flags, char **argv, int *at)
{
    char *word = argv[*at];
    char *name = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(name, "=");
    const struct flag *flag = find_flag(name, length);
    char *value = NULL;

    if (!flag && name == word + 1 && name[0] == 'n' && isdigit((unsigned char)name[1])) {
        flag = find_flag("n", 1); /* -n4 */
        return apply(flags, flag, "-n", word + 2);
    }
    if (!flag)
        return unknown(word);
    if (name[length] == '=') {
        value = name + length + 1;
        name[length] = '\0';
    }
    if (!flag->value)
        return value ? bad("option '%s' takes no value", word) : apply(flags, flag, word, NULL);
    if (!value) {
        value = argv[*at + 1];
        if (!value)
            return bad("option '%s' needs a value: %s", word, flag->value);
        ++*at;
    }
    if (flag->action == PAIR) {
        if (!argv[*at + 1])
            return bad("option '%s' needs two words: VAR VALUE", word);
        return add_export(flags, value, argv[++*at]);
    }
    return apply(flags, flag, word, value);
}

int sy_flags_parse(struct sy_flags *flags, int argc, char **argv)
{
    int at = 1;

    memset(flags, 0, sizeof *flags);
    flags->npes = 1;
    flags->grace = -1;
    for (; at < argc && argv[at][0] == '-'; at++) {
        int rc;

        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        rc = parse_option(flags, argv, &at);
        if (rc >= 0)
            return rc;
    }
    if (at >= argc)
        return bad("no program was named");
    flags->program = argv + at;
    return -1;
}

void sy_flags_free(struct sy_flags *flags)
{
    free(flags->config);
    free(flags->export);
}

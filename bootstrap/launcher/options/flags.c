/* The command line of oshrun, read by the table of flags_table.c. */
#include "bootstrap/launcher/options/flags.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "bootstrap/launcher/options/flags_table.h"
#include "bootstrap/launcher/memory.h"
#include "bootstrap/launcher/stdio/plain.h"
#include "util/parse.h"
#include "util/standard.h"
#include "util/text_file.h"
#include "util/words.h"

enum { DEEPEST = 8 /* files of --app within each other */ };

static const double SPAWN = 60, SILENCE = 7; /* seconds */

const char *sy_flags_tool = "oshrun", *sy_flags_synopsis = "[options] program [arguments]";

int sy_flags_wrong(const char *fmt, ...)
{
    char *text, *plain;
    va_list args;

    va_start(args, fmt);
    text = sy_memory_vtext(fmt, args);
    va_end(args);
    plain = sy_plain_string(text);
    fprintf(stderr, "%s: %s\nusage: %s %s    (%s --help lists the options)\n", sy_flags_tool, plain,
            sy_flags_tool, sy_flags_synopsis, sy_flags_tool);
    free(plain);
    free(text);
    return 2;
}

int sy_flags_complain(char *why)
{
    char *text = sy_plain_string(why);

    fprintf(stderr, "%s: %s\n", sy_flags_tool, text);
    free(text);
    free(why);
    return 2;
}

int sy_flags_print_help(struct sy_parser *parser)
{
    (void)parser;
    puts("usage: oshrun [options] program [arguments] [: [options] program [arguments]]...\n"
         "\n"
         "Runs copies of a program as the PEs of one OpenSHMEM job, on this host or on several.");
    for (int i = 0; i < sy_flag_count; i++) {
        const struct sy_flag *flag = &sy_flag_rows[i];

        if (!flag->names)
            printf("\n%s\n", flag->help);
        else if (flag->shown)
            printf("  %-26s %s\n", flag->shown, flag->help);
    }
    puts("\n"
         "Long options may be written with one dash or two, and as --option=value; -- ends them.\n"
         "Names that mpiexec, prterun and srun have for the same things are known as well.\n"
         "Without -H and --hostfile the hosts are those of the batch job (Slurm, PBS, LSF, Grid\n"
         "Engine), or this one. Every PE finds its number in SHMEM_BOOT_PE and the number of PEs\n"
         "in SHMEM_BOOT_NPES.\n"
         "Exit status: that of the first PE that failed, 128+signal if a signal ended it; the\n"
         "argument of shmem_global_exit; 124 after --timeout; 125 if output cannot be written;\n"
         "126 or 127 if the program cannot be run; 2 for a wrong command line; 128+signal if a\n"
         "signal to oshrun ended the job.");
    return sy_standard_end("oshrun", SY_FLAGS_UNWRITTEN);
}

static const struct sy_flag *flags_find_flag(const char *name, size_t length)
{
    for (int i = 0; i < sy_flag_count; i++) {
        if (sy_words_have(sy_flag_rows[i].names, ' ', name, length))
            return &sy_flag_rows[i];
    }
    return NULL;
}

static int flags_unknown(const char *word)
{
    char *all = NULL, *bare = sy_memory_string(word), *save = NULL;
    const char **names = NULL, *near;
    size_t length = 0, count = 0;
    FILE *out = sy_memory_stream(&all, &length);

    for (int i = 0; i < sy_flag_count; i++)
        fprintf(out, "%s ", sy_flag_rows[i].names ? sy_flag_rows[i].names : "");
    sy_memory_stream_end(out);
    for (char *name = strtok_r(all, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        if (!name[1])
            continue;
        names = sy_memory_resize(names, (count + 1) * sizeof *names);
        names[count++] = name;
    }
    bare[strcspn(bare, "=")] = '\0';
    near = sy_nearest(bare + strspn(bare, "-"), names, count);
    int rc = near ? sy_flags_wrong("unknown option '%s'; did you mean '--%s'?", bare, near)
                  : sy_flags_wrong("unknown option '%s'", bare);
    free(names);
    free(bare);
    free(all);
    return rc;
}

/* Does what the option that has been read says. */
static int flags_apply(struct sy_parser *parser, const struct sy_flag *flag)
{
    const char *option = parser->option, *value = parser->value;
    void *at = (char *)parser->flags + flag->at;
    long number;

    parser->flag = flag;
    switch (flag->kind) {
    case SY_FLAG_SWITCH:
        *(bool *)at = true;
        return -1;
    case SY_FLAG_CHOOSE:
        *(int *)at = flag->number;
        return -1;
    case SY_FLAG_TEXT:
        *(const char **)at = value;
        return -1;
    case SY_FLAG_SECONDS:
        if (sy_parse_seconds(value, at) != 0)
            return sy_flags_wrong("%s needs a time in seconds, not '%s'", option, value);
        return -1;
    case SY_FLAG_COUNT:
        if (sy_parse_int(value, 1, 1 << 20, &number) != 0)
            return sy_flags_wrong("%s needs a number above 0, not '%s'", option, value);
        *(int *)at = (int)number;
        return -1;
    case SY_FLAG_SETTING:
        return sy_flags_set(parser, flag->text, value);
    case SY_FLAG_ACCEPT:
        return -1;
    default:
        return flag->take(parser);
    }
}

/* Moves *words to the word that follows, and returns it. After the last one, *words stays and NULL
 * is returned: nothing comes behind the end of a list from a file. */
static char *flags_next_word(char ***words)
{
    return (*words)[1] ? *++*words : NULL;
}

/* The option at *words; moves *words to its last word. */
static int flags_parse_option(struct sy_parser *parser, char ***words)
{
    char *word = **words;
    char *name = word + (word[1] == '-' ? 2 : 1);
    size_t length = strcspn(name, "=");
    const struct sy_flag *flag = flags_find_flag(name, length);
    bool optional = flag && flag->value && *flag->value == '[';
    const char *advice;

    parser->option = word;
    parser->value = parser->second = NULL;
    if (!flag && name == word + 1 && memchr("nNK", name[0], 3) && isdigit((unsigned char)name[1])) {
        flag = flags_find_flag(name, 1); /* -n4 */
        parser->value = word + 2;
        return flags_apply(parser, flag);
    }
    if (!flag && (advice = sy_flags_refused(name, length)))
        return sy_flags_wrong("there is no option '%.*s': %s", (int)(name - word) + (int)length,
                              word, advice);
    if (!flag)
        return flags_unknown(word);
    if (name[length] == '=') {
        parser->value = name + length + 1;
        name[length] = '\0';
    }
    if (!flag->value && parser->value)
        return sy_flags_wrong("option '%s' takes no value", word);
    if (flag->value && !parser->value && !optional) {
        parser->value = flags_next_word(words);
        if (!parser->value)
            return sy_flags_wrong("option '%s' needs a value: %s", word, flag->value);
    }
    if (flag->kind == SY_FLAG_PAIR) {
        parser->second = flags_next_word(words);
        if (!parser->second)
            return sy_flags_wrong("option '%s' needs two words: VAR VALUE", word);
    }
    return flags_apply(parser, flag);
}

static struct sy_app *flags_add_app(struct sy_flags *flags)
{
    struct sy_app *app;

    flags->app = sy_memory_resize(flags->app, (size_t)(flags->apps + 1) * sizeof *flags->app);
    app = &flags->app[flags->apps++];
    memset(app, 0, sizeof *app);
    return app;
}

/* Options and a program, up to the end or a ':'. Moves *words past them. */
static int flags_parse_app(struct sy_parser *parser, char ***words)
{
    char **word = *words;
    struct sy_app app = {0};
    int rc = -1;

    parser->app = &app;
    for (; *word && **word == '-' && rc < 0; word++) {
        if (strcmp(*word, "--") == 0) {
            word++;
            break;
        }
        rc = flags_parse_option(parser, &word);
    }
    app.program = word;
    while (*word && strcmp(*word, ":") != 0)
        word++;
    *words = word;
    if (app.program != word || rc >= 0 || !(parser->flags->apps || parser->flags->check)) {
        if (*word) {
            *word = NULL;
            ++*words;
            if (rc < 0 && !**words)
                rc = sy_flags_wrong("no program was named after ':'");
        }
        if (rc < 0 && app.program == word)
            rc = sy_flags_wrong("no program was named");
        *flags_add_app(parser->flags) = app;
    } else {
        /* Options only, because the programs came from a file: they apply to all programs. */
        sy_flags_move_exports(&parser->flags->exports, &app.exports);
    }
    return rc;
}

/* Divides a line into words, in place, as a shell does with quotes. Returns the words, ended by
 * NULL (allocated). */
static char **flags_split(char *line)
{
    char **words = sy_memory_zeroed(1, sizeof *words), *to = line;
    size_t count = 0;

    for (;;) {
        char quote = '\0';

        line += strspn(line, " \t\r\n");
        if (!*line || *line == '#')
            return words;
        sy_memory_add(&words, &count, to);
        for (; *line && (quote || !strchr(" \t\r\n", *line)); line++) {
            if (*line == quote)
                quote = '\0';
            else if (!quote && (*line == '\'' || *line == '"'))
                quote = *line;
            else
                *to++ = *line;
        }
        line += *line != '\0';
        *to++ = '\0';
    }
}

int sy_flags_read_file(struct sy_parser *parser)
{
    const char *option = parser->option, *path = parser->value;
    struct sy_app *outer = parser->app;
    char *text, *line; /* kept: the programs' arguments are in it */
    struct sy_error why;
    int rc = -1;

    if (++parser->files > DEEPEST)
        return sy_flags_wrong("%s: '%s' is read by a file that is read by it, or more than %d "
                              "files are within each other",
                              option, path, DEEPEST);
    if (sy_text_file_read(path, SY_TEXT_FILE_LIST, &text, &why))
        return sy_flags_wrong("%s: cannot read '%s': %s", option, path, why.text);
    while (rc < 0 && (line = strsep(&text, "\n"))) {
        char **words = flags_split(line);

        while (rc < 0 && *words)
            rc = flags_parse_app(parser, &words);
    }
    parser->app = outer;
    parser->files--;
    if (rc < 0 && !parser->flags->apps)
        rc = sy_flags_wrong("%s: '%s' names no program", option, path);
    return rc;
}

int sy_flags_parse(struct sy_flags *flags, int argc, char **argv)
{
    struct sy_parser parser = {.flags = flags};
    char **words = argv + (argc ? 1 : 0);
    int rc;

    memset(flags, 0, sizeof *flags);
    flags->grace = -1;
    flags->spawn_timeout = SPAWN;
    flags->silence = SILENCE;
    do
        rc = flags_parse_app(&parser, &words);
    while (rc < 0 && *words);
    return rc;
}

static void flags_free_exports(struct sy_exports *exports)
{
    for (size_t i = 0; i < exports->count; i++)
        free(exports->item[i].name);
    free(exports->item);
}

void sy_flags_free(struct sy_flags *flags)
{
    for (int i = 0; i < flags->apps; i++)
        flags_free_exports(&flags->app[i].exports);
    free(flags->app);
    flags_free_exports(&flags->exports);
    sy_hostlist_free(&flags->hosts);
    free(flags->config);
}

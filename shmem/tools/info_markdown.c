/* oshinfo's listing as docs/options.md: what holds for every user of this version, so no values, no
 * paths and nothing of the machine. */
#include <stdio.h>
#include <string.h>

#include "tools/info.h"

static const char introduction[] =
    "# Options\n\n"
    "This page is made by `oshinfo --markdown`. `oshinfo` alone shows the same with the\n"
    "values that hold on your machine, and where each of them was set.\n\n"
    "An option is set, from weakest to strongest, by\n\n"
    "1. its default,\n"
    "2. the system's file `switchyard/shmem.json` in the configuration directory of the\n"
    "   installation (`/usr/local/etc` unless `configure` was told otherwise),\n"
    "3. the user's file `$XDG_CONFIG_HOME/switchyard/shmem.json`, usually\n"
    "   `~/.config/switchyard/shmem.json`,\n"
    "4. the file that `SHMEM_CONFIG` names,\n"
    "5. the environment, as it is when `shmem_init` is called,\n"
    "6. the flags of `oshrun`.\n\n"
    "Files are JSON objects. `{\"log\": {\"level\": \"info\"}}` and `{\"log.level\": \"info\"}` "
    "are the\n"
    "same; `null` stands for the default. A key that no option has is an error, and so is a\n"
    "value that is not allowed; `oshinfo --check-config FILE` looks for both. A file has at most\n"
    "1 MiB and 4096 keys, and a list in it 64 KiB of text. A variable that begins with\n"
    "`SHMEM_` and belongs to no option is a warning.\n\n"
    "A transport that `SHMEM_TRANSPORTS` names several times, as in `name@a,name@b`, is\n"
    "opened as often, each time with options of its own: `SHMEM_NAME_A_X`, or `{\"name@a\":\n"
    "{\"x\": ...}}`, is for `name@a` alone. What is not set for an instance is taken from\n"
    "`SHMEM_NAME_X`, or `{\"name\": ...}`, which is for all. The environment goes before files\n"
    "here too.\n\n"
    "Examples are in `config/examples`, installed as `config` beside this page: machines of a "
    "cloud, hosts with different networks, a\n"
    "laptop, a container; beside them is a schema, made by `oshinfo --schema`, with which\n"
    "editors complete keys and mark mistakes.\n\n"
    "`SHMEM_HOME`, `SHMEM_DIR`, `SHMEM_CC` and `SHMEM_CXX` are read by `oshcc` and `oshc++`,\n"
    "not by programs.\n\n"
    "No option changes how a program ends that does not call `shmem_finalize`. With status 0\n"
    "it finalises on its way out of `main` or `exit`, as the specification says: it completes\n"
    "what is pending and waits for the others. With another status it has failed. It then\n"
    "neither completes nor waits, since the others may be in a call that it will never make,\n"
    "and the launcher ends the job with that status.\n\n"
    "Types:\n\n"
    "* bool: `0`, `no`, `off`, `false` or `1`, `yes`, `on`, `true`, in any case. An empty\n"
    "  variable is off.\n"
    "* flag: as bool, but any other text that is not empty also means on, as the\n"
    "  specification says.\n"
    "* size: bytes, as a whole number or a fraction (`.5`, `1.5e9`), then nothing or one of `k`, "
    "`m`,\n"
    "  `g`, `t` for a multiplication by 1024, 1024², 1024³, 1024⁴. What follows that letter\n"
    "  is ignored: `20MB` is `20m`. Fractions of a byte are rounded up.\n"
    "* seconds: a whole number or a decimal fraction.\n"
    "* text: an empty text means the default.\n"
    "* list: a text with parts divided by semicolons, of words divided by blanks. In files\n"
    "  also an array of such parts, or of objects: `{\"from\": \"pe:0\", \"prefer\": \"NAME\"}` "
    "is\n"
    "  `from=pe:0 prefer=NAME`.\n\n"
    "Where a variable has other names, the first one that is set counts, in the order they\n"
    "are listed. Options marked *job* must be the same on all PEs; the job stops at start-up\n"
    "where they are not.\n";

/* Prints a cell of a table; a vertical bar in it would end the column. */
static void info_markdown_print_cell(const char *text)
{
    for (; *text; text++)
        if (*text == '|')
            fputs("\\|", stdout);
        else
            putchar(*text);
}

static void info_markdown_print_words(const char *words, char divider)
{
    for (const char *at = words; *at;) {
        const char divide[] = {divider, '\0'};
        size_t length = strcspn(at, divide);
        printf("%s`%.*s`", at == words ? "" : ", ", (int)length, at);
        at += length;
        at += *at == divider;
    }
}

static void info_markdown_print_option(const struct sy_option_shown *option, void *arg)
{
    const struct sy_option *row = option->row;
    const char **last = arg;
    char type[1024];

    if (row->flags & SY_OPTION_INERT)
        return;
    if (!*last || strcmp(*last, option->owner) != 0)
        printf("\n## Options of %s\n\n| Variable | Key in files | Type | Default | Meaning |\n"
               "|---|---|---|---|---|\n",
               !strcmp(option->owner, "core") ? "the library" : option->owner);
    *last = option->owner;
    printf("| `%s` | ", option->env);
    if (row->flags & SY_OPTION_EARLY)
        printf("environment only");
    else
        printf("`%s`", row->name);
    printf(" | %s | ", info_type_text(row, type, sizeof type));
    if (*row->def)
        printf("`%s` | ", row->def);
    else
        printf("empty | ");
    info_markdown_print_cell(row->help);
    printf("%s", row->flags & SY_OPTION_JOB ? " (*job*)" : "");
    if (row->aliases) {
        printf(". Other names: ");
        info_markdown_print_words(row->aliases, ' ');
    }
    puts(" |");
}

static void info_markdown_print_inert(const struct sy_option_shown *option, void *arg)
{
    (void)arg;
    if (!(option->row->flags & SY_OPTION_INERT))
        return;
    printf("| `%s` | ", option->env);
    info_markdown_print_cell(option->row->help);
    puts(" |");
}

void info_print_markdown(const struct info *info)
{
    const char *last = NULL;

    fputs(introduction, stdout);
    sy_options_visit(info->options, info_markdown_print_option, &last);
    puts("\n## Names of other libraries without effect here\n\n"
         "Setting one of them does no harm; with `SHMEM_LOG_LEVEL=info` a line says so.\n\n"
         "| Variable | Why |\n|---|---|");
    sy_options_visit(info->options, info_markdown_print_inert, NULL);
}

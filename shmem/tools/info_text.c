/* oshinfo's listing for the user. */
#include <stdio.h>
#include <string.h>

#include <shmem/constants.h>

#include "tools/info.h"
#include "util/printable.h"

enum { WIDTH = 96 };

/* Prints words up to the margin, each line indented. */
static void info_text_print_wrapped(const char *text, int indent)
{
    int column = 0;

    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column && column + 1 + length > WIDTH) {
            putchar('\n');
            column = 0;
        }
        column += printf("%*s%.*s", column ? 1 : indent, "", length, text);
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

/* Prints each transport's lines about protection, wrapped. */
static void info_text_print_protection(const struct info *info)
{
    char line[256];

    puts("\nWhat protects the memory of PEs from other processes");
    for (size_t i = 0; i < info->plugins; i++) {
        const struct info_plugin *p = &info->plugin[i];
        if (!p->protection)
            continue;
        sy_print(stdout, "  %s\n", p->name);
        for (const char *at = p->protection; *at; at += *at == '\n') {
            size_t length = strcspn(at, "\n");
            snprintf(line, sizeof line, "%.*s", (int)length, at);
            info_text_print_wrapped(line, 6);
            at += length;
        }
    }
}

static void info_text_print_counters(const struct info *info)
{
    puts("\nWhat transports count, as SHMEM_DEBUG=counters shows at the end, and SIGUSR1 at any "
         "time");
    for (size_t i = 0; i < info->plugins; i++) {
        const struct sy_counter_row *row = info->plugin[i].counters;
        if (row)
            sy_print(stdout, "  %s\n", info->plugin[i].name);
        for (; row && row->name; row++)
            printf("    %-22s %-12s %s\n", row->name, row->unit, row->help);
    }
}

static void info_text_print_plugins(const struct info *info)
{
    sy_print(stdout, "\nPlugins, searched in %s\n", info->places ? info->places : "(no memory)");
    for (size_t i = 0; i < info->plugins; i++) {
        const struct info_plugin *p = &info->plugin[i];
        sy_print(stdout, "  %-10s %-12s ", p->kind, p->name);
        if (p->device)
            sy_print(stdout, "%-14s %s\n", "", p->path);
        else if (p->loaded)
            sy_print(stdout, "priority %-5ld %s\n", p->priority, p->path);
        else
            sy_print(stdout, "refused: %s\n", p->reason.text);
    }
    if (!info->plugins)
        puts("  none: programs cannot start; the installation is not complete");
}

static void info_text_print_option(const struct sy_option_shown *option, void *arg)
{
    const struct sy_option *row = option->row;
    const char **last = arg;
    char type[1024], facts[1536];

    if (row->flags & SY_OPTION_INERT)
        return;
    if (!*last || strcmp(*last, option->owner) != 0)
        sy_print(stdout, "\nOptions of %s\n",
                 !strcmp(option->owner, "core") ? "the library" : option->owner);
    *last = option->owner;
    sy_print(stdout, "  %s = %s   (%s)\n", option->env, *option->value ? option->value : "\"\"",
             option->origin);
    info_text_print_wrapped(row->help, 6);
    int used = snprintf(facts, sizeof facts, "Type: %s. Default: %.200s. ",
                        info_type_text(row, type, sizeof type), *row->def ? row->def : "empty");
    if (row->flags & SY_OPTION_EARLY)
        snprintf(facts + used, sizeof facts - (size_t)used, "Only in the environment.");
    else
        snprintf(facts + used, sizeof facts - (size_t)used, "In files: %s.%s%s", row->name,
                 row->aliases ? " Also read: " : "", row->aliases ? row->aliases : "");
    info_text_print_wrapped(facts, 6);
}

static void info_text_print_inert(const struct sy_option_shown *option, void *arg)
{
    (void)arg;
    if (option->row->flags & SY_OPTION_INERT)
        printf("  %-38s %s%s\n", option->env, option->row->help,
               strcmp(option->origin, "default") ? " (is set)" : "");
}

void info_print_text(const struct info *info)
{
    const char *last = NULL;

    printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    printf("  library    %s\n  compiler   %s\n  flags      %s\n  built for  %s\n", info->library,
           INFO_BUILD_COMPILER, INFO_BUILD_FLAGS, INFO_BUILD_HOST);
    info_text_print_plugins(info);
    if (info->plugins)
        info_text_print_protection(info);
    if (info->plugins)
        info_text_print_counters(info);
    if (info->options) {
        sy_options_visit(info->options, info_text_print_option, &last);
        puts("\nNames of other libraries that are known and have no effect here");
        sy_options_visit(info->options, info_text_print_inert, NULL);
    }
    for (size_t i = 0; i < info->strangers; i++)
        sy_print(stdout, "%s%s is set, but no option has this name%s%s\n", i ? "" : "\n",
                 info->stranger[i].variable, *info->stranger[i].nearest ? "; did you mean " : "",
                 info->stranger[i].nearest);
}

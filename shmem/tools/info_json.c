/* oshinfo's listing for programs. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shmem/constants.h>

#include "tools/info.h"

/* The beginning of a text from outside. A '?' stands for each byte that is no UTF-8, as jansson
 * refuses these. */
static json_t *info_json_part(const char *text, size_t length)
{
    char *copy = text ? strndup(text, length) : NULL;

    for (char *at = copy; at && *at;) {
        size_t n = 0, most = strnlen(at, 4);
        json_t *character = NULL;

        while (!character && n < most)
            character = json_stringn(at, ++n);
        if (!character)
            *at = '?';
        at += character ? n : 1;
        json_decref(character);
    }
    json_t *whole = json_string(copy);
    free(copy);
    return whole;
}

static json_t *info_json_text(const char *text)
{
    return info_json_part(text, text ? strlen(text) : 0);
}

json_t *info_json_words(const char *list, const char *divide)
{
    json_t *array = json_array();

    while (list && *list) {
        size_t length = strcspn(list, divide);
        if (length)
            json_array_append_new(array, info_json_part(list, length));
        list += length;
        list += strspn(list, divide);
    }
    return array;
}

int info_json_print(json_t *root)
{
    bool printed = root && !json_dumpf(root, stdout, JSON_INDENT(2)) && putchar('\n') != EOF;

    json_decref(root);
    return printed ? 0 : -ENOMEM;
}

static json_t *info_json_counters(const struct sy_counter_row *row)
{
    json_t *array = json_array();

    for (; row->name; row++)
        json_array_append_new(
            array, json_pack("{s:s, s:s, s:s, s:s}", "name", row->name, "unit", row->unit, "kind",
                             row->kind == SY_COUNTER_SUM ? "sum" : "most", "help", row->help));
    return array;
}

static json_t *info_json_plugins(const struct info *info)
{
    json_t *array = json_array();

    for (size_t i = 0; i < info->plugins; i++) {
        const struct info_plugin *p = &info->plugin[i];
        json_t *object = json_pack("{s:s, s:o, s:o, s:b}", "kind", p->kind, "name",
                                   info_json_text(p->name), "path", info_json_text(p->path),
                                   "loaded", p->loaded);
        if (p->loaded && !p->device)
            json_object_set_new(object, "priority", json_integer(p->priority));
        else if (!p->loaded)
            json_object_set_new(object, "refused", info_json_text(p->reason.text));
        if (p->protection)
            json_object_set_new(object, "protection", info_json_words(p->protection, "\n"));
        if (p->counters)
            json_object_set_new(object, "counters", info_json_counters(p->counters));
        json_array_append_new(array, object);
    }
    return array;
}

static void info_json_add_option(const struct sy_option_shown *option, void *arg)
{
    const struct sy_option *row = option->row;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:s}", "owner", option->owner, "name", row->name,
        "variable", option->env, "type", info_type_name(row->type), "default", row->def, "value",
        info_json_text(option->value), "origin", info_json_text(option->origin), "help", row->help);

    if (row->type == SY_OPTION_CHOICE)
        json_object_set_new(object, "choices", info_json_words(row->choices, "|"));
    if (row->type == SY_OPTION_INT) {
        json_object_set_new(object, "min", json_integer(row->min));
        json_object_set_new(object, "max", json_integer(row->max));
    }
    json_object_set_new(object, "aliases", info_json_words(row->aliases, " "));
    json_object_set_new(object, "effect", json_boolean(!(row->flags & SY_OPTION_INERT)));
    json_object_set_new(object, "environment_only", json_boolean(row->flags & SY_OPTION_EARLY));
    json_object_set_new(object, "same_on_all_pes", json_boolean(row->flags & SY_OPTION_JOB));
    json_array_append_new(arg, object);
}

static json_t *info_json_options(const struct info *info)
{
    json_t *array = json_array();

    if (info->options)
        sy_options_visit(info->options, info_json_add_option, array);
    return array;
}

static json_t *info_json_strangers(const struct info *info)
{
    json_t *array = json_array();

    for (size_t i = 0; i < info->strangers; i++)
        json_array_append_new(array, json_pack("{s:o, s:s}", "variable",
                                               info_json_text(info->stranger[i].variable),
                                               "nearest", info->stranger[i].nearest));
    return array;
}

int info_print_json(const struct info *info)
{
    char specification[16];

    snprintf(specification, sizeof specification, "%d.%d", SHMEM_MAJOR_VERSION,
             SHMEM_MINOR_VERSION);
    json_t *root = json_pack(
        "{s:s, s:s, s:o, s:{s:s, s:s, s:s}, s:o, s:o, s:o, s:o, s:o}", "name", SHMEM_VENDOR_STRING,
        "specification", specification, "library", info_json_text(info->library), "build",
        "compiler", INFO_BUILD_COMPILER, "flags", INFO_BUILD_FLAGS, "host", INFO_BUILD_HOST,
        "plugin_places", info_json_words(info->places, ":"), "plugins", info_json_plugins(info),
        "options", info_json_options(info), "unknown_variables", info_json_strangers(info),
        "problem", info_json_text(info->problem.text));

    return info_json_print(root);
}

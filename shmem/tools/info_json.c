/* oshinfo's listing for programs. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <shmem/constants.h>

#include "tools/info.h"

json_t *info_json_words(const char *list, const char *divide)
{
    json_t *array = json_array();

    while (list && *list) {
        size_t length = strcspn(list, divide);
        if (length)
            json_array_append_new(array, json_stringn(list, length));
        list += length;
        list += strspn(list, divide);
    }
    return array;
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
        json_t *object = json_pack("{s:s, s:s, s:s, s:b}", "kind", p->kind, "name", p->name, "path",
                                   p->path, "loaded", p->loaded);
        if (p->loaded && !p->device)
            json_object_set_new(object, "priority", json_integer(p->priority));
        else if (!p->loaded)
            json_object_set_new(object, "refused", json_string(p->reason.text));
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
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "owner", option->owner,
                               "name", row->name, "variable", option->env, "type",
                               info_type_name(row->type), "default", row->def, "value",
                               option->value, "origin", option->origin, "help", row->help);

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
        json_array_append_new(array, json_pack("{s:s, s:s}", "variable", info->stranger[i].variable,
                                               "nearest", info->stranger[i].nearest));
    return array;
}

int info_print_json(const struct info *info)
{
    char specification[16];

    snprintf(specification, sizeof specification, "%d.%d", SHMEM_MAJOR_VERSION,
             SHMEM_MINOR_VERSION);
    json_t *root = json_pack("{s:s, s:s, s:s, s:{s:s, s:s, s:s}, s:o, s:o, s:o, s:o, s:s}", "name",
                             SHMEM_VENDOR_STRING, "specification", specification, "library",
                             info->library, "build", "compiler", INFO_BUILD_COMPILER, "flags",
                             INFO_BUILD_FLAGS, "host", INFO_BUILD_HOST, "plugin_places",
                             info_json_words(info->places, ":"), "plugins", info_json_plugins(info),
                             "options", info_json_options(info), "unknown_variables",
                             info_json_strangers(info), "problem", info->problem.text);

    if (!root || json_dumpf(root, stdout, JSON_INDENT(2)) || putchar('\n') == EOF) {
        json_decref(root);
        return -ENOMEM;
    }
    json_decref(root);
    return 0;
}

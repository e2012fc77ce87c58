/* A JSON schema of configuration files, made from the options, so that editors can complete keys
 * and mark what is wrong. Keys with a point are allowed both as they are and as objects in objects.
 */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "tools/info.h"

static json_t *text_like(const char *pattern)
{
    return json_pack("{s:s, s:s}", "type", "string", "pattern", pattern);
}

static json_t *info_schema_integer(const struct sy_option *row)
{
    json_t *type = json_pack("{s:s, s:I}", "type", "integer", "minimum", (json_int_t)row->min);

    if (row->max != LONG_MAX)
        json_object_set_new(type, "maximum", json_integer(row->max));
    return type;
}

/* Parts of a list: texts, or objects of texts. */
static json_t *parts(void)
{
    return json_pack("{s:s, s:{s:[{s:s}, {s:s, s:{s:s}}]}}", "type", "array", "items", "anyOf",
                     "type", "string", "type", "object", "additionalProperties", "type", "string");
}

/* The forms that a value may have in a file. null is the default. */
static json_t *info_schema_forms(const struct sy_option *row)
{
    json_t *any = json_pack("[{s:s}]", "type", "null");

    switch (row->type) {
    case SY_OPTION_BOOL:
    case SY_OPTION_FLAG:
        json_array_append_new(any, json_pack("{s:s}", "type", "boolean"));
        json_array_append_new(any, json_pack("{s:[i, i, s, s, s, s, s, s]}", "enum", 0, 1, "no",
                                             "off", "false", "yes", "on", "true"));
        break;
    case SY_OPTION_INT:
        json_array_append_new(any, info_schema_integer(row));
        json_array_append_new(any, text_like("^-?[0-9]+$"));
        break;
    case SY_OPTION_SIZE:
        json_array_append_new(any, json_pack("{s:s, s:i}", "type", "number", "minimum", 0));
        json_array_append_new(any, text_like("^([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE]\\+?[0-9]+)?"
                                             "([kKmMgGtT].*)?$"));
        break;
    case SY_OPTION_SECONDS:
        json_array_append_new(any, json_pack("{s:s, s:i}", "type", "number", "minimum", 0));
        json_array_append_new(any, text_like("^([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?$"));
        break;
    case SY_OPTION_CHOICE:
        json_array_append_new(any, json_pack("{s:o}", "enum", info_json_words(row->choices, "|")));
        break;
    case SY_OPTION_LIST:
        json_array_append_new(any, parts());
        json_array_append_new(any, json_pack("{s:s}", "type", "string"));
        break;
    case SY_OPTION_STRING:
        json_array_append_new(any, json_pack("{s:[s, s]}", "type", "string", "number"));
        break;
    }
    return any;
}

static json_t *info_schema_value(const struct sy_option *row)
{
    bool inert = row->flags & SY_OPTION_INERT;
    json_t *schema = json_object();

    json_object_set_new(schema, "description",
                        json_sprintf("%s%s", inert ? "Has no effect: " : "", row->help));
    if (!inert) {
        json_object_set_new(schema, "default", json_string(row->def));
        json_object_set_new(schema, "anyOf", info_schema_forms(row));
    }
    return schema;
}

/* The object below `properties` for the part of a key before a point, made where it is not there.
 */
static json_t *info_schema_inner(json_t *properties, const char *name, size_t length)
{
    char key[64];

    snprintf(key, sizeof key, "%.*s", (int)length, name);
    json_t *object = json_object_get(properties, key);
    if (!object) {
        object = json_pack("{s:s, s:b, s:{}}", "type", "object", "additionalProperties", 0,
                           "properties");
        json_object_set_new(properties, key, object);
    }
    return json_object_get(object, "properties");
}

static void info_schema_add_option(const struct sy_option_shown *option, void *arg)
{
    const struct sy_option *row = option->row;
    json_t *properties = arg;
    const char *name = row->name, *point = strchr(name, '.');

    if (row->flags & SY_OPTION_EARLY) /* only in the environment */
        return;
    json_object_set_new(properties, name, info_schema_value(row));
    for (; point; name = point + 1, point = strchr(name, '.'))
        properties = info_schema_inner(properties, name, (size_t)(point - name));
    if (name != row->name)
        json_object_set_new(properties, name, info_schema_value(row));
}

/* Instances, such as "tcp@a", have the keys of their plugin. */
static json_t *info_schema_instances(const struct info *info, const json_t *properties)
{
    json_t *patterns = json_object();
    char key[128];

    for (size_t i = 0; i < info->plugins; i++) {
        const char *name = info->plugin[i].name;
        if (strcmp(info->plugin[i].kind, "transport") != 0 || !json_object_get(properties, name))
            continue;
        snprintf(key, sizeof key, "^%s@[A-Za-z0-9_-]+$", name);
        json_object_set_new(patterns, key, json_pack("{s:s+}", "$ref", "#/properties/", name));
        snprintf(key, sizeof key, "^%s@[A-Za-z0-9_-]+\\.", name);
        json_object_set_new(patterns, key, json_object());
    }
    return patterns;
}

int info_print_schema(const struct info *info)
{
    json_t *root = json_pack("{s:s, s:s, s:s, s:b, s:{s:{s:s}}}", "$schema",
                             "http://json-schema.org/draft-07/schema#", "title",
                             "Configuration of the Switchyard OpenSHMEM library", "type", "object",
                             "additionalProperties", 0, "properties", "$schema", "type", "string");
    json_t *properties = json_object_get(root, "properties");

    if (properties && info->options)
        sy_options_visit(info->options, info_schema_add_option, properties);
    if (properties)
        json_object_set_new(root, "patternProperties", info_schema_instances(info, properties));
    return info_json_print(root);
}

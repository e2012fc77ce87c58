/* Option tables and the values of their rows: see option.h. Must not know what any option means. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/error.h"
#include "util/option_set.h"

/* ---- the set ---- */

struct sy_option_string {
    struct sy_option_string *next;
    char text[];
};

struct sy_options *sy_options_new(void)
{
    return calloc(1, sizeof(struct sy_options));
}

void sy_options_free(struct sy_options *set)
{
    if (!set)
        return;
    free(set->entry);
    free(set->value);
    while (set->strings) {
        struct sy_option_string *next = set->strings->next;
        free(set->strings);
        set->strings = next;
    }
    free(set);
}

const char *sy_options_keep(struct sy_options *set, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    struct sy_option_string *string = length < 0 ? NULL
                                                 : malloc(sizeof *string + (size_t)length + 1);
    if (!string) {
        set->no_memory = true;
        return "";
    }
    va_start(args, fmt);
    vsnprintf(string->text, (size_t)length + 1, fmt, args);
    va_end(args);
    string->next = set->strings;
    set->strings = string;
    return string->text;
}

const char *sy_option_env_name(const char *name, char *buffer, size_t room)
{
    int n = snprintf(buffer, room, "SHMEM_%s", name);

    for (char *at = buffer; n > 0 && *at; at++) {
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
        else if (*at == '.' || *at == '-' || *at == '@')
            *at = '_';
    }
    return buffer;
}

bool sy_options_is_of(const struct sy_option_entry *entry, const char *name, size_t length)
{
    return strcspn(entry->owner, "@") == length && !strncasecmp(entry->owner, name, length);
}

bool sy_options_is_other(const struct sy_options *set, const char *const *others, const char *name,
                         size_t length)
{
    for (; others && *others; others++) {
        if (strlen(*others) != length || strncasecmp(*others, name, length) != 0)
            continue;
        for (size_t i = 0; i < set->entries; i++)
            if (sy_options_is_of(&set->entry[i], name, length))
                return false;
        return true;
    }
    return false;
}

/* ---- what is wrong with a value ---- */

/* Where the value of a row comes from. */
struct source {
    const char *text;                 /* NULL: not set anywhere */
    const char *variable;             /* of the environment, or NULL */
    const struct sy_file_value *file; /* or NULL */
};

static int option_bad_value(const struct sy_option_entry *entry, const struct source *from,
                            struct sy_error *err)
{
    char buffer[160];
    const char *allowed = sy_option_allowed(&entry->row, buffer, sizeof buffer);

    if (from->variable)
        return sy_fail(err, EINVAL, "%s=%.100s%s is not valid; allowed: %s", from->variable,
                       from->text, sy_option_is_flag(from->variable) ? " (a flag of oshrun)" : "",
                       allowed);
    if (from->file && from->file->secret)
        return sy_options_bad_secret(from->file, err);
    if (from->file)
        return sy_fail(err, EINVAL,
                       "%.150s:%d:%d: \"%s\": the value %.100s is not valid; allowed: %s",
                       from->file->file, from->file->line, from->file->column, from->file->key,
                       from->text, allowed);
    return sy_fail(err, EINVAL, "%s: the default \"%s\" of option %s is not valid; allowed: %s",
                   entry->owner, from->text, entry->row.name, allowed);
}

/* Checks that a value in a file has the row's type. */
static int option_check_kind(const struct sy_option_entry *entry, const struct sy_file_value *value,
                             struct sy_error *err)
{
    static const char *const kinds[] = {"null",
                                        "a boolean",
                                        "a number",
                                        "a string",
                                        "an array, not a single value",
                                        "an object, not a value",
                                        "an array"};
    enum sy_option_type type = entry->row.type;
    bool wrong = value->kind == SY_FILE_OTHER || value->kind == SY_FILE_EMPTY;
    char buffer[160];

    if (entry->row.flags & SY_OPTION_EARLY)
        return sy_fail(
            err, EINVAL,
            "%.150s:%d:%d: \"%s\" can only be set in the environment, as %s: it is needed "
            "before files are read",
            value->file, value->line, value->column, entry->row.name, entry->env);
    if (value->kind == SY_FILE_BOOL)
        wrong = type != SY_OPTION_BOOL && type != SY_OPTION_FLAG;
    if (value->kind == SY_FILE_NUMBER)
        wrong = type == SY_OPTION_CHOICE || type == SY_OPTION_LIST;
    if (value->kind == SY_FILE_LIST)
        wrong = type != SY_OPTION_LIST;
    if (!wrong)
        return 0;
    if (value->secret)
        return sy_options_bad_secret(value, err);
    return sy_fail(err, EINVAL, "%.150s:%d:%d: \"%s\" is %s; allowed: %s", value->file, value->line,
                   value->column, value->key, kinds[value->kind],
                   sy_option_allowed(&entry->row, buffer, sizeof buffer));
}

/* ---- tables ---- */

static void option_copy_row(struct sy_options *set, const char *owner,
                            struct sy_option_entry *entry, const struct sy_option *row)
{
    char env[128];

    *entry = (struct sy_option_entry){.owner = owner, .row = *row};
    entry->row.name = sy_options_keep(set, "%s", row->name);
    if (strchr(owner, '@')) {
        entry->general = entry->row.name;
        entry->general_env = sy_options_keep(set, "%s",
                                             sy_option_env_name(row->name, env, sizeof env));
        entry->row.name = sy_options_keep(set, "%s%s", owner, row->name + strcspn(row->name, "."));
    }
    entry->row.def = sy_options_keep(set, "%s", row->def ? row->def : "");
    entry->row.help = sy_options_keep(set, "%s", row->help ? row->help : "");
    entry->row.choices = row->choices ? sy_options_keep(set, "%s", row->choices) : NULL;
    entry->row.aliases = row->aliases ? sy_options_keep(set, "%s", row->aliases) : NULL;
    entry->env = sy_options_keep(set, "%s", sy_option_env_name(entry->row.name, env, sizeof env));
}

/* Takes the highest source that has a value, and notes which. */
static struct source option_find_source(struct sy_options *set, struct sy_option_entry *entry)
{
    struct source from = {.text = entry->row.def};
    const struct sy_file_value *file = sy_options_claim(set, entry->row.name),
                               *general = entry->general ? sy_options_claim(set, entry->general)
                                                         : NULL;
    const char *text = sy_options_getenv(set, entry, &from.variable);

    if (!file || file->kind == SY_FILE_NULL)
        file = general ? general : file;
    entry->origin = "default";
    if (text) {
        from.text = sy_options_keep(set, "%s", text);
        entry->origin = sy_option_is_flag(from.variable)
                            ? "oshrun"
                            : sy_options_keep(set, "environment %s", from.variable);
    } else if (file && file->kind != SY_FILE_NULL) {
        from.file = file;
        from.text = file->text;
        entry->file = file;
        entry->origin = sy_options_keep(set, "%s:%d", file->file, file->line);
    }
    return from;
}

static int option_fill_entry(struct sy_options *set, struct sy_option_entry *entry, void *settings,
                             struct sy_error *err)
{
    struct source from = option_find_source(set, entry);
    int rc = from.file ? option_check_kind(entry, from.file, err) : 0;

    /* An empty text means the default: what else could the name of a transport or a file be? */
    if ((entry->row.type == SY_OPTION_STRING || entry->row.type == SY_OPTION_LIST) && !*from.text)
        from.text = entry->row.def;
    entry->value = from.text;
    if (rc || entry->row.flags & SY_OPTION_INERT)
        return rc;
    return sy_option_assign(entry, from.text, settings) ? option_bad_value(entry, &from, err) : 0;
}

/* What a plugin may get wrong in a row. */
static int option_check_row(const char *owner, const struct sy_option *row, size_t size,
                            struct sy_error *err)
{
    size_t name = strcspn(owner, "@"), needs = sy_option_size(row->type);

    if (row->flags & SY_OPTION_INERT)
        return 0;
    if (strcmp(owner, "core") != 0 && (strncmp(row->name, owner, name) || row->name[name] != '.'))
        return sy_fail(err, EINVAL, "plugin %s: its option '%s' does not begin with '%.*s.'", owner,
                       row->name, (int)name, owner);
    if (!needs || (row->type == SY_OPTION_CHOICE && !row->choices))
        return sy_fail(err, EINVAL, "plugin %s: its option '%s' has no %s", owner, row->name,
                       needs ? "choices" : "type that there is");
    if (row->offset > size || needs > size - row->offset)
        return sy_fail(err, EINVAL,
                       "plugin %s: its option '%s' lies outside of its settings of %zu bytes",
                       owner, row->name, size);
    return 0;
}

int sy_options_add(struct sy_options *set, const char *owner, const struct sy_option *rows,
                   void *settings, size_t size, struct sy_error *err)
{
    size_t count = 0;
    int rc = 0;

    while (rows[count].name)
        count++;
    struct sy_option_entry *entry = realloc(set->entry, (set->entries + count + 1) * sizeof *entry);
    if (!entry)
        return sy_fail(err, ENOMEM, "no memory for the options of %s", owner);
    set->entry = entry;
    entry += set->entries;
    const char *kept = sy_options_keep(set, "%s", owner);
    for (size_t i = 0; i < count && !rc; i++) {
        rc = option_check_row(owner, &rows[i], size, err);
        if (rc)
            break;
        option_copy_row(set, kept, &entry[i], &rows[i]);
        rc = option_fill_entry(set, &entry[i], settings, err);
    }
    if (!rc && set->no_memory)
        rc = sy_fail(err, ENOMEM, "no memory for the options of %s", owner);
    set->entries += rc ? 0 : count;
    return rc;
}

/* ---- listings ---- */

void sy_options_visit(struct sy_options *set, sy_option_visitor *visit, void *arg)
{
    for (size_t i = 0; i < set->entries; i++) {
        const struct sy_option_entry *entry = &set->entry[i];
        visit(&(struct sy_option_shown){entry->owner, &entry->row, entry->env, entry->value,
                                        entry->origin},
              arg);
    }
}

const char *sy_options_file(const struct sy_options *set, const char *name, bool *secret)
{
    *secret = false;
    for (size_t i = 0; i < set->entries; i++) {
        const struct sy_option_entry *entry = &set->entry[i];
        if (strcmp(entry->row.name, name) != 0 || !entry->file)
            continue;
        *secret = entry->file->secret;
        return entry->origin;
    }
    return NULL;
}

bool sy_options_job(const struct sy_options *set, unsigned index, const char **name, uint32_t *hash)
{
    for (size_t i = 0; i < set->entries; i++) {
        const struct sy_option_entry *entry = &set->entry[i];
        if ((entry->row.flags & (SY_OPTION_JOB | SY_OPTION_INERT)) != SY_OPTION_JOB || index--)
            continue;
        *name = entry->row.name;
        *hash = entry->hash;
        return true;
    }
    return false;
}

/* Option values from JSON files, with the lines of keys; unknown keys. See option.h.
 * {"log": {"level": "info"}} and {"log.level": "info"} are the same. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/error.h"
#include "util/option_set.h"
#include "util/parse.h"
#include "util/secure.h"
#include "util/text_file.h"

#ifndef SY_SYSCONFDIR
#error "the build must define SY_SYSCONFDIR, the directory of system-wide configuration"
#endif

enum { KEY_MAX = 256, KEYS = 4096, LIST_MAX = 64 << 10, FILE_MAX = 1 /* MiB */ };

/* ---- keys and values ---- */

/* A walk through a parsed file and its text side by side. Jansson does not give the lines of keys,
 * but keeps the order that they have in the text. */
struct walk {
    struct sy_options *set;
    const char *file;
    const char *at, *end; /* the text from here on */
    const char *begin;    /* of the line that `at` is in */
    int line;
    int keys;          /* that have been added */
    int column;        /* of the last key, counted from 1 */
    const char *value; /* of the last key: the first character behind the colon */
    struct sy_error *err;
};

/* Moves behind the string that begins at w->at. The text is known to be valid JSON. */
static void option_json_skip_string(struct walk *w)
{
    for (w->at++; w->at < w->end && *w->at != '"'; w->at++)
        if (*w->at == '\\')
            w->at++;
    w->at++;
}

static void option_json_count_line(struct walk *w)
{
    if (*w->at != '\n')
        return;
    w->line++;
    w->begin = w->at + 1;
}

static void skip_blanks(struct walk *w)
{
    for (; w->at < w->end && strchr(" \t\r\n", *w->at); w->at++)
        option_json_count_line(w);
}

/* Moves behind the next key, that is, the next string with a colon behind it. Returns its line. */
static int option_json_next_key(struct walk *w)
{
    while (w->at < w->end) {
        if (*w->at != '"') {
            option_json_count_line(w);
            w->at++;
            continue;
        }
        int line = w->line, column = (int)(w->at - w->begin) + 1;
        option_json_skip_string(w);
        skip_blanks(w);
        if (w->at < w->end && *w->at == ':') {
            const char *value = w->at + 1;
            w->value = value + strspn(value, " \t\r\n");
            w->column = column;
            return line;
        }
    }
    return w->line;
}

/* Writes one part of a list: a text, or the members of an object as words key=value. False: it is
 * neither. */
static bool option_json_write_part(FILE *out, json_t *part)
{
    const char *key, *between = "";
    json_t *member;

    if (json_is_string(part))
        return fputs(json_string_value(part), out) >= 0;
    json_object_foreach(part, key, member)
    {
        if (!json_is_string(member))
            return false;
        fprintf(out, "%s%s=%s", between, key, json_string_value(member));
        between = " ";
    }
    return json_is_object(part);
}

/* Writes an array as the text that stands for it in the environment. False: it is not an array of
 * texts. */
static bool option_json_write_list(FILE *out, const json_t *array)
{
    json_t *part;
    size_t index;

    json_array_foreach(array, index, part)
    {
        if (ftell(out) > 0)
            fputs("; ", out);
        if (!option_json_write_part(out, part))
            return false;
    }
    return true;
}

/* Takes an array for a value, as a list if it is one. */
static int option_json_set_array(struct walk *w, struct sy_file_value *value, const json_t *array)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    bool list = out && option_json_write_list(out, array);
    int rc = 0;

    if (!out || fclose(out)) {
        w->set->no_memory = true;
    } else if (length > LIST_MAX) {
        rc = sy_fail(w->err, EINVAL, "%.200s:%d:%d: the list \"%.100s\" has more than 64 KiB",
                     w->file, value->line, value->column, value->key);
    } else if (list) {
        value->kind = SY_FILE_LIST;
        value->text = sy_options_keep(w->set, "%s", text);
    }
    free(text);
    return rc;
}

/* The value as text, as a user would write it; a number as it stands in the file. */
static const char *option_json_value_text(struct walk *w, const json_t *json,
                                          enum sy_file_kind *kind)
{
    switch (json_typeof(json)) {
    case JSON_NULL:
        *kind = SY_FILE_NULL;
        return "null";
    case JSON_TRUE:
    case JSON_FALSE:
        *kind = SY_FILE_BOOL;
        return json_is_true(json) ? "true" : "false";
    case JSON_INTEGER:
    case JSON_REAL:
        *kind = SY_FILE_NUMBER;
        return sy_options_keep(w->set, "%.*s", (int)strspn(w->value, "+-.0123456789eE"), w->value);
    case JSON_STRING:
        *kind = SY_FILE_STRING;
        return sy_options_keep(w->set, "%s", json_string_value(json));
    case JSON_OBJECT:
        *kind = SY_FILE_EMPTY;
        return "{}";
    default:
        *kind = SY_FILE_OTHER;
        return "[...]";
    }
}

/* Each key is compared with those before it, so their number is limited. */
static int option_json_check_new(struct walk *w, const char *key, int line)
{
    struct sy_options *set = w->set;

    if (w->keys++ == KEYS)
        return sy_fail(w->err, EINVAL, "%.200s:%d:%d: the file has more than %d keys", w->file,
                       line, w->column, KEYS);
    for (size_t i = 0; i < set->values; i++)
        if (set->value[i].file == w->file && !strcmp(set->value[i].key, key))
            return sy_fail(w->err, EINVAL, "%.200s:%d:%d: \"%.100s\" is already set in line %d",
                           w->file, line, w->column, key, set->value[i].line);
    return 0;
}

static int option_json_add_value(struct walk *w, const char *key, int line, const json_t *json)
{
    struct sy_options *set = w->set;
    struct sy_file_value value = {
        .file = w->file, .line = line, .column = w->column, .secret = set->secret};
    int rc = option_json_check_new(w, key, line);

    if (rc)
        return rc;
    struct sy_file_value *values = realloc(set->value, (set->values + 1) * sizeof *values);
    if (!values)
        return sy_fail(w->err, ENOMEM, "no memory for the options of %.200s", w->file);
    value.key = sy_options_keep(set, "%s", key);
    value.text = option_json_value_text(w, json, &value.kind);
    if (json_is_array(json))
        rc = option_json_set_array(w, &value, json);
    set->value = values;
    set->value[set->values++] = value;
    return rc;
}

/* Passes over the keys inside an array, which are not keys of this object. */
static void option_json_skip_keys(struct walk *w, json_t *json)
{
    const char *key;
    json_t *member;
    size_t index;

    if (json_is_array(json)) {
        json_array_foreach(json, index, member) option_json_skip_keys(w, member);
    } else {
        json_object_foreach(json, key, member)
        {
            option_json_next_key(w);
            option_json_skip_keys(w, member);
        }
    }
}

static int option_json_add_object(struct walk *w, const char *path, json_t *object)
{
    const char *key;
    json_t *member;
    int rc = 0;

    json_object_foreach(object, key, member)
    {
        int line = option_json_next_key(w);
        char full[KEY_MAX];
        int length = snprintf(full, sizeof full, "%s%s%s", path, *path ? "." : "", key);
        if (length >= KEY_MAX)
            return sy_fail(w->err, EINVAL, "%.200s:%d:%d: the key %.40s... is too long", w->file,
                           line, w->column, full);
        if (!strcmp(full, "$schema")) /* for editors */
            option_json_skip_keys(w, member);
        else if (json_object_size(member))
            rc = option_json_add_object(w, full, member);
        else
            rc = option_json_add_value(w, full, line, member);
        if (rc)
            return rc;
        if (json_is_array(member))
            option_json_skip_keys(w, member);
    }
    return 0;
}

/* ---- files ---- */

int sy_options_not_shown(const char *where, struct sy_error *err)
{
    return sy_fail(err, EINVAL,
                   "%.230s: not valid; what is there is not shown, since the user who started this "
                   "program may not read the file",
                   where);
}

int sy_options_bad_secret(const struct sy_file_value *value, struct sy_error *err)
{
    char where[240];

    snprintf(where, sizeof where, "%.200s:%d:%d", value->file, value->line, value->column);
    return sy_options_not_shown(where, err);
}

static int option_json_add_text(struct sy_options *set, const char *path, const char *text,
                                struct sy_error *err)
{
    size_t length = strlen(text);
    struct walk walk = {
        .set = set, .at = text, .end = text + length, .begin = text, .line = 1, .err = err};
    json_error_t why;
    json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    int rc;

    if (!root && set->secret)
        return sy_options_bad_secret(
            &(struct sy_file_value){.file = path, .line = why.line, .column = why.column}, err);
    if (!root)
        return sy_fail(err, EINVAL, "%.200s:%d:%d: not valid JSON: %s", path, why.line, why.column,
                       why.text);
    walk.file = sy_options_keep(set, "%s", path);
    if (json_is_object(root))
        rc = option_json_add_object(&walk, "", root);
    else
        rc = sy_fail(err, EINVAL,
                     "%.200s:1: must be an object, such as {\"symmetric_size\": \"2G\"}", path);
    json_decref(root);
    if (rc && set->secret)
        rc = sy_options_bad_secret(
            &(struct sy_file_value){.file = path, .line = walk.line, .column = walk.column}, err);
    if (!rc && set->no_memory)
        rc = sy_fail(err, ENOMEM, "no memory for the options of %.200s", path);
    return rc;
}

/* Adds one file above those read so far. */
static int option_json_add(struct sy_options *set, const char *path, struct sy_error *err)
{
    char *text;
    struct sy_error why;
    int rc = sy_text_file_read(path, FILE_MAX, &text, &why);

    if (rc)
        return sy_fail(err, -rc, "the configuration file %.300s cannot be read: %s", path,
                       why.text);
    set->secret = sy_secure() && access(path, R_OK); /* asks for the real user */
    rc = option_json_add_text(set, path, text, err);
    free(text);
    return rc;
}

/* Reads a file that need not exist. Nor is it an error if its directory may not be entered, as the
 * home of another user. */
static int option_json_read_if_there(struct sy_options *set, const char *directory,
                                     const char *below, struct sy_error *err)
{
    struct stat info;
    char path[1024];

    if (snprintf(path, sizeof path, "%s%s", directory, below) >= (int)sizeof path ||
        stat(path, &info))
        return 0;
    return option_json_add(set, path, err);
}

int sy_options_read_files(struct sy_options *set, const char *alone, struct sy_error *err)
{
    if (alone)
        return option_json_add(set, alone, err);
    const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
    const char *named = secure_getenv("SHMEM_CONFIG");
    int rc = option_json_read_if_there(set, SY_SYSCONFDIR, "/switchyard/shmem.json", err);

    if (rc)
        return rc;
    if (config && *config)
        rc = option_json_read_if_there(set, config, "/switchyard/shmem.json", err);
    else if (home && *home)
        rc = option_json_read_if_there(set, home, "/.config/switchyard/shmem.json", err);
    if (rc || !named || !*named)
        return rc;
    struct sy_error why = {""};
    rc = option_json_add(set, named, &why);
    return rc ? sy_fail(err, -rc, "SHMEM_CONFIG: %.450s", why.text) : 0;
}

/* ---- unknown keys ---- */

const struct sy_file_value *sy_options_claim(struct sy_options *set, const char *key)
{
    const struct sy_file_value *last = NULL;

    for (size_t i = 0; i < set->values; i++)
        if (!strcmp(set->value[i].key, key)) {
            set->value[i].claimed = true;
            last = &set->value[i];
        }
    return last;
}

/* group: there are keys of which this is the part before a point. */
static int option_json_unknown_key(const struct sy_options *set, const struct sy_file_value *value,
                                   bool group, struct sy_error *err)
{
    if (value->secret)
        return sy_options_bad_secret(value, err);
    if (group)
        return sy_fail(err, EINVAL,
                       "%.200s:%d:%d: \"%.100s\" is %.100s; allowed: an object whose members are "
                       "options, as oshinfo lists them",
                       value->file, value->line, value->column, value->key, value->text);
    const char **names = calloc(set->entries + 1, sizeof *names), *nearest = NULL;
    for (size_t i = 0; names && i < set->entries; i++) {
        names[i] = set->entry[i].row.name;
        if (!strcasecmp(set->entry[i].env, value->key)) /* the variable's name, "SHMEM_CHECK" */
            nearest = names[i];
    }
    if (names && !nearest)
        nearest = sy_nearest(value->key, names, set->entries);
    int rc = sy_fail(
        err, EINVAL, "%.200s:%d:%d: unknown key \"%.100s\"%s%s%s (oshinfo lists all keys)",
        value->file, value->line, value->column, value->key, nearest ? "; did you mean \"" : "",
        nearest ? nearest : "", nearest ? "\"?" : "");
    free(names);
    return rc;
}

/* Whether a key belongs to an instance, which need not be one of this job's: "tcp@a.streams" is
 * right if tcp has such a row, or if tcp is one of `others`. */
static bool option_json_is_of_instance(const struct sy_options *set, const char *const *others,
                                       const char *key)
{
    size_t plugin = strcspn(key, "@.");
    const char *rest = key + strcspn(key, ".");

    if (key[plugin] != '@')
        return false;
    for (size_t i = 0; i < set->entries; i++) {
        const char *name = set->entry[i].row.name;
        if (sy_options_is_of(&set->entry[i], key, plugin) &&
            !strcmp(name + strcspn(name, "."), rest))
            return true;
    }
    return sy_options_is_other(set, others, key, plugin);
}

/* Whether a key is the part before a point of other keys, as "log" or "tcp@a", so that an object
 * may stand there that has nothing in it. */
static bool option_json_is_group(const struct sy_options *set, const char *const *others,
                                 const char *key)
{
    size_t length = strlen(key), plugin = strcspn(key, "@");

    for (size_t i = 0; i < set->entries; i++) {
        const char *name = set->entry[i].row.name;
        if (key[plugin] == '@' && !strchr(key, '.') &&
            sy_options_is_of(&set->entry[i], key, plugin))
            return true;
        if (!strncmp(name, key, length) && name[length] == '.')
            return true;
    }
    return sy_options_is_other(set, others, key, plugin);
}

int sy_options_check_keys(struct sy_options *set, const char *const *others, struct sy_error *err)
{
    for (size_t i = 0; i < set->values; i++) {
        const struct sy_file_value *value = &set->value[i];
        const char *dot = strchr(value->key, '.');
        if (value->claimed || option_json_is_of_instance(set, others, value->key) ||
            (dot && sy_options_is_other(set, others, value->key, (size_t)(dot - value->key))))
            continue;
        bool group = option_json_is_group(set, others, value->key);
        if (!group || value->kind != SY_FILE_EMPTY)
            return option_json_unknown_key(set, value, group, err);
    }
    return 0;
}

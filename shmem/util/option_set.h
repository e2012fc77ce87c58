/* What an option set is made of, for the files that make it: option.c (tables), option_value.c
 * (text to value), option_env.c (environment), option_json.c (files). Everyone else uses option.h.
 */
#ifndef SY_UTIL_OPTION_SET_H
#define SY_UTIL_OPTION_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "util/option.h"

/* A row, copied, since a plugin's own is gone when the plugin is closed; and what holds for it. */
struct sy_option_entry {
    const char *owner; /* of its table */
    struct sy_option row;
    const char *env;                   /* SHMEM_TCP_STREAMS */
    const char *general, *general_env; /* of an instance's row, the plugin's: for all instances that
                                          have nothing of their own; else NULL */
    const char *value;                 /* as a user would write it */
    const char *origin;                /* as sy_options_visit shows it */
    const struct sy_file_value *file;  /* that it is from, or NULL */
    uint32_t hash;                     /* of the value itself: "1g" is "1024m" */
};

enum sy_file_kind {
    SY_FILE_NULL,
    SY_FILE_BOOL,
    SY_FILE_NUMBER,
    SY_FILE_STRING,
    SY_FILE_OTHER,
    SY_FILE_EMPTY, /* an object without members */
    SY_FILE_LIST
};

struct sy_file_value {
    const char *key, *text, *file;
    int line, column; /* of the key */
    enum sy_file_kind kind;
    bool claimed; /* a table has a row of this name */
    bool secret;  /* the user that started this program may not read the file */
};

struct sy_options {
    struct sy_option_entry *entry; /* in the order their tables were added */
    size_t entries;
    struct sy_file_value *value; /* in the order they were read: later ones win */
    size_t values;
    struct sy_option_string *strings;
    bool no_memory; /* some string could not be kept */
    bool secret;    /* of the file that is being read: as struct sy_file_value's */
};

/* Formats a string that lives as long as the set. "" without memory, and set->no_memory. */
const char *sy_options_keep(struct sy_options *set, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Bytes of a value of this type in the settings; 0: there is no such type. */
size_t sy_option_size(enum sy_option_type type);

/* Stores the value that `text` stands for, and its hash. -EINVAL: the text is not valid. */
int sy_option_assign(struct sy_option_entry *entry, const char *text, void *settings);

/* The environment's value for a row, and the variable it was found in (which lives as long as the
 * set); or NULL and NULL. */
const char *sy_options_getenv(struct sy_options *set, const struct sy_option_entry *entry,
                              const char **variable);

/* Whether the variable was set by a flag of oshrun. */
bool sy_option_is_flag(const char *variable);

/* The error for a secret value that is wrong, whatever is wrong with it. */
int sy_options_bad_secret(const struct sy_file_value *value, struct sy_error *err);

/* The files' value for a key, marked as claimed in every file; or NULL. */
const struct sy_file_value *sy_options_claim(struct sy_options *set, const char *key);

/* Whether a row belongs to the plugin of that name, `length` letters in any case, or to an instance
 * of it. */
bool sy_options_is_of(const struct sy_option_entry *entry, const char *name, size_t length);

/* Whether `name`, `length` letters in any case, is a plugin of `others` none of whose tables was
 * added. */
bool sy_options_is_other(const struct sy_options *set, const char *const *others, const char *name,
                         size_t length);

#endif

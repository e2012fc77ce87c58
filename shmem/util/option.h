/* The option tables of a process: rows (switchyard/option.h) from the core and from plugins, their
 * values, and where each value came from.
 *
 * Precedence, lowest first: default, system JSON, user JSON, the file named by SHMEM_CONFIG,
 * environment, oshrun's flags. oshrun hands its flags over as environment variables and lists their
 * names in SHMEM_BOOT_FLAGS (divided by commas), which only changes the origin that is shown.
 *
 * Tables belong to an owner: "core", a plugin such as "tcp", or an instance of it such as "tcp@a".
 * The rows of an instance are named "tcp@a.streams" and SHMEM_TCP_A_STREAMS; where that is not set
 * "tcp.streams" and SHMEM_TCP_STREAMS hold, which are for all instances. The environment goes
 * before files in both cases. */
#ifndef SY_UTIL_OPTION_H
#define SY_UTIL_OPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <switchyard/error.h>
#include <switchyard/option.h>

struct sy_options; /* tables, file values and origins */

struct sy_options *sy_options_new(void);
void sy_options_free(struct sy_options *set); /* NULL is allowed; strings in settings die with it */

/* Reads the configuration files that exist: ${sysconfdir}/switchyard/shmem.json (a directory that
 * the build hands in as SY_SYSCONFDIR), $XDG_CONFIG_HOME or ~/.config /switchyard/shmem.json, and
 * $SHMEM_CONFIG, which must exist if named. Values are kept until a table claims them. A syntax
 * error gives file, line and column. So does a file of more than 4096 keys, and a list whose text
 * has more than 64 KiB. alone: the file that is read in place of all these, or NULL. */
int sy_options_read_files(struct sy_options *set, const char *alone, struct sy_error *err);

/* Adds a table (ended by a NULL name; copied, so that a plugin may be closed afterwards) and fills
 * `settings` from default, files and environment. An empty text for a STRING means its default.
 * owner: "core", a plugin's name or an instance's. A bad value is an error that names the variable
 * or file:line, the value, and what is allowed; a plugin's row that cannot be used is one too.
 * size: bytes of `settings`. */
int sy_options_add(struct sy_options *set, const char *owner, const struct sy_option *rows,
                   void *settings, size_t size, struct sy_error *err);

/* Every JSON key must have been claimed by a table, or lie under one of `others` (NULL-ended names
 * of plugins; the keys of those whose table was not added cannot be judged). Error: file, line,
 * key, nearest name. */
int sy_options_check_keys(struct sy_options *set, const char *const *others, struct sy_error *err);

/* Calls `say` for every SHMEM_* variable of the environment that no row names, with the nearest
 * name ("" if none is near), leaving out SHMEM_<OTHER>_* of `others` and SHMEM_BOOT_*. Also writes
 * an INFO line for every variable that is known but is not what it seems: an alias, or a name
 * without effect. */
void sy_options_unknown_env(struct sy_options *set, const char *const *others,
                            void (*say)(const char *variable, const char *nearest));

/* Writes a line that names the variables which are ignored, where the environment is not trusted
 * (secure.h). */
void sy_options_warn_secure(void);

struct sy_option_shown {
    const char *owner; /* of the table */
    const struct sy_option *row;
    const char *env;
    const char *value;  /* as a user would write it */
    const char *origin; /* "default", "FILE:LINE", "environment SHMEM_X", "oshrun" */
};

/* For listings: visits every row in order of the tables. */
typedef void sy_option_visitor(const struct sy_option_shown *option, void *arg);
void sy_options_visit(struct sy_options *set, sy_option_visitor *visit, void *arg);

/* "FILE:LINE" if the value of a row is from a file, else NULL. secret: the user who started this
 * program may not read that file, so nobody is to be told the value. */
const char *sy_options_file(const struct sy_options *set, const char *name, bool *secret);

/* The error for whatever is wrong at `where`, "FILE:LINE", in such a file. */
int sy_options_not_shown(const char *where, struct sy_error *err);

/* The name of the index-th row marked SY_OPTION_JOB, and a hash of its value; false past the last.
 */
bool sy_options_job(const struct sy_options *set, unsigned index, const char **name,
                    uint32_t *hash);

/* What is allowed for a row, in words; in `buffer` where they differ from row to row. Of a list
 * that is longer the end is "...". */
const char *sy_option_allowed(const struct sy_option *row, char *buffer, size_t room);

/* "symmetric.size" -> "SHMEM_SYMMETRIC_SIZE"; returns buffer. */
const char *sy_option_env_name(const char *name, char *buffer, size_t room);

#endif

/* The environment of PEs: the host's own, without what other launchers left in it, changed as the
 * job asks. A change is a text:
 *
 *     =NAME=VALUE   the variable is set
 *     -PATTERN      those that match are left out
 *     ^NAME=VALUE   VALUE is put before what the variable holds */
#ifndef SY_LAUNCHER_ENVIRON_H
#define SY_LAUNCHER_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

struct sy_environ {
    char **list; /* ended by NULL: for execve */
    size_t count, room;
};

/* bare: begin with nothing. */
void sy_environ_build(struct sy_environ *env, bool bare, char *const *changes);

/* Sets one variable. */
void sy_environ_set(struct sy_environ *env, const char *name, const char *value);

/* The value of a variable, or NULL. */
const char *sy_environ_get(const struct sy_environ *env, const char *name);

void sy_environ_free(struct sy_environ *env);

/* Whether the variable of an entry NAME=VALUE has a name that matches; one of `count` patterns. */
bool sy_environ_matches(const char *pattern, const char *entry);
bool sy_environ_matches_any(const char *const *patterns, size_t count, const char *entry);

#endif

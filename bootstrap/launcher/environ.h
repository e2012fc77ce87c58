/* The environment of the PEs: oshrun's own, without what other launchers left in it, with what the
 * flags ask for. */
#ifndef SY_LAUNCHER_ENVIRON_H
#define SY_LAUNCHER_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

#include "bootstrap/launcher/flags.h"

struct sy_environ {
    char **list; /* ended by NULL: for execve */
    size_t count, room;
};

/* Builds the environment; boot_fd is the number of a PE's socket. `missing` is called for each -x
 * VAR that is not set. */
void sy_environ_build(struct sy_environ *env, const struct sy_flags *flags, int boot_fd,
                      void (*missing)(const char *name, void *arg), void *arg);

/* Sets one variable. */
void sy_environ_set(struct sy_environ *env, const char *name, const char *value);

void sy_environ_free(struct sy_environ *env);

#endif

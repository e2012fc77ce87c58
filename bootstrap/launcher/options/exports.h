/* What the flags ask of the environment, as changes (environ.h) that travel to the hosts. */
#ifndef SY_LAUNCHER_EXPORTS_H
#define SY_LAUNCHER_EXPORTS_H

#include <stdbool.h>

#include "bootstrap/launcher/options/flags.h"

/* The changes for one program, ended by NULL (allocated). elsewhere: the PEs are not children of
 * this process, so that what they need of its environment is among the changes. `missing` is called
 * for each -x VAR that is not set. */
char **sy_exports_make(const struct sy_flags *flags, const struct sy_app *app, bool elsewhere,
                       void (*missing)(const char *name, void *arg), void *arg);

#endif
